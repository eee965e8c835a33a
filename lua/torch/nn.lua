-- nn.lua -- torch.nn: modules, layers, losses, starting values
--
-- Loaded when `nn` is first used. Every file below adds its layers to one table.

local core = require "dlrepl.core"
local class = require "torch.nn.class"

local nn = rawget(core.torch, "nn") or {}

nn.Module = require "torch.nn.module"
nn.functional = require "torch.nn.functional"
nn.init = require "torch.nn.init"
nn.utils = require "torch.nn.utils"

local function add(name)
  for key, v in pairs(require("torch.nn." .. name)) do
    v.__qualname__ = "torch.nn." .. key
    nn[key] = v
  end
end
for _, name in ipairs {"linear", "conv", "norm", "activation", "container", "loss"} do add(name) end

dlrepl.isinstance = class.isinstance -- dlrepl.isinstance(m, nn.Linear)

return nn
