-- right.lua -- the right answers of a lesson, as JSON: dlrepl tests/lessons/right.lua L10
--
-- For lessons_terminal.t and notebook.py, which play the lessons from end to end.
local format = require "dlrepl.lesson.format"
local json = require "dlrepl.json"
local quiz = require "dlrepl.lesson.quiz"

local lesson = assert(format.find(arg[1]))
local out = {}
for _, step in ipairs(lesson.steps) do
  local item = {id = step.id, kind = step.kind, number = step.index}
  if step.kind == "quiz" or step.kind == "predict" then item.answer = quiz.right(step)
  elseif step.kind == "explain" then item.answer = lesson:reference_of(step):gsub("%s+", " ")
  elseif step.kind == "task" or step.kind == "fix" then
    item.file = lesson.dir .. "/" .. lesson.reference[step.id]
    item.code = lesson:reference_of(step)
  end
  if item.answer or item.code then out[#out + 1] = item end
end
print(json.encode({path = lesson.path, steps = out}))
