-- sim_pinned.lua -- what pinned memory and non_blocking are each worth, in simulated time
--
-- A published run on an A100 took 0.459, 0.522, 0.658 and 0.646 s with both, pinned memory alone,
-- non_blocking alone and neither; here the order and the gaps count.
local tap = require "tap"

local function run(pin, non_blocking)
  dlrepl.simulate {card = "a100-40", compute = false, force = true}
  local x = torch.zeros(1024, 1024, {pin_memory = pin})
  local w = torch.zeros(1024, 4096, {device = "cuda"})
  torch.cuda.synchronize()
  local before = dlrepl.gpu().host_us
  for _ = 1, 50 do
    local y = x:to("cuda", {non_blocking = non_blocking})
    local _ = y:mm(w)
  end
  torch.cuda.synchronize()
  return dlrepl.gpu().host_us - before
end

local both, pinned, async, neither = run(true, true), run(true, false), run(false, true),
  run(false, false)
tap.ok(both < pinned, string.format("both: %.0f us, pinned alone: %.0f", both, pinned))
tap.ok(pinned < neither, string.format("neither: %.0f us", neither))
tap.ok(math.abs(async / neither - 1) < 0.03,
       string.format("non_blocking without pinning buys nothing: %.0f us", async))
dlrepl.simulate(false, {force = true})
tap.done()
