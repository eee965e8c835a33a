-- answers.lua -- what happens to an answer: code is judged, questions are marked, texts are kept
--
-- For command.lua. Each function takes the text after its command.
--
-- INVARIANT  A wrong answer changes nothing but the count of tries.
-- MUST NOT   know how a verdict looks.

local client = require "dlrepl.lesson.client"
local front = require "dlrepl.lesson.front"
local play = require "dlrepl.lesson.play"
local quiz = require "dlrepl.lesson.quiz"
local words = require "dlrepl.lesson.words"

local host = dlrepl._lesson
local M = {}
local P = play.P
local OFFER = 3   -- failures of one check after which a hint is offered

local function is_code(step) return step.kind == "task" or step.kind == "fix" end

-- "do\ncode" -> "do", code; "do" -> "do", nil; "" -> nil, nil
local function take_step(rest)
  local first, below = rest:match("^([^\n]*)\n(.*)$")
  if not first then return rest, nil end
  return first, below:find("%S") and below or nil
end

-- ---- code -------------------------------------------------------------------------------------

local function after_failure(step, v)
  local key = v.failed and v.failed.check or v.limit or "?"
  P.fails[key] = (P.fails[key] or 0) + 1
  if P.fails[key] == OFFER and (P.state.hints[step.id] or 0) < 4 then
    front.say("That was the third time at this point. :hint has a word on it, if you like.")
  end
end

-- Judge the entries and say what came of it; true when they pass.
function M.judge(step, entries)
  local v = client.check(P.lesson, step, entries,
                         {seed = P.state.seed, replay = play.replay_of(step)})
  P.verdict, P.entries = v, entries
  front.verdict(P.lesson, step, v)
  if v.pass then
    play.keep("pass", {step = step.id, code = entries, seed = v.seed})
    return true
  elseif v.checker then
    P.open_way = step
    play.keep("checker", {step = step.id, code = entries, seed = v.seed, text = v.checker})
    require("dlrepl.lesson.manage").bundle(step, v, entries, "the check failed by itself")
  elseif not v.refused then
    local f = v.failed or {}
    play.keep("fail", {step = step.id, check = f.check or v.limit, feedback = f.feedback,
                       case = v.case, seed = v.seed})
    after_failure(step, v)
  end
  return false
end

-- Does the text give the name a value, as far as words can tell?
local function defines(text, names)
  for name in text:gmatch("function%s+([%a_][%w_]*)") do if names[name] then return true end end
  for name in text:gmatch("([%a_][%w_]*)%s*=[^=]") do if names[name] then return true end end
  for list in text:gmatch("local%s+([%a_][%w_,%s<>]*)") do
    for name in list:gmatch("[%a_][%w_]*") do if names[name] then return true end end
  end
  return false
end

-- Of the lines typed, those that what is asked for is made of: its definition and what that
-- mentions. What was only tried out is no part of the answer.
local function relevant(step, lines)
  if not step.define then return lines end
  local names, out = {[step.define] = true}, {}
  for i = #lines, 1, -1 do
    if defines(lines[i], names) then
      table.insert(out, 1, lines[i])
      for name in lines[i]:gmatch("[%a_][%w_]*") do names[name] = true end
    end
  end
  return #out > 0 and out or lines
end

local function with_starter(step, lines)
  lines = relevant(step, lines)
  local starter = P.lesson:starter(step)
  if starter ~= "" then table.insert(lines, 1, starter) end
  return lines
end

function M.check(rest)
  local name, code = take_step(rest)
  local step = play.current(name:match("^%s*(%S*)"))
  if not is_code(step) then
    if step.kind == "quiz" or step.kind == "predict" or step.kind == "explain" then
      play.refuse("this step wants an answer, not code: " .. words.way(step))
    end
    play.refuse("there is nothing to check in '" .. step.id .. "'")
  end
  if P.step ~= step then P.step, P.fails = step, {} end
  if not code then
    if M.judge(step, with_starter(step, host.lines())) then play.done(step) end
    return
  end
  local passed = M.judge(step, {code})
  local v = P.verdict
  local runs = not v.limit and not (v.failed and v.failed.check == "it runs")
  if runs then play.run_cell(code, function() if passed then play.done(step) end end) end
end

-- ---- questions --------------------------------------------------------------------------------

local function answered(step, event, fields)
  fields.step = step.id
  play.keep(event, fields)
end

local function answer_quiz(step, text)
  local right, why = quiz.mark(step, text)
  if right == nil then return front.tagged("NOTE", why) end
  if right then
    front.tagged("PASS", "right. " .. (why or ""))
    answered(step, "pass", {answer = text})
    return play.done(step)
  end
  P.fails.quiz = (P.fails.quiz or 0) + 1
  front.tagged("FAIL", why == quiz.INCOMPLETE and why or "not that one. " .. (why or ""))
  play.keep("fail", {step = step.id, answer = text})
  front.say(P.fails.quiz < 2 and "Try again."
            or "Try again, or :skip shows the answer and goes on.")
end

local function answer_predict(step, text)
  local right, word = quiz.predict(step, text)
  if right == nil then return front.tagged("NOTE", word) end
  answered(step, right and "pass" or "answer", {answer = text, right = right})
  if step.before then play.run_code(step.before, true) end
  play.run_code(step.code, false, function()
    if right then front.tagged("PASS", "as you said. " .. step.say)
    else
      word = string.format("you said %s; it is %s. %s", text, step.answer, word or "")
      front.tagged("FAIL", word)
      front.say(step.say)
    end
    play.done(step)
  end)
end

local function count_words(text)
  local n = 0
  for _ in text:gmatch("%S+") do n = n + 1 end
  return n
end

local function show_model(step)
  local model = P.lesson:reference_of(step)
  if not model then return end
  front.say("One good answer, to lay beside yours:")
  front.say(model, "  ")
end

local function answer_explain(step, text)
  local n = count_words(text)
  if n < 5 then
    return front.tagged("NOTE", "That is " .. n .. (n == 1 and " word" or " words")
                        .. ". Say it as you would to an interviewer: a sentence or three.")
  elseif n > step.max_words then
    return front.tagged("NOTE", string.format("That is %d words; at most %d, please. What would "
                        .. "you keep?", n, step.max_words))
  end
  answered(step, "answer", {answer = text, rubric = step.rubric})
  front.tagged("KEPT", "Your answer is in your progress. It is not marked yet: compare it "
               .. "yourself.")
  show_model(step)
  play.done(step)
end

local by_kind = {quiz = answer_quiz, predict = answer_predict, explain = answer_explain}

-- "mc b" -> the step mc and "b", where the open lesson has such a step that asks.
local function take_named(text)
  local word, more = text:match("^%s*(%S+)%s*(.*)$")
  local step = P.lesson and word and P.lesson:find(word)
  local alone = more == "" and not front.kernel()
  if step and not tonumber(word) and not alone and by_kind[step.kind] then return step, more end
  return play.current(), text
end

function M.answer(rest)
  if not P.lesson then play.current() end
  local step, text = take_named(rest)
  local give = by_kind[step.kind]
  if not give then
    play.refuse("this step wants code: " .. words.way(step))
  end
  if P.step ~= step then P.step, P.fails = step, {} end
  if not text:find("%S") then
    local kernel = front.kernel()
    if kernel then play.show(step) end
    text = kernel and front.ask("Your answer: ") or ""
    if not text:find("%S") then
      return front.say(kernel and "Write the answer behind it: :answer " .. step.id .. " …"
                       or "What is your answer? " .. words.way(step))
    end
  end
  give(step, text:match("^%s*(.-)%s*$"))
end

-- ---- help, and ways round ---------------------------------------------------------------------

function M.hint(rest)
  local step = play.current(rest)
  if not step.hints then
    return front.say("There are no hints for this step. " .. words.way(step))
  end
  local rung = (P.state.hints[step.id] or 0) + 1
  if rung > #step.hints then
    front.say("Those were all four:")
    for i, h in ipairs(step.hints) do front.tagged("HINT " .. i .. " of 4", h) end
    return front.say(":reveal shows a right answer.")
  end
  play.keep("hint", {step = step.id, rung = rung})
  front.tagged("HINT " .. rung .. " of 4", step.hints[rung])
end

-- A right answer, shown.
local function show_right(step)
  if step.kind == "explain" then return show_model(step) end
  if step.kind == "quiz" or step.kind == "predict" then
    return front.say("The answer is " .. quiz.right(step) .. ".")
  end
  front.say("One right answer:")
  front.code(P.lesson:reference_of(step) or "")
end

function M.reveal(rest)
  local step = play.current(rest)
  play.keep("reveal", {step = step.id})
  show_right(step)
end

-- Run in the session what a right answer leaves there.
local function leave_right(step, done)
  if is_code(step) then play.run_code(P.lesson:reference_of(step) or "", true, done)
  elseif step.kind == "predict" or step.kind == "run" then
    play.run_code((step.before or "") .. "\n" .. step.code, true, done)
  else play.run_code("", true, done) end
end

function M.skip(rest)
  local step = play.current(rest)
  show_right(step)
  local credit = P.open_way == step
  play.keep(credit and "pass" or "skip", {step = step.id, excused = credit or nil})
  leave_right(step, function() play.done(step) end)
end

M.is_code, M.with_starter = is_code, with_starter
return M
