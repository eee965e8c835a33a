-- Train a small network on Fashion-MNIST: 784 pixels -> 128 hidden units -> 10 kinds of clothing.
--
--     dlrepl lessons/examples/fashion_mlp.lua [epochs] [data folder]
--
-- The last line is the accuracy on the 10,000 test images, in percent.

local epochs = math.tointeger(tonumber(arg and arg[1] or 5))
local folder = arg and arg[2] or "/usr/share/datasets/fashion-mnist"
local batch_size = 64

torch.manual_seed(0)

-- Pixels are bytes; the network wants numbers between 0 and 1, one row an image.
local function load(train)
  local set = torchvision.datasets.FashionMNIST(folder, {train = train})
  local pixels = set.data:reshape(-1, 784):to(torch.float32):div(255)
  return pixels, set.targets
end

local images, labels = load(true)
local test_images, test_labels = load(false)

local model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
local criterion = nn.CrossEntropyLoss()
local optimizer = optim.Adam(model:parameters(), {lr = 0.001})
local loader = torch.utils.data.DataLoader(
  torch.utils.data.TensorDataset(images, labels), {batch_size = batch_size, shuffle = true})
print(model)

local function accuracy()
  return torch.no_grad(function()
    local guess = model(test_images):argmax(1)
    return guess:eq(test_labels):to(torch.float32):mean():item()
  end)
end

for epoch = 1, epochs do
  local bar = dlrepl.progress(loader, {
    desc = string.format("epoch %d/%d", epoch, epochs), unit = "images", scale = batch_size})
  local running, n = 0.0, 0
  for x, y in bar do
    optimizer:zero_grad()
    local loss = criterion(model(x), y)
    loss:backward()
    optimizer:step()
    running, n = running + loss:item(), n + 1
    bar:set {loss = running / n}
  end
  print(string.format("epoch %d  loss %.4f  test accuracy %.2f%%", epoch, running / n,
                      100 * accuracy()))
end

print(string.format("%.2f", 100 * accuracy()))
