-- gpu_history.lua -- what a GPU's pool did, event by event, and the file that Python reads
local tap = require "tap"
local memory = torch.cuda.memory

tap.is(#memory._snapshot().device_traces, 0, "without a GPU there are no traces")
tap.ok(not pcall(memory._record_memory_history), "and none can be kept")

dlrepl.simulate {card = "t4", memory = "64MiB", compute = false}
local dev = {device = "cuda"}
local function actions(device)
  local list = {}
  for i, e in ipairs(memory._snapshot().device_traces[device or 1]) do list[i] = e.action end
  return table.concat(list, " ")
end

tap.is(actions(), "", "nothing is kept before it is asked for")
memory._record_memory_history()
local function make() return torch.empty(300, dev) end
x = make()
local trace = memory._snapshot().device_traces[1]
tap.is(trace[1].action .. " " .. trace[1].size, "segment_alloc 2097152", "a small segment")
tap.is(trace[2].action .. " " .. trace[2].size, "alloc 1200", "the bytes that were asked for")
tap.is(trace[1].addr, trace[2].addr, "at the segment's beginning")
tap.is(trace[2].stream, 0, "on the default stream")
tap.is(trace[2].frames[1].name .. " " .. trace[2].frames[1].line, "make 18", "who asked")
tap.like(trace[2].frames[1].filename, "gpu_history.lua$", "in which file")
tap.is(trace[3].action, "snapshot", "a look at it is an event too")
x = nil
collectgarbage()
tap.is(actions(), "segment_alloc alloc snapshot free_requested free_completed snapshot",
  "a tensor goes")
torch.cuda.empty_cache()
tap.like(actions(), "segment_free snapshot$", "and its segment")
memory._record_memory_history({clear_history = true})
tap.ok(not pcall(torch.empty, 2 ^ 28, dev), "(out of memory)")
trace = memory._snapshot().device_traces[1]
tap.is(trace[1].action .. " " .. trace[1].size, "oom 1073741824", "what did not fit")
tap.is(trace[1].device_free, torch.cuda.mem_get_info(), "and what was free")

-- ---- how much is kept --------------------------------------------------------------------------
memory._record_memory_history({max_entries = 3, clear_history = true})
for i = 1, 5 do x = torch.empty(i, dev) end
trace = memory._snapshot().device_traces[1]
tap.is(#trace, 3, "at most so many events")
tap.is(trace[3].action, "snapshot", "the newest stay")
tap.ok(trace[1].time_us <= trace[2].time_us, "oldest first")
-- so many events asked of a history of three, which then has room for nine
local function in_order(events)
  memory._record_memory_history({max_entries = 3, clear_history = true})
  for i = 1, events do torch.cuda.empty_cache(); x = torch.empty(100000 * i, dev) end
  memory._record_memory_history({max_entries = 9})
  local list = memory._snapshot().device_traces[1]
  for i = 2, #list do if list[i].time_us < list[i - 1].time_us then return false end end
  return #list > 3
end
tap.ok(in_order(3) and in_order(4) and in_order(5), "a longer one goes on in order")
memory._record_memory_history({max_entries = 2})
tap.is(actions(), "snapshot snapshot", "a shorter one keeps the newest")
memory._record_memory_history({max_entries = 100, clear_history = true, context = None})
x = torch.empty(7, dev)
tap.is(#memory._snapshot().device_traces[1][1].frames, 0, "without context no frames")
memory._record_memory_history(None)
x = torch.empty(8, dev)
tap.is(actions(), "", "enabled=None ends it and forgets")
memory._record_memory_history("state")
x = torch.empty(9, dev)
tap.is(actions(), "", "'state' keeps no events")
local found
for _, s in ipairs(memory._snapshot().segments) do
  for _, b in ipairs(s.blocks) do if b.requested_size == 36 then found = b end end
end
tap.is(found.frames[1].line .. " " .. found.frames[1].name, "66 empty",
  "blocks know the line and the op that made them")
tap.raises(function() memory._record_memory_history("some") end,
  "RuntimeError: expected state to be one of 'None', 'state', 'all'…", "what is none of them")

memory._set_allocator_settings("expandable_segments:True")
x = nil
torch.cuda.empty_cache()
memory._record_memory_history({clear_history = true})
x = torch.empty(2 ^ 20, dev)
tap.like(actions(), "segment_map alloc snapshot$", "pages of an expandable segment are mapped")
x = nil
torch.cuda.empty_cache()
tap.like(actions(), "segment_unmap", "and unmapped")
memory._set_allocator_settings("expandable_segments:False")

dlrepl.simulate {card = "t4", count = 2, memory = "64MiB", compute = false, force = true}
memory._record_memory_history({clear_history = true})
x = torch.empty(5, {device = "cuda:1"})
tap.is(actions(1) .. " / " .. actions(2), "snapshot / segment_alloc alloc snapshot snapshot",
  "each device has its own")

-- ---- files -------------------------------------------------------------------------------------
local name = os.tmpname()
memory._dump_snapshot(name)
local f = assert(io.open(name, "rb"))
local bytes = f:read("a")
f:close()
tap.is(bytes:sub(1, 4), "\x80\2}(", "a pickle of protocol 2, a dict")
tap.is(bytes:sub(-2), "u.", "to its end")
tap.ok(bytes:find("X\13\0\0\0device_traces]", 1, true), "with the traces in a list")
tap.ok(bytes:find("X\15\0\0\0segment_pool_idK\0K\0\x86", 1, true), "and pairs as tuples")
memory._dump_snapshot({filename = name .. ".json"})
f = assert(io.open(name .. ".json"))
local s = require("dlrepl.json").decode(f:read("a"))
f:close()
tap.is(s.segments[1].blocks[1].requested_size, 20, "as JSON where the name ends so")
os.remove(name)
os.remove(name .. ".json")
tap.raises(function() memory._dump_snapshot("/nowhere/x.pickle") end,
  "OSError: /nowhere/x.pickle: No such file or directory…", "where no file can be")
tap.raises(function() memory._dump_snapshot("/dev/full") end, "OSError: No space left on device",
           "nor is a full disk")
tap.raises(function() memory._dump_snapshot(5) end, "TypeError: _dump_snapshot() argument "
  .. "'filename' (position 1) must be str, not int…", "a name that is none")

local pickle = require "dlrepl.pickle"
local function hex(v)
  return (pickle.encode(v):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end
tap.is(hex(7), "80024b072e", "a small integer")
tap.is(hex(-1), "80024affffffff2e", "a negative one")
tap.is(hex(2 ^ 40 | 0), "80028a060000000000012e", "a long one")
tap.is(hex(0.5), "8002473fe00000000000002e", "a float")
tap.is(hex({true, false, None}), "80025d2888894e652e", "truth values and None")
tap.is(hex({}), "80025d2e", "an empty list")
tap.is(hex({a = "é"}), "80027d5801000000615802000000c3a9732e", "a dict, UTF-8")
tap.raises(function() pickle.encode({print}) end, "TypeError: cannot pickle 'function' object…",
  "what has no form there")
tap.done()
