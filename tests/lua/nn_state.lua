-- nn_state.lua -- what layers change besides their result: running statistics, the embedding table
local t = require "tap"

local function pattern(n) return (torch.arange(n) * 7 % 11 - 5):float() end

-- ---- batch norm -------------------------------------------------------------------------------
local x = (pattern(24) / 4):reshape(4, 3, 2)
local rm, rv = torch.zeros(3), torch.ones(3)
F.batch_norm(x, rm, rv, nil, nil, true, 0.1)
t.close(rm, { -0.009375, 0.03125, -0.03125 }, 1e-6, "running_mean moves by momentum")
t.close(rv, { 0.9606026, 0.9691964, 0.9691964 }, 1e-6, "running_var takes the unbiased variance")
local seen = rm:clone()
F.batch_norm(x, rm, rv)
t.ok(torch.equal(rm, seen), "evaluation changes nothing")

local hm, hv = torch.zeros(3):half(), torch.ones(3):half()
F.batch_norm(x:half(), hm, hv, nil, nil, true, 0.1)
t.close(hm:float(), { -0.009375, 0.03125, -0.03125 }, 1e-4, "half precision statistics move too")
t.close(hv:float(), { 0.9606, 0.9692, 0.9692 }, 1e-3, "and the variance")

local wide = torch.zeros(3, 2):t()[0]
local spread = torch.ones(3, 2):t()[0]
F.batch_norm(x, wide, spread, nil, nil, true, 0.1)
t.close(wide, { -0.009375, 0.03125, -0.03125 }, 1e-6, "statistics that are a strided view move too")

-- ---- embedding --------------------------------------------------------------------------------
local table_ = torch.tensor({ { 3., 4. }, { 0.3, 0.4 }, { 6., 8. } })
local rows = F.embedding(torch.tensor({ 0, 1, 0 }), table_, { max_norm = 1.0 })
t.close(rows, { { 0.6, 0.8 }, { 0.3, 0.4 }, { 0.6, 0.8 } }, 1e-6, "max_norm shortens long rows")
t.close(table_, { { 0.6, 0.8 }, { 0.3, 0.4 }, { 6, 8 } }, 1e-6, "in the table, used rows only")
local grads = torch.ones(4, 2):requires_grad_()
F.embedding(torch.tensor({ 1, 1, 3 }), grads):sum():backward()
t.close(grads.grad, { { 0, 0 }, { 2, 2 }, { 0, 0 }, { 1, 1 } }, 0, "a row used twice adds up")

-- ---- pooling --------------------------------------------------------------------------------
local out, at = dlrepl.ops.max_pool2d_with_indices(pattern(16):reshape(1, 1, 4, 4), { 2, 2 })
t.close(out, { { { { 2, 5 }, { 3, 5 } } } }, 0, "the largest of each window")
t.close(at, { { { { 1, 3 }, { 9, 14 } } } }, 0, "and where it is in the plane")
local nan = torch.tensor({ { { 1., 0 / 0 }, { 2., 3. } } })
t.ok(F.max_pool2d(nan, 2):isnan():item(), "nan wins in max_pool2d")
local ints = torch.arange(16):reshape(1, 4, 4)
t.is(tostring(F.max_pool2d(ints, 2).dtype), "torch.int64", "max_pool2d of integers gives integers")

-- ---- attention --------------------------------------------------------------------------------
torch.manual_seed(0)
local q = torch.ones(1, 2, 4)
local dropped = F.scaled_dot_product_attention(q, q, q, { dropout_p = 1.0 })
t.close(dropped:sum():item(), 0, 0, "dropout of everything leaves nothing")

-- ---- half precision and integers in products --------------------------------------------------
local ones = torch.ones(1, 4096):half()
t.is(ones:matmul(ones:t()):item(), 4096.0, "half products add up in float32")
local third = torch.full({ 1, 300 }, 0.1):bfloat16()
t.close(third:matmul(torch.ones(300, 1):bfloat16()):item(), 30.0, 0.13, "bfloat16 rounds once")
local big = torch.tensor({ { 1 << 40, 1 } })
local by = torch.tensor({ { 3 }, { 1 } })
t.is(big:matmul(by):item(), (3 << 40) + 1, "int64 products are exact")
local bytes = torch.tensor({ { 200, 100 } }, { dtype = torch.uint8 })
t.is(bytes:matmul(bytes:t()):item(), (200 * 200 + 100 * 100) % 256, "uint8 products wrap around")
local none = torch.zeros(2, 0):matmul(torch.zeros(0, 3))
t.close(none, { { 0, 0, 0 }, { 0, 0, 0 } }, 0, "an empty sum is 0")
t.is(tostring(torch.zeros(0, 2):matmul(torch.zeros(2, 3)).shape), "torch.Size([0, 3])", "no rows")
local hole = torch.full({ 2, 2 }, 0 / 0)
local filled = torch.addmm(hole, torch.ones(2, 1), torch.ones(1, 2), { beta = 0 })
t.close(filled, { { 1, 1 }, { 1, 1 } }, 0, "beta 0 ignores nan")

t.done()
