-- repl_complete.lua -- what Tab offers, and that nothing of the user's runs for it
--
-- For src/repl/complete.c and path.c, through dlrepl._complete(text).

local tap = require "tap"

local function offered(text)
  local _, names, kinds = dlrepl._complete(text)
  return table.concat(names, " "), kinds
end

local function offers(text, want, name)
  local have = " " .. offered(text) .. " "
  for word in want:gmatch("%S+") do
    if not have:find(" " .. word .. " ", 1, true) then
      tap.is(have, word, name)
      return
    end
  end
  tap.ok(true, name)
end

x = torch.ones(2, 3, {requires_grad = true})
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
opt = optim.SGD(model:parameters(), {lr = 0.1})
plain = setmetatable({alpha = 1, beta = print}, {__index = {gamma = 2}})
calls = 0
trap = setmetatable({open = 1}, {
  __index = function() calls = calls + 1 while true do end end,
  __pairs = function() calls = calls + 1 error("no") end,
  __len = function() calls = calls + 1 error("no") end,
  __tostring = function() calls = calls + 1 error("no") end})
hidden = setmetatable({inside = 1}, {__metatable = false})

offers("tor", "torch torchvision", "globals, those that are loaded later too")
offers("Data", "DataLoader Dataset", "classes among them")
offers("torch.sa", "save", "functions of torch that are loaded when they are used")
offers("", "torch nn F optim print x", "everything at the beginning of a line")
offers("wh", "while", "words of Lua")
offers("%ti", "%time %timeit", "commands that begin with %")
offers("%time torch.zer", "zeros zeros_like", "code after a command that runs code")
offers("%run lessons/", "tour.lua", "files after one that runs a file")
offers(":sk", ":skip", "a lesson's commands after :")
offers(":check do\ntorch.zer", "zeros zeros_like", "code below a command in a cell")
offers("%help load", "load_history", "commands after %help")
offers("x:su", "sum sub", "methods of a tensor")
offers("x.sh", "shape", "its properties")
offers("x.su", "sum", "its methods after a dot where no property fits")
tap.is(offered("x:sh"), "share_memory_ short", "no properties after a colon")
offers("x.T:", "sum matmul", "methods of a property's value")
offers("x:sum():", "mean item", "methods of an operation's result")
offers("torch.ones(3, {dtype=torch.int64}):me", "mean median", "of a function's with arguments")
offers("model(x):ma", "matmul max", "of a layer's")
offers("('a'):re", "rep reverse", "methods of a string")
offers("model:par", "parameters", "methods of a module")
offers("model[0].we", "weight", "parameters of a child by number")
offers("model[0].weight:si", "size sin", "and on from there")
offers("opt.pa", "param_groups", "fields of an optimizer")
offers("opt:z", "zero_grad", "its methods")
offers("plain.", "alpha beta gamma", "fields of a table and of the table behind it")
offers("hidden.in", "inside", "a table that hides its metatable")
offers("F.re", "relu relu6", "F's functions that are loaded later")
offers("nn.Li", "Linear", "layers")
offers("nn.init.z", "zeros_", "functions of nn.init")
offers("optim.", "SGD Adam AdamW", "optimizers")
offers("torch.utils.", "data", "folders of torch.utils")
offers("torch.utils.data.D", "DataLoader Dataset", "and what is in them")
offers("dlrepl.do", "doctor", "our own")
offers("x:sum{", "dim keepdim dtype", "keyword names of an operation")
offers("x:sum(1, {ke", "keepdim", "in a table after arguments")
offers("torch.zeros(2, {dtype=torch.int64, re", "requires_grad", "after another keyword")
offers("nn.Linear(3, 4, {", "bias", "of a layer")
offers("optim.SGD(model:parameters(), {mo", "momentum", "of an optimizer")
offers("F.gumbel_softmax(x, {", "tau hard", "of a function written in Lua")
offers("torch.tensor({1}, {", "dtype requires_grad", "of a function written by hand")
offers("torch.addcmul(x, x, x, {va", "value", "of one that is given by name only")
offers("torch.add(x, x, {o", "out", "out= where it is taken")
offers("lerp = x:lerp(x, {", "End weight", "a word of Lua as PyTorch's name")
offers("for i = 1, 2 do\n  x:su", "sum", "in the lines of a chunk")
offers("io.open('tests/lua/t", "tap.lua", "files in a string")
offers("io.open(\"tes", "tests/", "folders")
tap.is(offered("-- tor"), "", "nothing in a comment")
tap.is(offered("3."), "", "nothing in a number")
tap.is(offered("none.such."), "", "nothing for what is not there")
tap.is(offered("torch.nonsense."), "", "nor behind a name that raises")

offers("trap.", "open", "a table with metamethods shows its own fields")
tap.is(offered("trap.closed."), "", "what only its metamethod knows is unknown")
offered("trap:") offered("trap[1].") offered("trap.open.")
tap.is(calls, 0, "no metamethod of the user's was called")

local _, kinds = offered("x:sum{")
tap.is(kinds.dim, "parameter", "candidates say what they are: a parameter")
_, kinds = offered("nn.Li")
tap.is(kinds.Linear, "class", "a class")
_, kinds = offered("x.sh")
tap.is(kinds.shape, "property", "a property")
local start = dlrepl._complete("y = x:su")
tap.is(start, 6, "and where the word begins")

local before = dlrepl.clock()
for _ = 1, 5 do offered("torch.") offered("x:") offered("nn.") offered("") end
tap.ok(dlrepl.clock() - before < 0.4, "a completion takes less than 20 ms")
for _, text in ipairs {"\0", "\xff\xfe.", "x:su\0", ("a."):rep(3000), ("("):rep(5000),
                       ("{"):rep(5000) .. "x", "[[", "x[", "x[\"", ")", "a.b:c.", "..", "?x:su"} do
  offered(text)
  dlrepl._inspect(text)
end
tap.ok(true, "odd texts end")

tap.is(dlrepl._is_complete("x = 1"), "complete", "a whole line is complete")
tap.is(dlrepl._is_complete("for i = 1, 2 do"), "incomplete", "an open loop wants more")
tap.is(dlrepl._is_complete("x = = 1"), "invalid", "what is no Lua is invalid")
tap.is(dlrepl._is_complete("x:sum?"), "complete", "a question is complete")
tap.done()
