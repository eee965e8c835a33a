-- annotations.lua -- types of everything for the Lua language server
--
-- For `make docs`. Ops come from src/op/ops.def, layers, losses, functions of nn and optimizers from
-- what their Lua sources say when they are loaded.

local odict = require "dlrepl.odict"
local sections = require("optable").sections
local M = {}
local seen = {} -- functions that are written already, with a dot before the last name

local KINDS = { -- the type words of ops.def and of lua/dlrepl/args.lua
  Tensor = "torch.Tensor", TN = "torch.Tensor|number", Num = "number", int = "integer",
  float = "number", number = "number", bool = "boolean", str = "string", dtype = "torch.dtype",
  device = "torch.device|string", Gen = "torch.Generator", any = "any", fn = "function",
  list = "table", dict = "table", int2 = "integer|integer[]",
}
local WORDS = {["end"] = "End", ["repeat"] = "Repeat", ["not"] = "Not", ["function"] = "Function",
               ["and"] = "And", ["or"] = "Or", ["in"] = "In"}

local function lua_name(name) return WORDS[name] or name end

local function type_of(kind)
  local optional = kind:sub(-1) == "?"
  if optional then kind = kind:sub(1, -2) end
  local base, count = kind:match("^(%w+)%??(%[.*%])$")
  local text = KINDS[base or kind] or "any"
  if base then
    text = (text:find("|") and "(" .. text .. ")" or text) .. "[]"
    if base ~= "Tensor" or count == "[...]" then text = text .. "|" .. KINDS[base] end
  end
  return optional and text .. "|nil" or text, optional
end

-- "add(Tensor self, TN other, *, Num alpha=1) -> Tensor" -> {{name =, type =, optional =, named =}}
local function parameters(schema)
  local inside = schema:match("^[%w_.]*%((.-)%) %->") or schema:match("^[%w_.]*%((.*)%)")
  local list, named = {}, false
  for part in (inside or ""):gsub("%[[^%]]*%]", function(s) return (s:gsub(",", ";")) end)
                            :gmatch("[^,]+") do
    part = part:match("^%s*(.-)%s*$")
    local head, default = part:match("^([^=]*)=(.*)$")
    local kind, name = (head or part):match("^(%S+)%s+(%S+)$")
    if part == "*" then
      named = true
    elseif name and name:find("^[%a_][%w_]*$") then
      local text, optional = type_of(kind)
      list[#list + 1] = {name = lua_name(name), type = text, named = named,
                         optional = optional or default ~= nil, rest = kind:find("%.%.%.") ~= nil}
    end
  end
  return list
end

local function named_table(list, skip, has_out)
  local parts = {}
  for i, p in ipairs(list) do
    if not (skip and i == 1) then parts[#parts + 1] = p.name .. "?: " .. p.type end
  end
  if has_out then parts[#parts + 1] = "out?: torch.Tensor" end
  return #parts > 0 and "{" .. table.concat(parts, ", ") .. "}"
end

-- Types of a function's results, from what follows the arrow.
local function results(schema)
  local text = schema:match("%-> (.*)$")
  if not text or text == "()" then return {} end
  local out = {}
  for part in text:gsub("^%(", ""):gsub("%)$", ""):gmatch("[^,]+") do
    local kind = part:match("^%s*(%S+)")
    out[#out + 1] = kind:gsub("%(%w!?%)", "") == "Tensor[]" and "torch.Tensor[]"
                    or (type_of((kind:gsub("%(%w!?%)", ""))):gsub("|.*$", ""))
  end
  return out
end

-- One function: comments and an empty body. skip: leave the first parameter to the colon.
local function write_function(out, name, help, list, returns, skip, has_out)
  seen[(name:gsub(":", "."))] = true
  if help and help ~= "" then out:write("---", help, "\n") end
  local names = {}
  for i, p in ipairs(list) do
    if not p.named and not (skip and i == 1) then
      local optional = p.optional or #names > 0 or nil
      out:write("---@param ", p.name, optional and "? " or " ", p.type,
                not optional and "|table" or "", "\n")
      names[#names + 1] = p.name
    end
  end
  local keywords = named_table(list, skip, has_out)
  local first = list[skip and 2 or 1]
  if first and first.rest then -- x:view(2, 3): any number of integers, then the keywords
    out:write("---@param ... integer|table\n")
    names[#names + 1] = "..."
  elseif keywords then
    out:write("---@param keywords? ", keywords, "\n")
    names[#names + 1] = "keywords"
  end
  for _, r in ipairs(returns) do out:write("---@return ", r, "\n") end
  out:write("function ", name, "(", table.concat(names, ", "), ") end\n\n")
end

local HEAD = [[
---@meta
-- Written by `make docs`. For the Lua language server: put this folder into workspace.library.

]]

local PLACES = { -- letter in the column "where", what stands before the name, is it a method?
  {"t", "torch.", false}, {"f", "F.", false}, {"l", "torch.linalg.", false},
  {"m", "Tensor:", true}, {"i", "Tensor:", true, "_"},
}

function M.ops(out)
  out:write(HEAD, [[
---@class torch.Size: integer[]
---@class torch.dtype
---@class torch.device
---@class torch.Generator

---@class torch.Tensor
---@field shape torch.Size
---@field dtype torch.dtype
---@field device torch.device
---@field grad torch.Tensor?
---@field grad_fn any
---@field requires_grad boolean
---@field is_leaf boolean
---@field ndim integer
---@field T torch.Tensor
---@field data torch.Tensor
---@operator add(torch.Tensor|number): torch.Tensor
---@operator sub(torch.Tensor|number): torch.Tensor
---@operator mul(torch.Tensor|number): torch.Tensor
---@operator div(torch.Tensor|number): torch.Tensor
---@operator mod(torch.Tensor|number): torch.Tensor
---@operator idiv(torch.Tensor|number): torch.Tensor
---@operator pow(torch.Tensor|number): torch.Tensor
---@operator unm: torch.Tensor
---@operator len: integer
local Tensor = {}

torch = {Tensor = Tensor, linalg = {}}
F = {}

]])
  for _, section in ipairs(sections) do
    for _, op in ipairs(section.ops) do
      local list, returns = parameters(op.schema), results(op.schema)
      for _, place in ipairs(PLACES) do
        local name = place[2] .. lua_name(op.name) .. (place[4] or "")
        if op.where:find(place[1], 1, true) and not seen[(name:gsub(":", "."))] then
          write_function(out, name, op.help, list, returns, place[3],
                         op.where:find("o", 1, true) and place[1] == "t")
        end
      end
    end
  end
end

-- Every signature that lua/ declares while it is loaded: name -> text.
local function declared()
  local args, found = require "dlrepl.args", {}
  local spy = setmetatable({}, {__index = args, __call = function(_, signature)
    found[signature:match("^[%w_.]*")] = signature
    return args(signature)
  end})
  package.loaded["dlrepl.args"] = spy
  for _, name in ipairs {"functional", "init", "utils", "linear", "conv", "norm", "activation",
                         "container", "loss", "module"} do
    require("torch.nn." .. name)
  end
  require "torch.utils.data"
  package.loaded["dlrepl.args"] = args
  return found
end

function M.nn(out)
  out:write(HEAD, [[
---@class nn.Module
---@field training boolean
---@overload fun(...): torch.Tensor
local Module = {}

nn = {Module = Module, functional = F, init = {}, utils = {}}
torch.nn, torch.utils = nn, {data = {}}

]])
  local found = declared()
  for full, row in odict.pairs(found) do
    local layer = full:match("^(%w+)%.__init__$")
    local method = full:match("^Module%.(%l[%w_]*)$")
    local list = parameters(row)
    local data = layer and rawget(torch.utils.data, layer)
    if data then
      write_function(out, "torch.utils.data." .. layer, nil, list, {"any"})
    elseif layer and pcall(function() return nn[layer] end) then
      out:write("---@class nn.", layer, ": nn.Module\n")
      write_function(out, "nn." .. layer, nil, list, {"nn." .. layer})
    elseif method then
      write_function(out, "Module:" .. method, nil, list, {"any"})
    elseif rawget(nn.init, full) then
      write_function(out, "nn.init." .. full, nil, list, {"torch.Tensor"})
    elseif rawget(nn.utils, full) then
      write_function(out, "nn.utils." .. full, nil, list, {"any"})
    elseif rawget(F, full) then
      write_function(out, "F." .. full, nil, list, {"torch.Tensor"})
    end
  end
end

-- The tables on the way to a name, each declared once.
local function declare_tables(out, path, known)
  local at = ""
  for part in path:gmatch("[%w_]+") do
    at = at == "" and part or at .. "." .. part
    if not known[at] then out:write(at, " = {}\n") end
    known[at] = true
  end
end

-- What help knows beyond the op table and nn: constructors, methods and modules written by hand.
function M.rest(out)
  local data = require "dlrepl.help.data"
  local known = {Tensor = true, Module = true, Optimizer = true, torch = true, F = true, nn = true,
                 optim = true, ["nn.init"] = true, ["nn.utils"] = true, ["torch.linalg"] = true,
                 ["torch.utils"] = true, ["torch.utils.data"] = true}
  out:write(HEAD, "local Tensor, Module = torch.Tensor, nn.Module\n\n")
  local function one(path, name, entry)
    local full = path ~= "" and path .. "." .. lua_name(name) or name
    local list = parameters(entry.sig) -- help writes signatures as the op table does
    local method = path == "Tensor" or path == "Module"
    local skip = method and list[1] and list[1].type == "torch.Tensor"
                 and (list[1].name == "self" or list[1].name == "input")
    if seen[full] or path == "Optimizer" then return end
    if not method then declare_tables(out, path, known) end
    if entry.sig:find("%(%.%.%.%)") then list = {} end
    write_function(out, method and path .. ":" .. lua_name(name) or full, entry.help, list,
                   results(entry.sig), skip)
  end
  for _, full in ipairs(data.names()) do
    local entry = data.get(full)
    local path, name = full:match("^(.-)%.?([%w_]+)$")
    local called = entry.sig and entry.sig:match("^([%w_]+)%(")
    if called == name and path == "" and name ~= "help" then
      one("torch", name, entry)
      one("Tensor", name, entry)
    elseif called == name then
      one(path, name, entry)
    end
  end
  out:write("Dataset, DataLoader = torch.utils.data.Dataset, torch.utils.data.DataLoader\n",
            "TensorDataset = torch.utils.data.TensorDataset\n")
end

function M.optim(out)
  out:write(HEAD, [[
---@class optim.Optimizer
---@field param_groups table[]
---@field state table
local Optimizer = {}

---@param closure? function
---@return any
function Optimizer:step(closure) end

---@param set_to_none? boolean
function Optimizer:zero_grad(set_to_none) end

---@return table
function Optimizer:state_dict() end

---@param state_dict table
function Optimizer:load_state_dict(state_dict) end

optim = {Optimizer = Optimizer}
torch.optim = optim

]])
  for name in odict.pairs(optim) do
    local defaults = rawget(optim[name], "_defaults")
    if defaults then
      local parts = {}
      for i, pair in ipairs(defaults) do
        local kind = type(pair[2]) == "table" and "number[]" or type(pair[2])
        parts[i] = pair[1] .. "?: " .. (kind == "nil" and "any" or kind)
      end
      out:write("---@class optim.", name, ": optim.Optimizer\n---@param params table\n",
                "---@param keywords? {", table.concat(parts, ", "), "}\n---@return optim.", name,
                "\nfunction optim.", name, "(params, keywords) end\n\n")
    end
  end
end

return M
