-- world.lua -- the machine that a lesson wants: its GPU, and how much memory that has
--
-- For play.lua and judge.lua. A card is simulated, unless the session has a real one; that keeps
-- its own memory and gets a limit.
--
-- MUST NOT   know steps.

local M = {}

local units = {B = 1, KiB = 2 ^ 10, MiB = 2 ^ 20, GiB = 2 ^ 30}

-- Bytes of "48MiB"; nil for anything else.
function M.bytes(text)
  local n, unit = text:match("^(%d+)%s*(%a+)$")
  return n and units[unit] and math.tointeger(tonumber(n) * units[unit])
end

local function limit(bytes)
  local total = torch.cuda.get_device_properties(0).total_memory
  torch.cuda.set_per_process_memory_fraction(math.min(1, bytes / total))
end

-- set(world): the world is there. What was simulated before is not.
function M.set(world)
  if not world or not world.card then return end
  local bytes = world.vram and M.bytes(world.vram)
  if torch.cuda.is_available() and not dlrepl.is_simulated() then
    if bytes then limit(bytes) end
    return
  end
  dlrepl.simulate {card = world.card, count = world.devices or 1, memory = bytes}
  if world.exact then dlrepl.exact_memory(true) end
end

return M
