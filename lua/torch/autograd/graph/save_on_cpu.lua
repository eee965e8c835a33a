-- save_on_cpu.lua -- torch.autograd.graph.save_on_cpu: what backward needs waits in host memory
--
--     torch.autograd.graph.save_on_cpu({pin_memory=true}, function() y = model(x) end)
--
-- SOURCE torch/autograd/graph.py

local core = require "dlrepl.core"
local args = require "dlrepl.args"

local torch = core.torch
local read = args "save_on_cpu.__init__(bool pin_memory=False, str device_type='cuda')"

local function to_host(t, pinned)
  if t.is_cpu then return {t.device, t} end
  local host = torch.empty(t.shape, {dtype = t.dtype, pin_memory = pinned})
  host:copy_(t)
  return {t.device, host}
end

-- save_on_cpu(pin_memory, device_type [, function, …]): a guard, or what the function returns.
return function(...)
  local all = table.pack(...)
  local at = all.n + 1
  for i = all.n, 1, -1 do
    if type(all[i]) == "function" then at = i end
  end
  local pinned = read(table.unpack(all, 1, at - 1))
  local function pack(t) return to_host(t, pinned) end
  local function unpack(kept)
    return kept[2]:to({device = kept[1], non_blocking = pinned})
  end
  return torch.autograd.graph.saved_tensors_hooks(pack, unpack,
                                                  table.unpack(all, at, all.n))
end
