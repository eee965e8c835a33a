function amp_step(model, opt, scaler, x, y)
  model:half()
  opt:zero_grad()
  local loss = F.cross_entropy(model(x:half()), y)
  loss:backward()
  opt:step()
  return loss
end
