-- init.lua -- torch.nn.init: PyTorch's starting values, bit for bit
--
-- All scales are computed in double in PyTorch's order, so that a seed gives the same weights.
--
-- INVARIANT  Every function fills its tensor in place without recording, and returns it.
-- MUST NOT   know modules.

local core = require "dlrepl.core"
local args = require "dlrepl.args"

local torch, raise, None = core.torch, core.raise, core.None
local sqrt = math.sqrt
local M = {}

local function quiet(f, ...)
  local _ <close> = torch.no_grad()
  return f(...)
end

-- calculate_gain(nonlinearity, param): the usual scale for a nonlinearity.
local read_gain = args "calculate_gain(str nonlinearity, any param=None)"
local gains = {
  linear = 1, conv1d = 1, conv2d = 1, conv3d = 1, conv_transpose1d = 1, conv_transpose2d = 1,
  conv_transpose3d = 1, sigmoid = 1, tanh = 5.0 / 3, relu = sqrt(2.0), selu = 3.0 / 4,
}

function M.calculate_gain(...)
  local name, param = read_gain(...)
  if gains[name] then return gains[name] end
  if name == "leaky_relu" then
    if param == nil then param = 0.01 end
    if type(param) ~= "number" then
      raise("ValueError", "negative_slope " .. tostring(param) .. " not a valid number")
    end
    return sqrt(2.0 / (1 + param ^ 2))
  end
  raise("ValueError", "Unsupported nonlinearity " .. name)
end

-- fan_in, fan_out of a weight of shape (out, in, …).
local read_one = args "init(Tensor tensor)"

local function fans(t)
  read_one(t)
  if t:dim() < 2 then
    raise("ValueError",
          "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
  end
  local field = 1
  for i = 2, t:dim() - 1 do field = field * t:size(i) end
  return t:size(1) * field, t:size(0) * field
end
M._calculate_fan_in_and_fan_out = fans

local function correct_fan(t, mode)
  local fan_in, fan_out = fans(t)
  if mode:lower() == "fan_in" then return fan_in elseif mode:lower()
    == "fan_out" then return fan_out end
  raise("ValueError", "Mode " .. mode .. " not supported, please use one of ['fan_in', 'fan_out']")
end

local read_uniform = args "uniform_(Tensor tensor, number a=0.0, number b=1.0, any generator=None)"
function M.uniform_(...)
  local t, a, b, gen = read_uniform(...)
  return quiet(t.uniform_, t, a, b, {generator = gen or None})
end

local read_normal = args("normal_(Tensor tensor, number mean=0.0, number std=1.0, any "
  .. "generator=None)")
function M.normal_(...)
  local t, mean, std, gen = read_normal(...)
  return quiet(t.normal_, t, mean, std, {generator = gen or None})
end

local read_trunc = args("trunc_normal_(Tensor tensor, number mean=0.0, number std=1.0, number "
  .. "a=-2.0, "
                        .. "number b=2.0, any generator=None)")

local function norm_cdf(x)
  return (1.0 + torch.tensor(x / sqrt(2.0), {dtype = torch.float64}):erf():item()) / 2.0
end

-- Draws normal numbers until all lie in [a, b]; only those outside are replaced.
local function truncate_by_redraw(t, mean, std, a, b, gen)
  local low = torch.tensor(a, {dtype = t.dtype}):item()
  local high = torch.tensor(b, {dtype = t.dtype}):item()
  local result = t:normal_(mean, std, {generator = gen or None})
  while true do
    local out = result:lt(low):logical_or(result:gt(high))
    if not out:any():item() then break end
    result = torch.where(out, torch.empty_like(result):normal_(mean, std, {generator = gen
      or None}), result)
  end
  if not rawequal(result, t) then t:copy_(result) end
  return t
end

-- Draws uniform numbers and accepts each with the height of the density (narrow intervals).
local function truncate_by_height(t, mean, std, a, b, gen)
  local peak = -0.5 * ((math.max(a, math.min(mean, b)) - mean) / std) ^ 2
  local draw = torch.empty_like(t)
  local function rejected(candidates)
    local height = candidates:sub(mean):div_(std):pow_(2):mul_(-0.5):sub_(peak)
    return torch.empty_like(t):uniform_({generator = gen or None}):log_():gt(height)
  end
  local result = t:uniform_(a, b, {generator = gen or None})
  local pending = rejected(result)
  while pending:any():item() do
    draw:uniform_(a, b, {generator = gen or None})
    result = torch.where(pending, draw, result)
    pending = pending:logical_and(rejected(draw))
  end
  if not rawequal(result, t) then t:copy_(result) end
  return t
end

-- Normal numbers cut to [a, b].
function M.trunc_normal_(...)
  local t, mean, std, a, b, gen = read_trunc(...)
  if mean < a - 2 * std or mean > b + 2 * std then
    core.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
              .. "The distribution of values may be incorrect.")
  end
  local inside = norm_cdf((b - mean) / std) - norm_cdf((a - mean) / std)
  local fill = inside > 0.3 and truncate_by_redraw or truncate_by_height
  return quiet(fill, t, mean, std, a, b, gen)
end

local read_constant = args "constant_(Tensor tensor, number val)"
function M.constant_(...)
  local t, value = read_constant(...)
  return quiet(t.fill_, t, value)
end

function M.ones_(t) return quiet(read_one(t).fill_, t, 1.0) end
function M.zeros_(t) return quiet(read_one(t).zero_, t) end

function M.eye_(t)
  if read_one(t):dim() ~= 2 then raise("ValueError", "Only tensors with 2 dimensions are "
    .. "supported") end
  return quiet(function()
    t:copy_(torch.eye(t:size(0), t:size(1), {dtype = t.dtype}))
    return t
  end)
end

local read_dirac = args "dirac_(Tensor tensor, int groups=1)"
function M.dirac_(...)
  local t, groups = read_dirac(...)
  local dims = t:dim()
  if dims < 3 or dims > 5 then
    raise("ValueError", "Only tensors with 3, 4, or 5 dimensions are supported")
  end
  if t:size(0) % groups ~= 0 then raise("ValueError", "dim 0 must be divisible by groups") end
  local per_group = t:size(0) // groups
  local smaller = math.min(per_group, t:size(1))
  return quiet(function()
    t:zero_()
    for g = 0, groups - 1 do
      for d = 0, smaller - 1 do
        local at = {g * per_group + d, d}
        for i = 2, dims - 1 do at[i + 1] = t:size(i) // 2 end
        t[at] = 1
      end
    end
    return t
  end)
end

local read_xavier = args "xavier_(Tensor tensor, number gain=1.0, any generator=None)"
function M.xavier_uniform_(...)
  local t, gain, gen = read_xavier(...)
  local fan_in, fan_out = fans(t)
  local std = gain * sqrt(2.0 / (fan_in + fan_out))
  local a = sqrt(3.0) * std
  return quiet(t.uniform_, t, -a, a, {generator = gen or None})
end

function M.xavier_normal_(...)
  local t, gain, gen = read_xavier(...)
  local fan_in, fan_out = fans(t)
  local std = gain * sqrt(2.0 / (fan_in + fan_out))
  return quiet(t.normal_, t, 0.0, std, {generator = gen or None})
end

local read_kaiming = args("kaiming_(Tensor tensor, number a=0, str mode='fan_in', "
                          .. "str nonlinearity='leaky_relu', any generator=None)")

local function empty_warning(t)
  for _, n in ipairs(t.shape) do
    if n == 0 then
      core.warn("Initializing zero-element tensors is a no-op")
      return true
    end
  end
end

function M.kaiming_uniform_(...)
  local t, a, mode, nonlinearity, gen = read_kaiming(...)
  if empty_warning(t) then return t end
  local fan = correct_fan(t, mode)
  local std = M.calculate_gain(nonlinearity, a) / sqrt(fan)
  local bound = sqrt(3.0) * std
  return quiet(t.uniform_, t, -bound, bound, {generator = gen or None})
end

function M.kaiming_normal_(...)
  local t, a, mode, nonlinearity, gen = read_kaiming(...)
  if empty_warning(t) then return t end
  local fan = correct_fan(t, mode)
  local std = M.calculate_gain(nonlinearity, a) / sqrt(fan)
  return quiet(t.normal_, t, 0.0, std, {generator = gen or None})
end

-- Orthonormal basis of the columns of a tall float64 matrix, as the rows of the result: the Q of
-- the QR decomposition whose R has a positive diagonal. Gram-Schmidt, run twice for accuracy.
local function orthonormal_rows(tall)
  local n, m = tall:size(0), tall:size(1)
  local q, columns = torch.zeros(m, n, {dtype = torch.float64}), tall:t():contiguous()
  for j = 0, m - 1 do
    local v = columns[j]
    for _ = 1, j > 0 and 2 or 0 do
      local before = q:narrow(0, 0, j)
      v = v - before:t():mv(before:mv(v))
    end
    q[j] = v / v:norm()
  end
  return q
end

local read_orthogonal = args "orthogonal_(Tensor tensor, number gain=1, any generator=None)"
function M.orthogonal_(...)
  local t, gain, gen = read_orthogonal(...)
  if t:dim() < 2 then
    raise("ValueError", "Only tensors with 2 or more dimensions are supported")
  end
  if t:numel() == 0 then return t end
  local rows, cols = t:size(0), t:numel() // t:size(0)
  return quiet(function()
    local flat = torch.empty(rows, cols, {dtype = t.dtype}):normal_(0, 1, {generator = gen
      or None}):double()
    local q = rows < cols and orthonormal_rows(flat:t()) or orthonormal_rows(flat):t()
    t:copy_(q:reshape(t.shape))
    return t:mul_(gain)
  end)
end

local read_sparse = args("sparse_(Tensor tensor, number sparsity, number std=0.01, any "
  .. "generator=None)")
function M.sparse_(...)
  local t, sparsity, std, gen = read_sparse(...)
  if t:dim() ~= 2 then raise("ValueError", "Only tensors with 2 dimensions are supported") end
  local rows, cols = t:size(0), t:size(1)
  local zeros = math.ceil(sparsity * rows)
  return quiet(function()
    t:normal_(0, std, {generator = gen or None})
    for c = 0, cols - 1 do
      local order = torch.randperm(rows)
      for i = 0, zeros - 1 do t[{order[i]:item(), c}] = 0 end
    end
    return t
  end)
end

return M
