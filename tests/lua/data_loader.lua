-- data_loader.lua -- datasets, samplers, loaders: loops, order, errors

local t = require "tap"
local data = torch.utils.data

-- ---- loops ---------------------------------------------------------------------------------
local set = data.TensorDataset(torch.arange(6), torch.arange(6.0) * 10)
local loader = data.DataLoader(set, {batch_size = 2})
t.is(#loader, 3, "the length is in batches")
local seen = {}
for x, y in loader do seen[#seen + 1] = x[0]:item() .. "/" .. math.tointeger(y[1]:item()) end
t.is(table.concat(seen, " "), "0/10 2/30 4/50", "a batch gives its tensors")
local inner = 0
for _ in loader do
  for _ in loader do inner = inner + 1 end
end
t.is(inner, 9, "nested loops over one loader")
for _ in loader do break end
local count = 0
for _ in loader do count = count + 1 end
t.is(count, 3, "a loop after one that was left early starts anew")
local numbers = {}
for i, x in loader:enumerate() do numbers[#numbers + 1] = i + x[0]:item() end
t.is(numbers, {0, 3, 6}, "enumerate counts batches from 0")
local x, y = loader:iter()()
t.is({x:tolist(), y:tolist()}, {{0, 1}, {0.0, 10.0}}, "iter gives a function")
x:fill_(99)
t.is(set.tensors[1][0]:item(), 0, "changing a batch does not change the set")
t.is(data.DataLoader(set, {batch_size = 4, drop_last = true}):enumerate()() and
     #data.DataLoader(set, {batch_size = 4, drop_last = true}), 1,
       "drop_last drops the short batch")
local one = {}
for b in data.DataLoader(data.TensorDataset(torch.arange(3))) do one[#one + 1] = b:item() end
t.is(one, {0, 1, 2}, "batch_size is 1 unless given")
local single = {}
for a, b in data.DataLoader(set, {batch_size = None}) do single[#single + 1] = a:item() + b:item()
  end
t.is(single, {0.0, 11.0, 22.0, 33.0, 44.0, 55.0}, "batch_size=None gives samples")

-- ---- the short path equals the long one ----------------------------------------------------
local function epochs(collate_fn, shuffle)
  torch.manual_seed(11)
  local l = data.DataLoader(data.TensorDataset(torch.arange(23), torch.arange(46.0):view(23, 2)),
    {batch_size = 5, shuffle = shuffle, collate_fn = collate_fn})
  local out = {}
  for _ = 1, 2 do
    for a, b in l do out[#out + 1] = {a:tolist(), b:tolist()} end
  end
  out[#out + 1] = torch.rand(1):item()
  return out
end
local function plain_collate(samples) return data.default_collate(samples) end
t.is(epochs(nil, true), epochs(plain_collate, true), "shuffled batches equal collated samples")
t.is(epochs(nil, false), epochs(plain_collate, false), "ordered ones too")

-- ---- a user's dataset ----------------------------------------------------------------------
local Squares = data.Dataset:class("Squares")
function Squares:init(n, transform)
  self.n = n
  self.transform = transform
end
function Squares:len() return self.n end
function Squares:getitem(i)
  local v = i * i
  if self.transform then v = self.transform(v) end
  return v, "n" .. i
end
local squares = Squares(4)
t.is(#squares, 4, "len")
t.is(squares[3][1], 9, "indexing gives the sample")
t.is({squares:getitem(2)}, {4, "n2"}, "getitem gives its values")
local all = {}
for v, name in squares do all[#all + 1] = v .. name end
t.is(table.concat(all, " "), "0n0 1n1 4n2 9n3", "a loop over a dataset")
local v, names = data.DataLoader(squares, {batch_size = 3}):iter()()
t.is(v:tolist(), {0, 1, 4}, "numbers become a tensor")
t.is(v.dtype, torch.int64, "of integers")
t.is(names, {"n0", "n1", "n2"}, "strings stay a list")
local halves = data.DataLoader(Squares(3, function(q) return q / 2 end), {batch_size = 3}):iter()()
t.is(halves.dtype, torch.float64, "floats are collated in float64")
local Rows = data.IterableDataset:class("Rows")
function Rows:iter()
  local i = 0
  return function()
    i = i + 1
    if i <= 5 then return torch.tensor(i) end
  end
end
local rows = {}
for batch in data.DataLoader(Rows(), {batch_size = 2}) do rows[#rows + 1] = batch:tolist() end
t.is(rows, {{1, 2}, {3, 4}, {5}}, "an iterable dataset")
local Mine = data.Sampler:class("Mine")
function Mine:iter()
  local i = 4
  return function()
    i = i - 1
    if i >= 0 then return i end
  end
end
function Mine:len() return 4 end
local back = {}
for b in data.DataLoader(squares, {batch_size = 2, sampler = Mine()}) do back[#back + 1] =
  b:tolist() end
t.is(back, {{9, 4}, {1, 0}}, "a sampler of one's own")
local both = squares + Squares(2)
t.is({#both, both[4][1], both[-1][1]}, {6, 0, 1}, "datasets add up")
local sub = data.Subset(squares, {3, 1})
t.is({#sub, sub[0][1]}, {2, 9}, "Subset picks")
for k, val in pairs {sampler = {2, 0}, batch_sampler = {{2, 0}}} do
  local got = data.DataLoader(squares, {[k] = val, batch_size = k == "sampler" and 2
    or nil}):iter()()
  t.is(got:tolist(), {4, 0}, "a plain list serves as " .. k)
end

-- ---- errors --------------------------------------------------------------------------------
local function bad(options, want, name)
  t.raises(function() data.DataLoader(set, options) end, want, name)
end
bad({batch_size = 0}, "ValueError: batch_size should be a positive integer value, but got "
  .. "batch_size=0",
    "batch_size 0")
bad({sampler = {1}, shuffle = true}, "ValueError: sampler option is mutually exclusive with "
  .. "shuffle",
    "sampler and shuffle")
bad({batch_sampler = {{1}}, batch_size = 2}, "ValueError: batch_sampler option is mutually "
  .. "exclusive "
    .. "with batch_size, shuffle, sampler, and drop_last", "batch_sampler and batch_size")
bad({batch_size = None, drop_last = true}, "ValueError: batch_size=None option disables "
    .. "auto-batching and is mutually exclusive with drop_last", "drop_last without batches")
bad({persistent_workers = true}, "ValueError: persistent_workers option needs num_workers > 0",
    "persistent_workers")
bad({prefetch_factor = 2}, "ValueError: prefetch_factor option could only be specified in "
    .. "multiprocessing.let num_workers > 0 to enable multiprocessing, otherwise set "
    .. "prefetch_factor to None.", "prefetch_factor")
bad({num_workers = -1}, "ValueError: num_workers option should be non-negative; use "
  .. "num_workers=0 to "
    .. "disable multiprocessing.", "negative workers")
bad({bach_size = 2}, "TypeError: DataLoader.__init__() got an unexpected keyword argument "
  .. "'bach_size'. "
    .. "Did you mean 'batch_size'?", "an unknown option")
t.raises(function() data.TensorDataset(torch.ones(2), torch.ones(3)) end,
  "AssertionError: Size mismatch between tensors", "tensors of different lengths")
t.raises(function() data.default_collate {torch.ones(1), torch.ones(2)} end, "RuntimeError: stack "
  .. "expects each tensor to be equal size, but got [1] at entry 0 and [2] at entry 1",
    "uneven tensors")
t.raises(function() data.default_collate {{1, 2}, {1}} end,
  "RuntimeError: each element in list of batch should be of equal size", "uneven lists")
t.raises(function() data.default_collate {nn.ReLU()} end, "TypeError: default_collate: batch must "
  .. "contain tensors, numpy arrays, numbers, dicts or lists; found <class 'ReLU'>",
    "something else")
t.raises(function() return data.Dataset:class("Empty")()[0] end,
  "NotImplementedError: Subclasses of Dataset should implement __getitem__.", "getitem is required")
t.raises(function() data.random_split(set, {1, 2}) end, "ValueError: Sum of input lengths does not "
  .. "equal the length of the input dataset!", "random_split lengths")
t.raises(function() data.RandomSampler({}) end, "ValueError: num_samples should be a positive "
  .. "integer "
  .. "value, but got num_samples=0", "an empty set cannot be shuffled")
t.raises(function() return squares.lenn end, "AttributeError: 'Squares' object has no "
  .. "attribute 'lenn'",
  "an unknown attribute")
t.done()
