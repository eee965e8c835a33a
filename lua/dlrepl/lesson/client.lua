-- client.lua -- asks the judge
--
-- For play.lua, batch.lua and lint.lua. One judge at a time, for one step after the same earlier
-- code; another step gets a fresh one.
--
-- INVARIANT  An answer's text goes to the judge and nowhere else.
-- MUST NOT   run it.

local format = require "dlrepl.lesson.format"
local json = require "dlrepl.json"

local host = dlrepl._lesson
local M = {}
local OPENING = 20  -- seconds for the snapshot
local CASES = 4
local current       -- {judge, key}

function M.close()
  if current then current.judge:close() end
  current = nil
end

local function ask(judge, request, seconds)
  local text, why = judge:ask(json.encode(request), seconds)
  if text then
    local ok, reply = pcall(json.decode, text)
    if ok then return reply end
    why = "unreadable"
  end
  current = nil
  if why == "interrupt" then
    dlrepl.raise {class = "KeyboardInterrupt", message = "", kind = "interrupt"}
  end
  return nil, why == "time" and {limit = "time", text = seconds .. " s"}
    or {checker = "the judge has gone (" .. tostring(why) .. ")"}
end

-- The judge of a step whose earlier code is `replay`; or nil and a verdict.
local function judge_of(lesson, step, replay)
  local _, saved = host.stat(lesson.path)
  local key = table.concat({lesson.path, tostring(saved), step.id, table.unpack(replay)}, "\0")
  if current and current.key == key then return current.judge end
  M.close()
  local judge = host.judge()
  current = {judge = judge, key = key}
  local reply, verdict = ask(judge, {op = "open", path = lesson.path, step = step.id,
                                     replay = replay}, OPENING)
  if reply and reply.ready then return judge end
  M.close()
  return nil, verdict or {checker = reply.broken or reply.checker or "the step did not open"}
end

-- Start the judge of a step before it is needed; no word if it does not come.
function M.warm(lesson, step, replay) pcall(judge_of, lesson, step, replay or {}) end

local function code_of(text)
  local bare = text:gsub("%-%-%[(=*)%[.-%]%1%]", ""):gsub("%-%-[^\n]*", "")
  return (bare:gsub("%s+", ""))
end

-- Refused before it is judged: nothing there, or the starter as it was.
local function refuse(lesson, step, entries)
  local all = code_of(table.concat(entries, "\n"))
  if all == "" then return {refused = "empty"} end
  local starter = code_of(lesson:starter(step))
  if starter ~= "" and all == starter then return {refused = "starter"} end
end

-- check(lesson, step, entries, {seed=, replay=, plain=}) -> verdict:
--   pass, or one of failed {check, feedback, got, want}, limit ("time", "instructions", "memory"),
--   refused ("empty", "starter", "patched"), checker (a fault of the lesson's); case, of, seed
function M.check(lesson, step, entries, options)
  local verdict = not options.plain and refuse(lesson, step, entries)
  if verdict then
    verdict.seed = options.seed
    return verdict
  end
  local judge
  judge, verdict = judge_of(lesson, step, options.replay or {})
  if not judge then return verdict end
  local reply, wrong = ask(judge, {op = "check", entries = entries, seed = options.seed},
                           CASES * (step.seconds or 8) + 5)
  return reply or wrong
end

-- show(lesson, step, code, replay) -> {ok, kind, text, printed}
function M.show(lesson, step, code, replay)
  local judge, verdict = judge_of(lesson, step, replay or {})
  if not judge then return {ok = false, kind = "judge", text = verdict.checker, printed = {}} end
  return ask(judge, {op = "show", code = code}, 20)
    or {ok = false, kind = "judge", text = "no reply", printed = {}}
end

-- The code that precedes a step: what run and predict steps run, and for each task before it the
-- accepted answer, else the reference. accepted: step id -> list of texts, or nil.
function M.replay(lesson, step, accepted)
  local list = {}
  for _, s in ipairs(lesson.steps) do
    if s == step then break end
    if s.kind == "run" or s.kind == "predict" then
      if s.before then list[#list + 1] = s.before end
      list[#list + 1] = s.code
    elseif s.kind == "task" or s.kind == "fix" then
      local mine = accepted and accepted[s.id]
      if mine then table.move(mine, 1, #mine, #list + 1, list)
      else list[#list + 1] = lesson:reference_of(s) end
    end
  end
  return list
end

M.hash = format.hash
return M
