-- Method calls alone, labels last.
function loss_on(model, x, y, device)
  local scores = model:to(device)(x:to(device))
  return F.cross_entropy(scores, y:to(device))
end
