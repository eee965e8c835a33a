-- module_state.lua -- state_dict and load_state_dict
--
-- INVARIANT  Nothing is copied from a checkpoint before every key and shape of one module
--            was looked at; errors of the whole tree are reported together, in PyTorch's form.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "torch.nn.class"
local odict = require "dlrepl.odict"
local repr = require "dlrepl.pyrepr"

local torch, None, raise = core.torch, core.None, core.raise
local Module, adopt = class.Module, class.adopt

local function save(self, out, prefix, keep_vars, depth)
  adopt(self)
  class.check_depth(depth)
  for name, p in pairs(self._parameters) do
    if not rawequal(p, None) then out[prefix .. name] = keep_vars and p or p:detach() end
  end
  for name, b in pairs(self._buffers) do
    if not rawequal(b, None) and not self._non_persistent[name] then
      out[prefix .. name] = keep_vars and b or b:detach()
    end
  end
  for name, child in pairs(self._modules) do
    if not rawequal(child, None) then
      save(child, out, prefix .. name .. ".", keep_vars, depth + 1)
    end
  end
end

local read_save = args("Module.state_dict(*, any destination=None, str prefix='', bool "
  .. "keep_vars=False)")

-- state_dict(): an ordered table from full name to tensor, sharing memory with the model.
function Module.state_dict(self, ...)
  local out, prefix, keep_vars = read_save(...)
  out = out or odict.new()
  save(self, out, prefix, keep_vars, 0)
  return out
end

-- What load_state_dict found; equal keys on both sides print as a success.
local result_meta = {__name = "_IncompatibleKeys"}
function result_meta.__tostring(r)
  if #r.missing_keys == 0 and #r.unexpected_keys == 0 then
    return "<All keys matched successfully>"
  end
  return string.format("_IncompatibleKeys(missing_keys=%s, unexpected_keys=%s)",
                       repr.list(r.missing_keys), repr.list(r.unexpected_keys))
end

-- Copies one entry into a parameter or buffer of `self`; a problem becomes a line of `errors`.
local function load_one(self, field, name, key, value, ctx)
  local own = self[field][name]
  if not core.is_tensor(value) then
    ctx.errors[#ctx.errors + 1] = string.format(
      'While copying the parameter named "%s", expected torch.Tensor or Tensor-like object from '
      .. "checkpoint but received %s", key, repr.typename(value))
    return
  end
  if own:dim() == 0 and value:dim() == 1 and value:size(0) == 1 then value = value[0] end
  if own.shape ~= value.shape then
    ctx.errors[#ctx.errors + 1] = string.format(
      "size mismatch for %s: copying a param with shape %s from checkpoint, the shape in "
      .. "current model is %s.", key, tostring(value.shape), tostring(own.shape))
    return
  end
  if not ctx.assign then
    torch.no_grad(function() own:copy_(value) end)
  elseif field == "_parameters" then
    self._parameters[name] = core.parameter(value:detach(), own.requires_grad)
  else
    self._buffers[name] = value
  end
end

local function own_state(self)
  local state = {}
  for _, field in ipairs {"_parameters", "_buffers"} do
    for name, v in pairs(self[field]) do
      if not rawequal(v, None) and not (field == "_buffers" and self._non_persistent[name]) then
        state[#state + 1] = {field, name}
        state[name] = true
      end
    end
  end
  return state
end

local function note_unexpected(self, prefix, state, ctx)
  for _, key in ipairs(ctx.keys) do
    if key:sub(1, #prefix) == prefix then
      local head, dot = key:sub(#prefix + 1):match("^([^.]*)(%.?)")
      local known = state[head]
      if dot == "." then known = odict.has(self._modules, head)
        and not rawequal(self._modules[head], None) end
      if not known then ctx.unexpected[#ctx.unexpected + 1] = key end
    end
  end
end

local function load(self, prefix, ctx, depth)
  adopt(self)
  class.check_depth(depth)
  local state = own_state(self)
  for _, entry in ipairs(state) do
    local field, name = entry[1], entry[2]
    local key = prefix .. name
    local value = ctx.dict[key]
    if value ~= nil then load_one(self, field, name, key, value, ctx)
    elseif ctx.ordered or name ~= "num_batches_tracked" then -- absent from old checkpoints
      ctx.missing[#ctx.missing + 1] = key
    end
  end
  note_unexpected(self, prefix, state, ctx)
  for name, child in pairs(self._modules) do
    if not rawequal(child, None) then load(child, prefix .. name .. ".", ctx, depth + 1) end
  end
end

local function quoted(keys)
  local parts = {}
  for i, k in ipairs(keys) do parts[i] = '"' .. k .. '"' end
  return table.concat(parts, ", ")
end

local read_load = args("Module.load_state_dict(dict state_dict, bool strict=True, bool "
  .. "assign=False)")

-- load_state_dict(sd, strict=true): copies by name. RuntimeError lists every difference;
-- with strict=false only differing shapes are errors. Returns missing_keys, unexpected_keys.
function Module.load_state_dict(self, ...)
  local dict, strict, assign = read_load(...)
  if type(dict) ~= "table" or class.is_module(dict) then
    raise("TypeError", "Expected state_dict to be dict-like, got <class '" .. repr.typename(dict)
          .. "'>.")
  end
  local ctx = {dict = {}, keys = {}, assign = assign, errors = {}, missing = {}, unexpected = {},
               ordered = odict.is(dict)}
  for k, v in odict.pairs(dict) do
    if type(k) ~= "string" then
      raise("TypeError", "state_dict keys are names, but one is " .. repr.typename(k))
    end
    ctx.keys[#ctx.keys + 1] = k
    ctx.dict[k] = v
  end
  load(self, "", ctx, 0)
  local lines = {}
  if strict and #ctx.missing > 0 then
    lines[#lines + 1] = "Missing key(s) in state_dict: " .. quoted(ctx.missing) .. ". "
  end
  if strict and #ctx.unexpected > 0 then
    lines[#lines + 1] = "Unexpected key(s) in state_dict: " .. quoted(ctx.unexpected) .. ". "
  end
  for _, line in ipairs(ctx.errors) do lines[#lines + 1] = line end
  if #lines > 0 then
    raise("RuntimeError", string.format("Error(s) in loading state_dict for %s:\n\t%s",
                                        self:_get_name(), table.concat(lines, "\n\t")))
  end
  return setmetatable({missing_keys = ctx.missing, unexpected_keys = ctx.unexpected}, result_meta)
end
