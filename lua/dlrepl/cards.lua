-- cards.lua -- dlrepl.cards(): the cards that can be simulated; cards("t4"): one, figure by figure

local core = require "dlrepl.core"
local near = require "dlrepl.near"

-- ---- one card -------------------------------------------------------------------------------
local card_meta = {__name = "dlrepl.card"}

local function plain(v)
  if v == nil then return "unknown" end
  return v == v // 1 and string.format("%.0f", v) or string.format("%.6g", v)
end

function card_meta.__tostring(c)
  local lines = {string.format("%s (%s)", c.title, c.name)}
  for _, f in ipairs(c.figures) do
    lines[#lines + 1] = string.format("  %-17s %13s %-9s %-9s %-7s %s (%s)", f.field,
                                      plain(f.value), f.unit, f.kind, f.confidence, f.source,
                                      f.date)
  end
  return table.concat(lines, "\n")
end

-- card.bandwidth is the figure's value; nil where nothing is known.
function card_meta.__index(c, key)
  for _, f in ipairs(rawget(c, "figures")) do
    if f.field == key then return f.value end
  end
end

-- ---- all ------------------------------------------------------------------------------------
local list_meta = {__name = "dlrepl.cards"}

function list_meta.__tostring(list)
  local row = "%-10s %-26s %8s %8s %8s %8s %5s"
  local lines = {string.format(row, "card", "name", "GiB", "fp16 TF", "fp32 TF", "GB/s", "SMs")}
  for _, c in ipairs(list) do
    local gib = string.format("%.2f", c.memory / 2 ^ 30)
    lines[#lines + 1] = string.format(row, c.name, c.title, gib, plain(c.fp16), plain(c.fp32),
                                      plain(c.bandwidth), plain(c.sm_count))
  end
  lines[#lines + 1] = "dlrepl.cards(\"t4\") tells where each figure comes from"
  return table.concat(lines, "\n")
end

local function named(name)
  local c = dlrepl._sim_cards(name)
  if c then return setmetatable(c, card_meta) end
  local names = {}
  for i, card in ipairs(dlrepl._sim_cards()) do names[i] = card.name end
  local guess = near.best(tostring(name):lower(), names)
  core.raise("ValueError", string.format("there is no card '%s'", tostring(name)),
             {kind = "argument", notes = {guess and "did you mean '" .. guess .. "'?"
                                          or "there are " .. table.concat(names, ", ")}})
end

return function(name)
  if name ~= nil then return named(name) end
  local list = dlrepl._sim_cards()
  for _, c in ipairs(list) do setmetatable(c, card_meta) end
  return setmetatable(list, list_meta)
end
