-- shape_random.lua -- factories and random numbers: PyTorch values under the same seed
--
-- Every expected text was printed by PyTorch. A row: what is shown, how, the text or the error.
local t = require "tap"
local x, y, z = torch.arange(6.):reshape(2, 3), torch.arange(24.):reshape(2, 3, 4), torch.tensor(1.)
local g = torch.arange(6.):reshape(2, 3):requires_grad_()
local tt = torch.tensor

local rows = t.rows

-- factories
rows {
  {"full of an integer is int64", function() return torch.full({2}, 3) end, "tensor([3, 3])"},
  {"full of a number that does not fit",
   function() return torch.full({2}, 300, {dtype=torch.uint8}) end,
   "RuntimeError: value cannot be converted to type uint8_t without overflow"},
  {"a negative size", function() return torch.empty(-1) end,
   "RuntimeError: Trying to create tensor with negative dimension -1: [-1]"},
  {"arange downwards", function() return torch.arange(5, 0, -2) end, "tensor([5, 3, 1])"},
  {"arange of floats", function() return torch.arange(1, 2.5, .5) end,
   "tensor([1.0000, 1.5000, 2.0000])"},
  {"arange with step 0", function() return torch.arange(0, 5, 0) end,
   "RuntimeError: step must be nonzero"},
  {"arange the wrong way", function() return torch.arange(0, 5, -1) end,
   "RuntimeError: upper bound and lower bound inconsistent with step sign"},
  {"linspace", function() return torch.linspace(0, 1, 5) end,
   "tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])"},
  {"linspace of fewer than no steps", function() return torch.linspace(0, 1, -1) end,
   "RuntimeError: number of steps must be non-negative"},
  {"logspace", function() return torch.logspace(0, 2, 3) end, "tensor([  1.,  10., 100.])"},
  {"eye", function() return torch.eye(2, 3) end, "tensor([[1., 0., 0.],\n        [0., 1., 0.]])"},
  {"eye of a negative size", function() return torch.eye(-1) end,
   "RuntimeError: n must be greater or equal to 0, got -1"},
  {"copy_ of another size", function() return torch.zeros(2):copy_(torch.ones(3)) end,
   "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at " ..
   "non-singleton dimension 0"},
  {"fill_ with a vector", function() return torch.zeros(2):fill_(torch.ones(2)) end,
   "RuntimeError: fill_ only supports 0-dimension value tensor but got tensor with " ..
   "1 dimensions."},
}

-- numbers under a seed
rows {
  {"rand, seed 0", function() torch.manual_seed(0)   return torch.rand(3) end,
   "tensor([0.4963, 0.7682, 0.0885])"},
  {"randn below 16 elements", function() torch.manual_seed(0)   return torch.randn(4) end,
   "tensor([ 1.5410, -0.2934, -2.1788,  0.5684])"},
  {"randn of 16 and more, ragged end", function() torch.manual_seed(0)   return torch.randn(20) end,
   "tensor([-1.1258, -1.1524, -0.2506, -0.4339,  0.5988, -1.5551, -0.3414,  1.8530," ..
   "\n         0.4681, -0.1577,  1.4437,  0.2660,  1.3894,  1.5863,  0.9463, -0.8437," ..
   "\n         0.9318,  1.2590,  2.0050,  0.0537])"},
  {"randn in float64",
   function() torch.manual_seed(0)   return torch.randn(17, {dtype=torch.float64})[":5"] end,
   "tensor([-2.3104, -0.6333, -1.2609, -0.7270, -0.0200], dtype=torch.float64)"},
  {"randn in float16",
   function() torch.manual_seed(0)   return torch.randn(17, {dtype=torch.float16})["-3:"] end,
   "tensor([ 1.5859,  0.9463, -0.8438], dtype=torch.float16)"},
  {"two calls share the stream",
   function() torch.manual_seed(42)   return torch.randn(3), torch.rand(2) end,
   "tensor([0.3367, 0.1288, 0.2345]) | tensor([0.9408, 0.1332])"},
  {"randint", function() torch.manual_seed(42)   return torch.randint(0, 10, {5}) end,
   "tensor([2, 7, 6, 4, 6])"},
  {"randint of a wide range",
   function() torch.manual_seed(42)   return torch.randint(0, 2^40, {3}) end,
   "tensor([441507790259, 395924837646, 458615280711])"},
  {"randperm", function() torch.manual_seed(42)   return torch.randperm(6) end,
   "tensor([0, 3, 2, 4, 1, 5])"},
  {"uniform_", function() torch.manual_seed(1)   return torch.zeros(5):uniform_(-1, 2) end,
   "tensor([ 1.2729, -0.1621,  0.2092,  1.2041, -0.9122])"},
  {"normal_", function() torch.manual_seed(1)   return torch.zeros(5):normal_(1, .5) end,
   "tensor([1.3307, 1.1335, 1.0308, 1.3107, 0.7740])"},
  {"exponential_", function() torch.manual_seed(1)   return torch.zeros(3):exponential_(2) end,
   "tensor([0.0315, 0.1272, 0.1335])"},
  {"random_",
   function() torch.manual_seed(1)   return torch.zeros(3, {dtype=torch.int64}):random_() end,
   "tensor([7692698082559361259, 4064269471072392264,    2109959069025161])"},
  {"bernoulli_", function() torch.manual_seed(1)   return torch.zeros(8):bernoulli_(.3) end,
   "tensor([1., 1., 1., 1., 0., 1., 0., 0.])"},
  {"bernoulli of a tensor",
   function() torch.manual_seed(1)   return torch.bernoulli(torch.full({8}, .3)) end,
   "tensor([0., 1., 0., 0., 1., 0., 0., 0.])"},
  {"multinomial without replacement",
   function() torch.manual_seed(1)   return torch.multinomial(tt{.1, .2, .3, .4}, 3) end,
   "tensor([3, 0, 2])"},
  {"multinomial with replacement",
   function() torch.manual_seed(1)   return torch.multinomial(tt{.1, .2, .3, .4}, 6, true) end,
   "tensor([0, 1, 1, 1, 2, 1])"},
  {"normal around a tensor",
   function() torch.manual_seed(1)   return torch.normal(tt{1., 2., 3.}, .5) end,
   "tensor([1.3307, 2.1335, 3.0308])"},
  {"dropout", function() torch.manual_seed(1)   return F.dropout(torch.ones(8), .5) end,
   "tensor([2., 2., 2., 2., 0., 2., 2., 0.])"},
  {"dropout2d drops channels",
   function() torch.manual_seed(1)   return F.dropout2d(torch.ones(1, 4, 1, 2), .5) end,
   "tensor([[[[2., 2.]],\n\n         [[2., 2.]],\n\n         [[2., 2.]],\n\n     " ..
   "    [[2., 2.]]]])"},
}

-- errors
rows {
  {"a probability above 1", function() return F.dropout(x, 1.5) end,
   "ValueError: dropout probability has to be between 0 and 1, but got 1.5"},
  {"an empty range", function() return torch.randint(5, 5, {2}) end,
   "RuntimeError: random_ expects 'from' to be less than 'to', but got from=5 >= " ..
   "to=5"},
  {"a range beyond the dtype",
   function() return torch.randint(0, 300, {2}, {dtype=torch.uint8}) end,
   "RuntimeError: to - 1 is out of bounds for unsigned char"},
  {"uniform integers", function() return torch.rand(2, {dtype=torch.int64}) end,
   "NotImplementedError: \"check_uniform_bounds\" not implemented for 'Long'"},
  {"normal booleans", function() return torch.randn(2, {dtype=torch.bool}) end,
   "NotImplementedError: \"normal_kernel_cpu\" not implemented for 'Bool'"},
  {"uniform_ with its ends swapped", function() return torch.zeros(3):uniform_(2, 1) end,
   "RuntimeError: uniform_ expects to return a [from, to) range, but found from=2 " ..
   "> to=1"},
  {"a negative std", function() return torch.zeros(3):normal_(0, -1) end,
   "RuntimeError: normal expects std >= 0.0, but found std -1"},
  {"a rate of zero", function() return torch.zeros(3):exponential_(0) end,
   "RuntimeError: exponential_ expects lambda > 0.0, but found lambda=0"},
  {"more samples than classes", function() return torch.multinomial(tt{1., 2.}, 3) end,
   "RuntimeError: cannot sample n_sample > prob_dist.size(-1) samples without replacement"},
  {"a negative weight", function() return torch.multinomial(tt{-1., 2.}, 1) end,
   "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"},
  {"bernoulli_ above 1", function() return torch.zeros(3):bernoulli_(1.5) end,
   "RuntimeError: bernoulli_ expects p to be in [0, 1], but got p=1.5"},
  {"randperm of a negative number", function() return torch.randperm(-1) end,
   "RuntimeError: Trying to create tensor with negative dimension -1: [-1]"},
}

t.done()
