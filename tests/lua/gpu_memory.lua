-- gpu_memory.lua -- torch.cuda's memory figures: without a GPU, on a simulated one, byte by byte
local tap = require "tap"
local cuda = torch.cuda
local MiB = 2 ^ 20 // 1 | 0

-- ---- without a GPU ------------------------------------------------------------------------------
if not cuda.is_available() then
  tap.is(cuda.memory_allocated(), 0, "no GPU: nothing is allocated")
  tap.is(cuda.memory_allocated(3), 0, "on no device whatever")
  tap.is(cuda.max_memory_reserved(), 0, "nor was anything reserved")
  tap.is(#cuda.memory_stats(), 0, "there are no statistics")
  tap.is(tostring(cuda.memory_stats()), "OrderedDict()", "they print as in PyTorch")
  tap.is(cuda.empty_cache(), nil, "empty_cache does nothing")
  tap.is(#cuda.memory_snapshot(), 0, "there are no segments")
  tap.raises(function() cuda.memory_summary() end, "KeyError: 'allocated_bytes.all.current'…",
             "there is nothing to sum up")
  for _, name in ipairs {"mem_get_info", "reset_peak_memory_stats",
      "get_per_process_memory_fraction"} do
    tap.raises(cuda[name], "AssertionError: Torch not compiled with CUDA enabled…",
               name .. " wants a GPU")
  end
  tap.raises(function() cuda.set_per_process_memory_fraction(0.5) end,
             "AssertionError: Torch not compiled with CUDA enabled…", "so does a limit")
end

dlrepl.simulate("t4")
local dev = {device = "cuda"}

-- ---- one float ----------------------------------------------------------------------------------
tap.is(cuda.memory_allocated(), 0, "a fresh device is empty")
tap.is(cuda.memory_reserved(), 0, "and reserves nothing")
local free, total = cuda.mem_get_info()
tap.ok(free < total, "the context takes a part of the card")
x = torch.ones(1, dev)
tap.is(cuda.memory_allocated(), 512, "one float takes 512 bytes")
tap.is(cuda.memory_reserved(), 2097152, "of a segment of 2 MiB")
tap.is(free - cuda.mem_get_info(), 2097152, "which the card has less")
x = nil
tap.is(cuda.memory_allocated(), 0, "garbage is not counted")
tap.is(cuda.max_memory_allocated(), 512, "the peak stays")
cuda.reset_peak_memory_stats()
tap.is(cuda.max_memory_allocated(), 0, "until it is reset")
tap.is(cuda.memory_stats()["allocation.all.allocated"], 1, "one allocation since the start")
cuda.reset_accumulated_memory_stats()
tap.is(cuda.memory_stats()["allocation.all.allocated"], 0, "until that is reset")
cuda.empty_cache()
tap.is(cuda.memory_reserved(), 0, "empty_cache gives the segment back")
tap.is(cuda.mem_get_info(), free, "to the card")

-- ---- how a device is named ----------------------------------------------------------------------
x = torch.zeros(1000, dev)
for _, d in ipairs {0, "cuda", "cuda:0", torch.device("cuda:0"), torch.device("cuda"), None} do
  tap.is(cuda.memory_allocated(d), 4096, "memory_allocated of " .. tostring(d))
end
tap.raises(function() cuda.memory_allocated("cpu") end,
           "ValueError: Expected a cuda device, but got: cpu", "the CPU is no GPU")
tap.raises(function() cuda.memory_allocated("cuda:x") end,
           "RuntimeError: Invalid device string: 'cuda:x'", "a bad device string")
tap.raises(function() cuda.memory_allocated(7) end,
           "AcceleratorError: CUDA error: invalid device ordinal…", "a device that is not there")
tap.raises(function() cuda.memory_allocated({}) end, "TypeError: …", "a table is no device")

-- ---- statistics ---------------------------------------------------------------------------------
do
  local s, keys = cuda.memory_stats(), {}
  for k in pairs(s) do keys[#keys + 1] = k end
  tap.is(#keys, 122, "all of PyTorch's statistics")
  local sorted = table.move(keys, 1, #keys, 1, {})
  table.sort(sorted)
  tap.is(table.concat(keys, " "), table.concat(sorted, " "), "in order")
  tap.is(s["requested_bytes.all.current"], 4000, "requested bytes")
  tap.is(s["inactive_split_bytes.small_pool.current"], 2093056, "the rest of the segment")
  tap.is(s.max_split_size, -1, "no limit to splitting")
  tap.is(cuda.memory_stats_as_nested_dict().segment.small_pool.current, 1, "the same, nested")
  tap.is(cuda.memory.memory_allocated(), 4096, "torch.cuda.memory has the names too")
end

-- ---- the summary, against PyTorch's own text for the same figures -------------------------------
local function summary_of(stats, ...)
  local before = cuda._stats
  cuda._stats = function() return stats end
  local text = cuda.memory_summary(...)
  cuda._stats = before
  return text
end

do
  local values = {[0] = 0, 1, 511, 786431, 786432, 749999, 750000, 2097152, 805306367, 805306368,
                  123456789012, 749999999, 750000000, 98765432101234, 5, 824633720832}
  local function four(at)
    local t = {}
    for k, field in ipairs {"current", "peak", "allocated", "freed"} do
      t[field] = values[(at + (k - 1) * 5) % 16]
    end
    return t
  end
  local stats = {num_ooms = 3, num_alloc_retries = 17, oversize_allocations = four(1),
                 oversize_segments = four(8)}
  for i, name in ipairs {"allocation", "segment", "active", "inactive_split", "allocated_bytes",
      "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes"} do
    stats[name] = {}
    for j, part in ipairs {"all", "small_pool", "large_pool"} do
      stats[name][part] = four((i - 1) * 7 + (j - 1) * 3)
    end
  end
  tap.is(summary_of(stats, 1, true), [[
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 1                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 3            |        cudaMalloc retries: 17        |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      | 732421 KiB |      1 B   | 750000 B   | 732421 KiB |
|---------------------------------------------------------------------------|
| Active memory         | 117737 MiB |    768 GiB |    768 KiB |    768 MiB |
|---------------------------------------------------------------------------|
| Requested memory      | 786431 KiB |  91982 GiB |    511 B   |   2048 KiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   | 786431 B   | 786431 KiB |  91982 GiB |    511 B   |
|---------------------------------------------------------------------------|
| Non-releasable memory |      1 B   | 750000 B   | 732421 KiB |      0 B   |
|---------------------------------------------------------------------------|
| Allocations           |       0    |  749999    |  123456 M  |  824633 M  |
|---------------------------------------------------------------------------|
| Active allocs         |       5    |     786 K  |     805 M  | 98765432 M  |
|---------------------------------------------------------------------------|
| GPU reserved segments |    2097 K  |     750 M  |       1    |     750 K  |
|---------------------------------------------------------------------------|
| Non-releasable allocs |  749999    |  123456 M  |  824633 M  |     786 K  |
|---------------------------------------------------------------------------|
| Oversize allocations  |       1    |     750 K  |  749999 K  |       0    |
|---------------------------------------------------------------------------|
| Oversize GPU segments |     805 M  | 98765432 M  |     511    |    2097 K  |
|===========================================================================|
]], "memory_summary is PyTorch's to the character")
  local _, lines = cuda.memory_summary():gsub("\n", "")
  tap.is(lines, 47, "unabbreviated it has a row for each pool")
  tap.is(cuda.memory_summary {abbreviated = true}, cuda.memory_summary(nil, true),
         "abbreviated may be named")
end

-- ---- the snapshot -------------------------------------------------------------------------------
do
  x, y = nil, nil
  cuda.empty_cache()
  w, b, i = torch.zeros(100, 100, dev), torch.zeros(10, dev), torch.zeros(10, 100, dev)
  local s = cuda.memory_snapshot()
  tap.is(#s, 1, "one segment")
  tap.is(s[1].total_size, 2097152, "of 2 MiB")
  tap.is(s[1].segment_type, "small", "of the small pool")
  local text = {}
  for k, block in ipairs(s[1].blocks) do
    text[k] = block.size .. " " .. block.state .. " " .. block.requested_size
  end
  tap.is(table.concat(text, ", "), "40448 active_allocated 40000, 512 active_allocated 40, "
         .. "4096 active_allocated 4000, 2052096 inactive 0", "with its blocks in order")
  tap.is(s[1].blocks[2].address, s[1].address + 40448, "addresses add up")
  tap.is(cuda.memory._snapshot().allocator_settings.max_split_size, -1, "and the options")
end

-- ---- a linear layer, as a snapshot of a real card has it ----------------------------------------
do
  w, b, i = nil, nil, nil
  cuda.empty_cache()
  w, b, x = torch.zeros(1000, 10, dev), torch.zeros(10, dev), torch.zeros(1, 1000, dev)
  y = x:matmul(w) + b
  local text = {}
  for _, s in ipairs(cuda.memory_snapshot()) do
    text[#text + 1] = s.segment_type .. " " .. s.total_size .. ":"
    for _, block in ipairs(s.blocks) do
      text[#text + 1] = block.size .. (block.state == "inactive" and " free," or ",")
    end
  end
  tap.is(table.concat(text, " "), "small 2097152: 40448, 512, 4096, 512 free, 512, 2051072 free, "
         .. "large 20971520: 8519680, 12451840 free,", "y = x @ w + b, block by block")
  tap.is(cuda.memory_allocated(), 8565248, "with cuBLAS's workspace")
  tap.is(cuda.memory_stats()["inactive_split_bytes.all.current"], 14503424, "and what is free")
  x, y = nil, nil
  cuda._clear_cublas_workspaces()
end

-- ---- limits and options -------------------------------------------------------------------------
tap.is(cuda.get_per_process_memory_fraction(), 1.0, "at first there is no limit")
tap.raises(function() cuda.set_per_process_memory_fraction(1) end,
           "TypeError: Invalid type for fraction argument, must be `float`", "a limit is a float")
tap.raises(function() cuda.set_per_process_memory_fraction(1.5) end,
           "ValueError: Invalid fraction value: 1.5. Allowed range: 0~1", "from 0 to 1")
cuda.set_per_process_memory_fraction(64 * MiB / total)
tap.raises(function() torch.zeros(20 * MiB, dev) end,
           "OutOfMemoryError: CUDA out of memory. Tried to allocate 80.00 MiB. GPU 0 has a total "
           .. "capacity of 14.56 GiB of which …", "80 MiB of 64")
cuda.set_per_process_memory_fraction(1.0)
tap.raises(function() cuda.memory._set_allocator_settings("foo:1") end,
           "ValueError: Unrecognized key 'foo' in Accelerator allocator config.", "a bad option")
cuda.memory._set_allocator_settings("expandable_segments:True")
big = torch.zeros(6 * MiB, dev)
tap.is(cuda.memory_stats()["segment.large_pool.current"], 0, "expandable segments are not counted")
tap.is(cuda.memory_stats()["reserved_bytes.large_pool.current"], 40 * MiB, "their pages are")
big = nil
cuda.empty_cache()
cuda.memory._set_allocator_settings("expandable_segments:False")

-- ---- a training loop, block by block ------------------------------------------------------------
-- Linear(100, 200): 80000 -> 80384 and 800 -> 1024; Linear(200, 10): 8000 -> 8192 and 40 -> 512
do
  w, b, i = nil, nil, nil
  tap.is(dlrepl.exact_memory(true), false, "exact memory was off")
  local base = cuda.memory_allocated()
  local function now() return cuda.memory_allocated() - base end
  model = nn.Sequential(nn.Linear(100, 200, dev), nn.ReLU(), nn.Linear(200, 10, dev))
  local params = 80384 + 1024 + 8192 + 512
  tap.is(now(), params, "parameters of the MLP")
  opt = optim.SGD(model:parameters(), {lr = 0.1})
  x = torch.randn(64, 100, dev)
  y = torch.zeros(64, {dtype = torch.int64, device = "cuda"})
  torch.ones(3, 4, dev):mm(torch.ones(4, 2, dev))
  tap.is(now() - params - 26112, 8519680, "the first product brings cuBLAS's workspace along")
  model(x)
  tap.is(now() - params - 26112 - 8519680, 1048576, "the first bias cuBLASLt's")
  base = base + 8519680 + 1048576
  for step = 1, 3 do
    tap.is(now(), params + 25600 + 512, "step " .. step .. ": parameters and the batch")
    out = model(x)
    tap.is(now(), params + 26112 + 51200 + 2560, "after forward: ReLU's result, the output")
    loss = F.cross_entropy(out, y)
    tap.is(now(), params + 26112 + 53760 + 512 + 2560 + 512,
           "after the loss: itself, the logarithms, the sum of weights")
    opt:zero_grad()
    cuda.reset_peak_memory_stats()
    loss:backward()
    tap.is(cuda.max_memory_allocated() - base, params + 26112 + 2560 + 512 + 8192 + 512 + 3 * 51200,
           "backward's peak: ReLU's result and its two gradients, beside those of the last layer")
    tap.is(now(), 2 * params + 26112 + 2560 + 512, "after backward: gradients; the graph is gone")
    opt:step()
    tap.is(now(), 2 * params + 26112 + 2560 + 512, "SGD keeps nothing")
    opt:zero_grad()
    out, loss = nil, nil
  end
  local adam = optim.Adam(model:parameters())
  F.cross_entropy(model(x), y):backward()
  cuda.reset_peak_memory_stats()
  adam:step()
  tap.is(now(), 4 * params + 26112, "Adam keeps two values a parameter")
  tap.is(cuda.max_memory_allocated() - base, 5 * params + 26112, "and holds a third for the step")
  for _, way in ipairs {{"foreach=false", 2 * 80384, {foreach = false}},
      {"fused", 0, {fused = true}}, {"weight decay", params, {weight_decay = 0.1}},
      {"one by one, weight decay", 3 * 80384, {foreach = false, weight_decay = 0.1}}} do
    adam = optim.Adam(model:parameters(), way[3])
    adam:step()
    cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    adam:step()
    tap.is(cuda.max_memory_allocated() - base, 4 * params + 26112 + way[2],
           "Adam's step, " .. way[1])
  end
  adam = optim.SGD(model:parameters(), {lr = 0.1, weight_decay = 0.1, momentum = 0.9})
  adam:step()
  cuda.memory_allocated()
  cuda.reset_peak_memory_stats()
  adam:step()
  tap.is(cuda.max_memory_allocated() - base, 4 * params + 26112, "SGD's step with weight decay")
  adam, model, opt, y = nil, nil, nil, nil
  x = torch.ones(1000, 1000, {device = "cuda", requires_grad = true})
  local before = cuda.memory_allocated()
  out = F.dropout(x, 0.25)
  tap.is(cuda.memory_allocated() - before, 4000256 + 1000448, "dropout keeps a byte an element")
  out:sum():backward()
  tap.close(x.grad:mean():item(), 1, 0.01, "its mask scales the gradient")
  tap.ok((out:eq(0) | out:eq(out:max())):all():item(), "results are zero or scaled")
  tap.ok(torch.equal(out, x.grad), "as are gradients")
  out = nil
  dlrepl.exact_memory(false)
end

-- ---- garbage ------------------------------------------------------------------------------------
do
  model, opt, x, y = nil, nil, nil, nil
  cuda.empty_cache()
  cuda.reset_peak_memory_stats()
  local base, reserved = cuda.memory_allocated(), cuda.memory_reserved()
  for _ = 1, 500 do local t = torch.empty(2000, 2000, dev) end
  tap.is(cuda.max_memory_allocated() - base, 16 * MiB, "garbage makes no peak")
  tap.is(cuda.memory_reserved() - reserved, 16 * MiB, "and reserves nothing")
end

-- ---- several GPUs, and none again ---------------------------------------------------------------
do
  keep = torch.zeros(1000, dev)
  dlrepl.simulate {card = "a10g", count = 2, force = true}
  tap.is(cuda.memory_allocated(), 0, "another GPU begins empty")
  tap.ok(pcall(collectgarbage), "what lived on the old one goes without harm")
  keep = torch.zeros(1000, {device = "cuda:1"})
  tap.is(cuda.memory_allocated(0), 0, "each GPU has its own figures")
  tap.is(cuda.memory_allocated("cuda:1"), 4096, "the second its own")
  cuda.set_device(1)
  tap.is(cuda.memory_allocated(), 4096, "without a device the current one is meant")
  cuda.set_per_process_memory_fraction(0.001, 1)
  tap.raises(function() torch.zeros(10 * MiB, {device = "cuda:1"}) end,
             "OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 MiB. GPU 1 has …",
             "the text names the GPU")
  tap.ok(pcall(torch.zeros, 10 * MiB, {device = "cuda:0"}), "the other one is not limited")
  tap.is(cuda.memory_snapshot()[1].device, 0, "a snapshot tells all of them")
  tap.like(cuda.memory_summary(), "summary, device ID 1 ", "a summary the current one")
  dlrepl.simulate {card = "h100-sxm", force = true}
  torch.ones(2, 2, dev):mm(torch.ones(2, 2, dev))
  tap.is(cuda.memory_reserved(), 2 * MiB + 32 * MiB, "on a 9.0 cuBLAS takes 32 MiB")
  dlrepl.simulate {card = "t4", device = "mps", force = true}
  tap.raises(function() torch.zeros(10 ^ 10, {device = "mps"}) end, "RuntimeError: MPS backend out "
             .. "of memory (MPS allocated: 0 bytes, other allocations: …", "mps has its own text")
  dlrepl.simulate {card = "t4", force = true}
  keep = torch.zeros(10, dev)
  keep = nil
  collectgarbage()
  dlrepl.simulate(false)
  tap.is(cuda.memory_allocated(), 0, "without a GPU again there is nothing")
  keep = nil
  collectgarbage()
end

tap.done()
