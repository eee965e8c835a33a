function train_step(model, opt, x, y, most)
  opt:zero_grad()
  F.cross_entropy(model(x), y):backward()
  opt:step()
end
