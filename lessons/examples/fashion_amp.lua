-- Fashion-MNIST in three number formats: float32, float16 with a gradient scaler, bfloat16.
--
--     dlrepl --gpu sim:a100-40 lessons/examples/fashion_amp.lua [epochs] [seeds] [data folder]
--
-- Runs on the GPU there is, real or simulated; on the CPU float16 is left out. The last lines are
-- the mean test accuracies in percent, and how far the short formats are from float32.

local epochs = math.tointeger(tonumber(arg and arg[1] or 1))
local seeds = math.tointeger(tonumber(arg and arg[2] or 3))
local folder = arg and arg[3] or "/usr/share/datasets/fashion-mnist"
local device = torch.cuda.is_available() and "cuda" or "cpu"

local function load(train)
  local set = torchvision.datasets.FashionMNIST(folder, {train = train})
  return set.data:reshape(-1, 784):to(torch.float32):div(255):to(device), set.targets:to(device)
end
local images, labels = load(true)
local test_images, test_labels = load(false)

-- One training from a seed; dtype nil is float32. Accuracy in percent.
local function train(dtype, seed)
  torch.manual_seed(seed)
  local model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)):to(device)
  local optimizer = optim.Adam(model:parameters(), {lr = 0.001})
  local scaler = torch.amp.GradScaler(device, {enabled = dtype == torch.float16})
  local function cast(f)
    return torch.autocast({device_type = device, dtype = dtype or torch.bfloat16,
                           enabled = dtype ~= nil}, f)
  end
  for _ = 1, epochs do
    local order = torch.randperm(images:size(0)):to(device)
    for start = 0, images:size(0) - 128, 128 do
      local rows = order:narrow(0, start, 128)
      local x, y = images:index_select(0, rows), labels:index_select(0, rows)
      optimizer:zero_grad()
      local loss = cast(function() return F.cross_entropy(model(x), y) end)
      scaler:scale(loss):backward()
      scaler:step(optimizer)
      scaler:update()
    end
  end
  local guess = torch.no_grad(function() return model(test_images):argmax(1) end)
  return 100 * guess:eq(test_labels):to(torch.float32):mean():item()
end

local kinds = {{"float32", nil}, {"bfloat16", torch.bfloat16}}
if device == "cuda" then table.insert(kinds, 2, {"float16 and scaler", torch.float16}) end
local base
for _, kind in ipairs(kinds) do
  local sum = 0
  for seed = 1, seeds do sum = sum + train(kind[2], seed) end
  local mean = sum / seeds
  base = base or mean
  print(string.format("%-20s %.2f  %+.2f", kind[1], mean, mean - base))
end
