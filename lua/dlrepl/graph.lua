-- graph.lua -- dlrepl.graph(loss): the autograd graph behind a tensor
--
--     dlrepl.graph(loss)            text at the prompt, a drawing in a notebook
--     dlrepl.graph(loss, model)     leaves by their names in the model, or in a table of names
--
-- The object has nodes, a list from the result down to the leaves: {name, shape, leaf, label,
-- inputs = places in the list}.
--
-- INVARIANT  A snapshot of names and shapes: it keeps no tensor and no graph alive. Every node
--            stands once, at most MOST of them.

local core = require "dlrepl.core"
local class = require "torch.nn.class"
local repr = require "dlrepl.pyrepr"

local meta = {__name = "graph", _rich = "graph"}

local MOST = 300
local DEEPEST = 60 -- levels of the text that are indented further

-- names[tensor] = name, of a model or of a table.
local function names_of(v)
  local names = {}
  if v == nil then return names end
  if class.is_module(v) then
    for name, p in v:named_parameters() do names[p] = name end
  elseif type(v) == "table" and not core.is_tensor(v) then
    for name, t in pairs(v) do
      if core.is_tensor(t) then names[t] = tostring(name) end
    end
  else
    core.raise("TypeError", "graph() expects a module or a table of tensors by name, but got "
               .. repr.typename(v))
  end
  return names
end

local function is_node(v)
  local mt = type(v) == "userdata" and debug.getmetatable(v)
  return mt and rawget(mt, "__name") == "Node" or false
end

-- The node to begin with.
local function root_of(v)
  if is_node(v) then return v end
  if not core.is_tensor(v) then
    core.raise("TypeError", "graph() expects a tensor or a grad_fn, but got " .. repr.typename(v))
  end
  if v.grad_fn then return v.grad_fn end
  core.raise("RuntimeError", "graph(): this tensor has no grad_fn",
             {kind = "autograd", notes = {v.requires_grad
               and "it is a leaf: ask for the graph of something computed from it"
               or "nothing it was computed from requires grad, or it was made under no_grad"}})
end

local function describe(fn, names)
  local _, shape = dlrepl._node_id(fn)
  local node = {name = fn:name(), shape = shape, inputs = {}}
  if node.name == "AccumulateGrad" then
    local leaf = fn.variable
    node.leaf, node.label = true, leaf and names[leaf]
  end
  return node
end

-- Breadth first: {nodes = list, missing = edges that were not followed}
local function walk(root, names)
  local nodes, place, queue, missing = {}, {}, {root}, 0
  local function visit(fn)
    local id = dlrepl._node_id(fn)
    if not place[id] then
      if #nodes == MOST then
        missing = missing + 1
        return nil
      end
      nodes[#nodes + 1] = describe(fn, names)
      place[id], queue[#nodes] = #nodes, fn
    end
    return place[id]
  end
  visit(root)
  local i = 0
  while i < #nodes do
    i = i + 1
    for _, pair in ipairs(queue[i].next_functions) do
      local at = is_node(pair[1]) and visit(pair[1])
      if at then table.insert(nodes[i].inputs, at) end
    end
  end
  return nodes, missing
end

-- "MulBackward0 [3]", "w [3] (leaf)"
local function words(node)
  local name = node.leaf and (node.label or "leaf") or node.name
  return name .. " " .. node.shape .. (node.leaf and node.label and " (leaf)" or "")
end

function meta.__tostring(self)
  local out, told = {}, {}
  local stack = {{1, 0}}
  while #stack > 0 do
    local at, depth = table.unpack(table.remove(stack))
    local node = self.nodes[at]
    local again = told[at] and #node.inputs > 0
    out[#out + 1] = string.rep("  ", math.min(depth, DEEPEST)) .. words(node)
                    .. (again and " (see above)" or "")
    if not told[at] then
      told[at] = true
      for i = #node.inputs, 1, -1 do stack[#stack + 1] = {node.inputs[i], depth + 1} end
    end
  end
  if self.missing > 0 then
    out[#out + 1] = string.format("(%d edges lead further)", self.missing)
  end
  return table.concat(out, "\n")
end

-- graph(result or grad_fn [, module or {name = leaf, …}])
return function(v, named)
  local root, names = root_of(v), names_of(named)
  local nodes, missing = walk(root, names)
  return setmetatable({nodes = nodes, missing = missing}, meta)
end
