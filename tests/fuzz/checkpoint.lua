-- checkpoint.lua -- mutated files for torch.load: each ends in a value or in a clear error
--
-- Usage: dlrepl checkpoint.lua [COUNT [SEED]]    (TAP; from the top of the tree)
-- Two kinds, half of each: bytes of a whole archive, and pickles inside of sound archives, where no
-- checksum protects them. What loads is looked at, to the last element, and saved again.
-- INVARIANT  after the run no tensor is alive that was not before.

local count = math.tointeger(arg[1]) or 10000
local seed = math.tointeger(arg[2]) or 1
math.randomseed(seed)
local random = math.random
local path = os.tmpname()
local getmetatable = debug.getmetatable

local function bytes_of(name)
  local f <close> = assert(io.open(name, "rb"))
  return f:read("a")
end

-- ---- sound files --------------------------------------------------------------------------------
local seeds = {}
local function add(name)
  local file <close> = dlrepl._archive_open(name)
  local s = {bytes = bytes_of(name), pickle = file:read("data.pkl"), records = {}}
  for i = 0, 99 do
    local key = "data/" .. i
    if not file:has(key) then break end
    s.records[key] = file:read(key)
  end
  seeds[#seeds + 1] = s
end
for _, name in ipairs {"values", "dtypes", "tensors", "loop", "run", "module", "complex"} do
  add("tests/save/" .. name .. ".pth")
end
local x = torch.arange(6.):reshape(2, 3)
torch.save({x, x:t(), n = {1, 2.5, "s", None}, w = nn.Parameter(torch.ones(2))}, path)
add(path)

-- ---- changes ------------------------------------------------------------------------------------
local numbers = {"K\0", "K\1", "K\xff", "M\xff\xff", "J\xff\xff\xff\xff", "J\xff\xff\xff\x7f",
  "\x8a\8\xff\xff\xff\xff\xff\xff\xff\x7f", "\x8a\8\0\0\0\0\0\0\0\x80", "\x8a\0",
  "G\x7f\xf8\0\0\0\0\0\0", "G\x7f\xf0\0\0\0\0\0\0"}
local words = {"(", "t", ")", "\x85", "\x86", "\x87", "]", "}", "a", "e", "s", "u", "N", "\x88",
  "R", "Q", "b", "\x81", ".", "q\0", "h\0", "h\1", "h\5", "j\xff\0\0\0", "r\0\1\0\0", "\x80\2",
  "ctorch\nFloatStorage\n", "ctorch\nSize\n", "ctorch\ndevice\n", "ccollections\nOrderedDict\n",
  "ctorch._utils\n_rebuild_tensor_v2\n", "ctorch._utils\n_rebuild_parameter\n",
  "ctorch._tensor\n_rebuild_from_type_v2\n", "c_codecs\nencode\n", "cbuiltins\nset\n",
  "X\1\0\0\0000", "X\7\0\0\0storage", "X\3\0\0\0cpu", "X\xff\xff\xff\x7f", "U\3abc"}

local function at(s) return random(0, #s) end
local changes = {
  function(s) -- a byte
    local i = at(s)
    return s:sub(1, i) .. string.char(random(0, 255)) .. s:sub(i + 2)
  end,
  function(s) -- a bit
    local i = random(#s)
    return s:sub(1, i - 1) .. string.char(s:byte(i) ~ 1 << random(0, 7)) .. s:sub(i + 1)
  end,
  function(s) -- bytes gone
    local i = at(s)
    return s:sub(1, i) .. s:sub(i + 1 + random(12))
  end,
  function(s) -- bytes twice, elsewhere
    local i, j = at(s), at(s)
    return s:sub(1, i) .. s:sub(j + 1, j + random(40)) .. s:sub(i + 1)
  end,
  function(s) return s:sub(1, at(s)) end, -- the end gone
  function(s) -- an edge of a number
    local i, n = at(s), ({1, 2, 4, 8})[random(4)]
    local edges = {("\0"):rep(n), ("\xff"):rep(n), ("\xff"):rep(n - 1) .. "\x7f"}
    return s:sub(1, i) .. edges[random(3)] .. s:sub(i + 1 + n)
  end,
}
local pickled = {
  function(s) -- an instruction in between
    local i = at(s)
    return s:sub(1, i) .. words[random(#words)] .. s:sub(i + 1)
  end,
  function(s) -- a small number becomes another
    local places = {}
    for i in s:gmatch("()K") do places[#places + 1] = i end
    local i = places[random(math.max(1, #places))] or 1
    return s:sub(1, i - 1) .. numbers[random(#numbers)] .. s:sub(i + 2)
  end,
}
table.move(changes, 1, #changes, #pickled + 1, pickled)

local function mutate(s, list)
  for _ = 1, random(random(4)) do
    if #s == 0 then break end
    s = list[random(#list)](s)
  end
  return s
end

local function write(bytes)
  local f <close> = assert(io.open(path, "wb"))
  f:write(bytes)
end

local function write_archive(pickle, records)
  local a <close> = dlrepl._archive_create(path, "x")
  a:add("data.pkl", pickle)
  for k, v in pairs(records) do a:add(k, v) end
  a:finish()
end

-- ---- looking ------------------------------------------------------------------------------------
local function look(v, depth)
  if torch.is_tensor(v) then
    if v:numel() < 1 << 16 then tostring(v:reshape({-1}):to(torch.float64):sum()) end
  elseif type(v) == "table" and depth < 20 then
    if getmetatable(v) and getmetatable(v).__name == "torch.Size" then return tostring(v) end
    for k, e in pairs(v) do
      look(k, depth + 1)
      look(e, depth + 1)
    end
  elseif type(v) ~= "table" then
    tostring(v)
  end
end

local function is_clear(e)
  if type(e) == "table" then
    return type(e.class) == "string" and type(e.message) == "string" and #e.message > 0
      and type(e.kind) == "string"
  end
  return type(e) == "string" and e:find("not enough memory", 1, true) ~= nil
end

local function step(k)
  local s = seeds[random(#seeds)]
  if k % 2 == 0 then write(mutate(s.bytes, changes))
  else write_archive(mutate(s.pickle, pickled), s.records)
  end
  local ok, v = pcall(torch.load, path)
  if not ok then return is_clear(v), v, false end
  look(v, 0)
  local saved, e = pcall(torch.save, v == nil and None or v, path)
  return saved or is_clear(e), e, true
end

-- ---- the run ------------------------------------------------------------------------------------
look(torch.load "tests/save/run.pth", 0)
x = nil
collectgarbage()
collectgarbage()
local tensors = dlrepl.debug.live()
local problem, loaded = nil, 0
for k = 1, count do
  local good, e, came = step(k)
  if came then loaded = loaded + 1 end
  if not good then
    os.execute("cp " .. path .. " " .. path .. ".bad")
    problem = string.format("file %d (seed %d, kept as %s.bad) raised %s", k, seed, path,
                            tostring(e))
    break
  end
end
collectgarbage()
collectgarbage()
print("1..3")
print((problem and "not ok" or "ok") .. " 1 - " .. count .. " mutated files end in a value or a "
  .. "clear error, seed " .. seed)
if problem then print("# " .. problem:gsub("\n", "\n# ")) end
print((loaded > count // 50 and loaded < count and "ok" or "not ok")
  .. " 2 - some of them load, and what they hold can be looked at and saved")
print("# loaded: " .. loaded)
local left = dlrepl.debug.live()
print((left == tensors and "ok" or "not ok") .. " 3 - nothing of them is left")
if left ~= tensors then print("# tensors alive: " .. left .. ", were " .. tensors) end
os.remove(path)
os.exit(not problem and left == tensors, true)
