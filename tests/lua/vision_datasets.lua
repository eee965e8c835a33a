-- vision_datasets.lua -- idx files, hostile ones too, Fashion-MNIST, transforms, progress

local t = require "tap"
local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir -p " .. folder)

local function write(name, bytes)
  local path = folder .. "/" .. name
  local f = assert(io.open(path, "wb"))
  f:write(bytes)
  f:close()
  return path
end

local function header(...) -- dims
  local parts = {string.char(0, 0, 8, select("#", ...))}
  for i = 1, select("#", ...) do parts[#parts + 1] = string.pack(">I4", (select(i, ...))) end
  return table.concat(parts)
end

-- ---- idx -----------------------------------------------------------------------------------
local read = dlrepl._read_idx
local good = write("good", header(2, 3) .. "\1\2\3\4\5\255")
t.is(read(good):tolist(), {{1, 2, 3}, {4, 5, 255}}, "a plain idx file")
t.is(read(good).dtype, torch.uint8, "as uint8")
os.execute(string.format("gzip -c %s > %s.gz", good, good))
t.is(read(good .. ".gz"):tolist(), {{1, 2, 3}, {4, 5, 255}}, "the same through gzip")
t.is(read(write("none", header(0, 5))).shape, torch.Size {0, 5}, "no elements")

local function bad(name, bytes, want)
  local path = write(name, bytes)
  t.raises(function() read(path) end, want:gsub("PATH", (path:gsub("%%", "%%%%"))), name)
end
bad("truncated body", header(2, 3) .. "\1\2", "ValueError: PATH: the sizes in the header do "
  .. "not fit "
    .. "the length of the file")
bad("truncated header", "\0\0\8\2\0\0", "ValueError: PATH: the file ends early")
bad("empty", "", "ValueError: PATH: the file ends early")
bad("wrong magic", "\1\2\8\1\0\0\0\1\9", "ValueError: PATH: not an idx file (wrong magic number)")
bad("floats", "\0\0\13\1\0\0\0\1\9", "ValueError: PATH: only unsigned bytes (type 8) are read")
bad("no dimensions", "\0\0\8\0\9", "ValueError: PATH: the number of dimensions is not 1 to 8")
bad("too many dimensions", "\0\0\8\99", "ValueError: PATH: the number of dimensions is not 1 to 8")
bad("huge sizes", header(0xffffffff, 0xffffffff), "ValueError: PATH: the sizes in the header "
  .. "do not "
    .. "fit the length of the file")
bad("overflowing sizes", header(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff),
  "ValueError: PATH: the sizes "
    .. "in the header do not fit the length of the file")
bad("too long", header(2) .. "\1\2\3", "ValueError: PATH: there are more bytes than the header's "
    .. "sizes say")
bad("not.gz", header(1) .. "\1", "OSError: PATH: not a gzip file")
local gz = io.open(good .. ".gz", "rb"):read("a")
bad("cut.gz", gz:sub(1, #gz - 12), "…")
bad("damaged.gz", gz:sub(1, -16) .. "\255\255" .. gz:sub(-13), "…")
bad("bad sum.gz", gz:sub(1, #gz - 8) .. "\0\0\0\0" .. gz:sub(-4), "…")
t.raises(function() read(folder .. "/absent") end, "OSError: [Errno 2] No such file or directory: '"
  .. folder .. "/absent'", "an absent file")
t.raises(function() read(folder) end, "OSError: [Errno 21] Is a directory: '" .. folder .. "'",
  "a folder")

-- ---- datasets ------------------------------------------------------------------------------
for _, part in ipairs {"train", "t10k"} do
  write(part .. "-images-idx3-ubyte", header(2, 2, 2) .. "\0\51\102\255\1\2\3\4")
  write(part .. "-labels-idx1-ubyte", header(2) .. "\9\0")
end
local ds = torchvision.datasets.FashionMNIST(folder, {train = true})
t.is(#ds, 2, "the length of the set")
t.is(ds.data.shape, torch.Size {2, 2, 2}, "data")
t.is(ds.targets:tolist(), {9, 0}, "targets")
t.is(ds.classes[ds.targets[0]:item() + 1], "Ankle boot", "classes are a list from 1")
local image, label = ds:getitem(0)
t.is({image:tolist(), label}, {{{0, 51}, {102, 255}}, 9}, "a sample is image and label")
t.is(ds[1][2], 0, "indexing gives both in a list")
local T = torchvision.transforms
local to = T.Compose {T.ToTensor(), T.Normalize({0.5}, {0.5})}
t.is(tostring(to), "Compose(\n    ToTensor()\n    Normalize(mean=(0.5,), std=(0.5,))\n)",
  "transforms have texts")
local scaled = torchvision.datasets.MNIST(folder, {train = false, transform = to})
t.close(scaled[0][1], {{{-1, -0.6}, {-0.2, 1}}}, 1e-6, "transforms run on each image")
local x, y = torch.utils.data.DataLoader(scaled, {batch_size = 2}):iter()()
t.is({x.shape, y:tolist()}, {torch.Size {2, 1, 2, 2}, {9, 0}}, "and batches")
t.raises(function() torchvision.datasets.MNIST(folder .. "/nowhere") end,
  "RuntimeError: Dataset not "
  .. "found. You can use download=True to download it", "a missing set")
local installed, e = pcall(torchvision.datasets.FashionMNIST, "/nowhere")
if installed then
  t.is(#e, 60000, "the system's own folder is looked into")
else
  t.like(tostring(e), "apt install dataset%-fashion%-mnist", "the note names the package")
end
t.raises(function() T.Normalize({0.5}, {0.0})(torch.ones(1, 2, 2)) end,
  "ValueError: std evaluated to "
  .. "zero after conversion to torch.float32, leading to division by zero.", "a std of zero")
t.raises(function() T.Normalize({0.5}, {1.0})(torch.ones(1, 2, 2, {dtype = torch.uint8})) end,
  "TypeError: Input tensor should be a float tensor. Got torch.uint8.", "Normalize wants floats")
t.raises(function() T.ToTensor()("x") end,
  "TypeError: pic should be PIL Image or ndarray. Got <class 'str'>", "ToTensor wants an image")

-- ---- progress ------------------------------------------------------------------------------
local log = folder .. "/log"
local out = assert(io.open(log, "w"))
local sum = 0
for i in dlrepl.progress(100, {desc = "count", out = out}) do sum = sum + i end
out:close()
t.is(sum, 4950, "values pass through a bar")
local lines = {}
for line in io.lines(log) do lines[#lines + 1] = line end
t.is(#lines, 4, "a file gets a few lines")
t.like(lines[4], "^count: 100%% 100/100", "the last one says that all is done")
out = assert(io.open(log, "w"))
local bar = dlrepl.progress({5, 6, 7}, {out = out, terminal = true})
local got = {}
for v in bar do
  got[#got + 1] = v
  bar:set {loss = v / 2}
end
out:close()
t.is(got, {5, 6, 7}, "a list behind a bar")
t.like(io.open(log):read("a"), "100%% |.*3/3.*it/s  loss 3.5000\n$",
  "a terminal gets a bar with its postfix")
os.execute("rm -r " .. folder)
t.done()
