-- graphs.lua -- dlrepl.graphs(): who keeps autograd graphs alive
--
--     dlrepl.graphs()      -- a table in words: variable or table path, nodes, bytes, since when
--
-- A tensor with a grad_fn keeps every node below it, and what those nodes saved. The search follows
-- globals, the prompt's locals, the locals of running functions, tables, what functions remember
-- (their upvalues), and coroutines. Many tensors of one list are one holder.
--
-- M.keeper is asked by the error of a GPU that is out of memory: whose list, or running total,
-- keeps passes alive that are over?
--
-- INVARIANT  Nothing found is kept: the answer holds paths and numbers.

local core = require "dlrepl.core"
local size_text = require "dlrepl.bytes"
local M = {}

local MANY = 4       -- tensors of one table are named together from here on
local MOST = 200000  -- values looked at
local LONG = 200     -- bytes of a path, which then ends in "..."

-- ---- locals -----------------------------------------------------------------------------------

-- {value, name} of the locals of a thread's functions from a level on, and the functions; dlrepl's
-- own functions are not the user's.
local function locals_of(thread, level)
  local list = {}
  local info = debug.getinfo(thread, level, "Snf")
  while info do
    local mine = info.what ~= "C" and not dlrepl._own_source(info.source)
    local where = info.what ~= "main" and info.name
      and string.format(" (local of %s)", info.name) or ""
    local i, name, v = 1, nil, nil
    if mine then
      name, v = debug.getlocal(thread, level, i)
      list[#list + 1] = {info.func, info.name or "that runs"}
    end
    while name do
      local state = name:find("^%(for") and type(v) == "function"
      if state then list[#list + 1] = {v, "of the loop"}
      elseif name:sub(1, 1) ~= "(" then list[#list + 1] = {v, name .. where} end
      i = i + 1
      name, v = debug.getlocal(thread, level, i)
    end
    level = level + 1
    info = debug.getinfo(thread, level, "Snf")
  end
  return list
end

-- ---- the search --------------------------------------------------------------------------------

local function is_node(v)
  local mt = type(v) == "userdata" and debug.getmetatable(v)
  return mt and rawget(mt, "__name") == "Node" or false
end

local function is_held(v)
  if type(v) ~= "userdata" then return false end
  if core.is_tensor(v) then return dlrepl._held({v}) > 0 end
  return is_node(v)
end

-- A name as it can be printed: one line of at most 60 bytes.
local function shown(name)
  name = name:sub(1, 61)
  local odd = utf8.len(name) and "[%c\x7f]" or "[%c\x7f-\xff]"
  name = name:gsub(odd, function(c) return ("\\x%02x"):format(c:byte()) end)
  return #name > 60 and name:sub(1, 57) .. "..." or name
end

local function step(path, k)
  if #path > LONG then return path:sub(-3) == "..." and path or path .. "..." end
  if type(k) == "string" and k:find("^[%a_][%w_]*$") then return path .. "." .. shown(k) end
  if type(k) == "string" then return string.format('%s["%s"]', path, shown(k)) end
  if math.type(k) == "integer" then return string.format("%s[%d]", path, k) end
  local kind = core.is_tensor(k) and "tensor" or type(k)
  if kind ~= "number" and kind ~= "boolean" then return path .. "[a " .. kind .. "]" end -- unasked
  return path .. "[" .. tostring(k):sub(1, 40) .. "]"
end

-- What is ours: no user's value hides there.
local function known()
  local seen = {[package.loaded] = true, [_G] = true, [M] = true}
  for _, module in pairs(package.loaded) do seen[module] = true end
  return seen
end

-- How a name is written whose list index stands for all of them: history[3].loss is history[].loss,
-- and whose links do: head.next.next.loss is head.next.loss
local function pattern_of(path)
  local n
  path = path:gsub("%[%d+%]", "[]")
  repeat path, n = path:gsub("(%.[%w_]+)%1", "%1") until n == 0
  return path
end

local function search(roots, wanted)
  local seen, queue, found, looked = known(), {}, {}, 0
  wanted = wanted or is_held
  local function add(v, path, parent, key)
    local kind = type(v)
    if kind == "userdata" then
      if not seen[v] and wanted(v) then
        seen[v] = true
        found[#found + 1] = {value = v, path = path, parent = parent, key = key}
      end
    elseif (kind == "table" or kind == "function" or kind == "thread") and not seen[v] then
      seen[v] = true
      queue[#queue + 1] = {v, path}
    end
  end
  for _, root in ipairs(roots) do add(root[1], root[2]) end
  local i = 0
  while i < #queue and looked < MOST do
    i = i + 1
    local v, path = queue[i][1], queue[i][2]
    queue[i] = false
    if type(v) == "table" then
      for k, x in next, v do
        looked = looked + 1
        add(x, step(path, k), path, k)
        if type(k) ~= "string" and type(k) ~= "number" then add(k, "a key of " .. path) end
      end
    elseif type(v) == "thread" then
      for _, l in ipairs(locals_of(v, 0)) do add(l[1], l[2] .. " (in coroutine " .. path .. ")") end
    else
      local n = 1
      local name, x = debug.getupvalue(v, n)
      while name do
        if type(x) == "thread" then -- of coroutine.wrap
          add(x, path)
        elseif name ~= "_ENV" and name ~= "" then
          add(x, string.format("%s (remembered by function %s)", name, path))
        end
        n = n + 1
        name, x = debug.getupvalue(v, n)
      end
    end
  end
  return found
end

-- ---- where it begins ---------------------------------------------------------------------------

local function globals(roots)
  local base = known()
  for k, v in next, _G do
    if type(k) == "string" and not base[v] and not (type(v) == "function"
       and debug.getinfo(v, "S").what == "C") then
      roots[#roots + 1] = {v, shown(k)}
    end
  end
end

local function prompt_locals(roots)
  if not dlrepl._session_locals then return end
  for name, v in pairs(dlrepl._session_locals()) do roots[#roots + 1] = {v, name} end
end

-- ---- the answer --------------------------------------------------------------------------------

-- Tensors of one table become one holder.
local function together(found)
  local groups, order = {}, {}
  for _, f in ipairs(found) do
    local name = f.parent and math.type(f.key) == "integer" and f.parent or f
    if not groups[name] then
      groups[name] = {}
      order[#order + 1] = name
    end
    table.insert(groups[name], f)
  end
  local holders = {}
  for _, name in ipairs(order) do
    local group = groups[name]
    if #group < MANY then
      for _, f in ipairs(group) do holders[#holders + 1] = {path = f.path, values = {f.value}} end
    else
      local low, high, values = math.huge, -math.huge, {}
      for i, f in ipairs(group) do
        low, high, values[i] = math.min(low, f.key), math.max(high, f.key), f.value
      end
      holders[#holders + 1] = {path = string.format("%s[%d … %d]", name, low, high),
                               values = values}
    end
  end
  return holders
end

local function since(h)
  if h.where then return "made at " .. h.where:gsub("^stack traceback:%s*", ""):match("[^\n]*") end
  if h.lines_ago == 0 then return "made in this line or script" end
  return string.format("made %d line%s ago", h.lines_ago, h.lines_ago == 1 and "" or "s")
end

local function describe(h)
  local values = h.values
  h.tensors = #values
  h.nodes, h.bytes, h.lines_ago, h.where = dlrepl._held(values)
  local last = values[#values]
  h.op = core.is_tensor(last) and last.grad_fn and last.grad_fn:name() or tostring(last)
  h.values = nil
  return h
end

local meta = {__name = "graphs"}
function meta.__tostring(list)
  if #list == 0 then return "no graph is held" end
  local lines = {}
  for _, h in ipairs(list) do
    lines[#lines + 1] = string.format("%s: %s%d node%s, %s saved, %s", h.path,
      h.tensors > 1 and h.tensors .. " tensors, " or "", h.nodes, h.nodes == 1 and "" or "s",
      size_text(h.bytes), since(h))
  end
  if list.many then
    lines[#lines + 1] = "a list of losses keeps every step's graph: store loss:item(), or "
      .. "loss:detach() where the tensor is needed"
  end
  return table.concat(lines, "\n")
end

-- graphs(): a list of {path, tensors, nodes, bytes, lines_ago, op}, the largest first; it prints as
-- lines. Nodes that two holders share are counted for both.
function M.find(level)
  collectgarbage()
  local roots = {}
  globals(roots)
  prompt_locals(roots)
  table.move(locals_of(coroutine.running(), (level or 1) + 2), 1, MOST, #roots + 1, roots)
  local list = setmetatable({}, meta)
  for _, h in ipairs(together(search(roots))) do
    list[#list + 1] = describe(h)
    list.many = list.many or h.tensors >= MANY
  end
  table.sort(list, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return a.nodes ~= b.nodes and a.nodes > b.nodes or a.nodes == b.nodes and a.path < b.path
  end)
  return list
end

-- ---- who keeps passes alive --------------------------------------------------------------------

local FEWEST = 3 -- passes, the newest among them: fewer are no habit

-- {name = list of tensors} and the names in order. Tensors whose paths differ by list indices are
-- together, losses[3] is of losses[], and so are those of one table.
local function alike(found)
  local groups, order = {}, {}
  local function put(name, v)
    if not groups[name] then
      groups[name] = {}
      order[#order + 1] = name
    end
    table.insert(groups[name], v)
  end
  for _, f in ipairs(found) do
    put(pattern_of(f.path), f.value)
    if type(f.key) == "string" then put(pattern_of(f.parent) .. ".", f.value) end
  end
  return groups, order
end

-- losses[] is losses, history[].loss is history[...].loss; what is local or remembered is known by
-- its name alone
local function plain(pattern)
  pattern = pattern:gsub(" %b()", ""):gsub("%.$", ""):gsub("^a key of ", "")
  local list = pattern:match("^([^%[%]]*)%[%]$")
  return list or (pattern:gsub("%[%]", "[...]"))
end

-- keeper(device, main thread) -> path, tensors, separate graphs, bytes that live there because of
-- it, those but for the newest pass, "file:line"; nil where nothing keeps several passes.
function M.keeper(device, main)
  local roots, here = {}, coroutine.running()
  globals(roots)
  prompt_locals(roots)
  for _, thread in ipairs(here ~= main and {here, main} or {here}) do
    table.move(locals_of(thread, 1), 1, MOST, #roots + 1, roots)
  end
  local groups, order = alike(search(roots, function(v) return dlrepl._transient(v, device) end))
  local best, most = nil, 0
  for _, p in ipairs(order) do
    local graphs, alone, bytes, newest, place = dlrepl._apart(groups[p], device)
    if graphs + alone >= FEWEST and bytes - newest > most then
      most = bytes - newest
      best = {plain(p), #groups[p], graphs, bytes, most, place}
    end
  end
  if best then return table.unpack(best, 1, 6) end
end

return setmetatable(M, {__call = function(_) return M.find(1) end})
