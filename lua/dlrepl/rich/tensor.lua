-- tensor.lua -- a tensor as a small table with its shape, dtype and device
--
-- For rich.lua; numpy arrays too. Long sides show their ends, more than two dimensions their first
-- matrices and the last.
--
-- INVARIANT  A few kilobytes and a few hundred elements are made, whatever the tensor's size.
--            Elements read as they print.

local core = require "dlrepl.core"
local html = require "dlrepl.rich.html"

local torch = core.torch
local M = {}

local escape = html.escape
local MOST, EDGE = 12, 5    -- rows or columns that are shown in full; else that many each end
local FEW, FEW_EDGE = 8, 3  -- the same where there are more than two dimensions
local MOST_SLICES = 3       -- matrices of these

-- ---- elements ---------------------------------------------------------------------------------

-- Both ends of one side, as views; how many come first.
local function ends(t, dim, most, edge)
  local n = t.shape[dim]
  if n <= most then return {t}, n end
  return {t:narrow(dim, 0, edge), t:narrow(dim, n - edge, edge)}, edge
end

-- The corners of a matrix as a small one on the CPU; how many of its rows and columns come first.
-- Nothing is made on the tensor's own device.
local function corners(t, most, edge)
  local rows, top = ends(t, 0, most, edge)
  local wide
  for i, part in ipairs(rows) do
    local columns
    columns, wide = ends(part, 1, most, edge)
    for k, corner in ipairs(columns) do columns[k] = corner:cpu() end
    rows[i] = columns[2] and torch.cat(columns, 1) or columns[1]
  end
  return rows[2] and torch.cat(rows, 0) or rows[1], top, wide
end

-- The texts of a matrix's elements as print() spells them, row by row; nil if they do not add up.
local function texts(t)
  local body, list = tostring(t):match("%b[]") or "", {}
  for word in body:gmatch("[^%s%[%],]+") do list[#list + 1] = word end
  return #list == t:numel() and list or nil
end

-- The numbers of the rows or columns that are shown, false where some are left out.
local function numbers(shown, before, total)
  local list = {}
  for i = 1, shown do
    if i > before and list[#list] == before - 1 and total > shown then list[#list + 1] = false end
    list[#list + 1] = i <= before and i - 1 or total - shown + i - 1
  end
  return list
end

local function head(columns, vector)
  if #columns == 1 and vector then return "" end
  local out = {vector and "" or "<th></th>"}
  for _, c in ipairs(columns) do
    out[#out + 1] = "<th>" .. (c == false and "…" or c) .. "</th>"
  end
  return "<thead><tr>" .. table.concat(out) .. "</tr></thead>"
end

-- A matrix [r, c] as a table; one row of a vector has no number.
local function grid(t, vector, most, edge)
  local small, top, wide = corners(t, most, edge)
  local list = texts(small)
  if not list then return "" end
  local across = numbers(small.shape[1], wide, t.shape[1])
  local out, r = {"<table>", head(across, vector), "<tbody>"}, 0
  for _, row in ipairs(numbers(small.shape[0], top, t.shape[0])) do
    local cells, c = {}, 0
    for _, column in ipairs(across) do
      local text = "…"
      if row ~= false and column ~= false then
        c = c + 1
        text = list[r * small.shape[1] + c]
      end
      cells[#cells + 1] = "<td>" .. escape(text) .. "</td>"
    end
    if row ~= false then r = r + 1 end
    local number = vector and "" or "<th>" .. (row == false and "…" or row) .. "</th>"
    out[#out + 1] = "<tr>" .. number .. table.concat(cells) .. "</tr>"
  end
  out[#out + 1] = "</tbody></table>"
  return table.concat(out)
end

-- ---- more than two dimensions -----------------------------------------------------------------

-- The k-th matrix (from 0) of t, and its place: "[1, 0, :, :]"
local function slice(t, k)
  local place, n = {}, t:dim() - 2
  for d = n - 1, 0, -1 do
    place[d + 1] = k % t.shape[d]
    k = k // t.shape[d]
  end
  for d = 1, n do t = t:select(0, place[d]) end
  return t, "[" .. table.concat(place, ", ") .. ", :, :]"
end

local function slices(t)
  local count, out = 1, {}
  for d = 0, t:dim() - 3 do count = count * t.shape[d] end
  local function add(k)
    local matrix, place = slice(t, k)
    out[#out + 1] = "<div><code>" .. place .. "</code></div>" .. grid(matrix, false, FEW, FEW_EDGE)
  end
  local all = count <= MOST_SLICES
  for k = 0, (all and count or MOST_SLICES - 1) - 1 do add(k) end
  if not all then
    local more = count - MOST_SLICES
    out[#out + 1] = string.format("<div>… %s more matri%s</div>", html.thousands(more),
                                  more == 1 and "x" or "ces")
    add(count - 1)
  end
  return table.concat(out)
end

-- ---- the whole --------------------------------------------------------------------------------

local function caption(t, kind)
  local parts = {"<b>" .. kind .. "</b> <code>" .. tostring(t.shape):match("%[.*%]") .. "</code>",
                 tostring(t.dtype):gsub("^torch%.", ""), tostring(t.device),
                 html.bytes(t:numel() * t:element_size())}
  if t.grad_fn then parts[#parts + 1] = "grad_fn=" .. t.grad_fn:name()
  elseif t.requires_grad then parts[#parts + 1] = "requires_grad"
  end
  for i = 2, #parts do parts[i] = escape(parts[i]) end
  return "<div>" .. table.concat(parts, " · ") .. "</div>"
end

local function body(t)
  local n = t:dim()
  if t:numel() == 0 then return "<div>(no elements)</div>" end
  if n == 0 then return grid(t:reshape({1, 1}), true, MOST, EDGE) end
  if n == 1 then return grid(t:unsqueeze(0), true, MOST, EDGE) end
  return n == 2 and grid(t, false, MOST, EDGE) or slices(t)
end

function M.bundle(v)
  local kind = "Tensor"
  if not core.is_tensor(v) then v, kind = torch.from_numpy(v), "array"
  elseif core.is_parameter(v) then kind = "Parameter"
  end
  local rows = torch.no_grad(function() return body(v:detach()) end)
  return {["text/html"] = '<div class="dlrepl-tensor">' .. caption(v, kind) .. rows .. "</div>"}
end

return M
