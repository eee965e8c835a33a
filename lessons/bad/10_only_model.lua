function loss_on(model, x, y, device)
  model:to(device)
  return F.cross_entropy(model(x), y)
end
