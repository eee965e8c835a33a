-- sgd.lua -- optim.SGD: one fused engine op a parameter
--
-- SOURCE  torch/optim/sgd.py: weight decay into the gradient, momentum buffer (first step: the
--         gradient itself, undamped), Nesterov, maximize.

local core = require "dlrepl.core"
local base = require "torch.optim.optimizer"

local torch, raise, None = core.torch, core.raise, core.None
local Optimizer = base.Optimizer
local sgd_step = core.ops.sgd_step_

local SGD = base.class("SGD", {
  {"lr", 0.001}, {"momentum", 0}, {"dampening", 0}, {"weight_decay", 0}, {"nesterov", false},
  {"maximize", false}, {"foreach", nil}, {"differentiable", false}, {"fused", nil},
}, {"momentum_buffer"})

function SGD._check(_, o)
  Optimizer._not_negative(o.lr, "learning rate")
  Optimizer._not_negative(o.momentum, "momentum value")
  Optimizer._not_negative(o.weight_decay, "weight_decay value")
  if o.nesterov and (o.momentum <= 0 or o.dampening ~= 0) then
    raise("ValueError", "Nesterov momentum requires a momentum and zero dampening")
  end
end

function SGD._needs(_, group)
  return Optimizer._option(group, "momentum") ~= 0 and {"momentum_buffer"} or nil
end
function SGD._fresh(_, p) return torch.empty_like(p) end

-- Gradients with weight decay, or negated, are copies.
function SGD._temporaries(_, group)
  return (group.weight_decay ~= 0 or group.maximize) and 1 or 0
end

function SGD._update(self, group, fresh)
  local option = Optimizer._option
  local lr, momentum = option(group, "lr"), option(group, "momentum")
  local decay, dampening = group.weight_decay, group.dampening
  for _, p in ipairs(group.params) do
    local grad = p.grad
    if grad then
      local buf = momentum ~= 0 and rawget(rawget(self.state, p), "momentum_buffer") or None
      sgd_step(p, grad, buf, lr, decay, momentum, dampening, group.nesterov, group.maximize,
               fresh[p] or false)
    end
  end
end

return SGD
