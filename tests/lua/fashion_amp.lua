-- fashion_amp.lua -- float16 with a scaler and bfloat16 learn Fashion-MNIST as float32 does
--
-- The example of lessons/examples, one epoch, mean of three seeds, on a simulated GPU.

local t = require "tap"

local folder = "/usr/share/datasets/fashion-mnist"
if not pcall(torchvision.datasets.FashionMNIST, folder, {train = true}) then
  t.skip("no images in " .. folder .. " (package dataset-fashion-mnist)",
    "short formats learn as float32 does")
  t.done()
  return
end

dlrepl.simulate("a100-40")
local lines = {}
local env = setmetatable({arg = {"1", "3", folder},
                          print = function(s) lines[#lines + 1] = s end}, {__index = _G})
assert(loadfile("lessons/examples/fashion_amp.lua", "t", env))()

t.is(#lines, 3, "three formats are compared")
for _, line in ipairs(lines) do
  local name, accuracy, off = line:match("^(.-)%s+([%d.]+)%s+([+-][%d.]+)$")
  t.ok(tonumber(accuracy) > 80, name .. " learns in one epoch: " .. accuracy .. " %")
  t.ok(math.abs(tonumber(off)) < 0.5, name .. " is within half a point of float32: " .. off)
end
dlrepl.simulate(false)
t.done()
