-- layer.lua -- how the layers of torch.nn are written down: a row of names instead of a class body
--
--     layer("ELU", "number alpha=1.0, bool inplace=False", {
--       forward = function(self, x) … end, repr = "alpha={alpha}{, inplace}" })
--
-- INVARIANT  A layer keeps its arguments as attributes of the same names, as PyTorch does.

local args = require "dlrepl.args"
local repr = require "dlrepl.pyrepr"
local Module = require "torch.nn.module"

-- "{name}" becomes the attribute; "{, name}" becomes ", name=True" if it is true, "{name?}"
-- "name=True".
local function fill(self, template)
  return (template:gsub("{(.-)}", function(slot)
    local flag = slot:match("^, ([%w_]+)$")
    if flag then return self[flag] and ", " .. flag .. "=True" or "" end
    flag = slot:match("^([%w_]+)%?$")
    if flag then return self[flag] and flag .. "=True" or "" end
    return repr.str(self[slot])
  end))
end

-- layer(name, parameters, {init =, forward =, repr = template or function}, base)
local function layer(name, params, def, base)
  local class = (base or Module):class(name)
  local signature = name .. ".__init__(" .. params .. ")"
  local read, sig = args(signature)
  local names = {}
  for i, p in ipairs(sig.params) do names[i] = p.name end
  local init, skip = def.init, def.skip or {}
  function class.init(self, ...)
    local values = {read(...)}
    for i, key in ipairs(names) do
      if not skip[key] then self[key] = values[i] end
    end
    if init then return init(self, table.unpack(values, 1, #names)) end
  end
  class.forward = def.forward
  class.__signature = params -- for help
  local template = def.repr
  if type(template) == "function" then class.extra_repr = template
  elseif template then
    function class.extra_repr(self) return fill(self, template) end
  end
  return class
end

return layer
