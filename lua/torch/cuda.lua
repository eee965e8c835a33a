-- cuda.lua -- what of torch.cuda reads well in Lua: guards, properties, what a card can do
--
-- Fills torch.cuda (made in C) on the first name that is missing there.
--
-- MUST NOT   know which driver runs.

local torch = require "torch"
local core = require "dlrepl.core"
local guard = require "dlrepl.guard"

local cuda = torch.cuda
local M = cuda

-- A device given as nil, 1, "cuda:1" or torch.device, as an ordinal; nil stays nil.
local function ordinal(device)
  if device == nil or device == core.None then return nil end
  if math.type(device) == "integer" then return device end
  device = torch.device(device)
  if device.type == "cuda" then cuda.current_stream(device) -- raises where there is no such GPU
  elseif device.type ~= cuda._kind() then
    core.raise("ValueError", "Expected a cuda device, but got: " .. tostring(device),
               {kind = "argument"})
  end
  return device.index
end

-- ---- parts ---------------------------------------------------------------------------------
-- torch.cuda.amp and torch.cuda.memory are modules of their own, loaded when first named.
local parts = {amp = true, memory = true}
rawset(M, "__dl_more", function(name)
  if parts[name] then rawset(M, name, require("torch.cuda." .. name)) end
end)

-- ---- guards --------------------------------------------------------------------------------
-- torch.cuda.device(1, function() … end): the current device meanwhile.
function M.device(device, fn, ...)
  local before = cuda.current_device()
  local to = ordinal(device)
  if to then cuda.set_device(to) end
  return guard.enter(function() cuda.set_device(before) end, fn, ...)
end

function M.device_of(x, fn, ...)
  local d = core.is_tensor(x) and x.device or nil
  return M.device(d and d.type == "cuda" and d or nil, fn, ...)
end

-- torch.cuda.stream(s, function() … end): launches meanwhile go to s; nil changes nothing.
function M.stream(s, fn, ...)
  if s == nil or s == core.None then return guard.enter(nil, fn, ...) end
  if type(s) ~= "userdata" then
    core.raise("AttributeError", "'" .. core.typename(s) .. "' object has no attribute 'device'",
               {kind = "argument", notes = {"write torch.cuda.stream(torch.cuda.Stream())"}})
  end
  local device = cuda.current_device()
  local before = cuda.current_stream(s.device)
  cuda.set_stream(s)
  return guard.enter(function()
    cuda.set_stream(before)
    cuda.set_device(device)
  end, fn, ...)
end

-- ---- properties ----------------------------------------------------------------------------
local props_meta = {__name = "torch.cuda._CudaDeviceProperties"}
function props_meta.__tostring(p)
  return string.format(
    "_CudaDeviceProperties(name='%s', major=%d, minor=%d, total_memory=%dMB, "
    .. "multi_processor_count=%d, uuid=%s, L2_cache_size=%dMB)",
    p.name, p.major, p.minor, p.total_memory // 2 ^ 20, p.multi_processor_count, p.uuid,
    p.L2_cache_size // 2 ^ 20)
end
function props_meta.__index(_, key)
  core.raise("AttributeError", string.format(
    "'torch._C._CudaDeviceProperties' object has no attribute '%s'", tostring(key)))
end

function M.get_device_properties(device)
  return setmetatable(cuda._properties(device), props_meta)
end

-- Ampere (8.x) and later have bfloat16 units; older cards emulate it, which PyTorch counts too.
function M.is_bf16_supported(including_emulation)
  if type(including_emulation) == "table" then
    including_emulation = including_emulation.including_emulation
  end
  if not cuda.is_available() then return false end
  local major = cuda.get_device_capability()
  return major >= 8 or including_emulation ~= false
end

function M.is_tf32_supported()
  return cuda.is_available() and (cuda.get_device_capability()) >= 8
end

function M.get_arch_list()
  if not cuda.is_available() then return {} end
  return {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"}
end

function M.init() cuda.current_device() end

-- ---- waiting that nobody asked for ---------------------------------------------------------
local modes = {default = 0, warn = 1, error = 2, [0] = 0, [1] = 1, [2] = 2}

function M.set_sync_debug_mode(mode)
  local n = modes[mode]
  if n == nil and type(mode) == "string" then
    core.raise("RuntimeError", "invalid value of debug_mode, expected one of `default`, `warn`, "
               .. "`error`")
  elseif n == nil then
    core.raise("RuntimeError", "invalid value of debug_mode, expected 0,1,2")
  end
  cuda.current_device()
  cuda._sync_debug(n)
end

function M.get_sync_debug_mode() return cuda._sync_debug() end

-- ---- memory --------------------------------------------------------------------------------
M.memory = require "torch.cuda.memory"
for name, fn in pairs(M.memory) do
  if name:sub(1, 1) ~= "_" then M[name] = fn end
end

return M
