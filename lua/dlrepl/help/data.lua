-- data.lua -- the entries of help, read from the text files beside this one
--
-- A file is a list of entries. A line that is a name begins one; then come lines of a key and its
-- text (sig, help, shapes, raises, py), `> ` a line of the example, `= ` what it prints. Lines
-- `@key text` hold for the entries below until the next of that key.
--
-- INVARIANT  Every name occurs once. A name without dots is an operation's, or that of a function
--            both of torch and of tensors.
-- MUST NOT   know how a page looks.

local M = {}
local FILES = {"pointwise", "reduce", "make", "shape", "nnops", "tensor", "layers", "module",
               "rest", "memory", "more", "amp"}
local path = package.path:gsub("%.lua", ".txt")
local texts            -- of the files, by name; read together, taken apart one by one
local entries, order = {}, {}

local keys = {sig = true, help = true, shapes = true, raises = true, py = true}

local function read_line(line, state)
  local key, text = line:match("^@(%w+) (.*)$")
  if key then
    state.common[key] = text
    return
  end
  local mark, rest = line:match("^([>=]) ?(.*)$")
  if mark == ">" then
    table.insert(state.entry.example, {code = rest, prints = {}})
  elseif mark == "=" then
    local last = state.entry.example[#state.entry.example]
    table.insert(last.prints, rest)
  else
    key, text = line:match("^(%w+) (.*)$")
    if keys[key] then
      state.entry[key] = text
    elseif line ~= "" then
      state.entry = {name = line, example = {}, shapes = state.common.shapes,
                     raises = state.common.raises}
      entries[line] = state.entry
      order[#order + 1] = line
    end
  end
end

local function read_files()
  texts = {}
  for _, name in ipairs(FILES) do
    local where = package.searchpath("dlrepl.help." .. name, path)
    local file = where and io.open(where, "rb")
    texts[name] = file and "\n" .. file:read("a") or ""
    if file then file:close() end
  end
end

local function take_apart(name)
  local state = {common = {}}
  for line in texts[name]:gmatch("[^\n]+") do read_line(line, state) end
  texts[name] = nil
end

-- The entry of this very name, or nil.
function M.get(name)
  if not texts then read_files() end
  if entries[name] then return entries[name] end
  for _, file in ipairs(FILES) do
    if texts[file] and texts[file]:find("\n" .. name .. "\n", 1, true) then take_apart(file) end
  end
  return entries[name]
end

-- All names.
function M.names()
  if not texts then read_files() end
  for _, file in ipairs(FILES) do
    if texts[file] then take_apart(file) end
  end
  return order
end

return M
