-- gpu_devices.lua -- devices, moves, mismatches and streams on a simulated GPU

local t = require "tap"

local function fails(fn, class, text, name)
  local ok, e = pcall(fn)
  if ok then return t.ok(false, name .. " (did not fail)") end
  local said = type(e) == "table" and e.class .. ": " .. e.message or tostring(e)
  t.is(said:sub(1, #class + 2 + #text), class .. ": " .. text, name)
  return e
end

-- ---- no GPU ----------------------------------------------------------------------------------
t.is(torch.cuda.is_available(), false, "without a GPU is_available() is false")
t.is(torch.cuda.device_count(), 0, "without a GPU device_count() is 0")
fails(function() return torch.ones(2):cuda() end, "AssertionError",
      "Torch not compiled with CUDA enabled", "x:cuda() says that there is no CUDA")
fails(function() return torch.ones(2):pin_memory() end, "RuntimeError",
      "Cannot access accelerator device when none is available.", "pin_memory() wants a GPU")
fails(torch.cuda.Stream, "RuntimeError", "torch.cuda.Stream requires CUDA support",
      "Stream() wants a GPU")
fails(torch.cuda.Event, "RuntimeError", "Tried to instantiate dummy base class Event",
      "Event() wants a GPU")

dlrepl.simulate {card = "t4", count = 2}

-- ---- devices ---------------------------------------------------------------------------------
t.is(torch.cuda.device_count(), 2, "two cards are there")
t.is(torch.cuda.get_device_name(0), "Tesla T4 [SIMULATED]", "the name says that it is simulated")
local major, minor = torch.cuda.get_device_capability()
t.is(major .. "." .. minor, "7.5", "a T4 has capability 7.5")
local p = torch.cuda.get_device_properties(0)
t.is(p.multi_processor_count, 40, "a T4 has 40 multiprocessors")
t.ok(tostring(p):find("_CudaDeviceProperties(name='Tesla T4 [SIMULATED]', major=7, minor=5", 1,
                      true), "the properties print as PyTorch's do")
fails(function() return torch.ones(2, {device = "cuda:7"}) end, "AcceleratorError",
      "CUDA error: invalid device ordinal\n"
      .. "GPU device may be out of range, do you have enough GPUs?",
      "an ordinal that is not there is refused")
fails(function() return torch.device("cuda:x") end, "RuntimeError",
      "Invalid device string: 'cuda:x'", "a bad device string is refused")
t.is(torch.cuda.current_device(), 0, "the first GPU is the current one")
torch.cuda.device(1, function()
  t.is(torch.ones(1):cuda().device, torch.device("cuda:1"), "inside a guard \"cuda\" is its GPU")
end)
t.is(torch.cuda.current_device(), 0, "after it the first is current again")
pcall(torch.cuda.device, 1, function() error("x") end)
t.is(torch.cuda.current_device(), 0, "also after an error inside")

-- ---- moves -----------------------------------------------------------------------------------
local x = torch.arange(6.0):reshape(2, 3)
t.is(tostring(x:cuda()), "tensor([[0., 1., 2.],\n        [3., 4., 5.]], device='cuda:0')",
     "a tensor on a GPU prints with its device")
t.ok(rawequal(x:cpu(), x), "x:cpu() of a CPU tensor is x")
local g = x:cuda()
t.ok(rawequal(g:to("cuda"), g), "x:to(\"cuda\") of a tensor there is x")
t.ok(not rawequal(g:to("cuda", {copy = true}), g), "copy=true copies")
t.is(g:to("cpu", torch.float64).dtype, torch.float64, "to(device, dtype) does both")
t.ok(torch.equal(g:t():cpu(), x:t()), "a transposed tensor comes back as it is")
t.ok(torch.equal(g:to("cuda:1"):cpu(), x), "peer copies keep the values")
local w = torch.ones(2, 3, {requires_grad = true})
local y = w:cuda() * 2
y:sum():backward()
t.is(tostring(w.grad), tostring(torch.full({2, 3}, 2.0)), "gradients cross back to the CPU leaf")
local m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
local weight = m[0].weight
t.ok(rawequal(m:to("cuda"), m) and rawequal(m[0].weight, weight) and weight.device.type == "cuda",
     "module:to moves its parameters in place")
t.is(m[1].running_mean.device.type, "cuda", "and its buffers")
t.is(torch.zeros_like(x, {device = "cuda"}).device.type, "cuda", "zeros_like takes a device")
t.is(torch.tensor({1, 2}, {device = "cuda:1"}).device, torch.device("cuda:1"),
     "torch.tensor takes a device")
local pinned = x:pin_memory()
t.ok(pinned:is_pinned() and not x:is_pinned() and torch.equal(pinned, x), "pin_memory copies")
t.ok(torch.empty(3, {pin_memory = true}):is_pinned(), "factories take pin_memory")
fails(function() return g:pin_memory() end, "RuntimeError",
      "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
      "a tensor on a GPU cannot be pinned")
fails(function() return g:numpy() end, "TypeError", "can't convert cuda:0 device type tensor to "
      .. "numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
      "numpy() wants the CPU")

-- ---- what may be mixed -----------------------------------------------------------------------
t.ok(torch.equal((g + torch.tensor(1.0)):cpu(), x + 1), "a 0-dim CPU tensor may be added")
t.ok(torch.equal((torch.tensor(2.0) * g):cpu(), x * 2), "on the left too")
t.is((torch.tensor(1.0) + torch.tensor(2.0):cuda()).device.type, "cuda",
     "0-dim on both: the result is on the GPU")
t.ok(torch.equal(g[torch.tensor({1, 0})]:cpu(), x[torch.tensor({1, 0})]), "CPU indices may index")
t.ok(torch.equal(g[x:gt(2)]:cpu(), x[x:gt(2)]), "so may a CPU mask")
local z = g:clone()
z[0] = torch.tensor({7.0, 8.0, 9.0})
z[{1, 2}] = torch.tensor(1.5)
t.is(tostring(z), "tensor([[7.0000, 8.0000, 9.0000],\n        [3.0000, 4.0000, 1.5000]], "
     .. "device='cuda:0')", "CPU values may be assigned")
t.ok(torch.equal(g:masked_fill(g:gt(2), torch.tensor(0.0)):cpu(), x:masked_fill(x:gt(2), 0)),
     "masked_fill takes a 0-dim CPU value")

-- ---- mismatches ------------------------------------------------------------------------------
local both = "Expected all tensors to be on the same device, but found at least two devices, "
local got = "Expected all tensors to be on the same device, but got "
local row = torch.ones(3)
local e = fails(function() return g + row end, "RuntimeError", both .. "cuda:0 and cpu!",
                "pointwise: TensorIterator's text")
t.is(e.kind, "device_mismatch", "its kind is device_mismatch")
t.is(e.operands[2], "other (row): torch.float32 [3] on cpu", "operands have the user's names")
t.is(e.notes[#e.notes], "move it first: row = row:to(\"cuda:0\")", "and the line that fixes it")
fails(function() return row:add_(g[0]) end, "RuntimeError", both .. "cuda:0 and cpu!",
      "in place the result may not be on the CPU")
fails(function() return torch.ones(1) + g end, "RuntimeError", both .. "cuda:0 and cpu!",
      "shape [1] is no 0-dim tensor")
fails(function() return torch.where(g:gt(1), torch.tensor(1.0), torch.tensor(2.0)) end,
      "RuntimeError", "Trying to pass too many CPU scalars to non-CPU kernel!",
      "at most one CPU scalar")
local linear = nn.Linear(3, 4):cuda()
e = fails(function() return linear(x) end, "RuntimeError", got .. "mat1 is on cpu, different from "
          .. "other tensors on cuda:0 (when checking argument in method wrapper_CUDA_addmm)",
          "Linear on cuda, input on cpu")
local cold = nn.Sequential(nn.Linear(3, 4))
e = fails(function() return cold(g) end, "RuntimeError", got .. "mat1 is on cuda:0, different from "
          .. "other tensors on cpu (when checking argument in method wrapper_CUDA_addmm)",
          "Linear on cpu, input on cuda")
t.is(e.notes[#e.notes], "move the model first: cold:to(\"cuda:0\")", "the model is what moves")
fails(function() return g:matmul(torch.ones(3, 2)) end, "RuntimeError", got
      .. "mat2 is on cpu, different from other tensors on cuda:0 (when checking argument in method "
      .. "wrapper_CUDA_mm)", "matmul names mat2")
fails(function() return torch.cat({g, x}) end, "RuntimeError", got .. "tensors is on cpu, "
      .. "different from other tensors on cuda:0 (when checking argument in method "
      .. "wrapper_CUDA_cat)", "cat names tensors")
fails(function() return nn.Embedding(5, 2):cuda()(torch.tensor({1})) end, "RuntimeError", got
      .. "index is on cpu, different from other tensors on cuda:0 (when checking argument in "
      .. "method wrapper_CUDA__index_select)", "Embedding names index")
fails(function() return F.cross_entropy(g, torch.tensor({0, 1})) end, "RuntimeError", got
      .. "target is on cpu, different from other tensors on cuda:0 (when checking argument in "
      .. "method wrapper_CUDA_nll_loss_forward)", "cross_entropy names target")
e = fails(function() return F.cross_entropy(g, torch.tensor({0, 1})) end, "RuntimeError", got,
          "an operand without a name")
t.is(e.notes[#e.notes], "move `target` first, with :to(\"cuda:0\")", "is called as the op calls it")
local conv = nn.Conv2d(1, 1, 2)
fails(function() return conv(torch.ones(1, 1, 3, 3):cuda()) end, "RuntimeError",
      "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
      "convolution: weight on the CPU")
conv:cuda()
fails(function() return conv(torch.ones(1, 1, 3, 3)) end, "RuntimeError",
      "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same "
      .. "or input should be a MKLDNN tensor and weight is a dense tensor",
      "convolution: input on the CPU")
fails(function() return x[torch.tensor({1}):cuda()] end, "RuntimeError",
      "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
      "a CPU tensor takes no index from a GPU")
fails(function() return g + x:to("cuda:1") end, "RuntimeError", both .. "cuda:0 and cuda:1!",
      "two GPUs are two devices")

-- ---- asynchronous errors ---------------------------------------------------------------------
local loss = F.cross_entropy(torch.zeros(2, 3, {device = "cuda"}), torch.tensor({0, 3}):cuda())
t.ok(loss ~= nil, "a bad label on a GPU fails later")
e = fails(function() return loss:item() end, "AcceleratorError",
          "CUDA error: device-side assert triggered", "the next synchronisation raises it")
fails(function() return torch.ones(1, {device = "cuda"}) end, "AcceleratorError",
      "CUDA error: device-side assert triggered", "and every call after it")
t.is(torch.ones(1, {device = "cuda:1"}):item(), 1.0, "the other GPU is well")
dlrepl.reset_device(0)
t.is(torch.ones(1, {device = "cuda"}):item(), 1.0, "reset_device starts afresh")
fails(function() return g + 1 end, "RuntimeError", "this tensor's memory on cuda:0 is gone",
      "tensors from before are gone")
t.is(tostring(x), "tensor([[0., 1., 2.],\n        [3., 4., 5.]])", "those on the CPU are not")

-- ---- random numbers --------------------------------------------------------------------------
torch.manual_seed(0)
local a = torch.rand(5, {device = "cuda"})
torch.manual_seed(0)
t.ok(torch.equal(a, torch.rand(5, {device = "cuda"})), "manual_seed seeds the GPU")
t.ok(a:ge(0):all():item() and a:lt(1):all():item(), "uniform numbers are in [0, 1)")
local state = torch.cuda.get_rng_state()
local b = torch.randn(9, {device = "cuda"})
torch.cuda.set_rng_state(state)
t.ok(torch.equal(b, torch.randn(9, {device = "cuda"})), "the generator's state can be put back")
local gen = torch.Generator({device = "cuda"})
gen:manual_seed(5)
fails(function() return torch.rand(2, {generator = gen}) end, "RuntimeError",
      "Expected a 'cpu' device type for generator but found 'cuda'", "generators have a device")

-- ---- streams and events ----------------------------------------------------------------------
local s = torch.cuda.Stream()
local first = torch.cuda.Event({enable_timing = true})
local last = torch.cuda.Event({enable_timing = true})
local big = torch.ones(512, 512, {device = "cuda"})
first:record()
for _ = 1, 5 do big = big:matmul(big) end
last:record()
torch.cuda.synchronize()
t.ok(first:elapsed_time(last) > 0, "events measure time")
torch.cuda.stream(s, function()
  t.ok(torch.cuda.current_stream() == s, "a stream guard makes it current")
  local q = torch.ones(4, {device = "cuda"})
  q:record_stream(torch.cuda.default_stream())
end)
t.ok(torch.cuda.current_stream() == torch.cuda.default_stream(), "and puts the old one back")
fails(function() return torch.cuda.Event():elapsed_time(last) end, "ValueError",
      "Both events must be created with argument 'enable_timing=True'.", "timing must be asked for")

-- ---- waiting that nobody asked for -----------------------------------------------------------
torch.cuda.set_sync_debug_mode("error")
fails(function() return big:sum():item() end, "RuntimeError",
      "called a synchronizing CUDA operation", "the sync debug mode finds item()")
torch.cuda.set_sync_debug_mode(0)

-- ---- the end ---------------------------------------------------------------------------------
big, a, b, s, first, last, loss, z = nil, nil, nil, nil, nil, nil, nil, nil
dlrepl.simulate(false)
t.is(torch.cuda.is_available(), false, "simulate(false) ends it")
dlrepl.simulate {card = "t4", device = "mps"}
t.ok(torch.backends.mps.is_available() and not torch.cuda.is_available(), "it can stand as mps")
t.is(tostring(torch.ones(2, {device = "mps"})), "tensor([1., 1.], device='mps:0')",
     "and computes there")
dlrepl.simulate(false)
t.done()
