-- optim.lua -- torch.optim: SGD, Adam, AdamW
--
-- Loaded when `optim` is first used.

local base = require "torch.optim.optimizer"
local adam = require "torch.optim.adam"

return {
  Optimizer = base.Optimizer,
  SGD = require "torch.optim.sgd",
  Adam = adam.Adam,
  AdamW = adam.AdamW,
}
