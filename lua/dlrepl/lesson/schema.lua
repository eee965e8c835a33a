-- schema.lua -- what a lesson table may hold
--
-- For format.lua and lint.lua. Every key is known, every id is unique, every kind of step has what
-- it needs; a problem is one sentence that names the place.
--
-- MUST NOT run a lesson's functions or read its files.

local near = require "dlrepl.near"
local ready = require "dlrepl.lesson.ready"

local M = {}

-- name -> type; "!" in front: must be there. A type that is a table of names: one of those.
local top = {
  id = "!string", format = "!number", title = "!string", minutes = "!number", needs = "table",
  answers = "!table", goals = "!table", world = "table", steps = "!table", reference = "table",
  also_right = "table", wrong = "table", survivors = "table", path = "string", dir = "string",
}
local world = {card = "string", vram = "string", devices = "number", exact = "boolean"}
local every = {id = "!string", kind = "!string", title = "string"}
local graded = {
  prompt = "!string", starter = "string", define = "string", instances = "function",
  setup = "function", drive = "function", check = "!function", hints = "!table",
  feedback = "!table", errors = "any", seconds = "number", watch = "string", exact = "boolean",
}
local kinds = {
  text = {body = "!string"},
  run = {code = "!string", expect = "table", say = "string", before = "string"},
  predict = {code = "!string", ask = "string", answer = "!string", accept = "table",
             options = "table", wrong = "table", say = "!string", before = "string"},
  task = graded,
  fix = {script = "!string", fault = "string"},
  quiz = {type = {one = true, many = true, order = true, number = true, match = true},
          ask = "!string", options = "table", left = "table", correct = "!any", why = "!any",
          unit = "string", tolerance = "number"},
  explain = {ask = "!string", rubric = "!string", max_words = "!number"},
}
for k, v in pairs(graded) do kinds.fix[k] = kinds.fix[k] or v end

local function names(...)
  local list = {}
  for _, t in ipairs {...} do for k in pairs(t) do list[#list + 1] = k end end
  table.sort(list)
  return list
end

local function is_type(v, want)
  if type(want) == "table" then return want[v] == true end
  return want == "any" or type(v) == want
end

local function type_word(want)
  if type(want) == "table" then return "one of " .. table.concat(names(want), ", ") end
  return want == "table" and "a list" or want == "any" and "there" or "a " .. want
end

-- Check a table's keys against one or more sets of fields.
local function check_keys(problems, where, t, ...)
  local sets = {...}
  for k in pairs(t) do
    local known = false
    for _, set in ipairs(sets) do known = known or set[k] ~= nil end
    if not known then
      local meant = type(k) == "string" and near.best(k, names(...))
      problems[#problems + 1] = string.format("%s: unknown key '%s'%s", where, tostring(k),
        meant and "; did you mean '" .. meant .. "'?" or "")
    end
  end
  for _, set in ipairs(sets) do
    for k, want in pairs(set) do
      local must = type(want) == "string" and want:sub(1, 1) == "!"
      local kind = must and want:sub(2) or want
      if t[k] == nil then
        if must then problems[#problems + 1] = where .. ": '" .. k .. "' is missing" end
      elseif not is_type(t[k], kind) then
        problems[#problems + 1] = string.format("%s: '%s' must be %s", where, k, type_word(kind))
      end
    end
  end
end

-- ---- steps ------------------------------------------------------------------------------------

local inspect = {}

local function is_words(list, least)
  if type(list) ~= "table" or #list < least then return false end
  for _, v in ipairs(list) do if type(v) ~= "string" or v == "" then return false end end
  return true
end

function inspect.task(add, s)
  if not is_words(s.hints, 4) or #s.hints ~= 4 then add("'hints' must be four texts") end
  for id, f in pairs(type(s.feedback) == "table" and s.feedback or {}) do
    if type(f) ~= "table" or type(f.why) ~= "string" or type(f.probe) ~= "string" then
      add("feedback '" .. tostring(id) .. "' needs 'why' and 'probe'")
    else
      for k in pairs(f) do
        if k ~= "why" and k ~= "probe" then
          add("feedback '" .. tostring(id) .. "' has an unknown key '" .. tostring(k) .. "'")
        end
      end
    end
  end
  if s.errors ~= nil and type(s.errors) ~= "function" and type(s.errors) ~= "table" then
    add("'errors' must be a table of kinds or a function")
  end
end
inspect.fix = inspect.task

function inspect.predict(add, s)
  if s.options and not is_words(s.options, 2) then add("'options' must be two texts or more") end
  if s.options and type(s.answer) == "string" then
    local found = false
    for _, o in ipairs(s.options) do found = found or o == s.answer end
    if not found then add("'answer' is none of the options") end
  end
end

local quiz = {}
function quiz.one(add, s)
  if not is_words(s.options, 2) then return add("'options' must be two texts or more") end
  if math.type(s.correct) ~= "integer" or not s.options[s.correct] then
    add("'correct' must be the number of an option")
  end
  if type(s.why) ~= "table" or #s.why ~= #s.options then
    add("'why' must say why for each option")
  end
end
function quiz.many(add, s)
  if not is_words(s.options, 2) then return add("'options' must be two texts or more") end
  if type(s.correct) ~= "table" then return add("'correct' must be a list of numbers") end
  for _, n in ipairs(s.correct) do
    if not s.options[n] then add("'correct' names an option that is not there") end
  end
  if type(s.why) ~= "table" or #s.why ~= #s.options then
    add("'why' must say why for each option")
  end
end
function quiz.order(add, s)
  if not is_words(s.options, 2) then add("'options' must be two texts or more, in order") end
  if s.correct ~= true and type(s.correct) ~= "table" then
    add("'correct' must be true (as listed), or a list of further right orders")
  end
end
function quiz.number(add, s)
  if type(s.correct) ~= "number" then add("'correct' must be a number") end
  if type(s.tolerance) ~= "number" then add("'tolerance' is missing") end
end
function quiz.match(add, s)
  if not is_words(s.left, 2) then add("'left' must be two texts or more") end
  if not is_words(s.options, 2) then add("'options' must be two texts or more") end
  if type(s.correct) ~= "table" or #s.correct ~= #(s.left or {}) then
    add("'correct' must give the number of an option for each on the left")
  end
end
function inspect.quiz(add, s) if quiz[s.type] then quiz[s.type](add, s) end end

local function check_step(problems, lesson, i, s, seen)
  local where = lesson.id .. "." .. tostring(type(s) == "table" and s.id or i)
  local function add(text) problems[#problems + 1] = where .. ": " .. text end
  if type(s) ~= "table" then return add("a step must be a table") end
  local fields = kinds[s.kind]
  if not fields then
    return add(string.format("'kind' must be one of %s", table.concat(names(kinds), ", ")))
  end
  check_keys(problems, where, s, every, fields)
  if type(s.id) ~= "string" or not s.id:find("^%l[%l%d_]*$") then
    add("'id' must be a small word")
  elseif seen[s.id] then
    add("the id is used twice")
  end
  seen[s.id or i] = s
  if inspect[s.kind] then inspect[s.kind](add, s) end
end

-- ---- the whole --------------------------------------------------------------------------------

local function check_names(problems, lesson, seen)
  local function add(text) problems[#problems + 1] = lesson.id .. ": " .. text end
  for _, part in ipairs {"reference", "also_right"} do
    for id in pairs(lesson[part] or {}) do
      if not seen[id] then add(part .. " names an unknown step '" .. tostring(id) .. "'") end
    end
  end
  for i, w in ipairs(lesson.wrong or {}) do
    local step = type(w) == "table" and seen[w.step]
    if type(w) ~= "table" or not step then
      add("wrong[" .. i .. "] names no step")
    else
      check_keys(problems, lesson.id .. ".wrong[" .. i .. "]", w,
                 {step = "!string", file = "!string", fails = "!string", feedback = "!string"})
      if type(step.feedback) == "table" and w.feedback and not step.feedback[w.feedback]
         and not ready.feedback[w.feedback] then
        add("wrong[" .. i .. "] wants feedback '" .. w.feedback .. "' that the step has not")
      end
    end
  end
end

-- check(lesson) -> list of problems, empty for a sound one
function M.check(lesson)
  local problems, seen = {}, {}
  if type(lesson.id) ~= "string" or not lesson.id:find("^%u%d%d$") then
    return {"'id' must be a letter and two digits, as in L10"}
  end
  check_keys(problems, lesson.id, lesson, top)
  if lesson.format ~= 1 then problems[#problems + 1] = lesson.id .. ": 'format' must be 1" end
  if type(lesson.world) == "table" then
    check_keys(problems, lesson.id .. ".world", lesson.world, world)
  end
  if type(lesson.steps) ~= "table" or #lesson.steps == 0 then
    problems[#problems + 1] = lesson.id .. ": there are no steps"
    return problems
  end
  for i, s in ipairs(lesson.steps) do check_step(problems, lesson, i, s, seen) end
  check_names(problems, lesson, seen)
  return problems
end

return M
