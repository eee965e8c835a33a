-- torchvision.lua -- torchvision: datasets and transforms
--
-- Loaded when `torchvision` is first used.

return {
  datasets = require "torchvision.datasets",
  transforms = require "torchvision.transforms",
}
