-- device.lua -- which GPU the programs of tests/gpu use, and what they share
--
-- For checks.lua, faults.lua, rates.lua: --simulated takes a simulated card, --small small sizes,
-- --names only tells what would be done.

local M = {words = {}}
for _, a in ipairs(arg or {}) do
  if a == "--simulated" then M.simulated = true
  elseif a == "--small" then M.small = true
  elseif a == "--names" then M.names = true
  else M.words[#M.words + 1] = a end
end
if M.simulated then dlrepl.simulate("t4") end

-- Bytes that are still allocated when garbage is gone and the GPU is done.
function M.settled()
  collectgarbage()
  collectgarbage()
  torch.cuda.synchronize()
  return torch.cuda.memory_allocated()
end

-- The networks that peer.py trains too.
function M.mlp()
  local n = M.small and 32 or 1024
  return nn.Sequential(nn.Linear(784, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(), nn.Linear(n, 10))
end
function M.cnn()
  local n = M.small and 2 or 32
  return nn.Sequential(
    nn.Conv2d(1, n, 3, {padding = 1}), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(n, 2 * n, 3, {padding = 1}), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(2 * n * 49, 10))
end

return M
