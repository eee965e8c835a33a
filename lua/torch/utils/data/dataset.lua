-- dataset.lua -- Dataset, TensorDataset, Subset, ConcatDataset, random_split
--
-- INVARIANT  Indices count from 0. getitem may return several values: they are one sample.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "dlrepl.class"
local list = require "dlrepl.list"
local repr = require "dlrepl.pyrepr"

local torch, raise, None = core.torch, core.raise, core.None
local M = {}

M.Dataset = class.new("Dataset")

function M.Dataset.getitem(self)
  raise("NotImplementedError", "Subclasses of Dataset should implement __getitem__.",
        {notes = {"define function " .. class.of(self).__name__ .. ":getitem(i)"}})
end

-- for sample values in dataset do
function M.Dataset.iter(self)
  local i = -1
  return function()
    i = i + 1
    if i < #self then return self:getitem(i) end
  end
end

M.IterableDataset = class.new("IterableDataset", M.Dataset)
function M.IterableDataset.iter(self)
  raise("NotImplementedError", "Subclasses of IterableDataset should implement __iter__.",
        {notes = {"define function " .. class.of(self).__name__ .. ":iter(), which returns a "
                  .. "function that gives the next sample"}})
end

-- TensorDataset(a, b, …): sample i is a[i], b[i], …
M.TensorDataset = class.new("TensorDataset", M.Dataset)

function M.TensorDataset.init(self, ...)
  self.tensors = {...}
  for _, t in ipairs(self.tensors) do
    if not core.is_tensor(t) or t:size(0) ~= self.tensors[1]:size(0) then
      raise("AssertionError", "Size mismatch between tensors", {kind = "shape"})
    end
  end
end

function M.TensorDataset.len(self) return self.tensors[1]:size(0) end

function M.TensorDataset.getitem(self, i)
  local out, tensors = {}, self.tensors
  for k = 1, #tensors do out[k] = tensors[k][i] end
  return table.unpack(out)
end

M.Subset = class.new("Subset", M.Dataset)

-- indices: a plain list (or one-dimensional tensor) of indices into dataset.
function M.Subset.init(self, dataset, indices)
  core.length(dataset)
  self.dataset = dataset
  self.indices = core.is_tensor(indices) and indices:tolist() or indices
end
function M.Subset.len(self) return #self.indices end
function M.Subset.getitem(self, i)
  local n = #self.indices
  if i < 0 then i = i + n end
  if i < 0 or i >= n then raise("IndexError", "list index out of range", {kind = "index"}) end
  return self.dataset:getitem(self.indices[i + 1])
end

M.ConcatDataset = class.new("ConcatDataset", M.Dataset)

function M.ConcatDataset.init(self, datasets)
  core.check_list(datasets, "ConcatDataset", "dataset", function(d) return class.of(d) ~= nil end)
  if #datasets == 0 then
    raise("AssertionError", "datasets should not be an empty iterable")
  end
  self.datasets, self.cumulative_sizes = datasets, {}
  local total = 0
  for i, d in ipairs(datasets) do
    if class.isinstance(d, M.IterableDataset) then
      raise("AssertionError", "ConcatDataset does not support IterableDataset")
    end
    total = total + #d
    self.cumulative_sizes[i] = total
  end
end

function M.ConcatDataset.len(self) return self.cumulative_sizes[#self.cumulative_sizes] end

function M.ConcatDataset.getitem(self, i)
  local n = #self
  if i < 0 then
    if -i > n then
      raise("ValueError", "absolute value of index should not exceed dataset length",
        {kind = "index"})
    end
    i = i + n
  end
  for k, upto in ipairs(self.cumulative_sizes) do
    if i < upto then return self.datasets[k]:getitem(i - (self.cumulative_sizes[k - 1] or 0)) end
  end
  raise("IndexError", "list index out of range", {kind = "index"})
end

M.Dataset._meta.__add = function(a, b) return M.ConcatDataset({a, b}) end
for _, d in pairs(M) do d._meta.__add = M.Dataset._meta.__add end

-- Fractions that sum to 1 become lengths; what is left over goes round, one each.
local function lengths_of(n, lengths)
  local sum = 0
  for _, v in ipairs(lengths) do sum = sum + v end
  if not (math.abs(sum - 1) <= 1e-9 and sum <= 1) then return lengths, sum end
  local out, used = {}, 0
  for i, f in ipairs(lengths) do
    if f < 0 or f > 1 then
      raise("ValueError", string.format("Fraction at index %d is not between 0 and 1", i - 1))
    end
    out[i] = math.floor(n * f)
    used = used + out[i]
  end
  for k = 0, n - used - 1 do out[k % #out + 1] = out[k % #out + 1] + 1 end
  for i, v in ipairs(out) do
    if v == 0 then
      core.warn(string.format("Length of split at index %d is 0. This might result in an empty "
        .. "dataset.", i - 1))
    end
  end
  return out, n
end

local read_split = args "random_split(any dataset, list lengths, any generator=None)"

-- random_split(dataset, {n1, n2, …}) -> list of Subsets without overlap.
function M.random_split(...)
  local dataset, lengths, generator = read_split(...)
  core.check_list(lengths, "random_split", "number", function(n) return type(n) == "number" end)
  local sum
  lengths, sum = lengths_of(core.length(dataset), lengths)
  if sum ~= #dataset then
    raise("ValueError", "Sum of input lengths does not equal the length of the input dataset!",
          {notes = {string.format("lengths sum to %s, the dataset has %d", repr.repr(sum),
            #dataset)}})
  end
  local order = torch.randperm(math.tointeger(sum), {generator = generator or None}):tolist()
  local parts, at = {}, 0
  for i, n in ipairs(lengths) do
    parts[i] = M.Subset(dataset, table.move(order, at + 1, at + n, 1, {}))
    at = at + n
  end
  return list.new(parts)
end

return M
