-- nn_losses.lua -- losses against PyTorch: shapes, values and every gradient
--
-- A tensor is compared by one number, a weighted sum of its elements. The numbers are PyTorch's.
local t = require "tap"
local values = require "nn_values"
local case = values.case

case("cross_entropy", {{3, 4}}, function(a)
  return F.cross_entropy(a, torch.tensor({2, 0, 1}))
end, {},
     {-3.235647, 5.498941})
case("cross_entropy with weights", {{3, 4}}, function(a)
  return F.cross_entropy(a, torch.tensor({2, 0, 1}), {weight=torch.tensor({1., 2., 0.5, 3.})})
end, {},
     {-2.488911, 4.602714})
case("cross_entropy with an ignored class", {{3, 4}}, function(a)
  return F.cross_entropy(a, torch.tensor({2, 0, 1}), {ignore_index=0})
end, {},
     {-3.077486, 5.779175})
case("cross_entropy with smoothing", {{3, 4}}, function(a)
  return F.cross_entropy(a, torch.tensor({2, 0, 1}), {label_smoothing=0.1})
end, {},
     {-3.332002, 4.853108})
case("cross_entropy with smoothing, weights, an ignored class", {{3, 4}}, function(a)
  return F.cross_entropy(a, torch.tensor({2, 0, 1}), {weight=torch.tensor({1., 2., 0.5, 3.}),
    ignore_index=0, label_smoothing=0.2})
end, {},
     {-2.712033, 3.477314})
case("cross_entropy smoothed and summed", {{3, 4}}, function(a)
  return F.cross_entropy(a, torch.tensor({2, 0, 1}), {label_smoothing=0.1, reduction='sum'})
end, {},
     {-9.996005, 14.55932})
case("cross_entropy kept apart", {{3, 4}}, function(a)
  return F.cross_entropy(a, torch.tensor({2, 0, 1}), {label_smoothing=0.1, reduction='none'})
end, {3},
     {-1.643496, 1.956196})
case("cross_entropy of images", {{2, 3, 2, 2}}, function(a)
  return F.cross_entropy(a, torch.tensor({{{0, 1}, {2, 0}}, {{1, 1}, {0, 2}}}))
end, {},
     {-3.062566, -1.793735})
case("cross_entropy of sequences kept apart", {{2, 3, 4}}, function(a)
  return F.cross_entropy(a, torch.tensor({{0, 1, 2, 0}, {1, 1, 0, 2}}), {reduction='none'})
end, {2, 4},
     {5.014374, -3.225727})
case("cross_entropy of one sample", {{4}}, function(a)
  return F.cross_entropy(a, torch.tensor(1))
end, {},
     {-3.048401, 0.4637835})
case("cross_entropy with probabilities", {{2, 3}}, function(a)
  return F.cross_entropy(a, torch.tensor({{0.2, 0.8, 0.}, {0.5, 0.25, 0.25}}))
end, {},
     {-2.47442, -1.883348})
case("cross_entropy with probabilities, weights, smoothing", {{2, 3}}, function(a)
  return F.cross_entropy(a, torch.tensor({{0.2, 0.8, 0.}, {0.5, 0.25, 0.25}}),
    {weight=torch.tensor({1., 2., 0.5}), label_smoothing=0.1})
end, {},
     {-3.085362, -1.472018})
case("cross_entropy with probabilities of images", {{2, 3, 2}}, function(a)
  return F.cross_entropy(a, torch.ones(2, 3, 2)/3, {reduction='none'})
end, {2, 2},
     {1.521841, -1.892585})
case("nll_loss summed", {{3, 4}}, function(a)
  return F.nll_loss(a, torch.tensor({2, 0, 1}), {reduction='sum'})
end, {},
     {2.96875, 23.75})
case("nll_loss with weights kept apart", {{3, 4}}, function(a)
  return F.nll_loss(a, torch.tensor({2, 0, 1}), {weight=torch.tensor({1., 2., 0.5, 3.}),
    reduction='none'})
end, {3},
     {-6.5, -21.375})
case("mse_loss", {{2, 3}, {2, 3}}, function(a, b)
  return F.mse_loss(a, b)
end, {},
     {-0.0390625, 0.2083333, -0.2083333})
case("mse_loss summed", {{2, 3}, {2, 3}}, function(a, b)
  return F.mse_loss(a, b, {reduction='sum'})
end, {},
     {-0.234375, 1.25, -1.25})
case("mse_loss kept apart", {{2, 3}, {2, 3}}, function(a, b)
  return F.mse_loss(a, b, {reduction='none'})
end, {2, 3},
     {0.03125, -6.875, 6.875})
case("l1_loss", {{2, 3}, {2, 3}}, function(a, b)
  return F.l1_loss(a, b)
end, {},
     {-0.3125, 0.8333333, -0.8333333})
case("smooth_l1_loss", {{2, 3}, {2, 3}}, function(a, b)
  return F.smooth_l1_loss(a, b)
end, {},
     {-0.01953125, 0.1041667, -0.1041667})
case("smooth_l1_loss with beta", {{2, 3}, {2, 3}}, function(a, b)
  return F.smooth_l1_loss(a, b, {beta=0.2, reduction='sum'})
end, {},
     {-0.5859375, 3.125, -3.125})
case("smooth_l1_loss with beta 0", {{2, 3}, {2, 3}}, function(a, b)
  return F.smooth_l1_loss(a, b, {beta=0})
end, {},
     {-0.3125, 0.8333333, -0.8333333})
case("huber_loss", {{2, 3}, {2, 3}}, function(a, b)
  return F.huber_loss(a, b, {delta=0.4})
end, {},
     {-0.01953125, 0.1041667, -0.1041667})
case("binary_cross_entropy", {{2, 3}, {2, 3}}, function(a, b)
  return F.binary_cross_entropy(torch.sigmoid(a), torch.sigmoid(b))
end, {},
     {-1.550056, 0.03780387, 0.3359262})
case("binary_cross_entropy with weights summed", {{2, 3}, {2, 3}}, function(a, b)
  return F.binary_cross_entropy(torch.sigmoid(a), torch.sigmoid(b), {weight=torch.tensor({1.,
    2., 3.}), reduction='sum'})
end, {},
     {-19.48171, 0.759756, 2.724399})
case("binary_cross_entropy of certainties", {{4}}, function(a)
  return F.binary_cross_entropy(torch.tensor({0., 1., 0., 1.})+a*0, torch.tensor({0., 1., 1.,
    0.}))
end, {},
     {-125, 0})
case("binary_cross_entropy_with_logits", {{2, 3}, {2, 3}}, function(a, b)
  return F.binary_cross_entropy_with_logits(a, b)
end, {},
     {-0.2634838, 1.150757, 1.875})
case("binary_cross_entropy_with_logits with both weights", {{2, 3}, {2, 3}}, function(a, b)
  return F.binary_cross_entropy_with_logits(a, b, {weight=torch.tensor({1., 2., 3.}),
    pos_weight=torch.tensor({2., 0.5, 1.})})
end, {},
     {-0.7187383, 1.275758, 4.839547})
case("binary_cross_entropy_with_logits of large logits", {{2, 3}, {2, 3}}, function(a, b)
  return F.binary_cross_entropy_with_logits(a*100, b)
end, {},
     {83.65886, 93.74946, 187.5})
case("kl_div", {{2, 3}, {2, 3}}, function(a, b)
  return F.kl_div(F.log_softmax(a, 1), F.softmax(b, 1), {reduction='batchmean'})
end, {},
     {0, -4.004687e-08, 0})
case("kl_div with a zero target", {{2, 3}}, function(a)
  return F.kl_div(F.log_softmax(a, 1), torch.tensor({{0., 0.5, 0.5}, {1., 0., 0.}}),
    {reduction='sum'})
end, {},
     {-1.755035, 0.2333047})
case("kl_div with log targets", {{2, 3}, {2, 3}}, function(a, b)
  return F.kl_div(F.log_softmax(a, 1), F.log_softmax(b, 1), {reduction='none', log_target=true})
end, {2, 3},
     {0, -5.210415, 5.210415})

t.done()
