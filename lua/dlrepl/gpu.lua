-- gpu.lua -- dlrepl.gpu(): what the simulated GPU has done, in its own time
--
-- The figures are the virtual clock's: never measured here, never mixed with measured ones.

local core = require "dlrepl.core"

local cuda = core.torch.cuda
local meta = {__name = "dlrepl.gpu"}

local function time(us)
  if us >= 1e6 then return string.format("%.3f s", us / 1e6) end
  if us >= 1e3 then return string.format("%.3f ms", us / 1e3) end
  return string.format("%.1f us", us)
end

local function amount(n, unit)
  for _, p in ipairs {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} do
    if n >= p[1] then return string.format("%.2f %s%s", n / p[1], p[2], unit) end
  end
  return string.format("%.0f %s", n, unit)
end

-- "products +-15 %", …, "what is mostly launch overhead x2"
local function band(b)
  if b.band < 1 then return string.format("%s +-%.0f %%", b.of, 100 * b.band) end
  return string.format("%s x%g", b.of, 1 + b.band)
end

function meta.__tostring(r)
  local lines = {}
  local function add(...) lines[#lines + 1] = string.format(...) end
  add("%s, device %d%s", r.name, r.device, r.dry and ", dry run (compute=false)" or "")
  add("SIMULATED: times come from a model of the card, not from a clock")
  add("  memory       %.2f GiB%s", r.memory / 2 ^ 30, r.context > 0
      and string.format(", of which the CUDA context takes %.0f MiB", r.context / 2 ^ 20)
      or ", so small that no CUDA context is charged (a real one takes some 450 MiB)")
  add("  clock        %s of the host's time, of which it waited for the GPU %s", time(r.host_us),
      time(r.wait_us))
  add("  utilisation  %.0f %%  (some kernel ran for %s of %s; nvidia-smi's meaning)",
      100 * r.utilization, time(r.busy_us), time(r.elapsed_us))
  add("  MFU          %.1f %%  (products at the card's peak would take %s)", 100 * r.mfu,
      time(r.peak_us))
  add("  kernels      %d, %s, %s", r.kernels, amount(r.flops, "FLOP"), amount(r.bytes, "B"))
  add("  error band   kernels' time between %s and %s:", time(r.low_us), time(r.high_us))
  for i, b in ipairs(r.bands) do
    if i % 3 == 1 then add("               %s", band(b))
    else lines[#lines] = lines[#lines] .. ", " .. band(b) end
  end
  add("  copies       %d: %s to the device, %s back, %s", r.copies, amount(r.h2d_bytes, "B"),
      amount(r.d2h_bytes, "B"), time(r.copy_us))
  add("  waits        %d synchronisations, %d cudaMalloc, %d cudaFree", r.syncs, r.mallocs, r.frees)
  return table.concat(lines, "\n")
end

return function(device)
  local r = dlrepl._sim_report(device)
  if not r then
    core.raise("RuntimeError", "no GPU is simulated", {kind = "device_mismatch", notes = {
      "dlrepl.simulate(\"t4\") simulates one"}})
  end
  local props = cuda._properties(device)
  r.name = props.name
  r.utilization = r.elapsed_us > 0 and r.busy_us / r.elapsed_us or 0.0
  r.mfu = r.elapsed_us > 0 and r.peak_us / r.elapsed_us or 0.0
  return setmetatable(r, meta)
end
