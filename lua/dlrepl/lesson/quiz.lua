-- quiz.lua -- answers to questions that are not code: read, and marked
--
-- For play.lua and batch.lua. An answer is text as typed: "b", "a c", "3 1 2", "12.5 MiB",
-- "1b 2a 3c". What cannot be read is said so and counts for nothing.
--
-- MUST NOT   print.

local M = {}

local function letter(i) return string.char(96 + i) end
M.letter = letter

-- Numbers of the options that the text names, by letter or by number.
local function read_letters(text, most)
  local list, seen = {}, {}
  for word in text:lower():gmatch("[%w]+") do
    local n = #word == 1 and word:find("%l") and word:byte() - 96 or tonumber(word)
    if not n or n ~= math.floor(n) or n < 1 or n > most then
      return nil, "'" .. word .. "' is none of a to " .. letter(most)
    end
    if seen[n] then return nil, "'" .. word .. "' is there twice" end
    seen[n] = true
    list[#list + 1] = n
  end
  if #list == 0 then return nil, "an answer is a letter: a to " .. letter(most) end
  return list
end

local units = {b = 1, kb = 1e3, mb = 1e6, gb = 1e9, kib = 2 ^ 10, mib = 2 ^ 20, gib = 2 ^ 30}

local function read_number(text, unit)
  local digits, word = text:match("^%s*([%+%-]?[%d%.,_]*%d[%d%.,_eE%+%-]*)%s*([%a%%]*)%s*$")
  local n = digits and tonumber((digits:gsub("[,_]", "")))
  if not n then return nil, "an answer is a number" .. (unit and ", in " .. unit or "") end
  if word ~= "" and unit and word:lower() ~= unit:lower() then
    local from, to = units[word:lower()], units[unit:lower()]
    if not from or not to then return nil, "the unit is " .. unit .. ", not " .. word end
    n = n * from / to
  end
  return n
end

local function same_list(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do if a[i] ~= b[i] then return false end end
  return true
end

-- A whole number that is the same for the same text: the order in which blocks are shown.
local function text_seed(text)
  local h = 7
  for i = 1, #text do h = (h * 31 + text:byte(i)) % 1000003 end
  return h
end

-- The options as shown: for `order` they are mixed, but always in the same way, never right.
function M.shown(step)
  local n = #(step.options or {})
  local order = {}
  for i = 1, n do order[i] = i end
  if step.type ~= "order" then return order end
  local h = text_seed(step.id .. step.ask)
  for i = n, 2, -1 do
    h = (h * 1103515245 + 12345) % 2147483648
    local j = h // 65536 % i + 1
    order[i], order[j] = order[j], order[i]
  end
  local sorted = true
  for i = 1, n do sorted = sorted and order[i] == i end
  if sorted then order[1], order[2] = order[2], order[1] end
  return order
end

-- Nothing wrong was named, but not all that is right.
M.INCOMPLETE = "What you named is right; something is missing."

local mark = {}

function mark.one(step, text)
  local list, why = read_letters(text, #step.options)
  if not list then return nil, why end
  if #list > 1 then return nil, "one letter, please" end
  return list[1] == step.correct, step.why[list[1]]
end

function mark.many(step, text)
  local list, why = read_letters(text, #step.options)
  if not list then return nil, why end
  table.sort(list)
  local right, is_right = {table.unpack(step.correct)}, {}
  table.sort(right)
  if same_list(list, right) then
    local words = {}
    for i, n in ipairs(right) do words[i] = letter(n) .. ": " .. step.why[n] end
    return true, table.concat(words, " ")
  end
  for _, n in ipairs(right) do is_right[n] = true end
  for _, n in ipairs(list) do
    if not is_right[n] then return false, letter(n) .. ": " .. step.why[n] end
    is_right[n] = nil
  end
  return false, M.INCOMPLETE
end

function mark.order(step, text)
  local list, why = read_letters(text, #step.options)
  if not list then return nil, why end
  if #list ~= #step.options then
    return nil, "name all " .. #step.options .. " blocks, each once"
  end
  local shown, order = M.shown(step), {}
  for i, n in ipairs(list) do order[i] = shown[n] end
  local right = {}
  for i = 1, #step.options do right[i] = i end
  local rights = {right}
  if type(step.correct) == "table" then table.move(step.correct, 1, #step.correct, 2, rights) end
  for _, r in ipairs(rights) do if same_list(order, r) then return true, step.why end end
  return false, step.why
end

function mark.number(step, text)
  local n, why = read_number(text, step.unit)
  if not n then return nil, why end
  local limit = step.tolerance * math.max(math.abs(step.correct), 1e-300)
  return n == n and math.abs(n - step.correct) <= limit, step.why
end

function mark.match(step, text)
  local got, n = {}, 0
  for left, right in text:lower():gmatch("(%d+)%s*[%-:=>]*%s*(%l)") do
    local i = tonumber(left)
    if not step.left[i] then return nil, "there is no " .. left .. " on the left" end
    if got[i] then return nil, left .. " is there twice" end
    got[i], n = right:byte() - 96, n + 1
  end
  if n ~= #step.left then return nil, "answer as in 1b 2a, one letter for each number" end
  for i = 1, n do
    if got[i] ~= step.correct[i] then
      return false, i .. letter(got[i]) .. " is not a pair. " ..
        (type(step.why) == "table" and step.why[i] or step.why)
    end
  end
  return true, type(step.why) == "string" and step.why or "Each pair is right."
end

-- mark(step, text) -> right?, why; or nil and what is wrong with the text itself
function M.mark(step, text)
  if text:find("^%s*$") then return nil, "the answer is empty" end
  return mark[step.type](step, text)
end

-- ---- predictions ------------------------------------------------------------------------------

local function normal(text)
  return (text:lower():gsub("['\"`]", ""):gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

-- predict(step, text) -> right?, the word for a wrong one or nil; nil and why if it cannot be read
function M.predict(step, text)
  if text:find("^%s*$") then return nil, "the answer is empty" end
  local said = text
  local n = step.options and #normal(text) == 1 and normal(text):byte() - 96
  if n and step.options[n] then said = step.options[n] end
  if normal(said) == normal(step.answer) then return true end
  for _, also in ipairs(step.accept or {}) do
    if normal(said) == normal(also) then return true end
  end
  local a, b = tonumber(said), tonumber(step.answer)
  if a and a == b then return true end
  for wrong, word in pairs(step.wrong or {}) do
    if normal(said) == normal(wrong) then return false, word end
  end
  if step.options and not n then
    for _, o in ipairs(step.options) do if normal(said) == normal(o) then return false end end
    return nil, "an answer is a letter: a to " .. letter(#step.options)
  end
  return false
end

-- The letter or text that is right, as one would type it.
function M.right(step)
  if step.kind == "predict" then
    for i, o in ipairs(step.options or {}) do if o == step.answer then return letter(i) end end
    return step.answer
  end
  if step.type == "one" then return letter(step.correct) end
  local parts = {}
  if step.type == "many" then
    for i, n in ipairs(step.correct) do parts[i] = letter(n) end
  elseif step.type == "order" then
    local at = {}
    for i, n in ipairs(M.shown(step)) do at[n] = letter(i) end
    parts = at
  elseif step.type == "match" then
    for i, n in ipairs(step.correct) do parts[i] = i .. letter(n) end
  else
    return string.format("%.15g", step.correct) .. (step.unit and " " .. step.unit or "")
  end
  return table.concat(parts, " ")
end

return M
