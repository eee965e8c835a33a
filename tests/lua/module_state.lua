-- module_state.lua -- state_dict, load_state_dict, hooks

local t = require "tap"

local function model() return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)) end

-- ---- saving --------------------------------------------------------------------------------
local m = model()
local sd = m:state_dict()
t.is(table.concat(sd:keys(), " "), "0.weight 0.bias 1.weight 1.bias 1.running_mean 1.running_var "
  .. "1.num_batches_tracked 2.weight 2.bias", "keys in order of registration")
t.ok(not sd["0.weight"].requires_grad, "saved tensors are detached")
sd["0.weight"]:fill_(7)
t.is(m[0].weight[{0, 0}]:item(), 7.0, "and share memory with the model")
t.ok(m:state_dict({keep_vars = true})["0.weight"].requires_grad, "keep_vars keeps the parameters")
local other = model()
t.is(tostring(other:load_state_dict(sd)), "<All keys matched successfully>", "a full load")
t.ok(torch.equal(other[0].weight, m[0].weight), "values arrive")
t.ok(not rawequal(other[0].weight, m[0].weight), "by copying")

sd["2.bias"] = nil
sd.new = torch.ones(1)
t.raises(function() other:load_state_dict(sd) end,
  "RuntimeError: Error(s) in loading state_dict for Sequential:\n"
  .. '\tMissing key(s) in state_dict: "2.bias". \n\tUnexpected key(s) in state_dict: "new". ',
  "missing and unexpected keys are listed")
local r = other:load_state_dict(sd, {strict = false})
t.is(r.missing_keys, {"2.bias"}, "strict=false returns the missing keys")
t.is(r.unexpected_keys, {"new"}, "and the unexpected ones")
t.is(tostring(r), "_IncompatibleKeys(missing_keys=['2.bias'], unexpected_keys=['new'])", "as text")
t.raises(function() nn.Linear(2, 2):load_state_dict({weight = torch.ones(3, 2), bias = 5}) end,
  "RuntimeError: Error(s) in loading state_dict for Linear:\n\tsize mismatch for weight: copying a "
  .. "param with shape torch.Size([3, 2]) from checkpoint, the shape in current model is "
  .. "torch.Size([2, 2]).\n\tWhile copying the parameter named \"bias\", expected torch.Tensor or "
  .. "Tensor-like object from checkpoint but received int", "wrong shapes and wrong values")
local fresh = nn.Linear(1, 1)
local given = torch.full({1, 1}, 3.0)
fresh:load_state_dict({weight = given, bias = torch.zeros(1)}, {assign = true})
t.is(fresh.weight:item(), 3.0, "assign=true takes the tensors themselves")
t.ok(fresh.weight.requires_grad, "as parameters")

-- ---- forward hooks -------------------------------------------------------------------------
local lin = nn.Linear(1, 1)
nn.init.ones_(lin.weight)
nn.init.zeros_(lin.bias)
local order = {}
local h1 = lin:register_forward_pre_hook(function(mod, args)
  order[#order + 1] = "pre"
  return args[1] * 2
end)
local h2 = lin:register_forward_hook(function(mod, args, out)
  order[#order + 1] = "post"
  return out + args[1]
end)
t.is(lin(torch.ones(1, 1)):item(), 4.0, "a pre-hook changes the input, a hook the output")
t.is(table.concat(order, " "), "pre post", "in this order")
h1:remove()
t.is(lin(torch.ones(1, 1)):item(), 2.0, "a removed hook is gone")
h2:remove()
t.is(lin(torch.ones(1, 1)):item(), 1.0, "and the plain call is back")
local h3 = lin:register_forward_hook(function() order[#order + 1] = "second" end)
local h4 = lin:register_forward_hook(function() order[#order + 1] = "first" end, {prepend = true})
order = {}
lin(torch.ones(1, 1))
t.is(table.concat(order, " "), "first second", "prepend puts a hook first")
h3:remove()
h4:remove()

-- ---- backward hooks ------------------------------------------------------------------------
local got
local hb = lin:register_full_backward_hook(function(mod, grad_in, grad_out)
  got = {grad_in[1]:item(), grad_out[1]:item()}
  return {grad_in[1] * 100}
end)
local x = torch.full({1, 1}, 3.0, {requires_grad = true})
;(lin(x) * 5):sum():backward()
t.is(got, {5.0, 5.0}, "a backward hook sees both gradients")
t.is(x.grad:item(), 500.0, "and replaces the input's")
t.is(lin.weight.grad:item(), 15.0, "the parameter's gradient is its own")
hb:remove()
lin:zero_grad()
local hp = lin:register_full_backward_pre_hook(function(_, grad_out) return {grad_out[1] * 2} end)
x.grad = nil
lin(x):sum():backward()
t.is({x.grad:item(), lin.weight.grad:item()}, {2.0, 6.0}, "a pre-hook replaces the output's "
  .. "gradient")
hp:remove()
t.raises(function()
  local bad = nn.Linear(1, 1)
  bad:register_forward_hook(function() error("inside") end)
  bad(torch.ones(1, 1))
end, "tests/lua/module_state.lua:…", "an error in a hook reaches the caller")
t.raises(function() lin:register_forward_hook(5) end, "TypeError: Module.register_forward_hook() "
  .. "argument 'hook' (position 1) must be callable, not int", "a hook must be callable")
-- a module that holds itself
local ring = nn.Linear(2, 2)
ring.again = ring
t.raises(function() ring:state_dict() end, "RecursionError: maximum recursion depth exceeded…",
  "state_dict of a module that holds itself ends")
t.raises(function() ring:load_state_dict({}) end,
  "RecursionError: maximum recursion depth exceeded…", "load_state_dict too")
local hidden = setmetatable({}, {__metatable = false})
t.is(pcall(nn.Sequential, hidden), false, "a table with a hidden metatable is no module")
t.raises(function() nn.Linear(1, 1)(hidden) end, "TypeError: linear(): …", "and no tensor")

t.done()
