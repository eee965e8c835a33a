-- measure.lua -- dlrepl.measure(): what this GPU does in a second, beside its data sheet
--
-- Also `dlrepl doctor --gpu`. Copies, matrix products and launches: dlrepl's own, the same work by
-- CUDA's libraries called without it, and the vendor's figures. Time is the device's, between two
-- events; on a simulated card it is the model's, and there are no libraries.

local args = require "dlrepl.args"
local core = require "dlrepl.core"

local torch = core.torch
local cuda = torch.cuda
local M = {}

-- ---- time -----------------------------------------------------------------------------------
local function run(fn, n)
  local first, last = cuda.Event {enable_timing = true}, cuda.Event {enable_timing = true}
  cuda.synchronize()
  first:record()
  for _ = 1, n do fn() end
  last:record()
  last:synchronize()
  return first:elapsed_time(last) / n
end

-- How many calls take about 20 ms, after some to warm up. A model is asked once.
local function turns(fn)
  for _ = 1, 3 do fn() end
  if dlrepl.is_simulated() then return 1 end
  return math.max(1, math.min(2000, math.ceil(20 / math.max(run(fn, 1), 0.001))))
end

-- Milliseconds a call of each: the median of five samples of about 20 ms. Samples take turns, so
-- that a card that grows warm does so for all.
function M.ms(...)
  local fns, n, samples, out = {...}, {}, {}, {}
  for i, fn in ipairs(fns) do n[i], samples[i] = turns(fn), {} end
  for k = 1, dlrepl.is_simulated() and 1 or 5 do
    for i, fn in ipairs(fns) do samples[i][k] = run(fn, n[i]) end
  end
  for i, s in ipairs(samples) do
    table.sort(s)
    out[i] = s[(#s + 1) // 2]
  end
  return table.unpack(out)
end

-- ---- what is measured -----------------------------------------------------------------------
local function rate(amount, ms, unit)
  return unit == "GB/s" and amount * 1e-6 / ms or amount * 1e-9 / ms
end

-- A row: our figure, the library's where it has one, the data sheet's where the card is known.
local function row(name, unit, amount, ours, library, sheet)
  if library and not library() then library = nil end
  local mine, theirs = M.ms(ours, library)
  return {name = name, unit = unit, sheet = sheet, ours = rate(amount, mine, unit),
          library = theirs and rate(amount, theirs, unit)}
end

local function copies(rows, side, card)
  local x, y = torch.rand(side, side, {device = "cuda"}), torch.empty(side, side, {device = "cuda"})
  local host, bytes = torch.rand(side, side):pin_memory(), side * side * 4
  rows[#rows + 1] = row("copy on the card", "GB/s", 2 * bytes, function() y:copy_(x) end,
                        function() return cuda._plain(y, x) end, card.bandwidth)
  rows[#rows + 1] = row("copy to the card, pinned", "GB/s", bytes,
                        function() x:copy_(host, {non_blocking = true}) end)
  rows[#rows + 1] = row("copy from the card, pinned", "GB/s", bytes,
                        function() host:copy_(x, {non_blocking = true}) end)
end

local KINDS = {{"fp32", "float32", false}, {"tf32", "float32", true}, {"fp16", "float16", false},
               {"bf16", "bfloat16", false}}

local function products(rows, side, card)
  local before = cuda._tf32("matmul")
  for _, k in ipairs(KINDS) do
    local dtype = torch[k[2]]
    local a, b = torch.rand(side, side, {device = "cuda"}):to(dtype),
                 torch.rand(side, side, {device = "cuda"}):to(dtype)
    local c = torch.empty(side, side, {device = "cuda", dtype = dtype})
    cuda._tf32("matmul", k[3])
    rows[#rows + 1] = row("product " .. k[1], "TFLOP/s", 2 * side ^ 3, function() a:mm(b) end,
                          function() return cuda._plain(c, a, b) end, card[k[1]])
  end
  cuda._tf32("matmul", before)
end

-- ---- the report -----------------------------------------------------------------------------
local meta = {__name = "dlrepl.measure"}

local function figure(v, unit)
  return v and string.format("%.4g %s", v, unit) or "-"
end

function meta.__tostring(r)
  local form = "  %-27s %15s %15s %15s %7s"
  local lines = {r.name}
  if r.simulated then
    lines[2] = "SIMULATED: times come from a model of the card, not from a clock"
  end
  lines[#lines + 1] = string.format(form, "", "dlrepl", "CUDA's library", "data sheet", "of that")
  for _, x in ipairs(r) do
    local share = x.sheet and string.format("%.0f %%", 100 * x.ours / x.sheet) or "-"
    lines[#lines + 1] = string.format(form, x.name, figure(x.ours, x.unit),
      figure(x.library, x.unit), figure(x.sheet, x.unit), share)
  end
  lines[#lines + 1] = string.format("  %-27s %12.2f us", "one add of one element", r.launch_us)
  lines[#lines + 1] = string.format("Matrices are %d x %d, copies %.3g MB. Large work reaches "
    .. "some 70 to 90 %% of a data sheet.", r.side, r.side, r.copy_side ^ 2 * 4e-6)
  return table.concat(lines, "\n")
end

local function sheet_of(name)
  for _, c in ipairs(dlrepl.cards()) do
    if c.title == name:gsub(" %[SIMULATED%]$", "") then return c end
  end
  return {}
end

-- What fits and does not take long: a model's numbers are computed on the CPU.
local function sides()
  local room = cuda.mem_get_info() // 2
  local copy = math.min(4096, math.floor((room / 8) ^ 0.5) // 32 * 32)
  return copy, math.min(dlrepl.is_simulated() and 1024 or 4096, copy)
end

local function check(size)
  if size == nil or math.type(size) == "integer" and size > 0 and size <= 32768 then return end
  core.raise("ValueError", "measure(): size is the side of a matrix, 1 to 32768, not "
             .. tostring(size), {kind = "argument"})
end

local read = args "measure(any device=None, any size=None)"

-- measure([device [, size]]): measures and tells; the figures are fields of the rows.
function M.measure(...)
  local device, size = read(...)
  check(size)
  if cuda._kind() == "mps" then
    core.raise("RuntimeError", "measure() wants a GPU of type cuda, and this one is mps",
               {kind = "device_mismatch"})
  end
  local props = cuda._properties(device) -- PyTorch's error where there is none
  local copy, side = sides()
  local r = {name = props.name, simulated = dlrepl.is_simulated(), side = size or side,
             copy_side = size or copy}
  local card = sheet_of(props.name)
  cuda.device(device or cuda.current_device(), function()
    copies(r, r.copy_side, card)
    products(r, r.side, card)
    local one = torch.ones(1, {device = "cuda"})
    r.launch_us = 1000 * M.ms(function() return one + one end)
  end)
  return setmetatable(r, meta)
end

return setmetatable(M, {__call = function(_, ...) return M.measure(...) end})
