-- rng.lua -- the cases of a task: four of them, drawn from a seed so that every fault shows
--
-- For judge.lua, which hands one to a step's `instances`. The same seed gives the same four.
--
-- INVARIANT  Numbers drawn together are pairwise different and not constant.
-- MUST NOT   touch torch's generator.

local M = {}
M.CASES = 4

local Rng = {}
Rng.__index = Rng

-- A small generator of its own (xorshift64*), so that no library's numbers move.
local function next_bits(self)
  local x = self.x
  x = x ~ (x >> 12)
  x = x ~ (x << 25)
  x = x ~ (x >> 27)
  self.x = x
  return (x * 0x2545F4914F6CDD1D) >> 11
end

function M.new(seed)
  local self = setmetatable({x = (math.tointeger(seed) or 0) * 0x9E3779B97F4A7C15 + 0x1234567},
                            Rng)
  if self.x == 0 then self.x = 1 end
  for _ = 1, 8 do next_bits(self) end
  return self
end

-- One whole number of lo .. hi.
function Rng:int(lo, hi)
  return lo + next_bits(self) % (hi - lo + 1)
end

-- The list in another order.
function Rng:shuffled(list)
  local out = {table.unpack(list)}
  for i = #out, 2, -1 do
    local j = self:int(1, i)
    out[i], out[j] = out[j], out[i]
  end
  return out
end

-- Four different numbers of lo .. hi in steps, one from each quarter of the range.
local function spread(self, lo, hi, step)
  local n = (hi - lo) // step + 1
  if n < M.CASES then error("a range of " .. n .. " numbers has no four different ones", 3) end
  local out = {}
  for q = 0, M.CASES - 1 do
    local a, b = q * n // M.CASES, (q + 1) * n // M.CASES - 1
    out[q + 1] = lo + step * self:int(a, b)
  end
  return self:shuffled(out)
end

function Rng:ints(lo, hi) return spread(self, lo, hi, 1) end
function Rng:odd(lo, hi) return spread(self, lo | 1, hi, 2) end

-- Four entries of a list, all different where it has as many.
function Rng:pick(list)
  local pool, out = self:shuffled(list), {}
  for i = 1, M.CASES do out[i] = pool[(i - 1) % #pool + 1] end
  return out
end

-- set{name = list of four, …} -> four cases. What stands at the same place stays together, so a
-- lesson says which combinations there are; the order of the cases is drawn.
function Rng:set(fields)
  local names, cases = {}, {}
  for name, list in pairs(fields) do
    if type(list) ~= "table" or #list ~= M.CASES then
      error("rng:set: '" .. tostring(name) .. "' is not a list of four", 2)
    end
    names[#names + 1] = name
  end
  table.sort(names)
  for i = 1, M.CASES do
    cases[i] = {}
    for _, name in ipairs(names) do cases[i][name] = fields[name][i] end
  end
  return self:shuffled(cases)
end

return M
