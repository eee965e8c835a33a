-- gpu_measure.lua -- dlrepl.measure: what a GPU does in a second; on a simulated card by its model
local tap = require "tap"

tap.raises(function() dlrepl.measure() end, "AssertionError: Torch not compiled with CUDA enabled…",
           "without a GPU: PyTorch's error")
dlrepl.simulate {card = "t4", compute = false}
local r = dlrepl.measure()
tap.is(r.simulated, true, "a simulated card says so")
local by = {}
for _, row in ipairs(r) do by[row.name] = row end
tap.is(#r, 7, "three copies and four kinds of products")
tap.is(by["product fp16"].sheet, 65.0, "the data sheet's figure stands beside")
tap.is(by["product tf32"].sheet, nil, "where the card has one")
tap.ok(by["product fp16"].ours > 3 * by["product fp32"].ours, "tensor cores are faster")
local share = by["copy on the card"].ours / 320
tap.ok(share > 0.8 and share < 0.95, "a copy reaches most of the bandwidth (" .. share .. ")")
tap.is(by["copy on the card"].library, nil, "a model has no library to compare with")
tap.ok(r.launch_us > 1 and r.launch_us < 100, "a launch takes microseconds")
tap.is(tostring(r), tostring(dlrepl.measure()), "a model says the same again")
tap.is(dlrepl.measure("cuda:0", 512).side, 512, "size is the side of the matrices")
tap.is(torch.backends.cuda.matmul.allow_tf32, false, "tf32 is left as it was")
collectgarbage() collectgarbage()
tap.is(torch.cuda.memory_allocated() < 2 ^ 24, true, "no matrix is left on the card")
for _, bad in ipairs {0, -1, 1.5, "x", 2 ^ 20 // 1 | 0} do
  tap.raises(function() dlrepl.measure("cuda", bad) end,
             "ValueError: measure(): size is the side of a matrix…", "no size: " .. tostring(bad))
end
tap.is(dlrepl.measure({device = "cuda", size = 64}).side, 64, "keywords are taken")
tap.raises(function() dlrepl.measure({sise = 64}) end,
  "TypeError: measure() got an unexpected keyword argument 'sise'…", "wrong ones are told")
tap.raises(function() dlrepl.measure("cpu") end, "ValueError: Expected a cuda device…",
           "the CPU is no card")
tap.raises(function() dlrepl.measure("cuda:3") end,
           "AcceleratorError: CUDA error: invalid device ordinal…", "a card that is not there")
dlrepl.simulate {card = "t4", memory = "64MiB"}
tap.ok(dlrepl.measure().copy_side < 4096, "a small card is measured with small copies")
tap.done()
