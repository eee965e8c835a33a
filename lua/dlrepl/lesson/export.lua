-- export.lua -- lessons as notebooks: dlrepl export --ipynb [L10] [FOLDER]
--
-- For cli.lua. Each step becomes a cell of words and a cell that answers it; a cell names its step,
-- so cells may be run in any order and again. What a cell of code holds is all that is judged.
--
-- MUST NOT   hold an answer.

local client = require "dlrepl.lesson.client"
local format = require "dlrepl.lesson.format"
local quiz = require "dlrepl.lesson.quiz"

local M = {}

local function code_block(code) return "```lua\n" .. code:gsub("%s+$", "") .. "\n```" end

-- What :lesson opens it by: its id, or its path where it lies elsewhere.
local function name_of(lesson)
  return lesson.dir == format.folder() and lesson.id or lesson.path
end

-- Four blanks begin code in a lesson's text, as in Markdown, so a body is Markdown as it stands.
local cells = {}

function cells.text(_, step, add) add("markdown", step.body) end

function cells.run(lesson, step, add)
  add("markdown", code_block(step.code))
  add("code", ":lesson " .. name_of(lesson) .. " " .. step.id)
end

local function list(options)
  local out = {}
  for i, o in ipairs(options or {}) do out[i] = "- **" .. quiz.letter(i) .. ")** " .. o end
  return #out > 0 and "\n\n" .. table.concat(out, "\n") or ""
end

function cells.predict(_, step, add)
  add("markdown", (step.ask or "What will this print? Say it before you run it.") .. "\n\n"
      .. code_block(step.code) .. list(step.options))
  add("code", ":answer " .. step.id)
end

function cells.quiz(_, step, add)
  local shown, left = {}, {}
  for i, n in ipairs(quiz.shown(step)) do shown[i] = step.options[n] end
  for i, l in ipairs(step.left or {}) do left[i] = i .. ". " .. l end
  local pairs_of = #left > 0 and "\n\n" .. table.concat(left, "\n") or ""
  add("markdown", step.ask .. pairs_of .. list(shown))
  add("code", ":answer " .. step.id)
end

function cells.task(lesson, step, add)
  add("markdown", step.prompt)
  local starter = lesson:starter(step)
  add("code", ":check " .. step.id .. "\n" .. (starter ~= "" and starter:gsub("%s+$", "")
      or step.define and "function " .. step.define .. "(…)\nend" or "-- your lines"))
end
cells.fix = cells.task

function cells.explain(_, step, add)
  add("markdown", step.ask .. string.format(" (at most %d words)", step.max_words))
  add("code", ":answer " .. step.id .. "\n")
end

-- cells(lesson) -> the list that notebook.write takes
function M.cells(lesson)
  local out = {}
  local function add(kind, text) out[#out + 1] = {kind = kind, text = text} end
  local goals = {}
  for i, g in ipairs(lesson.goals) do goals[i] = "- " .. g end
  add("markdown", "# " .. lesson.id .. "  " .. lesson.title .. "\n\n" .. table.concat(goals, "\n"))
  add("code", ":lesson " .. name_of(lesson))
  for _, step in ipairs(lesson.steps) do
    if step.title then add("markdown", "## " .. step.title) end
    cells[step.kind](lesson, step, add)
  end
  add("code", ":review")
  return out
end

local function write(lesson, folder)
  local name = lesson.path:match("([^/]+)%.lua$")
  local path = folder .. "/" .. name .. ".ipynb"
  local f, why = io.open(path, "wb")
  if not f then return nil, why end
  local ok, failed = f:write((require("dlrepl.notebook").write(M.cells(lesson))))
  local closed, late = f:close() -- a full disk shows here
  if not ok or not closed then return nil, failed or late end
  print(path)
  return true
end

-- run("L10" or nil for all, folder) -> exit status
function M.run(name, folder)
  local list = {}
  if name then
    local lesson, why = format.find(name)
    if not lesson then io.stderr:write("dlrepl: ", why, "\n") return 1 end
    list[1] = lesson
  else
    for _, path in ipairs(format.paths(format.folder())) do
      local lesson, why = format.load(path)
      if not lesson then io.stderr:write("dlrepl: ", why, "\n") return 1 end
      list[#list + 1] = lesson
    end
  end
  for _, lesson in ipairs(list) do
    local ok, why = write(lesson, folder)
    if not ok then io.stderr:write("dlrepl: ", why, "\n") return 1 end
  end
  client.close()
  return 0
end

return M
