-- Multiplied and divided by hand: nobody looks for inf.
function train(model, opt, scaler, batches)
  for _, batch in ipairs(batches) do
    opt:zero_grad()
    local loss
    torch.autocast({device_type="cuda", dtype=torch.float16}, function()
      loss = F.mse_loss(model(batch[1]), batch[2])
    end)
    local large = loss * 65536
    large:backward()
    for p in model:parameters() do p.grad:div_(65536) end
    opt:step()
  end
end
