-- amp.lua -- the deprecated torch.cpu.amp: works, and says what replaces it

local core = require "dlrepl.core"
local amp = require "torch.amp"

local M = {autocast = amp._old_autocast("cpu")}

function M.GradScaler(...)
  core.warn_once("`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use "
    .. "`torch.amp.GradScaler('cpu', args...)` instead.", "FutureWarning")
  return amp.GradScaler("cpu", ...)
end

return M
