-- lesson_journal.lua -- progress: kept line by line, carried about, never lost
local t = require "tap"
local journal = require "dlrepl.lesson.journal"
local json = require "dlrepl.json"

local dir = os.tmpname()
os.remove(dir)
local path = dir .. "/deep/progress.jsonl"

local function read(p)
  local f = io.open(p, "rb")
  local text = f and f:read("a")
  if f then f:close() end
  return text
end

local function write(p, text)
  local f = assert(io.open(p, "wb"))
  f:write(text)
  f:close()
end

local function count(p) return select(2, read(p):gsub("\n", "")) end

-- ---- events -----------------------------------------------------------------------------------
local j = journal.open(path)
t.is(#j.events, 0, "a missing file is an empty journal")
t.ok(j:add {event = "start", lesson = "X01", seed = 9}, "the folder and the file are made")
j:add {event = "pass", lesson = "X01", step = "do", code = {"x = 1\ny = 'ü'"}, hash = "a"}
j:add {event = "hint", lesson = "X01", step = "fix", rung = 2}
j:add {event = "skip", lesson = "X01", step = "fix"}
t.is(count(path), 4, "a line an event")
local s = journal.open(path):state("X01")
t.is(s.seed, 9, "the seed is remembered")
t.is(s.done["do"].code[1], "x = 1\ny = 'ü'", "code comes back as it was")
t.is(s.hints.fix, 2, "hints too")
t.ok(s.credit["do"] and not s.credit.fix, "a pass gives credit, a skip does not")
t.ok(s.done.fix, "... but is done")

j:add {event = "replay", lesson = "X01", seed = 10}
s = j:state("X01")
t.ok(next(s.done) == nil and s.credit["do"], "a replay begins again and keeps the credit")
j:add {event = "reset", lesson = "X01"}
s = j:state("X01")
t.ok(next(s.credit) == nil, "a reset does not")
t.is(next(j:state("X02").done), nil, "lessons do not mix")

-- ---- damage -----------------------------------------------------------------------------------
local whole = read(path)
write(path, whole .. '{"v": 1, "id": "zz", "event": "pass", "less')
j = journal.open(path)
t.is(j.odd.cut, 1, "a line cut in the middle is seen")
t.like(j:complaint(), "1 line of your progress could not be read", "... and told")
j:add {event = "pass", lesson = "X01", step = "after"}
j = journal.open(path)
t.ok(j:state("X01").done.after, "what is written after it is read")
t.is(j.odd.cut, 1, "... the cut line stays alone")

for n = 1, #whole, 37 do
  write(path, whole:sub(1, n))
  j = journal.open(path)
  local lines = select(2, whole:sub(1, n):gsub("\n", ""))
  if whole:sub(n, n) == "}" then lines = lines + 1 end
  if #j.events ~= lines then
    t.is(#j.events, lines, "a file cut after " .. n .. " bytes keeps its whole lines")
  end
end
t.ok(true, "a file cut anywhere keeps its whole lines")

write(path, whole .. '{"v": 99, "id": "new", "event": "magic", "lesson": "X01"}\n')
j = journal.open(path)
t.like(j:complaint(), "written by a newer dlrepl", "a newer version's line is told")
t.is(#j.events, select(2, whole:gsub("\n", "")), "... and the others are read")
for _, junk in ipairs {"null", "[]", "5", "\0\0\0", '{"v": "x"}', '{"v":1,"id":1,"event":2}'} do
  write(path, whole .. junk .. "\n")
  local ok = pcall(function() journal.open(path):state("X01") end)
  t.ok(ok, "a line that is " .. json.encode(junk) .. " is survived")
end

-- ---- carrying about ---------------------------------------------------------------------------
write(path, whole)
local other = dir .. "/other.jsonl"
local k = journal.open(dir .. "/k/progress.jsonl")
k:add {event = "pass", lesson = "X02", step = "a"}
t.ok(k:export(other), "progress is exported")
j = journal.open(path)
t.is(j:merge(other), 1, "one event of the other is new")
t.is(j:merge(other), 0, "... the second time none")
t.ok(j:state("X02").credit.a and j:state("X01").begun, "both are there")
t.is(count(path), select(2, whole:gsub("\n", "")) + 1, "nothing is doubled")
local n, why = j:merge("/etc/hostname")
t.ok(n == nil and why:find("no progress"), "a file that holds none is refused")
t.ok(j:merge("/absent") == nil, "a missing file too")

local had, backup = j:import(other)
t.is(had, 1, "an import takes the other's place")
t.ok(backup and read(backup):find("X01"), "... and what was there is kept beside it")
t.is(next(j:state("X01").done), nil, "... it is no longer counted")

write(path, whole .. '{"v": 99, "id": "new", "event": "magic", "lesson": "X01"}\nhalf a l')
j = journal.open(path)
j:add {event = "pass", lesson = "X05", step = "a"}
t.ok(j:forget("X01") > 0, "a lesson is forgotten")
t.ok(not read(path):find('"seed": 9', 1, true), "... its lines are gone from the file")
t.ok(read(path):find('"v": 99', 1, true) and read(path):find("half a l", 1, true),
     "... what cannot be read stays")
t.ok(journal.open(path):state("X05").credit.a, "... and so do other lessons")
t.is(j:forget("X77"), 0, "of an unknown lesson there is nothing to forget")

-- ---- two at once ------------------------------------------------------------------------------
local a, b = journal.open(path), journal.open(path)
local before = count(path)
for i = 1, 20 do
  a:add {event = "hint", lesson = "X06", step = "a", rung = i % 4}
  b:add {event = "hint", lesson = "X06", step = "b", rung = i % 4}
end
t.is(count(path) - before, 40, "two sessions write whole lines in turn")
t.is(journal.open(path).odd.cut, 1, "... and spoil none")

-- ---- nowhere to write -------------------------------------------------------------------------
local ro = journal.open("/proc/nothing/progress.jsonl")
local ok, reason = ro:add {event = "pass", lesson = "X01", step = "do"}
t.ok(not ok and reason, "a file that cannot be written is told")
t.is(select(2, ro:add {event = "pass", lesson = "X01", step = "fix"}), nil, "... once")
t.ok(ro:state("X01").credit.fix, "... and the session remembers by itself")

-- ---- what cannot be read whole ----------------------------------------------------------------
local large = assert(io.open(dir .. "/large", "wb"))
large:seek("set", 65 << 20)
large:write("\n")
large:close()
local replaced, why_not = dlrepl._lesson.rewrite(dir .. "/large", function() return "new" end)
t.ok(not replaced and why_not, "a file that is too large to be read is not replaced")
local still = assert(io.open(dir .. "/large", "rb"))
t.is(still:seek("end"), (65 << 20) + 1, "... it is as it was")
still:close()

os.execute("rm -r '" .. dir .. "'")
t.done()
