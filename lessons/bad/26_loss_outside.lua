function amp_step(model, opt, scaler, x, y)
  opt:zero_grad()
  local scores
  torch.autocast({device_type="cuda", dtype=torch.float16}, function() scores = model(x) end)
  local loss = F.cross_entropy(scores, y)
  scaler:scale(loss):backward()
  scaler:step(opt)
  scaler:update()
  return loss
end
