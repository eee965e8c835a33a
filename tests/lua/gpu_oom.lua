-- gpu_oom.lua -- out of memory on a GPU: what it says, and whether its advice is true
--
-- In a dry run: bytes are those of a run with values, and cost nothing.
local tap = require "tap"
local cuda = torch.cuda
local MiB = 2 ^ 20 // 1 | 0

dlrepl.simulate {card = "t4", compute = false}
local dev = {device = "cuda"}
local _, total = cuda.mem_get_info()

local function cap(bytes) cuda.set_per_process_memory_fraction(bytes and bytes / total or 1.0) end

-- Everything away: the next case begins on an empty card.
local function clean()
  cap()
  model, opt, x, y, keep, out, h = nil, nil, nil, nil, nil, nil, nil
  cuda.memory._set_allocator_settings("expandable_segments:False")
  cuda.empty_cache()
  cuda.reset_peak_memory_stats()
end

-- The error of fn, which must be out of memory.
local function oom(fn, ...)
  local ok, e = pcall(fn, ...)
  if ok or e.class ~= "OutOfMemoryError" then
    tap.ok(false, "it runs out of memory")
    tap.diag(tostring(e))
    return {notes = {}}
  end
  return e
end

local function notes(e)
  return type(e.notes) == "table" and table.concat(e.notes, "\n") or tostring(e.notes)
end

-- The bytes that the piece of advice with `words` promises to save, of what was done and of a whole
-- step; nil where there is none.
local function promised(words)
  for _, a in ipairs(dlrepl.debug.last_oom().advice) do
    if a.text:find(words, 1, true) then return a.saves, a.whole end
  end
end

local function kept(says, saved, name)
  tap.ok(says and math.abs(says - saved) <= 0.1 * saved, name)
  tap.diag(string.format("promised %s bytes, saved %d", tostring(says), saved))
end

-- ---- what it says -------------------------------------------------------------------------------
clean()
do
  cap(100 * MiB)
  keep = torch.zeros(10 * MiB, dev) -- 40 MiB
  local e = oom(function() return torch.zeros(20 * MiB, dev) end)
  tap.is(e.kind, "out_of_memory", "the kind to match on")
  tap.like(e.message, "^CUDA out of memory%. Tried to allocate 80%.00 MiB%. GPU 0 has a total "
    .. "capacity of 14%.56 GiB of which [%d.]+ GiB is free%. Including non%-PyTorch memory, this "
    .. "process has [%d.]+ MiB memory in use%. 100%.00 MiB allowed; Of the allocated memory 40%.00 "
    .. "MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated%. If ",
    "PyTorch's text")
  local text = notes(e)
  tap.like(text, "simulated: Tesla T4 %[SIMULATED%]", "it says that the card is simulated")
  tap.like(text, "alive on GPU 0: other 40%.00 MiB", "what lives, by what it is for")
  tap.like(text, "largest: 40%.00 MiB at gpu_oom.lua:55 %(other, zeros%)", "and who made it, where")
  tap.like(text, "why: size%. 40%.00 MiB alive and 80%.00 MiB asked for are 20%.00 MiB ",
           "size: it can not fit")
  tap.is((promised("set to nil")), 40 * MiB, "what to try: let go of it")
  tap.is(cuda.memory_allocated(), 40 * MiB, "nothing is lost")
  tap.ok(pcall(torch.zeros, 10 * MiB, dev), "and the session goes on")
  tap.is(cuda.memory_stats().num_ooms, 1, "one is counted")
end

-- ---- fragmentation ------------------------------------------------------------------------------
-- A block of 100 MiB is freed, and its first 20 MiB are taken again.
local function holes()
  keep = torch.empty(25 * MiB, dev)
  keep = nil
  keep = torch.empty(5 * MiB, dev)
end

clean()
do
  cap(180 * MiB)
  local e = oom(function()
    holes()
    return torch.empty(26 * MiB, dev)
  end)
  local says = promised("expandable_segments:True")
  tap.like(notes(e), "why: fragmentation%. 80%.00 MiB are free but scattered",
           "fragmentation is told")
  clean()
  holes()
  local native = cuda.memory_reserved()
  clean()
  cuda.memory._set_allocator_settings("expandable_segments:True")
  holes()
  cuda.empty_cache()
  kept(says, native - cuda.memory_reserved(),
       "expandable segments save what lay scattered")
  cap(180 * MiB)
  tap.ok(pcall(torch.empty, 26 * MiB, dev), "and the request fits")
end

-- ---- a network that runs out of memory going forward -------------------------------------------
clean()
-- The first product of all brings cuBLAS's workspace along.
torch.ones(2, 2, dev):mm(torch.ones(2, 2, dev))
F.linear(torch.ones(2, 2, dev), torch.ones(2, 2, dev), torch.ones(2, dev))
local workspace = cuda.memory_allocated()

local N = 4096
local function build()
  torch.manual_seed(0)
  h, x = nil, nil
  model = nn.ModuleList {nn.Linear(512, 1024, dev), nn.ReLU(), nn.Linear(1024, 1024, dev),
                         nn.ReLU(), nn.Linear(1024, 1024, dev), nn.ReLU(),
                         nn.Linear(1024, 10, dev)}
  opt = optim.Adam(model:parameters())
end

-- The first `upto` layers on n rows.
local function forward(n, upto)
  x = torch.randn(n, 512, dev)
  h = x
  for i = 0, (upto or 7) - 1 do h = model[i](h) end
  return h
end

-- The most that lives while fn runs.
local function peak(fn, ...)
  h, x = nil, nil
  cuda.memory_allocated()
  cuda.reset_peak_memory_stats()
  local _ = fn(...)
  return cuda.max_memory_allocated()
end

clean()
build()
cap(cuda.memory_reserved() + 60 * MiB)
do
  local e = oom(forward, N)
  local says = promised("a quarter of the batch")
  tap.like(notes(e), "saved activations 24%.00 MiB", "activations are told")
  tap.like(notes(e), "largest: %S+ MiB at gpu_oom.lua:%d+ %(saved activation, relu, %d tensors%)",
           "with the line that made them")
  clean()
  build()
  local full, quarter = peak(forward, N, 4), peak(forward, N // 4, 4)
  kept(says, full - quarter, "a part of the batch saves what is said")
end

clean()
build()
cap(cuda.memory_allocated() + 100 * MiB)
do
  local function step(n, early)
    if early then opt:zero_grad() end
    local loss = forward(n):sum()
    opt:zero_grad()
    loss:backward()
    opt:step()
  end
  step(64)
  oom(step, 8192)
  local zero, sgd = promised("opt:zero_grad()"), promised("optim.SGD")
  clean()
  build()
  step(64)
  local late = peak(forward, 8192, 4)
  opt:zero_grad()
  local early = peak(forward, 8192, 4)
  kept(zero, late - early, "zero_grad before forward saves the last gradients")
  clean()
  build()
  local before = cuda.memory_allocated()
  step(64)
  local adam = cuda.memory_allocated() - before
  build()
  opt = optim.SGD(model:parameters(), {lr = 0.1})
  before = cuda.memory_allocated()
  step(64)
  kept(sgd, adam - (cuda.memory_allocated() - before), "SGD saves Adam's state")
end

clean()
build()
do
  cap(cuda.memory_reserved() + 76 * MiB)
  oom(forward, N, 6)
  local says = promised("torch.autocast")
  clean()
  build()
  local plain = peak(forward, N, 6)
  local mixed = peak(function()
    return torch.autocast({device_type = "cuda", dtype = torch.float16}, function()
      return forward(N, 6)
    end)
  end)
  kept(says, plain - mixed, "autocast saves what is said")
end

-- ---- evaluation ---------------------------------------------------------------------------------
clean()
do
  local layers = {}
  for i = 1, 16 do layers[2 * i - 1], layers[2 * i] = nn.Linear(1024, 1024, dev), nn.ReLU() end
  model = nn.Sequential(table.unpack(layers))
  local function run()
    x = torch.randn(N, 1024, dev)
    return model(x)
  end
  model:eval()
  local with = peak(run)
  local without = peak(function() return torch.no_grad(run) end)
  x = nil
  cuda.empty_cache()
  cap(with - 8 * MiB)
  oom(run)
  kept(select(2, promised("torch.no_grad")), with - without,
       "in evaluation no_grad saves what is said")
  model:train()
  oom(run)
  tap.is((promised("torch.no_grad")), nil, "in training nothing is said of it")
end

-- ---- the beginning of a pass, and where nothing else lives --------------------------------------
clean()
do
  model = nn.Linear(4096, 4096, dev)
  x = torch.randn(4096, 4096, dev)
  cap(cuda.memory_allocated() + 20 * MiB)
  oom(function() return model(x) end)
  tap.is((promised("set to nil")), nil, "the input of a layer is not what could be let go of")
  tap.is((promised("half the batch")), 64 * MiB, "half of it, and of the result")
  oom(function() return torch.no_grad(function() return model(x) end) end)
  tap.is((promised("half the batch at a time")), 64 * MiB, "without a graph no loss is shared")
  clean()
  model = nn.Linear(4096, 4096, dev)
  x = torch.randn(4, 4096, dev)
  cap(cuda.memory_allocated() + 30 * MiB)
  oom(function() model(x):sum():backward() end)
  tap.ok(promised("model in half precision") > 64 * MiB - 1, "a model's gradients: half precision")
  tap.is((promised("requires_grad_(false)")), 64 * MiB, "or fewer of them")
end

-- ---- activations that are computed again --------------------------------------------------------
do
  local checkpoint = torch.utils.checkpoint
  local function layers(n)
    local list = {}
    for i = 1, n do
      list[2 * i - 1], list[2 * i] = nn.Linear(1024, 1024, dev), nn.ReLU()
    end
    return nn.Sequential(table.unpack(list))
  end
  local function two(n, first_again)
    x = torch.randn(n, 1024, dev)
    h = first_again and checkpoint.checkpoint(model[0], x, {use_reentrant = false}) or model[0](x)
    return model[1](h)
  end
  -- What fn saves by computing again, and what out of memory at its very end promises.
  local function compare(fn, words, name)
    local plain, again = peak(fn, N), peak(fn, N, true)
    h, x = nil, nil
    cuda.empty_cache()
    cap(plain - 8 * MiB)
    oom(fn, N)
    kept((promised(words)), plain - again, name)
  end
  clean()
  model = nn.ModuleList {layers(6), layers(2)}
  compare(two, "checkpoint.checkpoint(f, x, {use_reentrant=false}) at gpu_oom.lua:",
          "a checkpoint around the first layers saves what is said")
end

-- ---- what earlier steps left --------------------------------------------------------------------
do
  local function epochs(steps, detach)
    keep = {}
    for _ = 1, steps do
      out = forward(64)
      keep[#keep + 1] = detach and out:detach():cpu() or out
      opt:step()
    end
  end
  clean()
  build()
  cap(cuda.memory_allocated() + 50 * MiB)
  local e = oom(epochs, 1000)
  local says = promised("in `keep`")
  local steps = #keep
  tap.like(notes(e), "why: retention%. `keep` %(%d+ tensors, %d+ separate graphs%) keeps "
    .. "[%d.]+ MiB alive, made at gpu_oom.lua:%d+; without", "retention is told, and whose")
  clean()
  build()
  epochs(steps)
  local held = cuda.memory_allocated()
  clean()
  build()
  epochs(steps, true)
  kept(says, held - cuda.memory_allocated(),
       "letting go saves what is said")
end

-- ---- an optimizer's step ----------------------------------------------------------------------
do
  dlrepl.simulate{card = "t4", memory = "800MiB", compute = false, force = true}
  local layers = nn.Sequential()
  for _ = 1, 11 do layers:append(nn.Linear(1024, 4096)) end
  layers = layers:to("cuda")
  local function step(options)
    for p in layers:parameters() do p.grad = torch.zeros_like(p) end
    optim.Adam(layers:parameters(), options):step()
  end
  local ok, e = pcall(step)
  tap.ok(not ok, "Adam's copy of all parameters is too much here")
  tap.like(tostring(e), "optimizer state 352%.34 MiB", "its state is known as such at once")
  tap.like(tostring(e), "\n  or: {foreach=false} for the optimizer: one parameter at a time, not a "
    .. "copy of all %(saves 160%.17 MiB%)", "what to do is told")
  tap.is(select(2, pcall(step, {foreach = false})), nil, "and it helps")
end

do
  dlrepl.simulate{card = "t4", memory = "10MiB", compute = false, force = true}
  local _, e = pcall(torch.ones, 3 << 18, {device = "cuda"})
  tap.like(tostring(e), "why: size%. 3%.00 MiB asked for come out of a piece of 20 MiB or more, "
    .. "and less than that is left of the card's 10%.00 MiB", "a card smaller than a segment")
end

tap.done()
