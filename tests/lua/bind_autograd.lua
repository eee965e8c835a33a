-- bind_autograd.lua -- backward, grad, hooks, modes, custom functions, as seen from Lua
local t = require "tap"
local function leaf(v) return torch.tensor(v, {requires_grad = true}) end
local function is(x, want, name) t.is(tostring(x), want, name) end

local x = leaf {2., 3.}
local y = x * x
y:backward(torch.ones(2))
is(x.grad, "tensor([4., 6.])", "backward with a gradient")
t.ok(rawequal(x.grad, x.grad), ".grad is the same object at each read")
local g = torch.ones(2)
x.grad = g
t.ok(rawequal(x.grad, g), "and the very object that was assigned")
x.grad = nil
t.is(x.grad, nil, "nil forgets it")
t.raises(function() x.grad = torch.ones(3) end,
  "RuntimeError: attempting to assign a gradient of size '[3]' to a tensor "
  .. "of size '[2]'. Please ensure that the gradient and the tensor are the same size",
    "a gradient of another size")
t.raises(function() x.grad = 3 end,
  "TypeError: assigned grad expected to be a Tensor or None but got grad of type int",
         "a gradient that is none")
t.raises(function() (x * 1):backward() end,
  "RuntimeError: grad can be implicitly created only for scalar outputs",
         "backward of a vector")
t.raises(function() torch.ones(1):backward() end,
         "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
           "backward of a constant")

local gx, gz = torch.autograd.grad((x * x):sum(), {x, leaf {1.}}, {allow_unused = true})
t.is({tostring(gx), gz}, {"tensor([4., 6.])"}, "grad gives one result an input, nil where unused")
t.raises(function() torch.autograd.grad(x:sum(), leaf {1.}) end,
  "RuntimeError: The differentiated Tensor at index 0 "
  .. "appears to not have been used in the graph. Set allow_unused=True if this is the desired "
    .. "behavior.", "unused")
local a = leaf(3.)
local d = torch.autograd.grad(a ^ 3, a, {create_graph = true})
is(torch.autograd.grad(d, a), "tensor(18.)", "a second derivative")

-- grad_fn
is(y.grad_fn, "<MulBackward0 object>", "grad_fn prints its name")
t.is(y.grad_fn:name(), "MulBackward0", "and gives it")
t.ok(rawequal(y.grad_fn.next_functions[1][1].variable, x), "next_functions leads to the leaf")
t.is({x.is_leaf, y.is_leaf, x.requires_grad, y.requires_grad}, {true, false, true, true},
  "leaf and not")
t.raises(function() y.requires_grad = false end,
  "RuntimeError: you can only change requires_grad flags of leaf variables. "
  .. "If you want to use a computed variable in a subgraph that doesn't require "
    .. "differentiation use "
  .. "var_no_grad = var.detach().", "a result cannot stop to require grad")
t.is({x:detach().requires_grad, x.data.requires_grad}, {false, false}, "detach and data")
local c = torch.zeros(2)
c:detach():add_(1)
t.is({c._version, c.data:add_(1) and c._version}, {1, 1},
  "detach shares the version counter, data does not")
local b = (x * 2)
b:retain_grad()
b:sum():backward()
is(b.grad, "tensor([1., 1.])", "retain_grad")

-- hooks
x = leaf {2., 3.}
local order = {}
y = x * 2
y:register_hook(function() order[#order + 1] = "y" end)
local handle = x:register_hook(function(grad)
  order[#order + 1] = "x"
  return grad * 10
end)
x:register_post_accumulate_grad_hook(function(leaf_) order[#order + 1] = rawequal(leaf_, x)
  and "post" or "other" end)
y:backward(torch.ones(2))
t.is(table.concat(order, " "), "y x post", "hooks run in PyTorch's order")
is(x.grad, "tensor([20., 20.])", "a hook replaces the gradient")
handle:remove()
x.grad = nil;
(x * 2):backward(torch.ones(2))
is(x.grad, "tensor([2., 2.])", "a removed hook is gone")
do
  local seen
  local z = x * 1
  do
    local inner = z * 3
    inner:register_hook(function(grad) seen = grad end)
    z = inner:sum()
  end
  collectgarbage()
  z:backward()
  t.ok(torch.is_tensor(seen), "a hook outlives the variable of its tensor")
end
t.raises(function() torch.ones(1):register_hook(print) end,
         "RuntimeError: cannot register a hook on a tensor that doesn't require gradient",
           "a hook on a constant")
do
  local z = x * 1
  z:register_hook(function() error("from the hook") end)
  t.raises(function() z:sum():backward() end, "tests/lua/bind_autograd.lua…",
    "an error in a hook comes out of backward")
end

-- modes
t.is({torch.no_grad(function(v) return (x * v).requires_grad, torch.is_grad_enabled(), v end, 2)},
  {false, false, 2},
     "no_grad calls its function and gives what it gives")
do
  local _ <close> = torch.no_grad()
  t.is((x * 1).requires_grad, false, "no_grad as a guard")
  t.is(torch.enable_grad(function() return (x * 1).requires_grad end), true, "enable_grad inside")
end
t.is((x * 1).requires_grad, true, "the guard ends with its block")
pcall(torch.no_grad, function() error("x") end)
t.is(torch.is_grad_enabled(), true, "an error restores the mode")
torch.set_grad_enabled(false)
t.is(torch.is_grad_enabled(), false, "set_grad_enabled stays")
torch.set_grad_enabled(true)
local inf = torch.inference_mode(function() return x * 1 end)
t.ok(inf:is_inference(), "inference_mode")
t.raises(function() return inf._version end,
  "RuntimeError: Inference tensors do not track version counter.", "its version")
local packed, y2 = 0, nil
torch.autograd.graph.saved_tensors_hooks(function(v)
  packed = packed + 1
  return v
end, function(v) return v end, function() y2 = x:exp() end)
y2:sum():backward()
t.is(packed, 1, "saved-tensor hooks see what is saved")

-- custom functions
local Cube = torch.autograd.Function:class("Cube")
function Cube.forward(ctx, v)
  ctx:save_for_backward(v)
  return v * v * v
end
function Cube.backward(ctx, grad)
  local v = ctx.saved_tensors[1]
  return grad * 3 * v * v
end
x = leaf {2., 3.}
y = Cube.apply(x)
is(y, "tensor([ 8., 27.], grad_fn=<CubeBackward>)", "a function of one's own")
y:backward(torch.ones(2))
is(x.grad, "tensor([12., 27.])", "its backward")
local g1 = torch.autograd.grad(Cube.apply(x), x,
  {grad_outputs = torch.ones(2), create_graph = true})
is(torch.autograd.grad(g1, x, {grad_outputs = torch.ones(2)}), "tensor([12., 18.])",
  "twice, when backward is made of ops")
local Two = torch.autograd.Function:class("Two")
function Two.forward(ctx, v, k) return v * k, v + k end
function Two.backward(ctx, ga, gb) return ga + gb, None, None end
local p, q = Two.apply(x, 2)
x.grad = nil;
(p + q):backward(torch.ones(2))
is(x.grad, "tensor([2., 2.])", "two results, an argument that is no tensor, surplus Nones")
local Bad = torch.autograd.Function:class("B2")
function Bad.forward(ctx, v) return v * 2 end
function Bad.backward(ctx, grad) return grad, grad end
t.raises(function() Bad.apply(x):sum():backward() end,
         "RuntimeError: function B2Backward returned an incorrect number of gradients "
           .. "(expected 1, got 2)", "too many gradients")
function Bad.backward(ctx, grad) return torch.ones(3) end
t.raises(function() Bad.apply(x):sum():backward() end,
  "RuntimeError: Function B2Backward returned an invalid gradient at "
  .. "index 0 - got [3] but expected shape compatible with [2]", "a gradient of the wrong shape")
local Dirty = torch.autograd.Function:class("Dirty")
function Dirty.forward(ctx, v)
  v:add_(1)
  ctx:mark_dirty(v)
  return v
end
function Dirty.backward(ctx, grad) return grad * 5 end
local base = leaf {1.}
local changed = Dirty.apply(base * 1)
changed:backward()
is(base.grad, "tensor([5.])", "mark_dirty")

-- gradcheck
local v = torch.randn(3, {dtype = torch.float64, requires_grad = true})
t.is(torch.autograd.gradcheck(function(w) return w * w:exp() end, v), true, "gradcheck agrees")
t.raises(function() torch.autograd.gradcheck(function(w) return w * w:detach() end, v) end,
         "GradcheckError: Jacobian mismatch for output 0 with respect to input 0,",
           "gradcheck disagrees")

-- parameters
local w = nn.Parameter(torch.zeros(2))
t.is({w.requires_grad, w.is_leaf, torch.is_tensor(w)}, {true, true, true},
  "a parameter is a leaf that requires grad")
t.raises(function() w:add_(1) end,
         "RuntimeError: a leaf Variable that requires grad is being used in an in-place "
           .. "operation.", "not changed in place")
t.done()
