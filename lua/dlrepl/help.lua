-- help.lua -- help(): what is x:sum, torch.add, nn.Linear?
--
--     help()              a short guided page
--     help(x.sum)         the page of a function, class, module or value
--     help("torch.sum")   the same by name; at the prompt also ?torch.sum and x:sum?
--
-- Loaded when first asked. Signatures and one line come from the op table and from the layers
-- themselves, the rest from help/*.txt.
--
-- MUST NOT run a user's code: names are followed through plain fields.

local data = require "dlrepl.help.data"
local page = require "dlrepl.help.page"
local near = require "dlrepl.near"

local dlrepl, torch = dlrepl, require "torch"
local M = {}
local WIDTH = 100 -- columns at most

-- Of help(): titles, and rows of what to type and what it is.
local guide = {
  "dlrepl speaks PyTorch in Lua: names, defaults, printed text and errors are PyTorch's.",
  {"Try"},
  {"x = torch.tensor({{1., 2.}, {3., 4.}})", "lists are braces"},
  {"x:sum(1, {keepdim=true})", "methods take a colon; keyword arguments are one table"},
  {"x.shape[0]", "properties take a dot; torch counts from 0"},
  {"model = nn.Sequential(nn.Linear(2, 1))", "layers; model(x) runs them"},
  {"opt = optim.SGD(model:parameters(), {lr=0.1})", "opt:step() changes them"},
  {"Ask"},
  {"?torch.sum   x:sum?   help(x.sum)", "signature, shapes, errors, an example"},
  {'help("nn")   help("optim")   help("Tensor")', "what there is"},
  {"Tab", "names, methods, keyword arguments, files"},
  {"dlrepl.doctor()", "what this machine has and what is missing"},
  {":lesson   dlrepl learn", "lessons that grade what your program did"},
  {"Where things are"},
  {"torch   F   nn   optim", "tensors, functions, layers, optimizers"},
  {"Dataset   DataLoader   torchvision", "data"},
  {"np   dlrepl", "CPU arrays; our own: plot, progress, doctor"},
}

local function guide_text(columns)
  local out = page.wrap(guide[1], columns, 0)
  for i = 2, #guide do
    local code, words = guide[i][1], guide[i][2]
    if not words then
      out[#out + 1] = ""
      out[#out + 1] = code
    elseif columns >= 100 then
      out[#out + 1] = string.format("  %-46s %s", code, words)
    else
      out[#out + 1] = "  " .. table.concat(page.wrap(code, columns - 2, 2), "\n  ")
      out[#out + 1] = "      " .. table.concat(page.wrap(words, columns - 6, 0), "\n      ")
    end
  end
  return table.concat(out, "\n")
end

-- ---- names -------------------------------------------------------------------------------------

-- Where the names of entries live: prefix -> table of values.
local function rooms()
  local methods = debug.getmetatable(torch.empty(0))
  local _, tensor = debug.getupvalue(rawget(methods, "__index"), 1)
  return {
    {"torch", torch}, {"F", F}, {"nn", nn}, {"nn.init", nn.init}, {"nn.utils", nn.utils},
    {"optim", optim}, {"torch.utils.data", torch.utils.data}, {"np", np},
    {"torchvision.datasets", torchvision.datasets}, {"torch.cuda", torch.cuda},
    {"torchvision.transforms", torchvision.transforms}, {"torch.autograd", torch.autograd},
    {"Tensor", tensor}, {"Module", nn.Module}, {"Optimizer", optim.Optimizer}, {"dlrepl", dlrepl},
    {"dlrepl.plot", dlrepl.plot},
  }
end

local shorter = {
  {"^torch%.nn%.functional%.", "F."}, {"^nn%.functional%.", "F."}, {"^torch%.nn%.", "nn."},
  {"^torch%.optim%.", "optim."}, {"^torch%.Tensor%.", "Tensor."}, {"^nn%.Module%.", "Module."},
  {"^optim%.Optimizer%.", "Optimizer."}, {"^datasets%.", "torchvision.datasets."},
  {"^transforms%.", "torchvision.transforms."}, {"^torch%.linalg%.", "torch."},
}

local function normal(name)
  name = name:gsub("%s+", ""):gsub(":", "."):gsub("%(.*$", ""):gsub("repeat$", "Repeat")
  for _, pair in ipairs(shorter) do name = name:gsub(pair[1], pair[2]) end
  return name
end

local modules = {
  torch = "tensors and what is done with them", nn = "layers, losses, and what they are made of",
  F = "layers and losses as functions", optim = "what changes parameters by their gradients",
  ["nn.init"] = "starting values", ["nn.utils"] = "clipping, parameters as one vector",
  ["torch.utils.data"] = "data sets, samplers and loaders", ["torch.cuda"] = "GPUs: none here",
  torchvision = "datasets and transforms", ["torch.utils"] = "data",
  ["torch.autograd"] = "gradients", ["torchvision.datasets"] = "pictures with labels",
  ["torchvision.transforms"] = "pictures made ready", dlrepl = "our own", np = "CPU arrays",
  Tensor = "methods and properties of tensors", Module = "methods of modules",
  Optimizer = "methods of optimizers",
}

local by_value, by_op

-- Operation's name -> its rows.
local function ops()
  if by_op then return by_op end
  by_op = {}
  for _, row in ipairs(dlrepl._rows()) do
    local name = row.schema:match("^([%w_]+)")
    if row.where:find("[tmifl]") then
      by_op[name] = by_op[name] or {}
      table.insert(by_op[name], row)
    end
  end
  return by_op
end

local objects = {["function"] = true, table = true, userdata = true}

-- value -> name of its entry, for what is no operation.
local function identities()
  if by_value then return by_value end
  by_value = {}
  if slice ~= nil then by_value[slice] = "slice" end
  if None ~= nil then by_value[None] = "None" end
  for _, room in ipairs(rooms()) do
    if modules[room[1]] and not data.get("nn." .. room[1]) then by_value[room[2]] = room[1] end
    for key, v in next, room[2] do
      if type(key) == "string" and objects[type(v)] then
        local name = room[1] .. "." .. key
        if modules[name] then by_value[v] = name end
        if data.get(name) then by_value[v] = by_value[v] or name
        elseif type(v) == "function" and (data.get(key) or ops()[key:gsub("_$", "")]) then
          by_value[v] = by_value[v] or data.get(key) and key or key:gsub("_$", "")
        end
      end
    end
  end
  return by_value
end

-- ---- pages -------------------------------------------------------------------------------------

local places = {{"t", "torch.%s"}, {"m", "x:%s"}, {"i", "x:%s_"}, {"f", "F.%s"}}

local function op_title(name, rows)
  local parts = {}
  for _, p in ipairs(places) do
    for _, row in ipairs(rows) do
      if row.where:find(p[1], 1, true) then
        parts[#parts + 1] = p[2]:format(name)
        break
      end
    end
  end
  return table.concat(parts, ", ")
end

-- The name without the _ of an in-place form, where there is one.
local function plain_form(key)
  return torch.Tensor[key] ~= nil and key:gsub("_$", "") or key
end

local function op_page(name, rows, asked)
  local found = {title = op_title(name, rows), signatures = {}, help = rows[1].help,
                 entry = data.get(name)}
  found.grad = rows[1].grad == "no" and "none: results require no grad" or nil
  for i, row in ipairs(rows) do
    found.signatures[i] = row.schema:gsub("^([%w_]+)%.[%w_]+", "%1")
  end
  if asked and asked:sub(-1) == "_" and name:sub(-1) ~= "_" then
    found.note = "x:" .. name .. "_ writes the result into x and returns it"
  end
  return found
end

-- A module's page: the names it has.
local function module_page(name)
  local letter = ({torch = "t", F = "f", Tensor = "m"})[name]
  local names = {}
  for op, rows in pairs(letter and ops() or {}) do
    for _, row in ipairs(rows) do
      if row.where:find(letter, 1, true) then
        names[#names + 1] = op
        break
      end
    end
  end
  for _, entry in ipairs(data.names()) do
    local key = entry:match("^" .. name:gsub("%.", "%%.") .. "%.([%w_.]+)$")
    local below = name == "torchvision" or name == "torch.utils"
    if key and (below or not key:find(".", 1, true)) then names[#names + 1] = key end
  end
  table.sort(names)
  return {title = name, help = modules[name] .. ":", signatures = {},
          note = table.concat(names, ", ")}
end

-- The signature of a layer or optimizer, from what it reads its arguments with.
local function class_signature(name, value)
  if type(value) ~= "table" then return nil end
  local params = rawget(value, "__signature")
  local options = rawget(value, "_defaults")
  local short = name:match("[%w_]+$") or ""
  if params then return short .. "(" .. params .. ")" end
  if not options then return nil end
  local parts = {"params"}
  for i = 1, #options do
    local v = options[i][2]
    local text = v == nil and "None" or v == true and "True" or v == false and "False"
      or type(v) == "table" and "(" .. table.concat(v, ", ") .. ")" or tostring(v)
    parts[#parts + 1] = options[i][1] .. "=" .. text
  end
  return short .. "(" .. table.concat(parts, ", ") .. ")"
end

-- The class that an entry is about; only its own module is loaded.
local function value_at(name)
  local room, key = name:match("^(nn)%.(%u%w*)$")
  if not room then room, key = name:match("^(optim)%.(%u%w*)$") end
  return room and (room == "nn" and nn or optim)[key]
end

local function entry_page(name, entry)
  local title = name:gsub("^Tensor%.(.*)", function(key)
    return (entry.sig and "x:" or "x.") .. key
  end):gsub("^Module%.", "model:"):gsub("^Optimizer%.", "opt:")
  if not name:find(".", 1, true) and rawget(_G, name) == nil and name ~= "help" then
    local as_method = select(2, pcall(function() return torch.Tensor[name] end))
    title = "torch." .. name .. (type(as_method) == "function" and ", x:" .. name or "")
  end
  local sig = class_signature(name, value_at(name)) or entry.sig
  return {title = title, entry = entry, help = entry.help, signatures = {sig}}
end

local function by_name(name, asked)
  if modules[name] then return module_page(name) end
  local entry = data.get(name)
  local rows = ops()[name]
  if rows then return op_page(name, rows, asked) end
  if entry then return entry_page(name, entry) end
end

-- Public names, and last parts of names -> how they are asked for.
local function all_names()
  local names, last, full = {}, {}, {}
  local function add(name)
    local key = name:match("[%w_]+$")
    names[#names + 1] = name
    if not full[key] then last[#last + 1] = key end
    full[key] = full[key] or name
  end
  for _, name in ipairs(data.names()) do
    if ops()[name] then add((op_title(name, ops()[name]):match("^[^,]+")))
    else add((name:gsub("^Tensor%.", data.get(name).sig and "x:" or "x.")
                   :gsub("^Module%.", "model:")
                   :gsub("^Optimizer%.", "opt:"))) end
  end
  return names, last, full
end

-- Follow a dotted name; what is not there is nil. Only our own names are followed.
local function walk(name)
  local v = _G
  for key in name:gmatch("[%w_]+") do
    local ok, next_v = pcall(function() return v[key] end)
    if not ok then return nil end
    v = next_v
  end
  return v
end

local function of_value(value)
  if type(value) == "function" then
    local name, _, rows = dlrepl._rows_of(value)
    if name then
      local base = ops()[name] and name or name:gsub("_$", "")
      return op_page(base, ops()[base] or rows, name)
    end
  end
  if value ~= nil and identities()[value] then
    return by_name(identities()[value])
  end
  if torch.is_tensor(value) then return by_name("torch.Tensor") end
  local mt = debug.getmetatable(value)
  local class = type(mt) == "table"
    and (rawget(mt, "module_class") or rawget(mt, "optimizer_class") or rawget(mt, "class"))
  local guard = 0
  while class and guard < 20 do
    if identities()[class] then return by_name(identities()[class]) end
    class, guard = rawget(class, "__base__"), guard + 1
  end
end

-- The page for a path such as "x:sum" and, where known, its value.
local function find(path, value)
  local name = path and normal(path)
  if name then
    local found = by_name(name, name)
    if found then return found end
    local room, key = name:match("^([%w_%.]-)%.?([%w_]+)$")
    if room == "torch" or room == "F" or room == "Tensor" then
      found = by_name(key, key) or by_name(plain_form(key), key)
      if found then return found end
    end
  end
  if value == nil and name then value = walk(name) end
  local found = of_value(value)
  if found or not name or value ~= nil then return found end
  local key = name:match("[%w_]+$") or ""
  if name:find("^opt") then found = by_name("Optimizer." .. key) end
  for _, try in ipairs {key, "Tensor." .. key, "Module." .. key, "Optimizer." .. key,
                        plain_form(key)} do
    if name:find(".", 1, true) or try == key then found = found or by_name(try, key) end
  end
  local whole = not found and name == key and select(3, all_names())[key]
  return whole and by_name(normal(whole:gsub("^x[.:]", "Tensor."):gsub("^model:", "Module.")
                                       :gsub("^opt:", "Optimizer.")), key) or found
end

-- ---- unknown names -----------------------------------------------------------------------------

local MOST = 6 -- names that are offered

-- Names that contain the word, as a text; nil if there is none.
local function containing(word, names)
  local found = {}
  for _, name in ipairs(#word >= 3 and names or {}) do
    if name:lower():find(word:lower(), 1, true) and #found < MOST then found[#found + 1] = name end
  end
  return found[1] and table.concat(found, ", ")
end

local function unknown(name)
  local plain = normal(name)
  local names, last, full = all_names()
  local word = plain:match("[%w_]+$") or ""
  local meant = near.best(plain, names) or not plain:find(".", 1, true) and containing(word, names)
    or full[near.best(word, last) or ""]
  if type(rawget(_G, name)) == "function" then
    return name .. " is Lua's own: see the Lua manual, www.lua.org/manual/5.4"
  end
  return "nothing is known about '" .. name .. "'" .. (meant and "; did you mean " .. meant .. "?"
    or ". help() shows where to begin.")
end

-- ---- for the session, and for people -----------------------------------------------------------

local function fit(text, columns) return table.concat(page.wrap(text, columns, 2), "\n") end

-- inspect(path, value, detail, columns): the page as text, or nil.
function M.inspect(path, value, detail, columns)
  local found = find(path, value)
  return found and page.text(found, detail, columns)
end

-- show(path, value): print the page, or what might have been meant.
function M.show(path, value)
  local columns = math.min(WIDTH, dlrepl._columns(io.stdout))
  local text = path == "" and guide_text(columns)
  text = text or M.inspect(path, value, 1, columns) or fit(unknown(path), columns)
  dlrepl._page(text .. "\n")
end

-- parameters(value, path): names of the keyword arguments it takes, a list.
function M.parameters(value, path)
  local quick = class_signature(path or "", value)
  local found = quick and {signatures = {quick}} or find(path, value)
  local names, seen = {}, {}
  for _, sig in ipairs(found and found.signatures or {}) do
    for _, part in ipairs(page.parameters(sig)) do
      local name = part:gsub("=.*", ""):match("([%a_][%w_]*)%s*$")
      if name and not seen[name] and name ~= "self" then names[#names + 1] = name end
      seen[name or ""] = true
    end
  end
  return names
end

-- help(what): a name, a function, a class, any value; nothing: the guided page.
local function help(_, ...)
  if select("#", ...) == 0 then return M.show("") end
  local what = (...)
  if type(what) == "string" then return M.show(what) end
  local columns = math.min(WIDTH, dlrepl._columns(io.stdout))
  local found = of_value(what)
  print(found and page.text(found, 1, columns)
        or fit("no page for this " .. type(what) .. "; by name: help(\"torch.add\")", columns))
end

return setmetatable(M, {__call = help, __name = "help",
                        __tostring = function() return "type help() for help" end})
