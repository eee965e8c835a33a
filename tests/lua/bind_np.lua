-- bind_np.lua -- arrays: shared memory with tensors, elements, files
local t = require "tap"
local function is(x, want, name) t.is(tostring(x), want, name) end

is(np.array {1., 2.5}, "[1.  2.5]", "an array prints as numpy prints it")
is(np.array {{1, -20}, {300, 4}}, "[[  1 -20]\n [300   4]]", "columns are aligned")
is(np.array {1e-5, 1.}, "[1.e-05 1.e+00]", "exponents")
is(np.arange(2000), "[   0    1    2 ... 1997 1998 1999]", "a long array is summarised")
is(np.array({1 / 3, 2 / 3}, {dtype = np.float32}), "[0.33333334 0.6666667 ]",
  "float32 shows its own digits")
is(np.array {1, 2}.dtype, "int64", "integers")
is(np.array {1.}.dtype, "float64", "floats are double")
is(np.zeros {2, 3}.shape, "(2, 3)", "a shape is a tuple")

local a = np.array {1., 2.}
local x = torch.from_numpy(a)
t.ok(x.dtype == torch.float64, "from_numpy keeps the dtype")
x[0] = 7
t.is(a[0], 7.0, "the array sees the tensor's write")
a[1] = 9
t.is(x[1]:item(), 9.0, "the tensor sees the array's write")
local y = torch.arange(4.)
local b = y:numpy()
b["1:3"] = 0
is(y, "tensor([0., 0., 0., 3.])", "x:numpy() shares memory")
t.raises(function() torch.ones(1, {requires_grad = true}):numpy() end,
  "RuntimeError: Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
    .. "instead.", "requires grad")
t.raises(function() torch.ones(1):bfloat16():numpy() end,
  "TypeError: Got unsupported ScalarType BFloat16", "bfloat16")
t.raises(function() torch.from_numpy({1}) end, "TypeError: expected np.ndarray (got list)",
  "a list is no array")

local m = np.array {{1, 2, 3}, {4, 5, 6}}
t.is({m[{1, 2}], m[0]:tolist(), m[":, 1"]:tolist()}, {6, {1, 2, 3}, {2, 5}},
  "elements, rows and slices")
t.is({m:sum(), m:mean(), m:max(), m.T.shape[0], m.size, #m}, {21, 3.5, 6, 3, 6, 2},
  "what an array knows")
is(m / 2, "[[0.5 1.  1.5]\n [2.  2.5 3. ]]", "division gives doubles")
is(m:astype(np.float32).dtype, "float32", "astype")
is(torch.tensor(a), "tensor([7., 9.], dtype=torch.float64)", "torch.tensor copies an array")

local path = os.tmpname()
for _, d in ipairs {"float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8",
  "bool_"} do
  local src = np.array({{0, 1, 2}, {3, 4, 5}}, {dtype = np[d]})
  np.save(path .. ".npy", src)
  local back = np.load(path .. ".npy")
  t.is({tostring(back.dtype), tostring(back)}, {tostring(src.dtype), tostring(src)}, "a file of "
    .. d)
end
np.save(path .. ".npy", np.array(1.5))
t.is(np.load(path .. ".npy"):item(), 1.5, "a file of one number")
local function write(header, data)
  local f = io.open(path, "wb")
  header = header .. (" "):rep(117 - #header) .. "\n"
  f:write("\x93NUMPY\1\0", string.pack("<s2", header), data)
  f:close()
end
write("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }",
  string.pack("<dddd", 1, 2, 3, 4))
t.is(np.load(path):tolist(), {{1, 3}, {2, 4}}, "a file in Fortran's order")
write("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", string.pack(">i2i2", 1, -2))
t.is(np.load(path):tolist(), {1, -2}, "a big-endian file")
write("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }", "")
t.raises(function() np.load(path) end, "ValueError: …", "a header that promises too much")
write("{'descr': '<U8', 'fortran_order': False, 'shape': (1,), }", "")
t.raises(function() np.load(path) end, "ValueError: …", "strings are not supported")
t.raises(function() np.load("/nowhere.npy") end,
  "OSError: [Errno 2] No such file or directory: '/nowhere.npy'", "no file")
os.remove(path)
os.remove(path .. ".npy")
t.done()
