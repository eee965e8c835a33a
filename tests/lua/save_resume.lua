-- save_resume.lua -- a run with mixed precision that is saved, and goes on in another process, is
-- the run that was never interrupted, to the bit
--
-- This file is the second process, too: dlrepl save_resume.lua CHECKPOINT DEVICE.
local EPOCHS, DTYPE = 4, {cpu = "bfloat16", cuda = "float16"}

local function make(device)
  torch.manual_seed(3)
  local x, y = torch.randn(24, 6), torch.randint(3, {24})
  local run = {device = device}
  run.loader = DataLoader(TensorDataset(x, y), {batch_size = 8, shuffle = true})
  run.model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(16, 3)):to(device)
  run.opt = optim.Adam(run.model:parameters(), {lr = 0.01, weight_decay = 0.1})
  run.sgd = optim.SGD(run.model[0]:parameters(), {lr = 0.001, momentum = 0.9})
  run.scaler = torch.amp.GradScaler(device, {init_scale = 1024, growth_interval = 4})
  return run
end

-- Losses of one epoch, as text with all their bits.
local function epoch(run, out)
  for x, y in run.loader do
    x, y = x:to(run.device), y:to(run.device)
    run.opt:zero_grad()
    local loss = torch.autocast(run.device, {dtype = torch[DTYPE[run.device]]}, function()
      return F.cross_entropy(run.model(x), y)
    end)
    run.scaler:scale(loss):backward()
    run.scaler:step(run.opt)
    run.scaler:step(run.sgd)
    run.scaler:update()
    out[#out + 1] = string.format("%a", loss:item())
  end
end

local function save(run, e, path)
  torch.save({epoch = e, model = run.model:state_dict(), opt = run.opt:state_dict(),
    sgd = run.sgd:state_dict(), scaler = run.scaler:state_dict(), rng = torch.get_rng_state(),
    gpu_rng = run.device == "cuda" and torch.cuda.get_rng_state() or None}, path)
end

local function continue(path, device)
  local run, state, losses = make(device), torch.load(path), {}
  run.model:load_state_dict(state.model)
  for _, name in ipairs {"opt", "sgd", "scaler"} do run[name]:load_state_dict(state[name]) end
  torch.set_rng_state(state.rng)
  if device == "cuda" then torch.cuda.set_rng_state(state.gpu_rng) end
  for _ = state.epoch + 1, EPOCHS do epoch(run, losses) end
  for name, v in pairs(run.model:state_dict()) do
    losses[#losses + 1] = name .. " " .. string.format("%a", v:double():sum():item())
  end
  return losses
end

if arg[2] then
  if arg[2] == "cuda" then dlrepl.simulate "t4" end
  print(table.concat(continue(arg[1], arg[2]), "\n"))
  return
end

local t = require "tap"
local program, path = arg[-1], os.tmpname()
for _, device in ipairs {"cpu", "cuda"} do
  if device == "cuda" then dlrepl.simulate "t4" end
  local run, losses = make(device), {}
  epoch(run, losses)
  epoch(run, losses)
  save(run, 2, path)
  losses = {}
  epoch(run, losses)
  epoch(run, losses)
  for name, v in pairs(run.model:state_dict()) do
    losses[#losses + 1] = name .. " " .. string.format("%a", v:double():sum():item())
  end
  local there = io.popen(string.format("%s %s %s %s", program, arg[0], path, device))
  local lines = {}
  for line in there:lines() do lines[#lines + 1] = line end
  there:close()
  t.is(lines, losses, "on " .. device .. ": six losses and every weight after them")
  t.is(#losses, 6 + 9, "all of them")
end
os.remove(path)
t.done()
