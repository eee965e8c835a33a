-- smoke.lua -- the few lines that must work whatever else does not
local t = require "tap"

local x = torch.ones(2, 3)
t.is(tostring(x + 1), "tensor([[2., 2., 2.],\n        [2., 2., 2.]])", "a sum prints")
t.close(x:view(3, 2), { { 1, 1 }, { 1, 1 }, { 1, 1 } }, 0, "a view reads")
t.raises(function() return torch.ones(2, 3) + torch.ones(4, 3) end,
         "RuntimeError: The size of tensor a (2) must match the size of tensor b (4) at "
         .. "non-singleton dimension 0", "shapes that do not fit")

torch.manual_seed(0)
t.close(torch.rand(3), { 0.4963, 0.7682, 0.0885 }, 1e-4, "random numbers are PyTorch's")

local w = torch.tensor({ 1, 2, 3 }, { dtype = torch.float32, requires_grad = true })
local y = (w * w):sum()
y:backward()
t.close(w.grad, { 2, 4, 6 }, 0, "a gradient")

t.close(torch.matmul(torch.ones(2, 3), torch.ones(3, 2)), { { 3, 3 }, { 3, 3 } }, 0, "a product")
t.done()
