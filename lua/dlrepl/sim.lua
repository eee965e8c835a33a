-- sim.lua -- a simulated GPU: what the user says, checked and handed to the driver
--
-- For dlrepl.simulate, --gpu and DLREPL_GPU. Cards and lint are C's; words and files are here.

local core = require "dlrepl.core"

local raise = core.raise
local M = {}

local function bad(text, ...)
  raise("ValueError", string.format(text, ...), {kind = "argument"})
end
local function wrong(text, ...)
  raise("TypeError", string.format(text, ...), {kind = "argument"})
end

-- ---- options --------------------------------------------------------------------------------
local known = {card = "string, list or table", count = "number", compute = "boolean",
               memory = "number or string", host = "number or string", host_us_per_op = "number",
               device = "string", file = "string", force = "boolean"}

local function check_names(options)
  local names = {}
  for name in pairs(known) do names[#names + 1] = name end
  table.sort(names)
  for name in pairs(options) do
    if not known[name] then
      local near = require("dlrepl.near").best(name, names)
      raise("TypeError", string.format("simulate() got an unexpected keyword argument '%s'",
                                       tostring(name)),
            {kind = "argument", notes = {near and "did you mean '" .. near .. "'?"
                                         or "it takes " .. table.concat(names, ", ")}})
    end
    local kind = type(options[name])
    if not known[name]:find(kind, 1, true) then
      wrong("simulate(): argument '%s' must be %s, not %s", name, known[name],
            require("dlrepl.pyrepr").typename(options[name]))
    end
  end
end

local units = {B = 1, KB = 1e3, MB = 1e6, GB = 1e9, TB = 1e12, KIB = 2 ^ 10, MIB = 2 ^ 20,
               GIB = 2 ^ 30, TIB = 2 ^ 40}

-- 8 * 2^30, "8GiB" or "8 GB" in bytes.
local function bytes(v, name)
  if v == nil then return 0 end
  local n, unit = v, "B"
  if type(v) == "string" then
    n, unit = v:match("^%s*([%d.]+)%s*(%a*)%s*$")
    n, unit = tonumber(n), (unit == nil or unit == "") and "B" or unit
  end
  local factor = units[unit:upper()]
  local total = n and factor and n * factor
  if not total or total ~= total or total >= 2 ^ 62 then
    bad("simulate(): %s is a number of bytes or a text such as '8GiB', not %s", name,
        type(v) == "string" and "'" .. v .. "'" or tostring(v))
  end
  if total < 1 then bad("simulate(): %s must be positive, not %s", name, tostring(v)) end
  return math.tointeger(total // 1)
end

-- ---- cards of the user ----------------------------------------------------------------------
local function figure(name, v)
  if v == core.None then v = {} end
  if type(v) == "number" then v = {value = v} end
  if type(v) ~= "table" then wrong("%s of a card is a number or a table, not %s", name, type(v)) end
  local f = {field = name}
  for _, key in ipairs {"value", "unit", "kind", "source", "date", "confidence"} do
    f[key] = v[key] ~= core.None and v[key] or nil
  end
  for key in pairs(v) do
    if f[key] == nil and v[key] ~= core.None then
      bad("%s of a card has value, unit, kind, source, date and confidence, not '%s'", name,
          tostring(key))
    end
  end
  if f.value ~= nil and type(f.value) ~= "number" then
    wrong("the value of %s is a number, not %s", name, type(f.value))
  end
  return f
end

-- {name=, title=, base=, fields={…}} -> the same with a list of figures
local function profile(t)
  local out = {base = t.base, name = t.name, title = t.title, figures = {}}
  for key in pairs(t) do
    if key ~= "base" and key ~= "name" and key ~= "title" and key ~= "fields" then
      bad("a card has name, title, base and fields, not '%s'", tostring(key))
    end
  end
  for _, key in ipairs {"base", "name", "title"} do
    if out[key] ~= nil and type(out[key]) ~= "string" then
      wrong("%s of a card is a string, not %s", key, type(out[key]))
    end
    if out[key] and not out[key]:find("^[^%c\x7f]+$") then
      bad("%s of a card is a line of text without control characters", key)
    end
  end
  local names, fields = {}, t.fields
  if fields == nil or fields == core.None then fields = {} end
  if type(fields) ~= "table" then wrong("fields of a card are a table, not %s", type(fields)) end
  for name in pairs(fields) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for i, name in ipairs(names) do out.figures[i] = figure(name, fields[name]) end
  return out
end

-- A file holds one card; without a base it must say all that the lint asks for.
local function read_file(path)
  local f, why = io.open(path, "rb")
  if not f then raise("OSError", why, {kind = "io"}) end
  local text = f:read("a")
  f:close()
  local t = require("dlrepl.json").decode(text)
  if type(t) ~= "table" then bad("%s holds no card: a JSON object is wanted", path) end
  if not t.name then t.name = path:match("([^/]+)%.%w+$") or path end
  return profile(t)
end

local function nearest_card(name)
  local names = {}
  for i, c in ipairs(dlrepl._sim_cards()) do names[i] = c.name end
  return require("dlrepl.near").best(name:lower(), names)
end

local function one_card(c)
  if type(c) == "table" then return profile(c) end
  if type(c) ~= "string" then wrong("a card is a name or a table, not %s", type(c)) end
  local found = dlrepl._sim_cards(c)
  if found then return found.name end
  local near = nearest_card(c)
  raise("ValueError", string.format("there is no card '%s'", c), {kind = "argument", notes = {
    near and "did you mean '" .. near .. "'?" or "dlrepl.cards() lists them"}})
end

local function list_of_cards(o)
  local cards = {}
  local from = o.card or (not o.file and "t4" or nil)
  if o.file then
    if from ~= nil then bad("simulate() takes card or file, not both") end
    from = read_file(o.file)
    cards[1] = from
  elseif type(from) == "table" and #from > 0 then
    for i, c in ipairs(from) do cards[i] = one_card(c) end
  else
    cards[1] = one_card(from)
  end
  local count = o.count or #cards
  if math.type(count) ~= "integer" or count < 1 or count > 16 then
    bad("1 to 16 GPUs can be simulated, not %s", tostring(count))
  end
  if #cards > 1 and count ~= #cards then
    bad("simulate() got %d cards and count=%d", #cards, count)
  end
  while #cards < count do cards[#cards + 1] = cards[1] end
  return cards
end

-- ---- opening --------------------------------------------------------------------------------
-- Tensors on a GPU that goes away would be empty shells.
local function nothing_lives(force)
  if force or not core.torch.accelerator.is_available() then return end
  local n, held, where = dlrepl._sim_live()
  if n == 0 then return end
  raise("RuntimeError", string.format(
    "%d tensor%s on the GPU (%s) would lose %s values", n, n == 1 and "" or "s", M.size(held),
    n == 1 and "its" or "their"),
    {kind = "device_mismatch", notes = {
      where and "the oldest was made at " .. where:gsub("^[@=]", "")
      or "the garbage collector has been asked",
      "set what holds them to nil, or move them to the cpu; force=true goes on all the same"}})
end

function M.size(n)
  if n >= 2 ^ 30 then return string.format("%.2f GiB", n / 2 ^ 30) end
  if n >= 2 ^ 20 then return string.format("%.2f MiB", n / 2 ^ 20) end
  return string.format("%.2f KiB", n / 2 ^ 10)
end

local devices = {cuda = false, mps = true}

-- simulate("t4"), simulate{card=…, …}, simulate(false). Gives the names of the devices.
function M.open(options, more)
  if options == false then
    if not dlrepl.is_simulated() then return end
    nothing_lives(type(more) == "table" and more.force)
    dlrepl._sim_close()
    return
  end
  if type(options) == "string" then
    local o = {card = options}
    for k, v in pairs(type(more) == "table" and more or {}) do o[k] = v end
    options = o
  end
  if options == nil then options = {} end
  if type(options) ~= "table" then
    wrong("simulate(): argument 'card' must be str, table or false, not %s",
          require("dlrepl.pyrepr").typename(options))
  end
  check_names(options)
  local mps = devices[options.device or "cuda"]
  if mps == nil then
    bad("a simulated GPU stands as 'cuda' or 'mps', not '%s'", options.device)
  end
  local us = options.host_us_per_op
  if us and not (us > 0 and us <= 1e6) then
    bad("simulate(): host_us_per_op is from 0 to 1e6 microseconds, not %s", tostring(us))
  end
  local spec = {cards = list_of_cards(options), compute = options.compute, mps = mps,
                memory = bytes(options.memory, "memory"), host = bytes(options.host, "host"),
                host_us_per_op = us and us + 0.0}
  nothing_lives(options.force)
  dlrepl._sim_open(spec)
end

-- "sim:t4", "sim:a100-80x2", "none": what --gpu and DLREPL_GPU say.
function M.word(text)
  if text == "" or text == "none" then return end
  local card, count = text:match("^sim:(.+)x(%d+)$")
  card = card or text:match("^sim:(.+)$")
  if not card then
    bad("a GPU is named as in sim:t4 or sim:a100-80x2, not '%s'", text)
  end
  M.open {card = card, count = tonumber(count or 1)}
end

return M
