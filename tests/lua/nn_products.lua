-- nn_products.lua -- matrix products against PyTorch: shapes, values and every gradient
--
-- A tensor is compared by one number, a weighted sum of its elements. The numbers are PyTorch's.
local t = require "tap"
local values = require "nn_values"
local case = values.case

case("matmul of matrices", {{2, 3}, {3, 4}}, function(a, b)
  return torch.matmul(a, b)
end, {2, 4},
     {-11.48047, 20.53125, -18.84375})
case("matmul of a batch with a matrix", {{2, 3, 4}, {4, 2}}, function(a, b)
  return torch.matmul(a, b)
end, {2, 3, 2},
     {-0.5546875, -39.34375, 8.40625})
case("matmul of a matrix with a batch", {{2, 3}, {4, 3, 2}}, function(a, b)
  return torch.matmul(a, b)
end, {4, 2, 2},
     {-20.92578, -7.3125, -30.71875})
case("matmul with broadcast batches", {{2, 1, 2, 3}, {3, 3, 2}}, function(a, b)
  return torch.matmul(a, b)
end, {2, 3, 2, 2},
     {-8.121094, 34.5625, 8.53125})
case("matmul of a vector with a batch", {{3}, {2, 3, 4}}, function(a, b)
  return torch.matmul(a, b)
end, {2, 4},
     {-9.498047, -1.203125, -2.34375})
case("matmul of a batch with a vector", {{2, 4, 3}, {3}}, function(a, b)
  return torch.matmul(a, b)
end, {2, 4},
     {-13.57812, -29.90625, -34.07812})
case("matmul of transposed operands", {{3, 2}, {4, 3}}, function(a, b)
  return torch.matmul(a:t(), b:t())
end, {2, 4},
     {-15.62891, -32.71875, -30.875})
case("matmul past the size where code is packed", {{70, 50}, {50, 65}}, function(a, b)
  return torch.matmul(a, b)
end, {70, 65},
     {3915.051, 14026.25, 8189.547})
case("matmul past the size where oneDNN is used", {{130, 140}, {140, 120}}, function(a, b)
  return torch.matmul(a, b)
end, {130, 120},
     {33934.36, 135980.1, 70124})
case("bmm past the size where oneDNN is used", {{6, 64, 64}, {6, 64, 64}}, function(a, b)
  return torch.bmm(a, b)
end, {6, 64, 64},
     {25410.05, 99835.75, 50499.38})
case("addmm with beta and alpha", {{4}, {2, 3}, {3, 4}}, function(a, b, c)
  return torch.addmm(a, b, c, {beta=2, alpha=0.5})
end, {2, 4},
     {-14.65039, 37, 10.35938, -8.078125})
case("baddbmm", {{2, 3}, {2, 2, 3}, {2, 3, 3}}, function(a, b, c)
  return torch.baddbmm(a, b, c, {beta=0.5, alpha=2})
end, {2, 2, 3},
     {-20.49219, 8.75, -48.9375, 11})
case("addmv", {{2}, {2, 3}, {3}}, function(a, b, c)
  return torch.addmv(a, b, c, {alpha=3})
end, {2},
     {-14.73047, 6.5, -26.0625, -33.28125})
case("outer", {{2}, {3}}, function(a, b)
  return torch.outer(a, b)
end, {2, 3},
     {-4.318359, -8.25, -29.67188})
case("dot", {{9}, {9}}, function(a, b)
  return torch.dot(a, b)
end, {},
     {-16.64062, -12.03125, -11.5625})
case("linear on a batch", {{5, 3}, {4, 3}, {4}}, function(a, b, c)
  return F.linear(a, b, c)
end, {5, 4},
     {-17.15625, -4.25, -7.6875, 12})
case("linear on three dims", {{2, 5, 3}, {4, 3}, {4}}, function(a, b, c)
  return F.linear(a, b, c)
end, {2, 5, 4},
     {-17.87109, -19.875, 22.375, 19.5})
case("linear without bias on a vector", {{3}, {4, 3}}, function(a, b)
  return F.linear(a, b)
end, {4},
     {-10.88672, -29.9375, -17.90625})
case("tensordot over two dims", {{2, 3, 4}, {4, 2, 5}}, function(a, b)
  return torch.tensordot(a, b, {dims={{0, 2}, {1, 0}}})
end, {3, 5},
     {-31.51953, -38.6875, -7.421875})
case("einsum with three operands", {{2, 3}, {3, 4, 5}, {2, 5}}, function(a, b, c)
  return torch.einsum('bi, ijk, bk->bj', a, b, c)
end, {2, 4},
     {22.69873, 25.36914, -25.83398, 35.69727})
case("einsum with an ellipsis", {{5, 2, 3}, {3, 4}}, function(a, b)
  return torch.einsum('...ij, ...jk->...ik', a, b)
end, {5, 2, 4},
     {-18.70508, 123.6875, -60.59375})
case("einsum with a diagonal", {{3, 3, 2}}, function(a)
  return torch.einsum('iij->j', a)
end, {2},
     {10.21875, -2})
case("einsum with an implicit result", {{2, 3}, {3, 2}}, function(a, b)
  return torch.einsum('ij, jk', a, b)
end, {2, 2},
     {-11.71875, -16.3125, -20.96875})
case("einsum with letters summed on one side", {{2, 3}, {2, 2}}, function(a, b)
  return torch.einsum('ij, kl->k', a, b)
end, {2},
     {0.5859375, 4.6875, 1.625})

t.done()
