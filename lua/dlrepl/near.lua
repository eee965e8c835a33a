-- near.lua -- the name somebody probably meant
--
-- For "has no attribute" and "unexpected keyword" errors.

local M = {}

-- Edits (insert, delete, change, swap neighbours) that turn a into b.
local function distance(a, b)
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  local two = {}
  for i = 1, #a do
    two, before, row = before, row, {[0] = i}
    for j = 1, #b do
      local change = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + change)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], two[j - 2] + 1)
      end
    end
  end
  return row[#b]
end

-- The entry of `names` closest to `name`, or nil if none is close.
function M.best(name, names)
  if type(name) ~= "string" or #name > 60 then return nil end
  local best, least = nil, math.max(1, #name // 3) + 1
  for _, candidate in ipairs(names) do
    if type(candidate) == "string" and math.abs(#candidate - #name) < least then
      local d = distance(name:lower(), candidate:lower())
      if d < least or (d == least and best and candidate < best) then
        best, least = candidate, d
      end
    end
  end
  return best
end

return M
