-- notebook.lua -- writes Jupyter notebooks (.ipynb)
--
--     require("dlrepl.notebook").write {
--       {kind = "markdown", text = "# A title"},
--       {kind = "code", text = "x = torch.ones(2)"},
--     }
--
-- For the generated notebooks and whatever exports what was typed. The text is laid out as
-- Jupyter itself saves it, so that saving one unchanged changes nothing.
-- FORMAT     nbformat 4.5: nbformat.readthedocs.io/en/latest/format_description.html
--
-- INVARIANT  The same cells give the same text, cell ids included.
-- MUST NOT   know lessons.

local core = require "dlrepl.core"
local json = require "dlrepl.json"
local repr = require "dlrepl.pyrepr"

local M = {}

local KINDS = {markdown = true, code = true, raw = true}

-- "a\nb" -> {"a\n", "b"}: a cell's text is a list of lines with their ends.
local function lines_of(text)
  local list = {}
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then list[#list + 1] = line end
  end
  return list
end

-- An id from the cell's text and how often that text came before: FNV-1a, 64 bits.
local function id_of(cell, times)
  local h = -3750763034362895579
  for _, part in ipairs {cell.kind, cell.text, tostring(times)} do
    for i = 1, #part do h = (h ~ part:byte(i)) * 1099511628211 end
  end
  return string.format("%016x", h)
end

local function check(cell, i)
  if type(cell) ~= "table" or not KINDS[cell.kind] then
    local has = type(cell) == "table" and cell.kind or cell
    core.raise("ValueError", string.format("write(): cell %d must have kind = \"markdown\" or "
               .. "\"code\", but has %s", i, repr.repr(has)))
  elseif type(cell.text) ~= "string" or not utf8.len(cell.text) then
    core.raise("ValueError", string.format("write(): cell %d needs a text in UTF-8", i))
  end
end

-- ---- the text ---------------------------------------------------------------------------------

local pad = string.rep

local function strings(list, depth)
  if #list == 0 then return "[]" end
  local out = {}
  for i, s in ipairs(list) do out[i] = pad(" ", depth + 1) .. json.encode(s) end
  return "[\n" .. table.concat(out, ",\n") .. "\n" .. pad(" ", depth) .. "]"
end

local function cell_text(cell, id)
  local code = cell.kind == "code"
  local out = {'   "cell_type": "' .. cell.kind .. '"'}
  if code then out[#out + 1] = '   "execution_count": null' end
  out[#out + 1] = '   "id": "' .. id .. '"'
  out[#out + 1] = '   "metadata": {}'
  if code then out[#out + 1] = '   "outputs": []' end
  out[#out + 1] = '   "source": ' .. strings(lines_of(cell.text), 3)
  return "  {\n" .. table.concat(out, ",\n") .. "\n  }"
end

local TAIL = [[
 "metadata": {
  "kernelspec": {
   "display_name": "dlrepl (PyTorch in Lua)",
   "language": "lua",
   "name": "dlrepl"
  },
  "language_info": {
   "codemirror_mode": "lua",
   "file_extension": ".lua",
   "mimetype": "text/x-lua",
   "name": "lua",
   "pygments_lexer": "lua"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
]]

-- write(cells) -> JSON text. cells: a list of {kind = "markdown", "code" or "raw", text = string}.
-- ValueError for another kind or a text that is not UTF-8.
function M.write(cells)
  if type(cells) ~= "table" then
    core.raise("TypeError", "write() expects a list of cells, but got " .. repr.typename(cells))
  end
  local out, seen = {}, {}
  for i = 1, #cells do
    local cell = cells[i]
    check(cell, i)
    local key = cell.kind .. cell.text
    seen[key] = (seen[key] or 0) + 1
    out[i] = cell_text(cell, id_of(cell, seen[key]))
  end
  local body = #out == 0 and "[]" or "[\n" .. table.concat(out, ",\n") .. "\n ]"
  return '{\n "cells": ' .. body .. ",\n" .. TAIL
end

return M
