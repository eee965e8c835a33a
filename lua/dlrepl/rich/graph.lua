-- graph.lua -- an autograd graph as an SVG drawing
--
-- For rich.lua: what dlrepl.graph gives, and a grad_fn. The result stands at the bottom, leaves
-- above what was computed from them, arrows run the way the numbers went. Nodes are put on layers
-- by their longest way from the result; an edge over several layers bends through places of its
-- own.
-- SOURCE     Sugiyama, Tagawa, Toda 1981 (layers, order by barycentre).
--
-- INVARIANT  Nodes of a layer do not overlap. All that a user named is escaped.

local draw = require "dlrepl.rich.draw"
local html = require "dlrepl.rich.html"

local M = {}

local LETTER, PAD, HIGH = 7.5, 16, 36  -- pixels: of a character, beside a text, of a box
local GAP, RISE, EDGE = 18, 66, 12    -- between boxes, from layer to layer, around all
local BEND = 10                       -- width of the place an edge bends through
local SWEEPS, MOST_PLACES = 8, 4000
local LEAF, INNER, LAST = "#dcefdc", "#eef2f7", "#fde8d0"

-- ---- layers -----------------------------------------------------------------------------------

-- Layers by the longest way from node 1, which is 0.
local function depths(nodes)
  local inward, depth, ready = {}, {}, {}
  for i = 1, #nodes do inward[i], depth[i] = 0, 0 end
  for _, node in ipairs(nodes) do
    for _, j in ipairs(node.inputs) do inward[j] = inward[j] + 1 end
  end
  for i = 1, #nodes do
    if inward[i] == 0 then ready[#ready + 1] = i end
  end
  while #ready > 0 do
    local i = table.remove(ready)
    for _, j in ipairs(nodes[i].inputs) do
      depth[j] = math.max(depth[j], depth[i] + 1)
      inward[j] = inward[j] - 1
      if inward[j] == 0 then ready[#ready + 1] = j end
    end
  end
  return depth
end

local function label(node)
  return html.cut(node.leaf and (node.label or "leaf") or node.name, 40)
end

local function place(layers, layer, width)
  local p = {layer = layer, width = width, up = {}, down = {}, x = 0}
  layers[layer] = layers[layer] or {}
  table.insert(layers[layer], p)
  return p
end

local function join(below, above)
  table.insert(below.up, above)
  table.insert(above.down, below)
end

-- Every node and every bend as a place of a layer; the chains of places are the edges.
local function build(nodes)
  local depth, layers, at, edges, total = depths(nodes), {}, {}, {}, #nodes
  for i, node in ipairs(nodes) do
    local wide = math.max(utf8.len(label(node)) or 0, #node.shape)
    at[i] = place(layers, depth[i], wide * LETTER + PAD)
    at[i].node = node
  end
  for i, node in ipairs(nodes) do
    for _, j in ipairs(node.inputs) do
      local chain = {at[i]}
      for layer = depth[i] + 1, depth[j] - 1 do
        if total < MOST_PLACES then
          total = total + 1
          chain[#chain + 1] = place(layers, layer, BEND)
        end
      end
      chain[#chain + 1] = at[j]
      for k = 2, #chain do join(chain[k - 1], chain[k]) end
      edges[#edges + 1] = chain
    end
  end
  return layers, at, edges
end

-- ---- order and place --------------------------------------------------------------------------

local function mean(list, field, otherwise)
  if #list == 0 then return otherwise end
  local sum = 0
  for _, p in ipairs(list) do sum = sum + p[field] end
  return sum / #list
end

local function number(layer) for i, p in ipairs(layer) do p.order = i end end

local function sort_layer(layer, side)
  for i, p in ipairs(layer) do p.want, p.before = mean(p[side], "order", i), i end
  table.sort(layer, function(a, b)
    if a.want ~= b.want then return a.want < b.want end
    return a.before < b.before
  end)
  number(layer)
end

-- Move the places of a layer towards their neighbours on one side, without overlap.
local function settle(layer, side)
  local reach, shift = -math.huge, 0
  for _, p in ipairs(layer) do
    local want = side and mean(p[side], "x", p.x) or p.x
    local x = math.max(want, reach + p.width / 2)
    shift = shift + (want - x)
    p.x, reach = x, x + p.width / 2 + GAP
  end
  shift = shift / #layer
  for _, p in ipairs(layer) do p.x = p.x + shift end
end

local function arrange(layers)
  for d = 0, #layers do number(layers[d]) end
  for _ = 1, SWEEPS do
    for d = 1, #layers do sort_layer(layers[d], "down") end
    for d = #layers - 1, 0, -1 do sort_layer(layers[d], "up") end
  end
  for d = 0, #layers do settle(layers[d]) end
  for _ = 1, SWEEPS do
    for d = 1, #layers do settle(layers[d], "down") end
    for d = #layers - 1, 0, -1 do settle(layers[d], "up") end
  end
end

-- ---- drawing ----------------------------------------------------------------------------------

local function move_to_corner(layers)
  local left, right = math.huge, -math.huge
  for d = 0, #layers do
    for _, p in ipairs(layers[d]) do
      left, right = math.min(left, p.x - p.width / 2), math.max(right, p.x + p.width / 2)
      p.y = EDGE + HIGH / 2 + (#layers - d) * RISE
    end
  end
  for d = 0, #layers do
    for _, p in ipairs(layers[d]) do p.x = p.x - left + EDGE end
  end
  return right - left + 2 * EDGE, #layers * RISE + HIGH + 2 * EDGE
end

local function box(out, p, is_last)
  local node = p.node
  out[#out + 1] = string.format('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="4" fill="%s" '
    .. 'stroke="#99a"/>', p.x - p.width / 2, p.y - HIGH / 2, p.width, HIGH,
    node.leaf and LEAF or is_last and LAST or INNER)
  out[#out + 1] = string.format('<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>', p.x,
                                p.y - 3, html.escape(label(node)))
  out[#out + 1] = string.format('<text x="%.1f" y="%.1f" text-anchor="middle" fill="#667" '
    .. 'font-size="11">%s</text>', p.x, p.y + 12, html.escape(node.shape))
end

-- From the last place of the chain, which is above, down to the first.
local function arrow(out, chain)
  local parts, n = {}, #chain
  local x, y = chain[n].x, chain[n].y + HIGH / 2
  parts[1] = string.format("M%.1f %.1f", x, y)
  for k = n - 1, 1, -1 do
    local to = chain[k]
    local ty = k == 1 and to.y - HIGH / 2 - 5 or to.y
    local middle = (y + ty) / 2
    parts[#parts + 1] = string.format("C%.1f %.1f %.1f %.1f %.1f %.1f", x, middle, to.x, middle,
                                      to.x, ty)
    x, y = to.x, ty
  end
  out[#out + 1] = '<path d="' .. table.concat(parts)
                  .. '" fill="none" stroke="#889" marker-end="url(#tip)"/>'
end

local TIP = '<defs><marker id="tip" markerWidth="7" markerHeight="7" refX="2" refY="3" '
  .. 'orient="auto"><path d="M0 0L6 3L0 6z" fill="#889"/></marker></defs>'

-- The drawing of a graph, as dlrepl.graph gives it.
function M.svg(graph)
  local layers, at, edges = build(graph.nodes)
  arrange(layers)
  local width, height = move_to_corner(layers)
  local out = {TIP}
  for _, chain in ipairs(edges) do arrow(out, chain) end
  for i, p in ipairs(at) do box(out, p, i == 1) end
  return draw.svg(math.ceil(width), math.ceil(height), out)
end

function M.bundle(v)
  local text = tostring(v)
  if type(v) == "userdata" then v = dlrepl.graph(v) end
  return {["text/plain"] = text, ["image/svg+xml"] = M.svg(v)}
end

return M
