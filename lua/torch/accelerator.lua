-- accelerator.lua -- torch.accelerator: the same program for whichever accelerator there is

local torch = require "torch"
local cuda = torch.cuda
local core = require "dlrepl.core"

local M = {}

function M.is_available() return cuda._kind() ~= nil end

-- The device type in use, or nil; {check_available=…} is taken and changes nothing here.
function M.current_accelerator()
  local kind = cuda._kind()
  return kind and torch.device(kind) or nil
end

function M.device_count()
  local kind = cuda._kind()
  if not kind then return 0 end
  return kind == "cuda" and cuda.device_count() or 1
end

local function need()
  if not cuda._kind() then
    core.raise("RuntimeError", "Cannot access accelerator device when none is available.")
  end
end

function M.current_device_index()
  need()
  return cuda._kind() == "cuda" and cuda.current_device() or 0
end
M.current_device_idx = M.current_device_index

function M.set_device_index(i)
  need()
  cuda.set_device(i)
end
M.set_device_idx = M.set_device_index

function M.synchronize(device)
  need()
  cuda.synchronize(device)
end

return M
