-- canvas.lua -- a grid of characters that lines and points are drawn on
--
-- For the plots. A braille canvas has 2 by 4 dots a character and one colour; a plain one has one
-- dot a character and a mark for each series. Dots count from 0, the lowest left is (0, 0).
--
-- INVARIANT  A dot outside is dropped.
-- MUST NOT   know values or axes.

local methods = {}
methods.__index = methods

-- Braille's bits of a character's dots, [column][row from the top].
local BITS = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}
local BLANK = 0x2800

-- columns, rows: of characters
local function new(columns, rows, braille)
  local self = setmetatable({columns = columns, rows = rows, braille = braille, cell = {}}, methods)
  self.width = braille and 2 * columns or columns
  self.height = braille and 4 * rows or rows
  return self
end

function methods.dot(self, x, y, mark)
  if x < 0 or y < 0 or x >= self.width or y >= self.height then return end
  y = self.height - 1 - y
  if not self.braille then
    self.cell[y * self.columns + x] = mark
    return
  end
  local at = (y // 4) * self.columns + x // 2
  self.cell[at] = (self.cell[at] or 0) | BITS[x % 2 + 1][y % 4 + 1]
end

-- A straight line between two dots, ends included. All four are integers inside the canvas.
function methods.line(self, x0, y0, x1, y1, mark)
  local dx, dy = math.abs(x1 - x0), -math.abs(y1 - y0)
  local sx, sy = x0 < x1 and 1 or -1, y0 < y1 and 1 or -1
  local err = dx + dy
  while true do
    self:dot(x0, y0, mark)
    if x0 == x1 and y0 == y1 then return end
    local twice = 2 * err
    if twice >= dy then err, x0 = err + dy, x0 + sx end
    if twice <= dx then err, y0 = err + dx, y0 + sy end
  end
end

-- One row of characters, from the top, from 0.
function methods.row(self, r)
  local out = {}
  for c = 0, self.columns - 1 do
    local v = self.cell[r * self.columns + c]
    if not v then out[c + 1] = " "
    elseif self.braille then out[c + 1] = utf8.char(BLANK | v)
    else out[c + 1] = v
    end
  end
  return table.concat(out)
end

return new
