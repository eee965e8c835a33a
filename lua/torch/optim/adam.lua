-- adam.lua -- optim.Adam and optim.AdamW: one fused engine op a parameter
--
-- SOURCE  torch/optim/adam.py: bias corrections are doubles, amsgrad keeps the largest second
-- moment.

local core = require "dlrepl.core"
local base = require "torch.optim.optimizer"
local repr = require "dlrepl.pyrepr"

local raise, None = core.raise, core.None
local Optimizer = base.Optimizer
local adam_step = core.ops.adam_step_

local function options(weight_decay, decoupled)
  local list = {
    {"lr", 0.001}, {"betas", {0.9, 0.999}}, {"eps", 1e-08}, {"weight_decay", weight_decay},
    {"amsgrad", false}, {"maximize", false}, {"foreach", nil}, {"capturable", false},
    {"differentiable", false}, {"fused", nil}, {"decoupled_weight_decay", decoupled},
  }
  return list
end

local Adam = base.class("Adam", options(0, false), {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"})

function Adam._check(_, o)
  Optimizer._not_negative(o.lr, "learning rate")
  Optimizer._not_negative(o.eps, "epsilon value")
  if type(o.betas) ~= "table" then
    raise("TypeError", "betas must be two numbers, not " .. repr.typename(o.betas))
  end
  for i = 1, 2 do
    local beta = o.betas[i]
    if type(beta) ~= "number" then
      raise("TypeError", "betas must be two numbers, but one is " .. repr.typename(beta))
    end
    if not (beta >= 0 and beta < 1) then
      raise("ValueError", string.format("Invalid beta parameter at index %d: %s", i - 1,
        repr.str(beta)))
    end
  end
  Optimizer._not_negative(o.weight_decay, "weight_decay value")
end

function Adam._needs(_, group)
  return group.amsgrad and {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"} or {"exp_avg", "exp_avg_sq"}
end

-- The square root of the second moment; one by one also that divided, and the gradient with its
-- weight decay (which otherwise comes and goes before).
function Adam._temporaries(_, group)
  if group.foreach ~= false then return 1 end
  return group.weight_decay ~= 0 and not group.decoupled_weight_decay and 3 or 2
end

function Adam._update(self, group)
  local lr, eps, decay = Optimizer._option(group, "lr"), group.eps, group.weight_decay
  local beta1, beta2 = group.betas[1], group.betas[2]
  local decoupled = group.decoupled_weight_decay
  for _, p in ipairs(group.params) do
    local grad = p.grad
    if grad then
      local s = rawget(self.state, p)
      adam_step(p, grad, rawget(s, "exp_avg"), rawget(s, "exp_avg_sq"),
                group.amsgrad and rawget(s, "max_exp_avg_sq") or None, lr, beta1, beta2, eps, decay,
                decoupled, group.maximize, self:_next_step(s))
    end
  end
end

local AdamW = base.class("AdamW", options(0.01, true), {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
  Adam)

return {Adam = Adam, AdamW = AdamW}
