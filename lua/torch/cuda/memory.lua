-- memory.lua -- torch.cuda.memory: statistics as tables and text
--
-- For torch.cuda, which shows the public names too. The figures come from src/bind/cudamem.c.
--
-- MUST NOT   count anything itself.

local torch = require "torch"
local core = require "dlrepl.core"
local args = require "dlrepl.args"
local odict = require "dlrepl.odict"

local cuda, raise = torch.cuda, core.raise
local M = {}

for _, name in ipairs {"memory_allocated", "max_memory_allocated", "memory_reserved",
    "max_memory_reserved", "reset_peak_memory_stats", "reset_accumulated_memory_stats",
    "empty_cache", "mem_get_info", "set_per_process_memory_fraction",
    "get_per_process_memory_fraction", "_set_allocator_settings"} do
  M[name] = cuda[name]
end

-- ---- statistics ----------------------------------------------------------------------------
function M.memory_stats_as_nested_dict(device) return cuda._stats(device) or {} end

local function flatten(list, prefix, v)
  if type(v) ~= "table" then
    list[#list + 1] = {prefix, v}
    return
  end
  for key, inner in pairs(v) do
    flatten(list, prefix == "" and key or prefix .. "." .. key, inner)
  end
end

-- An ordered table of flat keys such as "allocated_bytes.all.current", by key.
function M.memory_stats(device)
  local list = {}
  flatten(list, "", M.memory_stats_as_nested_dict(device))
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return odict.new(list)
end

-- ---- summary -------------------------------------------------------------------------------
-- n with the unit that suits `scale`: both shrink by `step` while scale is at least `limit`.
local function scaled(n, scale, units, step, limit, width)
  local unit = units[1]
  for i = 2, #units do
    if scale < limit then break end
    unit, n, scale = units[i], n // step, scale / step
  end
  return string.format("%" .. width .. "d %s", n, unit)
end

local function size(n, scale)
  return scaled(n, scale, {"B  ", "KiB", "MiB", "GiB", "TiB", "PiB"}, 1024, 768 * 1024, 6)
end
local function count(n, scale)
  return scaled(n, scale, {" ", "K", "M"}, 1000, 750 * 1000, 7) .. " "
end

local metrics = {
  {"allocated_bytes", "Allocated memory", size}, {"active_bytes", "Active memory", size},
  {"requested_bytes", "Requested memory", size}, {"reserved_bytes", "GPU reserved memory", size},
  {"inactive_split_bytes", "Non-releasable memory", size}, {"allocation", "Allocations", count},
  {"active", "Active allocs", count}, {"segment", "GPU reserved segments", count},
  {"inactive_split", "Non-releasable allocs", count},
}
local singles = {{"oversize_allocations", "Oversize allocations"},
                 {"oversize_segments", "Oversize GPU segments"}}
local rows = {{"all"}, {"large_pool", "      from large pool"},
              {"small_pool", "      from small pool"}}
local fields = {"current", "peak", "allocated", "freed"}

local function row(name, stats, key, scale_key, format)
  local cells = {string.format(" %-21s ", name)}
  for i, field in ipairs(fields) do
    local n, scale = stats[key .. "." .. field], stats[scale_key .. "." .. field]
    cells[i + 1] = " " .. format(n, scale) .. " "
  end
  return table.concat(cells, "|")
end

local function read_summary_args(device, abbreviated)
  if type(device) == "table" then device, abbreviated = device.device, device.abbreviated end
  if type(abbreviated) == "table" then abbreviated = abbreviated.abbreviated end
  return device, abbreviated
end

-- The index of a device as PyTorch prints it.
local function ordinal(device)
  if device == nil or device == core.None then return cuda.current_device() end
  return math.type(device) == "integer" and device or torch.device(device).index
    or cuda.current_device()
end

function M.memory_summary(device, abbreviated)
  device, abbreviated = read_summary_args(device, abbreviated)
  local stats = M.memory_stats(device)
  if stats["allocated_bytes.all.current"] == nil then
    core.raise("KeyError", "'allocated_bytes.all.current'",
               {notes = {"there is no GPU here, so there is no memory to sum up"}})
  end
  local double, single = ("="):rep(75), ("-"):rep(75)
  local lines = {double, string.format(" %16s PyTorch CUDA memory summary, device ID %-17d ", "",
                                       ordinal(device)), single}
  lines[4] = string.format("  %9s CUDA OOMs: %-12d | %6s cudaMalloc retries: %-8d  ", "",
                           stats.num_ooms, "", stats.num_alloc_retries)
  lines[5] = double
  lines[6] = "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  "
  for _, m in ipairs(metrics) do
    lines[#lines + 1] = single
    for i = 1, abbreviated and 1 or 3 do
      lines[#lines + 1] = row(rows[i][2] or m[2], stats, m[1] .. "." .. rows[i][1], m[1] .. ".all",
                              m[3])
    end
  end
  for _, m in ipairs(singles) do
    lines[#lines + 1] = single
    lines[#lines + 1] = row(m[2], stats, m[1], m[1], count)
  end
  lines[#lines + 1] = double
  return "|" .. table.concat(lines, "|\n|") .. "|\n"
end

-- ---- segments ------------------------------------------------------------------------------
function M.memory_snapshot() return cuda._segments() end

local read_history = args("_record_memory_history(any enabled='all', any context='all', "
  .. "str stacks='all', int max_entries=1000000, any device=None, bool clear_history=False)")

local function one_of(name, v, words)
  if v == nil then return end
  for _, word in ipairs(words) do if v == word then return end end
  raise("RuntimeError", string.format("expected %s to be one of 'None', '%s'", name,
        table.concat(words, "', '")), {kind = "argument"})
end

-- _record_memory_history(max_entries=…): from now on what the pools do is remembered, event by
-- event, for _snapshot; enabled=None ends it and forgets.
function M._record_memory_history(...)
  local enabled, context, stacks, most, _, clear = read_history(...)
  one_of("state", enabled, {"state", "all"})
  one_of("context", context, {"state", "alloc", "all"})
  one_of("stacks", stacks, {"python", "all"})
  if most < 0 then raise("ValueError", "max_entries must not be negative, got " .. most) end
  cuda._history(enabled ~= nil, context ~= nil, enabled == "state" and 0 or most, clear)
end

function M._snapshot()
  return {segments = cuda._segments(), device_traces = cuda._traces(), external_annotations = {},
          allocator_settings = cuda._settings()}
end

local read_dump = args("_dump_snapshot(str filename='dump_snapshot.pickle')")

-- _dump_snapshot("snapshot.pickle"): the snapshot as a file that Python reads and
-- pytorch.org/memory_viz draws; as JSON where the name ends so.
function M._dump_snapshot(...)
  local name = read_dump(...)
  local s = M._snapshot()
  local text
  if name:find("%.json$") then
    text = require("dlrepl.json").encode(s)
  else
    local pickle = require "dlrepl.pickle"
    for _, segment in ipairs(s.segments) do segment.segment_pool_id = pickle.tuple {0, 0} end
    text = pickle.encode(s)
  end
  local f, why = io.open(name, "wb")
  if not f then raise("OSError", why, {kind = "io"}) end
  local ok, failed = f:write(text)
  local closed, late = f:close() -- a full disk shows here
  if not ok or not closed then raise("OSError", failed or late, {kind = "io"}) end
end

-- ---- names of before -----------------------------------------------------------------------
local function renamed(old, new)
  M[old] = function(device)
    core.warn(string.format("`torch.cuda.%s` has been renamed to `torch.cuda.%s`", old, new),
              "FutureWarning")
    return M[new](device)
  end
end
renamed("memory_cached", "memory_reserved")
renamed("max_memory_cached", "max_memory_reserved")

for _, old in ipairs {"reset_max_memory_allocated", "reset_max_memory_cached"} do
  M[old] = function(device)
    core.warn(string.format("torch.cuda.%s now calls torch.cuda.reset_peak_memory_stats, which "
              .. "resets /all/ peak memory stats.", old), "FutureWarning")
    return M.reset_peak_memory_stats(device)
  end
end

function M.get_allocator_backend() return "native" end

return M
