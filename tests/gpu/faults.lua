-- faults.lua -- faults on a GPU, one a process: what they say, that they stay, what lives on
--
--     dlrepl tests/gpu/faults.lua label|index|oom [--simulated]

local t = require "tap"
local device = require "device"
local dev = {device = "cuda"}

-- A device-side assertion: told when the host waits, sticky, gone after a reset; the CPU is well.
local function assertion(what, fn)
  local kept = torch.arange(3.0)
  local assert_text = "AcceleratorError: CUDA error: device-side assert triggered…"
  t.raises(function()
    local r = fn()
    torch.cuda.synchronize()
    return r
  end, assert_text, what .. " is found when the host waits")
  t.raises(function() return torch.ones(1, dev) end, assert_text, "the error stays")
  t.is((kept + 1):sum():item(), 6.0, "the CPU goes on")
  dlrepl.reset_device()
  t.is(torch.ones(4, dev):sum():item(), 4.0, "after dlrepl.reset_device() so does the GPU")
end

local faults = {}

function faults.label()
  assertion("a label out of range", function()
    return F.cross_entropy(torch.zeros(2, 3, dev), torch.tensor({0, 3}, dev))
  end)
end

function faults.index()
  assertion("an index out of range", function()
    return torch.arange(3.0, dev):gather(0, torch.tensor({0, 7}, dev))
  end)
end

function faults.oom()
  local _, total = torch.cuda.mem_get_info()
  local kept = torch.arange(1000.0, dev)
  local huge = total // 4 + 2 ^ 28 // 1
  for i = 1, 3 do
    t.raises(function() return torch.empty(huge, dev) end,
             "OutOfMemoryError: CUDA out of memory. Tried to allocate …",
             "out of memory, time " .. i)
  end
  t.is(kept:sum():item(), 499500.0, "what lived lives")
  t.is((kept * 2):max():item(), 1998.0, "and is worked with")
  torch.cuda.set_per_process_memory_fraction(0.01)
  t.raises(function() return torch.empty(total // 40, dev) end,
           "OutOfMemoryError: CUDA out of memory. Tried to allocate …",
           "a share of the card holds")
  torch.cuda.set_per_process_memory_fraction(1.0)
  kept = nil
  t.is(device.settled(), 0, "nothing is lost")
end

local fault = faults[device.words[1]]
if not fault then error("faults.lua: one of label, index, oom") end
fault()
t.done()
