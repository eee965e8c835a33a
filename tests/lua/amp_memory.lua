-- amp_memory.lua -- a batch that an 8 GB card cannot hold, and each way to make it fit
--
-- A dry run: the simulated card keeps account of memory and computes nothing. What the error
-- promises is held against what the same program takes on a card with room.
local tap = require "tap"

local TOKENS, WIDTH, CAP = 1200, 1024, 8
local model, opt

local function fresh(memory, compute)
  dlrepl.simulate{card = "t4", memory = memory, compute = compute or false, force = true}
  local layers = {}
  for i = 1, 24 do layers[2 * i - 1], layers[2 * i] = nn.Linear(WIDTH, WIDTH), nn.ReLU() end
  layers[49] = nn.Linear(WIDTH, 10)
  model = nn.Sequential(table.unpack(layers)):to("cuda")
  opt = optim.SGD(model:parameters(), {lr = 0.1})
end

local function loss_of(x) return model(x):pow(2):mean() end
local function amp(x) return torch.autocast("cuda", loss_of, x) end
local segments = 5
local function checkpointed(x)
  local cut = torch.utils.checkpoint.checkpoint_sequential
  local y = cut(model, segments, x, {use_reentrant = false})
  return y:pow(2):mean()
end

-- One step with a batch of 64 in so many pieces: GiB at the peak, the error.
local function step(memory, pieces, loss)
  fresh(memory)
  torch.cuda.reset_peak_memory_stats()
  local ok, e = pcall(function()
    local x = torch.randn(64, TOKENS, WIDTH, {device = "cuda"})
    for part, share in dlrepl.accumulate(pieces, x) do (loss(part) * share):backward() end
    opt:step()
  end)
  return torch.cuda.max_memory_allocated() / 2 ^ 30, not ok and e or nil
end

local _, e = step("8GiB", 1, loss_of)
tap.like(tostring(e), "^OutOfMemoryError: CUDA out of memory", "a batch of 64 dies")
local advice = {}
for _, a in ipairs(dlrepl.debug.last_oom().advice) do advice[#advice + 1] = a end
local function promised(word)
  for _, a in ipairs(advice) do
    if a.text:find(word, 1, true) then return a.saves / 2 ^ 30 end
  end
  return 0
end

local full = step("15GiB", 1, loss_of)
tap.ok(full > CAP - 0.3, string.format("on a larger card it takes %.2f GiB", full))
local function fits(name, pieces, loss, word)
  local peak, why = step("8GiB", pieces, loss)
  tap.ok(not why and peak < CAP, string.format("%s: fits, %.2f GiB at the peak", name, peak))
  if why then tap.diag(tostring(why)) end
  if not word then return end
  local saved, said = full - peak, promised(word)
  tap.ok(math.abs(saved - said) <= 0.1 * said,
    string.format("%s: saves %.2f GiB where the error promised %.2f", name, saved, said))
end
fits("half the batch, twice", 2, loss_of, "half the batch")
fits("a quarter, four times", 4, loss_of)
fits("autocast", 1, amp, "torch.autocast")
for _, a in ipairs(advice) do
  segments = math.tointeger(a.text:match("checkpoint_sequential%(model, (%d+)")) or segments
end
fits("checkpoints", 1, checkpointed, "checkpoint_sequential")

-- gradients set to None, losses that are not kept ------------------------------------------------
do
  local function second(set_to_none)
    fresh("15GiB")
    local peak
    for _ = 1, 2 do
      torch.cuda.reset_peak_memory_stats()
      opt:zero_grad(set_to_none)
      loss_of(torch.randn(8, TOKENS, WIDTH, {device = "cuda"})):backward()
      opt:step()
      collectgarbage()
      peak = torch.cuda.max_memory_allocated() / 2 ^ 20
    end
    return peak
  end
  local zeros, none = second(false), second(true)
  tap.ok(none < zeros, string.format("set_to_none lowers the peak: %.0f MiB, not %.0f",
    none, zeros))

  local function validate(keep)
    fresh("8GiB")
    local losses = {}
    for i = 1, 5 do
      losses[i] = keep(loss_of(torch.randn(20, TOKENS, WIDTH, {device = "cuda"})))
      opt:step()
    end
    return #losses
  end
  local ok, why = pcall(validate, function(l) return l end)
  tap.ok(not ok and tostring(why):find("out of memory"),
    "losses kept with their graphs fill the card")
  tap.is(validate(function(l) return l:item() end), 5, "their numbers do not")
  tap.is(validate(function(l) return l:detach() end), 5, "nor do detached ones")
end

-- the same update -----
do
  local function update(pieces, loss)
    TOKENS, WIDTH = 3, 8
    fresh("1GiB", true)
    torch.manual_seed(0)
    for _, p in ipairs(model:parameters()) do nn.init.normal_(p, 0, 0.4) end
    local x = torch.randn(64, TOKENS, WIDTH, {device = "cuda"})
    for part, share in dlrepl.accumulate(pieces, x) do (loss(part) * share):backward() end
    opt:step()
    return model[0].weight:detach():cpu()
  end
  local whole = update(1, loss_of)
  tap.close(update(4, loss_of), whole:tolist(), 1e-5, "4 x 16 gives the update of 64")
  tap.close(update(1, checkpointed), whole:tolist(), 1e-5, "and so do checkpoints")
end
tap.done()
