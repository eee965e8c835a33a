-- notebooks.lua -- the notebooks in jupyter/notebooks, from the lessons
--
--     dlrepl docs/make/notebooks.lua jupyter/notebooks
--
-- For `make docs`. One file a group of lessons, as far as there are any, and the tour. Words are
-- English where DLREPL_LANG=en says so.

local notebook = require "dlrepl.notebook"

local folder = arg[1] or "jupyter/notebooks"

local WELCOME = [[
# Two minutes with dlrepl

PyTorch's names, semantics, printed text and random numbers, spoken in Lua. Run a cell with
**Shift-Enter**; **Tab** completes, **Shift-Tab** (or a `?` after a name) tells what something is;
the square stops what runs and keeps the session.]]

local GOODBYE = [[
That is the whole shape of it. `help()` tells where things are, `%help` lists the commands that begin
with `%`, and `docs/getting-started.md` goes on from here.]]

-- "a\n\nb" -> {"a", "b"}
local function blocks(code)
  local list = {}
  for block in (code .. "\n\n"):gmatch("(.-)\n\n+") do list[#list + 1] = block end
  return list
end

local function tour()
  local steps = assert(loadfile("lessons/tour.lua"))("steps")
  local cells = {{kind = "markdown", text = WELCOME}}
  for i, step in ipairs(steps) do
    local words = step[1]:gsub("\n", " ")
    local title, rest = words:match("^(.-[.?]) (.+)$") -- of one sentence: all of it is the title
    title = (title or words):gsub("%.$", "")
    cells[#cells + 1] = {kind = "markdown", text = string.format("## %d. %s", i, title)
                                                   .. (rest and "\n\n" .. rest or "")}
    for _, code in ipairs(blocks(step[2])) do cells[#cells + 1] = {kind = "code", text = code} end
  end
  cells[#cells + 1] = {kind = "markdown", text = GOODBYE}
  return cells
end

-- ---- groups of lessons --------------------------------------------------------------------------

-- File, title, and the last lesson of each group; the first follows the group before.
local GROUPS = {
  {"a-foundations", "Foundations", 7}, {"b-devices", "Devices", 11}, {"c-training", "Training", 20},
  {"d-memory", "Memory", 24}, {"e-mixed-precision", "Mixed precision", 27},
  {"f-performance", "Performance", 31}, {"g-scale", "Scale and serving", 36},
  {"h-capstones", "Capstones", 99},
}

local ABOUT = [[
# %s

Go down the cells. A lesson begins with the cell `:lesson`; a cell that begins with `:check` or
`:answer` is yours to fill and is judged when it runs. `:hint` gives a hint, `:review` tells where you
are; what you have done is kept.]]

-- The cells of all lessons of a group that are there; nil where there are none.
local function group(title, from, to)
  local format, export = require "dlrepl.lesson.format", require "dlrepl.lesson.export"
  local cells = {{kind = "markdown", text = ABOUT:format(title)}}
  for _, path in ipairs(format.paths(format.folder())) do
    local n = tonumber(path:match("(%d%d)_[%w_]+%.lua$"))
    if n >= from and n <= to then
      local lesson = assert(format.load(path))
      for _, cell in ipairs(export.cells(lesson)) do cells[#cells + 1] = cell end
    end
  end
  return cells[2] and cells
end

local function write(name, cells)
  local out = assert(io.open(folder .. "/" .. name .. ".ipynb", "w"))
  out:write(notebook.write(cells))
  out:close()
end

write("tour", tour())
local from = 1
for _, g in ipairs(GROUPS) do
  local cells = group(g[2], from, g[3])
  if cells then write(g[1], cells) end
  from = g[3] + 1
end
