function loss_on(model, x, y, device)
  model:to(device)
  x:to(device)
  y:to(device)
  return F.cross_entropy(model(x), y)
end
