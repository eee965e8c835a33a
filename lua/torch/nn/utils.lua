-- utils.lua -- torch.nn.utils: clipping gradients, parameters as one vector
--
-- MUST NOT know modules: these take lists of tensors.

local core = require "dlrepl.core"
local args = require "dlrepl.args"

local torch, raise = core.torch, core.raise
local M = {}

-- One tensor or a list of them -> those that have a gradient.
local function gradients(parameters, fn)
  local grads = {}
  for _, p in ipairs(core.tensors(parameters, fn)) do
    if p.grad then grads[#grads + 1] = p.grad end
  end
  return grads
end

-- The p-norm of all the tensors taken together, as a 0-dim tensor.
local read_total = args("get_total_norm(any tensors, number norm_type=2.0, bool "
  .. "error_if_nonfinite=False)")
local function total_norm(grads, p, strict)
  if #grads == 0 then return torch.tensor(0.0) end
  local norms = {}
  for i, g in ipairs(grads) do norms[i] = g:norm(p) end
  local total = torch.stack(norms):norm(p)
  if strict and not total:isfinite():item() then
    raise("RuntimeError", string.format(
      "The total norm of order %s for gradients from `parameters` is non-finite, so it cannot be "
      .. "clipped. To disable this error and scale the gradients by the non-finite norm anyway, "
      .. "set `error_if_nonfinite=False`", require("dlrepl.pyrepr").repr(p)))
  end
  return total
end

function M.get_total_norm(...)
  local _ <close> = torch.no_grad()
  local tensors, p, strict = read_total(...)
  return total_norm(core.tensors(tensors, "get_total_norm"), p, strict)
end

-- Gradients that a scaler has multiplied and not yet divided: the clipping would be of those.
local function warn_scaled(parameters, fn)
  local scaler = package.loaded["torch.amp.grad_scaler"]
  local list = scaler and core.tensors(parameters, fn)
  local scale = list and #list > 0 and scaler._still_scaled(list)
  if not scale then return end
  core.warn_once(string.format("%s: these gradients are still multiplied by the loss scale %g, so "
    .. "the limit means %g times less than it says; call scaler:unscale_(optimizer) first", fn,
    scale, scale), "UserWarning", "clipped while scaled")
end

local read_clip = args("clip_grad_norm_(any parameters, number max_norm, number norm_type=2.0, "
                       .. "bool error_if_nonfinite=False, any foreach=None)")

-- Scales the gradients in place so that their total norm is at most max_norm; returns the norm
-- they had. They are always multiplied, by 1 where nothing is to be clipped.
function M.clip_grad_norm_(...)
  local _ <close> = torch.no_grad()
  local parameters, max_norm, p, strict = read_clip(...)
  warn_scaled(parameters, "clip_grad_norm_")
  local grads = gradients(parameters, "clip_grad_norm_")
  local total = total_norm(grads, p, strict)
  local scale = (max_norm / (total + 1e-6)):clamp_max(1.0)
  for _, g in ipairs(grads) do g:mul_(scale) end
  return total
end

local read_value = args "clip_grad_value_(any parameters, number clip_value, any foreach=None)"
function M.clip_grad_value_(...)
  local _ <close> = torch.no_grad()
  local parameters, value = read_value(...)
  warn_scaled(parameters, "clip_grad_value_")
  for _, g in ipairs(gradients(parameters, "clip_grad_value_")) do g:clamp_(-value, value) end
end

-- All parameters in one vector, in order.
function M.parameters_to_vector(parameters)
  local flat = {}
  core.tensors(parameters, "parameters_to_vector")
  for i, p in ipairs(parameters) do flat[i] = p:reshape(-1) end
  return torch.cat(flat)
end

-- The vector's pieces become the parameters' data.
function M.vector_to_parameters(vector, parameters)
  if not core.is_tensor(vector) then
    raise("TypeError", "expected torch.Tensor, but got: torch." .. core.typename(vector))
  end
  local at = 0
  for _, p in ipairs(core.tensors(parameters, "vector_to_parameters")) do
    local n = p:numel()
    p.data = vector:narrow(0, at, n):view_as(p).data
    at = at + n
  end
end

return M
