-- accumulate.lua -- dlrepl.accumulate(n, …): a batch in n pieces, for gradient accumulation
--
--     opt:zero_grad()
--     for x, y, share in dlrepl.accumulate(4, features, labels) do
--       (loss_fn(model(x), y) * share):backward()
--     end
--     opt:step()
--
-- `share` is the piece's part of the batch, so that the sum of mean losses is the batch's mean
-- loss, also where the last piece is smaller.
--
-- MUST NOT   copy: the pieces are views.

local core = require "dlrepl.core"

local raise = core.raise

local function check(n, tensors)
  if math.type(n) ~= "integer" or n < 1 then
    raise("ValueError", "accumulate() takes the number of pieces first, a positive integer, not "
          .. tostring(n), {kind = "argument"})
  end
  if #tensors == 0 then
    raise("TypeError", "accumulate() takes at least one tensor after the number of pieces")
  end
  for i, t in ipairs(tensors) do
    if not core.is_tensor(t) or t:dim() == 0 then
      raise("TypeError", string.format("accumulate(): argument %d must be a tensor with a batch "
            .. "dimension, but got %s", i + 1, core.typename(t)))
    end
    if t:size(0) ~= tensors[1]:size(0) then
      raise("ValueError", string.format("accumulate(): the tensors have batches of %d and %d",
            tensors[1]:size(0), t:size(0)), {kind = "shape"})
    end
  end
end

-- accumulate(n, tensor, …): an iterator over n pieces along dimension 0 (fewer where the batch is
-- smaller): the pieces, then their share.
return function(n, ...)
  local tensors = {...}
  check(n, tensors)
  local total = tensors[1]:size(0)
  local size = math.max((total + n - 1) // n, 1)
  local at = 0
  return function()
    if at >= total then return nil end
    local count = math.min(size, total - at)
    local out = {}
    for i, t in ipairs(tensors) do out[i] = t:narrow(0, at, count) end
    at = at + count
    out[#out + 1] = count / total
    return table.unpack(out)
  end
end
