-- cli.lua -- dlrepl learn, play, export, lint
--
-- For main.c: takes the words of the command line, returns the exit status, or for `learn` the
-- lesson that the prompt opens.
--
-- MUST NOT   know how these things are done.

local format = require "dlrepl.lesson.format"
local journal = require "dlrepl.lesson.journal"

local USAGE = 2
local M = {}

local function complain(text)
  io.stderr:write("dlrepl: ", text, "\n")
  return USAGE
end

-- Options that take a value, and flags; the rest in order.
local function read(args, values, flags)
  local out, i = {}, 1
  while i <= #args do
    local a = args[i]
    local name = a:match("^%-%-(%l+)$")
    if name and values[name] then
      i = i + 1
      if not args[i] then return nil, "a value is missing after '" .. a .. "'" end
      out[name] = args[i]
    elseif name and flags[name] then out[name] = true
    elseif a:sub(1, 1) == "-" then return nil, "unknown option '" .. a .. "'"
    else out[#out + 1] = a end
    i = i + 1
  end
  if out.seed and not math.tointeger(tonumber(out.seed)) then
    return nil, "--seed takes a whole number"
  end
  return out
end

-- Where one left off, else the first lesson there is.
local function next_lesson()
  local j = journal.open()
  for _, id in ipairs(j:lessons()) do
    if j:state(id).begun and not j:state(id).finished and format.find(id) then return id end
  end
  local first
  for _, path in ipairs(format.paths(format.folder())) do
    local id = "L" .. path:match("(%d%d)_[%w_]+%.lua$")
    first = first or id
    if not j:state(id).finished then return id end
  end
  return first
end

function M.learn(args)
  local o, why = read(args, {seed = true}, {})
  if not o or #o > 1 then return complain(why or "learn takes one lesson: dlrepl learn L10") end
  local name = o[1] or next_lesson()
  if not name then return complain("there are no lessons in " .. format.folder()) end
  local lesson, problem = format.find(name)
  if not lesson then return complain(problem) end
  return name .. (o.seed and " seed=" .. o.seed or "")
end

function M.play(args)
  local o, why = read(args, {answers = true, seed = true}, {tap = true})
  if not o then return complain(why) end
  if #o ~= 1 or not o.answers then
    return complain("play takes a lesson and a folder: play L10 --answers DIR --tap --seed 7")
  end
  local lesson, problem = format.find(o[1])
  if not lesson then return complain(problem) end
  return require("dlrepl.lesson.batch")(lesson, o.answers, {tap = o.tap, seed = tonumber(o.seed)})
end

function M.lint(args)
  local o, why = read(args, {seeds = true, jobs = true}, {tap = true})
  local seeds = o and math.tointeger(tonumber(o.seeds or 20))
  local jobs = o and math.tointeger(tonumber(o.jobs or torch.get_num_threads()))
  if not seeds or seeds < 1 or not jobs or jobs < 1 then
    return complain(why or "--seeds and --jobs take a whole number")
  end
  return require("dlrepl.lesson.lint").run(#o > 0 and o or {format.folder()},
                                           {seeds = seeds, tap = o.tap, jobs = jobs})
end

function M.export(args)
  local o, why = read(args, {}, {ipynb = true})
  if not o or not o.ipynb or #o > 2 then
    return complain(why or "export writes notebooks: dlrepl export --ipynb [L10] [FOLDER]")
  end
  return require("dlrepl.lesson.export").run(o[1], o[2] or ".")
end

return function(name, ...) return M[name]({...}) end
