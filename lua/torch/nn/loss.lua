-- loss.lua -- losses as layers
--
-- INVARIANT  A `weight` given to a loss is a buffer, so that it moves with the module.

local core = require "dlrepl.core"
local layer = require "torch.nn.layer"
local F = F -- of the binding; what it lacks is loaded by its first use

local None, raise = core.None, core.raise
local M = {}

-- Row: layer, parameters, F function, positional arguments after (input, target), named arguments.
-- Every loss takes reduction='mean' by name.
local rows = {
  {"L1Loss", "", "l1_loss"},
  {"MSELoss", "", "mse_loss"},
  {"SmoothL1Loss", "number beta=1.0", "smooth_l1_loss", {"beta"}},
  {"HuberLoss", "number delta=1.0", "huber_loss", {"delta"}},
  {"SoftMarginLoss", "", "soft_margin_loss"},
  {"KLDivLoss", "bool log_target=False", "kl_div", {"log_target"}},
  {"HingeEmbeddingLoss", "number margin=1.0", "hinge_embedding_loss", {"margin"}},
  {"PoissonNLLLoss", "bool log_input=True, bool full=False, number eps=1e-08",
   "poisson_nll_loss", {"log_input", "full", "eps"}},
}
for _, row in ipairs(rows) do
  local name, params, fn, names = row[1], row[2], row[3], row[4] or {}
  M[name] = layer(name, "*, str reduction='mean'" .. (params == "" and "" or ", " .. params), {
    forward = function(self, input, target)
      local kw = {reduction = self.reduction}
      for _, key in ipairs(names) do kw[key] = self[key] end
      return F[fn](input, target, kw)
    end,
  })
end

-- Losses of two inputs and a target.
for name, fn in pairs {CosineEmbeddingLoss = "cosine_embedding_loss",
                       MarginRankingLoss = "margin_ranking_loss"} do
  M[name] = layer(name, "number margin=0.0, *, str reduction='mean'", {
    forward = function(self, x1, x2, target)
      return F[fn](x1, x2, target, {margin = self.margin, reduction = self.reduction})
    end,
  })
end

M.TripletMarginLoss = layer("TripletMarginLoss",
  "number margin=1.0, number p=2.0, number eps=1e-06, bool swap=False, *, str reduction='mean'", {
  init = function(self)
    if self.margin <= 0 then
      raise("ValueError", "TripletMarginLoss: expected margin to be greater than 0, got "
            .. tostring(self.margin) .. " instead")
    end
  end,
  forward = function(self, anchor, positive, negative)
    return F.triplet_margin_loss(anchor, positive, negative, {
      margin = self.margin, p = self.p, eps = self.eps, swap = self.swap,
      reduction = self.reduction})
  end,
})

M.GaussianNLLLoss = layer("GaussianNLLLoss", "*, bool full=False, number eps=1e-06, str "
  .. "reduction='mean'", {
  forward = function(self, input, target, var)
    return F.gaussian_nll_loss(input, target, var,
                               {full = self.full, eps = self.eps, reduction = self.reduction})
  end,
})

-- Losses with a weight a class (or an element). `names` are handed on by name.
local function weighted(name, fn, params, names, buffers)
  local skip = {weight = true}
  for _, b in ipairs(buffers) do skip[b] = true end
  M[name] = layer(name, "any weight=None, " .. params, {
    skip = skip,
    init = function(self, ...)
      local values = {...}
      for i, b in ipairs(buffers) do
        self:register_buffer(b, values[b == "weight" and 1 or i + #names] or None)
      end
    end,
    forward = function(self, input, target)
      local kw = {}
      for _, key in ipairs(names) do kw[key] = self[key] end
      for _, key in ipairs(buffers) do kw[key] = self[key] end
      return F[fn](input, target, kw)
    end,
  })
end
weighted("NLLLoss", "nll_loss", "*, int ignore_index=-100, str reduction='mean'",
         {"ignore_index", "reduction"}, {"weight"})
weighted("CrossEntropyLoss", "cross_entropy",
         "*, int ignore_index=-100, str reduction='mean', number label_smoothing=0.0",
         {"ignore_index", "reduction", "label_smoothing"}, {"weight"})
weighted("BCELoss", "binary_cross_entropy", "*, str reduction='mean'", {"reduction"}, {"weight"})
weighted("BCEWithLogitsLoss", "binary_cross_entropy_with_logits",
         "*, str reduction='mean', any pos_weight=None", {"reduction"}, {"weight", "pos_weight"})
weighted("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", "*, str reduction='mean'",
         {"reduction"}, {"weight"})

for name, fn in pairs {CosineSimilarity = "cosine_similarity",
  PairwiseDistance = "pairwise_distance"} do
  local params = name == "CosineSimilarity" and "int dim=1, number eps=1e-08"
                 or "number p=2.0, number eps=1e-06, bool keepdim=False"
  M[name] = layer(name, params, {
    forward = function(self, x1, x2)
      if name == "CosineSimilarity" then return F[fn](x1, x2, self.dim, self.eps) end
      return F[fn](x1, x2, self.p, self.eps, self.keepdim)
    end,
  })
end

return M
