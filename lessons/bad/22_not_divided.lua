function train_step(model, opt, x, y, most)
  opt:zero_grad()
  local xs, ys = x:split(most), y:split(most)
  for i, piece in ipairs(xs) do F.cross_entropy(model(piece), ys[i]):backward() end
  opt:step()
end
