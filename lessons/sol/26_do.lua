function amp_step(model, opt, scaler, x, y)
  opt:zero_grad()
  local loss
  torch.autocast({device_type="cuda", dtype=torch.float16}, function()
    loss = F.cross_entropy(model(x), y)
  end)
  scaler:scale(loss):backward()
  scaler:step(opt)
  scaler:update()
  return loss
end
