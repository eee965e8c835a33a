-- dataloader.lua -- DataLoader: batches of a dataset, in one process
--
--     for features, labels in loader do … end          every loop is an epoch of its own
--     for i, features, labels in loader:enumerate() do … end
--     local features, labels = loader:iter()()
--
-- INVARIANT  Random numbers are drawn as PyTorch draws them: one 64-bit number when an epoch
--            begins, the sampler's when its first batch is asked for.
--            The short path over tensors gives exactly what collating item by item gives.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "dlrepl.class"
local lists = require "dlrepl.list"
local collate = require "torch.utils.data.collate"
local dataset_m = require "torch.utils.data.dataset"
local sampler_m = require "torch.utils.data.sampler"

local torch, raise, None = core.torch, core.raise, core.None
local DataLoader = class.new("DataLoader")
-- for the run record
local begin_epoch, served, waiting = dlrepl._record_epoch, dlrepl._record_served,
  dlrepl._record_wait

local read = args("DataLoader.__init__(any dataset, any batch_size=1, any shuffle=None, "
  .. "any sampler=None, any batch_sampler=None, int num_workers=0, fn? collate_fn=None, "
  .. "bool pin_memory=False, bool drop_last=False, number timeout=0, any worker_init_fn=None, "
  .. "any multiprocessing_context=None, any generator=None, *, int? prefetch_factor=None, "
  .. "bool persistent_workers=False, str pin_memory_device='', bool in_order=True)")

local function value_error(text) raise("ValueError", text, {kind = "argument"}) end

local function check_workers(workers, timeout, prefetch, persistent)
  if workers < 0 then
    value_error("num_workers option should be non-negative; use num_workers=0 to disable "
      .. "multiprocessing.")
  elseif timeout < 0 then
    value_error("timeout option should be non-negative")
  elseif workers == 0 and prefetch then
    value_error("prefetch_factor option could only be specified in multiprocessing.let num_workers "
                .. "> 0 to enable multiprocessing, otherwise set prefetch_factor to None.")
  elseif prefetch and prefetch < 0 then
    value_error("prefetch_factor option should be non-negative")
  elseif persistent and workers == 0 then
    value_error("persistent_workers option needs num_workers > 0")
  end
end

local function check_iterable(o)
  for _, name in ipairs {"shuffle", "sampler", "batch_sampler"} do
    if o[name] then
      value_error(string.format("DataLoader with IterableDataset: expected unspecified %s option, "
                  .. "but got %s=%s", name, name, require("dlrepl.pyrepr").str(o[name])))
    end
  end
end

local function check_sampling(o, batch_size, drop_last)
  if o.sampler and o.shuffle then value_error("sampler option is mutually exclusive with "
    .. "shuffle") end
  if o.batch_sampler then
    if batch_size ~= 1 or o.shuffle or o.sampler or drop_last then
      value_error("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                  .. "and drop_last")
    end
  elseif batch_size == nil and drop_last then
    value_error("batch_size=None option disables auto-batching and is mutually exclusive with "
      .. "drop_last")
  end
end

function DataLoader.init(self, ...)
  local dataset, batch_size, shuffle, sampler, batch_sampler, workers, collate_fn, pin, drop_last,
    timeout, _, _, generator, prefetch, persistent = read(...)
  check_workers(workers, timeout, prefetch, persistent)
  local o = {shuffle = shuffle, sampler = sampler, batch_sampler = batch_sampler}
  self._iterable = class.isinstance(dataset, dataset_m.IterableDataset)
  if self._iterable then check_iterable(o) end
  check_sampling(o, batch_size, drop_last)
  self.dataset, self.generator, self.num_workers, self.pin_memory = dataset, generator, workers, pin
  self.prefetch_factor = prefetch
  if not sampler and not self._iterable then
    sampler = shuffle and sampler_m.RandomSampler(dataset, {generator = generator or None})
              or sampler_m.SequentialSampler(dataset)
  end
  if batch_sampler then batch_size = nil
  elseif batch_size ~= nil then
    batch_sampler = sampler_m.BatchSampler(sampler or {}, batch_size, drop_last)
    batch_size = batch_sampler.batch_size
  end
  self.batch_size, self.drop_last = batch_size, drop_last
  self.sampler, self.batch_sampler, self.collate_fn = sampler, batch_sampler, collate_fn
end

-- Batches an epoch.
function DataLoader.len(self)
  if self._iterable then
    local n, size = #self.dataset, self.batch_size
    if not size then return n end
    return self.drop_last and n // size or (n + size - 1) // size
  end
  if self.batch_sampler then return #self.batch_sampler end
  return #self.sampler
end

-- ---- one sample, one batch -----------------------------------------------------------------

local function fetch(dataset, i)
  if class.of(dataset) then return class.sample(dataset:getitem(i)) end
  if core.is_tensor(dataset) then return dataset[i] end
  return dataset[i + 1] -- a plain list
end

-- Results of one batch: a tuple is unpacked into several values.
local function give(batch)
  if class.is_tuple(batch) then return batch:unpack() end
  return batch
end

local function batched(self, next_batch, epoch)
  local dataset, fn = self.dataset, self.collate_fn
  return function()
    local indices = next_batch()
    if indices == nil then return nil end
    served(epoch, indices)
    local samples = {}
    for k, i in ipairs(indices) do samples[k] = fetch(dataset, i) end
    if fn then return fn(samples) end
    return give(collate(samples))
  end
end

-- batch_size=None: samples one by one, numbers made tensors.
local function single(self, epoch)
  local next_index = sampler_m.iterate(self.sampler)
  return function()
    local i = next_index()
    if i == nil then return nil end
    served(epoch, i)
    local sample = fetch(self.dataset, i)
    if self.collate_fn then return self.collate_fn(sample) end
    return give(sample)
  end
end

local function from_iterable(self)
  local next_sample, done = self.dataset:iter(), false
  local size, fn = self.batch_size, self.collate_fn
  return function()
    if not size then return next_sample() end
    local samples = {}
    while not done and #samples < size do
      local s = table.pack(next_sample())
      if s[1] == nil then done = true else samples[#samples + 1] = class.sample(table.unpack(s, 1,
        s.n)) end
    end
    if #samples == 0 or (done and self.drop_last and #samples < size) then return nil end
    if fn then return fn(samples) end
    return give(collate(samples))
  end
end

-- ---- the short path: whole batches out of a TensorDataset ----------------------------------

local function is_plain(self)
  local d, b = self.dataset, self.batch_sampler
  if self.collate_fn or not b or class.of(d) ~= dataset_m.TensorDataset
     or class.of(b) ~= sampler_m.BatchSampler then
    return false
  end
  local s = class.of(b.sampler)
  if s == sampler_m.RandomSampler then
    if b.sampler.replacement or #b.sampler ~= #b.sampler.data_source then return false end
  elseif s ~= sampler_m.SequentialSampler then return false
  end
  if not rawequal(b.sampler.data_source, d) then return false end
  for _, t in ipairs(d.tensors) do
    if t.requires_grad then return false end
  end
  return true
end

local function plain(self, epoch)
  local tensors, sampler = self.dataset.tensors, self.batch_sampler.sampler
  local n, size, drop_last = #self.dataset, self.batch_sampler.batch_size,
    self.batch_sampler.drop_last
  local random = class.of(sampler) == sampler_m.RandomSampler
  local at, order, generator, over = 0, nil, nil, false
  local function finish() -- the sampler's last, unused permutation
    if random and not over then torch.randperm(n, {generator = generator or None}) end
    over = true
  end
  return function()
    if random and not order then
      generator = sampler:_epoch_generator()
      order = torch.randperm(n, {generator = generator or None})
    end
    local count = math.min(size, n - at)
    if count < size then finish() end
    if over and (count <= 0 or drop_last) then return nil end
    local out = {}
    local rows = random and order:narrow(0, at, count)
    served(epoch, rows or at, count)
    for k, t in ipairs(tensors) do
      out[k] = random and t:index_select(0, rows) or t:narrow(0, at, count):clone()
    end
    at = at + count
    return table.unpack(out)
  end
end

-- ---- epochs --------------------------------------------------------------------------------

local function batches(self)
  local epoch = begin_epoch()
  if self._iterable then return from_iterable(self) end
  if not self.batch_sampler then return single(self, epoch) end
  if is_plain(self) then return plain(self, epoch) end
  return batched(self, sampler_m.iterate(self.batch_sampler), epoch)
end

-- pin_memory: each tensor of a batch in memory that a GPU copies from directly, whatever holds it.
local function pin(v, ...)
  if core.is_tensor(v) then v = v:pin_memory()
  elseif lists.is(v) then
    local copy = {}
    for key, x in pairs(v) do copy[key] = pin(x) end
    v = copy
  end
  if select("#", ...) == 0 then return v end
  return v, pin(...)
end

local function pins(self)
  if not self.pin_memory then return false end
  if torch.accelerator.is_available() then return true end
  core.warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned "
            .. "memory won't be used.", "UserWarning")
  return false
end

-- A dataset may say what an item costs in microseconds (dataset.cost_us): beside a simulated GPU
-- the loader takes that time on the virtual clock, with its workers, their start and prefetching.
local WORKERS_START = 310000 -- microseconds until worker processes deliver, as published runs show

local function timed(self, next_batch)
  local dataset = self.dataset
  local cost = type(dataset) == "table" and rawget(dataset, "cost_us")
  if not cost or not dlrepl.is_simulated() then return next_batch end
  if type(cost) ~= "number" or not (cost >= 0) then
    value_error("cost_us of a dataset is a number of microseconds, not " .. tostring(cost))
  end
  local sampler = self.batch_sampler
  local size = self.batch_size or sampler and rawget(sampler, "batch_size")
  local feed = dlrepl._sim_feed {workers = self.num_workers, items = size or 1, item_us = cost,
                                 prefetch = self.prefetch_factor,
                                 start_us = self.num_workers > 0 and WORKERS_START or 0}
  local function wait(first, ...)
    if first ~= nil then feed() end
    return first, ...
  end
  return function() return wait(next_batch()) end
end

-- A function that gives the next batch of a new epoch, nil at its end.
function DataLoader.iter(self)
  -- the base seed
  torch.empty({}, {dtype = torch.int64}):random_({generator = self.generator or None})
  local next_batch = timed(self, batches(self))
  local pinned = pins(self)
  local function wait_for()
    local _ <close> = waiting()
    if pinned then return pin(next_batch()) end
    return next_batch()
  end
  return function() return core.batch(wait_for()) end
end

-- for i, features, labels in loader:enumerate() do   (i from 0)
function DataLoader.enumerate(self)
  local next_batch, i = self:iter(), -1
  local function count(first, ...)
    if first == nil then return nil end
    i = i + 1
    return i, first, ...
  end
  return function() return count(next_batch()) end
end

require("dlrepl.methods").guard(DataLoader,
  function(v) return class.isinstance(v, DataLoader) end, "DataLoader", "loader",
  {class = true, init = true})

return DataLoader
