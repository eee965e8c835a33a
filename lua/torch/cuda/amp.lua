-- amp.lua -- the deprecated torch.cuda.amp: works, and says what replaces it

local core = require "dlrepl.core"
local amp = require "torch.amp"

local M = {autocast = amp._old_autocast("cuda")}

local function says(name, instead)
  local text = "`torch.cuda.amp.%s(args...)` is deprecated. Please use `%s` instead."
  core.warn_once(text:format(name, instead), "FutureWarning")
end

function M.GradScaler(...)
  says("GradScaler", "torch.amp.GradScaler('cuda', args...)")
  return amp.GradScaler("cuda", ...)
end

local function with_device(options)
  local copy = {device_type = "cuda"}
  for k, v in pairs(options or {}) do copy[k] = v end
  return copy
end

function M.custom_fwd(fwd, options)
  says("custom_fwd", "torch.amp.custom_fwd(args..., device_type='cuda')")
  if options ~= nil and type(options) ~= "table" then
    core.raise("TypeError", "custom_fwd() takes from 0 to 1 positional arguments but 2 were given")
  end
  if type(fwd) == "table" then fwd, options = nil, fwd end
  return amp.custom_fwd(fwd or core.None, with_device(options))
end

function M.custom_bwd(bwd)
  says("custom_bwd", "torch.amp.custom_bwd(args..., device_type='cuda')")
  return amp.custom_bwd(bwd or core.None, {device_type = "cuda"})
end

return M
