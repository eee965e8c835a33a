-- gpu_two.lua -- two GPUs: copies between them, guards, models on cuda:1, loaders that pin
local tap = require "tap"
local cuda = torch.cuda

dlrepl.simulate {card = "t4", count = 2}
local zero, one = {device = "cuda:0"}, {device = "cuda:1"}

-- ---- copies from one to the other ---------------------------------------------------------------
do
  local a = torch.arange(6.0, zero):reshape(2, 3)
  local b = a:t():to("cuda:1", {non_blocking = true})
  tap.is(tostring(b), "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]], device='cuda:1')",
         "a transposed tensor is copied to the other GPU")
  local c = torch.empty(2, 3, {dtype = torch.float64, device = "cuda:1"})
  c:copy_(a)
  tap.is(tostring(c:sum()), "tensor(15., device='cuda:1', dtype=torch.float64)",
         "copy_ goes across and converts")
  c["0, :"] = a[1]
  tap.is(c:tolist()[1][1], 3.0, "so does an assignment")
  a:zero_()
  tap.is(b:sum():item(), 15.0, "a copy is a copy")
  tap.is(cuda.can_device_access_peer(0, 1), true, "they reach each other")
  tap.raises(function() return a + b:t() end, "RuntimeError: Expected all tensors to be on the "
             .. "same device, but found at least two devices, cuda:0 and cuda:1!", "but do not mix")
  local w = torch.ones(3, {device = "cuda:0", requires_grad = true})
  local y = w * 2
  y:to("cuda:1"):sum():backward()
  tap.is(tostring(w.grad), "tensor([2., 2., 2.], device='cuda:0')", "gradients come back across")
end

-- ---- which is meant -----------------------------------------------------------------------------
for _, d in ipairs {1, "cuda:1", torch.device("cuda:1"), torch.device("cuda", 1)} do
  cuda.device(d, function()
    tap.is(torch.ones(1, {device = "cuda"}).device.index, 1, "a guard takes " .. type(d))
    tap.is(nn.Linear(2, 2):cuda().weight.device.index, 1, "a model moves to the guarded GPU")
  end)
end
cuda.device(1, function()
  cuda.device(0, function() tap.is(cuda.current_device(), 0, "guards nest") end)
  tap.is(cuda.current_device(), 1, "the outer one is back")
end)
cuda.device(-1, function() tap.is(cuda.current_device(), 0, "-1 is none") end)
cuda.device_of(torch.ones(1, one), function()
  tap.is(cuda.current_device(), 1, "device_of follows a tensor")
end)
tap.raises(function() cuda.device(2, function() end) end,
           "AcceleratorError: CUDA error: invalid device ordinal", "a third is not there")
tap.is(cuda.current_device(), 0, "after all that the first is current")
cuda.set_device("cuda:1")
tap.is(torch.ones(2):cuda().device.index, 1, "set_device stays")
cuda.set_device(0)
tap.is(torch.ones(1):cuda(1).device.index, 1, "x:cuda(1)")
tap.is(torch.ones(1):cuda {device = "cuda:1"}.device.index, 1, "x:cuda{device=…}")
tap.raises(function() return torch.ones(1):cuda("cpu") end,
           "RuntimeError: Invalid device, must be cuda device", "x:cuda(\"cpu\") makes no sense")
tap.raises(function() return torch.device("cuda:0", 1) end, "RuntimeError: type (string) must not "
           .. "include an index because index was passed explicitly: cuda:0", "an index too many")
tap.raises(function() return cuda.get_device_properties(7) end,
           "AssertionError: Invalid device id", "properties of no device")
for _, text in ipairs {"cuda:-1", "cuda:", "cuda:01", "cuda:1x", "cuda:0:1", "cuda:99999999999"} do
  tap.raises(function() return torch.device(text) end,
             "RuntimeError: Invalid device string: '" .. text .. "'", text .. " is no device")
end

-- ---- a model on the second ----------------------------------------------------------------------
do
  torch.manual_seed(0)
  local set = TensorDataset(torch.randn(24, 5), torch.arange(24) % 3)
  local model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1),
                              nn.Linear(8, 3)):to("cuda:1")
  local opt = optim.Adam(model:parameters(), {lr = 0.05})
  local pinned, first, last = true, nil, nil
  for _ = 1, 10 do
    for x, y in DataLoader(set, {batch_size = 8, shuffle = true, pin_memory = true}) do
      pinned = pinned and x:is_pinned() and y:is_pinned()
      x, y = x:to("cuda:1", {non_blocking = true}), y:to("cuda:1", {non_blocking = true})
      opt:zero_grad()
      local loss = F.cross_entropy(model(x), y)
      loss:backward()
      opt:step()
      last = loss:item()
      first = first or last
    end
  end
  tap.ok(pinned, "a loader with pin_memory pins its batches")
  tap.ok(last < first, "a model on cuda:1 trains")
  tap.is(model[0].weight.grad.device, torch.device("cuda:1"), "its gradients are there")
  tap.is(opt.state[model[0].weight].exp_avg.device, torch.device("cuda:1"), "Adam's averages too")
  collectgarbage()
  tap.is(cuda.memory_allocated(0), 0, "and nothing is on the first")
end

-- ---- half here, half there ----------------------------------------------------------------------
do
  local front, back = nn.Linear(4, 8):to("cuda:0"), nn.Linear(8, 2):to("cuda:1")
  local out = back(front(torch.ones(3, 4, zero)):relu():to("cuda:1"))
  out:sum():backward()
  tap.is(tostring(front.weight.grad.device), "cuda:0", "a model over two GPUs: gradients of one")
  tap.is(tostring(back.weight.grad.device), "cuda:1", "and of the other")
  tap.raises(function() return back(front(torch.ones(3, 4, zero))) end, "RuntimeError: "
             .. "Expected all tensors to be on the same device, but got mat1 is on cuda:0, "
             .. "different from other tensors on cuda:1 (when checking argument in method "
             .. "wrapper_CUDA_addmm)", "without the copy between them it fails")
end

-- ---- streams and events of both -----------------------------------------------------------------
do
  local side, mark = cuda.Stream {device = 1}, cuda.Event {enable_timing = true}
  local done = cuda.Event {enable_timing = true}
  cuda.stream(side, function()
    tap.is(cuda.current_device(), 1, "a stream's guard chooses its device")
    mark:record()
    local x = torch.ones(256, 256, one)
    x = x:mm(x)
    done:record()
  end)
  done:synchronize()
  tap.ok(mark:elapsed_time(done) > 0, "events of the second GPU measure")
end
tap.done()
