-- batches: a list of {x, y}
function train(model, opt, scaler, batches)
  for _, batch in ipairs(batches) do
    opt:zero_grad()
    local loss
    torch.autocast({device_type="cuda", dtype=torch.float16}, function()
      loss = F.mse_loss(model(batch[1]), batch[2])
    end)
    loss:backward()
    opt:step()
  end
end
