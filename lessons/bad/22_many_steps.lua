function train_step(model, opt, x, y, most)
  local xs, ys = x:split(most), y:split(most)
  for i, piece in ipairs(xs) do
    opt:zero_grad()
    F.cross_entropy(model(piece), ys[i]):backward()
    opt:step()
  end
end
