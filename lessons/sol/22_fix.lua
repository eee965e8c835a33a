function train_epoch(model, opt, batches, k)
  opt:zero_grad()
  for i, batch in ipairs(batches) do
    local begun = i - (i - 1) % k
    local size = math.min(k, #batches - begun + 1)
    local share = F.cross_entropy(model(batch[1]), batch[2]) / size
    share:backward()
    if i % k == 0 or i == #batches then
      opt:step()
      opt:zero_grad()
    end
  end
end
