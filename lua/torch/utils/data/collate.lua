-- collate.lua -- samples into one batch
--
-- Tensors are stacked, numbers become tensors (floats in float64), strings stay a list, tables are
-- collated part by part, keyed ones key by key.
--
-- INVARIANT  A sample of several values gives as many results.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "dlrepl.class"
local lists = require "dlrepl.list"
local odict = require "dlrepl.odict"
local repr = require "dlrepl.pyrepr"

local torch, raise = core.torch, core.raise
local collate

local function by_key(batch)
  local out = odict.dict()
  for key in odict.pairs(batch[1]) do
    local values = {}
    for i, sample in ipairs(batch) do
      if sample[key] == nil then raise("KeyError", repr.repr(key)) end
      values[i] = sample[key]
    end
    out[key] = collate(values)
  end
  return out
end

local function by_place(batch)
  local n = batch[1].n or #batch[1]
  for _, sample in ipairs(batch) do
    if type(sample) ~= "table" or (sample.n or #sample) ~= n then
      raise("RuntimeError", "each element in list of batch should be of equal size",
        {kind = "shape"})
    end
  end
  local out = {}
  for k = 1, n do
    local values = {}
    for i, sample in ipairs(batch) do values[i] = sample[k] end
    out[k] = collate(values)
  end
  return out, n
end

-- default_collate(list of samples): a tuple sample gives a tuple.
function collate(batch)
  core.check_list(batch, "default_collate", "sample", function() return true end)
  local first = batch[1]
  local kind = type(first)
  if core.is_tensor(first) then return torch.stack(batch, 0)
  elseif kind == "number" then
    return torch.tensor(batch, {dtype = math.type(first) == "float" and torch.float64 or core.None})
  elseif kind == "boolean" then return torch.tensor(batch)
  elseif kind == "string" then return batch
  elseif class.is_tuple(first) then
    local parts, n = by_place(batch)
    return class.tuple(table.unpack(parts, 1, n))
  elseif odict.is(first) or args.is_keywords(first) then return by_key(batch)
  elseif lists.is(first) then return (by_place(batch))
  end
  raise("TypeError", "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
        .. "lists; found <class '" .. repr.typename(first) .. "'>")
end

return collate
