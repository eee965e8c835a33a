-- main.lua -- the steps of tests/gpu/run, each in a process of its own, and their record in JSON
--
-- For tests/gpu/run. A step is a program that prints TAP, or rates as JSON lines; what it printed
-- is kept in a file of its own. This process never touches the GPU, so that the steps' figures are
-- theirs alone.
--
-- INVARIANT  What did not run is never counted as passed.

local json = require "dlrepl.json"
local t = require "tap"

local simulated, small = false, false
for _, a in ipairs(arg) do
  if a == "--simulated" then simulated, small = true, true
  elseif a == "--small" then small = true
  else
    io.stderr:write("tests/gpu/run: unknown option ", a, "\n")
    os.exit(2)
  end
end

local program = os.getenv("DLREPL")
local out = os.getenv("OUT") or "build"

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

-- ---- is there a GPU? -----------------------------------------------------------------------
local record = {
  simulated = simulated, small = small, date = os.date("!%Y-%m-%dT%H:%M:%SZ"), steps = {},
  rates = {}, driver = (read("/proc/driver/nvidia/version") or "none"):match("^[^\n]*"),
}
local function save()
  local path = out .. "/gpu.json"
  local f = assert(io.open(path, "w"))
  f:write(json.encode(record), "\n")
  f:close()
  return path
end

local plugin -- the file, for the program that is not beside it
if not simulated then
  local has, why = ask(quoted(program) .. " tests/gpu/there.lua"):match("^(%a+) ?(.*)")
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
local function run(name, seconds, command)
  local log = out .. "/gpu-" .. name .. ".log"
  local limit = plugin and plugin .. " " or ""
  if limited then limit = limit .. "timeout " .. seconds .. " " end
  local t0 = dlrepl.clock()
  local ok, how, code = os.execute(limit .. command .. " >" .. quoted(log) .. " 2>&1 </dev/null")
  local step = {name = name, seconds = tonumber(string.format("%.1f", dlrepl.clock() - t0)),
                log = log, ended = ok and "well" or how .. " " .. code}
  record.steps[#record.steps + 1] = step
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
  local whole = step.planned == step.passed + step.failed and step.passed > 0
  if t.ok(step.ended == "well" and step.failed == 0 and whole,
          what .. " (" .. step.passed .. " checks, " .. step.seconds .. " s)") then return end
  t.diag("ended " .. step.ended .. "; planned " .. tostring(step.planned) .. ", passed "
         .. step.passed .. ", failed " .. step.failed .. "; see " .. step.log)
  for i = 1, math.min(10, #step.failures) do t.diag(step.failures[i]) end
end

local ops = read("tests/gpu/ops") and "tests/gpu/ops" or "build/tests/c/ops_gpu"
if not read(ops) then
  t.ok(false, "the comparison of ops is here (make dist, or make build/tests/c/ops_gpu)")
else
  tap_step("ops", 100, "every op gives the CPU's results and gradients",
           simulated and ops or ops .. " --cuda")
end
tap_step("parity", 60, "programs print what PyTorch prints",
         quoted(program) .. " tests/parity/run.lua --cuda")
tap_step("checks", 60, "devices, memory and training", ours "tests/gpu/checks.lua")
for _, fault in ipairs {"label", "index", "oom"} do
  tap_step("fault-" .. fault, 30, "a fault: " .. fault, ours("tests/gpu/faults.lua " .. fault))
end
if not simulated and read(ops) then
  tap_step("fault-address", 30, "a fault: an illegal address", ops .. " --fault")
end

-- ---- rates ---------------------------------------------------------------------------------
local function rates(name, seconds, command)
  local step, text = run(name, seconds, command)
  local found = {}
  for line in text:gmatch("[^\n]+") do
    local ok, row = pcall(json.decode, line)
    row = ok and type(row) == "table" and row or {}
    if row.name then found[row.name] = row end
    if row.card or row.skip then record[name] = row end
  end
  return found, step
end

local mine, step = rates("ours", 90, ours "tests/gpu/rates.lua")
t.ok(step.ended == "well" and next(mine) ~= nil, "rates are measured (" .. step.seconds .. " s)")
local theirs = {}
if simulated then
  record.peer = {skip = "a simulated card is compared with nothing"}
elseif ask("command -v python3") == "" then
  record.peer = {skip = "no python3"}
else
  theirs = rates("peer", 90, "python3 tests/gpu/peer.py" .. (small and " --small" or ""))
end

local function compared(a, b)
  if not b then return "" end
  a.pytorch = b.value
  a.ratio = tonumber(string.format("%.3f", a.unit == "ms" and b.value / a.value
                                           or a.value / b.value))
  return string.format("PyTorch %.4g, we are %.2f as fast", b.value, a.ratio)
end
local names = {}
for name in pairs(mine) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  local a = mine[name]
  record.rates[#record.rates + 1] = a
  local beside = compared(a, theirs[name])
  t.diag(string.format("%-36s %10.4g %-9s%s", name, a.value, a.unit, beside))
end
if record.peer and record.peer.skip then t.diag("PyTorch: " .. record.peer.skip) end
record.ran = true
t.diag(save())
t.done()
