function amp_step(model, opt, scaler, x, y)
  opt:zero_grad()
  local loss = F.cross_entropy(model(x), y)
  scaler:scale(loss):backward()
  scaler:step(opt)
  scaler:update()
  return loss
end
