-- module.lua -- a module as a tree to open and close, with the number of its parameters
--
-- For rich.lua. A module opens to its children and to its own parameters and buffers.
--
-- INVARIANT  A parameter that is shared is counted once in every sum; at most MOST modules are
--            written.

local core = require "dlrepl.core"
local class = require "torch.nn.class"
local html = require "dlrepl.rich.html"

local M = {}

local escape, thousands = html.escape, html.thousands
local MOST, DEEP, LONG = 300, 1, 160 -- modules; levels that begin open; characters of a line
local GREY = ' style="opacity:0.65"'

-- {all =, trained =, bytes =} of the parameters of a tree, each once
local function count(module)
  local sum = {all = 0, trained = 0, bytes = 0}
  for p in module:parameters() do
    local n = p:numel()
    sum.all = sum.all + n
    sum.bytes = sum.bytes + n * p:element_size()
    if p.requires_grad then sum.trained = sum.trained + n end
  end
  return sum
end

local function title(module)
  local extra = module:extra_repr():gsub("\n", ", ")
  return html.cut(module:_get_name() .. "(" .. extra .. ")", LONG)
end

local function tensor_line(name, t, frozen)
  if rawequal(t, core.None) then return "<div>" .. escape(name) .. ": None</div>" end
  local shape, dtype = tostring(t.shape):match("%[.*%]"), tostring(t.dtype):gsub("^torch%.", "")
  return string.format("<div><code>%s</code> <span%s>%s · %s · %s%s</span></div>", escape(name),
                       GREY, shape, dtype, tostring(t.device), frozen)
end

-- Its own parameters and buffers, a line each.
local function own(module, out)
  for name, p in pairs(module._parameters) do
    local still = not rawequal(p, core.None) and not p.requires_grad
    out[#out + 1] = tensor_line(name, p, still and " · frozen" or "")
  end
  for name, b in pairs(module._buffers) do out[#out + 1] = tensor_line(name, b, " · buffer") end
end

local function line(module, name, seen)
  local n = count(module).all
  local again = seen[module] and " · shared" or ""
  local label = name and "<code>(" .. escape(name) .. "): </code>" or ""
  local sum = n > 0 and string.format(" <span%s>%s parameter%s%s</span>", GREY, thousands(n),
                                      n == 1 and "" or "s", again) or again
  return label .. "<code>" .. escape(title(module)) .. "</code>" .. sum
end

-- Append the lines of a module and what is below it; state: seen, left.
local function tree(module, name, depth, state, out)
  class.adopt(module)
  if state.left == 0 then
    state.more = state.more + 1
    return
  end
  state.left = state.left - 1
  local inner, head = {}, line(module, name, state.seen)
  if not state.seen[module] then
    state.seen[module] = true
    own(module, inner)
    for child_name, child in pairs(module._modules) do
      if not rawequal(child, core.None) then tree(child, child_name, depth + 1, state, inner) end
    end
  end
  if #inner == 0 then
    out[#out + 1] = '<div style="padding-left:1em">' .. head .. "</div>"
    return
  end
  out[#out + 1] = (depth < DEEP and "<details open>" or "<details>") .. "<summary>" .. head
    .. '</summary><div style="padding-left:1.3em">'
  table.move(inner, 1, #inner, #out + 1, out)
  out[#out + 1] = "</div></details>"
end

function M.bundle(module)
  local sum, state, out = count(module), {seen = {}, left = MOST, more = 0}, {}
  tree(module, nil, 0, state, out)
  if state.more > 0 then
    out[#out + 1] = "<div>… " .. html.counted(state.more, "more module") .. "</div>"
  end
  local words = html.counted(sum.all, "parameter")
  if sum.trained ~= sum.all then words = words .. ", " .. thousands(sum.trained) .. " trainable" end
  local foot = string.format("<div%s>%s · %s%s</div>", GREY, words, html.bytes(sum.bytes),
                             module.training and "" or " · eval mode")
  return {["text/html"] = '<div class="dlrepl-module">' .. table.concat(out) .. foot .. "</div>"}
end

return M
