-- page.lua -- a help entry as a page of plain text
--
-- INVARIANT  No line is longer than `columns`, except what an example prints.
-- MUST NOT   look entries up.

local spelling = dlrepl._pytorch

local M = {}
local LABEL = 11  -- columns of "signature  "
local NARROW = 60 -- below that the labels stand on lines of their own

local function len(text) return utf8.len(text) or #text end

-- Text wrapped to lines of `room` columns; later lines are indented by `hang`. A word that is too
-- long by itself is cut.
local function wrap(text, room, hang)
  local lines, line = {}, ""
  local function start(word)
    line = (#lines > 0 and string.rep(" ", hang) or "") .. word
    while len(line) > room do
      local cut = utf8.offset(line, room + 1)
      lines[#lines + 1] = line:sub(1, cut - 1)
      line = string.rep(" ", hang) .. line:sub(cut)
    end
  end
  for word in text:gmatch("%S+") do
    if line == "" then start(word)
    elseif len(line) + 1 + len(word) <= room then line = line .. " " .. word
    else
      lines[#lines + 1] = line
      start(word)
    end
  end
  if line ~= "" then lines[#lines + 1] = line end
  return lines
end

-- Add a labelled block of lines.
local function block(out, label, lines, columns)
  local narrow = columns < NARROW
  if narrow then out[#out + 1] = label end
  for i, line in ipairs(lines) do
    local lead = narrow and "  " or i == 1 and label .. string.rep(" ", LABEL - #label)
      or string.rep(" ", LABEL)
    out[#out + 1] = lead .. line
  end
end

local function room_of(columns) return columns - (columns < NARROW and 2 or LABEL) end

local function text_block(out, label, text, columns, hang)
  if text then block(out, label, wrap(text, room_of(columns), hang or 0), columns) end
end

local function example_lines(entry, columns)
  local lines = {}
  for _, step in ipairs(entry.example) do
    for i, line in ipairs(wrap(step.code, room_of(columns) - 2, 2)) do
      lines[#lines + 1] = (i == 1 and "> " or "  ") .. line
    end
    for _, printed in ipairs(step.prints) do lines[#lines + 1] = printed end
  end
  return lines
end

-- What PyTorch has no counterpart of.
local own = {"dlrepl", "pcall", "math%.", "table%.unpack", "~= nil", " and .* or "}

-- The example in Python's spelling, where it differs and can be said.
local function python_lines(entry, columns)
  local codes, lines, room = {}, {}, room_of(columns)
  if entry.py then return wrap(entry.py, room, 4) end
  local said = {} -- line by line, as they are typed
  for i, step in ipairs(entry.example) do
    codes[i] = step.code
    said[i] = spelling(step.code):gsub("%s+$", "")
  end
  local text, python = table.concat(codes, "\n"), table.concat(said, "\n")
  for _, pattern in ipairs(own) do
    if text:find(pattern) then return {} end
  end
  if python == text then return {} end
  for line in python:gmatch("[^\n]+") do
    local lead = line:match("^ *")
    for _, part in ipairs(wrap(line, room - #lead, 4)) do lines[#lines + 1] = lead .. part end
  end
  return lines
end

-- The parameters of a signature, one text each: "Tensor self", "bool keepdim=False".
function M.parameters(signature)
  local list = {}
  local inside = (signature:match("%b()") or "()"):sub(2, -2)
  inside = inside:gsub("%b()", function(tuple) return (tuple:gsub(",", "\1")) end)
  for part in inside:gmatch("[^,]+") do
    list[#list + 1] = part:gsub("\1", ","):match("^%s*(.-)%s*$")
  end
  return list
end

-- "keepdim=False, dtype=None": what the signatures say after `=`.
local function defaults(signatures)
  local seen, parts = {}, {}
  for _, sig in ipairs(signatures) do
    for _, parameter in ipairs(M.parameters(sig)) do
      local name, value = parameter:match("([%w_]+)=(.+)$")
      if name and not seen[name] then parts[#parts + 1] = name .. "=" .. value end
      seen[name or ""] = true
    end
  end
  return parts[1] and table.concat(parts, ", ")
end

-- text(found, detail, columns). found: {title =, signatures = list, entry =, help =, note =,
-- grad =}
function M.text(found, detail, columns)
  local entry, out = found.entry, {}
  for _, line in ipairs(wrap(found.title, columns, 2)) do out[#out + 1] = line end
  for _, line in ipairs(wrap(found.help or "", columns - 2, 0)) do out[#out + 1] = "  " .. line end
  if found.note then
    for _, line in ipairs(wrap(found.note, columns - 2, 0)) do out[#out + 1] = "  " .. line end
  end
  local lines = {}
  for _, sig in ipairs(found.signatures) do
    for _, line in ipairs(wrap(sig, room_of(columns), 4)) do lines[#lines + 1] = line end
  end
  out[#out + 1] = ""
  if #lines > 0 then block(out, "signature", lines, columns) end
  if detail == 0 or not entry then return table.concat(out, "\n") end
  text_block(out, "shapes", entry.shapes ~= "none" and entry.shapes, columns)
  text_block(out, "defaults", defaults(found.signatures), columns)
  text_block(out, "raises", entry.raises, columns)
  text_block(out, "gradient", found.grad, columns)
  block(out, "example", example_lines(entry, columns), columns)
  local translated = python_lines(entry, columns)
  if #translated > 0 then block(out, "PyTorch", translated, columns) end
  return table.concat(out, "\n")
end

M.wrap = wrap
return M
