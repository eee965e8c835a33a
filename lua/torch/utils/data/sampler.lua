-- sampler.lua -- the order in which a loader visits its dataset
--
-- A sampler has iter(), which gives a function that returns the next index (nil at the end), and
-- len(). A plain list of indices serves too.
--
-- INVARIANT  Random numbers are drawn when PyTorch draws them and as many: a seed gives its order.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "dlrepl.class"
local repr = require "dlrepl.pyrepr"

local torch, raise, None = core.torch, core.raise, core.None
local M = {}

M.Sampler = class.new("Sampler")

-- An iterator over any sampler or list.
function M.iterate(s)
  if class.of(s) then return s:iter() end
  local i = 0
  return function()
    i = i + 1
    return s[i]
  end
end

M.SequentialSampler = class.new("SequentialSampler", M.Sampler)
function M.SequentialSampler.init(self, source)
  core.length(source)
  self.data_source = source
end
function M.SequentialSampler.len(self) return #self.data_source end
function M.SequentialSampler.iter(self)
  local i, n = -1, #self.data_source
  return function()
    i = i + 1
    if i < n then return i end
  end
end

M.RandomSampler = class.new("RandomSampler", M.Sampler)
local read_random = args("RandomSampler.__init__(any data_source, bool replacement=False, "
                         .. "any num_samples=None, any generator=None)")

function M.RandomSampler.init(self, ...)
  local source, replacement, num_samples, generator = read_random(...)
  self.data_source, self.replacement = source, replacement
  self._num_samples, self.generator = num_samples, generator
  local n = num_samples or core.length(source)
  if math.type(n) ~= "integer" or n <= 0 then
    raise("ValueError", "num_samples should be a positive integer value, but got num_samples="
                        .. repr.str(n))
  end
end

function M.RandomSampler.len(self) return self._num_samples or #self.data_source end

-- The generator of one epoch: the given one, or a fresh one seeded from the default generator.
function M.RandomSampler._epoch_generator(self)
  if self.generator then return self.generator end
  local seed = torch.empty({}, {dtype = torch.int64}):random_():item()
  local g = torch.Generator()
  g:manual_seed(seed)
  return g
end

-- Lists of indices one after the other, each drawn when the one before is used up.
local function chained(draw)
  local current, i = {}, 0
  return function()
    i = i + 1
    while current and current[i] == nil do
      current, i = draw(), 1
    end
    return current and current[i]
  end
end

function M.RandomSampler.iter(self)
  local n, total = #self.data_source, #self
  local started, round, g = false, 0, nil
  return chained(function()
    if not started then
      g, started = self:_epoch_generator(), true
    end
    round = round + 1
    local size = self.replacement and 32 or n
    if round > total // size + 1 then return nil end
    local rest = round > total // size and total % size
    if self.replacement then
      return torch.randint(n, {rest or 32}, {generator = g}):tolist()
    end
    local order = torch.randperm(n, {generator = g}):tolist()
    return rest and table.move(order, 1, rest, 1, {}) or order
  end)
end

M.SubsetRandomSampler = class.new("SubsetRandomSampler", M.Sampler)
local read_subset = args "SubsetRandomSampler.__init__(any indices, any generator=None)"
function M.SubsetRandomSampler.init(self, ...)
  local indices, generator = read_subset(...)
  core.length(indices)
  self.indices = core.is_tensor(indices) and indices:tolist() or indices
  self.generator = generator
end
function M.SubsetRandomSampler.len(self) return #self.indices end
function M.SubsetRandomSampler.iter(self)
  local order, i
  return function()
    order = order or torch.randperm(#self.indices, {generator = self.generator or None}):tolist()
    i = (i or 0) + 1
    return order[i] and self.indices[order[i] + 1]
  end
end

M.WeightedRandomSampler = class.new("WeightedRandomSampler", M.Sampler)
local read_weighted = args("WeightedRandomSampler.__init__(any weights, any num_samples, "
                           .. "bool replacement=True, any generator=None)")
function M.WeightedRandomSampler.init(self, ...)
  local weights, n, replacement, generator = read_weighted(...)
  if math.type(n) ~= "integer" or n <= 0 then
    raise("ValueError", "num_samples should be a positive integer value, but got num_samples="
                        .. repr.str(n))
  end
  self.weights = torch.as_tensor(weights, {dtype = torch.float64})
  self.num_samples, self.replacement, self.generator = n, replacement, generator
end
function M.WeightedRandomSampler.len(self) return self.num_samples end
function M.WeightedRandomSampler.iter(self)
  local drawn = false
  return chained(function()
    if drawn then return nil end
    drawn = true
    return torch.multinomial(self.weights, self.num_samples, self.replacement,
                             {generator = self.generator or None}):tolist()
  end)
end

M.BatchSampler = class.new("BatchSampler", M.Sampler)
local read_batch = args "BatchSampler.__init__(any sampler, any batch_size, any drop_last)"
function M.BatchSampler.init(self, ...)
  local sampler, size, drop_last = read_batch(...)
  if math.type(size) == "float" then size = math.tointeger(size) or size end
  if math.type(size) ~= "integer" or size <= 0 then
    raise("ValueError", "batch_size should be a positive integer value, but got batch_size="
                        .. repr.str(size))
  elseif type(drop_last) ~= "boolean" then
    raise("ValueError", "drop_last should be a boolean value, but got drop_last="
      .. repr.str(drop_last))
  end
  core.length(sampler)
  self.sampler, self.batch_size, self.drop_last = sampler, size, drop_last
end

function M.BatchSampler.len(self)
  local n = #self.sampler
  return self.drop_last and n // self.batch_size or (n + self.batch_size - 1) // self.batch_size
end

-- Gives lists of indices.
function M.BatchSampler.iter(self)
  local next_index, done = M.iterate(self.sampler), false
  return function()
    if done then return nil end
    local batch = {}
    for k = 1, self.batch_size do
      local i = next_index()
      if i == nil then
        done = true
        break
      end
      batch[k] = i
    end
    if #batch == 0 or (done and self.drop_last) then return nil end
    return batch
  end
end

return M
