-- cpu.lua -- torch.cpu: what is always true of the CPU, and the deprecated torch.cpu.amp

local M = {}

function M.is_available() return true end
function M.device_count() return 1 end
function M.current_device() return "cpu" end
function M.synchronize() end

return setmetatable(M, {__index = function(_, k)
  if k == "amp" then return require "torch.cpu.amp" end
end})
