-- text.lua -- words for a terminal: reflowed, led by words that say pass or fail
--
-- For play.lua and lint.lua. Text is paragraphs; a line that begins with four blanks is code and
-- stays as it is. No line of words is wider than the terminal, nor than 100 columns.
--
-- MUST NOT know lessons.

local host = dlrepl._lesson
local utf8len = utf8.len
local M = {}
local WIDEST, NARROWEST = 100, 24

function M.columns()
  local n = math.tointeger(tonumber(os.getenv("DLREPL_COLUMNS"))) or host.columns()
  return math.max(NARROWEST, math.min(n, WIDEST))
end

local function len(s) return utf8len(s) or #s end

-- One paragraph as lines; the first is led by `lead`, later ones by as many blanks (or `hang`).
local function paragraph(out, text, columns, lead, hang)
  local line, empty = lead, true
  hang = hang or string.rep(" ", len(lead))
  for word in text:gmatch("%S+") do
    if not empty and len(line) + 1 + len(word) > columns then
      out[#out + 1] = line
      line, empty = hang, true
    end
    line = line .. (empty and "" or " ") .. word
    empty = false
  end
  out[#out + 1] = (line:gsub("%s+$", ""))
end

-- wrap(text, columns, lead, hang) -> lines
function M.wrap(text, columns, lead, hang)
  local out, words = {}, {}
  local first, later = lead or "", hang or string.rep(" ", len(lead or ""))
  local function flush()
    if #words == 0 then return end
    paragraph(out, table.concat(words, " "), columns, first, later)
    first, words = later, {}
  end
  for line in (text:gsub("%s+$", "") .. "\n"):gmatch("(.-)\n") do
    if line:find("^    ") then
      flush()
      out[#out + 1] = (later .. line:sub(3)):gsub("%s+$", "")
    elseif line:find("^%s*$") then
      flush()
      if #out > 0 and out[#out] ~= "" then out[#out + 1] = "" end
    else
      words[#words + 1] = line
    end
  end
  flush()
  return out
end

-- The four parts of a failure, or any list of {label, text}: labels in a column where there is
-- room, above their text where there is not.
function M.labelled(rows, columns)
  local widest, out = 0, {}
  for _, row in ipairs(rows) do widest = math.max(widest, len(row[1])) end
  local narrow = columns < 60
  for _, row in ipairs(rows) do
    local label, text = row[1], row[2]
    if text and text ~= "" then
      local lead = narrow and "  " or "  " .. label .. string.rep(" ", widest - len(label) + 2)
      if narrow then out[#out + 1] = label .. ":" end
      local blank = string.rep(" ", len(lead))
      local n = 0
      for line in (text .. "\n"):gmatch("(.-)\n") do
        n = n + 1
        for _, l in ipairs(M.wrap(line, columns, n == 1 and lead or blank, blank)) do
          out[#out + 1] = l
        end
      end
    end
  end
  return out
end

-- Code as it is shown: an indent, nothing else.
function M.code(text)
  return (text:gsub("%s+$", ""):gsub("([^\n]+)", "  %1"))
end

local roles = {PASS = "prompt", FAIL = "error", HINT = "note", NOTE = "note"}

-- tag("PASS") -> "[PASS]", in its colour where there are colours
function M.tag(word)
  local on, off = host.tint(roles[word] or "note")
  return on .. "[" .. word .. "]" .. off
end

return M
