-- board.lua -- the output of a notebook in which progress bars are drawn
--
-- For progress.lua. All bars that are open share one output with a display id; each drawing
-- replaces it. Clients that know no updates show the first state alone.
--
-- MUST NOT   know loops, or how often to draw.

local html = require "dlrepl.rich.html"
local rich = require "dlrepl.rich"

local M = {}

local methods = {}
local meta = {__index = methods}
local COLUMNS = 79
local count = 0

-- An id that no earlier run of the kernel has used: outputs of those may still be in the notebook.
function M.id(what)
  count = count + 1
  return string.format("dlrepl-%s-%x-%x-%d", what, os.time(),
                       math.floor(dlrepl.clock() * 1e6) & 0xffffff, count)
end

function M.new()
  return setmetatable({id = M.id("progress"), drawn = -math.huge, there = false}, meta)
end

local function row(head, tail, done)
  local bar = done and string.format('<progress value="%.4f" max="1" style="width:16em;'
    .. 'vertical-align:middle"></progress>', math.max(0, math.min(done, 1))) or ""
  return '<div style="font-family:monospace;white-space:pre">' .. html.escape(head) .. bar
         .. html.escape(tail) .. "</div>"
end

-- Draw these bars, one below the other. sides(bar) gives what stands left and right of a bar and
-- the share that is done, line(bar, columns) all of it as text.
function methods.draw(self, bars, sides, line)
  local kernel = rich.kernel()
  if not kernel or #bars == 0 then return end
  local rows, lines = {}, {}
  for i, bar in ipairs(bars) do
    rows[i] = row(sides(bar))
    lines[i] = line(bar, COLUMNS)
  end
  self.drawn = dlrepl.clock()
  kernel.display({["text/html"] = rich.clean(table.concat(rows)),
                  ["text/plain"] = rich.clean(table.concat(lines, "\n"))}, nil, self.id, self.there)
  self.there = true
end

return M
