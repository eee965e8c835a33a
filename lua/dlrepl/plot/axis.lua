-- axis.lua -- ranges, ticks and their texts
--
-- For the plots. An axis is {lo =, hi =} with lo < hi, both finite; whole = true puts ticks on
-- integers only.
--
-- INVARIANT  Works over the whole range of doubles: nothing overflows, every loop ends.
-- MUST NOT   know how anything is drawn.

local M = {}

local function finite(v) return v - v == 0 end
M.finite = finite

-- The smallest axis around a list of lists of numbers; what is not finite does not count.
-- nil where there is none.
function M.around(lists)
  local lo, hi = math.huge, -math.huge
  for _, list in ipairs(lists) do
    for i = 1, #list do
      local v = list[i]
      if finite(v) then
        if v < lo then lo = v end
        if v > hi then hi = v end
      end
    end
  end
  if lo > hi then return nil end
  return M.axis(lo, hi)
end

-- A range of one value is widened, so that the value lies in the middle.
function M.axis(lo, hi)
  if lo == hi then
    local pad = lo == 0 and 1 or math.max(math.abs(lo) * 0.5, 2.0 ^ -1000)
    lo, hi = math.max(lo - pad, -1.7e308), math.min(hi + pad, 1.7e308)
  end
  return {lo = lo, hi = hi}
end

-- Where v lies between lo and hi, 0 to 1. Halves keep the difference of large numbers finite.
function M.share(axis, v)
  local lo = axis.lo / 2
  local span = axis.hi / 2 - lo
  if span == 0 then return (v - axis.lo) / (axis.hi - axis.lo) end
  return (v / 2 - lo) / span
end

-- place(v): v, which lies in the axis, as one of n dots, from 0.
function M.placer(axis, n)
  local floor, lo, dots = math.floor, axis.lo, (n - 1) / (axis.hi - axis.lo)
  if dots > 0 and finite(dots) then
    return function(v) return floor((v - lo) * dots + 0.5) end
  end
  return function(v) return floor(M.share(axis, v) * (n - 1) + 0.5) end
end

-- The smallest of 1, 2, 5 times a power of ten that makes at most `most` steps.
local function step_of(axis, most)
  local rough = (axis.hi / most - axis.lo / most)
  local power = 10.0 ^ math.floor(math.log(rough, 10))
  for _, times in ipairs {1, 2, 5, 10} do
    if times * power >= rough * (1 - 1e-9) then return times * power end
  end
  return 10 * power
end

-- A number as a tick writes it, exact to a step.
local function text(v, step)
  if math.abs(v) < step * 1e-6 then return "0" end
  local large = math.max(math.abs(v), step)
  if large >= 1e6 or large < 1e-4 then
    return (string.format("%.3g", v):gsub("e([+-])0*(%d)", "e%1%2"):gsub("e%+", "e"))
  end
  local digits = math.max(0, math.ceil(-math.log(step, 10) - 1e-9))
  if digits > 6 then return string.format("%.6g", v) end
  return string.format("%." .. digits .. "f", v)
end

-- Ticks inside the axis at the steps that `most` of them need: {{value, text} …}, ascending.
local function stepped(axis, most)
  local step = step_of(axis, most)
  if axis.whole then step = math.max(step, 1) end
  local list = {}
  if finite(step) and step > 0 then
    local first = math.ceil(axis.lo / step - 1e-9)
    for i = 0, most do
      local v = (first + i) * step
      if v > axis.hi + step * 1e-9 then break end
      if #list > 0 and v <= list[#list][1] then break end
      list[#list + 1] = {v, text(v, step)}
    end
  end
  for i = 2, #list do
    if list[i][2] == list[i - 1][2] then return {} end -- texts too short to tell them apart
  end
  return list
end

-- About `most` ticks, two at least unless a whole axis has but one; at worst the ends of the axis.
function M.ticks(axis, most)
  for _, times in ipairs {1, 2, 4} do
    local list = stepped(axis, math.max(most, 2) * times)
    if #list > 1 or (axis.whole and #list > 0) then return list end
  end
  for _, digits in ipairs {4, 6, 17} do
    local form = "%." .. digits .. "g"
    local lo, hi = string.format(form, axis.lo), string.format(form, axis.hi)
    if lo ~= hi then return {{axis.lo, lo}, {axis.hi, hi}} end
  end
end

return M
