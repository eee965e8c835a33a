-- pickle.lua -- values as Python's pickle module reads them (protocol 2)
--
-- For torch.save and torch.cuda.memory._dump_snapshot. None, booleans, numbers and texts are
-- themselves (what is no UTF-8 becomes bytes). A plain table with values at 1 … n and nothing else,
-- or empty, is a list; any other is a dict, its keys sorted; ordered tables keep their order.
--
-- ERRORS  TypeError for what has no form there, RecursionError for what is nested too deeply.

local getmetatable = debug.getmetatable -- __metatable hides nothing from us
local core = require "dlrepl.core"
local lists = require "dlrepl.list"
local odict = require "dlrepl.odict"

local DEEPEST = 900 -- Python's own limit lets it read no more

local M = {tuple = lists.tuple}
local put

-- Bytes that pickle knows by themselves: "R" a call, "Q" a storage …
local function add(out, bytes) out[#out + 1] = bytes end
M.add = add
function M.put(out, v) return put(out, v) end

-- Values that come again are written once, where out.memo is kept. What is never asked for is
-- numbered all the same, as Python does.
local function remember(out, v)
  if not out.memo then return end
  local i = out.count
  out.count = i + 1
  if v ~= nil then out.memo[v] = i end
  add(out, i < 256 and "q" .. string.char(i) or "r" .. string.pack("<I4", i))
end

M.remember = remember

local function recall(out, v)
  local i = out.memo and out.memo[v]
  if not i then return false end
  add(out, i < 256 and "h" .. string.char(i) or "j" .. string.pack("<I4", i))
  return true
end

-- A name of Python's: M.global(out, "collections", "OrderedDict").
function M.global(out, module, name)
  local bytes = "c" .. module .. "\n" .. name .. "\n"
  if recall(out, bytes) then return end
  add(out, bytes)
  remember(out, bytes)
end

-- ---- numbers and texts -------------------------------------------------------------------------

local function integer(n)
  if n >= 0 and n < 256 then return "K" .. string.char(n) end
  if n >= 0 and n < 65536 then return "M" .. string.pack("<I2", n) end
  if n >= -2 ^ 31 and n < 2 ^ 31 then return "J" .. string.pack("<i4", n) end
  local bytes = 5
  while bytes < 8 and (n >= 1 << 8 * bytes - 1 or n < -(1 << 8 * bytes - 1)) do
    bytes = bytes + 1
  end
  return "\x8a" .. string.char(bytes) .. string.pack("<i" .. bytes, n)
end

local function text(out, s)
  if recall(out, s) then return end
  if utf8.len(s) then
    add(out, "X" .. string.pack("<s4", s))
    return remember(out, s)
  end
  M.global(out, "_codecs", "encode") -- bytes, each as a letter
  M.tuple_of(out, {(s:gsub("[\x80-\xff]", function(c) return utf8.char(c:byte()) end)), "latin1"})
  add(out, "R")
  remember(out, s)
end

-- ---- collections -------------------------------------------------------------------------------

local short = {[0] = ")", "\x85", "\x86", "\x87"}

-- A tuple of the values of a list; v: the value that it stands for, if any.
function M.tuple_of(out, list, v)
  if #list > 3 then add(out, "(") end
  for i = 1, #list do put(out, list[i]) end
  add(out, short[#list] or "t")
  if #list > 0 then remember(out, v) end
end

-- What `each` puts n times goes into the list or dict before it, in lots of 1000.
local function fill(out, n, each, one, many)
  for done = 0, n - 1, 1000 do
    local lot = math.min(n - done, 1000)
    if lot > 1 then add(out, "(") end
    for _ = 1, lot do each() end
    add(out, lot > 1 and many or one)
  end
end

local function list(out, v, n)
  local i = 0
  add(out, "]")
  remember(out, v)
  fill(out, n, function()
    i = i + 1
    put(out, v[i])
  end, "a", "e")
end

local kinds = {number = 1, string = 2}
local function before(a, b)
  local x, y = kinds[type(a)] or 3, kinds[type(b)] or 3
  if x ~= y then return x < y end
  if x == 3 then return tostring(a) < tostring(b) end
  return a < b
end

local function sorted_keys(v)
  local keys = {}
  for k in next, v do keys[#keys + 1] = k end
  table.sort(keys, before)
  return keys
end

-- OrderedDict(), without a name.
function M.ordered(out, v)
  M.global(out, "collections", "OrderedDict")
  add(out, ")R")
  remember(out, v)
end

local function dict(out, v)
  local ordered = odict.is(v)
  local keys, i = ordered and odict.keys(v) or sorted_keys(v), 0
  if ordered and not odict.is_dict(v) then
    M.ordered(out, v)
  else
    add(out, "}")
    remember(out, v)
  end
  fill(out, #keys, function()
    i = i + 1
    put(out, keys[i])
    put(out, rawget(v, keys[i]))
  end, "s", "u")
end

-- Values at 1 … n and nothing else: n, else nil.
local function length(v)
  local n, count = #v, 0
  for _ in next, v do count = count + 1 end
  if count ~= n then return nil end
  for i = 1, n do if rawget(v, i) == nil then return nil end end
  return n
end

local function list_or_dict(out, v)
  local n = length(v)
  if n then list(out, v, n) else dict(out, v) end
end

-- ---- torch's own values ------------------------------------------------------------------------

local function size(out, v)
  M.global(out, "torch", "Size")
  M.tuple_of(out, {lists.tuple(v:tolist())})
  add(out, "R")
  remember(out, v)
end

local function device(out, v)
  M.global(out, "torch", "device")
  M.tuple_of(out, {v.type, v.index})
  add(out, "R")
  remember(out, v)
end

local function dtype(out, v) M.global(out, "torch", (tostring(v):gsub("^torch%.", ""))) end

-- ---- any value ---------------------------------------------------------------------------------

local by_name = {["torch.Size"] = size, ["torch.device"] = device, ["torch.dtype"] = dtype}
local advice = {
  ["torch._C.Generator"] = "save its state: g:get_state(); later g:set_state(…)",
  ["numpy.ndarray"] = "make a tensor of it: torch.from_numpy(a); or np.save",
  ["function"] = "code is not data: save what it needs, and keep the code in a file",
}

-- What has a state_dict: the expression that gives it, as users write it.
local function owner_of_state(v)
  local mt = getmetatable(v)
  if type(v) ~= "table" or not mt then return nil end
  if require("torch.nn.class").is_module(v) then return "model" end
  if rawget(mt, "optimizer_class") then return "opt" end
  return mt.__name == "GradScaler" and "scaler"
end

local function no_form(v)
  local name = require("dlrepl.pyrepr").typename(v)
  local owner, note = owner_of_state(v), advice[name]
  if owner then
    note = string.format("save its state in place of the object: torch.save(%s:state_dict(), f); "
      .. "later make the object anew and call %s:load_state_dict(torch.load(f))", owner, owner)
  end
  core.raise("TypeError", "cannot pickle '" .. name .. "' object", {notes = note and {note}})
end

local function by_kind(out, v)
  local mt = getmetatable(v)
  if out.tensor and core.is_tensor(v) then out.tensor(out, v)
  elseif mt and by_name[mt.__name] then by_name[mt.__name](out, v)
  elseif type(v) ~= "table" then no_form(v)
  elseif mt == lists.tuple_meta then M.tuple_of(out, v, v)
  elseif mt == odict.meta then dict(out, v)
  elseif mt == nil or mt == lists.meta then list_or_dict(out, v)
  else no_form(v)
  end
end

local simple = {[true] = "\x88", [false] = "\x89", [core.None] = "N"}

function put(out, v)
  local kind = math.type(v) or type(v)
  if simple[v] then add(out, simple[v])
  elseif kind == "string" then text(out, v)
  elseif kind == "integer" then add(out, integer(v))
  elseif kind == "float" then add(out, "G" .. string.pack(">d", v))
  elseif v == nil then no_form(v)
  elseif not recall(out, v) then
    out.depth = out.depth + 1
    if out.depth > DEEPEST then
      core.raise("RecursionError", "maximum recursion depth exceeded while pickling an object")
    end
    by_kind(out, v)
    out.depth = out.depth - 1
  end
end

-- The bytes of a pickle file. With tensor(out, t), which writes a tensor, what is met again refers
-- to the first time.
function M.encode(v, tensor)
  local out = {"\x80\2", depth = 0, count = 0, memo = tensor and {}, tensor = tensor}
  put(out, v)
  add(out, ".")
  return table.concat(out)
end

return M
