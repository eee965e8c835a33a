-- amp_table.lua -- the dtype of every op's result under autocast, for the CPU's and the GPU's list
--
-- tests/parity/autocast.txt, made by PyTorch (refresh_autocast.py): an expression; then, for CPU
-- bfloat16, CPU float16 and CUDA float16, the result's dtype where the operands are all float32,
-- all 16-bit, and mixed. "!" and a class stand for an error, "-" for what PyTorch could not tell.
local tap = require "tap"

local function world(dev, A, B)
  local function o(dtype, ...) return torch.full({...}, 0.5, {dtype = dtype, device = dev}) end
  local at = {device = dev}
  return setmetatable({
    a = o(A, 4, 4), v = o(A, 4), t3 = o(A, 2, 4, 4), img = o(A, 1, 2, 4, 4), sig = o(A, 1, 2, 8),
    m3 = o(A, 3, 2), vol = o(A, 1, 1, 4, 4, 4), b = o(B, 4, 4), w = o(B, 4), t4 = o(B, 2, 4, 4),
    k2 = o(B, 3, 2, 2, 2), kt = o(B, 2, 3, 2, 2), k1 = o(B, 3, 2, 3), n3 = o(B, 3, 2),
    t5 = o(B, 2, 4, 4), rm = torch.zeros(2, at), rv = torch.ones(2, at),
    c = torch.ones(4, 4, {dtype = torch.bool, device = dev}),
    lbl = torch.zeros(4, {dtype = torch.int64, device = dev}),
    idx = torch.zeros(4, 4, {dtype = torch.int64, device = dev}),
  }, {__index = _G})
end

local names
function names(...)
  local all = table.pack(...)
  for i = 1, all.n do
    all[i] = type(all[i]) == "table" and names(table.unpack(all[i]))
      or tostring(all[i].dtype):gsub("torch%.", "")
  end
  return table.concat(all, ",")
end

local function result(expr, env)
  local f = assert(load("return " .. expr, "=op", "t", env))
  local r = table.pack(pcall(f))
  if r[1] then return names(table.unpack(r, 2, r.n)) end
  local class = tostring(r[2]):match("^%a+")
  return (class == "AttributeError" or not r[2].class) and "missing" or "!" .. class
end

-- Functions that are not here at all are no business of this test.
local function check(list, dev, low, column, lines)
  local kinds = {{torch.float32, torch.float32}, {low, low}, {low, torch.float32}}
  local worlds = {}
  for i, k in ipairs(kinds) do worlds[i] = world(dev, k[1], k[2]) end
  local ran = 0
  for _, line in ipairs(lines) do
    local ours = {}
    local want = {}
    for word in line[column]:gmatch("%S+") do want[#want + 1] = word end
    for i = 1, #want do
      ours[i] = torch.autocast({device_type = dev, dtype = low}, result, line[1], worlds[i])
    end
    for i, word in ipairs(want) do
      if word == "-" and ours[i] ~= "missing" then ours[i] = "-" end
    end
    local got = table.concat(ours, " ")
    if not got:find("missing") then
      ran = ran + 1
      if got ~= line[column] then tap.is(got, line[column], list .. ": " .. line[1]) end
    end
  end
  return ran
end

local lines = {}
for line in io.lines("tests/parity/autocast.txt") do
  local row = {}
  for part in line:gmatch("[^\t]+") do row[#row + 1] = part end
  lines[#lines + 1] = row
end
local n = check("cpu bfloat16", "cpu", torch.bfloat16, 2, lines)
tap.ok(n > 600, "result dtypes on the CPU in bfloat16 are PyTorch's, over " .. n .. " expressions")
n = check("cpu float16", "cpu", torch.float16, 3, lines)
tap.ok(n > 600, "result dtypes on the CPU in float16 are PyTorch's, over " .. n .. " expressions")
if not torch.cuda.is_available() then dlrepl.simulate("t4") end
n = check("cuda", "cuda", torch.float16, 4, lines)
tap.ok(n > 600, "result dtypes on a GPU are PyTorch's, over " .. n .. " expressions")
-- Each op that has a public name stands in some expression.
local said, rows, without = {}, 0, {}
for _, line in ipairs(lines) do
  for name in line[1]:gmatch("([%w_]+)%(") do said[name] = true end
end
for line in io.lines("src/op/ops.def") do
  local where, name = line:match('^DL_OP%([%w_]+, %u+, "(%a*)", "([%w_]+)')
  if where and where:find("[tmfl]") then
    rows = rows + 1
    if not said[name] then without[#without + 1] = name end
  end
end
tap.ok(rows > 240, "the table of ops was read: " .. rows .. " public rows")
tap.is(table.concat(without, " "), "", "each public op stands in some expression")
tap.done()
