-- coverage.lua -- does each item of the sources have its lesson?
--
-- For lint.lua. lessons/coverage.lua lists the items by id, each with its lessons, or `planned` and
-- the lessons to come; `most` is how many may be planned, and only falls.
--
-- MUST NOT   read the sources.

local format = require "dlrepl.lesson.format"

local M = {}

local function read(dir)
  local text, why = format.read(dir .. "/coverage.lua")
  if not text then return nil, why end
  local chunk, wrong = load(text, "@coverage.lua", "t", {})
  if not chunk then return nil, wrong end
  local ok, t = pcall(chunk)
  if not ok or type(t) ~= "table" or type(t.items) ~= "table" then
    return nil, "it returns no table with 'items' (" .. tostring(t) .. ")"
  end
  return t
end

-- Items by id; a problem for one that is there twice or says nothing.
local function index(items)
  local by_id, problems = {}, {}
  for i, item in ipairs(items) do
    local id = item[1]
    if type(id) ~= "string" or not id:find("^S[024]%.[%w_%.]+$") then
      problems[#problems + 1] = "item " .. i .. " has no id"
    elseif by_id[id] then problems[#problems + 1] = id .. " is there twice"
    elseif not item[2] then problems[#problems + 1] = id .. " has neither lesson nor 'planned'" end
    if type(id) == "string" then by_id[id] = item end
  end
  return by_id, problems
end

local function has(list, v)
  for _, x in ipairs(list or {}) do if x == v then return true end end
  return false
end

-- What the lessons say they answer, against the table, both ways.
local function compare(by_id, lessons)
  local problems = {}
  local there = {}
  for _, lesson in ipairs(lessons) do
    there[lesson.id] = lesson
    for _, id in ipairs(lesson.answers) do
      if not by_id[id] then
        problems[#problems + 1] = lesson.id .. " answers " .. id .. ", an unknown item"
      elseif by_id[id][2] == "planned" then
        problems[#problems + 1] = lesson.id .. " answers " .. id .. ", which is listed as planned"
      end
    end
  end
  for id, item in pairs(by_id) do
    if item[2] and item[2] ~= "planned" then
      for i = 2, #item do
        local lesson = there[item[i]]
        if not lesson then
          problems[#problems + 1] = id .. " names " .. item[i] .. ", which is not there"
        elseif not has(lesson.answers, id) then
          problems[#problems + 1] = id .. " names " .. item[i] .. ", which does not answer it"
        end
      end
    end
  end
  table.sort(problems)
  return problems
end

-- Prerequisites are lessons, or planned ones; no circle.
local function needs(t, lessons)
  local problems, there, planned = {}, {}, {}
  for _, id in ipairs(t.lessons or {}) do planned[id] = true end
  for _, lesson in ipairs(lessons) do there[lesson.id] = lesson end
  local function visit(lesson, path)
    if path[lesson.id] then
      problems[#problems + 1] = lesson.id .. " needs itself, by way of others"
      return
    end
    path[lesson.id] = true
    for _, id in ipairs(lesson.needs or {}) do
      if there[id] then visit(there[id], path)
      elseif not planned[id] then
        problems[#problems + 1] = lesson.id .. " needs " .. id .. ", an unknown lesson"
      end
    end
    path[lesson.id] = nil
  end
  for _, lesson in ipairs(lessons) do visit(lesson, {}) end
  return problems
end

local function told(problems) return #problems > 0 and table.concat(problems, "\n") or nil end

-- check(folder, lessons, point): TAP points of the folder's coverage table
function M.check(dir, lessons, point)
  local t, why = read(dir)
  point(dir .. "/coverage.lua can be read", why)
  if not t then return end
  local by_id, problems = index(t.items)
  point("coverage: each item once, each with a lesson or 'planned'", told(problems))
  point("coverage: the lessons and the table agree", told(compare(by_id, lessons)))
  point("coverage: prerequisites are lessons, without a circle", told(needs(t, lessons)))
  local planned = 0
  for _, item in pairs(by_id) do if item[2] == "planned" then planned = planned + 1 end end
  point("coverage: " .. planned .. " items are planned, as 'most' says; it only falls",
        planned ~= t.most and "most is " .. tostring(t.most) .. "; write the lower number" or nil)
end

return M
