-- Sums divided by all rows; pieces by index.
function train_step(model, opt, x, y, most)
  for p in model:parameters() do p.grad = nil end
  local n = x.shape[0]
  for first = 0, n - 1, most do
    local last = math.min(first + most, n)
    local rows = slice(first, last)
    local sum = F.cross_entropy(model(x[{rows}]), y[{rows}], {reduction="sum"})
    local part = sum / n
    part:backward()
  end
  opt:step()
end
