-- lesson_ready.lua -- the ready-made checks of lessons: each passes, and fails with its own message
local t = require "tap"
local checks = require "dlrepl.lesson.checks"
local ready = require "dlrepl.lesson.ready"
local record = require "dlrepl.lesson.record"
local words = require "dlrepl.lesson.words"

local tried = {}

-- The record of fn, with an error raised again.
local function kept(fn, options)
  local _, rec, problem = record.run(fn, options)
  if problem then error(problem, 0) end
  return rec
end

-- nil where the check passes, else what it says was measured
local function verdict(rec, name, ...)
  tried[name] = (tried[name] or 0) + 1
  local r = checks.new(rec)
  local ok, why = pcall(r[name], r, ...)
  if ok then return nil end
  if not r.failed then error(why, 0) end
  return r.failed
end

local function passes(rec, sentence, name, ...)
  local v = verdict(rec, name, ...)
  t.is(v and v.got or "passes", "passes", sentence)
end

local function fails(rec, got, sentence, name, ...)
  local v = verdict(rec, name, ...)
  t.is(v and v.got or "passes", got, sentence)
  local told = v and words.rows({feedback = {}, id = "do"}, {failed = v})
  t.is(v and v.feedback .. " " .. (told or ""), name .. " FAIL", "… with the message of " .. name)
end

local function model()
  torch.manual_seed(0)
  return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
end

local x, y = torch.randn(6, 4), torch.tensor({0, 1, 0, 1, 1, 0})

local function trained(m, n, options)
  local opt = optim.SGD(options and options.params or m:parameters(), {lr = 0.1})
  return kept(function()
    for _ = 1, n do
      opt:zero_grad()
      F.cross_entropy(m(x), y):backward()
      opt:step()
    end
  end, {watch = m})
end

-- training --------------------------------------------------------------------------------------
do
  local m = model()
  local rec = trained(m, 3)
  passes(rec, "three steps", "steps", 3)
  fails(rec, "3", "three are not two", "steps", 2)
  passes(rec, "none was skipped", "steps_skipped", 0)
  fails(rec, "0", "one was not", "steps_skipped", 1)
  passes(rec, "the weights changed", "changed", {"0.weight", "3.weight"})
  fails(rec, "0.bias", "a bias before a batch norm has nothing to learn", "changed")
  fails(rec, "0.weight", "one of them is not unchanged", "unchanged", {"0.weight"})
  passes(rec, "all have gradients", "grads_non_nil")
  passes(rec, "in training mode", "mode_was", "train")
  fails(rec, "Sequential in train mode", "and not in eval", "mode_was", "eval")
  fails(rec, "1.running_mean, 1.running_var, 1.num_batches_tracked", "its statistics changed",
        "buffers_unchanged")
  passes(rec, "no graph is kept", "no_graph_retained")
  m:eval()
  rec = kept(function() torch.no_grad(function() m(x) end) end, {watch = m})
  passes(rec, "eval leaves the statistics", "buffers_unchanged")
  passes(rec, "in eval mode", "mode_was", "eval")
  passes(rec, "nothing changed", "unchanged")
  fails(rec, "3.bias", "nothing changed, by name", "changed", "3.bias")
  fails(rec, "no module was called", "a module that is not there", "mode_was", "eval", "gone")
end
do
  local m = model()
  m[0].weight.requires_grad = false
  local rec = trained(m, 1, {params = m[3]:parameters()})
  fails(rec, "0.weight", "a frozen one has no gradient", "grads_non_nil")
  passes(rec, "the others have", "grads_non_nil", {"0.bias", "3.weight"})
  fails(rec, "0.weight, 0.bias, 1.weight, 1.bias", "what the optimizer has not, stays", "changed")
  passes(rec, "as told", "unchanged", {"0.weight", "0.bias"})
end
do
  local losses = {2, 1, 0.5}
  passes(nil, "the last loss is low", "loss_below", "it learns", losses, 0.6, "high")
  passes(nil, "or that after some steps", "loss_below", "it learns", losses, 1.5, "high", 2)
  local v = verdict(nil, "loss_below", "it learns", losses, 0.6, "high", 2)
  t.is(v and v.got .. " " .. v.feedback, "1 high", "a high one fails")
end

-- two ways of one update ------------------------------------------------------------------------
do
  local function updated(batches, lr)
    local m = nn.Linear(4, 2)
    torch.no_grad(function() for p in m:parameters() do p:fill_(0.5) end end)
    local opt = optim.SGD(m:parameters(), {lr = lr})
    for _, rows in ipairs(batches) do
      (m(x[rows]):pow(2):sum() / 12):backward()
    end
    opt:step()
    return m
  end
  local whole, parts = updated({"0:6"}, 0.1), updated({"0:2", "2:6"}, 0.1)
  passes(nil, "accumulated gradients are those of the whole", "grads_match", parts, whole)
  passes(nil, "and so is the update", "same_update_as", parts, whole)
  local other, half = updated({"0:6"}, 0.2), updated({"0:3"}, 0.1)
  local v = verdict(nil, "grads_match", half, whole)
  t.like(v and v.check, "^the gradients are right %(bias%)", "half of the batch has others")
  t.is(v and v.feedback, "grads_match", "… with the message of grads_match")
  v = verdict(nil, "same_update_as", other, whole, "rate")
  t.is(v and v.feedback, "rate", "a step's own feedback is told instead")
  v = verdict(nil, "grads_match", {w = None}, {w = torch.ones(2)})
  t.is(v and v.got, "None", "no gradient at all")
end

-- graphs and memory -----------------------------------------------------------------------------
do
  local w, losses = torch.ones(3, {requires_grad = true}), {}
  local rec = kept(function() for i = 1, 3 do losses[i] = (w * i):sum() end end)
  fails(rec, "7 nodes more than before", "kept losses keep graphs", "no_graph_retained")
  passes(rec, "numbers of the lesson's own", "no_graph_retained", 5, 5)
  local big = torch.ones(1000, {requires_grad = true})
  rec = kept(function() return big:exp() end, {exact = true})
  passes(rec, "exp keeps its result", "saved_bytes", 4000)
  fails(rec, "3.9 KiB", "and not less", "saved_bytes", 100)
  passes(rec, "a peak", "peak_under", 1 << 30, "cpu")
  t.like((verdict(rec, "peak_under", 10) or {}).got, "B$", "of more than ten bytes")
  passes(kept(function() return x + 1 end), "one kernel", "kernels", 1)
  fails(kept(function() return x + 1, x * 2 end), "2", "two are more", "kernels", 1)
end

-- hooks -----------------------------------------------------------------------------------------
do
  local m = model()
  local handle = m[0]:register_forward_hook(function() end)
  m[3]:register_full_backward_hook(function() end)
  m[3].weight:register_hook(function() end)
  local rec = trained(m, 2)
  passes(rec, "a forward hook ran twice", "hook_ran", "forward", 2, "0")
  passes(rec, "a backward hook too", "hook_ran", "backward", 2)
  passes(rec, "a tensor's hook is known by its name", "hook_ran", "tensor", 2, "3.weight")
  handle:remove()
  fails(trained(m, 2), "0", "a removed one runs no more", "hook_ran", "forward", 2)
end

-- loaders ---------------------------------------------------------------------------------------
do
  local set = TensorDataset(torch.arange(10), torch.arange(10))
  local function epoch(options, stop)
    return kept(function()
      for a in DataLoader(set, options) do if a[0]:item() == stop then break end end
    end)
  end
  passes(epoch {batch_size = 3, shuffle = true}, "a shuffled epoch", "indices_once", 10)
  passes(epoch {batch_size = 3}, "one in order", "indices_once", 10)
  fails(epoch {batch_size = 3, drop_last = true}, "epoch 1: index 9 never", "a dropped one",
        "indices_once", 10)
  fails(epoch({batch_size = 2}, 2), "epoch 1: index 4 never", "one that was left",
        "indices_once", 10)
  local twice = kept(function()
    for _ in DataLoader(set, {batch_sampler = {{0, 1}, {1, 2}}}) do end
  end)
  fails(twice, "epoch 1: index 1 twice", "an index twice", "indices_once", 3)
  fails(kept(function() end), "no epoch was begun", "no epoch", "indices_once", 3)
end

-- devices ---------------------------------------------------------------------------------------
do
  local rec = kept(function() return x:mm(x:t()) end)
  passes(rec, "a product on the CPU", "device_is", "mm", "cpu")
  fails(rec, "cpu", "is not one elsewhere", "device_is", "mm", "cuda:0")
  fails(rec, "conv2d never ran", "an op that never ran", "device_is", "conv2d", "cpu")
  passes(rec, "a value's device", "device_is", x, "cpu")
  passes(rec, "one device", "one_device_per_op")
  passes(rec, "nothing moved", "bytes_moved", 0)
  fails(rec, "0 %", "no device was busy", "busy_at_least", 0.5)
end
dlrepl.simulate("t4")
do
  local rec = kept(function()
    local c = x:cuda()
    return (c * 2):cpu(), c:sum():item()
  end)
  fails(rec, "196 B", "three copies' bytes", "bytes_moved", 100)
  fails(rec, "3", "three copies", "copies", 2)
  passes(rec, "no more than three", "copies", 3)
  t.is(verdict(rec, "syncs", 100), nil, "few waits")
  fails(rec, tostring(rec.syncs), "but some", "syncs", rec.syncs - 1)
  passes(rec, "a product on the card", "device_is", "mul", "cuda:0")
  local data = TensorDataset(torch.randn(8, 4))
  data.cost_us = 1000
  rec = kept(function()
    for batch in DataLoader(data, {batch_size = 4}) do batch:cuda():exp() end
  end)
  fails(rec, "0.008 s", "eight items of a millisecond are waited for", "wait_under", 0.001)
  passes(rec, "no longer", "wait_under", 0.01)
  passes(rec, "a device that idles is a little busy", "busy_at_least", 0.0)
  local odd = kept(function() pcall(function() return x:cuda() + x end) return x:cuda() * 2 end)
  passes(odd, "what failed is no op", "one_device_per_op")
  odd = kept(function() return x:cuda()[torch.tensor({0, 2})] end)
  fails(odd, "index on cuda:0 and cpu", "indices of the CPU", "one_device_per_op")
end

-- all of them -----------------------------------------------------------------------------------
local without = {}
for name in pairs(ready.checks) do
  if not tried[name] or tried[name] < 2 then without[#without + 1] = name end
  local told = ready.feedback[name]
  t.ok(#told.why > 20 and #told.probe > 20, name .. " says why and what to try")
end
t.is(table.concat(without, " "), "", "each was tried both ways")
t.done()
