-- The loss as a layer, a helper for the moves.
local function move(list, device)
  local out = {}
  for i, t in ipairs(list) do out[i] = t:to{device=device} end
  return table.unpack(out)
end

local function loss_on(model, x, y, device)
  model = model:to(device)
  local features, labels = move({x, y}, torch.device(device))
  return nn.CrossEntropyLoss()(model(features), labels)
end
