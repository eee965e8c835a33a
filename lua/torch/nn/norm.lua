-- norm.lua -- BatchNorm1d, BatchNorm2d, LayerNorm, RMSNorm, GroupNorm, InstanceNorm
--
-- INVARIANT  Statistics live in buffers running_mean, running_var, num_batches_tracked, so that a
--            state_dict has PyTorch's keys.

local core = require "dlrepl.core"
local layer = require "torch.nn.layer"
local init = require "torch.nn.init"
local repr = require "dlrepl.pyrepr"
local F = F -- of the binding; what it lacks is loaded by its first use

local torch, raise, parameter, None = core.torch, core.raise, core.parameter, core.None
local M = {}

-- ---- batch norm ---------------------------------------------------------------------------------

local function batch_norm_init(self, n, _, _, affine, track, device, dtype, bias)
  local options = core.place(device, dtype)
  self:register_parameter("weight", affine and parameter(torch.ones({n}, options)) or nil)
  self:register_parameter("bias", affine and bias and parameter(torch.zeros({n}, options)) or nil)
  self:register_buffer("running_mean", track and torch.zeros({n}, options) or None)
  self:register_buffer("running_var", track and torch.ones({n}, options) or None)
  self:register_buffer("num_batches_tracked",
                       track and torch.tensor(0, {dtype = torch.int64, device = device}) or None)
end

local function batch_norm_forward(self, x)
  self:_check_input_dim(x)
  local b, p = self._buffers, self._parameters
  local momentum = self.momentum or 0.0
  local training, track = self.training, self.track_running_stats
  if training and track and not rawequal(b.num_batches_tracked, None) then
    b.num_batches_tracked:add_(1)
    if self.momentum == nil then momentum = 1.0 / b.num_batches_tracked:item() end
  end
  local from_batch = training or (rawequal(b.running_mean, None) and rawequal(b.running_var, None))
  local use_stats = not training or track
  return F.batch_norm(x, use_stats and b.running_mean or None, use_stats and b.running_var or None,
                      p.weight, p.bias, from_batch, momentum, self.eps)
end

local function define_batch_norm(name, check)
  M[name] = layer(name, "int num_features, float eps=1e-05, float? momentum=0.1, bool affine=True, "
    .. "bool track_running_stats=True, any device=None, any dtype=None, *, bool bias=True", {
    skip = {device = true, dtype = true, bias = true},
    init = batch_norm_init, forward = batch_norm_forward,
    repr = function(self)
      return string.format("%d, eps=%s, momentum=%s, affine=%s, bias=%s, track_running_stats=%s",
        self.num_features, repr.repr(self.eps), repr.repr(self.momentum), repr.repr(self.affine),
        repr.repr(self.bias ~= nil), repr.repr(self.track_running_stats))
    end,
  })
  M[name]._check_input_dim = check
  M[name].reset_running_stats = function(self)
    if not self.track_running_stats then return end
    self.running_mean:zero_()
    self.running_var:fill_(1)
    self.num_batches_tracked:zero_()
  end
  M[name].reset_parameters = function(self)
    self:reset_running_stats()
    if self.weight then init.ones_(self.weight) end
    if self.bias then init.zeros_(self.bias) end
  end
end

define_batch_norm("BatchNorm1d", function(_, x)
  local d = x:dim()
  if d ~= 2 and d ~= 3 then
    raise("ValueError", string.format("expected 2D or 3D input (got %dD input)", d),
      {kind = "shape"})
  end
end)

define_batch_norm("BatchNorm2d", function(_, x)
  local d = x:dim()
  if d ~= 4 then
    raise("ValueError", string.format("expected 4D input (got %dD input)", d),
          {kind = "shape", notes = {"the shape is (batch, channels, height, width)"}})
  end
end)

-- ---- norms over the last dimensions --------------------------------------------------------

local function as_list(shape)
  if type(shape) ~= "table" then return {shape} end
  return shape
end

local function reset_affine(self)
  if self.weight then init.ones_(self.weight) end
  if self.bias then init.zeros_(self.bias) end
end

M.LayerNorm = layer("LayerNorm", "int2 normalized_shape, float eps=1e-05, "
  .. "bool elementwise_affine=True, bool bias=True, any device=None, any dtype=None", {
  skip = {bias = true, device = true, dtype = true},
  init = function(self, shape, _, affine, bias, device, dtype)
    self.normalized_shape = as_list(shape)
    local options = core.place(device, dtype)
    self:register_parameter("weight",
                            affine and parameter(torch.ones(self.normalized_shape, options)) or nil)
    self:register_parameter("bias", affine and bias
                            and parameter(torch.zeros(self.normalized_shape, options)) or nil)
  end,
  forward = function(self, x)
    local p = self._parameters
    return F.layer_norm(x, self.normalized_shape, p.weight, p.bias, self.eps)
  end,
  repr = function(self)
    return string.format("%s, eps=%s, elementwise_affine=%s, bias=%s",
      repr.tuple(self.normalized_shape), repr.repr(self.eps), repr.repr(self.elementwise_affine),
      repr.repr(self.bias ~= nil))
  end,
})
M.LayerNorm.reset_parameters = reset_affine

M.RMSNorm = layer("RMSNorm", "int2 normalized_shape, float? eps=None, bool "
  .. "elementwise_affine=True, "
                  .. "any device=None, any dtype=None", {
  skip = {device = true, dtype = true},
  init = function(self, shape, _, affine, device, dtype)
    self.normalized_shape = as_list(shape)
    local weight = affine and torch.ones(self.normalized_shape, core.place(device, dtype))
    self:register_parameter("weight", weight and parameter(weight) or nil)
  end,
  forward = function(self, x)
    return F.rms_norm(x, self.normalized_shape, self._parameters.weight, self.eps or None)
  end,
  repr = "{normalized_shape}, eps={eps}, elementwise_affine={elementwise_affine}",
})
M.RMSNorm.reset_parameters = function(self) if self.weight then init.ones_(self.weight) end end

M.GroupNorm = layer("GroupNorm", "int num_groups, int num_channels, float eps=1e-05, "
  .. "bool affine=True, any device=None, any dtype=None, *, bool bias=True", {
  skip = {device = true, dtype = true, bias = true},
  init = function(self, groups, channels, _, affine, device, dtype, bias)
    if channels % groups ~= 0 then
      raise("ValueError", string.format("num_channels (%d) must be divisible by num_groups (%d)",
                                        channels, groups))
    end
    local options = core.place(device, dtype)
    self:register_parameter("weight", affine and parameter(torch.ones({channels}, options)) or nil)
    self:register_parameter("bias", affine and bias
                            and parameter(torch.zeros({channels}, options)) or nil)
  end,
  forward = function(self, x)
    local p = self._parameters
    return F.group_norm(x, self.num_groups, p.weight, p.bias, self.eps)
  end,
  repr = function(self)
    return string.format("%d, %d, eps=%s, affine=%s, bias=%s", self.num_groups, self.num_channels,
      repr.repr(self.eps), repr.repr(self.affine), repr.repr(self.bias ~= nil))
  end,
})
M.GroupNorm.reset_parameters = reset_affine

return M
