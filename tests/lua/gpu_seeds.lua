-- gpu_seeds.lua -- what a first text about GPUs shows, in programs of our own
--
-- Each program is run twice, word for word, with `device` chosen as it would be by a program that
-- does not know where it runs. Values are exact, or within what the order of a sum leaves open.
local tap = require "tap"
local cuda = torch.cuda

local function chosen() return torch.device(cuda.is_available() and "cuda" or "cpu") end

-- ---- choosing a device ----------------------------------------------------------------------
local function fallback(where)
  local device = chosen()
  tap.is(tostring(device), where, where .. ": chosen by what is there")
  tap.is(torch.ones(2, {device = device}):sum():item(), 2.0, where .. ": and it computes")
end

-- ---- what a tensor is -----------------------------------------------------------------------
-- A batch of images, a table and a number: shapes, dtypes; made on the device or brought there.
local function tensors(where, device)
  local grid = torch.tensor({{1, 2, 3}, {4, 5, 6}}, {device = device})
  tap.is(tostring(grid.shape), "torch.Size([2, 3])", where .. ": two rows, three columns")
  tap.is(grid.dtype, torch.int64, where .. ": whole numbers are int64")
  tap.is(grid.device.type, device.type, where .. ": a factory takes the device")
  local suffix = device.type == "cuda" and ", device='cuda:0'" or ""
  tap.is(tostring(grid * 2), "tensor([[ 2,  4,  6],\n        [ 8, 10, 12]]" .. suffix .. ")",
         where .. ": it prints with its device where that is no CPU")
  local images = torch.zeros(4, 3, 8, 8):to(device)
  tap.is(tostring(images:mean({1, 2, 3}).shape), "torch.Size([4])", where .. ": a batch of images")
  tap.is(torch.tensor(5, {device = device}):dim(), 0, where .. ": a number has no dimension")
end

-- ---- the ways that arrays and tensors differ ------------------------------------------------
local function autograd(where, device)
  local w = torch.tensor(3.0, {requires_grad = true, device = device})
  local y = w ^ 2 + 4 * w
  y:backward()
  tap.is(w.grad:item(), 10.0, where .. ": d(w^2 + 4w)/dw is 10 at 3")
  tap.is(w.grad.device, w.device, where .. ": a gradient lives where its tensor does")
  local back = (w:detach() * 2):cpu():numpy()
  tap.is(tostring(back), "6.0", where .. ": an array of it takes a copy on the CPU")
end

-- ---- moving a model and its data ------------------------------------------------------------
local function build()
  torch.manual_seed(4)
  return nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))
end

local function moves(where, device)
  local model = build()
  local weight = model[0].weight
  tap.ok(rawequal(model:to(device), model), where .. ": module:to returns the module")
  tap.ok(rawequal(model[0].weight, weight), where .. ": its parameters are the same objects")
  tap.is(model[1].running_mean.device.type, device.type, where .. ": buffers went along")
  local x = torch.ones(2, 6)
  local moved = x:to(device)
  tap.is(x.device.type, "cpu", where .. ": tensor:to leaves the tensor where it was")
  tap.is(moved.device.type, device.type, where .. ": what it returns is there")
  tap.is(model(moved).device.type, device.type, where .. ": so is what the model makes of it")
  tap.ok(rawequal(moved:to(device), moved), where .. ": there already it is the same tensor")
  tap.is(tostring(moved:cpu():numpy().shape), "(2, 6)", where .. ": back for an array")
end

-- ---- a training loop ------------------------------------------------------------------------
local function data()
  torch.manual_seed(1)
  local x = torch.randn(48, 6)
  return TensorDataset(x, (x:sum(1):gt(0)):long() + x[{"...", 0}]:gt(1):long())
end

local function train(device)
  local set, model = data(), build():to(device)
  local opt = optim.SGD(model:parameters(), {lr = 0.5, momentum = 0.9})
  local losses = {}
  for _ = 1, 6 do
    local sum = 0
    for x, y in DataLoader(set, {batch_size = 16, pin_memory = device.type == "cuda"}) do
      x, y = x:to(device, {non_blocking = true}), y:to(device, {non_blocking = true})
      opt:zero_grad()
      local loss = F.cross_entropy(model(x), y)
      loss:backward()
      opt:step()
      sum = sum + loss:item()
    end
    losses[#losses + 1] = sum / 3
  end
  model:eval()
  local right = 0
  torch.no_grad(function()
    for x, y in DataLoader(set, {batch_size = 16}) do
      right = right + (model(x:to(device)):argmax(1):eq(y:to(device))):sum():item()
    end
  end)
  return losses, right
end

-- ---- mixed precision ------------------------------------------------------------------------
-- float16 where there is a GPU, bfloat16 on the CPU: half the bytes, and nearly the same loss.
local function mixed(where, device)
  local low = device.type == "cuda" and torch.float16 or torch.bfloat16
  local model, scaler = build():to(device), torch.amp.GradScaler(device.type)
  local opt = optim.SGD(model:parameters(), {lr = 0.1})
  local x, y = torch.ones(4, 6, {device = device}), torch.zeros(4, {dtype = torch.long}):to(device)
  local exact = F.cross_entropy(model(x), y):item()
  local out, loss
  torch.autocast({device_type = device.type, dtype = low}, function()
    out = model(x)
    loss = F.cross_entropy(out, y)
  end)
  tap.is(out.dtype, low, where .. ": products are in 16 bits")
  tap.is(loss.dtype, torch.float32, where .. ": the loss is not")
  tap.close(loss:item(), {exact}, 2e-2, where .. ": and is nearly the same")
  tap.is(out:element_size() * 2, torch.zeros(1):element_size(), where .. ": half the bytes")
  scaler:scale(loss):backward()
  scaler:step(opt)
  scaler:update()
  tap.is(model[0].weight.grad.dtype, torch.float32, where .. ": gradients of float32 weights are")
end

local function all(where)
  local device = chosen()
  fallback(where)
  tensors(where, device)
  autograd(where, device)
  moves(where, device)
  mixed(where, device)
  return train(device)
end

-- ---- without a GPU --------------------------------------------------------------------------
tap.raises(function() return torch.ones(2):to("cuda") end,
           "AssertionError: Torch not compiled with CUDA enabled",
           "a program that asks for cuda without a look fails where there is none")
tap.raises(function() return build():cuda() end,
           "AssertionError: Torch not compiled with CUDA enabled", "so does a model")
local on_cpu, right = all("cpu")
tap.is(cuda.memory_allocated(), 0, "without a GPU its memory is 0")
cuda.empty_cache()

-- ---- with one -------------------------------------------------------------------------------
dlrepl.simulate "t4"
local on_gpu, right_too = all("cuda")
tap.close(on_gpu, on_cpu, 1e-4, "the same losses on both")
tap.is(right_too, right, "and the same predictions")
tap.ok(on_cpu[#on_cpu] < 0.5 * on_cpu[1], "which fell")

-- ---- model here, data there -----------------------------------------------------------------
do
  local net, picture = nn.Linear(5, 2):cuda(), torch.ones(3, 5)
  local _, e = pcall(function() return net(picture) end)
  tap.is(e.message, "Expected all tensors to be on the same device, but got mat1 is on cpu, "
         .. "different from other tensors on cuda:0 (when checking argument in method "
         .. "wrapper_CUDA_addmm)", "a model on the GPU does not take a batch from the CPU")
  tap.is(e.notes[#e.notes], "move it first: picture = picture:to(\"cuda:0\")",
         "the way out is told")
  picture = picture:to("cuda:0")
  tap.ok(pcall(function() return net(picture) end), "and is one")
  tap.raises(function() return net(picture):detach():numpy() end,
             "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to "
             .. "copy the tensor to host memory first.", "an array is never on a GPU")
end

-- ---- memory ---------------------------------------------------------------------------------
do
  collectgarbage()
  cuda.empty_cache()
  local before = cuda.memory_allocated()
  local rows = torch.zeros(2048, 2048, {device = "cuda"})
  tap.is(cuda.memory_allocated() - before, 16777216, "four million floats take 16 MiB")
  local held = cuda.memory_reserved()
  rows = nil
  tap.is(cuda.memory_allocated(), before, "let go of, they are free")
  tap.is(cuda.memory_reserved(), held, "but stay in the cache")
  cuda.empty_cache()
  tap.is(held - cuda.memory_reserved(), 16777216, "until it is emptied")
end

-- A batch that is too large, and the same with a smaller one.
do
  dlrepl.simulate {card = "t4", memory = "400MiB", compute = false, force = true}
  local model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                              nn.Linear(1024, 8)):cuda()
  local function step(n)
    local loss = model(torch.randn(n, 256, {device = "cuda"})):sum()
    loss:backward()
    return true
  end
  tap.raises(function() step(32768) end,
             "OutOfMemoryError: CUDA out of memory. Tried to allocate …",
             "a batch that is too large")
  local size = 32768
  while not pcall(step, size) do size = size // 2 end
  tap.ok(size >= 1024 and size < 32768, "halved until it fits, it trains")
  tap.diag("batch of " .. size)
end
tap.done()
