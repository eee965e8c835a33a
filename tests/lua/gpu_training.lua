-- gpu_training.lua -- a whole training loop under dlrepl.exact_memory(true): each figure by hand
--
-- An MLP of 784-96-48-10 on batches of 32, Adam, gradients clipped, figures taken after each line.
-- A block is the bytes asked for, up to the next 512. float32 throughout.
local tap = require "tap"
local cuda = torch.cuda

local function block(...) -- bytes of a float32 tensor of that shape in the pool
  local n = 4
  for _, d in ipairs {...} do n = n * d end
  return (n + 511) // 512 * 512
end

dlrepl.simulate "t4"
dlrepl.exact_memory(true)

-- ---- what each thing takes -----------------------------------------------------------------
local WEIGHTS = block(96, 784) + block(48, 96) + block(10, 48)
local BIASES = block(96) + block(48) + block(10)
local PARAMS = WEIGHTS + BIASES             -- 301056 + 18432 + 2048 + 512 + 512 + 512
local X, Y = block(32, 784), 512            -- 32 labels of 8 bytes
local H1, H2, OUT = block(32, 96), block(32, 48), block(32, 10)
local ONE = 512                             -- a number
local CUBLAS, CUBLASLT = 8519680, 1048576   -- capability 7.5: :4096:2:16:8, and 1 MiB

tap.is(PARAMS, 323072, "the parameters in blocks")
tap.is(X, 100352, "a batch")

local wrong = {}
local function expect(bytes, when)
  local is = cuda.memory_allocated()
  if is ~= bytes then wrong[#wrong + 1] = when .. ": " .. is .. ", by hand " .. bytes end
end
local function peak_since(fn)
  cuda.memory_allocated()
  cuda.reset_peak_memory_stats()
  fn()
  return cuda.max_memory_allocated()
end
local function all_right(name)
  tap.is(table.concat(wrong, "; "), "", name)
  wrong = {}
end

torch.manual_seed(0)
local model = nn.Sequential(nn.Linear(784, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(),
                            nn.Linear(48, 10))
expect(0, "a model on the CPU")
model:to("cuda")
expect(PARAMS, "a model on the GPU")
local opt = optim.Adam(model:parameters())
expect(PARAMS, "an optimizer has nothing yet")
all_right("before the first step")

local set = TensorDataset(torch.randn(96, 784), torch.randint(10, {96}))
local kept = PARAMS          -- what lives between steps
local step, workspaces = 0, 0
local totals = {}
for bx, by in DataLoader(set, {batch_size = 32, pin_memory = true}) do
  step = step + 1
  local x, y = bx:to("cuda", {non_blocking = true}), by:to("cuda", {non_blocking = true})
  kept = kept + workspaces
  expect(kept + X + Y, step .. " batch")
  local out = model(x)
  if step == 1 then
    workspaces = CUBLAS + CUBLASLT
    kept = kept + workspaces
  end
  workspaces = 0
  -- x, both activations (the ReLUs' results: what went into them is gone) and the output
  local live = kept + X + Y + H1 + H2 + OUT
  expect(live, step .. " forward")
  local loss = F.cross_entropy(out, y)
  live = live + OUT + ONE + ONE -- logarithms, sum of weights, the loss
  expect(live, step .. " loss")
  opt:zero_grad()
  if step > 1 then
    kept = kept - PARAMS -- gradients of the step before: let go by zero_grad
    live = live - PARAMS
  end
  expect(live, step .. " zero_grad")
  local top = peak_since(function() loss:backward() end)
  -- The most lives at the end of the first layer: every gradient, and the one that came to it. (At
  -- its ReLU it is less: the result, what came and what goes, and the gradients of two layers.)
  tap.is(top, kept + X + Y + OUT + ONE + PARAMS + H1,
         "step " .. step .. ": the most that lives in backward")
  kept = kept + PARAMS
  expect(kept + X + Y + OUT + ONE, step .. " backward")
  nn.utils.clip_grad_norm_(model:parameters(), 1.0)
  expect(kept + X + Y + OUT + ONE, step .. " clipping")
  top = peak_since(function() opt:step() end)
  if step == 1 then kept = kept + 2 * PARAMS end -- Adam's averages; its counters are on the CPU
  expect(kept + X + Y + OUT + ONE, step .. " step")
  -- foreach keeps one list of temporaries of every parameter's size: the roots
  tap.is(top, kept + PARAMS + X + Y + OUT + ONE, "step " .. step .. ": the most that lives in Adam")
  totals[step] = loss:item()
  x, y, out, loss = nil, nil, nil, nil
  expect(kept, step .. " end")
  all_right("step " .. step .. ", figures after each line")
end
tap.is(step, 3, "three steps")
tap.is(kept, 4 * PARAMS + CUBLAS + CUBLASLT, "what stays: four values a parameter, two workspaces")

-- ---- segments ------------------------------------------------------------------------------
do
  local text = {}
  for _, s in ipairs(cuda.memory_snapshot()) do
    text[#text + 1] = s.segment_type .. " " .. s.total_size
  end
  table.sort(text)
  tap.is(text[1], "large 20971520", "cuBLAS's workspace is in a segment of 20 MiB")
  local small = #text - 1
  tap.is(cuda.memory_reserved(), 20971520 + small * 2097152, "all else in segments of 2 MiB")
end

-- ---- evaluation ------------------------------------------------------------------------------
do
  opt:zero_grad()
  kept = kept - PARAMS
  local x = torch.zeros(32, 784, {device = "cuda"})
  local top = peak_since(function() torch.no_grad(function() local _ = model(x) end) end)
  tap.is(top, kept + X + 2 * H1, "without gradients no more than a layer's two sides live")
  x = nil
  expect(kept, "afterwards")
  all_right("and nothing stays")
end

-- ---- letting go ------------------------------------------------------------------------------
model, opt = nil, nil
tap.is(cuda.memory_allocated(), CUBLAS + CUBLASLT, "only the workspaces are left")
cuda._clear_cublas_workspaces()
cuda.empty_cache()
tap.is(cuda.memory_reserved(), 0, "and nothing at all")
tap.done()
