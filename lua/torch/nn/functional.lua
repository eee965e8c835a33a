-- functional.lua -- torch.nn.functional: what the engine's own F functions do not cover
--
-- Extends the table F that the binding filled from the op table: functions made of other ops, and
-- arguments that a schema cannot express (`inplace`, padding='same', an output size of None). The
-- binding leaves those names out of F, so that this file is loaded when one is first used.
--
-- INVARIANT  The plain call F.relu(x) goes straight through to the engine.
-- MUST NOT   know modules.

local core = require "dlrepl.core"
local args = require "dlrepl.args"

local torch, raise, None, ops = core.torch, core.raise, core.None, core.ops
local F = F

-- ---- activations ---------------------------------------------------------------------------

local function reads_inplace(opt)
  return opt == true or (type(opt) == "table" and getmetatable(opt) == nil and opt.inplace == true)
end

-- F.name(x, …, inplace): with inplace the result is written into x, in the graph too.
local function allow_inplace(name, signature)
  local plain = ops[name]
  local read = args(signature)
  F[name] = function(x, opt, ...)
    if opt == nil and select("#", ...) == 0 then return plain(x) end
    local values = table.pack(read(x, opt, ...))
    local inplace = values[values.n]
    local y = plain(x, table.unpack(values, 2, values.n - 1))
    return inplace and x:copy_(y) or y
  end
end
for _, name in ipairs {"selu", "silu", "mish", "hardswish", "hardsigmoid", "relu6"} do
  allow_inplace(name, name .. "(Tensor input, bool inplace=False)")
end
allow_inplace("elu", "elu(Tensor input, number alpha=1.0, bool inplace=False)")
allow_inplace("celu", "celu(Tensor input, number alpha=1.0, bool inplace=False)")
allow_inplace("leaky_relu", "leaky_relu(Tensor input, number negative_slope=0.01, bool "
  .. "inplace=False)")
allow_inplace("hardtanh",
              "hardtanh(Tensor input, number min_val=-1.0, number max_val=1.0, bool inplace=False)")
allow_inplace("threshold", "threshold(Tensor input, number threshold, number value, bool "
  .. "inplace=False)")

local relu = ops.relu
function F.relu(x, opt)
  if opt == nil then return relu(x) end
  if reads_inplace(opt) then return F.relu_(x) end
  return relu(x, opt ~= false and not (type(opt) == "table" and opt.inplace == false) and opt
    or nil)
end
local read_input = args "relu_(Tensor input)"
function F.relu_(x) return read_input(x):relu_() end

local read_shrink = args "shrink(Tensor input, number lambd=0.5)"
function F.hardshrink(...)
  local x, lambd = read_shrink(...)
  return torch.where(x:ge(-lambd):logical_and(x:le(lambd)), torch.zeros_like(x), x)
end
function F.softshrink(...)
  local x, lambd = read_shrink(...)
  return torch.where(x:gt(lambd), x - lambd, torch.where(x:lt(-lambd), x + lambd, x * 0))
end

-- The dimension PyTorch chooses when none is given to softmax (it warns).
local function implicit_dim(name, x)
  core.warn("Implicit dimension choice for " .. name .. " has been deprecated. "
            .. "Change the call to include dim=X as an argument.")
  local n = x:dim()
  return (n == 0 or n == 1 or n == 3) and 0 or 1
end

for _, name in ipairs {"softmax", "log_softmax", "softmin"} do
  local plain = ops[name]
  local read = args(name .. "(Tensor input, int? dim=None, any dtype=None)")
  F[name] = function(x, dim, ...)
    if math.type(dim) == "integer" and select("#", ...) == 0 then return plain(x, dim) end
    local _, d, dtype = read(x, dim, ...)
    return plain(x, d or implicit_dim(name, x), {dtype = dtype or None})
  end
end

local read_gumbel = args("gumbel_softmax(Tensor logits, number tau=1, bool hard=False, number "
  .. "eps=1e-10, int dim=-1)")
function F.gumbel_softmax(...)
  local logits, tau, hard, _, dim = read_gumbel(...)
  local gumbels = -(torch.empty_like(logits):exponential_():log())
  local soft = ((logits + gumbels) / tau):softmax(dim)
  if not hard then return soft end
  local _, index = soft:max(dim, {keepdim = true})
  local one = torch.zeros_like(logits):scatter_(dim, index, 1.0)
  return one - soft:detach() + soft
end

-- ---- linear maps ---------------------------------------------------------------------------

-- y[…, o] = sum_ij x1[…, i] weight[o, i, j] x2[…, j] + bias[o]
local read_bilinear = args "bilinear(Tensor input1, Tensor input2, Tensor weight, any bias=None)"
function F.bilinear(...)
  local x1, x2, weight, bias = read_bilinear(...)
  if weight:dim() ~= 3 or x1:dim() < 1 or x2:dim() ~= x1:dim() then
    raise("RuntimeError", "bilinear(): inputs must have the same number of dimensions and weight "
          .. "three", {kind = "shape"})
  end
  if x1.dtype ~= x2.dtype or x1.dtype ~= weight.dtype then
    raise("RuntimeError", string.format("All tensors must have the same dtype, got input1: %s, "
          .. "input2: %s, weight: %s", x1:type(), x2:type(), weight:type()), {kind = "dtype"})
  end
  local in1, in2 = weight:size(1), weight:size(2)
  for i, pair in ipairs {{x1, in1}, {x2, in2}} do
    if pair[1]:size(-1) ~= pair[2] then
      raise("RuntimeError", string.format("bilinear(): input%d size does not match weight size: "
            .. "got %d but expected %d", i, pair[1]:size(-1), pair[2]), {kind = "shape"})
    end
  end
  local a, b = x1:reshape(-1, in1), x2:reshape(-1, in2)
  local left = a:matmul(weight:permute(1, 0, 2):reshape(in1, -1)):reshape(-1, weight:size(0), in2)
  local y = left:bmm(b:unsqueeze(2)):squeeze({2})
  local shape = {}
  for i = 0, x1:dim() - 2 do shape[i + 1] = x1:size(i) end
  shape[#shape + 1] = weight:size(0)
  y = y:reshape(shape)
  return bias and y + bias or y
end

-- ---- convolution with padding by name ------------------------------------------------------

local function each(v, n) -- one integer stands for n
  if type(v) == "table" then return v end
  return n == 1 and {v} or {v, v}
end

-- Padding of a word: 'valid' is none; 'same' may be one more on the right, padded beforehand.
local function named_padding(x, n, weight, stride, padding, dilation)
  if padding == "valid" then return x, 0 end
  if padding ~= "same" then
    raise("RuntimeError", "Invalid padding string: '" .. padding .. "'")
  end
  local inner, sides, uneven = {}, {}, false
  for i = 1, n do
    if each(stride, n)[i] ~= 1 then
      raise("RuntimeError", "padding='same' is not supported for strided convolutions")
    end
    local total = each(dilation, n)[i] * (weight:size(i + 1) - 1)
    inner[i] = total // 2
    sides[2 * (n - i) + 1], sides[2 * (n - i) + 2] = 0, total % 2
    uneven = uneven or total % 2 == 1
  end
  return uneven and F.pad(x, sides) or x, inner
end

for n = 1, 2 do
  local name = "conv" .. n .. "d"
  local plain = ops[name]
  local read = args(name .. "(Tensor input, any weight, any bias=None, any stride=1, any "
    .. "padding=0, "
                    .. "any dilation=1, any groups=1)")
  F[name] = function(x, weight, ...)
    local given = {...}
    local last = given[select("#", ...)]
    local named = args.is_keywords(last) and type(last.padding) == "string"
    if not named and type(given[3]) ~= "string" then return plain(x, weight, ...) end
    local _, w, bias, stride, padding, dilation, groups = read(x, weight, ...)
    x, padding = named_padding(x, n, w, stride, padding, dilation)
    return plain(x, w, bias or None, stride, padding, dilation, groups)
  end
end

-- ---- pools ---------------------------------------------------------------------------------

local read_max2 = args("max_pool2d(Tensor input, any kernel_size, any stride=None, any padding=0, "
                       .. "any dilation=1, bool ceil_mode=False, bool return_indices=False)")
local max_pool2d = ops.max_pool2d
function F.max_pool2d(x, k, ...)
  if select("#", ...) == 0 then return max_pool2d(x, k) end
  local _, size, s, p, d, ceil_mode, indices = read_max2(x, k, ...)
  if not indices then return max_pool2d(x, size, s or {}, p, d, ceil_mode) end
  return ops.max_pool2d_with_indices(x, size, s or {}, p, d, ceil_mode)
end

-- None in output_size keeps the input's size there.
local adaptive = ops.adaptive_avg_pool2d
function F.adaptive_avg_pool2d(x, size, ...)
  local given = size
  if args.is_keywords(size) then given = size.output_size end
  if type(given) ~= "table" or #given ~= 2 then return adaptive(x, size, ...) end
  local full = {given[1], given[2]}
  for i = 1, 2 do
    if rawequal(full[i], None) then full[i] = x:size(i - 3) end
  end
  return adaptive(x, full, ...)
end

-- ---- one-dimensional pools, through the two-dimensional ones -------------------------------

local function first(v) return type(v) == "table" and v[1] or v end

local read_max1 = args("max_pool1d(Tensor input, int2 kernel_size, int2? stride=None, int2 "
  .. "padding=0, "
                       .. "int2 dilation=1, bool ceil_mode=False, bool return_indices=False)")
function F.max_pool1d(...)
  local x, k, s, p, d, ceil_mode, indices = read_max1(...)
  s = first(s or k)
  local y, at = F.max_pool2d(x:unsqueeze(-2), {1, first(k)}, {1, s}, {0, first(p)}, {1, first(d)},
                             {ceil_mode = ceil_mode, return_indices = indices})
  if indices then return y:squeeze({-2}), at:squeeze({-2}) end
  return y:squeeze({-2})
end

local read_avg1 = args("avg_pool1d(Tensor input, int2 kernel_size, int2? stride=None, int2 "
  .. "padding=0, "
                       .. "bool ceil_mode=False, bool count_include_pad=True)")
function F.avg_pool1d(...)
  local x, k, s, p, ceil_mode, count = read_avg1(...)
  s = first(s or k)
  return F.avg_pool2d(x:unsqueeze(-2), {1, first(k)}, {1, s}, {0, first(p)},
                      {ceil_mode = ceil_mode, count_include_pad = count}):squeeze({-2})
end

local read_adaptive1 = args "adaptive_avg_pool1d(Tensor input, int2 output_size)"
function F.adaptive_avg_pool1d(...)
  local x, size = read_adaptive1(...)
  return F.adaptive_avg_pool2d(x:unsqueeze(-2), {1, first(size)}):squeeze({-2})
end

-- ---- losses that are a few ops -------------------------------------------------------------

local function reduce(x, reduction)
  if reduction == "mean" then return x:mean()
  elseif reduction == "sum" then return x:sum()
  elseif reduction == "none" then return x
  end
  raise("ValueError", reduction .. " is not a valid value for reduction")
end

local read_cosine = args("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, "
                         .. "number margin=0, *, str reduction='mean')")
function F.cosine_embedding_loss(...)
  local x1, x2, target, margin, reduction = read_cosine(...)
  local eps = 1e-12
  local dot = (x1 * x2):sum(-1)
  local norms = ((x1 * x1):sum(-1) + eps) * ((x2 * x2):sum(-1) + eps)
  local cos = dot / norms:sqrt()
  local zeros = torch.zeros_like(cos)
  local same = torch.where(target:eq(1), 1 - cos, zeros)
  local other = torch.where(target:eq(-1), (cos - margin):clamp_min(0), zeros)
  return reduce(same + other, reduction)
end

local read_ranking = args("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, "
                          .. "number margin=0, *, str reduction='mean')")
function F.margin_ranking_loss(...)
  local x1, x2, target, margin, reduction = read_ranking(...)
  return reduce((-target * (x1 - x2) + margin):clamp_min(0), reduction)
end

local read_hinge = args("hinge_embedding_loss(Tensor input, Tensor target, number margin=1.0, *, "
                        .. "str reduction='mean')")
function F.hinge_embedding_loss(...)
  local x, target, margin, reduction = read_hinge(...)
  local zeros = torch.zeros_like(x)
  local far = torch.where(target:ne(1), (margin - x):clamp_min(0), zeros)
  local near = torch.where(target:ne(-1), x, zeros)
  return reduce(far + near, reduction)
end

local read_soft = args "soft_margin_loss(Tensor input, Tensor target, *, str reduction='mean')"
function F.soft_margin_loss(...)
  local x, target, reduction = read_soft(...)
  return reduce((-target * x):exp():log1p(), reduction)
end

local read_multi = args("multilabel_soft_margin_loss(Tensor input, Tensor target, any "
  .. "weight=None, *, "
                        .. "str reduction='mean')")
function F.multilabel_soft_margin_loss(...)
  local x, target, weight, reduction = read_multi(...)
  local loss = -(target * F.logsigmoid(x) + (1 - target) * F.logsigmoid(-x))
  if weight then loss = loss * weight end
  return reduce(loss:sum(-1) / x:size(-1), reduction)
end

local read_triplet = args("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, "
  .. "number margin=1.0, number p=2, number eps=1e-06, bool swap=False, *, str reduction='mean')")
function F.triplet_margin_loss(...)
  local anchor, positive, negative, margin, p, eps, swap, reduction = read_triplet(...)
  local near = F.pairwise_distance(anchor, positive, p, eps)
  local far = F.pairwise_distance(anchor, negative, p, eps)
  if swap then far = torch.minimum(far, F.pairwise_distance(positive, negative, p, eps)) end
  return reduce((margin + near - far):clamp_min(0), reduction)
end

local read_poisson = args("poisson_nll_loss(Tensor input, Tensor target, bool log_input=True, "
                          .. "bool full=False, *, number eps=1e-08, str reduction='mean')")
function F.poisson_nll_loss(...)
  local x, target, log_input, full, eps, reduction = read_poisson(...)
  local loss = log_input and x:exp() - target * x or x - target * (x + eps):log()
  if full then
    local stirling = target * target:log() - target + 0.5 * (2 * math.pi * target):log()
    loss = loss + stirling:masked_fill(target:le(1), 0)
  end
  return reduce(loss, reduction)
end

local read_gauss = args("gaussian_nll_loss(Tensor input, Tensor target, any var, bool full=False, "
                        .. "number eps=1e-06, str reduction='mean')")
function F.gaussian_nll_loss(...)
  local x, target, var, full, eps, reduction = read_gauss(...)
  if not core.is_tensor(var) then var = torch.full({}, var, {dtype = x.dtype}):expand_as(x) end
  if var:lt(0):any():item() then raise("ValueError", "var has negative entry/entries") end
  local safe = torch.no_grad(function() return var:clone():clamp_min_(eps) end)
  if var.requires_grad then safe = var + (safe - var):detach() end
  local loss = 0.5 * (safe:log() + (x - target) ^ 2 / safe)
  if full then loss = loss + 0.5 * math.log(2 * math.pi) end
  return reduce(loss, reduction)
end

-- ---- under autocast ------------------------------------------------------------------------
-- To PyTorch these are ops of its float32 list, bilinear one of those that promote.

for _, name in ipairs {"cosine_embedding_loss", "margin_ranking_loss", "hinge_embedding_loss",
                       "soft_margin_loss", "triplet_margin_loss", "poisson_nll_loss"} do
  local plain = F[name]
  F[name] = function(...) return core.autocast_as("fp32", plain, ...) end
end
local bilinear = F.bilinear
function F.bilinear(...) return core.autocast_as("promote", bilinear, ...) end

return F
