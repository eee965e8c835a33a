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
  torch.cuda.set_per_process_memory_fraction(math.min(1, bytes / memory()))
end

local current, total -- what set has made, in one text; the bytes of it

local function memory() return torch.cuda.get_device_properties(0).total_memory end

-- set(world, simulated): the world is there; simulated: never on a real GPU (a judge forks). True
-- when that took a simulated GPU away with tensors on it.
function M.set(world, simulated)
  if not world or not world.card then return false end
  local bytes = world.vram and M.bytes(world.vram)
  local there = torch.cuda.is_available()
  if there and not simulated and not dlrepl.is_simulated() then
    if bytes then limit(bytes) end
    return false
  end
  local key = table.concat({world.card, world.devices or 1, bytes or 0}, " ")
  if there and key == current and memory() == total then return false end
  local options = {card = world.card, count = world.devices or 1, memory = bytes}
  local lost = not pcall(dlrepl.simulate, options)
  if lost then
    options.force = true
    dlrepl.simulate(options)
  end
  current, total = key, memory()
  if world.exact then dlrepl.exact_memory(true) end
  return lost
end

return M
