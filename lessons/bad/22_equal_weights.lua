function train_step(model, opt, x, y, most)
  opt:zero_grad()
  local xs, ys = x:split(most), y:split(most)
  for i, piece in ipairs(xs) do
    local share = F.cross_entropy(model(piece), ys[i]) / #xs
    share:backward()
  end
  opt:step()
end
