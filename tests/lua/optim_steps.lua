-- optim_steps.lua -- optimizers: groups, state, errors (the numbers are in the parity cases)

local t = require "tap"

local function leaf(...) return torch.tensor({...}, {requires_grad = true}) end

-- ---- groups --------------------------------------------------------------------------------
local a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
local opt = optim.SGD({{params = {a}}, {params = b, lr = 0.5}}, {lr = 0.1, momentum = 0.9})
t.is(#opt.param_groups, 2, "a group a table")
t.is({opt.param_groups[1].lr, opt.param_groups[2].lr}, {0.1, 0.5}, "a group's own option wins")
opt:add_param_group {params = {c}, lr = 1.0}
t.is(opt.param_groups[3].momentum, 0.9, "options left out take the defaults")
a.grad, b.grad, c.grad = torch.ones(1), torch.ones(1), torch.ones(1)
opt:step()
t.close({a:item(), b:item(), c:item()}, {0.9, 1.5, 2.0}, 1e-6, "each group has its learning rate")
opt.param_groups[1].lr = 0.2
opt:step()
t.close(a:item(), 0.9 - 0.2 * 1.9, 1e-6, "a changed lr holds from the next step on")
t.is(opt.state[a].momentum_buffer:item(), torch.tensor(1.9):item(), "state is kept by parameter")
a.grad = nil
local before = a:item()
opt:step()
t.is(a:item(), before, "a parameter without gradient stays")
opt:zero_grad()
t.is(b.grad, nil, "zero_grad forgets gradients")
b.grad = torch.ones(1)
opt:zero_grad(false)
t.is(b.grad:item(), 0.0, "zero_grad(false) fills with zeros")
local named = optim.Adam({{"a", leaf(1.0)}, {"b", leaf(1.0)}})
t.is(#named.param_groups[1].params, 2, "named parameters are taken too")

-- ---- closure, steps, tensors as options ----------------------------------------------------
local w = leaf(1.0)
local adam = optim.Adam({w}, {lr = 0.1})
local loss = adam:step(function()
  adam:zero_grad()
  local l = (w * w):sum()
  l:backward()
  return l
end)
t.is(loss:item(), 1.0, "step(closure) returns the closure's loss")
t.close(w:item(), 0.9, 1e-5, "Adam's first step is lr")
t.is(tostring(adam.state[w].step), "tensor(1.)", "the step counter reads as a tensor")
t.ok(w.requires_grad and w.is_leaf, "the parameter is still a leaf")
local by_tensor = optim.SGD({leaf(1.0)}, {lr = torch.tensor(0.5)})
by_tensor.param_groups[1].params[1].grad = torch.ones(1)
by_tensor:step()
t.is(by_tensor.param_groups[1].params[1]:item(), 0.5, "lr may be a tensor")

-- ---- saving --------------------------------------------------------------------------------
local function run(steps, o, p)
  for _ = 1, steps do
    o:zero_grad()
    ;(p * p):sum():backward()
    o:step()
  end
  return p:tolist()
end
local p1, p2 = leaf(1.0, -2.0), leaf(1.0, -2.0)
local o1 = optim.Adam({p1}, {lr = 0.1, amsgrad = true})
run(3, o1, p1)
torch.no_grad(function() p2:copy_(p1) end)
local o2 = optim.Adam({p2}, {lr = 0.7, amsgrad = true})
o2:load_state_dict(o1:state_dict())
t.is(o2.param_groups[1].lr, 0.1, "load_state_dict brings the options")
t.is(run(2, o2, p2), run(2, o1, p1), "and the state: both go on alike")
t.raises(function() optim.Adam({leaf(1.0), leaf(2.0)}):load_state_dict(o1:state_dict()) end,
  "ValueError: loaded state dict contains a parameter group that doesn't match the size of "
  .. "optimizer's group", "sizes must match")
t.raises(function()
  optim.Adam({{params = {leaf(1.0)}}, {params = {leaf(2.0)}}}):load_state_dict(o1:state_dict())
end, "ValueError: loaded state dict has a different number of parameter groups", "groups too")

-- ---- errors --------------------------------------------------------------------------------
t.raises(function() optim.SGD({}) end, "ValueError: optimizer got an empty parameter list",
  "no parameters")
t.raises(function() optim.SGD(leaf(1.0)) end, "TypeError: params argument given to the optimizer "
  .. "should be an iterable of Tensors or dicts, but got torch.FloatTensor", "a bare tensor")
t.raises(function() optim.SGD({leaf(1.0) * 2}) end, "ValueError: can't optimize a non-leaf Tensor",
  "a computed tensor")
t.raises(function() optim.SGD({3}) end,
  "TypeError: optimizer can only optimize Tensors, but one of the params is int", "a number")
t.raises(function() optim.SGD({a}, {lr = -1}) end, "ValueError: Invalid learning rate: -1",
  "lr < 0")
t.raises(function() optim.SGD({a}, {momentum = -0.5}) end, "ValueError: Invalid momentum "
  .. "value: -0.5",
  "momentum < 0")
t.raises(function() optim.SGD({a}, {weight_decay = -1}) end,
  "ValueError: Invalid weight_decay value: -1", "weight_decay < 0")
t.raises(function() optim.SGD({a}, {nesterov = true}) end,
  "ValueError: Nesterov momentum requires a momentum and zero dampening", "nesterov alone")
t.raises(function() optim.Adam({a}, {betas = {1.0, 0.9}}) end,
  "ValueError: Invalid beta parameter at index 0: 1.0", "beta of 1")
t.raises(function() optim.Adam({a}, {betas = {0.9, -0.1}}) end,
  "ValueError: Invalid beta parameter at index 1: -0.1", "beta below 0")
t.raises(function() optim.Adam({a}, {eps = -1}) end, "ValueError: Invalid epsilon value: -1",
  "eps < 0")
t.raises(function() optim.Adam({a}, {lrr = 1}) end,
  "TypeError: Adam.__init__() got an unexpected keyword argument 'lrr'. Did you mean 'lr'?",
  "an unknown option")
t.raises(function() optim.SGD({{params = {a}}, {params = {a}}}) end,
  "ValueError: some parameters appear in more than one parameter group", "one parameter twice")
t.raises(function() return adam.foo end, "AttributeError: 'Adam' object has no attribute 'foo'",
  "an unknown attribute")

-- A step for which memory is short changes no parameter.
do
  local function whole(make)
    local n, half = 0, 0
    repeat
      n = n + 1
      local p = {}
      for i = 1, 3 do
        p[i] = torch.ones(2, {requires_grad = true})
        p[i].grad = torch.ones(2)
      end
      local opt = make(p)
      dlrepl.debug.refuse(n)
      local ok = pcall(opt.step, opt)
      local met = not dlrepl.debug.refuse(0)
      local one, all = p[1][0]:item(), true
      for i = 2, 3 do all = all and p[i][0]:item() == one end
      if not ok then all = all and one == 1 end
      opt:step()
      if not all then half = half + 1 end
    until not met or n > 400
    return half
  end
  t.is(whole(function(p) return optim.Adam(p, {amsgrad = true}) end), 0,
       "Adam steps all parameters or none, whichever allocation is refused")
  t.is(whole(function(p) return optim.SGD(p, {lr = 0.1, momentum = 0.9}) end), 0,
       "so does SGD with momentum")
end
t.done()
