-- The older spelling, which PyTorch still takes, and unscaling by hand.
function amp_step(model, opt, scaler, x, y)
  local loss = torch.cuda.amp.autocast(function()
    return nn.CrossEntropyLoss()(model(x), y)
  end)
  for p in model:parameters() do p.grad = nil end
  local scaled = scaler:scale(loss)
  scaled:backward()
  scaler:unscale_(opt)
  scaler:step(opt)
  scaler:update()
  return loss
end
