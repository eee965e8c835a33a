-- lesson_judge.lua -- the judge refuses and survives what an answer can try, and says so in a word
local t = require "tap"
local client = require "dlrepl.lesson.client"
local format = require "dlrepl.lesson.format"
local words = require "dlrepl.lesson.words"

local lesson = assert(format.load("tests/lessons/fixtures/01_mean.lua"))
local task = lesson:find("do")

local function check(code, options)
  options = options or {}
  options.seed = options.seed or 7
  return client.check(lesson, task, {code}, options)
end

-- "pass", or what the verdict says in one word or two
local function verdict(code)
  local v = check(code)
  return v.pass and "pass" or v.limit or v.refused or v.checker and "checker: " .. v.checker
    or v.failed.check .. ": " .. tostring(v.failed.got):match("^[^\n]*")
end

-- It was stopped: by this limit, or on a slow machine by the clock.
local function stopped(code, limit, name)
  local got = verdict(code)
  t.is(got == "time" and limit or got, limit, name)
end

local right = "function mean(x) return x:sum() / x:numel() end"
t.is(verdict(right), "pass", "a right answer passes")
t.is(verdict("local " .. right), "pass", "as a local too")
t.is(check(right).of, 4, "four cases were judged")

-- ---- loops and bombs --------------------------------------------------------------------------
stopped("while true do end", "instructions", "an endless loop is stopped")
stopped("function mean(x) while true do end end", "instructions", "... in the function too")
stopped("while true do pcall(error) end", "instructions", "... whatever it catches")
stopped("coroutine.wrap(function() while true do end end)()", "instructions",
     "... in a coroutine")
stopped("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1 << 20) .. i end", "memory",
     "a list that grows is stopped")
t.is(verdict("x = ('x'):rep(1 << 40)"), "it runs: answer:1: resulting string too large",
     "an impossible string is an error")
stopped("x = ('x'):rep(1 << 30)", "memory", "a huge one is refused")
stopped("x = torch.zeros(1 << 20, 1 << 12)", "memory", "a huge tensor is refused")
stopped("local function f() return 1 + f() end f()", "it runs: answer:1: stack overflow",
     "a recursion without end is an error")

-- ---- ways out ---------------------------------------------------------------------------------
local no = "it runs: an answer has no files, programs or other modules; only torch and plain Lua"
for _, code in ipairs {"torch.save(1, '/tmp/x')", "torch.load('/etc/passwd')",
  "io.open('/etc/passwd')", "os.exit(0)", "os.execute('true')",
                       "require('dlrepl.lesson.checks')", "debug.getregistry()",
                       "dofile('/etc/passwd')", "package.loaded = nil"} do
  t.is(verdict(code):gsub("answer:%d+: ", ""), no, code .. " is refused with a word")
end
t.is(verdict("load(string.dump(print))()"), "it runs: answer:1: attempt to call a nil value "
     .. "(field 'dump')", "there is no compiled code")
local loaded = verdict("assert(load('return io.open', '=answer'))()")
t.is(loaded:gsub("answer:%d+: ", ""), no,
     "loaded text has no more names")
t.is(verdict("return dlrepl.debug.record"), "it runs: answer:1: attempt to index a nil value "
     .. "(field 'debug')", "the record is out of reach")
t.is(verdict("%run /etc/passwd"), "it runs: a command (% : ?) is no part of an answer",
     "a command is no answer")
t.is(verdict("getmetatable('').__index.rep = nil"), "it runs: answer:1: attempt to index a "
     .. "boolean value", "the methods of strings cannot be replaced")

local out = os.tmpname()
os.remove(out)
t.is(verdict("np.save('" .. out .. ".npy', np.array{1})"):match("^[^:]*"), "it runs",
     "a function of the library's that writes files writes none")
t.ok(not io.open(out .. ".npy"), "... there is no file")

local earlier = check(right, {replay = {"pcall(np.save, '" .. out .. ".npy', np.array{1})"}})
t.ok(earlier.pass and not io.open(out .. ".npy"), "nor does code of earlier steps")

-- ---- tampering --------------------------------------------------------------------------------
local function patched(code) return verdict(right .. "\n" .. code) end
t.is(patched("torch.allclose = function() return true end"), "patched", "a patched torch is seen")
t.is(patched("torch.Tensor.sum = function() return 1 end"), "patched", "a patched method is seen")
t.is(patched("nn.Linear.forward = function() end"), "patched", "a patched layer is seen")
t.is(patched("torch.cheat = function() end"), "patched", "a new function in torch is seen")
t.is(patched("setmetatable(nn, {})"), "patched", "a changed metatable is seen")
t.is(patched("string.format = nil math.abs = nil tostring = nil"), "pass",
     "the answer's own copies are its own")
t.is(check(right .. "\ntorch.relu = print").name, "torch.relu", "the verdict names it")
local stand_in = "function mean(x) return setmetatable({}, {__eq = function() return true end, "
  .. "__lt = function() return true end, __sub = function() return 0 end}) end"
t.is(verdict(stand_in), "it is the mean: a table that stands in for a value",
     "a table with metamethods is no number")
t.is(verdict("function mean(x) return 0 / 0 end"), "it is the mean: NaN", "NaN equals nothing")
t.is(verdict("function mean(x) return x * (0 / 0) end"):match("^[^:]*"), "it is the mean",
     "a tensor of NaN neither")
t.is(verdict("function mean(x) print(x:mean()) end"), "a value comes back: nothing (nil)",
     "a printed answer is none")
local function fails_at(code) return verdict(code):match("^[^:]*") end
t.is(fails_at("function mean(x) x:mul_(0) return x:sum() + 1 end"), "it is the mean",
     "inputs that were overwritten do not help")
t.is(fails_at("function mean(x) sample = x:fill_(1) before = x return 1.0 end"), "it is the mean",
     "nor does a guess at where the check looks")

-- ---- what is tried out beside it ---------------------------------------------------------------
local function several(...) return client.check(lesson, task, {...}, {seed = 7}).pass end
t.ok(several(right, "mean(sample)", "sample:mul_(0)", "sample = nil"),
     "lines that try it out, and change what is set up, do not matter")
t.ok(several("local n = 0", "function mean(x) n = n + 1 return x:sum() / x:numel() end", "n"),
     "a local of an earlier line is there")
t.ok(several(right, "error('tried')"), "nor does one that fails")
t.is(verdict(right .. "\nerror('tried')"), "it runs: answer:2: tried", "... but in a file it does")

-- ---- nothing there ----------------------------------------------------------------------------
t.is(verdict(""), "empty", "an empty answer")
t.is(verdict("-- function mean(x) return x:mean() end\n--[[ more ]]"), "empty", "comments alone")
local fix = lesson:find("fix")
local v = client.check(lesson, fix, {lesson:starter(fix) .. "\n-- done"}, {seed = 7})
t.is(v.refused, "starter", "the starter sent back")
t.is(verdict("function mean(x"), "it runs: answer:1: ')' expected near <eof>", "no Lua at all")
t.is(verdict("mean = 5"), "it is there: mean is 5", "a name that is no function")

-- ---- words ------------------------------------------------------------------------------------
local function told(code)
  local word, head, rows = words.rows(task, check(code))
  local parts = {"[" .. word .. "] " .. head}
  for _, r in ipairs(rows) do parts[#parts + 1] = r[1] end
  return table.concat(parts, ", ")
end
t.is(told("function mean(x) return x:sum() end"),
     "[FAIL] it is the mean, measured, expected, why, next", "a failure has its four parts")
t.is(told(right), "[PASS] Write it", "a pass has none")

-- ---- faults of a lesson -----------------------------------------------------------------------
local function broken(change)
  local text = format.read("tests/lessons/fixtures/01_mean.lua"):gsub(change[1], change[2], 1)
  local path = os.tmpname()
  os.remove(path)
  path = path .. ".lua"
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
  local l, why = format.load(path)
  local reply = l and client.check(l, l:find("do"), {right}, {seed = 7})
  client.close()
  os.remove(path)
  return l and (reply.checker or "no fault") or why:gsub("^.-%.lua:%s?", "")
end
t.like(broken {'r:ok%("a value', 'error("oops") r:ok("a value'}, "oops",
       "an error in a check is the lesson's fault")
t.like(broken {'r:ok%("a value', 'while true do end r:ok("a value'}, "own check does not come to",
       "an endless check too")
t.like(broken {"w%.sample = torch%.rand", "w.sample = torch.nothing"}, "setup: ",
       "a broken set-up too")
t.like(broken {"rng:odd%(3, 41%)", "{1, 2}"}, "is not a list of four", "cases that are not four")
t.like(broken {"hints = ", "hnts = "}, "unknown key 'hnts'; did you mean 'hints'",
       "an unknown key is named")
t.like(broken {"return lesson", "return return"}, "unexpected symbol", "a syntax error is told")
t.like(broken {"return lesson", "while true do end return lesson"}, "does not come to an end",
       "a lesson file that never ends is stopped")
t.like(broken {"return lesson", "os.execute('true') return lesson"}, "attempt to index a nil value",
       "a lesson file has no system either")
t.like(broken {'id = "see"', 'id = "why"'}, "used twice", "a doubled id is told")
t.like(broken {'kind = "text"', 'kind = "txt"'}, "must be one of explain, fix", "an unknown kind")

-- ---- the same again ---------------------------------------------------------------------------
local seen = {}
for seed = 1, 12 do
  local got = client.check(lesson, task, {"function mean(x) return x:sum() end"}, {seed = seed})
  seen[#seen + 1] = got.failed.got
end
local again = client.check(lesson, task, {"function mean(x) return x:sum() end"}, {seed = 12})
t.is(again.failed.got, seen[12], "the same seed gives the same case")
t.ok(seen[1] ~= seen[2] and seen[2] ~= seen[3], "other seeds give others")
local quickest = math.huge
for _ = 1, 5 do
  local begin = dlrepl.clock()
  check(right)
  quickest = math.min(quickest, dlrepl.clock() - begin)
end
t.ok(quickest < 0.5, "a check answers in under half a second")

client.close()
t.done()
