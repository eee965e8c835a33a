-- batch.lua -- judges a folder of answers: dlrepl play L10 --answers DIR --tap --seed 7
--
-- For teachers and for prove. A file is named after its step: do.lua, guess.txt, say.txt. What is
-- judged, and how, is what the prompt and the notebook do.
--
-- MUST NOT   touch a learner's progress.

local client = require "dlrepl.lesson.client"
local format = require "dlrepl.lesson.format"
local quiz = require "dlrepl.lesson.quiz"
local text = require "dlrepl.lesson.text"
local words = require "dlrepl.lesson.words"

local function is_code(step) return step.kind == "task" or step.kind == "fix" end

local function read_answer(dir, step)
  return format.read(dir .. "/" .. step.id .. (is_code(step) and ".lua" or ".txt"))
end

local judge = {}

function judge.task(lesson, step, answer, options, accepted)
  local v = client.check(lesson, step, {answer},
                         {seed = options.seed, replay = client.replay(lesson, step, accepted)})
  local word, head, rows = words.rows(step, v)
  if v.pass then
    accepted[step.id] = {answer}
    return true
  end
  local case = words.case(v)
  table.insert(rows, 1, {word, head .. (case and " (" .. case .. ")" or "")})
  return false, rows
end
judge.fix = judge.task

local function marked(step, right, why)
  if right then return true end
  return false, {{right == nil and "unreadable" or "FAIL", why or "not that one"},
                 {"expected", quiz.right(step)}}
end

function judge.quiz(_, step, answer) return marked(step, quiz.mark(step, answer)) end
function judge.predict(_, step, answer) return marked(step, quiz.predict(step, answer)) end

function judge.explain(_, step, answer)
  local _, n = answer:gsub("%S+", "")
  if n >= 5 and n <= step.max_words then return true end
  return false, {{"words", string.format("%d; from 5 to %d are asked for", n, step.max_words)}}
end

local function say_tap(n, ok, name, rows)
  print((ok and "ok " or "not ok ") .. n .. " - " .. name)
  for _, row in ipairs(rows or {}) do
    for line in (row[2] .. "\n"):gmatch("(.-)\n") do print("#   " .. row[1] .. ": " .. line) end
  end
end

local function say_plain(ok, name, rows)
  print(text.tag(ok and "PASS" or "FAIL") .. " " .. name)
  for _, line in ipairs(text.labelled(rows or {}, text.columns())) do print(line) end
end

-- Judge each step that asks for something; the exit status: 0 when all are right.
return function(lesson, dir, options)
  options.seed = options.seed or 7
  local n, failed, accepted = 0, 0, {}
  for _, step in ipairs(lesson.steps) do
    if judge[step.kind] then
      n = n + 1
      local answer = read_answer(dir, step)
      local ok, rows = false, {{"missing", "there is no answer in " .. dir}}
      if answer then ok, rows = judge[step.kind](lesson, step, answer, options, accepted) end
      if not ok then failed = failed + 1 end
      local name = lesson.id .. " " .. step.id
      if options.tap then say_tap(n, ok, name, rows) else say_plain(ok, name, rows) end
    end
  end
  client.close()
  if options.tap then print("1.." .. n)
  else print(string.format("%d of %d steps are right", n - failed, n)) end
  return failed > 0 and 1 or 0
end
