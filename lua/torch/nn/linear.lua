-- linear.lua -- Linear, Bilinear, Identity, Embedding, Flatten, Unflatten
--
-- INVARIANT  Weights are drawn before biases, in PyTorch's arithmetic: a seed gives its numbers.

local core = require "dlrepl.core"
local layer = require "torch.nn.layer"
local init = require "torch.nn.init"
local odict = require "dlrepl.odict"
local repr = require "dlrepl.pyrepr"
local F = F -- of the binding; what it lacks is loaded by its first use

local torch, raise, parameter, None = core.torch, core.raise, core.parameter, core.None
local linear, embedding = F.linear, F.embedding
local M = {}

-- A fresh uninitialised parameter.
local function empty(device, dtype, ...)
  return parameter(torch.empty({...}, core.place(device, dtype)))
end

local function has_bias(self) return repr.repr(odict.has(self._parameters, "bias") and self.bias
  ~= nil) end

M.Linear = layer("Linear", "int in_features, int out_features, bool bias=True, any "
  .. "device=None, any dtype=None", {
  skip = {bias = true, device = true, dtype = true},
  init = function(self, n_in, n_out, bias, device, dtype)
    self.weight = empty(device, dtype, n_out, n_in)
    self:register_parameter("bias", bias and empty(device, dtype, n_out) or nil)
    self:reset_parameters()
  end,
  forward = function(self, x)
    local p = self._parameters
    return linear(x, p.weight, p.bias)
  end,
  repr = function(self)
    return string.format("in_features=%d, out_features=%d, bias=%s", self.in_features,
                         self.out_features, has_bias(self))
  end,
})

function M.Linear.reset_parameters(self)
  init.kaiming_uniform_(self.weight, {a = math.sqrt(5)})
  if self.bias then
    local fan_in = init._calculate_fan_in_and_fan_out(self.weight)
    local bound = fan_in > 0 and 1 / math.sqrt(fan_in) or 0
    init.uniform_(self.bias, -bound, bound)
  end
end

M.Bilinear = layer("Bilinear", "int in1_features, int in2_features, int out_features, "
                   .. "bool bias=True, any device=None, any dtype=None", {
  skip = {bias = true, device = true, dtype = true},
  init = function(self, in1, in2, n_out, bias, device, dtype)
    self.weight = empty(device, dtype, n_out, in1, in2)
    self:register_parameter("bias", bias and empty(device, dtype, n_out) or nil)
    self:reset_parameters()
  end,
  forward = function(self, x1, x2) return F.bilinear(x1, x2, self.weight, self.bias) end,
  repr = function(self)
    return string.format("in1_features=%d, in2_features=%d, out_features=%d, bias=%s",
                         self.in1_features, self.in2_features, self.out_features, has_bias(self))
  end,
})

function M.Bilinear.reset_parameters(self)
  if self.in1_features <= 0 then
    raise("ValueError", string.format("in1_features must be > 0, but got (in1_features=%d)",
                                      self.in1_features))
  end
  local bound = 1 / math.sqrt(self.weight:size(1))
  init.uniform_(self.weight, -bound, bound)
  if self.bias then init.uniform_(self.bias, -bound, bound) end
end

-- Identity takes any arguments and returns its input.
M.Identity = require("torch.nn.module"):class("Identity")
function M.Identity.init() end
function M.Identity.forward(_, x) return x end

M.Embedding = layer("Embedding", "int num_embeddings, int embedding_dim, int? padding_idx=None, "
  .. "float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False, "
  .. "any _weight=None, bool _freeze=False, any device=None, any dtype=None", {
  skip = {_weight = true, _freeze = true, device = true, dtype = true},
  init = function(self, n, dim, padding_idx, _, _, _, _, weight, freeze, device, dtype)
    if padding_idx then
      if padding_idx >= n or padding_idx < -n then
        raise("AssertionError", "Padding_idx must be within num_embeddings")
      end
      if padding_idx < 0 then self.padding_idx = n + padding_idx end
    end
    if weight then
      if weight.shape ~= torch.Size({n, dim}) then
        raise("AssertionError", "Shape of weight does not match num_embeddings and embedding_dim")
      end
      self.weight = parameter(weight, not freeze)
    else
      self.weight = parameter(torch.empty({n, dim}, core.place(device, dtype)), not freeze)
      self:reset_parameters()
    end
  end,
  forward = function(self, x)
    return embedding(x, self._parameters.weight, self.padding_idx or None, self.max_norm or None,
                     self.norm_type, self.scale_grad_by_freq, self.sparse)
  end,
  repr = function(self)
    local text = self.num_embeddings .. ", " .. self.embedding_dim
    if self.padding_idx then text = text .. ", padding_idx=" .. self.padding_idx end
    if self.max_norm then text = text .. ", max_norm=" .. repr.repr(self.max_norm) end
    if self.norm_type ~= 2 then text = text .. ", norm_type=" .. repr.repr(self.norm_type) end
    if self.scale_grad_by_freq then text = text .. ", scale_grad_by_freq=True" end
    if self.sparse then text = text .. ", sparse=True" end
    return text
  end,
})

function M.Embedding.reset_parameters(self)
  init.normal_(self.weight)
  if self.padding_idx then
    torch.no_grad(function() self.weight[self.padding_idx]:fill_(0) end)
  end
end

local read_pretrained = require("dlrepl.args")(
  "from_pretrained(any embeddings, bool freeze=True, int? padding_idx=None)")

-- nn.Embedding.from_pretrained(weight): rows are given; frozen unless freeze=false.
function M.Embedding.from_pretrained(first, ...)
  if first == M.Embedding then return M.Embedding.from_pretrained(...) end -- called with a colon
  local weight, freeze, padding_idx = read_pretrained(first, ...)
  if weight:dim() ~= 2 then
    raise("AssertionError", "Embeddings parameter is expected to be 2-dimensional")
  end
  return M.Embedding(weight:size(0), weight:size(1),
                     {_weight = weight, _freeze = freeze, padding_idx = padding_idx})
end

M.Flatten = layer("Flatten", "int start_dim=1, int end_dim=-1", {
  forward = function(self, x) return x:flatten(self.start_dim, self.end_dim) end,
  repr = "start_dim={start_dim}, end_dim={end_dim}",
})

M.Unflatten = layer("Unflatten", "int dim, any unflattened_size", {
  init = function(self, _, size)
    if type(size) ~= "table" then
      raise("TypeError", "unflattened_size must be a tuple of ints, but found type "
                         .. repr.typename(size))
    end
  end,
  forward = function(self, x) return x:unflatten(self.dim, self.unflattened_size) end,
  repr = "dim={dim}, unflattened_size={unflattened_size}",
})

return M
