-- serialization.lua -- torch.save and torch.load, in PyTorch's own files
--
-- A file is a zip archive: data.pkl is a pickle of the object in which each tensor says where in
-- which storage it lies; data/0, data/1 … are the bytes of the storages. Tensors that share memory
-- when they are saved share it when they are loaded.
--
-- INVARIANT  Loading reads data: nothing of a file is ever run.
-- MUST NOT   know modules or optimizers: their state_dicts are ordered tables of tensors.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local lists = require "dlrepl.list"
local odict = require "dlrepl.odict"
local pickle = require "dlrepl.pickle"
local repr = require "dlrepl.pyrepr"

local torch, None, raise = core.torch, core.None, core.raise
local M = {}

local NEWEST = 10 -- version of the format that PyTorch reads
local scalar = {bool = "Bool", uint8 = "Byte", int8 = "Char", int16 = "Short", int32 = "Int",
  int64 = "Long", float16 = "Half", bfloat16 = "BFloat16", float32 = "Float", float64 = "Double"}

-- ---- saving ------------------------------------------------------------------------------------

-- The storage's number in the archive. One storage has one type there.
local function key_of(saver, t, id, numel)
  local known = saver.at[id]
  if known then
    if numel > 0 and known.dtype ~= t.dtype then
      raise("RuntimeError",
            "Cannot save multiple tensors or storages that view the same data as different types",
            {notes = {"save x:clone() of one of them"}})
    end
    return known.key
  end
  saver.storages[#saver.storages + 1] = t
  local key = tostring(#saver.storages - 1)
  saver.at[id] = {key = key, dtype = t.dtype}
  return key
end

-- The tuple ("storage", class, key, location, elements), which stands for the storage.
local function put_storage(saver, out, t, id, numel)
  local device, name = t.device, tostring(t.dtype):gsub("^torch%.", "")
  pickle.add(out, "(")
  pickle.put(out, "storage")
  pickle.global(out, "torch", scalar[name] .. "Storage")
  pickle.put(out, key_of(saver, t, id, numel))
  pickle.put(out, device.type == "cuda" and "cuda:" .. (device.index or 0) or device.type)
  pickle.put(out, numel)
  pickle.add(out, "t")
  pickle.remember(out)
  pickle.add(out, "Q")
end

-- _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks); none are saved
local function put_data(saver, out, t, requires_grad, as)
  local id, numel, offset = core.storage(t)
  pickle.global(out, "torch._utils", "_rebuild_tensor_v2")
  pickle.add(out, "(")
  put_storage(saver, out, t, id, numel)
  pickle.put(out, offset)
  pickle.tuple_of(out, t.shape:tolist())
  pickle.tuple_of(out, t:stride())
  pickle.put(out, requires_grad)
  pickle.ordered(out)
  pickle.add(out, "t")
  pickle.remember(out)
  pickle.add(out, "R")
  pickle.remember(out, as)
end

local function tensor_writer(saver)
  return function(out, t)
    if not core.is_parameter(t) then return put_data(saver, out, t, t.requires_grad, t) end
    pickle.global(out, "torch._utils", "_rebuild_parameter")
    put_data(saver, out, t, false)
    pickle.put(out, t.requires_grad)
    pickle.ordered(out)
    pickle.add(out, "\x87")
    pickle.remember(out)
    pickle.add(out, "R")
    pickle.remember(out, t)
  end
end

-- The folder of all records: the file's name without its ending.
local function root_of(f)
  local name = type(f) == "string" and f:match("([^/]*)$"):gsub("%.[^.]*$", "") or ""
  return name ~= "" and name or "archive"
end

local read_save = args("save(dict? obj, any f, any pickle_module=None, int pickle_protocol=2, "
  .. "bool _use_new_zipfile_serialization=True)")

-- save(obj, f): f is a path, or a file that io.open gave. A file that is there is replaced when the
-- new one is complete, not before.
function M.save(...)
  local obj, f, module, protocol, zip = read_save(...)
  if type(f) ~= "string" and not io.type(f) then
    raise("AttributeError", "expected 'f' to be string, path, or a file-like object with a 'write' "
          .. "attribute", {notes = {"torch.save(what, \"file.pth\"), or a file that io.open gave"}})
  end
  if module ~= nil or protocol ~= 2 or not zip then
    raise("ValueError", "torch.save writes PyTorch's zip files with pickle protocol 2 only")
  end
  local saver = {storages = {}, at = {}}
  if obj == nil then obj = None end
  local data = pickle.encode(obj, tensor_writer(saver))
  local file <close> = core.archive_create(f, root_of(f))
  file:add("data.pkl", data)
  file:add(".format_version", "1")
  file:add(".storage_alignment", "64")
  file:add("byteorder", "little")
  for i, t in ipairs(saver.storages) do file:add("data/" .. i - 1, t) end
  file:finish()
end

-- ---- where a storage goes ----------------------------------------------------------------------

local function to_gpu(storage, location, kind)
  local name, gpus = kind:upper(), torch[kind]
  local advice = {"torch.load(f, {map_location=\"cpu\"}) loads it into the CPU's memory"}
  if not gpus.is_available() then
    raise("RuntimeError", string.format("Attempting to deserialize object on a %s device but "
      .. "torch.%s.is_available() is False. If you are running on a CPU-only machine, please use "
      .. "torch.load with map_location=torch.device('cpu') to map your storages to the CPU.", name,
      kind), {kind = "device_mismatch", notes = advice})
  end
  local device = torch.device(location)
  local count = gpus.device_count()
  if (device.index or 0) >= count then
    raise("RuntimeError", string.format("Attempting to deserialize object on %s device %d but "
      .. "torch.%s.device_count() is %d. Please use torch.load with map_location to map your "
      .. "storages to an existing device.", name, device.index, kind, count),
      {kind = "device_mismatch", notes = advice})
  end
  return storage:to(device)
end

local function place(storage, location)
  if location == "cpu" then return storage end
  if location == "meta" then return storage:to("meta") end
  for _, kind in ipairs {"cuda", "mps"} do
    if location == kind or location:find("^" .. kind .. "[:%d]") then
      return to_gpu(storage, location, kind)
    end
  end
  raise("RuntimeError", "don't know how to restore data location of "
        .. "torch.storage.UntypedStorage (tagged with " .. location .. ")")
end

-- A function of (storage, location) that gives the storage where map_location wants it.
local function placer(map_location)
  local kind = core.typename(map_location)
  if map_location == nil then return place end
  if kind == "str" or kind == "torch.device" then
    return function(storage) return place(storage, tostring(map_location)) end
  end
  local mt = debug.getmetatable(map_location)
  if type(map_location) == "table" and not (mt and mt.__call) then
    return function(storage, location)
      local to = map_location[location]
      return place(storage, to == nil and location or tostring(to))
    end
  end
  return function(storage, location)
    if type(map_location) ~= "function" and not (mt and mt.__call) then
      raise("TypeError", "'" .. kind .. "' object is not callable", {notes = {"map_location is a "
        .. "device, a table from device to device, or a function of (storage, location)"}})
    end
    local placed = map_location(storage, location)
    if placed == nil or rawequal(placed, None) then return place(storage, location) end
    return placed
  end
end

-- ---- loading -----------------------------------------------------------------------------------

local function check_script(file)
  if not file:has("constants.pkl") then return end
  raise("RuntimeError", "Cannot use ``weights_only=True`` with TorchScript archives passed to "
    .. "``torch.load``. In PyTorch 2.6, we changed the default value of the `weights_only` "
    .. "argument in `torch.load` from `False` to `True`. Re-running `torch.load` with "
    .. "`weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
    .. "execution. Do it only if you got the file from a trusted source.", {kind = "io", notes = {
    "this file holds a program (torch.jit.save); in Python: "
    .. "torch.save(torch.jit.load(f).state_dict(), \"weights.pth\")"}})
end

local function check_version(file)
  if not file:has("version") then
    raise("RuntimeError", "Expected hasRecord(\"version\") to be true, but got false.  (Could this "
          .. "error message be improved?  If so, please report an enhancement request to PyTorch.)",
          {kind = "io", notes = {"this is a zip archive, but not one of torch.save"}})
  end
  local text = file:read("version")
  local version = math.tointeger(tonumber(text:match("^%s*(%d+)%s*$")))
  if not version or version > NEWEST then
    raise("RuntimeError", string.format("[enforce fail at inline_container.cc:229] . Attempted to "
      .. "read a PyTorch file with version %s, but the maximum supported version for reading is "
      .. "%d. The version of your PyTorch installation may be too old, please upgrade PyTorch to "
      .. "latest version to mitigate this issue.", text:sub(1, 20):match("^%C*"), NEWEST),
      {kind = "io"})
  end
end

local function is_swapped(file)
  local order = file:has("byteorder") and file:read("byteorder") or "little"
  if order ~= "little" and order ~= "big" then
    raise("ValueError", "Unknown endianness type: " .. order:sub(1, 20), {kind = "io"})
  end
  return order == "big"
end

-- load(dtype, key, location, numel) for the unpickler: each storage is read once.
local function storage_reader(file, map_location)
  local known, put_at, swapped = {}, placer(map_location), is_swapped(file)
  return function(dtype, key, location, numel)
    local have = known[key]
    if have and have.dtype == dtype then return have end
    if have and (numel > 0 or have:numel() > 0) then
      raise("RuntimeError", string.format("the storage data/%s is asked for as %s and as %s", key,
            have.dtype, dtype), {kind = "io"})
    end
    local storage = put_at(file:tensor("data/" .. key, dtype, numel, swapped), location)
    known[key] = storage
    return storage
  end
end

local read_load = args("load(any f, any map_location=None, any pickle_module=None, *, "
  .. "bool? weights_only=None, bool? mmap=None)")

-- load(f, {map_location=}): what torch.save wrote, here or in Python. A dict comes as a table that
-- keeps the order of its keys, None inside of a table as None.
function M.load(...)
  local f, map_location = read_load(...)
  if type(f) ~= "string" and not io.type(f) then
    raise("AttributeError", "'" .. repr.typename(f) .. "' object has no attribute 'seek'. You can "
          .. "only torch.load from a file that is seekable. Please pre-load the data into a buffer "
          .. "like io.BytesIO and try to load from it instead.")
  end
  local file <close> = core.archive_open(f)
  check_script(file)
  check_version(file)
  local _ <close> = torch.no_grad()
  local v = core.unpickle(file:read("data.pkl"), {
    load = storage_reader(file, map_location), dict = odict.dict, ordered = odict.new,
    parameter = core.parameter, dict_meta = odict.meta, list_meta = lists.meta,
    tuple_meta = lists.tuple_meta})
  if rawequal(v, None) then return nil end
  return v
end

return M
