-- nn_optim.lua -- fused optimizer steps: the numbers are PyTorch's to the last digit or two
--
-- One line a set-up: options, float32 parameter and the first float64 element after 1 and 3 steps.
local t = require "tap"

local function pattern(n, k, m, o) return (torch.arange(n) * k % m - o):float() end

local function train(make, options, steps, dtype)
  local p = nn.Parameter((pattern(7, 7, 11, 5) / 4 + 0.3):to(dtype))
  local opt = make({ p }, options)
  for i = 0, steps - 1 do
    p.grad = ((pattern(7, 5, 13, 6) + i) / 8):to(dtype)
    opt:step()
  end
  return p:detach()
end

local cases = {
  { "SGD", { lr = 0.1 }, 1,
    { -0.875, 0.8125, -0.249999985, 1.5999999, 0.537500024, -0.524999976, 1.32499993 },
      -0.874999988079071 },
  { "SGD", { lr = 0.1 }, 3,
    { -0.762499988, 0.800000012, -0.387499988, 1.6624999, 0.475000054, -0.712499976,
      1.33749998 }, -0.762499988079071 },
  { "SGD", { lr = 0.1, momentum = 0.9 }, 1,
    { -0.875, 0.8125, -0.249999985, 1.5999999, 0.537500024, -0.524999976, 1.32499993 },
      -0.874999988079071 },
  { "SGD", { lr = 0.1, momentum = 0.9 }, 3,
    { -0.578000009, 0.821375012, -0.529249966, 1.78174984, 0.431125015, -0.919499934,
      1.39149988 }, -0.577999988079071 },
  { "SGD", { lr = 0.1, momentum = 0.9, dampening = 0.5, weight_decay = 0.01 }, 1,
    { -0.874049962, 0.811699986, -0.249799982, 1.59844995, 0.536949992, -0.524550021,
      1.32369995 }, -0.874049988090992 },
  { "SGD", { lr = 0.1, momentum = 0.9, dampening = 0.5, weight_decay = 0.01 }, 3,
    { -0.658583105, 0.824274957, -0.431432784, 1.72707593, 0.471368164, -0.784339607,
      1.37416911 }, -0.658583136641136 },
  { "SGD", { lr = 0.1, momentum = 0.9, nesterov = true, maximize = true, weight_decay = 0.1 }, 1,
    { -1.07445002, 0.761049986, -0.101199992, 1.42554998, 0.563300014, -0.298949987,
      1.22779989 }, -1.07444998830557 },
  { "SGD", { lr = 0.1, momentum = 0.9, nesterov = true, maximize = true, weight_decay = 0.1 }, 3,
    { -1.38722098, 0.718756318, 0.29227525, 1.11277902, 0.686298013, 0.259816945, 1.0803206 },
      -1.38722092547209 },
  { "Adam", { lr = 0.01 }, 1,
    { -0.939999998, 0.810000002, -0.209999993, 1.55999994, 0.540000021, -0.459999979,
      1.30999994 }, -0.939999988212404 },
  { "Adam", { lr = 0.01 }, 3,
    { -0.920356154, 0.815841913, -0.230002776, 1.57925117, 0.520768166, -0.480041713,
      1.32652748 }, -0.920356108094262 },
  { "Adam", { lr = 0.01, weight_decay = 0.1, amsgrad = true }, 1,
    { -0.939999998, 0.810000002, -0.209999993, 1.55999994, 0.540000021, -0.459999979,
      1.30999994 }, -0.939999988197414 },
  { "Adam", { lr = 0.01, weight_decay = 0.1, amsgrad = true }, 3,
    { -0.920295477, 0.799889863, -0.229997486, 1.57833469, 0.520426869, -0.480038822,
      1.31489205 }, -0.920295467069797 },
  { "AdamW", { lr = 0.01, weight_decay = 0.1 }, 1,
    { -0.939050019, 0.809199989, -0.20979999, 1.55844998, 0.539450049, -0.459549993,
      1.30869997 }, -0.939049988224325 },
  { "AdamW", { lr = 0.01, weight_decay = 0.1 }, 3,
    { -0.917539001, 0.813417614, -0.229373395, 1.57457614, 0.519149542, -0.478663087,
      1.32260215 }, -0.917538858908325 },
  { "Adam", { lr = 0.01, betas = {0.3, 0.9}, maximize = true, eps = 1e-3 }, 1,
    { -0.959986687, 0.790079355, -0.19001995, 1.54001987, 0.559920669, -0.440013289,
      1.29003978 }, -0.959986672499843 },
  { "Adam", { lr = 0.01, betas = {0.3, 0.9}, maximize = true, eps = 1e-3 }, 3,
    { -0.978172123, 0.79469794, -0.168570444, 1.52314234, 0.582774162, -0.418940276,
      1.27939439 }, -0.978172066248031 },
}
for _, c in ipairs(cases) do
  local name = c[1] .. " " .. tostring(c[3]) .. " steps, " .. tostring(c[5])
  t.close(train(optim[c[1]], c[2], c[3], torch.float32), c[4], 2.5e-7, name .. ", float32")
  local wide = train(optim[c[1]], c[2], c[3], torch.float64)
  t.close(wide[0]:item(), c[5], 1e-14, name .. ", float64")
end

-- ---- what a step must leave alone ----------------------------------------
local w = nn.Parameter(pattern(12, 7, 11, 5):reshape(3, 4))
local view = torch.zeros(4, 3):t()
w.grad = (pattern(12, 5, 13, 6) / 8):reshape(4, 3):t():clone()
local flat = nn.Parameter(w:detach():clone())
flat.grad = w.grad:contiguous():clone()
optim.Adam({ w }, { lr = 0.1 }):step()
optim.Adam({ flat }, { lr = 0.1 }):step()
t.ok(torch.equal(w, flat), "a gradient of another layout gives the same step")
t.is(view:is_contiguous(), false, "a transposed tensor is not contiguous")

local half = nn.Parameter(torch.ones(3, { dtype = torch.bfloat16 }))
half.grad = torch.ones(3, { dtype = torch.bfloat16 })
optim.SGD({ half }, { lr = 0.5 }):step()
t.is(tostring(half.dtype), "torch.bfloat16", "a bfloat16 parameter stays bfloat16")
t.close(half:float():detach(), { 0.5, 0.5, 0.5 }, 0, "and takes the step")

local before = half._version
half.grad = torch.zeros(3, { dtype = torch.bfloat16 })
optim.SGD({ half }, { lr = 0.5 }):step()
t.ok(half._version > before, "a step counts as a change in place")

t.done()
