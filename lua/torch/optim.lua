-- optim.lua -- torch.optim: SGD, Adam, AdamW
--
-- Loaded when `optim` is first used.

local base = require "torch.optim.optimizer"
local adam = require "torch.optim.adam"
local near = require "dlrepl.near"
local raise = require("dlrepl.core").raise

local M = {
  Optimizer = base.Optimizer,
  SGD = require "torch.optim.sgd",
  Adam = adam.Adam,
  AdamW = adam.AdamW,
}

return setmetatable(M, {__index = function(_, k)
  if type(k) ~= "string" or k:sub(1, 1) == "_" then return nil end
  local names = {}
  for name in pairs(M) do names[#names + 1] = name end
  local meant = near.best(k, names)
  raise("AttributeError", string.format("module 'torch.optim' has no attribute '%s'", k),
        {kind = "argument", notes = meant and {"did you mean '" .. meant .. "'?"} or nil})
end})
