-- notebooks.lua -- the notebooks in jupyter/notebooks, from the lessons
--
--     dlrepl docs/make/notebooks.lua jupyter/notebooks
--
-- For `make docs`. One file a group of lessons, and the tour.

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

local pages = {{"tour.ipynb", tour}}

for _, page in ipairs(pages) do
  local out = assert(io.open(folder .. "/" .. page[1], "w"))
  out:write(notebook.write(page[2]()))
  out:close()
end
