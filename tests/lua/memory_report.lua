-- memory_report.lua -- who holds graphs, what memory is for, a batch in pieces
local tap = require "tap"

-- held graphs ----------------------------------------------------------------------------------
collectgarbage()
tap.is(tostring(dlrepl.graphs()), "no graph is held", "nothing is held at first")
do
  local w = nn.Parameter(torch.ones(1000))
  kept = {loss = (w * w):exp():sum()}
  local g = dlrepl.graphs()
  tap.is(#g, 1, "one holder")
  tap.is(g[1].path, "kept.loss", "found by its path in a global table")
  tap.is(g[1].nodes, 4, "mul, exp, sum and the leaf's own node")
  tap.is(g[1].bytes, 4000, "the saved result of exp; a parameter lives anyway")
  tap.is(g[1].op, "SumBackward0", "the newest node is named")
  tap.like(tostring(g), "kept.loss: 4 nodes, 3.9 KiB saved, made in this line or script",
    "in words")
  kept = nil
  tap.is(#dlrepl.graphs(), 0, "let go, it is not found")
  local mine = w * 2
  tap.is(dlrepl.graphs()[1].path, "mine", "a local of the running script")
  tap.ok(mine ~= nil, "(it is still there)")
end
do
  local w = torch.ones(3, {requires_grad = true})
  local losses = {}
  for i = 1, 10 do losses[i] = (w * i):sum() end
  local g = dlrepl.graphs()
  tap.is(g[1].path, "losses[1 … 10]", "many tensors of one list are one holder")
  tap.is(g[1].tensors .. " " .. g[1].nodes, "10 21", "its nodes are counted once")
  tap.like(tostring(g), "store loss:item%(%)", "with advice")
  losses = nil
  local function remember() local z = w + 1 return function() return z end end
  local f = remember()
  g = dlrepl.graphs()
  tap.is(g[1].path, "z (remembered by function f)", "what a function remembers")
  f = nil
  local m = nn.Linear(3, 3)
  m.cache = m(torch.ones(1, 3))
  tap.is(dlrepl.graphs()[1].path, "m.cache", "an attribute of a module")
  m.cache = nil
  local fn = (w * 2).grad_fn
  tap.is(dlrepl.graphs()[1].path, "fn", "a grad_fn holds its graph too")
  fn = nil
  tap.is(f or losses or fn, nil, "(all let go)")
  tap.is(dlrepl._held({torch.ones(1)}), 0, "a plain tensor holds none")
end

-- the ledger -------------------------------------------------------------------------------------
do
  local m = nn.Sequential(nn.Linear(50, 100), nn.ReLU(), nn.Linear(100, 10))
  local opt = optim.Adam(m:parameters())
  local function step()
    opt:zero_grad()
    m(torch.randn(20, 50)):pow(2):sum():backward()
    opt:step()
  end
  local r = dlrepl.report(step, m)
  local params = (50 * 100 + 100 + 100 * 10 + 10) * 4
  tap.ok(r.roles.cpu.parameter >= params, "the report knows parameters")
  tap.ok(r.roles.cpu["optimizer state"] >= 2 * params, "optimizer state")
  tap.is(r.modules[1].path .. " " .. r.modules[1].parameter, "0 20400", "and parameters by module")
  local saved = 0
  for _, x in ipairs(r.modules) do saved = saved + x.saved end
  tap.ok(saved >= (20 * 50 + 20 * 100) * 4, "and what each forward left for backward: " .. saved)
  tap.is(#r.graphs, 0, "no graph is left after the step")
  tap.is(r.timeline.kind, "stack", "the timeline is a plot of bytes by role")
  tap.ok(r.peak.cpu > params, "with a peak")
  local text = tostring(r)
  for _, word in ipairs {"at the peak, bytes by role", "parameter", "saved activation", "1 steps",
                         "0 +Linear", "no graph is held", "op by op"} do
    tap.like(text, word, "the text tells " .. word)
  end
  local rich = require("dlrepl.rich").bundle(r)
  tap.like(rich["text/html"], "<table>.*<th[^>]*>parameter</th>.*<svg",
    "a notebook gets tables and the timeline as a plot")
  tap.is(rich["text/plain"], text, "beside the text")
  local failed = dlrepl.report(function() error("oops", 0) end)
  tap.like(tostring(failed), "it failed: oops", "a function that fails is reported")
  tap.raises(function() dlrepl.report(5) end,
    "TypeError: report() takes a function and a module, but got int…", "what is neither")
end

-- accumulation -----------------------------------------------------------------------------------
do
  local function update(pieces)
    torch.manual_seed(0)
    local m = nn.Linear(6, 3)
    local opt = optim.SGD(m:parameters(), {lr = 0.5})
    local x, y = torch.randn(30, 6), torch.randint(3, {30})
    opt:zero_grad()
    for a, b, share in dlrepl.accumulate(pieces, x, y) do
      (F.cross_entropy(m(a), b) * share):backward()
    end
    opt:step()
    return m.weight:detach()
  end
  local whole = update(1)
  for _, n in ipairs {2, 4, 7, 30} do
    tap.close(update(n), whole:tolist(), 1e-6, n .. " pieces give the update of the whole batch")
  end
  local shares, rows = 0, 0
  for a, share in dlrepl.accumulate(4, torch.ones(10, 2)) do
    shares, rows = shares + share, rows + a:size(0)
  end
  tap.is(rows, 10, "every row once")
  tap.close(shares, 1, 1e-12, "the shares add up to 1")
  tap.raises(function() dlrepl.accumulate(0, torch.ones(2)) end,
    "ValueError: accumulate() takes the number of pieces first, a positive integer, not 0…",
    "no pieces")
  tap.raises(function() dlrepl.accumulate(2, torch.ones(2), torch.ones(3)) end,
    "ValueError: accumulate(): the tensors have batches of 2 and 3…", "batches that differ")
end
do
  local m, data = nn.Linear(4, 2), TensorDataset(torch.randn(6, 4))
  m:register_forward_hook(function() end)
  local text = tostring(dlrepl.report(function()
    for x in DataLoader(data, {batch_size = 2}) do m(x) end
  end, m))
  tap.like(text, "\nloader: 3 batches, waited for [%d.e-]+ [mu]?s\n",
    "the wait for a loader is told")
  tap.like(text, "\nhooks that ran: forward of Linear: 3\n", "and the hooks that ran")
end
-- names that nobody should have to read
local w = torch.ones(2, {requires_grad = true})
_G["a\nb\0"], _G[("x"):rep(100000)] = {loss = w * 2}, w * 3
local deep = {leaf = w * 4}
for _ = 1, 5000 do deep = {deep} end
_G.deep = deep
local text = tostring(dlrepl.graphs())
tap.like(text, "a\\x0ab\\x00%.loss", "control characters in a name are told by their codes")
tap.is(text:find(("x"):rep(61)), nil, "a long name is cut")
tap.like(text, "deep%[1%]%[1%][^:]*%.%.%.", "so is a long path")
_G["a\nb\0"], _G[("x"):rep(100000)], _G.deep = nil, nil, nil

tap.done()
