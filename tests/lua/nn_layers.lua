-- nn_layers.lua -- layers against PyTorch: shapes, values and every gradient
--
-- A tensor is compared by one number, a weighted sum of its elements. The numbers are PyTorch's.
local t = require "tap"
local values = require "nn_values"
local case = values.case

case("conv2d", {{2, 3, 5, 6}, {4, 3, 3, 2}, {4}}, function(a, b, c)
  return F.conv2d(a, b, c)
end, {2, 4, 3, 5},
     {208.5273, 134.4062, -72.53125, 32.5})
case("conv2d with stride and padding", {{2, 3, 5, 6}, {4, 3, 3, 3}, {4}}, function(a, b, c)
  return F.conv2d(a, b, c, {stride=2, padding=1})
end, {2, 4, 3, 3},
     {34.64258, 198.4375, 128.9375, 9.5})
case("conv2d with unequal stride, padding, dilation", {{1, 2, 6, 7}, {3, 2, 3, 2}}, function(a, b)
  return F.conv2d(a, b, {stride={2, 1}, padding={1, 2}, dilation={1, 2}})
end, {1, 3, 3, 9},
     {-22.69922, 80.5, -142.4688})
case("conv2d in groups", {{1, 4, 5, 5}, {6, 2, 3, 3}, {6}}, function(a, b, c)
  return F.conv2d(a, b, c, {groups=2, padding=1})
end, {1, 6, 5, 5},
     {80.90234, 229.9531, 262.6875, 46})
case("conv2d depthwise", {{2, 3, 5, 5}, {3, 1, 2, 2}}, function(a, b)
  return F.conv2d(a, b, {groups=3})
end, {2, 3, 4, 4},
     {-38.37305, -38.65625, 63.20312})
case("conv2d of 1x1", {{2, 3, 4, 4}, {5, 3, 1, 1}, {5}}, function(a, b, c)
  return F.conv2d(a, b, c)
end, {2, 5, 4, 4},
     {28.91211, -232.2188, 59.3125, 58.5})
case("conv2d of one image", {{3, 5, 5}, {2, 3, 3, 3}, {2}}, function(a, b, c)
  return F.conv2d(a, b, c, {padding=1})
end, {2, 5, 5},
     {53.78516, -17.54688, 86.9375, -23.5})
case("conv2d past the size where oneDNN is used",
     {{4, 8, 14, 14}, {16, 8, 3, 3}, {16}}, function(a, b, c)
  return F.conv2d(a, b, c, {padding=1})
end, {4, 16, 14, 14},
     {16428.94, 87147.31, 28023.91, 1960})
case("conv2d with stride past that size", {{4, 8, 15, 15}, {16, 8, 3, 3}, {16}}, function(a, b, c)
  return F.conv2d(a, b, c, {padding=1, stride=2})
end, {4, 16, 8, 8},
     {4928.168, 15671.44, 7235.219, 657.5})
case("conv2d in groups past that size", {{4, 16, 14, 14}, {16, 8, 3, 3}, {16}}, function(a, b, c)
  return F.conv2d(a, b, c, {padding=2, dilation=2, groups=2})
end, {4, 16, 14, 14},
     {16699.73, 414234.2, 27972.62, 1960})
case("conv1d", {{2, 3, 9}, {4, 3, 3}, {4}}, function(a, b, c)
  return F.conv1d(a, b, c, {stride=2, padding=1})
end, {2, 4, 5},
     {-3.320312, 38.65625, 51.78125, -0.5})
case("conv1d of one signal", {{3, 9}, {4, 3, 3}}, function(a, b)
  return F.conv1d(a, b, {dilation=2})
end, {4, 5},
     {9.25, -21.40625, -4.5625})
case("max_pool2d", {{2, 3, 6, 6}}, function(a)
  return F.max_pool2d(a, 2)
end, {2, 3, 3, 3},
     {43.96875, 15.5})
case("max_pool2d of odd sizes", {{1, 2, 5, 7}}, function(a)
  return F.max_pool2d(a, 2)
end, {1, 2, 2, 3},
     {9.125, -13})
case("max_pool2d with padding and stride 1", {{1, 2, 5, 5}}, function(a)
  return F.max_pool2d(a, 3, {stride=1, padding=1})
end, {1, 2, 5, 5},
     {28.84375, -5})
case("max_pool2d with dilation and ceil_mode", {{1, 2, 7, 6}}, function(a)
  return F.max_pool2d(a, 2, {stride=2, dilation=2, ceil_mode=true})
end, {1, 2, 3, 3},
     {8.15625, 16})
case("avg_pool2d", {{2, 3, 6, 6}}, function(a)
  return F.avg_pool2d(a, 2)
end, {2, 3, 3, 3},
     {10.46094, 10.375})
case("avg_pool2d with padding counted", {{1, 2, 6, 5}}, function(a)
  return F.avg_pool2d(a, 3, {stride=2, padding=1})
end, {1, 2, 3, 3},
     {2.677083, 7.722222})
case("avg_pool2d without padding counted, ceil_mode", {{1, 2, 6, 5}}, function(a)
  return F.avg_pool2d(a, 3, {stride=2, padding=1, ceil_mode=true, count_include_pad=false})
end, {1, 2, 4, 3},
     {11.71441, 16.01389})
case("avg_pool2d with a divisor", {{1, 2, 4, 6}}, function(a)
  return F.avg_pool2d(a, {2, 3}, {divisor_override=4})
end, {1, 2, 2, 2},
     {2.65625, 4.375})
case("adaptive_avg_pool2d", {{1, 2, 7, 5}}, function(a)
  return F.adaptive_avg_pool2d(a, {3, 2})
end, {1, 2, 3, 2},
     {2.815972, 3.388889})
case("adaptive_avg_pool2d to one", {{2, 3, 4, 5}}, function(a)
  return F.adaptive_avg_pool2d(a, 1)
end, {2, 3, 1, 1},
     {0.3359375, 0.4249999})
case("adaptive_avg_pool2d to more than there is", {{1, 2, 3, 4}}, function(a)
  return F.adaptive_avg_pool2d(a, 5)
end, {1, 2, 5, 5},
     {9.21875, 0.5})
case("batch_norm in training", {{4, 3, 2, 2}, {3}, {3}}, function(a, b, c)
  return F.batch_norm(a, None, None, b, c, {training=true})
end, {4, 3, 2, 2},
     {-16.66967, -33.83826, 0.3598213, 29.5})
case("batch_norm of rows in training", {{5, 3}}, function(a)
  return F.batch_norm(a, None, None, {training=true, eps=0.01})
end, {5, 3},
     {-2.091519, 62.34641})
case("batch_norm in evaluation", {{4, 3, 2}, {3}, {3}}, function(a, b, c)
  return F.batch_norm(a, torch.ones(3)*0.5, torch.ones(3)*2, b, c)
end, {4, 3, 2},
     {0.5283321, -7.778156, -30.74802, 42})
case("attention", {{2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 6}}, function(a, b, c)
  return F.scaled_dot_product_attention(a, b, c)
end, {2, 2, 3, 6},
     {21.3023, 1.598995, -7.658979, 90.23178})
case("causal attention with a scale", {{2, 4, 4}, {2, 4, 4}, {2, 4, 4}}, function(a, b, c)
  return F.scaled_dot_product_attention(a, b, c, {is_causal=true, scale=0.3})
end, {2, 4, 4},
     {2.217017, 20.99555, 7.238108, 87.92248})
case("attention with a float mask", {{2, 3, 4}, {2, 5, 4}, {2, 5, 4}, {3, 5}}, function(a, b, c,
    d)
  return F.scaled_dot_product_attention(a, b, c, {attn_mask=d})
end, {2, 3, 4},
     {10.81117, 7.397575, -4.353171, 8.618936, 4.544365})
case("attention with a bool mask that hides a row",
     {{2, 3, 4}, {2, 2, 4}, {2, 2, 4}}, function(a, b, c)
  return F.scaled_dot_product_attention(a, b, c, {attn_mask=torch.tensor({{true, false}, {false,
    false}, {true, true}})})
end, {2, 3, 4},
     {13.32917, 15.82775, 1.690477, 16.44381})
case("attention with grouped heads", {{1, 4, 3, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}}, function(a, b, c)
  return F.scaled_dot_product_attention(a, b, c, {enable_gqa=true})
end, {1, 4, 3, 2},
     {3.208295, 35.43414, -3.258486, 21.89592})
case("embedding", {{4, 3}}, function(a)
  return F.embedding(torch.tensor({{1, 2}, {2, 0}}), a)
end, {2, 2, 3},
     {-7.125, -2})
case("embedding with a padding row", {{4, 3}}, function(a)
  return F.embedding(torch.tensor({1, 2, 1, 3}), a, {padding_idx=1})
end, {4, 3},
     {-1.25, 11})

t.done()
