-- method_dots.lua -- a method that was called with a dot: the answer is a sentence about the call
local tap = require "tap"

local x = torch.ones(2, 4)
local model = nn.Sequential(nn.Linear(4, 3))
local kinds = {
  {nn.Module, model, "Module", {class = true, init = true, forward = true, extra_repr = true}},
  {nn.Sequential, model, "Sequential", {init = true, forward = true}},
  {nn.ModuleDict, nn.ModuleDict(), "ModuleDict", {init = true, forward = true}},
  {optim.Optimizer, optim.SGD(model:parameters(), {lr = 0.1}), "Optimizer", {}},
  {torch.amp.GradScaler, torch.amp.GradScaler("cpu"), "GradScaler", {}},
  {DataLoader, DataLoader(TensorDataset(x)), "DataLoader", {class = true, init = true}},
}
-- Without arguments, with one that is a tensor, with one that is a table.
local function answers(object, name, want)
  for _, given in ipairs {table.pack(), table.pack(x), table.pack({}), table.pack("cpu")} do
    local ok, e = pcall(object[name], table.unpack(given, 1, given.n))
    local text = tostring(e)
    if ok or not text:find(want, 1, true) or not text:find("called with a colon", 1, true) then
      return name .. ": " .. text
    end
  end
end
for _, kind in ipairs(kinds) do
  local class, object, name, except = table.unpack(kind)
  local n, wrong = 0, nil
  for method, f in next, class do
    if type(f) == "function" and method:find("^%a") and not except[method] then
      n = n + 1
      wrong = wrong or answers(object, method, "TypeError: " .. name .. "." .. method .. "()")
    end
  end
  tap.is(wrong, nil, string.format("%s: %d methods", name, n))
  tap.ok(n > 1, name .. " has methods")
end
tap.raises(function() model.eval() end, "TypeError: Module.eval() missing 1 required positional "
  .. "argument: 'self'\n  a method is called with a colon: net:eval()", "without arguments")
tap.raises(function() model.to("cpu") end, "TypeError: Module.to(): argument 'self' must be "
  .. "Module, not str\n  a method is called with a colon: net:to(…)", "with one")

-- ---- methods of the user's own -----------------------------------------------------------------
local Net = nn.Module:class("Net")
function Net:init() self.fc = nn.Linear(4, 2) end
function Net:forward(v) return self.fc(v) end
local net = Net()
tap.raises(function() return net.forward(x) end, "AttributeError: 'Tensor' object has no attribute "
  .. "'fc'\n  a method is called with a colon: net:forward(x), or net(x); with a dot `self` is x",
  "forward of one's own, whose self is the input")
tap.raises(function() return model[0].forward(x) end, "AttributeError: 'Tensor' object has no "
  .. "attribute '_parameters'\n  a method is called with a colon…", "forward of a layer")
tap.raises(function() return x.fc end, "AttributeError: 'Tensor' object has no attribute 'fc'",
  "a tensor of another name is no self")
local Wide = nn.Linear:class("Wide")
function Wide:train(mode) return nn.Linear.train(self, mode) end
tap.is(Wide(4, 2):eval().training, false, "a parent's method is called with a dot and the object")

-- ---- names that are not there ------------------------------------------------------------------
local opt, scaler = kinds[4][2], kinds[5][2]
tap.raises(function() opt:zerograd() end,
  "AttributeError: 'SGD' object has no attribute 'zerograd'\n  did you mean 'zero_grad'?",
  "a method that an optimizer does not have")
tap.raises(function() scaler:unscale(opt) end,
  "AttributeError: 'GradScaler' object has no attribute 'unscale'\n  did you mean 'unscale_'?",
  "one that a scaler does not have")
tap.raises(function() opt:step(scaler) end, "TypeError: 'GradScaler' object is not callable…",
  "an optimizer that is handed the scaler")
tap.ok(opt:step(function() return model(x):sum() end), "a closure is called")
tap.raises(function() scaler:scale(x:sum()) scaler:step(opt) end,
  "AssertionError: No inf checks were recorded for this optimizer.\n  none of its parameters has a "
  .. "gradient: scaler:scale(loss):backward() comes before step()…", "step without backward")
tap.raises(function() scaler:update() end,
  "AssertionError: No inf checks were recorded prior to update.\n  the order of an iteration is "
  .. "scaler:scale(loss):backward(), scaler:step(opt), scaler:update()…", "update without a step")
tap.done()
