-- amp_arguments.lua -- what the functions of mixed precision and memory say to arguments that are
-- wrong: PyTorch's sentence
local tap = require "tap"

local x = torch.ones(2, 2, {requires_grad = true})
local rows = {
  {"torch.finfo(5)", "finfo(): argument 'type' (position 1) must be torch.dtype, not int"},
  {"torch.finfo('float16')", "finfo(): argument 'type' (position 1) must be torch.dtype, not str"},
  {"torch.finfo(torch.int32)", "torch.finfo() requires a floating point input type. Use torch.iinfo "
    .. "to handle 'torch.finfo'"},
  {"torch.iinfo()", 'iinfo() missing 1 required positional arguments: "type"'},
  {"torch.iinfo(torch.bool)", "torch.bool is not supported by torch.iinfo"},
  {"torch.is_autocast_enabled(5)",
    "is_autocast_enabled(): argument 'device_type' (position 1) must be str, not int"},
  {"torch.get_autocast_dtype()",
    'get_autocast_dtype() missing 1 required positional arguments: "device_type"'},
  {"torch.get_autocast_dtype(5)",
    "get_autocast_dtype(): argument 'device_type' (position 1) must be str, not int"},
  {"torch.set_autocast_enabled('cpu', 5)",
    "set_autocast_enabled(): argument 'enabled' (position 2) must be bool, not int"},
  {"torch.set_autocast_enabled(5)",
    "set_autocast_enabled(): argument 'enabled' (position 1) must be bool, not int"},
  {"torch.set_autocast_dtype(5)",
    "set_autocast_dtype(): argument 'device_type' (position 1) must be str, not int"},
  {"torch.set_autocast_cache_enabled(5)", "enabled must be a bool (got int)"},
  {"torch.autograd.graph.saved_tensors_hooks()", "saved_tensors_hooks.__init__() missing 2 required "
    .. "positional arguments: 'pack_hook' and 'unpack_hook'"},
  {"torch.autograd.graph.saved_tensors_hooks(print)", "saved_tensors_hooks.__init__() missing 1 "
    .. "required positional argument: 'unpack_hook'"},
  {"torch.autograd.graph.saved_tensors_hooks(5, 6)", "saved_tensors_hooks.__init__() argument "
    .. "'pack_hook' (position 1) must be callable, not int"},
  {"torch.autograd.graph.disable_saved_tensors_hooks()",
    "disable_saved_tensors_hooks() missing 1 required positional argument: 'error_message'"},
  {"torch.cuda.memory._set_allocator_settings(5)",
    "_set_allocator_settings(): argument 'env' (position 1) must be str, not int"},
  {"dlrepl.exact_memory(5)", "exact_memory(): argument 'on' must be bool, not int"},
  {"dlrepl.debug.record(5)", "record() takes a function, but got int"},
  {"torch.utils.checkpoint.checkpoint_sequential(5, 1, x, {use_reentrant=false})",
    "object of type 'int' has no len()"},
  {"torch.utils.checkpoint.checkpoint_sequential(nn.ReLU(), 1, x, {use_reentrant=false})",
    "object of type 'ReLU' has no len()"},
}
local env = setmetatable({x = x}, {__index = _G})
for _, row in ipairs(rows) do
  tap.raises(assert(load("return " .. row[1], "=row", "t", env)), "TypeError: " .. row[2] .. "…",
             row[1])
end
tap.ok(not torch.is_autocast_enabled("cpu"), "nothing of it took effect")
local doubled = torch.autograd.graph.saved_tensors_hooks(
  setmetatable({}, {__call = function(_, t) return t * 2 end}), function(t) return t / 2 end,
  function() return x:exp() end)
doubled:sum():backward()
tap.close(x.grad, torch.full({2, 2}, math.exp(1)), 1e-6, "a callable table is a hook too")

x.grad = nil
local ran = false
do
  local hook = setmetatable({}, {__call = function(_, t) ran = true return t end})
  local _ <close> = torch.autograd.graph.saved_tensors_hooks(hook, function(t) return t end)
  tap.ok(not ran, "without a function to run, a callable table is not called")
end
local callable = setmetatable({}, {__call = print})
tap.raises(function() torch.autograd.graph.saved_tensors_hooks(callable) end,
  "TypeError: saved_tensors_hooks.__init__() missing 1 required positional argument: "
  .. "'unpack_hook'…",
  "nor is its __call taken for the second hook")

tap.is(tostring(torch.cpu.amp.GradScaler({init_scale = 4.0}):get_scale()), "4.0",
  "the deprecated torch.cpu.amp.GradScaler works")
local function change(t) return t:add_(1):sin() end
local function run()
  local y = torch.utils.checkpoint.checkpoint(change, x * 1, {use_reentrant = false})
  y:sum():backward()
end
tap.raises(run, "RuntimeError: one of the variables needed for gradient computation has been "
  .. "modified by an inplace operation: …", "a checkpoint of what changes its input")
local _, e = pcall(run)
tap.is(e.notes[1], "the function is run again from its inputs, so it may not change them: let it "
  .. "begin with x:clone()", "and what to do")
tap.done()
