-- sandbox.lua -- the global table that an answer is run with
--
-- For judge.lua. An answer sees torch and the plain functions of Lua; no file, no system, no debug
-- library, no compiled code, nothing of the checker or of the record. What it does to the library's
-- own tables is found afterwards.
--
-- INVARIANT  Everything of the library is loaded before the first answer runs, so that a difference
--            afterwards is the answer's doing.
-- MUST NOT   know steps or checks.

local M = {}

local host = dlrepl._lesson
local getmetatable, next, rawget, type = debug.getmetatable, next, rawget, type

-- ---- everything loaded ------------------------------------------------------------------------

local function require_all(dir, prefix)
  for _, name in ipairs(host.list(dir) or {}) do
    local module = name:match("^([%w_]+)%.lua$")
    if module then pcall(require, prefix .. module)
    elseif name:find("^[%w_]+$") then require_all(dir .. "/" .. name, prefix .. name .. ".") end
  end
end

-- Names of torch that are fetched when first asked for.
local function touch_all()
  for _, name in ipairs(host.list(host.root() .. "/lua/torch") or {}) do
    local key = name:gsub("%.lua$", "")
    pcall(function() return torch[key] end)
  end
  for _, key in ipairs {"save", "load", "autocast", "compile"} do
    pcall(function() return torch[key] end)
  end
  pcall(function() return torch.amp.GradScaler, torch.cuda.amp.GradScaler end)
end

local function load_all()
  local lua = host.root() .. "/lua/"
  require_all(lua .. "torch", "torch.")
  require_all(lua .. "torchvision", "torchvision.")
  touch_all()
  for _, t in ipairs {nn, F, optim, torch.utils.data} do local _ = t._ end
  for _, name in ipairs {"pyrepr", "list", "odict", "class", "near", "progress", "guard"} do
    pcall(require, "dlrepl." .. name) -- what the others ask for when they first need it
  end
  for _, name in ipairs {"torchvision", "Dataset", "DataLoader", "TensorDataset", "transforms"} do
    local _ = _G[name]
  end
end

-- ---- what there is ----------------------------------------------------------------------------

local plain = {"assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "print",
               "rawequal", "rawget", "rawlen", "rawset", "select", "setmetatable", "tonumber",
               "tostring", "type", "xpcall", "load", "_VERSION"}
local libraries = {"string", "table", "math", "utf8", "coroutine"}
local names = {"torch", "nn", "F", "optim", "np", "None", "slice", "Dataset", "DataLoader",
               "TensorDataset", "torchvision", "datasets", "transforms"}
local ours = {"is_simulated", "scope", "keep", "progress", "clock", "assume"}
local silent = {"show", "plot", "watch", "report"} -- pictures, which nobody sees here
local no_system = "an answer has no files, programs or other modules; only torch and plain Lua"

local function copy(t)
  local out = {}
  for k, v in next, t do out[k] = v end
  return out
end

local function refuse() error(no_system, 2) end

local function collect(what, ...)
  if what == nil or what == "collect" or what == "count" or what == "step" then
    return collectgarbage(what, ...)
  end
  return 0
end

local function known_module(loaded)
  return function(name)
    local v = loaded[name]
    if v == nil then error(no_system, 2) end
    return v
  end
end

-- new() -> the global table, and the list that its print fills
function M.new()
  local env, printed = {}, {}
  for _, name in ipairs(plain) do env[name] = _G[name] end
  for _, name in ipairs(libraries) do env[name] = copy(_G[name]) end
  env.string.dump = nil
  for _, name in ipairs(names) do env[name] = _G[name] end
  env.dlrepl = {}
  for _, name in ipairs(ours) do
    local ok, v = pcall(function() return dlrepl[name] end)
    if ok then env.dlrepl[name] = v end
  end
  for _, name in ipairs(silent) do env.dlrepl[name] = function() end end
  env._G = env
  env.collectgarbage = collect
  env.require = known_module {torch = torch, ["torch.nn"] = nn, ["torch.optim"] = optim}
  local closed = setmetatable({}, {__index = refuse, __newindex = refuse})
  env.os, env.debug, env.package = closed, closed, closed
  env.dofile, env.loadfile = refuse, refuse
  local text = tostring
  env.print = function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = text(parts[i]) end
    if #printed < 200 then printed[#printed + 1] = table.concat(parts, "\t"):sub(1, 4000) end
  end
  env.io = setmetatable({write = env.print}, getmetatable(closed))
  return env, printed
end

-- ---- what was changed -------------------------------------------------------------------------

local saved -- table -> {name, functions = {key = value}, meta = metatable}

local function remember(t, name, depth)
  if saved[t] or depth > 6 then return end
  local entry = {name = name, functions = {}, meta = getmetatable(t)}
  saved[t] = entry
  for k, v in next, t do
    if type(v) == "function" then entry.functions[k] = v
    elseif type(v) == "table" and type(k) == "string" and k ~= "loaded" then
      remember(v, name == "" and k or name .. "." .. k, depth + 1)
    end
  end
  if type(entry.meta) == "table" then remember(entry.meta, name, depth + 1) end
end

-- The methods of tensors, and what stands behind every tensor.
local function remember_tensor()
  local meta = getmetatable(torch.empty(0))
  remember(meta, "torch.Tensor", 0)
  local index = rawget(meta, "__index")
  for i = 1, 8 do
    local _, v = debug.getupvalue(type(index) == "function" and index or print, i)
    if type(v) == "table" then remember(v, "torch.Tensor", 0) end
  end
end

-- Load everything and remember it; strings lose the way to their methods' table.
function M.prepare()
  load_all()
  for _, t in ipairs {torch, torch.serialization, np} do t.save, t.load = refuse, refuse end
  saved = {}
  for _, name in ipairs(names) do
    local v = _G[name]
    if type(v) == "table" then remember(v, name, 0) end
  end
  remember_tensor()
  getmetatable("").__metatable = false
end

-- The name of the first function of the library that is not what it was; nil if all are.
function M.patched()
  local found = {}
  for t, entry in next, saved do
    for k, v in next, entry.functions do
      if rawget(t, k) ~= v then found[#found + 1] = entry.name .. "." .. tostring(k) end
    end
    for k, v in next, t do
      if type(v) == "function" and entry.functions[k] == nil then
        found[#found + 1] = entry.name .. "." .. tostring(k)
      end
    end
    if getmetatable(t) ~= entry.meta then found[#found + 1] = entry.name end
  end
  table.sort(found)
  return found[1]
end

return M
