-- main.lua -- the steps of tests/gpu/run, each in a process of its own, and their record in JSON
--
-- For tests/gpu/run. A step is a program that prints TAP, or rates as JSON lines; what it printed
-- is kept in a file of its own. This process never touches the GPU, so that the steps' figures are
-- theirs alone. The record is written anew after each step: a run that is ended in the middle
-- leaves what was found by then.
--
-- INVARIANT  What did not run is never counted as passed. All steps together have BUDGET seconds,
--            and none has more than its own.

local json = require "dlrepl.json"
local t = require "tap"

local simulated, small = false, false
local BUDGET = 225 -- seconds: under four minutes with what starts before and ends after
for i, a in ipairs(arg) do
  if a == "--simulated" then simulated, small = true, true
  elseif a == "--small" then small = true
  elseif a == "--seconds" and tonumber(arg[i + 1]) then BUDGET = tonumber(arg[i + 1])
  elseif arg[i - 1] == "--seconds" and tonumber(a) then -- its number
  else
    io.stderr:write("tests/gpu/run: unknown option ", a, "\n")
    os.exit(2)
  end
end

local program = os.getenv("DLREPL")
local out = os.getenv("OUT") or "build"
local keeps = os.getenv("OUT") or "tests/gpu/results" -- where a GPU's record stays
local start = dlrepl.clock()

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end
local function ours(rest)
  return quoted(program) .. " " .. rest .. (simulated and " --simulated" or "")
         .. (small and " --small" or "")
end
local function read(path)
  local f = io.open(path)
  if not f then return nil end
  local text = f:read("a")
  f:close()
  return text
end
local function ask(command)
  local p = io.popen(command .. " 2>/dev/null </dev/null")
  local text = p:read("a")
  p:close()
  return (text:gsub("%s+$", ""))
end
os.execute("mkdir -p " .. quoted(out))

-- ---- the record ----------------------------------------------------------------------------
local function driver()
  local text = read("/proc/driver/nvidia/version") or ""
  return text:match("Module%s+([%d.]+)") or text:match("%d+%.%d+[%d.]*") or "none"
end
local record = {
  simulated = simulated, small = small, date = os.date("!%Y-%m-%dT%H:%M:%SZ"), steps = {},
  rates = {}, targets = {}, driver = driver(), ran = true, finished = false,
}

-- card_driver_date.json, once the card is known.
local function name_of_record()
  local card = record.ours and record.ours.card or record.card
  if simulated or small or not record.ran or not card then return nil end
  return string.format("%s/%s_%s_%s.json", keeps, card:gsub("[^%w]+", "-"), record.driver,
                       record.date:sub(1, 10))
end
local function save()
  local path = out .. "/gpu.json"
  local named = name_of_record()
  record.seconds = math.floor(dlrepl.clock() - start)
  if named then os.execute("mkdir -p " .. quoted(keeps)) end
  for _, file in ipairs {path, named} do
    local f = assert(io.open(file, "w"))
    f:write(json.encode(record), "\n")
    f:close()
  end
  return named or path
end

-- ---- is there a GPU? -----------------------------------------------------------------------
local plugin -- the file, for the program that is not beside it
if not simulated then
  local answer = ask(quoted(program) .. " tests/gpu/there.lua")
  local has, why, card = answer:match("^(%a+) ?([^\n]*)\n?(.*)")
  record.card = card
  if has ~= "yes" then
    record.ran, record.why = false, why or "the program does not start"
    print("1..0 # SKIP not run: no GPU (" .. record.why .. ")")
    print("# " .. save())
    os.exit(0)
  end
  plugin = "DLREPL_CUDA_PLUGIN=" .. quoted(why)
end

-- ---- steps ---------------------------------------------------------------------------------
-- Run command, at most `seconds`; its record and its output.
local limited = ask("command -v timeout") ~= ""
local function run(name, most, command)
  local seconds = math.max(1, math.floor(math.min(most, BUDGET - (dlrepl.clock() - start))))
  local log = out .. "/gpu-" .. name .. ".log"
  local limit = plugin and plugin .. " " or ""
  if limited then limit = limit .. "timeout " .. seconds .. " " end
  local t0 = dlrepl.clock()
  local ok, how, code = os.execute(limit .. command .. " >" .. quoted(log) .. " 2>&1 </dev/null")
  local step = {name = name, seconds = tonumber(string.format("%.1f", dlrepl.clock() - t0)),
                log = log, ended = ok and "well" or how .. " " .. code}
  if code == 124 or code == 137 then step.ended = "late: it had " .. seconds .. " s" end
  record.steps[#record.steps + 1] = step
  save()
  return step, read(log) or ""
end

local function count(step, text)
  step.passed, step.failed, step.failures = 0, 0, {}
  for line in text:gmatch("[^\n]+") do
    if line:find("^ok ") then step.passed = step.passed + 1 end
    if line:find("^not ok ") then
      step.failed = step.failed + 1
      if step.failed <= 50 then step.failures[step.failed] = line end
    end
  end
  step.planned = tonumber(text:match("\n1%.%.(%d+)"))
end

-- A program that prints TAP: passed when it ended well, kept to its plan and failed nothing.
local function tap_step(name, seconds, what, command)
  local step, text = run(name, seconds, command)
  step.skipped = text:match("1%.%.0 # SKIP ([^\n]*)")
  if step.skipped then return t.ok(false, what .. ": not run, " .. step.skipped) end
  count(step, text)
  save()
  local whole = step.planned == step.passed + step.failed and step.passed > 0
  if t.ok(step.ended == "well" and step.failed == 0 and whole,
          what .. " (" .. step.passed .. " checks, " .. step.seconds .. " s)") then return end
  t.diag("ended " .. step.ended .. "; planned " .. tostring(step.planned) .. ", passed "
         .. step.passed .. ", failed " .. step.failed .. "; see " .. step.log)
  for i = 1, math.min(10, #step.failures) do t.diag(step.failures[i]) end
end

local packed = read("tests/gpu/ops") and "tests/gpu/ops" -- of an unpacked tarball
local ops = os.getenv("DLREPL_OPS") or packed or "build/tests/c/ops_gpu"
if not read(ops) then
  t.ok(false, "the comparison of ops is here (make dist, or make build/tests/c/ops_gpu)")
else
  tap_step("ops", 80, "every op gives the CPU's results and gradients",
           simulated and ops or ops .. " --cuda")
end
tap_step("parity", 45, "programs print what PyTorch prints",
         quoted(program) .. " tests/parity/run.lua --cuda")
tap_step("checks", 40, "devices, memory and training", ours "tests/gpu/checks.lua")
for _, fault in ipairs {"label", "index", "oom"} do
  tap_step("fault-" .. fault, 20, "a fault: " .. fault, ours("tests/gpu/faults.lua " .. fault))
end
if not simulated and read(ops) then
  tap_step("fault-address", 20, "a fault: an illegal address", ops .. " --fault")
end

-- ---- rates ---------------------------------------------------------------------------------
local function rates(name, seconds, command)
  local step, text = run(name, seconds, command)
  local found = {}
  for line in text:gmatch("[^\n]+") do
    local ok, row = pcall(json.decode, line)
    row = ok and type(row) == "table" and row or {}
    if row.name then
      found[#found + 1] = row
      found[row.name] = row
    end
    if row.card or row.skip then record[name] = row end
  end
  return found, step
end

-- Beside what CUDA's own library does, beside a plain copy of as many bytes, beside PyTorch.
local LIBRARY, COPY, PYTORCH = 0.95, 0.85, 1.0
local passes = {["add"] = true, ["mul by a number"] = true, relu = true, gelu = true, exp = true,
                softmax = true, ["layer norm"] = true}

local function target(row, of, value, least, beside)
  if not beside then
    return {name = row.name, of = of, least = least, why = "there is no such figure"}
  end
  local ratio = row.unit == "ms" and beside / value or value / beside
  return {name = row.name, of = of, least = least, met = ratio >= least,
          ratio = tonumber(string.format("%.3f", ratio))}
end

local function judge(row, copy)
  if row.name == "copy device to device" or row.name:find("^gemm ") then
    return target(row, "CUDA's own library", row.value, LIBRARY, row.library)
  elseif passes[row.name] then
    return target(row, "a plain copy", row.value, COPY, copy and copy.library)
  elseif row.name:find("^training step") then
    return target(row, "PyTorch", row.value, PYTORCH, row.pytorch)
  end
end

local function told(row, goal)
  local words = string.format("%-32s %10.4g %-8s", row.name, row.value, row.unit)
  if row.library then words = words .. string.format(" library %.4g", row.library) end
  if row.pytorch then words = words .. string.format(" PyTorch %.4g", row.pytorch) end
  if goal and goal.ratio then
    words = words .. string.format("  %s: %.3f of %s, wanted %.2f",
                                   goal.met and "met" or "MISSED", goal.ratio, goal.of, goal.least)
  end
  t.diag(words)
end

local mine, step = rates("ours", 60, ours "tests/gpu/rates.lua")
local theirs = {}
if simulated then
  record.peer = {skip = "a simulated card is compared with nothing"}
elseif ask("command -v python3") == "" then
  record.peer = {skip = "no python3"}
else
  theirs = rates("peer", 60, "python3 tests/gpu/peer.py" .. (small and " --small" or ""))
end

local met, judged = 0, 0
for _, row in ipairs(mine) do
  local peer = theirs[row.name]
  row.pytorch = peer and peer.value
  row.ratio = peer and tonumber(string.format("%.3f", row.unit == "ms" and peer.value / row.value
                                                      or row.value / peer.value))
  local goal = not simulated and not small and judge(row, mine["copy device to device"])
  if goal then record.targets[#record.targets + 1] = goal end
  if goal and goal.ratio then judged, met = judged + 1, met + (goal.met and 1 or 0) end
  record.rates[#record.rates + 1] = row
  told(row, goal)
end
t.ok(step.ended == "well" and #mine > 0,
     "rates are measured (" .. #mine .. " rows, " .. step.seconds .. " s)")
if record.peer and record.peer.skip then t.diag("PyTorch: " .. record.peer.skip) end
record.finished = true
t.diag(string.format("%d of %d targets met, %d not judged; %s", met, judged,
                     #record.targets - judged, save()))
t.done()
