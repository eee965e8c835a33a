-- sim_loader.lua -- a DataLoader's time beside a simulated GPU, from what its dataset says it costs
local tap = require "tap"

local function epoch(workers, cost)
  dlrepl.simulate {card = "a100-40", force = true}
  local set = TensorDataset(torch.zeros(80, 2))
  set.cost_us = cost
  local before = dlrepl.gpu().host_us
  local n = 0
  for _ in DataLoader(set, {batch_size = 10, num_workers = workers}) do n = n + 1 end
  return dlrepl.gpu().host_us - before, n
end

local us, n = epoch(0, 1000)
tap.is(n, 8, "all batches come")
tap.is(us, 80000.0, "alone, the loader takes what the items cost")
tap.is((epoch(0, nil)), 0.0, "a dataset that says nothing costs nothing")
local two, four = epoch(2, 100000), epoch(4, 100000)
tap.ok(two < 0.6 * 8000000 and four < 0.6 * two, "workers share the work")
tap.ok(four > 310000, "and take their time to start")
tap.raises(function() epoch(0, "much") end, "ValueError: cost_us of a dataset is a number…",
           "a cost is a number")
dlrepl.simulate(false, {force = true})
tap.is(#(function() local set = TensorDataset(torch.zeros(4, 2)) set.cost_us = 5
       local l = {} for b in DataLoader(set) do l[#l + 1] = b end return l end)(), 4,
       "without a simulated GPU the cost is nobody's")
-- the published sweep: 100 items of 5.388 ms a batch, ten steps of 0.2 s
local measured = {[0] = 5.388, 3.900, 1.333, 0.839, 0.875}
for w = 0, 4 do
  local options = {workers = w, items = 100, item_us = 5388, start_us = 310000}
  local over = dlrepl._sim_loader(options, 10, 2e5) / 1e6 - 2
  tap.ok(math.abs(over / measured[w] - 1) < 0.06,
         string.format("%d workers: %.3f s beyond the steps, %.3f measured", w, over, measured[w]))
end
tap.done()
