-- A loop over groups instead of a count.
function train_epoch(model, opt, batches, k)
  for first = 1, #batches, k do
    local group = table.pack(table.unpack(batches, first, math.min(first + k - 1, #batches)))
    opt:zero_grad()
    for _, batch in ipairs(group) do
      local loss = F.cross_entropy(model(batch[1]), batch[2])
      loss:backward(torch.tensor(1 / group.n, {device=loss.device}))
    end
    opt:step()
  end
end
