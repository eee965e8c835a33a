-- core.lua -- what Lua modules need of the engine beyond torch itself
--
-- For lua/ only: the one place that knows the binding's names for these things.
--
-- MUST NOT know nn, optim or data.

local getmetatable = debug.getmetatable -- __metatable hides nothing from us
local M = {}

local torch = require "torch"
local dlrepl = dlrepl
local type, None = type, None

M.torch = torch
M.None = None
M.ops = dlrepl.ops
M.warn = dlrepl.warn       -- warn(text, category)
M.read_idx = dlrepl._read_idx
-- files of torch.save: see lua/torch/serialization.lua
M.archive_open, M.archive_create = dlrepl._archive_open, dlrepl._archive_create
M.unpickle, M.storage = dlrepl._unpickle, dlrepl._storage

-- warn_once(text, category, key): the same text, or the same key, is said once.
local said = {}
function M.warn_once(text, category, key)
  if said[key or text] then return end
  said[key or text] = true
  M.warn(text, category)
end

M.record_step = dlrepl._record_step   -- to the run record: (1, optimizer), 0 it ends, -1 skipped
M.record_scale = dlrepl._record_scale -- to the run record: the gradient scaler's scale
-- autocast_as(how, f, …): f(…) as autocast runs an op of the "fp32" or the "promote" list
M.autocast_as = dlrepl._autocast_as
M.batch = dlrepl._batch               -- its arguments, their tensors marked as a batch
M.scratch = dlrepl._scratch           -- bytes on a GPU of each tensor's size, until closed
M.optimizer_state = dlrepl._state     -- marks a tensor as an optimizer's state

local is_tensor, is_parameter = torch.is_tensor, dlrepl._is_parameter

function M.is_tensor(v) return type(v) == "userdata" and is_tensor(v) end
function M.is_parameter(v) return type(v) == "userdata" and is_parameter(v) end

-- raise(class, message, {kind=, notes=}): fails as PyTorch does, with our lines after.
function M.raise(class, message, more)
  more = more or {}
  return dlrepl.raise {class = class, message = message, kind = more.kind, notes = more.notes}
end

-- PyTorch's name of a value's type in messages: torch.FloatTensor, str, …
function M.typename(v)
  if M.is_tensor(v) then return M.is_parameter(v) and "torch.nn.parameter.Parameter" or v:type() end
  return require("dlrepl.pyrepr").typename(v)
end

-- Options of a factory; never an empty table, which would be a value.
function M.place(device, dtype) return {device = device or None, dtype = dtype or None} end

function M.is_dtype(v)
  local mt = type(v) == "userdata" and getmetatable(v)
  return mt and mt.__name == "torch.dtype" or false
end

function M.parameter(data, requires_grad)
  if requires_grad == nil then requires_grad = true end
  return torch.nn.Parameter(data, {requires_grad = requires_grad})
end

-- Forget or zero a parameter's gradient.
function M.zero_grad(p, set_to_none)
  if set_to_none then
    p.grad = nil
    return
  end
  local g = p.grad
  if g then
    if g.grad_fn then g:detach_() else g:requires_grad_(false) end
    g:zero_()
  end
end

local function typename(v) return require("dlrepl.pyrepr").typename(v) end

-- len(v) for datasets and lists; TypeError for what has none.
function M.length(v)
  if type(v) == "table" or type(v) == "userdata" then
    local ok, n = pcall(function() return #v end)
    if ok then return n end
    if type(n) == "table" then error(n, 0) end -- the object's own error
  end
  M.raise("TypeError", string.format("object of type '%s' has no len()", typename(v)))
end

-- A list from 1 whose elements satisfy `good`, or TypeError naming the function.
function M.check_list(v, fn, what, good)
  if type(v) ~= "table" then
    M.raise("TypeError", string.format("%s() expects a list of %ss, but got %s", fn, what,
                                       typename(v)))
  end
  for i = 1, #v do
    if not good(v[i]) then
      M.raise("TypeError", string.format("%s() expects a list of %ss, but element %d is %s", fn,
                                         what, i - 1, typename(v[i])))
    end
  end
  return v
end

-- Raises TypeError, in Python's words, unless v can be called.
function M.check_callable(v, notes)
  local mt = getmetatable(v)
  if type(v) == "function" or (mt and mt.__call) then return end
  M.raise("TypeError", "'" .. typename(v) .. "' object is not callable",
          {kind = "argument", notes = notes})
end

-- A model where its parameters belong? What knows no modules asks so.
function M.is_model(v)
  local mt = type(v) == "table" and getmetatable(v)
  return mt and rawget(mt, "module_class") ~= nil
end

-- One tensor, or a list of them, as a list.
function M.tensors(v, fn)
  if M.is_tensor(v) then return {v} end
  if M.is_model(v) then
    M.raise("TypeError", string.format("%s() expects a list of Tensors, but got %s", fn,
            typename(v)), {notes = {"a model's are model:parameters()"}})
  end
  return M.check_list(v, fn, "Tensor", M.is_tensor)
end

-- A message handler for xpcall that keeps the error value as it is (its traceback is inside).
function M.keep_traceback(e) return e end

return M
