-- mps.lua -- torch.mps: the few functions of Apple's GPU, over the same pool
--
-- Only a simulated device can stand here: dlrepl.simulate{device="mps"}.

local torch = require "torch"
local core = require "dlrepl.core"
local cuda = torch.cuda

local function need()
  if cuda._kind() ~= "mps" then
    core.raise("RuntimeError", "PyTorch is not linked with support for mps devices", {
      notes = {"dlrepl.simulate{device=\"mps\"} gives a simulated one"}})
  end
end

local M = {}

function M.is_available() return cuda._kind() == "mps" end
function M.device_count() return M.is_available() and 1 or 0 end
function M.synchronize()
  need()
  cuda.synchronize(torch.device("mps", 0))
end
function M.manual_seed(seed)
  need()
  cuda.manual_seed(seed)
end
function M.empty_cache()
  need()
  cuda.empty_cache()
end
function M.current_allocated_memory()
  need()
  return cuda.memory_allocated(torch.device("mps", 0))
end
function M.driver_allocated_memory()
  need()
  return cuda.memory_reserved(torch.device("mps", 0))
end
function M.recommended_max_memory()
  need()
  return cuda._properties(torch.device("mps", 0)).total_memory
end

return M
