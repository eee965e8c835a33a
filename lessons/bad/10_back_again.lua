function loss_on(model, x, y, device)
  model:to(device)
  local loss = F.cross_entropy(model(x:to(device)), y:to(device))
  model:to(device == "cpu" and "cuda" or "cpu")
  return loss
end
