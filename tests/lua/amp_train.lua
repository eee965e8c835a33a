-- amp_train.lua -- training in 16 bits: what underflows, what a scaler saves, what it costs
local tap = require "tap"

if not torch.cuda.is_available() then dlrepl.simulate("t4") end

-- gradients that vanish ------------------------------------------------------------------------
-- The part of a parameter's gradient that is not zero.
local function alive(p)
  return p.grad:ne(0):float():mean():item()
end

local function deep(activation, layers)
  torch.manual_seed(0)
  local list = {}
  for i = 1, layers do list[2 * i - 1], list[2 * i] = nn.Linear(32, 32), activation() end
  list[#list + 1] = nn.Linear(32, 10)
  return nn.Sequential(table.unpack(list)):to("cuda")
end

local function backward(model, autocast, scaler)
  torch.manual_seed(1)
  local x, y = torch.randn(64, 32), torch.randint(10, {64})
  x, y = x:to("cuda"), y:to("cuda")
  local function loss() return F.cross_entropy(model(x), y) end
  local l = autocast and torch.autocast("cuda", loss) or loss()
  if scaler then scaler:scale(l):backward() else l:backward() end
end

do
  local exact = deep(nn.Sigmoid, 7)
  backward(exact, false)
  tap.is(alive(exact[0].weight), 1.0, "float32: every gradient of the first layer is alive")
  local half = deep(nn.Sigmoid, 7)
  local r = dlrepl.debug.record(function() backward(half, true) end)
  local first = alive(half[0].weight)
  tap.ok(first < 0.05, "float16: the first layer's gradients of a deep sigmoid network are gone, "
    .. first .. " are left")
  tap.ok(alive(half[14].weight) > 0.9, "the last layer's are not")
  local lost = 0
  for _, o in ipairs(r.ops) do
    if o.backward and o.dtype == "float16" then lost = lost + o.flushed end
  end
  tap.ok(lost > 1000, "the record counts the values lost on the way: " .. lost)
  local saved, scaler = deep(nn.Sigmoid, 7), torch.amp.GradScaler("cuda")
  backward(saved, true, scaler)
  tap.ok(alive(saved[0].weight) > 0.99, "with a scaler they are alive")
  local opt = optim.SGD(saved:parameters(), {lr = 0.1})
  scaler:unscale_(opt)
  local a, b = saved[0].weight.grad:flatten(), exact[0].weight.grad:flatten()
  local worst = ((a - b):norm() / b:norm()):item()
  tap.ok(worst < 0.02, "and, unscaled, those of float32 within " .. worst)
  local mlp = deep(nn.ReLU, 2)
  backward(mlp, true)
  tap.ok(alive(mlp[0].weight) > 0.5, "an MLP of two hidden layers keeps its gradients unaided")
end

-- accuracy ---------------------------------------------------------------------------------------
-- Ten clusters that overlap; mean accuracy of three seeds.
local function data(seed)
  torch.manual_seed(100)
  local centres = torch.randn(10, 20) * 0.7
  torch.manual_seed(seed)
  local y = torch.randint(10, {2000})
  return centres:index_select(0, y) + torch.randn(2000, 20), y
end

local function accuracy(device, how)
  local sum = 0
  for seed = 0, 2 do
    local x, y = data(seed)
    local tx, ty = data(seed + 50)
    torch.manual_seed(seed)
    local model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 10)):to(device)
    local opt = optim.Adam(model:parameters(), {lr = 0.01})
    local scaler = torch.amp.GradScaler(device, {enabled = how == torch.float16})
    for a, b in DataLoader(TensorDataset(x, y), {batch_size = 100, shuffle = true}) do
      opt:zero_grad()
      local loss = torch.autocast({device_type = device, dtype = how, enabled = how ~= nil},
        function() return F.cross_entropy(model(a:to(device)), b:to(device)) end)
      scaler:scale(loss):backward()
      scaler:step(opt)
      scaler:update()
    end
    local guess = torch.no_grad(function() return model(tx:to(device)):argmax(1):cpu() end)
    sum = sum + guess:eq(ty):float():mean():item()
  end
  return 100 * sum / 3
end

local exact = accuracy("cpu")
tap.ok(exact > 80, "float32 learns: " .. exact .. " %")
for _, case in ipairs {{"cpu", torch.bfloat16}, {"cuda", torch.float16},
                       {"cuda", torch.bfloat16}} do
  local got = accuracy(case[1], case[2])
  tap.ok(math.abs(got - exact) <= 0.5, string.format("%s on %s is within half a point: %.2f %%",
    case[2], case[1], got))
end
tap.done()
