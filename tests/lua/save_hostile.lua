-- save_hostile.lua -- files that lie: torch.load ends in a clear error, whatever they say
local t = require "tap"
local path = os.tmpname()

-- An archive with this pickle, and four floats as its storage 0.
local function file_with(pickle, more)
  local a <close> = dlrepl._archive_create(path, "x")
  local records = {["data.pkl"] = pickle, byteorder = "little",
    ["data/0"] = string.pack("<ffff", 1, 2, 3, 4)}
  for k, v in pairs(more or {}) do records[k] = v end
  for k, v in pairs(records) do if v then a:add(k, v) end end
  a:finish()
end
local function load(pickle, more)
  file_with(pickle, more)
  return torch.load(path)
end

local STORAGE = "(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\4tQ"
local REBUILD = "ctorch._utils\n_rebuild_tensor_v2\n"
local function tensor(offset, sizes, strides, more)
  return "\x80\2" .. REBUILD .. "(" .. STORAGE .. offset .. sizes .. strides
         .. (more or "\x89ccollections\nOrderedDict\n)R") .. "tR."
end
t.is(load(tensor("K\0", "K\2K\2\x86", "K\2K\1\x86")):tolist(), {{1, 2}, {3, 4}}, "a good one loads")

-- ---- tensors that reach out of their storage ---------------------------------------------------
local function refuses(text, name, ...)
  local args = table.pack(...)
  t.raises(function() load(table.unpack(args, 1, args.n)) end, text, name)
end
local minus, huge = "J\xff\xff\xff\xff", "\x8a\8\xff\xff\xff\xff\xff\xff\xff\x7f"
local outside = "RuntimeError: setStorage: sizes "
refuses(outside .. "[2, 2], strides [4, 1], storage offset 0, and itemsize 4 requiring a storage "
  .. "size of 24 are out of bounds for storage of size 16", "a stride beyond the storage",
  tensor("K\0", "K\2K\2\x86", "K\4K\1\x86"))
refuses(outside .. "[4]…", "an offset beyond it", tensor("K\1", "K\4\x85", "K\1\x85"))
refuses(outside .. "[1]…", "an offset of 2^63 - 1", tensor(huge, "K\1\x85", "K\1\x85"))
refuses("RuntimeError: Tensor: invalid storage offset -1", "a negative offset",
  tensor(minus, "K\1\x85", "K\1\x85"))
refuses("RuntimeError: as_strided: Negative strides are not supported at the moment, got strides: "
  .. "[-1]", "a negative stride", tensor("K\0", "K\4\x85", minus .. "\x85"))
refuses("RuntimeError: numel: integer multiplication overflow", "a negative size",
  tensor("K\0", minus .. "\x85", "K\1\x85"))
refuses("RuntimeError: Storage size calculation overflowed…", "sizes whose product overflows",
  tensor("K\0", huge .. huge .. "\x86", "K\0K\0\x86"))
refuses(outside .. "[9223372036854775807]…", "2^63 - 1 elements",
  tensor("K\0", huge .. "\x85", "K\1\x85"))
refuses("NotImplementedError: the file holds a tensor of 9 dimensions; dlrepl has 8 at most",
  "nine dimensions", tensor("K\0", "(" .. ("K\1"):rep(9) .. "t", "(" .. ("K\1"):rep(9) .. "t"))
t.is(load(tensor("K\0", huge .. "K\0\x86", "K\0K\0\x86")):numel(), 0, "no element, however wide")
t.is(load(tensor(huge, "K\0\x85", "K\1\x85")):reshape(0, 3).shape:tolist(), {0, 3},
  "nor where")
t.is(load(tensor("K\2", huge .. "\x85", "K\0\x85")).shape[0], math.maxinteger,
  "one element seen 2^63 - 1 times, as PyTorch allows")

-- ---- storages that lie -------------------------------------------------------------------------
local function storage(class, key, n)
  return "\x80\2(X\7\0\0\0storagectorch\n" .. class .. "\nX" .. string.pack("<s4", key)
         .. "X\3\0\0\0cpu" .. n .. "tQ."
end
local other = "RuntimeError: record size (16 bytes) does not match expected size "
refuses(other .. "(20 bytes = 20 elements * 1 bytes/element) for dtype Byte",
  "one element too many", storage("FloatStorage", "0", "K\5"))
refuses(other .. "(32 bytes…", "a wider type", storage("DoubleStorage", "0", "K\4"))
refuses(other .. "(-1 bytes…", "more bytes than there are numbers",
  storage("FloatStorage", "0", huge))
refuses("RuntimeError: PytorchStreamReader failed locating file data/1: file not found.…",
  "a storage that is not there", storage("FloatStorage", "1", "K\4"))
refuses("RuntimeError: PytorchStreamReader failed locating file data/../data.pkl…",
  "a way out of the folder", storage("FloatStorage", "../data.pkl", "K\4"))
refuses("NotImplementedError: the file holds a bare storage; dlrepl reads tensors",
  "a storage and no tensor", storage("FloatStorage", "0", "K\4"))
refuses("RuntimeError: the storage data/0 is asked for as torch.float32 and as torch.int32",
  "one storage of two types", "\x80\2(" .. storage("FloatStorage", "0", "K\4"):sub(3, -2)
    .. storage("IntStorage", "0", "K\4"):sub(3, -2) .. "t.")

-- ---- pickles -----------------------------------------------------------------------------------
local function told(why, name, pickle)
  file_with(pickle)
  local fine, e = pcall(torch.load, path)
  t.ok(not fine and type(e) == "table" and e.class == "UnpicklingError"
    and e.message:find(why, 1, true), name)
  if fine or not tostring(e):find(why, 1, true) then t.diag(tostring(e)) end
end
for _, row in ipairs {
  {"Unsupported operand 0", "an instruction that is none", "\x80\2\0."},
  {"Unsupported operand 105", "INST, which calls", "\x80\2(ios\nsystem\n."},
  {"pop from empty list", "a call of nothing", "\x80\2R."},
  {"pop from empty list", "nothing to give back", "\x80\2."},
  {"pop from empty list", "a mark that was never set", "\x80\2u."},
  {"pop from empty list", "what lies below a mark", "\x80\2K\1(\x85."},
  {"was never remembered", "a memory that is empty", "\x80\2h\7."},
  {"was never remembered", "a memory far away", "\x80\2j\xff\xff\xff\xff."},
  {"pickle data was truncated", "a text longer than the file", "\x80\2X\xff\xff\xff\xffab."},
  {"pickle data was truncated", "an end without a STOP", "\x80\2K\1"},
  {"pickle data was truncated", "an empty pickle", ""},
  {"pickle data was truncated", "a name without an end", "\x80\2c" .. ("a"):rep(5000)},
  {"Can only append to lists, but got <class 'dict'>", "append to a dict", "\x80\2}K\1a."},
  {"Can only extend lists, but got <class 'tuple'>", "extend a tuple", "\x80\2)(K\1e."},
  {"Can only SETITEM for dict", "an item of a list", "\x80\2]K\1K\1s."},
  {"Can only SETITEMS for dict", "items of a tensor",
    tensor("K\0", "K\1\x85", "K\1\x85"):sub(1, -2) .. "(K\1K\1u."},
  {"nan is the key", "nan for a key", "\x80\2}G\x7f\xf8\0\0\0\0\0\0K\1s."},
  {"list index out of range", "a key without a value", "\x80\2}(K\1u."},
  {"whose module os is blocked", "os.system", "\x80\2cos\nsystem\nX\2\0\0\0ls\x85R."},
  {"whose module posix is blocked", "posix.system", "\x80\2cposix\nsystem\n."},
  {"GLOBAL eval was not an allowed global", "eval", "\x80\2c__builtin__\neval\n."},
  {"GLOBAL torch.load was not an allowed", "torch.load", "\x80\2ctorch\nload\n."},
  {"unrecognized function int", "a call of a number", "\x80\2K\1)R."},
  {"unrecognized function torch.FloatStorage", "a storage's class called",
    "\x80\2ctorch\nFloatStorage\n)R."},
  {"Can only create new object", "NEWOBJ", "\x80\2ctorch\nTensor\n)\x81."},
  {"Can only build Tensor", "state for a list", "\x80\2]}b."},
  {"persistent_load id must be tuple", "a number for a storage", "\x80\2K\1Q."},
  {"argument 1 is missing", "a storage without parts", "\x80\2)Q."},
  {"Only persistent_load of storage", "what is no storage", "\x80\2(X\1\0\0\0xtQ."},
  {"argument 5 is missing", "a tensor without arguments", "\x80\2" .. REBUILD .. ")R."},
  {"argument 1 has the wrong type", "a tensor in place of its storage", "\x80\2" .. REBUILD .. "("
    .. tensor("K\0", "K\1\x85", "K\1\x85"):sub(3, -2) .. "K\0K\1\x85K\1\x85\x89)tR."},
  {"argument 3 has the wrong type", "a list for the sizes",
    tensor("K\0", "]", "K\1\x85")},
  {"another number of strides", "more strides than sizes", tensor("K\0", "K\1\x85", "K\1K\1\x86")},
  {"bytes with letters beyond latin1", "bytes of more than 255",
    "\x80\2c_codecs\nencode\nX\2\0\0\0\xc4\x80X\6\0\0\0latin1\x86R."},
} do told(table.unpack(row)) end
refuses("NotImplementedError: the file holds the class or function torch.Tensor itself; dlrepl "
  .. "reads data alone", "a class", "\x80\2ctorch\nTensor\n.")
refuses("NotImplementedError: the file holds the class or function torch.Tensor itself…",
  "a class in a list", "\x80\2]ctorch\nTensor\na.")
refuses("RuntimeError: only Tensors of floating point and complex dtype can require gradients",
  "a gradient for integers", (tensor("K\0", "K\1\x85", "K\1\x85", "\x88N")
    :gsub("FloatStorage", "IntStorage")))

-- Much of little: 300,000 lists in each other, as many marks, one list that doubles 40 times.
local nested = load("\x80\2" .. ("]"):rep(300000) .. ("a"):rep(299999) .. ".")
t.is(#nested, 1, "300,000 lists in each other")
t.raises(function() torch.save(nested, path) end, "RecursionError: maximum…", "cannot be saved")
t.ok(not pcall(tostring, nested), "nor printed, which is an error and no crash")
told("pickle data was truncated", "300,000 marks", "\x80\2" .. ("("):rep(300000))
local doubling = load("\x80\2]q\0" .. ("q\0h\0\x86"):rep(40) .. ".")
t.is(#doubling, 2, "a tuple of itself twice, 40 times over")
nested, doubling = nil, nil

-- ---- archives ----------------------------------------------------------------------------------
local good = tensor("K\0", "K\4\x85", "K\1\x85")
refuses("RuntimeError: PytorchStreamReader failed locating file data.pkl: file not found.…",
  "no pickle", false)
refuses("ValueError: Unknown endianness type: middle", "an odd byte order", good,
  {byteorder = "middle"})
t.is(load(good, {byteorder = "big", ["data/0"] = string.pack(">ffff", 5, 6, 7, 8)}):tolist(),
  {5, 6, 7, 8}, "a machine with the other byte order")
file_with(good)
local whole
do
  local f <close> = assert(io.open(path, "rb"))
  whole = f:read("a")
end
local function load_bytes(bytes)
  local f = assert(io.open(path, "wb"))
  f:write(bytes)
  f:close()
  return torch.load(path)
end
t.raises(function() load_bytes((whole:gsub("x/version", "x/versiom"))) end, "RuntimeError: "
  .. "Expected hasRecord(\"version\") to be true, but got false.…", "a zip archive of others")
local torn = "RuntimeError: PytorchStreamReader failed reading "
local data = whole:find(string.pack("<ffff", 1, 2, 3, 4), 1, true)
t.raises(function() load_bytes(whole:sub(1, data) .. "\1" .. whole:sub(data + 2)) end,
  torn .. "file data/0: CRC-32 check failed.…", "a byte that changed")
local refused = 0
for n = 4, #whole - 1 do
  local fine, e = pcall(load_bytes, whole:sub(1, n))
  if not fine and type(e) == "table" and tostring(e):sub(1, #torn) == torn then
    refused = refused + 1
  end
end
t.is(refused, #whole - 4, "cut at any place")

-- One field of the directory, changed: at is from the entry's begin (PKWARE 4.3.12).
local entry = whole:find("PK\1\2", 1, true)
local function with(at, bytes)
  return whole:sub(1, entry + at - 1) .. bytes .. whole:sub(entry + at + #bytes)
end
local header = torn .. "zip archive: invalid header or archive is corrupted.…"
for _, row in ipairs {
  {"two sizes", 20, "\1\0\0\0"}, {"a size beyond the file", 20, "\xff\xff\xff\x7f\xff\xff\xff\x7f"},
  {"a 64-bit size that is not there", 20, "\xff\xff\xff\xff\xff\xff\xff\xff"},
  {"a place beyond the file", 42, "\xf0\xff\xff\xff"}, {"a place in the middle", 42, "\7\0\0\0"},
  {"a name of 65535 bytes", 28, "\xff\xff"}, {"no mark", 0, "XX"},
  {"another method than at the record", 10, "\8\0"}} do
  t.raises(function() load_bytes(with(row[2], row[3])) end, header, row[1])
end
t.raises(function() load_bytes(with(8, "\9\8")) end,
  torn .. "zip archive: unsupported encryption.…", "an encrypted record")
local second = whole:find("PK\1\2", entry + 1, true)
local place = whole:sub(entry + 42, entry + 45)
t.raises(function()
  load_bytes(whole:sub(1, second + 41) .. place .. whole:sub(second + 46))
end, torn .. "zip archive: invalid header…", "two records in one place")
os.remove(path)
t.done()
