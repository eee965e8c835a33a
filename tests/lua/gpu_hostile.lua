-- gpu_hostile.lua -- the simulated GPU in the hands of somebody who means it no good
local tap = require "tap"

local on, f64 = {device = "cuda"}, {dtype = torch.float64, requires_grad = true}
local gradcheck = torch.autograd.gradcheck

-- ---- numpy's arrays are on the CPU ------------------------------------------------------------
dlrepl.simulate("t4")
torch.set_default_device("cuda")
tap.is(tostring(np.ones(3)), "[1. 1. 1.]", "np.ones is on the CPU, whatever the default device")
tap.is(np.arange(4):sum(), 6, "so is np.arange")
tap.is(np.linspace(0, 1, 3)[2], 1.0, "so is np.linspace")
tap.is(tostring((np.ones(2) + 1):reshape(2, 1)), "[[2.]\n [2.]]", "and what is made of them")

-- ---- gradcheck --------------------------------------------------------------------------------
tap.is(gradcheck(function(w) return w * w:exp() end, torch.randn(3, f64)), true,
       "gradcheck looks at tensors on a GPU")
torch.set_default_device("cpu")
tap.is(gradcheck(function(w) return (w * w):cuda() end, torch.randn(3, f64)), true,
       "also where the result is on one and the input is not")
tap.is(gradcheck(function(w) return w end, torch.randn(3, f64)), true,
       "a function may return its input")
local calls = 0
tap.raises(function()
  gradcheck(function(w)
    calls = calls + 1
    return calls % 2 == 1 and w * w or w[1]
  end, torch.randn(2, 2, f64))
end, "AssertionError: Expected `func` to return outputs with the same shape when inputs are "
  .. "perturbed on index (0, 0) by 1e-06, but got: shapes torch.Size([2]) and "
  .. "torch.Size([2, 2]).", "results of two sizes are no Jacobian")
calls = 0
tap.raises(function()
  gradcheck(function(w)
    calls = calls + 1
    return calls == 1 and w * w or w[1]
  end, torch.randn(2, 2, f64))
end, "RuntimeError: gradcheck: the size of an input or of a result was changed…",
  "nor are others than at first")
local x = torch.randn(2, f64)
calls = 0
tap.raises(function()
  gradcheck(function(w)
    calls = calls + 1
    if calls == 2 then x.data = torch.ones(1, {dtype = torch.float64}) end
    collectgarbage()
    return w * w
  end, x)
end, "RuntimeError: gradcheck: the size of an input or of a result was changed…",
  "an input that is exchanged meanwhile is not written to")

-- ---- gradients and devices --------------------------------------------------------------------
tap.raises(function() torch.ones(2).grad = torch.ones(2, on) end,
  "RuntimeError: attempting to assign a gradient with device type 'cuda' to a tensor with device "
  .. "type 'cpu'. Please ensure that the gradient and the tensor are on the same device",
  "a gradient lies where its tensor lies")
tap.raises(function() torch.device("cuda", {}) end,
  "TypeError: device(): argument 'index' must be int, not list", "an index is a number")

-- ---- what cannot be opened --------------------------------------------------------------------
local alive = torch.ones(3, on)
tap.raises(function() dlrepl.simulate {memory = "1 MiB", force = true} end,
  "ValueError: a simulated card has at least 8 MiB…", "too small a card is refused")
tap.is(alive:sum():item(), 3.0, "and what was simulated before goes on")

for _, case in ipairs {{{base = "t4", fields = 5},
                        "TypeError: fields of a card are a table, not number"},
                       {{base = "t4", title = "\27[2J"}, "ValueError: title of a card is a line of "
                        .. "text without control characters"},
                       {{base = "t4", name = ""}, "ValueError: name of a card is a line of text "
                        .. "without control characters"}} do
  tap.raises(function() dlrepl.simulate {card = case[1], force = true} end, case[2],
    "refused: " .. case[2])
end
tap.raises(function() require("dlrepl.sim").word("sim:t4x99999999999999999999") end,
  "ValueError: 1 to 16 GPUs can be simulated, not 1e+20", "a word with too many GPUs is refused")
tap.is(alive:sum():item(), 3.0, "and still what was simulated before goes on")

-- ---- values of a tensor that is gone ----------------------------------------------------------
local two = torch.tensor(2, on)
dlrepl.simulate {card = "t4", force = true}
local gone = "RuntimeError: this tensor's memory on cuda:0 is gone…"
tap.raises(function() torch.ones(two) end, gone, "a size is not read from a device that is gone")
tap.raises(function() return torch.arange(5)[two] end, gone, "nor an index")
tap.raises(function() torch.full({2}, two) end, gone, "nor a number")
tap.raises(function() return torch.tensor {two, two} end, gone, "nor an element of a list")

-- ---- dry runs ---------------------------------------------------------------------------------
dlrepl.simulate {card = "t4", compute = false, force = true}
local ones, row = torch.ones(1 << 19), torch.arange(1 << 18)
tap.like(tostring(ones:sum():item()), "nan",
         "large CPU tensors of a dry run are nan, not what lay there")
tap.like(tostring(ones), "^tensor%(%[nan, nan", "in print too")
tap.is(row[5]:item(), 0, "integers are 0")
tap.like(tostring(ones:tolist()[3]), "nan", "and in tolist")
tap.like(tostring(ones:numpy()), "^%[nan nan", "and as an array")
tap.is(tostring(np.ones(2)), "[1. 1.]", "arrays of one's own hold numbers")
tap.is(tostring(torch.tensor {1, 2} + 1), "tensor([2, 3])", "so do tensors from numbers")
dlrepl.simulate(false)
tap.like(tostring((ones + 1)[3]:item()), "nan", "after the dry run they still hold none")
tap.is(tostring(torch.ones(2) + 1), "tensor([2., 2.])", "and new ones do")
dlrepl.simulate("t4")
tap.is(tostring((torch.ones(2, on) + 1):cpu()), "tensor([2., 2.])", "a GPU that computes does")
tap.like(tostring((ones:cuda() + 1)[3]:item()), "nan", "but not with what holds none")

-- ---- a scaler's state -------------------------------------------------------------------------
local scaler = torch.amp.GradScaler("cuda")
scaler:scale(torch.ones(1, on))
for _, bad in ipairs {{"scale", "x"}, {"growth_factor", {}}, {"backoff_factor", print},
                      {"growth_interval", 1.5}, {"_growth_tracker", "0"}} do
  local state = scaler:state_dict()
  state[bad[1]] = bad[2]
  tap.raises(function() scaler:load_state_dict(state) end, "TypeError: " .. bad[1]
    .. " of a GradScaler must be …", "a state with a wrong " .. bad[1] .. " is refused")
end
tap.is(scaler:get_scale(), 65536.0, "and changes nothing")
tap.raises(function() scaler:step(5) end,
  "AttributeError: 'int' object has no attribute 'param_groups'…", "a number is no optimizer")
tap.raises(function() scaler:unscale_() end,
  "AttributeError: 'NoneType' object has no attribute 'param_groups'…", "nor is nothing")

-- ---- a finalizer in the middle of an op --------------------------------------------------------
dlrepl.simulate{card = "t4", count = 2, force = true}
dlrepl.exact_memory(true) -- garbage is collected before each allocation
for name, change in pairs {
  simulate = function() dlrepl.simulate{card = "t4", force = true} end,
  reset_device = function() dlrepl.reset_device() end,
  set_device = function() torch.cuda.set_device(1) end,
  set_stream = function() torch.cuda.set_stream(torch.cuda.default_stream(1)) end,
} do
  local refused
  local ones = torch.ones(3, on)
  do
    local _ = setmetatable({}, {__gc = function() refused = select(2, pcall(change)) end})
  end
  tap.is((ones + 1):sum():item(), 6.0, name .. "() in a finalizer does not disturb an op")
  tap.is(tostring(refused), "RuntimeError: " .. name .. "() cannot run in a finalizer in the "
    .. "middle of an op", "it is refused there")
end
dlrepl.exact_memory(false)

for name, change in pairs {simulate = function() dlrepl.simulate{card = "t4", force = true} end,
                           reset_device = function() dlrepl.reset_device() end} do
  local refused = "RuntimeError: " .. name .. "() cannot run in a hook in the middle of an op or "
    .. "of backward()"
  local w = torch.ones(3, {device = "cuda", requires_grad = true})
  tap.raises(function()
    torch.autograd.graph.saved_tensors_hooks(change, change, function() return w * w end)
  end, refused, name .. "() in a pack hook")
  local y = (w * w):sum()
  w:register_hook(change)
  tap.raises(function() y:backward() end, refused, "in the hook of a tensor")
end

-- ---- what is no stream, no device, no function -------------------------------------------------
local cpu_refused = "ValueError: Expected a cuda device, but got: cpu"
tap.raises(function() torch.cuda.Stream("cpu") end, cpu_refused, "a stream of the CPU")
tap.raises(function() torch.cuda.Stream({device = "cpu"}) end, cpu_refused, "by keyword too")
tap.raises(function() torch.cuda.device("cpu") end, cpu_refused, "the CPU as the current GPU")
tap.raises(function() torch.cuda.stream(5) end,
  "AttributeError: 'int' object has no attribute 'device'…", "a number is no stream")
local uncallable = "TypeError: 'int' object is not callable"
tap.raises(function() torch.cuda.device(0, 5) end, uncallable, "a number is no function: device")
tap.raises(function() torch.cuda.stream(nil, 5) end, uncallable, "stream")
tap.raises(function() torch.utils.checkpoint.set_checkpoint_early_stop(true, 5) end, uncallable,
           "set_checkpoint_early_stop")
tap.raises(function() nn.Linear(1, 1):apply(5) end, uncallable, "apply")
tap.raises(function() nn.Linear(1, 1):get_submodule(5) end,
  "AttributeError: 'int' object has no attribute 'split'…", "nor a path: get_submodule")
tap.raises(function() nn.Linear(1, 1):get_parameter(5) end,
  "AttributeError: 'int' object has no attribute 'rpartition'…", "get_parameter")
tap.raises(function() nn.Linear(1, 1):to(nil, print) end,
  "TypeError: to() argument 'dtype' must be torch.dtype, not function", "a function is no dtype")
tap.raises(function() torch.utils.checkpoint.checkpoint_sequential({}, 1, 2, 3) end,
  "TypeError: checkpoint_sequential() argument 'use_reentrant' (position 4) must be bool, not int",
  "use_reentrant is a boolean")
tap.raises(function() torch.autograd.Function:class() end, "TypeError: class() takes a name…",
           "a Function has a name")
tap.raises(function() torch.cuda.memory._set_allocator_settings(
  "max_split_size_mb:99999999999999999999") end, "IndexError: stoull\n  max_split_size_mb wants a "
  .. "smaller number than '99999999999999999999'", "an absurd size of blocks")

-- ---- "cuda" where the GPU is an MPS one --------------------------------------------------------
dlrepl.simulate{card = "t4", device = "mps", force = true}
local lone, net = torch.ones(1), nn.Linear(1, 1)
for what, use in pairs {
  factory = function() torch.ones(1, on) end,
  to = function() lone:to("cuda") end,
  cuda = function() net:cuda() end,
  ["from mps"] = function() lone:to("mps"):to("cuda") end,
  Generator = function() torch.Generator("cuda") end,
  default = function() torch.set_default_device("cuda") end,
  device = function() torch.cuda.device("cuda") end,
  Stream = function() torch.cuda.Stream("cuda") end,
  synchronize = function() torch.cuda.synchronize("cuda") end,
} do
  tap.raises(use, "AssertionError: Torch not compiled with CUDA enabled\n  the GPU here is "
    .. '"mps"', "there is no cuda beside mps: " .. what)
end

tap.done()
