-- format.lua -- a lesson file, read
--
-- For everything that plays, judges or tests lessons. A lesson is a Lua table, data first; the file
-- sees the standard functions that touch nothing outside, torch's names, `lesson` and `T`.
--
-- INVARIANT  What load returns has passed schema.check.
-- MUST NOT   run a lesson's functions.

local schema = require "dlrepl.lesson.schema"

local host = dlrepl._lesson
local open = io.open
local M = {}
local MOST = 20000000 -- instructions a lesson file may take to be read

local function read(path)
  local f, why = open(path, "rb")
  if not f then return nil, why end
  local text = f:read("a")
  f:close()
  return text
end
M.read = read

-- ---- words ------------------------------------------------------------------------------------

-- Another language's words: lessons/words/<language>.lua returns {[English] = translated}.
local function catalogue(dir)
  local wish = os.getenv("DLREPL_LANG") or os.getenv("LC_ALL") or os.getenv("LANG") or ""
  local language = wish:match("^(%l%l)")
  local text = language and language ~= "en" and read(dir .. "/words/" .. language .. ".lua")
  local chunk = text and load(text, "=words", "t", {})
  local ok, words = pcall(chunk or error)
  return ok and type(words) == "table" and words or {}
end

-- ---- one file ---------------------------------------------------------------------------------

local plain = {"assert", "error", "ipairs", "math", "next", "pairs", "pcall", "rawequal", "rawget",
               "rawlen", "select", "string", "table", "tonumber", "tostring", "type", "utf8"}

local function environment(dir)
  local env = {}
  for _, name in ipairs(plain) do env[name] = _G[name] end
  for _, name in ipairs {"torch", "nn", "F", "optim", "np", "None", "slice", "Dataset",
                         "DataLoader", "TensorDataset", "dlrepl"} do
    env[name] = _G[name]
  end
  local words = catalogue(dir)
  env.T = function(text) return words[text] or text end
  env.lesson = function(t)
    if type(t) ~= "table" then error("lesson{…} takes a table", 2) end
    return t
  end
  return env
end

-- Run the chunk with a limit; its value, or nil and why not.
local function run_limited(chunk)
  local co = coroutine.create(chunk)
  debug.sethook(co, function() error("it does not come to an end", 0) end, "", MOST)
  local ok, value = coroutine.resume(co)
  if ok and coroutine.status(co) == "dead" then return value end
  return nil, ok and "it yields" or tostring(value)
end

local Lesson = {}
Lesson.__index = Lesson

-- The text of a file beside the lesson; nil and why not.
function Lesson:file(name)
  if type(name) ~= "string" or name:find("..", 1, true) or name:sub(1, 1) == "/" then
    return nil, "'" .. tostring(name) .. "' does not lie beside the lesson"
  end
  return read(self.dir .. "/" .. name)
end

-- What a step starts from: the text of `script` or `starter`, "" where there is none.
function Lesson:starter(step)
  return step.script and (self:file(step.script) or "") or step.starter or ""
end

-- A right answer of a task, the model answer of an explanation; nil where there is none.
function Lesson:reference_of(step)
  local name = self.reference and self.reference[step.id]
  return name and self:file(name)
end

-- The step of that id, or of that number in a text; nil.
function Lesson:find(name)
  local n = tonumber(name)
  for i, step in ipairs(self.steps) do
    if step.id == name or i == n then return step end
  end
end

-- load(path) -> lesson, or nil and what is wrong with it (several lines perhaps)
function M.load(path)
  local text, why = read(path)
  if not text then return nil, why end
  local dir = path:match("^(.*)/[^/]*$") or "."
  local chunk, wrong = load(text, "@" .. path, "t", environment(dir))
  if not chunk then return nil, wrong end
  local lesson, failed = run_limited(chunk)
  if type(lesson) ~= "table" then
    return nil, path .. ": " .. (failed or "it returns no lesson")
  end
  lesson.path, lesson.dir = path, dir
  local problems = schema.check(lesson)
  if #problems > 0 then return nil, path .. ": " .. table.concat(problems, "\n" .. path .. ": ") end
  for i, step in ipairs(lesson.steps) do step.index = i end
  return setmetatable(lesson, Lesson)
end

-- ---- the folder -------------------------------------------------------------------------------

function M.folder() return os.getenv("DLREPL_LESSONS") or host.root() .. "/lessons" end

-- Paths of the lessons in a folder, by number.
function M.paths(dir)
  local out = {}
  for _, name in ipairs(host.list(dir) or {}) do
    if name:find("^%d%d_[%w_]+%.lua$") then out[#out + 1] = dir .. "/" .. name end
  end
  return out
end

-- find("L10" | "10" | "path.lua") -> lesson, or nil and a word
function M.find(name)
  if name:find("%.lua$") or name:find("/", 1, true) then return M.load(name) end
  local digits = name:match("^%a?(%d%d?)$")
  local number = digits and string.format("%02d", tonumber(digits))
  local have = {}
  for _, path in ipairs(M.paths(M.folder())) do
    local n = path:match("(%d%d)_[%w_]+%.lua$")
    if n == number then return M.load(path) end
    have[#have + 1] = "L" .. n
  end
  return nil, string.format("there is no lesson '%s'; there are %s", name,
                            #have > 0 and table.concat(have, ", ") or "none")
end

-- ---- what a step is ---------------------------------------------------------------------------

local function hash_text(h, text)
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return h
end

local function hash_value(h, v, lesson)
  local kind = type(v)
  if kind == "function" then
    local info = debug.getinfo(v, "S")
    local n = 0
    for line in (lesson.source_text .. "\n"):gmatch("(.-)\n") do
      n = n + 1
      if n >= info.linedefined and n <= info.lastlinedefined then h = hash_text(h, line) end
    end
    return h
  elseif kind ~= "table" then return hash_text(h, kind .. tostring(v))
  end
  local keys = {}
  for k in pairs(v) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, k in ipairs(keys) do
    if k ~= "index" then h = hash_value(hash_text(h, tostring(k)), v[k], lesson) end
  end
  return h
end

-- 16 hex digits that change when the step does: its words, its numbers, its checks, its reference.
function M.hash(lesson, step)
  if not step.hash_text then
    lesson.source_text = lesson.source_text or read(lesson.path) or ""
    local words = {}
    for k, v in pairs(step) do words[k] = v end
    local h = hash_value(-0x340d631b7bdddcdb, words, lesson)
    h = hash_text(h, lesson:starter(step) .. (lesson:reference_of(step) or ""))
    step.hash_text = string.format("%016x", h)
  end
  return step.hash_text
end

return M
