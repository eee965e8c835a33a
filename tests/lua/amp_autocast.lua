-- amp_autocast.lua -- regions, the cache of weights, custom functions, bad input
local tap = require "tap"

local x = torch.ones(2, 2)
local function dtype(f) return tostring(f().dtype) end
local function on() return torch.is_autocast_enabled("cpu") end
local function mm() return x:mm(x) end

-- regions ----------------------------------------------------------------------------------------
tap.is(torch.autocast("cpu", dtype, mm), "torch.bfloat16",
  "the function's arguments and results pass")
tap.is(torch.autocast({device_type = "cpu", dtype = torch.float16}, dtype, mm), "torch.float16",
  "another dtype")
tap.is(torch.amp.autocast("cpu", torch.bfloat16, true, dtype, mm), "torch.bfloat16",
  "arguments by position")
do
  local _ <close> = torch.autocast("cpu")
  tap.is(dtype(mm), "torch.bfloat16", "a guard holds to the end of its block")
  torch.autocast({device_type = "cpu", enabled = false}, function()
    tap.is(dtype(mm), "torch.float32", "a region that is off inside one that is on")
    torch.autocast("cpu", function()
      tap.is(dtype(mm), "torch.bfloat16", "and one that is on inside that")
    end)
    tap.ok(not on(), "each leaves what it found")
  end)
  tap.ok(on(), "down to the outermost")
end
tap.ok(not on(), "which leaves none")
do
  local ok = pcall(torch.autocast, "cpu", function()
    torch.autocast("cpu", function() error("inside") end)
  end)
  tap.ok(not ok and not on(), "an error inside nested regions restores the mode")
  local co = coroutine.wrap(function() torch.autocast("cpu", function() error("x", 0) end) end)
  tap.ok(not pcall(co) and not on(), "in a coroutine too")
  ok = pcall(torch.autocast, "cpu", function() return x:mm(torch.ones(3, 3)) end)
  tap.ok(not ok and not on(), "so does an op that fails")
end
torch.set_autocast_enabled("cpu", true)
tap.is(dtype(mm), "torch.bfloat16", "set_autocast_enabled needs no region")
torch.set_autocast_enabled("cpu", false)

-- what is cast ----------------------------------------------------------------------------------
do
  local d = torch.ones(2, 2, {dtype = torch.float64})
  tap.is(torch.autocast("cpu", dtype, function() return d:mm(d) end), "torch.float64",
    "float64 is left alone")
  tap.raises(function() torch.autocast("cpu", function() return d:mm(x) end) end,
    "RuntimeError: expected m1 and m2 to have the same dtype, but got: double != c10::BFloat16…",
    "float64 with float32 does not mix")
  local out = torch.empty(2, 2)
  torch.autocast("cpu", function() torch.mm(x, x, {out = out}) end)
  tap.is(tostring(out.dtype), "torch.float32", "out= forms are not cast")
  tap.is(torch.autocast("cpu", dtype, function() return torch.ones(2, 2):addmm_(x, x) end),
    "torch.float32", "nor are in-place forms")
  local h = x:half()
  tap.raises(function()
    torch.autocast("cpu", function() return torch.cat({h, x:to(torch.bfloat16)}) end)
  end, "RuntimeError: Unexpected floating ScalarType in at::autocast::prioritize…",
    "two 16-bit dtypes do not promote")
  local m = nn.Linear(2, 2):half()
  tap.is(torch.autocast("cpu", dtype, function() return m(h) end), "torch.bfloat16",
    "a float16 model runs in the region's dtype")
  local lin = nn.Linear(2, 2)
  torch.autocast("cpu", function()
    local y = lin(x):sum()
    y:backward()
  end)
  tap.is(tostring(lin.weight.grad.dtype), "torch.float32", "backward inside a region: gradients in "
    .. "the parameter's dtype")
end

-- the cache -------------------------------------------------------------------------------------
do
  local w = nn.Parameter(torch.ones(2, 2))
  local function first(y) return y[{0, 0}]:item() end
  local function product() return first(x:mm(w)) end
  torch.autocast("cpu", function()
    tap.is(product(), 2.0, "a weight is cast once")
    torch.no_grad(function() w:mul_(3) end)
    tap.is(product(), 2.0, "its cast is kept though the weight changes")
    tap.is(torch.autocast("cpu", product), 2.0, "in regions inside too")
    tap.is(torch.autocast({device_type = "cpu", cache_enabled = false}, product), 6.0,
      "cache_enabled=False casts again")
    tap.is(torch.autocast({device_type = "cpu", enabled = false}, product), 6.0,
      "without autocast the weight itself is used")
    local ok, e = pcall(torch.autocast, {device_type = "cpu", dtype = torch.float16}, product)
    tap.ok(not ok and tostring(e):find("same dtype"), "a cast in another dtype does not fit")
    torch.clear_autocast_cache()
    tap.is(product(), 6.0, "clear_autocast_cache forgets it")
  end)
  tap.is(torch.autocast("cpu", product), 6.0, "a new region casts anew")
  torch.autocast("cpu", function()
    local y = torch.no_grad(function() return x:mm(w) end)
    tap.ok(not y.requires_grad and x:mm(w).requires_grad,
      "a cast made without gradients does not stand in for one with")
  end)
  local before = dlrepl.debug.live()
  torch.autocast("cpu", product)
  tap.is(dlrepl.debug.live(), before, "the cache goes with its region")
end

-- custom functions ------------------------------------------------------------------------------
do
  local seen = {}
  local Mul = torch.autograd.Function:class("Mul")
  Mul.forward = torch.amp.custom_fwd(function(ctx, a, b)
    ctx:save_for_backward(a, b)
    seen.forward, seen.dtype = on(), tostring(a.dtype)
    return a:mm(b)
  end, {device_type = "cpu"})
  Mul.backward = torch.amp.custom_bwd(function(ctx, g)
    local a, b = table.unpack(ctx.saved_tensors)
    seen.backward = on()
    return g:mm(b:t()), a:t():mm(g)
  end, {device_type = "cpu"})
  local a = torch.ones(2, 2, {requires_grad = true})
  local y = torch.autocast("cpu", Mul.apply, a, x)
  tap.is(tostring(y.dtype), "torch.bfloat16", "custom_fwd runs in its region")
  y:float():sum():backward()
  tap.ok(seen.backward and not on(), "custom_bwd in the region of its forward")
  tap.is(tostring(a.grad.dtype), "torch.float32", "the gradient comes out in float32")
  local Plain = torch.autograd.Function:class("Plain")
  Plain.forward = torch.amp.custom_fwd(Mul.forward, {device_type = "cpu",
                                                     cast_inputs = torch.float32})
  Plain.backward = Mul.backward
  y = torch.autocast("cpu", Plain.apply, a, x:half())
  tap.is(seen.dtype .. " " .. tostring(seen.forward), "torch.float32 false",
    "cast_inputs casts and turns autocast off")
  y = Plain.apply(a, x)
  tap.is(tostring(y.dtype), "torch.float32", "outside a region nothing is cast")
  tap.raises(function() torch.amp.custom_fwd(function() end, {device_type = 5}) end,
    "ValueError: Expected `device_type` of type `str`, got: `<class 'int'>`…",
    "a bad device type")
end

-- bad input -------------------------------------------------------------------------------------
tap.raises(function() torch.autocast() end,
  "TypeError: autocast.__init__() missing 1 required positional argument: 'device_type'…",
  "nothing")
tap.raises(function() torch.autocast(5) end,
  "ValueError: Expected `device_type` of type `str`, got: `<class 'int'>`…", "a number")
tap.raises(function() torch.autocast("foo") end,
  "RuntimeError: Expected one of cpu, cuda,…", "an unknown device")
tap.raises(function() torch.autocast{device_type = "cpu", colour = 1} end,
  "TypeError: autocast.__init__() got an unexpected keyword argument 'colour'…",
  "an unknown option")
tap.raises(function() torch.set_autocast_dtype("cpu", "x") end,
  "TypeError: set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not str…",
  "a dtype that is none")
do
  local core, said = require "dlrepl.core", {}
  local warn = core.warn
  core.warn = function(text, category)
    said[#said + 1] = (category or "UserWarning") .. ": " .. text
  end
  for _, name in ipairs {"torch.amp", "torch.amp.state", "torch.cuda.amp", "torch.cpu.amp"} do
    package.loaded[name] = nil
  end
  local amp = require "torch.amp"
  tap.is(amp.autocast({device_type = "cpu", dtype = torch.float32}, dtype, mm), "torch.float32",
    "a dtype autocast cannot use turns it off")
  tap.like(said[1], "^UserWarning: In CPU autocast, but the target dtype is not supported. "
    .. "Disabling autocast.\nCPU Autocast only supports dtypes of torch.bfloat16, torch.float16 "
    .. "currently.$",
    "and is said")
  tap.is(require("torch.cpu.amp").autocast(dtype, mm), "torch.bfloat16", "torch.cpu.amp works")
  tap.like(said[2], "^FutureWarning: `torch.cpu.amp.autocast%(args...%)` is deprecated. Please use "
    .. "`torch.amp.autocast%('cpu', args...%)` instead.$", "and names what replaces it")
  if not torch.cuda.is_available() then
    tap.is(require("torch.cuda.amp").autocast(dtype, mm), "torch.float32", "torch.cuda.amp works")
    tap.like(said[3], "torch.amp.autocast%('cuda', args...%)", "with its replacement")
    tap.like(said[4], "CUDA is not available or torch_xla is imported. Disabling autocast.",
      "without a GPU it is off")
  end
  core.warn = warn
end
tap.done()
