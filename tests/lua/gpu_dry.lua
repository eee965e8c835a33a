-- gpu_dry.lua -- dry runs (compute=false): models larger than any machine, on the CPU and on a GPU
local tap = require "tap"
local cuda = torch.cuda
local GiB = 2 ^ 30 // 1 | 0
local on = {device = "cuda"}

-- Memory that the process really holds, in MiB; 0 where the system does not say.
local function resident()
  local f <close> = io.open("/proc/self/status")
  return f and (tonumber(f:read("a"):match("VmRSS:%s+(%d+)")) or 0) / 1024 or 0
end

dlrepl.simulate {card = "b200", compute = false}
local before = resident()
local nothing = "RuntimeError: the result's size depends on values, and a dry run has none"

-- ---- on the CPU ---------------------------------------------------------------------------------
do
  local m = nn.Linear(100000, 100000)
  tap.is(tostring(m), "Linear(in_features=100000, out_features=100000, bias=True)",
         "a layer of 40 GB is made on the CPU")
  local row = "[nan, nan, nan,  ..., nan, nan, nan]"
  tap.is(tostring(m.weight:detach()), "tensor([" .. row .. ",\n        " .. row .. ",\n        "
         .. row .. ",\n        ...,\n        " .. row .. ",\n        " .. row .. ",\n        "
         .. row .. "])", "it prints nan and no rubbish")
  local x = m.weight[3][4]:item()
  tap.ok(x ~= x, "item() is nan")
  tap.is(tostring((m.weight * 2 + 1):sum():detach()), "tensor(nan)", "it can be computed with")
  local out = m(torch.ones(2, 100000))
  tap.is(tostring(out.shape), "torch.Size([2, 100000])", "a forward pass has its shape")
  out:sum():backward()
  tap.is(tostring(m.weight.grad.shape), "torch.Size([100000, 100000])", "a backward pass too")
  m.weight.grad, m.bias.grad, out = nil, nil, nil
  tap.is(m:half().weight.dtype, torch.float16, "half() converts it")
  m:float()
  m:cuda()
  tap.is(cuda.memory_allocated(), 40000000000 + 400384, "then it goes to the GPU: 40 GB there")
  tap.is(m.weight:cpu().device.type, "cpu", "and comes back")
  tap.is(torch.zeros(100000, 100000, {dtype = torch.int64}):sum():item(), 0, "integers are 0")
  tap.ok(resident() - before < 64, "none of it takes memory here")
  m = nil
  tap.is(cuda.memory_allocated(), 0, "nothing is left")
end

do
  local huge = torch.zeros(100000, 100000)
  tap.is(tostring(torch.cat({huge, huge:t()}).shape), "torch.Size([200000, 100000])",
         "they can be put together")
  tap.is(tostring(huge:t():reshape(-1).shape), "torch.Size([10000000000])", "and laid out anew")
  huge:add_(1)
  huge[3] = 7
  tap.is(tostring(huge["3, 0"]), "tensor(nan)", "what is written into them is not kept")
  tap.is(tostring(huge:numpy().shape), "(100000, 100000)", "they can be arrays")
  tap.raises(function() return huge:tolist() end,
             "MemoryError: a list of 10000000000 numbers does not fit in memory", "but no lists")
  local small = nn.Linear(50000, 50000)
  small:load_state_dict(nn.Linear(50000, 50000):state_dict())
  nn.init.xavier_uniform_(small.weight)
  local opt = optim.AdamW(small:parameters())
  small(torch.randn(2, 50000)):sum():backward()
  nn.utils.clip_grad_norm_(small:parameters(), 1.0)
  opt:step()
  tap.is(tostring(opt.state[small.weight].exp_avg.shape), "torch.Size([50000, 50000])",
         "a step of training on the CPU takes no memory either")
end
tap.ok(resident() - before < 96, "all that took none")

-- ---- small CPU tensors have numbers, so that loaders and indices work ---------------------------
tap.is(tostring(torch.zeros(3)), "tensor([0., 0., 0.])", "small CPU tensors have numbers")
tap.is(tostring(torch.arange(4)), "tensor([0, 1, 2, 3])", "a range as well")
tap.is(torch.randperm(50):sum():item(), 1225, "a permutation is one")
tap.is(tostring(torch.tensor({1., 2.}) * 3), "tensor([3., 6.])", "they compute")
tap.is(tostring(torch.tensor({1., 2.}):cuda():cpu()), "tensor([nan, nan])",
       "what was on the GPU has none")
do
  local seen = 0
  local set = TensorDataset(torch.randn(20, 3), torch.arange(20))
  for x, y in DataLoader(set, {batch_size = 8, shuffle = true, pin_memory = true}) do
    x = x:to("cuda", {non_blocking = true})
    for _, v in ipairs(y:tolist()) do seen = seen + v end
  end
  tap.is(seen, 190, "a shuffled loader gives each sample once")
end

-- ---- what depends on values ---------------------------------------------------------------------
do
  local x, ones = torch.randn(3, 3, on), torch.ones(3, {dtype = torch.int64, device = "cuda"})
  local big = torch.randn(1000, 1000)
  for name, fn in pairs {
    nonzero = function() return x:nonzero() end,
    ["a mask"] = function() return x[x:gt(0)] end,
    masked_select = function() return x:masked_select(x:gt(0)) end,
    unique = function() return x:unique() end,
    bincount = function() return ones:bincount() end,
    repeat_interleave = function() return x:repeat_interleave(ones, {dim = 0}) end,
    ["where of one argument"] = function() return torch.where(x:gt(0)) end,
    ["a mask on the CPU"] = function() return big[big:gt(0)] end,
    ["nonzero on the CPU"] = function() return big:nonzero() end,
  } do
    tap.raises(fn, nothing, name .. " needs values, and says so")
  end
  local _, e = pcall(x.nonzero, x)
  tap.like(tostring(e), "simulate with compute=true, or give the size yourself", "and what to do")
  tap.is(tostring(x:masked_fill(x:gt(0), 0).shape), "torch.Size([3, 3])", "masked_fill does not")
end

-- ---- a model that no machine here holds trains --------------------------------------------------
do
  local layer = {}
  for i = 1, 8 do layer[i] = nn.Linear(16384, 16384) end
  local m = nn.Sequential(table.unpack(layer)):cuda()
  local opt = optim.Adam(m:parameters())
  for _ = 1, 2 do
    opt:zero_grad()
    m(torch.randn(64, 16384, on)):pow(2):mean():backward()
    opt:step()
  end
  local params = 8 * (16384 * 16384 + 16384) * 4
  tap.ok(cuda.memory_allocated() >= 4 * params and cuda.memory_allocated() < 4 * params + GiB,
         "weights, gradients and Adam's two: 32 GiB")
  tap.raises(function() return torch.ones(50 * GiB, on) end,
             "OutOfMemoryError: CUDA out of memory…", "the card's capacity is the real one")
end
tap.ok(resident() - before < 128, "and this machine held next to nothing")

-- ---- afterwards ---------------------------------------------------------------------------------
do
  local left, small = torch.randn(1000, 1000), torch.ones(2)
  collectgarbage()
  dlrepl.simulate(false, {force = true})
  tap.is(tostring(left:sum()), "tensor(nan)",
         "a tensor without numbers stays one after the dry run")
  tap.is(tostring(small + 1), "tensor([2., 2.])", "one with numbers keeps them")
  tap.is((torch.ones(1000, 1000) + 1):sum():item(), 2e6, "new large ones have numbers again")
  dlrepl.simulate "t4"
  tap.is(tostring((left:cuda() + 1):sum():cpu()), "tensor(nan)", "also on a GPU with values")
  tap.is((torch.ones(2, on) + 1):sum():item(), 4.0, "which computes")
end
tap.done()
