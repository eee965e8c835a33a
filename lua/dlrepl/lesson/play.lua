-- play.lua -- a lesson as a learner goes through it: one step after the other
--
-- For command.lua, answers.lua and manage.lua. Text and demonstrations run on by themselves; a step
-- that asks for something waits. Whatever a lesson runs in the session is queued here and run line
-- by line as if it had been typed.
--
-- INVARIANT  What is typed is never swallowed: without a command it is Lua. No answer locks a step,
--            and skipping one leaves the session as a right answer would.
-- MUST NOT   judge code in the session: client.lua asks the judge.

local client = require "dlrepl.lesson.client"
local format = require "dlrepl.lesson.format"
local front = require "dlrepl.lesson.front"
local journal = require "dlrepl.lesson.journal"
local rng = require "dlrepl.lesson.rng"
local words = require "dlrepl.lesson.words"
local world = require "dlrepl.lesson.world"

local host = dlrepl._lesson
local M = {}

-- The lesson that is open: lesson, step, state (from the journal), journal, queue, fails
local P = {queue = {}}
M.P = P

local function refuse(text) error(text, 0) end
M.refuse = refuse

-- ---- the queue: code for the session ----------------------------------------------------------

-- Cut code into the pieces that the prompt would run one by one.
local function pieces(code)
  local out, piece = {}, ""
  for line in (code:gsub("%s+$", "") .. "\n"):gmatch("(.-)\n") do
    piece = piece == "" and line or piece .. "\n" .. line
    if piece:find("%S") and host.check(piece) ~= "unfinished" then
      out[#out + 1] = piece
      piece = ""
    end
  end
  if piece:find("%S") then out[#out + 1] = piece end
  return out
end

-- Run code in the session, piece by piece with its prompts (or quietly, as one); then call done.
function M.run_code(code, quiet, done)
  local list = quiet and {code} or pieces(code)
  for i, piece in ipairs(list) do
    P.queue[#P.queue + 1] = {code = piece, quiet = quiet, done = i == #list and done or nil}
  end
  if #list == 0 and done then P.queue[#P.queue + 1] = {code = "", quiet = true, done = done} end
end

-- Run a cell's code in the session, as a cell of its own would be.
function M.run_cell(code, done) P.queue[#P.queue + 1] = {code = code, cell = true, done = done} end

-- The next text for the session, and whether quietly; nil when there is none.
function M.pump()
  local item = table.remove(P.queue, 1)
  P.running = item
  if not item then return nil end
  if not item.quiet and not item.cell then front.echo(item.code) end
  return item.code, item.quiet
end

function M.after(ok, kind, text)
  local item = P.running
  P.running = nil
  if item and item.done then item.done(ok, kind, text) end
  return M.pump()
end

-- ---- progress ---------------------------------------------------------------------------------

function M.journal()
  if not P.journal then
    P.journal = journal.open()
    local word = P.journal:complaint()
    if word then front.tagged("NOTE", word) end
  end
  return P.journal
end

-- Keep an event of the open lesson; a file that cannot be written is told once.
function M.keep(event, fields)
  local e = {event = event, lesson = P.lesson.id}
  for k, v in pairs(fields or {}) do e[k] = v end
  if e.step then
    local step = P.lesson:find(e.step)
    e.hash = step and format.hash(P.lesson, step)
  end
  local ok, why = M.journal():add(e)
  if not ok and why then
    front.tagged("NOTE", "your progress of this session is not kept: " .. tostring(P.journal.path)
                 .. " cannot be written (" .. why .. "). The lesson goes on.")
  end
  P.state = P.journal:state(P.lesson.id)
end

-- Accepted code by step: what a replay of the session takes before the reference.
function M.accepted()
  local out = {}
  for id, e in pairs(P.state.done) do
    if e.event == "pass" and type(e.code) == "table" then out[id] = e.code end
  end
  return out
end

function M.replay_of(step) return client.replay(P.lesson, step, M.accepted()) end

-- ---- showing a step ---------------------------------------------------------------------------

local show = {}

local function options(list)
  local letter = require("dlrepl.lesson.quiz").letter
  for i, o in ipairs(list or {}) do front.say(o, "  " .. letter(i) .. ") ") end
end

function show.predict(step)
  front.say(step.ask or "What will this print?")
  front.code(step.code)
  options(step.options)
end

function show.quiz(step)
  local quiz = require "dlrepl.lesson.quiz"
  front.say(step.ask)
  for i, l in ipairs(step.left or {}) do front.say(l, "  " .. i .. ") ") end
  for i, n in ipairs(quiz.shown(step)) do
    front.say(step.options[n], "  " .. quiz.letter(i) .. ") ")
  end
end

function show.explain(step)
  front.say(step.ask .. " (at most " .. string.format("%d", step.max_words) .. " words)")
end

function show.task(step)
  front.say(step.prompt)
  local starter = P.lesson:starter(step)
  if starter ~= "" then
    front.blank()
    front.code(starter)
  end
end
show.fix = show.task

-- What the step sets up, in the learner's own session: values to try things on.
local function set_up(step)
  if not step.setup then return end
  local cases = step.instances and step.instances(rng.new(P.state.seed)) or {{}}
  torch.manual_seed(cases[1].seed or 0)
  local ok, why = pcall(step.setup, _G, cases[1])
  if not ok then front.tagged("NOTE", "the step's set-up failed here: " .. tostring(why)) end
end

local function head(step)
  local n = #P.lesson.steps
  front.blank()
  local title = step.title and ": " .. step.title or ""
  front.say(string.format("Step %d of %d%s", step.index, n, title))
end

-- Say what the step asks for.
function M.show(step)
  head(step)
  show[step.kind](step)
  if not front.kernel() then front.say(words.way(step)) end
end

-- Begin a step that asks for something: what it sets up is there, its starter is in the session.
local function begin(step)
  P.step, P.fails, P.open_way, P.playing = step, {}, nil, nil
  host.clear()
  M.keep("at", {step = step.id})
  set_up(step)
  local starter = (step.kind == "task" or step.kind == "fix") and P.lesson:starter(step) or ""
  if starter ~= "" then M.run_code(starter, true) end
  M.show(step)
  host.keep(true)
  if (step.kind == "task" or step.kind == "fix") and not front.kernel() then
    client.warm(P.lesson, step, M.replay_of(step))
  end
end

-- ---- going on ---------------------------------------------------------------------------------

local function asks(step) return step.kind ~= "text" and step.kind ~= "run" end
M.asks = asks

local function finish()
  host.keep(false)
  client.close()
  P.step = nil
  if not P.state.finished then M.keep("finish") end
  local passed, skipped, tasks = 0, 0, 0
  for _, s in ipairs(P.lesson.steps) do
    if asks(s) then
      tasks = tasks + 1
      local e = P.state.done[s.id]
      if e and e.event == "skip" then skipped = skipped + 1 elseif e then passed = passed + 1 end
    end
  end
  front.blank()
  front.tagged("DONE", string.format("%s, %s: %d of %d steps answered%s.", P.lesson.id,
    P.lesson.title, passed, tasks, skipped > 0 and ", " .. skipped .. " skipped" or ""))
  front.say(":review shows what you did, :replay plays it with other numbers, :lesson lists the "
            .. "others.")
end

local demonstrate

-- Go to the first step from `from` on that is not done: text and demonstrations run by themselves.
function M.advance(from)
  for i = from, #P.lesson.steps do
    local step = P.lesson.steps[i]
    if not P.state.done[step.id] then
      if step.kind == "text" then
        front.blank()
        front.say(step.body)
        M.keep("seen", {step = step.id})
      elseif step.kind == "run" then
        return demonstrate(step, function() M.advance(i + 1) end)
      else
        return begin(step)
      end
    end
  end
  finish()
end

-- Run a step's code in the session for all to see, then say what it asks one to notice.
function demonstrate(step, done)
  host.keep(false)
  front.blank()
  if step.before then M.run_code(step.before, true) end
  M.run_code(step.code, false, function()
    if step.say then front.say(step.say) end
    if not P.state.done[step.id] then M.keep("seen", {step = step.id}) end
    if done then done() end
  end)
end
M.demonstrate = demonstrate

-- The step is done: on to the next (a notebook's cells say themselves which step they are).
function M.done(step)
  P.last = step
  host.keep(false)
  if front.kernel() then
    P.step = P.lesson.steps[step.index + 1]
    return
  end
  M.advance(step.index + 1)
end

-- ---- opening ----------------------------------------------------------------------------------

local function turn_on(wanted)
  if not wanted or not wanted.card then return end
  local lost = world.set(wanted)
  front.say(string.format("Your GPU for this lesson: %s%s.", torch.cuda.get_device_name(0),
                          wanted.vram and ", with " .. wanted.vram .. " of memory" or ""))
  if lost then front.tagged("NOTE", "tensors on the GPU that was there before are lost.") end
end

local function header(lesson)
  front.say(string.format("%s  %s  (about %d minutes)", lesson.id, lesson.title, lesson.minutes))
end

local function new_seed() return tonumber(host.id():sub(1, 6), 16) % 100000 end

-- Open a lesson where it was left, or at its beginning.
function M.open(lesson, seed)
  P.lesson, P.queue, P.step = lesson, {}, nil
  P.state = M.journal():state(lesson.id)
  header(lesson)
  turn_on(lesson.world)
  if not P.state.begun then M.keep("start", {seed = seed or new_seed()}) end
  if front.kernel() then
    for _, s in ipairs(lesson.steps) do if asks(s) then P.step = s break end end
    front.say("Go down the cells; each says what it wants.")
    return
  end
  local first = 1
  while lesson.steps[first] and P.state.done[lesson.steps[first].id] do first = first + 1 end
  if first > #lesson.steps then
    front.say("You have done every step. :review shows them, :replay plays it with other numbers.")
    return
  end
  if first > 1 then
    front.say(string.format("Welcome back: %d of %d steps are behind you.", first - 1,
                            #lesson.steps))
    for _, code in ipairs(M.replay_of(lesson.steps[first])) do M.run_code(code, true) end
    M.run_code("", true, function() M.advance(first) end)
    return
  end
  M.advance(1)
end

-- Go to a step, whatever is done; what lies before it has happened in the session.
function M.goto_step(step)
  P.queue = {}
  host.keep(false)
  for _, code in ipairs(M.replay_of(step)) do M.run_code(code, true) end
  M.run_code("", true, function()
    if step.kind == "text" then
      front.say(step.body)
      M.advance(step.index + 1)
    elseif step.kind == "run" then
      demonstrate(step, function() M.advance(step.index + 1) end)
    else
      begin(step)
    end
  end)
end

M.begin, M.new_seed = begin, new_seed

-- The open lesson's step: the one named, else the one it is at. Refuses where there is none.
function M.current(name)
  if not P.lesson then refuse("no lesson is open: :lesson lists them, :lesson L10 opens one") end
  if name and name ~= "" then
    local step = P.lesson:find(name)
    if not step then
      local ids = {}
      for i, s in ipairs(P.lesson.steps) do ids[i] = s.id end
      refuse("this lesson has no step '" .. name .. "'; its steps are " .. table.concat(ids, ", "))
    end
    return step
  end
  if not P.step then refuse("the lesson is over: :replay plays it again, :goto goes to a step") end
  return P.step
end

return M
