-- module_depth.lua -- modules deep in one another, and one that holds itself
local tap = require "tap"

local x = torch.ones(1, 2)
local function deep(n)
  local m = nn.Linear(2, 2)
  for _ = 1, n do m = nn.Sequential(m) end
  return m
end
local calls = 0
local uses = {
  call = function(m) return m(x).shape[1] end,
  print = function(m) return #tostring(m) end,
  train = function(m) return m:train(false).training and 1 or 0 end,
  apply = function(m)
    calls = 0
    m:apply(function() calls = calls + 1 end)
    return calls
  end,
  parameters = function(m) return #m:parameters() end,
  modules = function(m) return #m:modules() end,
  to = function(m) return m:to(torch.float32) == m and 1 end,
  state_dict = function(m) return #m:state_dict() end,
  load_state_dict = function(m) return tostring(m:load_state_dict(m:state_dict())) end,
  report = function(m) return #tostring(dlrepl.report(m)) end,
  walk = function(m) return #m:named_modules({remove_duplicate = false}) end,
}
local order = {}
for name in pairs(uses) do order[#order + 1] = name end
table.sort(order)

local want = {call = 2, print = 509548, train = 0, apply = 501, parameters = 2, modules = 501,
              to = 1, state_dict = 2, load_state_dict = "<All keys matched successfully>",
              walk = 501}
local m = deep(500)
for _, name in ipairs(order) do
  local ok, got = pcall(uses[name], m)
  tap.is(tostring(got), tostring(ok and want[name] or got), "500 deep: " .. name)
  tap.ok(ok, "500 deep: " .. name .. " works")
end

local ring = nn.Sequential(nn.Linear(2, 2))
ring.me = ring
local finite = {parameters = true, modules = true, to = true, report = true}
for _, name in ipairs(order) do
  if finite[name] then
    tap.ok(pcall(uses[name], ring), "a module that holds itself: " .. name)
  else
    tap.raises(function() uses[name](ring) end, "RecursionError: maximum recursion depth exceeded\n"
      .. "  modules lie 1000 deep in one another: does one hold itself?",
      "a module that holds itself: " .. name)
  end
end
for _ = 1, 3 do pcall(uses.train, ring) end
tap.is(uses.train(deep(900)), 0, "errors on the way leave the count of levels as it was")

local list = nn.ModuleList {nn.Linear(2, 2)}
list:append(list)
tap.raises(function() return tostring(list) end, "RecursionError: maximum recursion depth "
  .. "exceeded…", "a ModuleList in itself")
local Net = nn.Module:class("Net")
function Net:__repr__() return "mine" end
tap.is(tostring(nn.Sequential(Net())), "Sequential(\n  (0): mine\n)", "a text of one's own")
tap.done()
