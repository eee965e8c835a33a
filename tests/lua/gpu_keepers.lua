-- gpu_keepers.lua -- out of memory on a GPU: whose list keeps passes alive, what a step would take
--
-- In a dry run: bytes are those of a run with values, and cost nothing.
local tap = require "tap"
local cuda = torch.cuda
local MiB, GiB = 2 ^ 20, 2 ^ 30

local function card(memory, more)
  local options = {card = "t4", memory = memory, compute = false, force = true}
  for k, v in pairs(more or {}) do options[k] = v end
  model, losses, outputs, history, total = nil, nil, nil, nil, nil
  dlrepl.simulate(options)
end

-- What fn's out of memory was explained with, and its text.
local function oom(fn, ...)
  local ok, e = pcall(fn, ...)
  if ok or e.kind ~= "out_of_memory" then
    tap.ok(false, "it runs out of memory")
    tap.diag(tostring(e))
  end
  return dlrepl.debug.last_oom(), tostring(e)
end

local function net(dev)
  model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)):to(dev or "cuda")
end
local function batch(dev) return torch.randn(2048, 256, {device = dev or "cuda"}) end
local function pass(dev) return model(batch(dev)):pow(2):mean() end

-- ---- loops that keep what they made ------------------------------------------------------------
card("600MiB")
net()
losses = {}
local e, text = oom(function()
  for i = 1, 1000 do losses[i] = pass() end
end)
local n = #losses
tap.is(e.why, "retention", "losses in a table, and neither backward nor step: retention")
tap.is(e.keeper, "losses", "the table is named")
tap.like(text, "`losses` %(" .. n .. " tensors, " .. n .. " separate graphs%) keeps [%d.]+ MiB "
  .. "alive, made at gpu_keepers.lua:29; without", "with its graphs, counted, and the line")
tap.like(text, "try: keep loss:item%(%), or x:detach%(%):cpu%(%), in `losses`; where no "
  .. "backward%(%) follows, torch.no_grad%(function%(%) ... end%) makes no graph %(saves [%d.]+ "
  .. "MiB, enough%)",
  "what to keep in its place")
tap.is(#e.advice, 1, "and nothing of a smaller batch: that would only put it off")
local saves = e.advice[1].saves
local held = cuda.memory_allocated()
losses = {losses[n]}
local freed = held - cuda.memory_allocated()
tap.ok(math.abs(saves - freed) <= 0.1 * freed,
  string.format("letting the older ones go frees what is said: %d and %d bytes", saves, freed))
losses = {}
tap.ok(pcall(function()
  torch.no_grad(function() for i = 1, 200 do losses[i] = pass() end end)
end), "without a graph the same loop fits")

card("600MiB")
net()
e, text = oom(function()
  total = 0
  for _ = 1, 1000 do total = total + pass() end
end)
tap.is(e.why .. " " .. tostring(e.keeper), "retention total", "a running total is found")
tap.like(text, "`total` %(1 tensor, %d+ separate graphs%)", "with the passes that it sums")

card("600MiB")
net()
e = oom(function()
  total = torch.zeros(1, {device = "cuda"})
  for _ = 1, 1000 do total:add_(pass() / 10) end
end)
tap.is(e.why .. " " .. tostring(e.keeper), "retention total", "so is one that is added to in place")

card("600MiB")
net()
outputs = {}
e, text = oom(function()
  torch.no_grad(function() for i = 1, 1000 do outputs[i] = model(batch()) end end)
end)
tap.is(e.why .. " " .. tostring(e.keeper), "retention outputs", "outputs kept without a graph")
tap.like(text, "`outputs` %(%d+ tensors%) keeps [%d.]+ MiB alive", "are tensors alone")
tap.like(text, "let go of what is done with in `outputs`, or keep it on the CPU", "and what to do")

card("600MiB")
net()
e = oom(function()
  history = {}
  for i = 1, 1000 do history[i] = {epoch = i, loss = pass()} end
end)
tap.is(e.keeper, "history[...].loss", "a field of many records")

card("600MiB")
net()
e = oom(function()
  local mine = {}
  local function validate() for i = 1, 1000 do mine["b" .. i] = pass() end end
  validate()
end)
tap.is(e.why, "retention", "a table by names is one too")

card("600MiB")
net()
e = oom(function()
  local kept = {}
  for loss in coroutine.wrap(function() while true do coroutine.yield(pass()) end end) do
    kept[#kept + 1] = loss
  end
end)
tap.is(e.keeper, "kept", "out of memory in a coroutine: the table of who resumed it")

card("600MiB")
net()
local function generator()
  local own = {}
  return coroutine.wrap(function()
    for i = 1, 1000 do
      own[i] = pass()
      coroutine.yield(i)
    end
  end)
end
e = oom(function() for _ in generator() do end end)
tap.is(e.keeper, "own", "what a coroutine remembers")

card("600MiB")
net()
e = oom(function()
  local seen = {}
  torch.autocast("cuda", function() for i = 1, 2000 do seen[i] = pass() end end)
end)
tap.is(e.why .. " " .. tostring(e.keeper), "retention seen",
  "in one region of autocast, whose copies of the weights all passes share")

card("600MiB", {count = 2})
net("cuda:1")
e = oom(function()
  local second = {}
  for i = 1, 1000 do second[i] = pass("cuda:1") end
end)
tap.is(e.keeper, "second", "on the second of two cards")

card("600MiB", {device = "mps"})
net("mps")
e, text = oom(function()
  local apple = {}
  for i = 1, 1000 do apple[i] = pass("mps") end
end)
tap.is(e.keeper, "apple", "on mps")
tap.like(text, "^RuntimeError: MPS backend out of memory", "whose error has another text")

-- Each way to keep passes, and the name that it is told by.
local Residual = nn.Module:class("Residual")
function Residual:init() self.fc = nn.Linear(256, 256) end
function Residual:forward(x) return x + F.relu(self.fc(x)) end
local ways = {
  {"best", "the largest so far", function()
    best = pass()
    for _ = 1, 1000 do best = torch.maximum(best, pass()) end
  end},
  {"all", "a tensor that grows", function()
    all = torch.zeros(0, {device = "cuda"})
    for _ = 1, 1000 do all = torch.cat {all, pass():reshape(1)} end
  end},
  {"average", "a running average", function()
    average = 0
    for _ = 1, 1000 do average = 0.9 * average + 0.1 * pass() end
  end},
  {"set", "keys of a table", function()
    set = {}
    for _ = 1, 1000 do set[pass()] = true end
  end},
  {"head.next.loss", "a chain of tables", function()
    for _ = 1, 1000 do head = {next = head, loss = pass()} end
  end},
  {"residual.seen", "an attribute of a module, whose graphs have diamonds", function()
    residual = nn.Sequential(Residual(), Residual()):to("cuda")
    residual.seen = {}
    for _ = 1, 1000 do table.insert(residual.seen, residual(batch()):mean()) end
  end},
  {"gradients", "gradients of many steps", function()
    gradients = {}
    for i = 1, 1000 do
      model:zero_grad()
      pass():backward()
      gradients[i] = model[0].weight.grad
    end
  end},
  {"second_order", "gradients with their graphs", function()
    second_order = {}
    for i = 1, 1000 do
      second_order[i] = torch.autograd.grad(pass(), model[0].weight, {create_graph = true})
    end
  end},
  {"saved", "what a hook stores", function()
    saved = {}
    model[0]:register_forward_hook(function(_, _, y) saved[#saved + 1] = y end)
    for _ = 1, 1000 do pass():backward() end
  end},
  {"data", "batches", function()
    data = {}
    for i = 1, 1000 do data[i] = batch() end
  end},
}
for _, way in ipairs(ways) do
  card("600MiB")
  net()
  e = oom(way[3])
  tap.is(e.why .. " " .. tostring(e.keeper), "retention " .. way[1], way[2])
  best, all, average, set, head, residual, gradients, second_order, saved, data = nil
end

-- ---- what is one pass --------------------------------------------------------------------------
card("600MiB")
e = oom(function()
  local cell, h, hs = nn.Linear(512, 512):to("cuda"), torch.zeros(1024, 512, {device = "cuda"}), {}
  for t = 1, 1000 do
    h = torch.tanh(cell(h))
    hs[t] = h
  end
end)
tap.is(e.why .. " " .. tostring(e.keeper), "size nil", "states of a recurrent net are one graph")
local detach
for _, a in ipairs(e.advice) do detach = detach or a.text:match("^h = h:detach%(%) half%-way") end
tap.ok(detach, "which a detach() would shorten")
card("600MiB")
e = oom(function()
  local trunk = nn.Linear(512, 512):to("cuda")(torch.ones(1024, 512, {device = "cuda"}))
  local heads = {}
  for i = 1, 1000 do heads[i] = torch.exp(trunk * i) end
end)
tap.is(e.why, "size", "heads on one trunk too")
card("100MiB")
e = oom(function()
  local a, b = torch.ones(2 ^ 20, {device = "cuda"}), torch.ones(2 ^ 20, {device = "cuda"})
  return a, b, torch.ones(2 ^ 26, {device = "cuda"})
end)
tap.is(e.why .. " " .. tostring(e.keeper), "size nil", "two tensors are no habit")

-- ---- how much a whole step would take ----------------------------------------------------------
local function deep()
  local layers = {}
  for i = 1, 12 do layers[2 * i - 1], layers[2 * i] = nn.Linear(1024, 1024), nn.GELU() end
  model = nn.Sequential(table.unpack(layers)):to("cuda")
end
-- One step on n rows; GiB at the peak.
local function step(n, loss_of)
  deep()
  cuda.reset_peak_memory_stats()
  local x = torch.randn(n, 1024, {device = "cuda"})
  loss_of(x):backward()
  return cuda.max_memory_allocated()
end
local function plain(x) return model(x):sum() end
local function amp(x) return torch.autocast("cuda", plain, x) end
local cut = 1
local function segments(x)
  local f = torch.utils.checkpoint.checkpoint_sequential
  return f(model, cut, x, {use_reentrant = false}):sum()
end

card("5GiB")
local N = 131072
e, text = oom(step, N, plain)
tap.like(text, "the forward pass had met 9 of 24 parameters: a whole step may take about",
  "out of memory early in a pass: how early")
local words = {["of the batch"] = {}, autocast = {}, checkpoint_sequential = {}}
for _, a in ipairs(e.advice) do
  for word, found in pairs(words) do
    if a.text:find(word, 1, true) then found.saves, found.text = a.whole, a.text end
  end
end
cut = math.tointeger(words.checkpoint_sequential.text:match("%(model, (%d+)"))
card("70GiB", {card = "a100-80"})
local full = step(N, plain)
local function close(said, is, name)
  tap.ok(math.abs(said - is) <= 0.17 * is,
    string.format("%s: %.2f GiB said, %.2f measured", name, said / GiB, is / GiB))
end
close(e.whole, full, "the whole step")
tap.like(words["of the batch"].text, "^a quarter of the batch %(four backward", "how many")
close(words["of the batch"].saves, full - step(N // 4, plain), "a quarter of the batch saves")
close(words.autocast.saves, full - step(N, amp), "autocast saves")
close(words.checkpoint_sequential.saves, full - step(N, segments), "segments save")
tap.like(text, "a quarter of the batch [^\n]*, enough%)", "the quarter is enough")
tap.like(text, "autocast[^\n]*, not enough alone%)", "autocast alone is not")
card("5GiB")
tap.ok(pcall(step, N // 4, plain), "a quarter fits")
card("5GiB")
tap.ok(not pcall(step, N // 2, plain), "half does not")
card("5GiB")
tap.ok(not pcall(step, N, amp), "nor does autocast alone")
card("5GiB")
deep()
for i = 12, 22, 2 do model[i]:requires_grad_(false) end
e, text = oom(function() return plain(torch.randn(N, 1024, {device = "cuda"})) end)
tap.like(text, "had met 9 of 12 parameters", "frozen parameters are not waited for")

-- ---- segments ----------------------------------------------------------------------------------
card("20MiB")
e, text = oom(function() return nn.Linear(1000, 1000):to("cuda") end)
tap.is(e.why, "segment", "a free piece that serves other sizes is no fragmentation")
tap.like(text, "why: segments. 16.19 MiB are free in segments of 20 MiB, which serve tensors above "
  .. "1 MiB; one of up to 1 MiB needs a segment of 2 MiB", "it says which")
tap.is(text:find("expandable_segments:True (saves", 1, true), nil,
  "and promises nothing of expandable segments")

-- ---- the search itself -------------------------------------------------------------------------
card("600MiB")
net()
losses = {}
local _, before = oom(function() for i = 1, 1000 do losses[i] = pass() end end)
local held_now = cuda.memory_allocated()
local function asked() error("asked") end
trap = setmetatable({}, {__index = asked, __pairs = asked, __len = asked, __tostring = asked})
trap[trap] = trap
local _, again = oom(function() return torch.ones(2 ^ 29, {device = "cuda"}) end)
trap = nil
tap.like(again, "`losses`[^\n]*, not enough alone", "it asks no metamethod")
tap.is(cuda.memory_allocated(), held_now, "and keeps nothing")
tap.ok(before ~= again, "(two errors)")
package.loaded["dlrepl.graphs"] = false
local function broken()
  local require_ = require
  require = function() error("no") end
  local _, t = oom(function() return torch.ones(2 ^ 29, {device = "cuda"}) end)
  require = require_
  return t
end
tap.like(broken(), "^OutOfMemoryError: CUDA out of memory.*why: size",
  "without it the rest is told")
package.loaded["dlrepl.graphs"] = nil
tap.done()
