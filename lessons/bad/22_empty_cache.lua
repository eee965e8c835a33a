function train_step(model, opt, x, y, most)
  torch.cuda.empty_cache()
  opt:zero_grad()
  local loss = F.cross_entropy(model(x), y)
  torch.cuda.empty_cache()
  loss:backward()
  opt:step()
  torch.cuda.empty_cache()
end
