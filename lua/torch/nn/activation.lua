-- activation.lua -- activations as layers, and Dropout
--
-- INVARIANT  A layer without the in-place option calls the engine's function directly.

local core = require "dlrepl.core"
local layer = require "torch.nn.layer"
local repr = require "dlrepl.pyrepr"
local F = F -- of the binding; what it lacks is loaded by its first use

local torch, raise = core.torch, core.raise
local M = {}

-- ---- no options, or only `inplace` ---------------------------------------------------------

for name, fn in pairs {Sigmoid = F.sigmoid, Tanh = F.tanh, LogSigmoid = F.logsigmoid,
                       Softsign = F.softsign, Tanhshrink = F.tanhshrink} do
  M[name] = layer(name, "", {forward = function(_, x) return fn(x) end})
end

M.ReLU = layer("ReLU", "bool inplace=False", {
  forward = function(self, x)
    if self.inplace then return x:relu_() end
    return F.relu(x)
  end,
  repr = "{inplace?}",
})

for name, fn in pairs {SiLU = "silu", Mish = "mish", SELU = "selu", Hardswish = "hardswish",
                       Hardsigmoid = "hardsigmoid"} do
  M[name] = layer(name, "bool inplace=False", {
    forward = function(self, x) return F[fn](x, self.inplace or nil) end,
    repr = (name == "SiLU" or name == "Mish" or name == "SELU") and "{inplace?}" or nil,
  })
end

-- ---- with numbers --------------------------------------------------------------------------

-- name, parameters, F function, arguments in order, repr
local rows = {
  {"ELU", "number alpha=1.0, bool inplace=False", "elu", {"alpha", "inplace"},
   "alpha={alpha}{, inplace}"},
  {"CELU", "number alpha=1.0, bool inplace=False", "celu", {"alpha", "inplace"},
   "alpha={alpha}{, inplace}"},
  {"LeakyReLU", "number negative_slope=0.01, bool inplace=False", "leaky_relu",
   {"negative_slope", "inplace"}, "negative_slope={negative_slope}{, inplace}"},
  {"Threshold", "number threshold, number value, bool inplace=False", "threshold",
   {"threshold", "value", "inplace"}, "threshold={threshold}, value={value}{, inplace}"},
  {"Hardtanh", "number min_val=-1.0, number max_val=1.0, bool inplace=False", "hardtanh",
   {"min_val", "max_val", "inplace"}, "min_val={min_val}, max_val={max_val}{, inplace}"},
  {"Softplus", "number beta=1.0, number threshold=20.0", "softplus", {"beta", "threshold"},
   "beta={beta}, threshold={threshold}"},
  {"Hardshrink", "number lambd=0.5", "hardshrink", {"lambd"}, "{lambd}"},
  {"Softshrink", "number lambd=0.5", "softshrink", {"lambd"}, "{lambd}"},
  {"GLU", "int dim=-1", "glu", {"dim"}, "dim={dim}"},
}
for _, row in ipairs(rows) do
  local name, params, fn, names, template = table.unpack(row)
  M[name] = layer(name, params, {
    forward = function(self, x)
      return F[fn](x, self[names[1]], names[2] and self[names[2]], names[3] and self[names[3]])
    end,
    repr = template,
  })
end
M.Softplus.forward = function(self, x) return F.softplus(x, self.beta, self.threshold) end
M.GLU.forward = function(self, x) return F.glu(x, self.dim) end
M.Hardshrink.forward = function(self, x) return F.hardshrink(x, self.lambd) end
M.Softshrink.forward = function(self, x) return F.softshrink(x, self.lambd) end

M.Hardtanh.init = (function(init)
  return function(self, ...)
    init(self, ...)
    if not (self.max_val > self.min_val) then
      raise("AssertionError", "")
    end
  end
end)(M.Hardtanh.init)

M.ReLU6 = layer("ReLU6", "bool inplace=False", {
  init = function(self) self.min_val, self.max_val = 0.0, 6.0 end,
  forward = function(self, x) return F.relu6(x, self.inplace or nil) end,
  repr = "{inplace?}",
}, M.Hardtanh)

M.GELU = layer("GELU", "str approximate='none'", {
  forward = function(self, x) return F.gelu(x, {approximate = self.approximate}) end,
  repr = function(self) return "approximate=" .. repr.repr(self.approximate) end,
})

for name, fn in pairs {Softmax = "softmax", LogSoftmax = "log_softmax", Softmin = "softmin"} do
  M[name] = layer(name, "int? dim=None", {
    forward = function(self, x) return F[fn](x, self.dim) end,
    repr = "dim={dim}",
  })
end

M.PReLU = layer("PReLU", "int num_parameters=1, number init=0.25, any device=None, any dtype=None",
  {
  skip = {device = true, dtype = true, init = true},
  init = function(self, n, value, device, dtype)
    rawset(self, "_start", value)
    self.weight = core.parameter(torch.empty({n}, core.place(device, dtype)))
    self:reset_parameters()
  end,
  forward = function(self, x) return F.prelu(x, self._parameters.weight) end,
  repr = "num_parameters={num_parameters}",
})
function M.PReLU.reset_parameters(self)
  torch.no_grad(function() self.weight:fill_(self._start) end)
end

-- ---- dropout -------------------------------------------------------------------------------

local function probability(_, p)
  if p < 0 or p > 1 then
    raise("ValueError", "dropout probability has to be between 0 and 1, but got " .. repr.repr(p))
  end
end

for name, fn in pairs {Dropout = "dropout", Dropout1d = "dropout2d", Dropout2d = "dropout2d"} do
  M[name] = layer(name, "number p=0.5, bool inplace=False", {
    init = probability,
    forward = function(self, x) return F[fn](x, self.p, self.training, self.inplace) end,
    repr = "p={p}, inplace={inplace}",
  })
end

return M
