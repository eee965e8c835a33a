-- nn.lua -- torch.nn: modules, layers, losses, starting values
--
-- Loaded when `nn` is first used; the files of the layers when one of theirs is.

local core = require "dlrepl.core"
local class = require "torch.nn.class"

local nn = rawget(core.torch, "nn") or {}

nn.Module = require "torch.nn.module"

-- file: the layers that it makes
local layers = {
  linear = "Bilinear Embedding Flatten Identity Linear Unflatten",
  conv = [[AdaptiveAvgPool1d AdaptiveAvgPool2d AvgPool1d AvgPool2d CircularPad1d CircularPad2d
    ConstantPad1d ConstantPad2d Conv1d Conv2d MaxPool1d MaxPool2d ReflectionPad1d ReflectionPad2d
    ReplicationPad1d ReplicationPad2d ZeroPad1d ZeroPad2d]],
  norm = "BatchNorm1d BatchNorm2d GroupNorm LayerNorm RMSNorm",
  activation = [[CELU Dropout Dropout1d Dropout2d ELU GELU GLU Hardshrink Hardsigmoid Hardswish
    Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmin
    Softplus Softshrink Softsign Tanh Tanhshrink Threshold]],
  container = "ModuleDict ModuleList ParameterDict ParameterList Sequential",
  loss = [[BCELoss BCEWithLogitsLoss CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss
    GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss MSELoss MarginRankingLoss
    MultiLabelSoftMarginLoss NLLLoss PairwiseDistance PoissonNLLLoss SmoothL1Loss SoftMarginLoss
    TripletMarginLoss]],
}
local whole = {"init", "utils"} -- files that are one field each

local function add(file)
  for key, v in pairs(require("torch.nn." .. file)) do
    v.__qualname__ = "torch.nn." .. key
    if rawget(nn, key) == nil then nn[key] = v end
  end
  layers[file] = nil
end

local function add_whole(i) nn[whole[i]] = require("torch.nn." .. whole[i]) end

-- Called by the binding for a name that nn does not have yet: load what makes it, or, for a name
-- that nothing makes (completion and error messages ask so), all there is.
function nn.__dl_more(name)
  for i, field in ipairs(whole) do if field == name then return add_whole(i) end end
  for file, names in pairs(layers) do
    for known in names:gmatch("%w+") do if known == name then return add(file) end end
  end
  for i = 1, #whole do add_whole(i) end
  for _, file in ipairs {"linear", "conv", "norm", "activation", "container", "loss"} do
    if layers[file] then add(file) end
  end
end

dlrepl.isinstance = class.isinstance -- dlrepl.isinstance(m, nn.Linear)

return nn
