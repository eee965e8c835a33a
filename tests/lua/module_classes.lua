-- module_classes.lua -- nn.Module: classes, registration, attributes, walks, printing

local t = require "tap"

-- ---- classes ------------------------------------------------------------------------------------
local Net = nn.Module:class("Net")
function Net:init(n)
  self.fc1 = nn.Linear(n, 3)
  self.scale = nn.Parameter(torch.ones(1))
  self.name = "mine"
  self.fc2 = nn.Linear(3, 2)
end
function Net:forward(x) return self.fc2(F.relu(self.fc1(x))) * self.scale end

local net = Net(4)
t.is(net.name, "mine", "a plain attribute reads back")
t.is(net(torch.ones(5, 4)).shape, torch.Size {5, 2}, "calling a module runs forward")
t.is(tostring(net), [[Net(
  (fc1): Linear(in_features=4, out_features=3, bias=True)
  (fc2): Linear(in_features=3, out_features=2, bias=True)
)]], "children print in order of assignment")
local names = {}
for name in net:named_parameters() do names[#names + 1] = name end
t.is(table.concat(names, " "), "scale fc1.weight fc1.bias fc2.weight fc2.bias",
     "named_parameters: the module's own first, then its children's")
t.is(#net:parameters(), 5, "parameters is a list")
t.is(#net:children(), 2, "children are the direct ones")
t.is(#net:modules(), 3, "modules counts the module itself")

local Deep = Net:class("Deep")
function Deep:init(n)
  Net.init(self, n)
  self.extra = nn.Linear(2, 1)
end
function Deep:forward(x) return self.extra(Net.forward(self, x)) end
local deep = Deep(4)
t.is(deep(torch.ones(1, 4)).shape, torch.Size {1, 1}, "a class made from a user's class")
t.ok(dlrepl.isinstance(deep, Net) and dlrepl.isinstance(deep, nn.Module)
     and not dlrepl.isinstance(net, Deep), "isinstance follows the classes")
local Mine = nn.Linear:class("Mine")
t.is(tostring(Mine(2, 1)), "Mine(in_features=2, out_features=1, bias=True)",
     "a class made from a layer inherits init and its text")
t.is(tostring(Net), "<class '__main__.Net'>", "a class has a text")

-- ---- attributes ----------------------------------------------------------------------------
t.raises(function() return net.fc3 end, "AttributeError: 'Net' object has no attribute 'fc3'",
         "a name that was never set raises")
local ok, e = pcall(function() return net.fc11 end)
t.like(tostring(e), "did you mean 'fc1'", "and the nearest name is suggested")
net.cache = 5
net.cache = nil
t.is(net.cache, nil, "a name set to nil reads as nil")
net.opt = None
t.is(net.opt, nil, "None reads as nil")
net.later = 1
net.later = nn.Linear(1, 1)
t.is(#net:children(), 3, "a plain attribute that becomes a module is registered")
net.later = nil
t.is(net.later, nil, "a module can be set to nil")
t.raises(function() net.scale = torch.ones(1) end, "TypeError: cannot assign "
  .. "'torch.FloatTensor' as "
  .. "parameter 'scale' (torch.nn.Parameter or None expected)", "a tensor is not a parameter")
t.raises(function() net.fc1 = 3 end, "TypeError: cannot assign 'int' as child module 'fc1' "
  .. "(torch.nn.Module or None expected)", "a number is not a module")
t.raises(function() return nn.Module()(1) end,
  'NotImplementedError: Module [Module] is missing the required "forward" function',
  "forward is required")
t.raises(function() return Net() end,
  "TypeError: Linear.__init__() missing 1 required positional argument: 'in_features'",
  "nil is no argument")
t.raises(function() return nn.Linear(2.5, 1) end,
  "TypeError: Linear.__init__() argument 'in_features' (position 1) must be int, not float",
  "a fraction is no size")
t.is(nn.Linear(2 ^ 3, 1).in_features, 8, "an integral float is")
t.raises(function() nn.Linear(1) end,
  "TypeError: Linear.__init__() missing 1 required positional argument: 'out_features'",
  "a missing argument is named")
t.raises(function() nn.Linear(1, 2, {bais = false}) end,
  "TypeError: Linear.__init__() got an unexpected keyword argument 'bais'…", "an unknown keyword")
t.raises(function() nn.Linear(1, 2, true, None, None, 3) end,
  "TypeError: Linear.__init__() takes from 3 to 6 positional arguments but 7 were given",
  "one argument too many")
t.raises(function() nn.ReLU()[0] = 1 end,
  "TypeError: 'ReLU' object does not support item assignment", "layers have no items")
t.raises(function() return nn.ReLU()[0] end, "TypeError: 'ReLU' object is not subscriptable",
  "layers cannot be indexed")
t.raises(function() return setmetatable({}, getmetatable(net)).fc end,
  "AttributeError: 'Net' object has no attribute 'fc'", "an instance without set-up still reads")
t.raises(function() setmetatable({}, getmetatable(net)).fc = nn.ReLU() end,
  "AttributeError: cannot assign module before Module.__init__() call", "but takes no module")

-- ---- buffers and registration --------------------------------------------------------------
local b = nn.Module()
b:register_buffer("running", torch.zeros(2))
b:register_buffer("hidden", torch.ones(1), {persistent = false})
b:register_buffer("empty", None)
t.is(#b:buffers(), 2, "buffers skips None")
t.is(table.concat(b:state_dict():keys(), " "), "running", "only persistent buffers are saved")
b.running = torch.ones(2)
t.is(b.running:sum():item(), 2.0, "a buffer can be replaced by assignment")
t.raises(function() b.running = 1 end, "TypeError: cannot assign 'int' as buffer 'running' "
  .. "(torch.nn.Buffer, torch.Tensor or None expected)", "a buffer must be a tensor")
t.raises(function() b:register_buffer("running", torch.ones(1)) b:register_parameter("running") end,
  "KeyError: \"attribute 'running' already exists\"", "a name is used once")
t.raises(function() b:register_parameter("a.b") end,
  "KeyError: 'parameter name can\\'t contain \".\"'", "no dots in names")
t.raises(function() b:register_parameter("w", torch.ones(1)) end, "TypeError: cannot assign "
  .. "'torch.FloatTensor' object to parameter 'w' (torch.nn.Parameter or None required)",
  "register_parameter wants a Parameter")
t.raises(function() b:add_module("x", 3) end, "TypeError: int is not a Module subclass",
  "add_module wants a module")
b:add_module("sub", nn.Sequential(nn.Linear(1, 1)))
t.is(tostring(b:get_submodule("sub.0")), "Linear(in_features=1, out_features=1, bias=True)",
  "get_submodule follows a path")
t.is(b:get_parameter("sub.0.bias").shape, torch.Size {1}, "get_parameter too")
t.raises(function() b:get_submodule("sub.7") end, "AttributeError: Sequential has no attribute `7`",
  "a path that leads nowhere")

-- ---- shared parts, modes, moves ------------------------------------------------------------
local shared = nn.Linear(2, 2)
local twice = nn.Sequential(shared, nn.ReLU(), shared)
t.is(#twice:parameters(), 2, "a shared module's parameters are counted once")
t.is(#twice:modules(), 3, "and the module itself once")
local walked = 0
for _ in twice do walked = walked + 1 end
t.is(walked, 3, "a loop over a Sequential visits every place, shared or not")
twice:eval()
t.ok(not shared.training and not twice.training, "eval reaches every child")
twice:train()
t.ok(shared.training, "train turns it back")
local seen = {}
twice:apply(function(m) seen[#seen + 1] = m._get_name(m) end)
t.is(table.concat(seen, " "), "Linear ReLU Sequential", "apply goes to children first")
twice:double()
t.is(shared.weight.dtype, torch.float64, "double changes parameters in place")
local weight = shared.weight
twice:to(torch.float32)
t.ok(rawequal(weight, shared.weight) and weight.dtype == torch.float32,
  "to keeps the parameter's identity")
t.raises(function() twice:to(torch.int64) end, "TypeError: nn.Module.to only accepts floating "
  .. "point "
  .. "or complex dtypes, but got desired dtype=torch.int64", "to refuses integers")
twice(torch.ones(1, 2)):sum():backward()
t.ok(shared.weight.grad ~= nil, "gradients arrive")
twice:zero_grad({set_to_none = false})
t.is(shared.weight.grad:abs():sum():item(), 0.0, "zero_grad can fill with zeros")
twice:zero_grad()
t.is(shared.weight.grad, nil, "zero_grad forgets gradients")
twice:requires_grad_(false)
t.ok(not shared.weight.requires_grad, "requires_grad_ freezes")

-- ---- loops ---------------------------------------------------------------------------------
local pairs_seen = 0
for a in net:parameters() do
  for c in net:parameters() do pairs_seen = pairs_seen + (a.requires_grad and c.requires_grad and 1
    or 0) end
end
t.is(pairs_seen, 25, "nested loops over parameters")
local list = nn.ModuleList {nn.ReLU(), nn.Tanh()}
local texts = {}
for i, m in list:enumerate() do texts[#texts + 1] = i .. tostring(m) end
t.is(table.concat(texts, " "), "0ReLU() 1Tanh()", "enumerate counts from 0")
texts = {}
for i, m in ipairs(list) do texts[#texts + 1] = i .. tostring(m) end
t.is(table.concat(texts, " "), "0ReLU() 1Tanh()", "so does ipairs, and it ends")
texts = {}
for i, p in ipairs(nn.ParameterList {torch.ones(2), torch.ones(3)}) do
  texts[#texts + 1] = i .. #p
end
t.is(table.concat(texts, " "), "02 13", "ipairs of a ParameterList counts from 0")
t.is(select("#", list:unpack()), 2, "unpack gives the modules")
t.raises(function() table.unpack(list) end, "TypeError: table.unpack counts from 1, a ModuleList "
  .. "from 0", "table.unpack would leave out the first")
t.raises(function() ipairs(nn.ReLU()) end, "TypeError: 'ReLU' object is not iterable",
         "a module that is no list")
t.raises(function() ipairs(nn.ModuleDict {a = nn.ReLU()}) end,
         "TypeError: 'ModuleDict' object is not iterable", "a ModuleDict has names")
local three = Dataset:class("Three")
function three.len() return 3 end
function three.getitem(_, i) return 10 * i, i end
texts = {}
for i, sample in ipairs(three()) do texts[#texts + 1] = i .. ":" .. sample[1] end
t.is(table.concat(texts, " "), "0:0 1:10 2:20", "ipairs of a Dataset counts from 0 to its length")
texts = {}
for i, x in ipairs(DataLoader(TensorDataset(torch.arange(4)), {batch_size = 2})) do
  texts[#texts + 1] = i .. ":" .. x:sum():item()
end
t.is(table.concat(texts, " "), "0:1 1:5", "ipairs of a DataLoader numbers its batches")
for name, f in pairs {clip_grad_norm_ = nn.utils.clip_grad_norm_,
                      clip_grad_value_ = nn.utils.clip_grad_value_} do
  t.raises(function() f(nn.Linear(1, 1), 1.0) end, "TypeError: " .. name
           .. "() expects a list of Tensors, but got Linear", name .. " of a model")
end
t.raises(function() optim.SGD(nn.Linear(1, 1)) end, "TypeError: 'Linear' object is not iterable",
         "an optimizer of a model")
t.raises(function() return list[2] end, "IndexError: index 2 is out of range", "past the end")
t.is(tostring(list[-1]), "Tanh()", "negative indices")
list[0] = nn.Sigmoid()
t.is(tostring(list[0]), "Sigmoid()", "assignment by index")
t.is(tostring(list:pop(1)), "Tanh()", "pop")
t.is(#list, 1, "length after pop")
local dict = nn.ModuleDict {{"z", nn.ReLU()}, {"a", nn.Tanh()}}
local keys = {}
for k in dict do keys[#keys + 1] = k end
t.is(table.concat(keys, " "), "z a", "a ModuleDict keeps the order of its pairs")
t.raises(function() return dict.missing end, "KeyError: 'missing'", "a ModuleDict raises KeyError")
t.done()
