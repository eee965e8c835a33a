-- loop.lua -- objects that stand in a `for` loop: every loop has a place of its own
--
-- Lua calls the object after `in` with (state, control); nothing else tells one loop from another.
-- So the iterator is found by the control value, the first value it gave last: loops may nest, and
-- a loop that is left early is forgotten with its last value.
--
-- INVARIANT  A control value that is a tensor or table belongs to one loop. Equal numbers in
--            nested loops are kept as a stack, innermost on top.

local M = {}

local running = setmetatable({}, {__mode = "k"}) -- owner -> {control -> entry}

-- One step. start(owner) gives a function that returns the next values, nil at the end.
function M.step(owner, control, start)
  local map = running[owner]
  if not map then
    map = setmetatable({}, {__mode = "k"})
    running[owner] = map
  end
  local entry
  if control == nil then
    entry = {next = start(owner)}
  else
    entry = map[control]
    if not entry then return nil end
    map[control] = entry.below
  end
  local function keep(first, ...)
    if first ~= nil then
      entry.below = map[first]
      map[first] = entry
    end
    return first, ...
  end
  return keep(entry.next())
end

return M
