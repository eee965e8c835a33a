-- save_values.lua -- torch.save and torch.load: what comes back, and what is said where it cannot
local t = require "tap"
local path = os.tmpname()
local function again(v, ...)
  torch.save(v, path)
  return torch.load(path, ...)
end
local function bytes_of(name)
  local f <close> = assert(io.open(name, "rb"))
  return f:read("a")
end

-- ---- tensors -----------------------------------------------------------------------------------
for _, name in ipairs {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16",
  "float32", "float64"} do
  local x = torch.tensor({{0, 1}, {1, 0}}):to(torch[name])
  local y = again(x)
  t.ok(y.dtype == x.dtype and torch.equal(x, y), "a tensor of " .. name)
end
local x = torch.arange(12.):reshape(3, 4)
local back = again {x = x, t = x:t(), row = x[1], odd = x["::2, 1::2"], wide = x[{0, 0}]:expand(5)}
t.is({back.t:stride(), back.row:tolist(), back.odd:tolist(), back.wide:stride()},
  {{1, 4}, {4, 5, 6, 7}, {{1, 3}, {9, 11}}, {0}}, "views keep sizes and strides")
back.x:zero_()
t.is({back.t:sum():item(), back.odd:sum():item()}, {0, 0}, "and share memory when they are loaded")
torch.save({x, x:t(), x[2]}, path)
local file = dlrepl._archive_open(path)
t.ok(file:has("data/0") and not file:has("data/1"), "their storage is written once")
file:close()
t.is(again(torch.tensor(3.5)):item(), 3.5, "no dimension")
t.is(again(torch.empty(0, 4)).shape:tolist(), {0, 4}, "no element")
t.ok(again(torch.ones(2, {requires_grad = true})).requires_grad, "requires_grad")
local w = nn.Parameter(torch.ones(2))
local pair = again {w, w, w:detach()}
t.ok(rawequal(pair[1], pair[2]) and not rawequal(pair[1], pair[3]), "one object is one again")
t.is({tostring(pair[1]), pair[1]:data_ptr() == pair[3]:data_ptr()},
  {"Parameter containing:\ntensor([1., 1.], requires_grad=True)", true}, "a Parameter")
local y = (torch.ones(2, {requires_grad = true}) * 2)
t.ok(again(y).is_leaf, "a result comes back as a leaf")

-- ---- other values ------------------------------------------------------------------------------
t.is(again {1, 2.5, true, "s", {}, {a = {b = {}}}}, {1, 2.5, true, "s", {}, {a = {b = {}}}},
  "lists and dicts in each other")
t.is({math.type(again(1)), math.type(again(1.0))}, {"integer", "float"}, "1 and 1.0 differ")
for _, n in ipairs {0, 255, 256, 65536, -1, -2 ^ 31 | 0, 2 ^ 31 | 0, 2 ^ 39 | 0, math.maxinteger,
  math.mininteger, 0.1, -0.0, math.huge, -math.huge} do
  t.is(again(n), n, "the number " .. n)
end
t.ok(again(0 / 0) ~= again(0 / 0), "nan")
t.is({again(true), again(false), again "", again "grüß\n", again "\xff\0"},
  {true, false, "", "grüß\n", "\xff\0"}, "truth values, texts, bytes")
t.is({again(None)}, {}, "None is read back as nil")
t.is({again {1, None, 3}[3], rawequal(again {a = None}.a, None)}, {3, true},
  "inside of a table it is None")
t.is(again {[0] = "a", [7] = "b", x = "c"}, {[0] = "a", [7] = "b", x = "c"}, "integer keys")
t.is(tostring(again {b = 1, a = 2, [3] = 3, [1] = 4}), "{1: 4, 3: 3, 'a': 2, 'b': 1}",
  "a plain table is written in the order of its keys")
t.is(tostring(again {[true] = 1, [false] = 2}), "{False: 2, True: 1}", "boolean keys")
t.ok(again {torch.float16, torch.device("cuda:1")}[2] == torch.device "cuda:1", "a device")
t.is(tostring(again(x.shape)), "torch.Size([3, 4])", "a Size")
local list = {}
for i = 1, 3001 do list[i] = i end
t.is(again(list), list, "a long list")
local twice = {1}
local both = again {a = twice, b = twice}
t.ok(rawequal(both.a, both.b), "a table met twice is one table again")
twice.own = twice
t.ok(rawequal(again(twice).own, again(twice)) == false and again(twice).own[1] == 1,
  "a table in itself")

-- ---- what comes back is used as what was saved was ---------------------------------------------
local kw = again {lr = 0.25, betas = {0.5, 0.75}, weights = {1, 2}, shape = {2, 3}}
t.is(optim.Adam({torch.ones(1, {requires_grad = true})}, {lr = kw.lr}).param_groups[1].lr, 0.25,
  "a number")
kw.weights, kw.shape = torch.tensor(kw.weights), torch.zeros(kw.shape)
t.is({kw.weights:tolist(), kw.shape.shape:tolist()}, {{1, 2}, {2, 3}}, "a list, as sizes or values")
local adam = optim.Adam({torch.ones(1, {requires_grad = true})},
  again {lr = 0.25, betas = {0.5, 0.75}})
t.is({adam.param_groups[1].lr, adam.param_groups[1].betas[2]}, {0.25, 0.75},
  "a dict as an optimizer's options")
t.is(tostring(nn.Linear(again {in_features = 2, out_features = 3, bias = false})),
  "Linear(in_features=2, out_features=3, bias=False)", "and as keywords of a layer")
local samples = again {{torch.ones(2), 1}, {torch.zeros(2), 0}}
for batch in DataLoader(samples, {batch_size = 2}) do
  t.is({batch[1]:tolist(), batch[2]:tolist()}, {{{1, 1}, {0, 0}}, {1, 0}}, "a list as a data set")
end

-- ---- state -------------------------------------------------------------------------------------
torch.manual_seed(1)
local m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
local opt = optim.Adam(m:parameters(), {lr = 0.1})
m(torch.randn(5, 3)):sum():backward()
opt:step()
local s = again {model = m:state_dict(), opt = opt:state_dict(), rng = torch.get_rng_state()}
t.is(table.concat(s.model:keys(), " "), table.concat(m:state_dict():keys(), " "),
  "a state_dict keeps its order")
t.is(tostring(s.opt), tostring(opt:state_dict()), "an optimizer's state")
local r = torch.rand(3)
torch.set_rng_state(s.rng)
t.is(torch.rand(3):tolist(), r:tolist(), "the state of the generator")
local tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
tied[1].weight = tied[0].weight
local td = again(tied:state_dict())
t.ok(td["0.weight"]:data_ptr() == td["1.weight"]:data_ptr(), "tied weights stay tied")

-- ---- what has no form --------------------------------------------------------------------------
local kept = bytes_of(path)
t.raises(function() torch.save(m, path) end, "TypeError: cannot pickle 'Sequential' object\n  save "
  .. "its state in place of the object: torch.save(model:state_dict(), f); later make the object "
  .. "anew and call model:load_state_dict(torch.load(f))", "a bare model")
t.raises(function() torch.save({o = opt}, path) end, "TypeError: cannot pickle 'Adam' object\n  "
  .. "save its state in place of the object: torch.save(opt:state_dict(), f)…", "an optimizer")
t.raises(function() torch.save(torch.amp.GradScaler("cpu"), path) end, "TypeError: cannot pickle "
  .. "'GradScaler' object\n  save its state in place of the object: "
  .. "torch.save(scaler:state_dict()…",
  "a scaler")
t.raises(function() torch.save(torch.Generator(), path) end,
  "TypeError: cannot pickle 'torch._C.Generator' object\n  save its state: g:get_state()…",
  "a generator")
t.raises(function() torch.save(np.array {1}, path) end,
  "TypeError: cannot pickle 'numpy.ndarray' object\n  make a tensor of it: torch.from_numpy(a)…",
  "an array")
t.raises(function() torch.save({f = print}, path) end,
  "TypeError: cannot pickle 'function' object…", "a function")
local deep = {}
for _ = 1, 2000 do deep = {deep} end
t.raises(function() torch.save(deep, path) end,
  "RecursionError: maximum recursion depth exceeded while pickling an object", "too deep a table")
t.is(bytes_of(path), kept, "after any of these the file is what it was")

-- ---- files -------------------------------------------------------------------------------------
t.raises(function() torch.save(1, "/nowhere/x.pth") end,
  "RuntimeError: Parent directory /nowhere does not exist.", "no such folder")
t.raises(function() torch.save(1, "/") end, "RuntimeError: [enforce fail at "
  .. "inline_container.cc:746] . open file failed with strerror: Is a directory", "a folder")
t.raises(function() torch.save(1) end,
  "TypeError: save() missing 1 required positional argument: 'f'…", "no file")
t.raises(function() torch.save({a = 1}) end,
  "TypeError: save() missing 1 required positional argument: 'f'…", "a dict and no file")
t.raises(function() torch.save(1, 5) end, "AttributeError: expected 'f' to be string, path, or a "
  .. "file-like object with a 'write' attribute…", "a number for a file")
t.raises(function() torch.save(torch.ones(1 << 16), "/dev/full") end, "RuntimeError: "
  .. "PytorchStreamWriter failed writing file data/0: file write failed\n  No space left on device",
  "a full disk")
t.raises(function() torch.load "/nowhere/x.pth" end,
  "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere/x.pth'", "no such file")
t.raises(function() torch.load "/" end, "IsADirectoryError: [Errno 21] Is a directory: '/'",
  "a folder to load")
t.raises(function() torch.load(5) end, "AttributeError: 'int' object has no attribute 'seek'. You "
  .. "can only torch.load from a file that is seekable.…", "a number to load")
t.raises(function() torch.load "/dev/zero" end, "OSError: You can only torch.load from a file that "
  .. "is seekable.…", "a device to load")
t.raises(function() torch.load(path, {map = 1}) end,
  "TypeError: load() got an unexpected keyword argument 'map'…", "an unknown keyword")
local f = assert(io.open(path, "w+b"))
torch.save({x = 1}, f)
f:seek("set")
t.is(torch.load(f).x, 1, "a file that io.open gave")
f:seek("set")
t.raises(function()
  torch.save({torch.ones(2)}, f)
  f:seek("set")
  torch.load(f, function() f:close() end)
  torch.load(f)
end, "ValueError: I/O operation on closed file.", "which is closed in the middle")
f = assert(io.open(path, "wb"))
f:write("not a checkpoint")
f:close()
t.raises(function() torch.load(path) end, "RuntimeError: Invalid magic number; corrupt file?…",
  "another file")
assert(io.open(path, "wb")):close()
t.raises(function() torch.load(path) end, "EOFError: Ran out of input…", "an empty file")

-- The old file stays until the new one is whole, with its rights and behind its link.
torch.save({n = 1}, path)
os.execute("chmod 640 " .. path .. " && ln -s " .. path .. " " .. path .. ".link")
torch.save({n = 2}, path .. ".link")
local rights = io.popen("stat -c %a " .. path):read("l")
t.is({torch.load(path).n, rights}, {2, "640"}, "a file that is replaced keeps its rights and links")
os.remove(path .. ".link")
local w1 = dlrepl._archive_create(path, "x")
w1:add("data.pkl", "half")
t.is(torch.load(path).n, 2, "half written, the file is the old one")
w1:close()
local left = io.popen("ls " .. path .. "*"):read("a")
t.is(left, path .. "\n", "given up, nothing is left beside it")

-- ---- map_location ------------------------------------------------------------------------------
torch.save({torch.ones(2), torch.zeros(3)}, path)
local seen = {}
torch.load(path, function(storage, location)
  seen[#seen + 1] = location .. tostring(storage.shape)
  return storage
end)
t.is(seen, {"cputorch.Size([2])", "cputorch.Size([3])"}, "a function is asked for each storage")
t.is(torch.load(path, "cpu")[1]:tolist(), {1, 1}, "a string, also as the second argument")
t.is(torch.load(path, {map_location = torch.device "cpu"})[1]:tolist(), {1, 1}, "a device")
t.is(torch.load(path, {map_location = {["cuda:0"] = "cpu"}})[1]:tolist(), {1, 1}, "a table")
t.raises(function() torch.load(path, {map_location = 5}) end,
  "TypeError: 'int' object is not callable…", "a number")
t.raises(function() torch.load(path, function() return 5 end) end,
  "TypeError: a storage of 2 elements of torch.float32 is wanted, not a int", "a function's number")
t.raises(function() torch.load(path, "xyz") end, "RuntimeError: don't know how to restore data "
  .. "location of torch.storage.UntypedStorage (tagged with xyz)", "no such kind of device")
local no_cuda = "RuntimeError: Attempting to deserialize object on a CUDA device but "
  .. "torch.cuda.is_available() is False. If you are running on a CPU-only machine, please use "
  .. "torch.load with map_location=torch.device('cpu') to map your storages to the CPU.…"
t.raises(function() torch.load(path, "cuda") end, no_cuda, "to a GPU where there is none")
local cases = path .. ".gpu"
local made = os.execute(string.format("%s -e 'dlrepl.simulate \"t4\"; local x = torch.ones(2, "
  .. "{device=\"cuda\"}) torch.save({x, x:t()}, \"%s\")' >/dev/null 2>&1",
  arg and arg[-1] or "./dlrepl", cases))
if made then
  t.raises(function() torch.load(cases) end, no_cuda, "saved on a GPU, loaded where there is none")
  t.is(torch.load(cases, "cpu")[1]:tolist(), {1, 1}, "map_location brings it to the CPU")
  t.is(torch.load(cases, {map_location = {["cuda:0"] = "cpu"}})[2]:tolist(), {1, 1},
    "a table does, too")
  dlrepl.simulate "t4"
  local g = torch.load(cases)
  t.is({tostring(g[1].device), g[1]:data_ptr() == g[2]:data_ptr()}, {"cuda:0", true},
    "where there is a GPU it goes there, shared as before")
  t.is(tostring(torch.load(path, "cuda:0")[1].device), "cuda:0", "and what was saved on the CPU")
  t.raises(function() torch.load(path, "cuda:3") end, "RuntimeError: Attempting to deserialize "
    .. "object on CUDA device 3 but torch.cuda.device_count() is 1. Please use torch.load with "
    .. "map_location to map your storages to an existing device.…", "a GPU that is not there")
else
  t.skip("no second dlrepl could be started", "tensors of a GPU")
end
os.remove(cases)
os.remove(path)
t.done()
