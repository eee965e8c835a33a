-- gpu_gone.lua -- tensors whose GPU was reset or taken away: each use is a clear error, no crash
local tap = require "tap"
local cuda = torch.cuda
local on = {device = "cuda"}
local GONE = "RuntimeError: this tensor's memory on cuda:0 is gone"

local uses = {
  {"printing it", function(d) return tostring(d.x) end},
  {"item()", function(d) return d.one:item() end},
  {"tolist()", function(d) return d.x:tolist() end},
  {"a for loop over it", function(d) for r in d.x do local _ = tostring(r) end end},
  {"ipairs over it", function(d) for _, r in ipairs(d.x) do local _ = tostring(r) end end},
  {"adding to it", function(d) return d.x + 1 end},
  {"adding it to a CPU number", function(d) return torch.tensor(1.0) + d.x end},
  {"an in-place write", function(d) d.x:zero_() end},
  {"an assignment to a part", function(d) d.x[0] = 1 end},
  {"a copy into it", function(d) d.x:copy_(torch.ones(3)) end},
  {"a copy from it", function(d) torch.ones(3):copy_(d.x) end},
  {"cpu()", function(d) return d.x:cpu() end},
  {"clone()", function(d) return d.x:clone() end},
  {"half()", function(d) return d.x:half() end},
  {"a view, printed", function(d) return tostring(d.x[{0}]) end},
  {"a view made before, printed", function(d) return tostring(d.view) end},
  {"stack", function(d) return torch.stack {d.x, d.x} end},
  {"an index", function(d) return d.x[d.index] end},
  {"a comparison", function(d) return torch.equal(d.x, d.x) end},
  {"backward through it", function(d) d.loss:backward() end},
  {"a forward pass", function(d) return d.model(d.x) end},
  {"module:to(\"cpu\")", function(d) d.model:to("cpu") end},
  {"module:half()", function(d) d.model:half() end},
  {"load_state_dict", function(d)
    d.model:load_state_dict {weight = torch.ones(2, 3), bias = torch.ones(2)}
  end},
  {"an optimizer's step", function(d) d.opt:step() end},
  {"clipping gradients", function(d) nn.utils.clip_grad_norm_(d.model:parameters(), 1.0) end},
  {"plotting it", function(d) return tostring(dlrepl.plot(d.x)) end},
}

local function things()
  torch.manual_seed(0)
  local d = {x = torch.ones(3, on), one = torch.ones(1, on), index = torch.tensor({0}):cuda()}
  d.view = d.x["1:"]
  d.model = nn.Linear(3, 2):cuda()
  d.opt = optim.Adam(d.model:parameters())
  d.model(d.x):sum():backward()
  d.opt:step()
  d.loss = d.model(d.x):sum()
  d.list = {d.x, {d.one}}
  return d
end

local function use_all(d, when)
  for _, u in ipairs(uses) do tap.raises(function() u[2](d) end, GONE, when .. ": " .. u[1]) end
  tap.is(tostring(d.x.shape), "torch.Size([3])", when .. ": its shape is known")
  tap.is(tostring(d.x.device), "cuda:0", when .. ": its device too")
  tap.like(tostring(d.model), "^Linear", when .. ": a module prints")
  local fine, e = pcall(function() return tostring(dlrepl.report(d.model)) end)
  tap.is(fine or e, true, when .. ": a report can be made")
  d.opt:zero_grad()
  local names = {}
  for name in pairs(d.model:state_dict()) do names[#names + 1] = name end
  tap.is(#names, 2, when .. ": a state dict has its names")
end

dlrepl.simulate "t4"
local d = things()
dlrepl.reset_device()
use_all(d, "after a reset")
tap.is(cuda.memory_allocated(), 0, "what was lost is not counted")
d = things()
tap.is(tostring(d.x + 1), "tensor([2., 2., 2.], device='cuda:0')", "new ones are well")
dlrepl.simulate {card = "a100-40", force = true}
use_all(d, "after another card")
d = things()
dlrepl.simulate(false, {force = true})
use_all(d, "without a GPU")
tap.raises(function() d.model:to("cuda") end,
           "AssertionError: Torch not compiled with CUDA enabled",
           "to(\"cuda\") says that there is none")

-- ---- letting go of them -------------------------------------------------------------------------
do
  local finished = false
  local keeper = setmetatable({t = d.list}, {__gc = function(k)
    finished = not pcall(tostring, k.t[1]) and not pcall(function() return k.t[2][1] + 1 end)
  end})
  d, keeper = nil, nil
  collectgarbage()
  collectgarbage()
  tap.ok(finished, "a finalizer that uses them gets the error")
end
dlrepl.simulate "t4"
tap.is(cuda.memory_allocated(), 0, "a new GPU begins empty")
tap.is((torch.ones(2, on) + 1):sum():item(), 4.0, "and computes")

-- ---- one of two ---------------------------------------------------------------------------------
dlrepl.simulate {card = "t4", count = 2, force = true}
do
  local a, b = torch.ones(3, on), torch.ones(3, {device = "cuda:1"})
  local stream, first = cuda.Stream {device = 1}, cuda.Event {enable_timing = true}
  cuda.device(1, function() first:record() end)
  dlrepl.reset_device(0)
  tap.raises(function() return a + 1 end, GONE, "the reset GPU's tensors are gone")
  tap.is(tostring(b + 1), "tensor([2., 2., 2.], device='cuda:1')", "the other's are not")
  tap.is(cuda.memory_allocated(1), 512, "they are counted")
  tap.ok(stream:query(), "its streams go on")
  tap.ok(first:query(), "so do its events")
  tap.is(tostring(b:to("cuda:0")), "tensor([1., 1., 1.], device='cuda:0')",
         "they can be brought over")
end

-- ---- names in errors ----------------------------------------------------------------------------
model, batch = nn.Linear(3, 2):cuda(), torch.ones(1, 3)
do
  local _, e = pcall(function() return model(batch) end)
  tap.like(tostring(e), "weight %(model%.weight%)", "a global's name is what the user typed")
end
model = nil
tap.done()
