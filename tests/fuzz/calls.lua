-- calls.lua -- random calls of everything the surface offers: no call may crash, hang or leak
--
-- Usage: dlrepl calls.lua [COUNT [SEED [cuda | dry]]]    (TAP; cuda: on the GPUs there are, else on
-- simulated ones; dry: without values)
-- Each call gets arguments drawn from a pool of awkward values. It may succeed or raise; what it
-- raises must be an error of ours (a class PyTorch has, a kind, a text) or Lua's own.
-- INVARIANT  after the run, with everything dropped, no tensor and no graph node is alive.

local count = math.tointeger(arg[1]) or 20000
local seed = math.tointeger(arg[2]) or 1
math.randomseed(seed)
torch.manual_seed(seed)
local random = math.random
local huge = 2 ^ 40

-- Most tensors are on the GPU then, some are not; a context that a bad index killed is reset.
local on_gpu = arg[3] == "cuda" or arg[3] == "dry"
if on_gpu and not (arg[3] == "cuda" and torch.cuda.device_count() > 1) then
  dlrepl.simulate {card = "t4", count = 2, memory = "64MiB", compute = arg[3] == "cuda"}
end
local devices = {"cuda", "cuda", "cuda", "cuda", "cuda", "cpu", "cuda:1"}

local function pick(list) return list[random(#list)] end

-- ---- values -------------------------------------------------------------------------------------
local dtypes = {
  torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
  torch.int16, torch.int8, torch.uint8, torch.bool,
}
local shapes = {
  {}, {0}, {1}, {3}, {2, 3}, {3, 2}, {2, 0, 3}, {1, 3}, {2, 3, 4}, {1, 1, 4, 4}, {2, 2, 2, 2, 2},
}

local function tensor()
  local shape = pick(shapes)
  local t = torch.randint(-2, 5, shape):to(pick(dtypes))
  if on_gpu then t = t:to(pick(devices)) end
  local what = random(8)
  if what == 1 and t:dim() >= 2 then t = t:transpose(0, 1) end
  if what == 2 and t:dim() >= 1 and t:size(0) > 0 then t = t[0] end
  if what == 3 then t = t:expand(2, table.unpack(shape)) end
  if what <= 5 and t:is_floating_point() then t = t:detach():clone():requires_grad_() end
  return t
end

local ints = {
  0, 1, 2, 3, -1, -2, 5, 100, -100, 2 ^ 31, -2 ^ 31, math.maxinteger, math.mininteger, huge,
}
local numbers = {0.5, -1.5, 1e30, -1e30, 0 / 0, math.huge, -math.huge, 2.0}
local strings = {
  "", "mean", "sum", "none", "floor", "trunc", "x", "1:2", "...", ":, 0", "cuda", "é", "a\0b",
}

local function ints_table()
  local t = {}
  for i = 1, random(0, 4) do t[i] = random(4) == 1 and pick(ints) or random(-1, 4) end
  return t
end

local makers = {
  tensor, tensor, tensor, tensor,
  function() return random(-2, 4) end, function() return random(-2, 4) end,
  function() return pick(ints) end, function() return pick(numbers) end,
  function() return pick(strings) end, ints_table, ints_table,
  function() return {tensor(), tensor()} end, function() return {} end,
  function() return random(2) == 1 end, function() return nil end, function() return None end,
  function() return pick(dtypes) end, function() return print end,
  function() return {{1, 2}, {3}} end, function() return setmetatable({}, {}) end,
}
local keywords = {
  "dim", "keepdim", "dtype", "alpha", "p", "out", "nonsense", "reduction", "requires_grad", "size",
}

local function keyword_table()
  return {[pick(keywords)] = pick(makers)()}
end

-- ---- what is called -------------------------------------------------------------------------
local skip = {
  set_num_threads = true, set_default_dtype = true, set_printoptions = true, save = true,
  load = true, set_default_device = true, set_grad_enabled = true, set_detect_anomaly = true,
  seed = true, no_grad = true, enable_grad = true, inference_mode = true,
  set_sync_debug_mode = true, _sync_debug = true,
}
local targets = {}
local function collect(where, t)
  for name, f in pairs(t) do
    if type(name) == "string" and type(f) == "function" and not skip[name] then
      targets[#targets + 1] = {where .. name, f}
    end
  end
end
collect("torch.", torch)
collect("F.", F)
collect("dlrepl.ops.", dlrepl.ops or {})
if on_gpu then collect("torch.cuda.", torch.cuda) end
for _, name in ipairs(dlrepl.debug.methods()) do
  local function call(t, ...) return torch.Tensor[name](t, ...) end
  targets[#targets + 1] = {"tensor:" .. name, call}
end
table.sort(targets, function(a, b) return a[1] < b[1] end)

local _ = nn, optim -- loaded before the count
local baseline = dlrepl.debug.live()

-- Sizes that would take seconds or gigabytes are refused, as on a small machine.
dlrepl.debug.host_cap(256 * 1024 * 1024)

local function describe(v)
  if torch.is_tensor(v) then return string.format("tensor%s:%s", v.shape, v.dtype) end
  if type(v) == "table" and getmetatable(v) == nil then
    local parts = {}
    for k, x in pairs(v) do parts[#parts + 1] = tostring(k) .. "=" .. describe(x) end
    return "{" .. table.concat(parts, ",") .. "}"
  end
  return type(v) == "string" and string.format("%q", v) or tostring(v)
end

local function bad_error(e)
  if type(e) == "string" then return e:find("attempt to") and e:find("lua/") and e or nil end
  if type(e) ~= "table" or not e.class or not e.kind then
    return "not one of our errors: " .. tostring(e)
  end
  if e.kind == "internal" then return "internal error: " .. tostring(e) end
end

local function one(i)
  local target = pick(targets)
  local args, n = {}, random(0, 4)
  if target[1]:find("^tensor:") then n = n + 1 end
  for k = 1, n do args[k] = pick(makers)() end
  if target[1]:find("^tensor:") then args[1] = tensor() end
  if random(3) == 1 then n = n + 1; args[n] = keyword_table() end
  local ok, e = pcall(target[2], table.unpack(args, 1, n))
  if ok and torch.is_tensor(e) and random(20) == 1 then tostring(e) end
  if ok and torch.is_tensor(e) and e.requires_grad and random(2) == 1 then
    pcall(function() e:sum():backward() end)
  end
  local bad = not ok and bad_error(e)
  if bad then
    local words = {}
    for k = 1, n do words[k] = describe(args[k]) end
    print("# call " .. i .. ": " .. target[1] .. "(" .. table.concat(words, ", ") .. "): " .. bad)
  end
  return not bad
end

-- Errors of kernels come late; a killed context would end every later call at its first line.
local function revive()
  for d = 0, 1 do
    if not pcall(torch.cuda.synchronize, d) then dlrepl.reset_device(d) end
  end
end

local failed = 0
for i = 1, count do
  if on_gpu then revive() end
  if not one(i) then failed = failed + 1 end
end
local tensors, nodes = dlrepl.debug.live()
print("1.." .. 2)
print((failed == 0 and "ok" or "not ok") .. " 1 - " .. count ..
      " random calls raise nothing but our own errors")
local clean = tensors <= baseline and nodes == 0
if on_gpu then
  torch.cuda._clear_cublas_workspaces()
  for d = 0, 1 do clean = clean and torch.cuda.memory_allocated(d) == 0 end
end
print((clean and "ok" or "not ok") .. " 2 - nothing is alive after them")
if not clean then print("# tensors alive: " .. tensors .. ", nodes alive: " .. nodes) end
os.exit(failed == 0 and clean)
