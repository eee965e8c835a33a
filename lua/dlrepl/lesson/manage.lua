-- manage.lua -- commands about a lesson as a whole: reset, review, appeal, watch, progress
--
-- For command.lua. Each function takes the text after its command.
--
-- MUST NOT   judge or mark.

local answers = require "dlrepl.lesson.answers"
local format = require "dlrepl.lesson.format"
local front = require "dlrepl.lesson.front"
local play = require "dlrepl.lesson.play"
local words = require "dlrepl.lesson.words"

local host = dlrepl._lesson
local open = io.open
local M = {}
local P = play.P

local function word_of(rest) return rest:match("^%s*(%S*)") end

-- ---- where one is -----------------------------------------------------------------------------

M["next"] = function()
  if P.lesson and not P.step then return play.current() end
  local step = play.current()
  play.show(step)
end

M["goto"] = function(rest)
  local name = word_of(rest)
  if name == "" then play.refuse("which step? :review lists them") end
  play.goto_step(play.current(name))
end

function M.reset(rest)
  local what, sure = rest:match("^%s*(%S*)%s*(%S*)")
  if what == "all" then
    if sure ~= "yes" then
      play.refuse("this forgets all lessons for good; if that is what you want: :reset all yes")
    end
    local n, why = play.journal():forget(nil)
    if not n then play.refuse("the progress could not be changed: " .. why) end
    P.lesson, P.step = nil, nil
    host.keep(false)
    return front.say("All progress is forgotten.")
  end
  if what == "lesson" then
    if not P.lesson then play.current() end
    play.keep("reset")
    P.queue = {}
    front.say("From the beginning.")
    return play.advance(1)
  end
  if what ~= "" and what ~= "step" then
    play.refuse(":reset step, :reset lesson or :reset all yes")
  end
  local step = play.current()
  play.keep("reset", {step = step.id})
  play.goto_step(step)
end

function M.replay()
  if not P.lesson then play.current() end
  play.keep("replay", {seed = play.new_seed()})
  P.queue = {}
  front.say("Once more, with other numbers.")
  play.advance(1)
end

function M.play()
  play.current()
  P.playing = not P.playing
  host.keep(not P.playing)
  front.say(P.playing and "Play: what you type now is no part of your answer. :play ends it."
            or "Back: what you type from now on counts.")
end

function M.quit()
  if not P.lesson then play.refuse("no lesson is open") end
  host.keep(false)
  require("dlrepl.lesson.client").close()
  front.say(P.lesson.id .. " is left; :lesson " .. P.lesson.id .. " goes on where you were.")
  P.lesson, P.step, P.queue = nil, nil, {}
end

-- ---- looking back -----------------------------------------------------------------------------

local event_words = {pass = "passed", seen = "seen", answer = "answered", skip = "skipped"}

local function status_of(step)
  local e = P.state.done[step.id]
  local changed = e and e.hash and e.hash ~= format.hash(P.lesson, step)
  local word = P.state.disputed[step.id] and "disputed" or e and event_words[e.event] or "open"
  if word == "open" and P.state.credit[step.id] then word = "open, passed before" end
  return word .. (changed and " (changed since you did it)" or ""), e
end

function M.review()
  if not P.lesson then play.current() end
  for i, step in ipairs(P.lesson.steps) do
    local word, e = status_of(step)
    front.say(string.format("%d  %s  %s: %s", i, step.id, step.kind, word))
    if e and type(e.code) == "table" then front.code(table.concat(e.code, "\n"))
    elseif e and type(e.answer) == "string" then front.say("you said: " .. e.answer, "     ") end
  end
end

-- ---- appeal -----------------------------------------------------------------------------------

-- One file that holds all an author needs; its path, or nil and why not.
function M.bundle(step, v, entries, why)
  local base = play.journal().path
  if not base then return nil, "no home folder is known" end
  local path = string.format("%s/appeals/%s_%s_%s.lua", base:match("^(.*)/[^/]*$"), P.lesson.id,
                             step.id, host.id():sub(1, 8))
  local f = v.failed or {}
  local head = {
    "-- appeal: " .. P.lesson.id .. "." .. step.id .. " " .. format.hash(P.lesson, step),
    "-- seed " .. tostring(v.seed) .. ", case " .. tostring(v.case),
    "-- verdict: " .. tostring(f.check or v.limit or v.checker or v.refused or "pass"),
    "-- measured: " .. tostring(f.got), "-- expected: " .. tostring(f.want),
    "-- feedback: " .. tostring(f.feedback), "-- why: " .. why,
    "-- Drop it into also_right (it should pass) or wrong (it should not).",
  }
  for i, line in ipairs(head) do head[i] = line:gsub("\n", " ") end
  local ok, failed = host.rewrite(path, function()
    return table.concat(head, "\n") .. "\n\n" .. table.concat(entries, "\n") .. "\n"
  end)
  os.remove(path .. ".lock")
  return ok and path or nil, failed
end

function M.appeal(rest)
  local step = play.current()
  if not P.verdict or not P.entries then
    play.refuse("there is no verdict to appeal against; :check first")
  end
  local why = rest:find("%S") and rest:gsub("\n", " ") or "no reason given"
  local path, failed = M.bundle(step, P.verdict, P.entries, why)
  play.keep("dispute", {step = step.id, code = P.entries, why = why, seed = P.verdict.seed})
  if not path then play.refuse("the file could not be written: " .. tostring(failed)) end
  front.tagged("DISPUTED", "This step is marked disputed, not failed. For the author: " .. path)
  front.say(":skip goes on.")
end

-- ---- watch ------------------------------------------------------------------------------------

local function write_starter(path, step)
  local f, why = open(path, "wb")
  if not f then play.refuse("cannot write " .. path .. ": " .. why) end
  f:write("-- ", P.lesson.id, " ", step.id, ": save this file and it is checked\n",
          P.lesson:starter(step), "\n")
  f:close()
  front.say(path .. " was not there; it now holds the task's starter.")
end

function M.watch(rest)
  local path = rest:match("^%s*(.-)%s*$"):gsub("^~/", (os.getenv("HOME") or "~") .. "/")
  local step = play.current()
  if path == "" then play.refuse("which file? :watch my.lua") end
  if not answers.is_code(step) then play.refuse("this step wants no code: " .. words.way(step)) end
  if not host.stat(path) then write_starter(path, step) end
  front.say("Watching " .. path .. ": each save is checked. Ctrl-C ends it.")
  local seen
  repeat
    local _, now = host.stat(path)
    if now and now ~= seen then
      seen = now
      local text = format.read(path) or ""
      if answers.judge(step, {text}) then
        play.run_code(text, true, function() play.done(step) end)
        return
      end
      io.stdout:flush()
    end
  until not host.sleep(0.2)
  front.say("No longer watching.")
end

-- ---- progress ---------------------------------------------------------------------------------

local function lesson_line(id, title)
  local s = play.journal():state(id)
  local n = 0
  for _ in pairs(s.credit) do n = n + 1 end
  local word = s.finished and "finished" or s.begun and "begun" or "new"
  front.say(string.format("%s  %s  [%s%s]", id, title, word,
            n > 0 and ", " .. n .. " passed" or ""), "  ")
end

local function list_lessons()
  local found = 0
  for _, path in ipairs(format.paths(format.folder())) do
    local lesson, why = format.load(path)
    found = found + 1
    if lesson then lesson_line(lesson.id, lesson.title)
    else front.tagged("NOTE", "a lesson that cannot be read: " .. why) end
  end
  if found == 0 then front.say("There are no lessons in " .. format.folder() .. ".")
  else front.say(":lesson L10 opens one. The order is a suggestion; nothing is locked.") end
end

function M.lesson(rest)
  local name, step, seed = rest:match("^%s*(%S+)%s*(%S*)"), rest:match("^%s*%S+%s+(%l%S*)"),
    tonumber(rest:match("seed=(%d+)"))
  if not name then return list_lessons() end
  local lesson, why = format.find(name)
  if not lesson then play.refuse(why) end
  if step and step:find("^seed=") then step = nil end
  if not step then return play.open(lesson, seed) end
  if not P.lesson or P.lesson.path ~= lesson.path then play.open(lesson, seed) end
  local one = play.current(step)
  if front.kernel() and one.kind == "run" then return play.demonstrate(one) end
  play.goto_step(one)
end

M.learn = M.lesson

function M.progress(rest)
  local what, path = rest:match("^%s*(%S*)%s*(.-)%s*$")
  local j = play.journal()
  if what == "" then
    list_lessons()
    return front.say("Kept in " .. tostring(j.path) .. ".")
  end
  if what ~= "export" and what ~= "import" and what ~= "merge" then
    play.refuse(":progress, or :progress export FILE, import FILE, merge FILE")
  end
  if path == "" then play.refuse(":progress " .. what .. " which file?") end
  local n, more = j[what](j, path)
  if not n then play.refuse(path .. ": " .. tostring(more)) end
  if P.lesson then P.state = j:state(P.lesson.id) end
  if what == "export" then front.say("Your progress is in " .. path .. ".")
  elseif what == "merge" then front.say(string.format("%d events were new.", n))
  else
    front.say(string.format("%d events were read.%s", n,
              more and " What was there before is in " .. more .. "." or ""))
  end
end

function M.forget(rest)
  local id = word_of(rest)
  if id == "" then play.refuse("which lesson? :forget L10") end
  local digits = id:match("^%d%d?$")
  if digits then id = string.format("L%02d", tonumber(digits)) end
  local n, why = play.journal():forget(id)
  if not n then play.refuse("the progress could not be changed: " .. why) end
  if n == 0 then return front.say("There was nothing on " .. id .. ".") end
  front.say(string.format("%s is forgotten: %d events are gone.", id, n))
  if P.lesson and P.lesson.id == id then P.lesson, P.step = nil, nil host.keep(false) end
end

return M
