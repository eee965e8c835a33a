-- data.lua -- torch.utils.data
--
-- Loaded when torch.utils.data is first used.

local M = {DataLoader = require "torch.utils.data.dataloader"}

for _, name in ipairs {"dataset", "sampler"} do
  for key, v in pairs(require("torch.utils.data." .. name)) do
    if key ~= "iterate" then M[key] = v end
  end
end

local collate = require "torch.utils.data.collate"
local class = require "dlrepl.class"

-- default_collate(samples): several results for samples of several values.
function M.default_collate(samples)
  local batch = collate(samples)
  if class.is_tuple(batch) then return batch:unpack() end
  return batch
end

return M
