-- save_python.lua -- files that PyTorch wrote, read, gone on with, and written again byte for byte
--
-- The files are in tests/save; tests/save/make.py made them.
local t = require "tap"
local function load(name, ...) return torch.load("tests/save/" .. name .. ".pth", ...) end
local function bytes_of(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

local v = load "values"
t.ok(rawequal(v.none, None), "None inside of a dict is None")
t.is({v["true"], v["false"]}, {true, false}, "truth values")
t.is(v.ints, {0, 255, 256, 65535, 65536, -1, -2 ^ 31 | 0}, "integers")
t.is(v.longs, {2 ^ 31 | 0, 2 ^ 40 | 0, -2 ^ 40 | 0, math.maxinteger, math.mininteger},
  "integers of up to 64 bits")
t.is(math.type(v.longs[4]), "integer", "as integers")
t.is(v.floats, {0.1, -0.0, math.huge, 1e300}, "floats")
t.is({v.text, v.bytes, #v.long}, {"grüß", "\xff\0a", 300}, "texts and bytes")
t.is(tostring(v.tuple), "(1, (2, 3), ())", "a tuple is a list that prints as a tuple")
t.is(v.tuple[2][1], 2, "and counts from 1")
t.is(tostring(v.list), "[[], [1, [2]]]", "a list")
t.is(tostring(v.dict), "{3: 'three', 'b': 1, 'a': {}}", "a dict keeps the order of its keys")
t.is(v.dict[3], "three", "and its integer keys")
t.is(tostring(v.ordered), "OrderedDict([('z', 1), ('a', 2)])", "an OrderedDict too")
t.is({v.set, v.counter.a}, {{1}, 2}, "a set is read as a list, a Counter as a dict")
t.ok(v.dtype == torch.bfloat16 and v.cpu == torch.device "cpu"
  and v.device == torch.device "cuda:1", "dtypes and devices")
t.is(tostring(v.size), "torch.Size([3, 4])", "a Size")
local keys = v:keys()
t.is({keys[1], keys[2], keys[#keys]}, {"none", "true", "long"}, "keys in the order of the file")

local kinds = load "dtypes"
for name, x in pairs(kinds) do
  t.is({tostring(x.dtype), x:to(torch.float32):tolist()},
    {"torch." .. name, {0, 1, name == "bool" and 1 or 2}}, "a tensor of " .. name)
end

local x = load "tensors"
t.is({x.whole:tolist(), x.turned:stride(), x.steps:tolist()},
  {{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}, {1, 4}, {{1, 3}, {9, 11}}}, "strides are kept")
x.whole[{1, 1}] = 50
t.is({x.turned[{1, 1}]:item(), x.rows[{0, 1}]:item()}, {50.0, 50.0}, "views share their memory")
t.is({x.empty.shape:tolist(), x.scalar:item(), x.scalar:dim(), x.expanded:stride()},
  {{0, 3}, 5, 0, {1, 0}}, "empty, of no dimension, expanded")
t.ok(x.leaf.requires_grad and x.leaf.is_leaf, "requires_grad")
t.is(tostring(x.parameter), "Parameter containing:\ntensor([1., 2.], requires_grad=True)",
  "a Parameter")
t.ok(rawequal(x.shared[1], x.shared[2]) and rawequal(x.shared[1], x.parameter),
  "what was one object is one again")
t.is({tostring(x.noted), x.noted_parameter.requires_grad}, {"tensor([1., 1.])", false},
  "attributes of Python's are left out")
local loop = load "loop"
t.ok(rawequal(loop[1], loop) and tostring(loop) == "[[...]]", "a list in itself")

-- ---- a run of PyTorch's goes on here -----------------------------------------------------------
local run = load "run"
local model = nn.Sequential(nn.Conv2d(1, 2, 3, {bias = false}), nn.BatchNorm2d(2),
  nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
local adam = optim.Adam(model:parameters(), {lr = 0.5, amsgrad = true})
local scaler = torch.amp.GradScaler("cpu")
t.is(tostring(model:load_state_dict(run.model)), "<All keys matched successfully>", "its model")
adam:load_state_dict(run.adam)
scaler:load_state_dict(run.scaler)
t.is({adam.param_groups[1].lr, scaler:get_scale()}, {0.01, run.scaler.scale},
  "its optimizer and its scaler")
torch.set_rng_state(run.rng)
t.is(torch.rand(3):tolist(), run.draws:tolist(), "its random numbers, to the bit")
for i = 1, 2 do
  adam:zero_grad()
  local loss = F.cross_entropy(model(run.batch), run.labels)
  scaler:scale(loss):backward()
  scaler:step(adam)
  scaler:update()
  t.close(loss, run.losses[i], 1e-6, "the loss of step " .. 2 + i)
end
for name, want in pairs(run.after) do
  t.close(model:state_dict()[name], want, 1e-5, name .. " after them")
end
t.is(scaler:get_scale(), run.scale, "the scale after them")

-- ---- written again -----------------------------------------------------------------------------
-- All but the archive's number, the last record, which is a sum of ours.
local base = os.tmpname()
local path = base .. ".pth"
local function same(name)
  local root = path:match("([^/]*)%.pth$")
  torch.save(load(name), path)
  local ours = bytes_of(path)
  local file <close> = dlrepl._archive_open(path)
  local theirs <close> = dlrepl._archive_open("tests/save/" .. name .. ".pth")
  t.ok(#root > 0 and ours:find(root .. "/data.pkl", 1, true), name .. ": named as its file")
  return file:read("data.pkl") == theirs:read("data.pkl")
end
t.ok(same "dtypes", "dtypes.pth has the same pickle when it is saved again")
t.ok(same "loop", "and loop.pth")
local copy = os.tmpname()
os.remove(copy)
os.execute("mkdir " .. copy)
torch.save(load "dtypes", copy .. "/dtypes.pth")
local a, b = bytes_of(copy .. "/dtypes.pth"), bytes_of "tests/save/dtypes.pth"
local at = b:find(".data/serialization_id", 1, true)
t.is({#a, a:sub(1, at)}, {#b, b:sub(1, at)}, "and the same file up to its number")
os.execute("rm -r " .. copy)
os.remove(path)
os.remove(base)

-- ---- what is refused ---------------------------------------------------------------------------
local unsafe = "In PyTorch 2.6, we changed the default value of the `weights_only` argument in "
  .. "`torch.load` from `False` to `True`. Re-running `torch.load` with `weights_only` set to "
  .. "`False` will likely succeed, but it can result in arbitrary code execution. Do it only if "
  .. "you got the file from a trusted source."
t.raises(function() load "module" end, "UnpicklingError: Weights only load failed. This file can "
  .. "still be loaded, to do so you have two options, \27[1mdo those steps only if you trust the "
  .. "source of the checkpoint\27[0m. \n\t(1) " .. unsafe .. "\n\t(2) Alternatively, to load with "
  .. "`weights_only=True` please check the recommended steps in the following error message.\n\t"
  .. "WeightsUnpickler error: Unsupported global: GLOBAL torch.nn.modules.linear.Linear was not an "
  .. "allowed global by default. Please use `torch.serialization.add_safe_globals("
  .. "[torch.nn.modules.linear.Linear])` or the `torch.serialization.safe_globals("
  .. "[torch.nn.modules.linear.Linear])` context manager to allowlist this global if you trust "
  .. "this class/function.\n\nCheck the documentation of torch.load to learn more about types "
  .. "accepted by default with weights_only "
  .. "https://pytorch.org/docs/stable/generated/torch.load.html.",
  "a bare module")
t.raises(function() load("module", {weights_only = false}) end,
  "UnpicklingError: Weights only load failed.…", "weights_only=false reads data alone, too")
t.raises(function() load "legacy" end, "RuntimeError: the file is in the legacy format of "
  .. "torch.save, which is not a zip archive", "the format before 1.6")
t.raises(function() load "script" end, "RuntimeError: Cannot use ``weights_only=True`` with "
  .. "TorchScript archives passed to ``torch.load``. " .. unsafe, "a TorchScript archive")
t.raises(function() load "complex" end, "NotImplementedError: the file holds complex tensors, "
  .. "which dlrepl does not have (torch.ComplexFloatStorage)", "what dlrepl does not have")
t.done()
