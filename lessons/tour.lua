-- tour.lua -- two minutes with dlrepl: dlrepl lessons/tour.lua
--
-- For somebody who has just installed it. Each step says a sentence or two, shows the lines as one
-- would type them at the prompt, runs them, and prints what they really give. The same steps make
-- jupyter/notebooks/tour.ipynb, where a blank line begins a new cell; those that need a picture are
-- played there alone.

local steps = {
  {
    "Tensors. The names are PyTorch's; a list is written in braces, a method takes a colon,\n" ..
    "a property a dot.",
    [[
x = torch.tensor({{1., 2., 3.}, {4., 5., 6.}})
x

x.shape

x:mean({dim=1})

x * 10 + torch.arange(3)]],
  },
  {
    "A gradient. The slope of w^2 is 2w, so at w = 2 and w = 3 it must be 4 and 6.",
    [[
w = torch.tensor({2., 3.}, {requires_grad=true})
loss = (w ^ 2):sum()
loss

loss:backward()
w.grad]],
  },
  {
    "Which device? The line that every PyTorch program begins with; here it is the processor.",
    [[
torch.cuda.is_available()

device = torch.device(torch.cuda.is_available() and "cuda" or "cpu")
device]],
  },
  {
    "A mistake, caught. An error begins with PyTorch's own line, so what you learn to read\n" ..
    "here is what you will read there.",
    [[
a = torch.ones(2, 3)
ok, err = pcall(torch.matmul, a, a)
print(err)

a:matmul(a.T)]],
  },
  {
    "A model that learns y = 3x + 2 from 64 points.",
    [[
generator = torch.manual_seed(0)
x = torch.linspace(-1, 1, 64):unsqueeze(1)
y = 3 * x + 2
model = nn.Linear(1, 1)
optimizer = optim.SGD(model:parameters(), {lr=0.1})

losses = {}
for step = 1, 60 do
  optimizer:zero_grad()
  local loss = F.mse_loss(model(x), y)
  loss:backward()
  optimizer:step()
  losses[step] = loss:item()
  if step % 15 == 0 then print(string.format("step %2d   loss %.6f", step, loss:item())) end
end

string.format("y = %.3f x + %.3f", model.weight:item(), model.bias:item())]],
  },
  {
    notebook = true,
    "A value shows itself. A plot is a line of code; point at it to read numbers.",
    [[
dlrepl.plot(losses, {title="loss"})

dlrepl.plot.hist(torch.randn(10000), {title="10,000 normal numbers"})]],
  },
  {
    notebook = true,
    "A model, opened. A tree of its layers and their parameters; and the autograd graph of a loss.",
    [[
net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
net

dlrepl.graph(F.mse_loss(model(x), y), model)]],
  },
  {
    notebook = true,
    "Images, one or many; a loop with its progress.",
    [[
u = torch.linspace(-3, 3, 64)
rings = torch.sin((u:unsqueeze(1) ^ 2 + u ^ 2) * torch.arange(1, 9):view(8, 1, 1))
dlrepl.show(rings:unsqueeze(1))

for step in dlrepl.progress(200, {desc="training"}) do
  optimizer:zero_grad()
  F.mse_loss(model(x), y):backward()
  optimizer:step()
end]],
  },
}

if ... == "steps" then return steps end -- for the notebook

-- Lines are joined until they make a chunk, as at the prompt; an expression gives its value.
local function play(code)
  local chunk = ""
  for line in (code .. "\n"):gmatch("([^\n]+)\n") do
    print((chunk == "" and "> " or "... ") .. line)
    chunk = chunk .. line .. "\n"
    local run, why = load("return " .. chunk, "=tour")
    if not run then run, why = load(chunk, "=tour") end
    if run then
      local value = run()
      if value ~= nil then print(value) end
      chunk = ""
    elseif not why:find("<eof>", 1, true) then
      error(why)
    end
  end
end

print("Two minutes with dlrepl. Everything below runs as you read it.")
for i, step in ipairs(steps) do
  if not step.notebook then
    print(string.format("\n%d. %s\n", i, step[1]))
    play(step[2])
  end
end
print("\nThat is the whole shape of it. `make start` on a terminal opens the prompt;")
print("docs/getting-started.md goes on from here.")
