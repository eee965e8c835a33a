function train_step(model, opt, x, y, most)
  opt:zero_grad()
  local piece, labels = x:split(most)[1], y:split(most)[1]
  F.cross_entropy(model(piece), labels):backward()
  opt:step()
end
