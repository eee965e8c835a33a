-- Made on the input's device, at each call.
Shifted = nn.Module:class("Shifted")
function Shifted:init(n)
  self.fc = nn.Linear(n, 3)
end
function Shifted:forward(x)
  return self.fc(x) + torch.full({3}, 0.5, {device=x.device})
end
