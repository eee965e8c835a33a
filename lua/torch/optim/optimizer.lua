-- optimizer.lua -- what all optimizers share: parameter groups, state, saving, printing
--
--     opt.param_groups   plain list of tables {params =, lr =, …}; change lr there
--     opt.state[p]       the state of one parameter, made at its first step
--
-- INVARIANT  A parameter is in one group only; state is keyed by the parameter itself.
-- MUST NOT   know any update rule.

local args = require "dlrepl.args"
local core = require "dlrepl.core"
local list = require "dlrepl.list"
local near = require "dlrepl.near"
local odict = require "dlrepl.odict"
local repr = require "dlrepl.pyrepr"

local torch, raise, None = core.torch, core.raise, core.None

local Optimizer = {__name__ = "Optimizer"}

-- ---- state of one parameter: `step` reads as the float32 tensor PyTorch keeps there --------

local COUNT = {}
local state_meta = {__name = "dict"}
function state_meta.__index(s, k)
  if k == "step" and rawget(s, COUNT) then
    return torch.tensor(rawget(s, COUNT), {dtype = torch.float32})
  end
end
function state_meta.__newindex(s, k, v)
  if k ~= "step" then return rawset(s, k, v) end
  rawset(s, COUNT, core.is_tensor(v) and math.tointeger(v:item()) or math.tointeger(v))
end
function state_meta.__pairs(s)
  local order, i = {}, 0
  if rawget(s, COUNT) then order[1] = "step" end
  for _, k in ipairs(s._names) do
    if rawget(s, k) ~= nil then order[#order + 1] = k end
  end
  return function()
    i = i + 1
    if order[i] then return order[i], s[order[i]] end
  end
end
function state_meta.__tostring(s)
  local parts = {}
  for k, v in pairs(s) do parts[#parts + 1] = repr.repr(k) .. ": " .. repr.repr(v) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

-- names: the state's tensors in PyTorch's order.
function Optimizer._new_state(self, p)
  local s = rawget(self.state, p)
  if not s then
    s = setmetatable({_names = self._state_names}, state_meta)
    rawset(self.state, p, s)
  end
  return s
end

-- The step after the last one, stored: an integer.
function Optimizer._next_step(_, s)
  local n = (rawget(s, COUNT) or 0) + 1
  rawset(s, COUNT, n)
  return n
end

-- ---- making --------------------------------------------------------------------------------

local meta_of = {}

local function attribute(cls)
  return function(_, k)
    local v = cls[k]
    if v ~= nil then return v end
    local names = {"param_groups", "state", "defaults"}
    for name in pairs(Optimizer) do names[#names + 1] = name end
    local meant = near.best(k, names)
    raise("AttributeError", string.format("'%s' object has no attribute '%s'", cls.__name__,
      tostring(k)), {notes = meant and {"did you mean '" .. meant .. "'?"} or nil})
  end
end

-- class(name, defaults, state_names): defaults is a list of {option, value} in PyTorch's order.
local function class(name, defaults, state_names, base)
  local cls = setmetatable({__name__ = name, _defaults = defaults, _state_names = state_names},
    {__index = base or Optimizer, __name = "type",
     __tostring = function() return "<class 'torch.optim." .. name .. "'>" end,
     __call = function(cls, ...) return cls:_make(...) end})
  meta_of[cls] = {__index = attribute(cls), __name = name, __tostring = cls.__repr__,
    optimizer_class = cls}
  return cls
end

local function read_options(cls, options, positional)
  local known, order, values = {}, {}, {}
  for i, pair in ipairs(cls._defaults) do
    known[pair[1]] = true
    order[#order + 1] = pair[1]
    values[pair[1]] = pair[2]
    if positional[i] ~= nil then values[pair[1]] = positional[i] end
  end
  for k, v in pairs(options) do
    if not known[k] then
      local meant = near.best(k, order)
      raise("TypeError", string.format("%s.__init__() got an unexpected keyword argument '%s'%s",
            cls.__name__, tostring(k), meant and ". Did you mean '" .. meant .. "'?" or ""),
            {kind = "argument", notes = {"options: " .. table.concat(order, ", ")}})
    end
    values[k] = v
  end
  return values, order
end

-- Optimizer(params, lr, …, {option = value}): params is a list of tensors, of named pairs, or of
-- groups.
function Optimizer._make(cls, params, ...)
  local given = table.pack(...)
  local options = {}
  local last = given[given.n]
  if args.is_keywords(last) then
    options = last
    given[given.n] = nil
  end
  local values, order = read_options(cls, options, given)
  local self = setmetatable({state = setmetatable({}, {__mode = "k"}), param_groups = {},
                             defaults = odict.dict(), _order = order, _owned = {}}, meta_of[cls])
  for _, k in ipairs(order) do
    local v = values[k]
    self.defaults[k] = v == nil and None or v
  end
  if cls._check then cls._check(self, values) end
  self:_add_params(params)
  return self
end

local function not_iterable(params)
  raise("TypeError", "params argument given to the optimizer should be an iterable of Tensors or "
        .. "dicts, but got " .. core.typename(params),
        {notes = {"pass a list: optim.SGD(model:parameters(), {lr=0.1})"}})
end

function Optimizer._add_params(self, params)
  if core.is_model(params) then
    raise("TypeError", string.format("'%s' object is not iterable", core.typename(params)),
          {notes = {"a model's parameters are given: optim.SGD(model:parameters(), {lr=0.1})"}})
  end
  if type(params) ~= "table" then not_iterable(params) end
  if params.params ~= nil and getmetatable(params) == nil then params = {params} end
  if #params == 0 then raise("ValueError", "optimizer got an empty parameter list") end
  local first = params[1]
  if type(first) == "table" and first.params ~= nil then
    for _, group in ipairs(params) do self:add_param_group(group) end
  else
    self:add_param_group({params = params})
  end
end

-- add_param_group{params=, lr=, …}: options left out take the optimizer's defaults.
function Optimizer.add_param_group(self, given)
  if type(given) ~= "table" then
    raise("TypeError", "param_group must be a dict, but got <class '" .. repr.typename(given)
      .. "'>")
  end
  local group = odict.dict()
  local wanted = given.params
  if wanted == nil then
    raise("KeyError", "'params'", {notes = {"a group is {params = {…}, lr = …}"}})
  end
  if type(wanted) ~= "table" and not core.is_tensor(wanted) then not_iterable(wanted) end
  if core.is_tensor(wanted) then wanted = {wanted} end
  local params = {}
  for i, p in ipairs(wanted) do
    if type(p) == "table" and core.is_tensor(p[2]) then p = p[2] end -- a (name, parameter) pair
    if not core.is_tensor(p) then
      raise("TypeError", "optimizer can only optimize Tensors, but one of the params is "
            .. repr.typename(p))
    end
    if not (p.is_leaf or p.retains_grad) then raise("ValueError",
      "can't optimize a non-leaf Tensor") end
    params[i] = p
  end
  local seen = {}
  for _, p in ipairs(params) do
    if seen[p] then
      core.warn("optimizer contains a parameter group with duplicate parameters; in future, this "
        .. "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more information")
    end
    seen[p] = true
    if self._owned[p] then
      raise("ValueError", "some parameters appear in more than one parameter group")
    end
  end
  group.params = params
  for k, v in pairs(self.defaults) do group[k] = v end
  for k, v in odict.pairs(given) do
    if k ~= "params" then group[k] = v end
  end
  for _, p in ipairs(params) do self._owned[p] = true end
  self.param_groups[#self.param_groups + 1] = group
end

-- An option of a group: None reads as nil, a tensor lr as its number.
function Optimizer._option(group, k)
  local v = group[k]
  if rawequal(v, None) then return nil end
  if core.is_tensor(v) then return v:item() end
  return v
end

-- ---- steps ---------------------------------------------------------------------------------

-- zero_grad(set_to_none=true)
function Optimizer.zero_grad(self, set_to_none)
  if type(set_to_none) == "table" then set_to_none = set_to_none.set_to_none end
  if set_to_none == nil then set_to_none = true end
  for _, group in ipairs(self.param_groups) do
    local params = group.params
    for i = 1, #params do core.zero_grad(params[i], set_to_none) end
  end
end

-- Names of the state tensors that a step of the group wants; made like the parameter by _fresh.
function Optimizer._needs() return nil end
function Optimizer._fresh(_, p) return torch.zeros_like(p) end

-- What the step needs is made for all parameters before the first of them changes: where memory
-- ends, no parameter has stepped. A list of {parameter, name, tensor}.
local function make_state(self)
  local made = {}
  for _, group in ipairs(self.param_groups) do
    local names = self:_needs(group)
    for _, p in ipairs(names and group.params or {}) do
      local s = rawget(self.state, p)
      local lacks = not s or rawget(s, names[#names]) == nil
      for _, name in ipairs(lacks and p.grad and names or {}) do
        if not s or rawget(s, name) == nil then
          local value = self:_fresh(p)
          core.optimizer_state(value) -- at once: advice counts it where the next finds no room
          made[#made + 1] = {p, name, value}
        end
      end
    end
  end
  return made
end

-- Nothing can fail any more. The parameters that got something.
local function keep_state(self, made)
  local fresh = {}
  for _, m in ipairs(made) do
    rawset(self:_new_state(m[1]), m[2], m[3])
    fresh[m[1]] = true
  end
  return fresh
end

-- How many tensors like each parameter PyTorch's step of the group holds for a while on a GPU.
function Optimizer._temporaries() return 0 end

-- By default PyTorch works on all parameters of a group at once (foreach), else on one by one.
local function with_temporaries(group)
  local list, sum = {}, 0
  for _, p in ipairs(group.params) do
    local size = p.grad and p.nbytes or 0
    if size > 0 and group.foreach ~= false then
      list[#list + 1], sum = p, sum + size
    elseif size > sum then
      list, sum = {p}, size
    end
  end
  return list, sum
end

-- They are held from before the first change to the end of the step: the pool's figures are
-- PyTorch's then, and a card too small for them refuses in time.
local function hold_temporaries(self)
  local most, copies, bytes = nil, 0, 0
  for _, group in ipairs(self.param_groups) do
    local first, n = group.params[1], self:_temporaries(group)
    if n > 0 and first and first.is_cuda and group.fused ~= true then
      local list, sum = with_temporaries(group)
      if sum * n > bytes then most, copies, bytes = list, n, sum * n end
    end
  end
  return most and core.scratch(most, copies)
end

local stepping = setmetatable({}, {__close = function() core.record_step(0) end})

-- step(closure): updates every parameter that has a gradient; closure() is called first, with
-- gradients on, and its loss returned.
function Optimizer.step(self, closure)
  local loss
  if closure ~= nil then
    core.check_callable(closure, {"step() takes nothing, or a function that gives the loss"})
  end
  if closure then loss = torch.enable_grad(closure) end
  local _ <close> = torch.no_grad()
  core.record_step(1, self)
  local _ <close> = stepping
  local made = make_state(self)
  local _ <close> = hold_temporaries(self)
  local fresh = keep_state(self, made)
  for _, group in ipairs(self.param_groups) do self:_update(group, fresh) end
  if loss ~= nil then return loss end -- else nothing, and the prompt shows nothing
end

-- ---- saving --------------------------------------------------------------------------------

local function copy_group(group, first)
  local copy, indices = odict.dict(), list.new({})
  for k, v in pairs(group) do
    local pair = type(v) == "table" and getmetatable(v) == nil -- betas: a tuple, as PyTorch has it
    if k ~= "params" then copy[k] = pair and list.tuple(table.move(v, 1, #v, 1, {})) or v end
  end
  for i = 1, #group.params do indices[i] = first + i - 1 end
  copy.params = indices
  return copy
end

-- {state = {[i] = …}, param_groups = {…}}; parameters are numbered from 0 in group order.
function Optimizer.state_dict(self)
  local state, groups, n = odict.dict(), list.new({}), 0
  for g, group in ipairs(self.param_groups) do
    groups[g] = copy_group(group, n)
    for i, p in ipairs(group.params) do
      local s = rawget(self.state, p)
      if s then
        local copy = odict.dict()
        for k, v in pairs(s) do copy[k] = v end
        state[n + i - 1] = copy
      end
    end
    n = n + #group.params
  end
  return odict.dict {{"state", state}, {"param_groups", groups}}
end

local function check_groups(self, saved)
  if #saved ~= #self.param_groups then
    raise("ValueError", "loaded state dict has a different number of parameter groups")
  end
  for g, group in ipairs(self.param_groups) do
    local params = type(saved[g]) == "table" and saved[g].params
    if type(params) ~= "table" or #params ~= #group.params then
      raise("ValueError", "loaded state dict contains a parameter group that doesn't match the "
            .. "size of optimizer's group")
    end
  end
end

local function load_state(self, p, saved)
  local s = self:_new_state(p)
  for k, v in odict.pairs(saved) do
    if k ~= "step" and core.is_tensor(v) then
      v = v:clone()
      if p:is_floating_point() then v = v:to({dtype = p.dtype, device = p.device}) end
    end
    s[k] = v
  end
end

-- Takes what state_dict() gave: hyperparameters and state, by the parameters' order.
function Optimizer.load_state_dict(self, saved)
  if type(saved) ~= "table" or type(saved.param_groups) ~= "table"
     or type(saved.state) ~= "table" then
    raise("TypeError", "load_state_dict() expects what state_dict() gave, but got "
          .. repr.typename(saved))
  end
  check_groups(self, saved.param_groups)
  local at = {}
  for g, group in ipairs(self.param_groups) do
    local from = saved.param_groups[g]
    for i, p in ipairs(group.params) do at[from.params[i]] = p end
    for k, v in odict.pairs(from) do
      if k ~= "params" then group[k] = v end
    end
  end
  for index, s in odict.pairs(saved.state) do
    local p = at[math.tointeger(index) or index]
    if p then load_state(self, p, s) end
  end
end

-- ---- printing ------------------------------------------------------------------------------

function Optimizer.__repr__(self)
  local lines = {self.__name__ .. " ("}
  for g, group in ipairs(self.param_groups) do
    if g > 1 then lines[#lines + 1] = "" end
    lines[#lines + 1] = "Parameter Group " .. (g - 1)
    local keys = {}
    for k in pairs(group) do if k ~= "params" then keys[#keys + 1] = k end end
    table.sort(keys)
    for _, k in ipairs(keys) do
      local v = group[k]
      lines[#lines + 1] = string.format("    %s: %s", k, rawequal(v, None) and "None"
        or repr.str(v))
    end
  end
  lines[#lines + 1] = ")"
  return table.concat(lines, "\n")
end

-- A non-negative number, or ValueError "Invalid <what>: v".
function Optimizer._not_negative(v, what)
  if core.is_tensor(v) then v = v:item() end
  if type(v) ~= "number" or v < 0 then
    raise("ValueError", string.format("Invalid %s: %s", what, repr.str(v)))
  end
end

local function is_optimizer(v)
  local mt = type(v) == "table" and getmetatable(v)
  return mt and rawget(mt, "optimizer_class") ~= nil
end
require("dlrepl.methods").guard(Optimizer, is_optimizer, "Optimizer", "opt")

return {Optimizer = Optimizer, class = class}
