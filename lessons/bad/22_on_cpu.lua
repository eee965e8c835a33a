function train_step(model, opt, x, y, most)
  model:cpu()
  opt:zero_grad()
  F.cross_entropy(model(x:cpu()), y:cpu()):backward()
  opt:step()
end
