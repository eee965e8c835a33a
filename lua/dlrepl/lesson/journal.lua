-- journal.lua -- what a learner has done: one line an event, never changed
--
-- For play.lua and batch.lua. A line is JSON; it is on the disk before the event counts. What was
-- cut by a crash, and what a newer dlrepl wrote, is kept in the file and not read.
--
-- INVARIANT  The state is what the events say, in order; an event's id occurs once.
-- MUST NOT   lose or change a line, except in forget.

local json = require "dlrepl.json"

local host = dlrepl._lesson
local open, time = io.open, os.time
local M = {}
local VERSION = 1

local Journal = {}
Journal.__index = Journal

function M.default_path()
  local data, home = os.getenv("XDG_DATA_HOME"), os.getenv("HOME")
  if data and data:sub(1, 1) == "/" then return data .. "/dlrepl/progress.jsonl" end
  if home and home:sub(1, 1) == "/" then return home .. "/.local/share/dlrepl/progress.jsonl" end
end

-- ---- reading ----------------------------------------------------------------------------------

local function read_event(line)
  local ok, e = pcall(json.decode, line)
  if not ok or type(e) ~= "table" then return nil, "cut" end
  if math.type(e.v) ~= "integer" or e.v > VERSION then return nil, "newer" end
  if type(e.id) ~= "string" or type(e.event) ~= "string" or type(e.lesson) ~= "string" then
    return nil, "cut"
  end
  return e
end

-- parse(text) -> events, {cut = n, newer = n}, lines by event's id
function M.parse(text)
  local events, odd, seen = {}, {cut = 0, newer = 0}, {}
  for line in text:gmatch("[^\n]+") do
    local e, why = read_event(line)
    if not e then
      odd[why] = odd[why] + 1
    elseif not seen[e.id] then
      seen[e.id] = line
      events[#events + 1] = e
    end
  end
  return events, odd, seen
end

local function read_text(path)
  local f = path and open(path, "rb")
  if not f then return "" end
  local text = f:read("a") or ""
  f:close()
  return text
end

-- open(path) -> journal; a missing file is an empty one
function M.open(path)
  local self = setmetatable({path = path or M.default_path()}, Journal)
  self.events, self.odd = M.parse(read_text(self.path))
  return self
end

-- A word on lines that could not be read, or nil.
function Journal:complaint()
  local parts = {}
  if self.odd.cut > 0 then
    parts[1] = string.format("%d line%s of your progress could not be read (cut by a crash?)",
                             self.odd.cut, self.odd.cut == 1 and "" or "s")
  end
  if self.odd.newer > 0 then
    parts[#parts + 1] = string.format("%d line%s were written by a newer dlrepl", self.odd.newer,
                                      self.odd.newer == 1 and "" or "s")
  end
  if #parts == 0 then return nil end
  return table.concat(parts, "; ") .. ": kept as they are, the rest is intact"
end

-- ---- writing ----------------------------------------------------------------------------------

-- add{event=, lesson=, step=, …}: true, or false and why it could not be kept (once).
function Journal:add(e)
  e.v, e.id, e.t = VERSION, host.id(), time()
  self.events[#self.events + 1] = e
  local ok, why = nil, "no home folder is known"
  if self.path then ok, why = host.append(self.path, json.encode(e)) end
  if ok then return true end
  local first = not self.told
  self.told = true
  return false, first and why or nil
end

-- ---- state ------------------------------------------------------------------------------------

local apply = {}

local function fresh() return {done = {}, hints = {}, shown = {}, seed = 1} end

function apply.start(s, e) s.seed, s.begun = e.seed or s.seed, true end
function apply.at(s, e) s.at, s.begun = e.step, true end
local function finish(s, e)
  s.done[e.step] = e
  s.credit[e.step] = e.event == "pass" and e or s.credit[e.step]
  if e.event == "pass" then s.disputed[e.step] = nil end
end
apply.pass, apply.seen, apply.answer, apply.skip = finish, finish, finish, finish
function apply.hint(s, e) s.hints[e.step] = e.rung end
function apply.reveal(s, e) s.shown[e.step] = true end
function apply.fail(s, e) s.fails[e.step] = (s.fails[e.step] or 0) + 1 end
function apply.dispute(s, e) s.disputed[e.step] = e end
function apply.finish(s) s.finished = true end
function apply.reset(s, e)
  if e.step then
    s.done[e.step], s.credit[e.step], s.hints[e.step], s.shown[e.step] = nil, nil, nil, nil
  else
    local new = fresh()
    s.done, s.hints, s.shown, s.credit, s.at = new.done, new.hints, new.shown, {}, nil
    s.finished = nil
  end
end
function apply.replay(s, e)
  local new = fresh()
  s.done, s.hints, s.shown, s.at, s.seed = new.done, new.hints, new.shown, nil, e.seed or s.seed
end

-- state("L10") -> done: step -> event of now; credit: step -> the pass that counts; hints, shown,
-- fails, disputed by step; at: the step last worked on; seed, begun, finished
function Journal:state(id)
  local s = fresh()
  s.credit, s.fails, s.disputed = {}, {}, {}
  for _, e in ipairs(self.events) do
    if e.lesson == id and apply[e.event] then apply[e.event](s, e) end
  end
  return s
end

-- Ids of all lessons there are events of, the latest first.
function Journal:lessons()
  local list, seen = {}, {}
  for i = #self.events, 1, -1 do
    local id = self.events[i].lesson
    if not seen[id] then
      seen[id] = true
      list[#list + 1] = id
    end
  end
  return list
end

-- ---- carrying about --------------------------------------------------------------------------

function Journal:reload()
  self.events, self.odd = M.parse(read_text(self.path))
end

local function rewrite(self, fn)
  if not self.path then return nil, "no home folder is known" end
  local ok, why = host.rewrite(self.path, fn)
  self:reload()
  return ok, why
end

function Journal:export(path)
  local f, why = open(path, "wb")
  if not f then return nil, why end
  local ok, failed = f:write(read_text(self.path))
  ok = f:close() and ok
  return ok and true or nil, failed
end

-- The lines of another file are added, each event once, in the order of time; how many were new.
function Journal:merge(path)
  local f, why = open(path, "rb")
  if not f then return nil, why end
  local text = f:read("a")
  f:close()
  local theirs, _, their_lines = M.parse(text)
  if #theirs == 0 then return nil, "there is no progress of dlrepl in it" end
  local added = 0
  local ok, failed = rewrite(self, function(old)
    local ours, _, our_lines = M.parse(old)
    local all, rank = {}, {}
    for i, e in ipairs(ours) do all[#all + 1], rank[e.id] = e, i end
    for i, e in ipairs(theirs) do
      if not our_lines[e.id] then
        added = added + 1
        all[#all + 1], rank[e.id] = e, #ours + i
      end
    end
    table.sort(all, function(a, b)
      local x, y = tonumber(a.t) or 0, tonumber(b.t) or 0
      if x ~= y then return x < y end
      return rank[a.id] < rank[b.id]
    end)
    local out = {}
    for i, e in ipairs(all) do out[i] = our_lines[e.id] or their_lines[e.id] end
    for line in old:gmatch("[^\n]+") do -- what we cannot read stays
      if not read_event(line) then out[#out + 1] = line end
    end
    return table.concat(out, "\n") .. "\n"
  end)
  if not ok then return nil, failed end
  return added
end

-- The file's lines take the place of ours, which are kept beside it.
function Journal:import(path)
  local f, why = open(path, "rb")
  if not f then return nil, why end
  local text = f:read("a")
  f:close()
  local events = M.parse(text)
  if #events == 0 then return nil, "there is no progress of dlrepl in it" end
  local backup
  if #read_text(self.path) > 0 then
    backup = self.path .. "." .. os.date("%Y%m%d-%H%M%S")
    local ok, failed = self:export(backup)
    if not ok then return nil, failed end
  end
  if text:sub(-1) ~= "\n" then text = text .. "\n" end
  local ok, failed = rewrite(self, function() return text end)
  if not ok then return nil, failed end
  return #events, backup
end

-- Remove every event of a lesson (nil: of all); how many there were.
function Journal:forget(id)
  local gone = 0
  local ok, failed = rewrite(self, function(old)
    local out = {}
    for line in old:gmatch("[^\n]+") do
      local e = read_event(line)
      if e and (id == nil or e.lesson == id) then gone = gone + 1
      else out[#out + 1] = line end
    end
    return #out > 0 and table.concat(out, "\n") .. "\n" or ""
  end)
  if not ok then return nil, failed end
  return gone
end

return M
