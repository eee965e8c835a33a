-- amp.lua -- torch.amp: autocast regions, custom_fwd and custom_bwd; GradScaler lives beside it
--
--     torch.autocast({device_type="cuda", dtype=torch.float16}, function() … end)
--     local _ <close> = torch.amp.autocast("cpu")
--
-- SOURCE     torch/amp/autocast_mode.py
-- MUST NOT   know which op runs in which dtype: that is decided in the engine.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local repr = require "dlrepl.pyrepr"

local torch, raise, warn = core.torch, core.raise, core.warn_once
local begin, state, set = dlrepl._autocast, dlrepl._autocast_state, dlrepl._autocast_set

local M = {}

local function check_type(v)
  if type(v) == "string" then return end
  raise("ValueError", "Expected `device_type` of type `str`, got: `<class '" .. repr.typename(v)
        .. "'>`", {kind = "argument"})
end

-- ---- regions ---------------------------------------------------------------------------------

-- Arguments before the first function, that function's place, everything.
local function split(...)
  local all = table.pack(...)
  for i = 1, all.n do
    if type(all[i]) == "function" then return i, all end
  end
  return all.n + 1, all
end

local no_cuda = "CUDA is not available or torch_xla is imported. Disabling autocast."
local bad_cpu = "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
  .. "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
local bad_mps = "In MPS autocast, but the target dtype is not supported. Disabling autocast.\n"
  .. "MPS Autocast only supports dtype of torch.bfloat16 and torch.float16 currently."

local function is_low(d) return d == torch.float16 or d == torch.bfloat16 end

-- Whether a region can be on here; warns where it cannot.
local function usable(device, dtype)
  local kind = device:match("^[^:]*")
  if kind == "cuda" then
    if torch.cuda.is_available() then return true end
    warn(no_cuda)
  elseif kind == "cpu" and not is_low(dtype) then warn(bad_cpu)
  elseif kind == "mps" and not is_low(dtype) then warn(bad_mps)
  elseif kind == "meta" then
    raise("RuntimeError", "User specified an unsupported autocast device_type 'meta'")
  else
    return true
  end
  return false
end

-- A region from read arguments, then the function and what it gets.
local function region(device, dtype, enabled, cache, ...)
  local _, preset, cache_now = state(device)
  dtype = dtype or preset
  if not core.is_dtype(dtype) then
    raise("TypeError", "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, "
          .. "not " .. repr.typename(dtype), {kind = "argument"})
  end
  if cache == nil then cache = cache_now end
  if enabled and not usable(device, dtype) then enabled = false end
  if not is_low(dtype) then dtype = enabled and dtype or preset end
  return begin(device, dtype, enabled, cache, ...)
end

local read = args("autocast.__init__(any device_type, any dtype=None, bool enabled=True, "
                  .. "bool? cache_enabled=None)")

-- autocast(device_type, dtype, enabled, cache_enabled [, function, …]): a guard, or what the
-- function returns.
function M.autocast(...)
  local at, all = split(...)
  local device, dtype, enabled, cache = read(table.unpack(all, 1, at - 1))
  check_type(device)
  return region(device, dtype, enabled, cache, table.unpack(all, at, all.n))
end

-- The deprecated torch.cuda.amp.autocast and torch.cpu.amp.autocast.
function M._old_autocast(device)
  local read_old = args("autocast.__init__(bool enabled=True, any dtype=None, "
                        .. "bool cache_enabled=True)")
  local dflt = device == "cpu" and torch.bfloat16 or torch.float16
  return function(...)
    warn(string.format("`torch.%s.amp.autocast(args...)` is deprecated. Please use "
      .. "`torch.amp.autocast('%s', args...)` instead.", device, device), "FutureWarning")
    local at, all = split(...)
    local enabled, dtype, cache = read_old(table.unpack(all, 1, at - 1))
    return region(device, dtype or dflt, enabled, cache, table.unpack(all, at, all.n))
  end
end

-- ---- state -----------------------------------------------------------------------------------

-- Does autocast know this kind of device?
function M.is_autocast_available(device)
  check_type(device)
  state(device)
  return device:match("^[^:]*") ~= "meta"
end

local function need(fn, name, at, kind, v, missing)
  if missing and v == nil then
    raise("TypeError", string.format('%s() missing 1 required positional arguments: "%s"', fn,
                                     name), {kind = "argument"})
  end
  local word = ({string = "str", boolean = "bool"})[kind]
  if type(v) == kind then return end
  raise("TypeError", string.format("%s(): argument '%s' (position %d) must be %s, not %s", fn, name,
                                   at, word, repr.typename(v)), {kind = "argument"})
end

local function dtype_of(device)
  need("get_autocast_dtype", "device_type", 1, "string", device, true)
  local _, dtype = state(device)
  return dtype
end

-- What torch itself shows of the state (torch.get_autocast_dtype and so on).
M.state = {
  get_autocast_dtype = dtype_of,
  is_autocast_enabled = function(device)
    if device ~= nil then need("is_autocast_enabled", "device_type", 1, "string", device) end
    local on = state(device or "cuda")
    return on
  end,
  is_autocast_cache_enabled = function()
    local _, _, cache = state("cpu")
    return cache
  end,
  set_autocast_enabled = function(device, on)
    if type(device) ~= "string" then
      need("set_autocast_enabled", "enabled", 1, "boolean", device, true)
      device, on = "cuda", device
    end
    need("set_autocast_enabled", "enabled", 2, "boolean", on, true)
    local _, dtype, cache = state(device)
    set(device, dtype, on, cache)
  end,
  set_autocast_dtype = function(device, dtype)
    need("set_autocast_dtype", "device_type", 1, "string", device, true)
    local on, _, cache = state(device)
    if not core.is_dtype(dtype) then
      raise("TypeError", "set_autocast_dtype(): argument 'dtype' (position 2) must be "
            .. "torch.dtype, not " .. repr.typename(dtype), {kind = "argument"})
    end
    set(device, dtype, on, cache)
  end,
  set_autocast_cache_enabled = function(cache)
    if type(cache) ~= "boolean" then
      raise("TypeError", "enabled must be a bool (got " .. repr.typename(cache) .. ")",
            {kind = "argument"})
    end
    local on, dtype = state("cpu")
    set("cpu", dtype, on, cache)
  end,
  clear_autocast_cache = dlrepl._autocast_clear,
}

local function deprecated(name, use, f)
  M.state[name] = function()
    warn(string.format("torch.%s() is deprecated. Please use %s instead.", name, use),
         "DeprecationWarning")
    return f()
  end
end
deprecated("is_autocast_cpu_enabled", "torch.is_autocast_enabled('cpu')",
           function() return M.state.is_autocast_enabled("cpu") end)
deprecated("get_autocast_cpu_dtype", "torch.get_autocast_dtype('cpu')",
           function() return dtype_of("cpu") end)
deprecated("get_autocast_gpu_dtype", "torch.get_autocast_dtype('cuda')",
           function() return dtype_of("cuda") end)

-- ---- custom functions under autocast -----------------------------------------------------------

-- Floating tensors of the device (not float64), also inside plain tables, in another dtype.
local function cast(v, device, dtype)
  if core.is_tensor(v) then
    local fits = v:is_floating_point() and v.device.type == device and v.dtype ~= torch.float64
    return fits and v:to(dtype) or v
  end
  if type(v) ~= "table" or getmetatable(v) ~= nil then return v end
  local copy = {}
  for k, x in pairs(v) do copy[k] = cast(x, device, dtype) end
  return copy
end

local function cast_all(device, dtype, ...)
  local all = table.pack(...)
  for i = 1, all.n do all[i] = cast(all[i], device, dtype) end
  return table.unpack(all, 1, all.n)
end

local read_fwd = args("custom_fwd(fn? fwd=None, *, any device_type, any cast_inputs=None)")

-- custom_fwd(forward, {device_type="cuda", cast_inputs=torch.float32}): a forward for
-- autograd.Function that remembers the region it ran in. Without a function: one that takes it.
function M.custom_fwd(...)
  local fwd, device, dtype = read_fwd(...)
  check_type(device)
  if not fwd then
    return function(f) return M.custom_fwd(f, {device_type = device, cast_inputs = dtype}) end
  end
  return function(ctx, ...)
    local on, low = state(device)
    ctx._dtype, ctx._fwd_used_autocast = low, on and dtype == nil
    if not (on and dtype) then return fwd(ctx, ...) end
    return M.autocast({device_type = device, enabled = false}, fwd, ctx,
                      cast_all(device, dtype, ...))
  end
end

local read_bwd = args("custom_bwd(fn? bwd=None, *, any device_type)")

-- custom_bwd(backward, {device_type="cuda"}): runs backward in the region of its forward.
function M.custom_bwd(...)
  local bwd, device = read_bwd(...)
  check_type(device)
  if not bwd then return function(f) return M.custom_bwd(f, {device_type = device}) end end
  return function(ctx, ...)
    local options = {device_type = device, enabled = ctx._fwd_used_autocast or false,
                     dtype = ctx._dtype}
    return M.autocast(options, bwd, ctx, ...)
  end
end

return setmetatable(M, {__index = function(t, k)
  if k ~= "GradScaler" then
    raise("AttributeError", string.format("module 'torch.amp' has no attribute '%s'", tostring(k)))
  end
  local class = require("torch.amp.grad_scaler")
  rawset(t, k, class)
  return class
end})
