-- fashion_mlp.lua -- a classifier on real images, laid beside the same run in PyTorch
--
-- tests/parity/fashion_mlp.json holds the program in words, PyTorch's first 40 losses and its test
-- accuracy after each epoch. Skipped only where the images are not installed.

local t = require "tap"
local json = require "dlrepl.json"

local FOLDER = "/usr/share/datasets/fashion-mnist"

local file = assert(io.open("tests/parity/fashion_mlp.json"))
local want = json.decode(file:read("a"))
file:close()

local here, train = pcall(torchvision.datasets.FashionMNIST, FOLDER, {train = true})
if not here then
  t.skip("no images in " .. FOLDER .. " (package dataset-fashion-mnist)",
    "training as PyTorch trains")
  t.done()
  return
end
local test = torchvision.datasets.FashionMNIST(FOLDER, {train = false})
t.is(train.data.shape, torch.Size {60000, 28, 28}, "60,000 training images")
t.is(#test, 10000, "10,000 test images")
t.is(train.targets:narrow(0, 0, 10):tolist(), {9, 0, 0, 3, 0, 2, 7, 2, 5, 5}, "labels as published")

local function flat(set) return set.data:reshape(-1, 784):to(torch.float32):div(255) end
local images, test_images = flat(train), flat(test)

torch.manual_seed(0)
local model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
local criterion = nn.CrossEntropyLoss()
local opt = optim.Adam(model:parameters(), {lr = 0.001})
local loader = torch.utils.data.DataLoader(
  torch.utils.data.TensorDataset(images, train.targets), {batch_size = 64, shuffle = true})

local losses, worst = {}, 0.0
for epoch = 1, 5 do
  for x, y in loader do
    opt:zero_grad()
    local loss = criterion(model(x), y)
    loss:backward()
    opt:step()
    if #losses < 40 then losses[#losses + 1] = loss:item() end
  end
  if epoch == 1 then
    for i, v in ipairs(want.first_losses) do worst = math.max(worst, math.abs(losses[i] - v)) end
    t.ok(worst < 0.00005, "the first 40 losses agree to 4 digits (off by " .. worst .. ")")
  end
  local accuracy = torch.no_grad(function()
    return model(test_images):argmax(1):eq(test.targets):to(torch.float32):mean():item()
  end)
  local off = math.abs(accuracy - want.test_accuracy[epoch])
  t.ok(off <= 0.005, string.format("test accuracy after epoch %d: %.4f, PyTorch %.4f", epoch,
    accuracy,
    want.test_accuracy[epoch]))
end

-- the example, as a user runs it
local pipe = io.popen("./dlrepl lessons/examples/fashion_mlp.lua 1 2>/dev/null")
local last
for line in pipe:lines() do last = line end
pipe:close()
t.ok(tonumber(last) and math.abs(tonumber(last) - 100 * want.test_accuracy[1]) <= 0.5,
  "the example's last line is the accuracy in percent: " .. tostring(last))
t.done()
