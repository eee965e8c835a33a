-- The guard instead of the function form; clearing after the step.
function amp_step(model, opt, scaler, x, y)
  opt:zero_grad()
  local loss
  do
    local _ <close> = torch.autocast({device_type="cuda", dtype=torch.float16})
    local scores = model(x)
    loss = F.cross_entropy(scores, y)
  end
  scaler:scale(loss):backward()
  scaler:step(opt)
  scaler:update()
  opt:zero_grad()
  return loss
end
