-- help_examples.lua -- every example of help runs and prints what its page says
--
-- For lua/dlrepl/help: one test an entry, then that no public name lacks help.

local tap = require "tap"
local data = require "dlrepl.help.data"

-- A line of an example, as the prompt runs it: an expression's values, one text each.
local function run_line(code, env)
  local chunk, why = load("return " .. code, "=example", "t", env)
  if not chunk then chunk, why = load(code, "=example", "t", env) end
  if not chunk then error(why, 0) end
  local values = table.pack(chunk())
  local texts = {}
  for i = 1, values.n do
    local v = values[i]
    texts[i] = type(v) == "string" and string.format("%q", v) or tostring(v)
  end
  return table.concat(texts, "\n")
end

-- What the last line prints.
local function run_entry(entry)
  local env, last = setmetatable({}, {__index = _G}), ""
  for _, step in ipairs(entry.example) do
    local printed = run_line(step.code, env)
    local wanted = table.concat(step.prints, "\n")
    if wanted ~= "" and printed ~= wanted then
      error("`" .. step.code .. "` prints\n" .. printed .. "\nnot\n" .. wanted, 0)
    end
    last = printed
  end
  return last
end

local without = {}
for _, name in ipairs(data.names()) do
  local entry = data.get(name)
  local says = false
  for _, step in ipairs(entry.example) do says = says or #step.prints > 0 end
  local ok, why = pcall(run_entry, entry)
  if ok and not says and why ~= "" then without[#without + 1] = name end
  tap.ok(ok and #entry.example > 0, "the example of " .. name .. " runs as it says")
  if not ok then tap.diag(tostring(why)) end
end
tap.is(table.concat(without, " "), "", "every example says what it prints")

-- ---- nothing lacks help ------------------------------------------------------------------------

local function lacking(prefix, room)
  local missing = {}
  for key, v in pairs(room) do
    if type(key) == "string" and key:sub(1, 1) ~= "_"
       and not (type(v) == "table" and rawget(v, "__dl_module")) then
      local text = dlrepl._inspect(prefix .. key, 1, 80)
      if not text then missing[#missing + 1] = prefix .. key
      end
    end
  end
  table.sort(missing)
  return table.concat(missing, " ")
end

local _ = nn.Linear, F.gumbel_softmax, dlrepl.doctor, dlrepl.progress, dlrepl.plot, dlrepl.show
for prefix, room in pairs {
  ["torch."] = torch, ["F."] = F, ["nn."] = nn, ["nn.init."] = nn.init, ["optim."] = optim,
  ["nn.utils."] = nn.utils, ["torch.utils.data."] = torch.utils.data, ["np."] = np,
  ["torchvision.datasets."] = torchvision.datasets, ["dlrepl."] = dlrepl,
  ["dlrepl.plot."] = dlrepl.plot,
  ["torchvision.transforms."] = torchvision.transforms, ["torch.cuda."] = torch.cuda,
  ["torch.autograd."] = torch.autograd, ["torch.nn.Module."] = nn.Module,
  ["torch.optim.Optimizer."] = optim.Optimizer} do
  tap.is(lacking(prefix, room), "", "nothing of " .. prefix:gsub("%.$", "") .. " lacks help")
end

local missing = {}
local meta = debug.getmetatable(torch.empty(0))
local _, methods = debug.getupvalue(rawget(meta, "__index"), 1)
for key in pairs(methods) do
  if key:sub(1, 1) ~= "_" and not dlrepl._inspect("torch.Tensor." .. key, 1, 80) then
    missing[#missing + 1] = key
  end
end
table.sort(missing)
tap.is(table.concat(missing, " "), "", "no method or property of a tensor lacks help")

-- ---- pages -------------------------------------------------------------------------------------

local function widest(columns)
  local most = 0
  for _, name in ipairs(data.names()) do
    local text = dlrepl._inspect(name, 0, columns) or ""
    for line in text:gmatch("[^\n]+") do most = math.max(most, utf8.len(line) or #line) end
  end
  return most
end
tap.ok(widest(40) <= 40, "pages fit into 40 columns")
tap.ok(widest(100) <= 100, "pages fit into 100 columns")
x = torch.ones(2, 3)
tap.like(dlrepl._inspect("x:sum", 1, 80), "^torch.sum, x:sum\n", "x:sum is found by its value")
tap.like(dlrepl._inspect("torch.max(x, {", 1, 80), "^torch.max", "inside a call: its function")
tap.like(dlrepl._inspect("torch.max", 1, 80), "defaults +keepdim=False\n", "defaults are told")
tap.like(dlrepl._inspect("optim.Adam", 1, 99), "betas=%(0.9, 0.999%), eps", "those of pairs too")
tap.like(dlrepl._inspect("torch.matmul", 1, 80), "PyTorch +torch.tensor.* @ torch.tensor",
         "a page has PyTorch's spelling where it differs")
tap.like(dlrepl._inspect("torch.max", 1, 80), "PyTorch +values, indices = torch.tensor%(%[%[",
         "that of the whole example")
tap.like(dlrepl._inspect("x:abs_", 1, 80), "x:abs_ writes the result into x", "in-place forms")
tap.is(dlrepl._inspect("torch.nonsense"), nil, "an unknown name has no page")
tap.is(dlrepl._inspect("x:sum_"), nil, "nor has an in-place form that is not there")
tap.like(dlrepl._inspect("CrossEntropyLoss"), "^nn.CrossEntropyLoss\n", "a last name is enough")
for _, room in ipairs {"torch", "nn", "F", "optim", "np", "dlrepl", "torch.utils",
                       "torchvision"} do
  tap.like(dlrepl._inspect(room) or "", ":\n  %w+", room .. " has a page of its names")
end
tap.done()
