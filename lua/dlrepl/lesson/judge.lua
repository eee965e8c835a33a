-- judge.lua -- the other side of client.lua: what runs in dlrepl --judge
--
-- For judge.c, which calls what this file returns with its table of functions. A request opens a
-- step: the lesson is read, everything loaded, the code of earlier steps run; that is the snapshot.
-- Each check forks it once a case, runs the answer there, and asks the lesson's check.
--
-- INVARIANT  An answer never runs in the process that forks. A fault of a check is told as one.
-- MUST NOT   be loaded by a session.

local checks = require "dlrepl.lesson.checks"
local format = require "dlrepl.lesson.format"
local json = require "dlrepl.json"
local record = require "dlrepl.lesson.record"
local rng = require "dlrepl.lesson.rng"
local sandbox = require "dlrepl.lesson.sandbox"
local world = require "dlrepl.lesson.world"

local encode, pcall, rawget, tostring, type = json.encode, pcall, rawget, tostring, type
local manual_seed = torch.manual_seed
local BUDGET = {instructions = 20000000, bytes = 128 << 20, seconds = 8}
local SETUP = {instructions = 100000000, bytes = 0}

local judge             -- the functions of judge.c
local lesson, step, env, printed
local rec               -- the record of the case

-- ---- a step is opened -------------------------------------------------------------------------

local function limited(phase)
  judge.limit(BUDGET.instructions, BUDGET.bytes, phase)
end

local function trusted(phase) judge.limit(SETUP.instructions, SETUP.bytes, phase) end

-- Code of earlier steps; one that fails is as if it had not been typed. It runs in this process,
-- and so with no way to files either.
local function replay(list)
  judge.doors(false)
  for _, code in ipairs(list) do
    limited("replay")
    judge.line(code, "=earlier")
  end
  judge.limit(0, 0)
  judge.doors(true)
end

-- What every case would otherwise do for itself: libraries are loaded and their first code made.
local function warm_up()
  local layer = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
  local x, y = torch.randn(16, 8), torch.randint(0, 4, {16})
  F.cross_entropy(layer(x), y):backward()
  optim.SGD(layer:parameters(), {lr = 0.1}):step()
  torch.autocast({device_type = "cpu", dtype = torch.float16}, function() layer(x) end)
end

local ops = {}

function ops.open(req)
  local problem
  lesson, problem = format.load(req.path)
  if not lesson then return {broken = problem} end
  step = lesson:find(req.step)
  if not step then return {broken = "there is no step '" .. tostring(req.step) .. "'"} end
  sandbox.prepare()
  env, printed = sandbox.new()
  warm_up()
  world.set(lesson.world, true)
  judge.globals(env)
  replay(req.replay or {})
  return {ready = true}
end

-- ---- one case ---------------------------------------------------------------------------------

local function cases_of(seed)
  if not step.instances then return {{}} end
  trusted("instances")
  local cases = step.instances(rng.new(seed))
  judge.limit(0, 0)
  for i, case in ipairs(cases) do case.seed = case.seed or seed * 1000 + i end
  return cases
end

local function first_lines(text, n)
  local lines = {}
  for line in text:gmatch("[^\n]+") do
    lines[#lines + 1] = line
    if #lines == n then break end
  end
  return table.concat(lines, "\n")
end

-- The answer ended in an error: which feedback fits?
local function error_verdict(kind, text, case)
  local errors, id = step.errors, nil
  if text:find("^MemoryError") or text:find("DefaultCPUAllocator", 1, true) then
    return {limit = "memory", text = first_lines(text, 1)}
  end
  if type(errors) == "table" then id = errors[kind]
  elseif errors then
    local ok, found = pcall(errors, kind, text, rec, case, env) -- without a record it may fail
    id = ok and found or nil
  end
  return {failed = {check = "it runs", feedback = id, got = first_lines(text, 4),
                    want = "no error"}, kind = kind}
end

-- Run the entries one by one; the verdict of the first that fails.
local function run_entries(entries, case)
  for _, code in ipairs(entries) do
    local ok, kind, text = judge.line(code, "=answer")
    if not ok then return error_verdict(kind, text, case) end
  end
end

-- What the task asked to be defined: a function, kept as a local or a global of the answer's.
local function find_defined()
  local f = judge.get(step.define)
  if type(f) ~= "function" and type(f) ~= "table" then
    return {failed = {check = "it is there", got = step.define .. " is " .. checks.short(f),
                      want = "a function " .. step.define}}
  end
  env[step.define] = f
end

-- fn() with a record kept, if the engine keeps one for this step.
local function recorded(fn)
  local watch = step.watch and rawget(env, step.watch)
  local out
  out, rec = record.run(fn, {watch = watch, exact = step.exact})
  return out
end

local function set_up(case)
  trusted("setup")
  manual_seed(case.seed or 0)
  if not step.setup then return end
  local ok, _, why = judge.call(step.setup, env, case)
  if not ok then return {checker = "setup: " .. tostring(why)} end
end

-- Run the entries of an answer that defines something. What else is in them was typed to try things
-- out: it may want what the step sets up, and what it does to that is undone by setting up anew.
local function run_definitions(entries, case)
  local failed
  for _, code in ipairs(entries) do
    limited("answer")
    local ok, kind, text = judge.line(code, "=answer")
    if not ok then
      local verdict = set_up(case)
      if verdict then return verdict end
      limited("answer")
      ok, kind, text = judge.line(code, "=answer")
    end
    if not ok then failed = failed or error_verdict(kind, text, case) end
  end
  if failed and #entries == 1 then return failed end
  local missing = find_defined()
  return missing and failed or missing
end

-- An answer that is a program: what it does is what is recorded.
local function run_program(entries, case)
  local verdict = set_up(case)
  if verdict then return nil, verdict end
  limited("answer")
  recorded(function() verdict = run_entries(entries, case) end)
  return {n = 0}, verdict
end

-- An answer that is called: defined, then driven with a record kept; its results, or a verdict.
local function run_driven(entries, case)
  local verdict
  if step.define then verdict = run_definitions(entries, case) end
  verdict = verdict or set_up(case)
  if verdict then return nil, verdict end
  limited("answer")
  if not step.define then verdict = run_entries(entries, case) end
  if verdict then return nil, verdict end
  manual_seed(case.seed or 0)
  local out
  recorded(function() out = table.pack(judge.call(step.drive, env, case)) end)
  if not out[1] then return nil, error_verdict(out[2], out[3], case) end
  return {n = out.n - 1, table.unpack(out, 2, out.n)}
end

local function ask_check(case, out)
  trusted("check")
  local r = checks.new(rec)
  local ok, why = pcall(step.check, r, case, env, table.unpack(out, 1, out.n))
  judge.limit(0, 0)
  if r.failed then return {failed = r.failed, kinds = r.kinds} end
  if not ok then return {checker = tostring(why)} end
  if #r.asked == 0 then return {checker = "the check asked nothing"} end
  return {pass = true, kinds = r.kinds, asked = r.asked}
end

local function run_case(entries, case)
  local out, verdict = (step.drive and run_driven or run_program)(entries, case)
  judge.limit(0, 0)
  if verdict and verdict.checker then return verdict end
  local patched = sandbox.patched()
  if patched then return {refused = "patched", name = patched} end
  return verdict or ask_check(case, out)
end

-- ---- a check ----------------------------------------------------------------------------------

local function start_case(entries, case)
  return judge.start(function()
    local ok, verdict = pcall(run_case, entries, case)
    if not ok then verdict = {checker = tostring(verdict)} end
    return encode(verdict)
  end)
end

local function limit_of(why, phase, seconds)
  if why == "time" and phase == "answer" then return {limit = "time", text = seconds .. " s"} end
  if why == "time" then
    return {checker = "the lesson's own " .. phase .. " does not come to an end"}
  end
  return {checker = "the process that judged ended: " .. why}
end

local function wait_case(child)
  if not child then return {checker = "there is no process to be had"} end
  local seconds = step.seconds or BUDGET.seconds
  local text, why, phase = judge.wait(child, seconds)
  if not text then return limit_of(why, phase, seconds) end
  if text:sub(1, 1) == "!" then return {checker = text:sub(2)} end
  local ok, verdict = pcall(json.decode, text)
  if not ok then return {checker = "an unreadable verdict"} end
  if verdict.limit and verdict.phase ~= "answer" and verdict.phase ~= nil then
    return limit_of("time", verdict.phase, seconds)
  end
  return verdict
end

-- The first case by itself: most wrong answers end there. The others run side by side.
local function verdict_of(entries, cases)
  local verdict, children = wait_case(start_case(entries, cases[1])), {}
  if not verdict.pass then return verdict, 1 end
  for i = 2, #cases do children[i] = start_case(entries, cases[i]) end
  for i = 2, #cases do
    verdict = wait_case(children[i])
    if not verdict.pass then
      for k = i + 1, #cases do if children[k] then judge.drop(children[k]) end end
      return verdict, i
    end
  end
  return verdict, #cases
end

function ops.check(req)
  local ok, cases = pcall(cases_of, req.seed)
  if not ok then return {checker = "instances: " .. tostring(cases)} end
  local verdict, case = verdict_of(req.entries, cases)
  verdict.case, verdict.of, verdict.seed = case, #cases, req.seed
  return verdict
end

-- What a piece of code prints and how it ends, for steps of kind run and predict.
function ops.show(req)
  local child = judge.start(function()
    limited("answer")
    local ok, kind, text = judge.line(req.code, "=stdin")
    return encode {ok = ok, kind = kind, text = text, printed = printed}
  end)
  local text, why = judge.wait(child, BUDGET.seconds)
  return text and json.decode(text) or {ok = false, kind = why, text = why, printed = {}}
end

return function(functions)
  judge = functions
  while true do
    local text = judge.read()
    if not text then return end
    local ok, reply = pcall(function()
      local req = json.decode(text)
      return ops[req.op](req)
    end)
    if not ok then reply = {checker = tostring(reply)} end
    judge.write(encode(reply))
  end
end
