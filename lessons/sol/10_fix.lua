Shifted = nn.Module:class("Shifted")
function Shifted:init(n)
  self.fc = nn.Linear(n, 3)
  self:register_buffer("shift", torch.full({3}, 0.5))
end
function Shifted:forward(x)
  return self.fc(x) + self.shift
end
