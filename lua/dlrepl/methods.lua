-- methods.lua -- a method that was called with a dot says so
--
--     methods.guard(Module, is_module, "Module", "net")
--
-- model.eval() hands no object to the method. So that the answer is a sentence about the call, and
-- no line of ours, each public method of a class looks at its first argument.
--
-- INVARIANT  A method that is called as it should be behaves as before.

local core = require "dlrepl.core"
local repr = require "dlrepl.pyrepr"

local raise = core.raise
local M = {}

local function wrong(class_name, name, like, self, given)
  local call = like .. ":" .. name .. (given and "(…)" or "()")
  local notes = {"a method is called with a colon: " .. call}
  if self == nil then
    raise("TypeError", string.format("%s.%s() missing 1 required positional argument: 'self'",
          class_name, name), {kind = "argument", notes = notes})
  end
  raise("TypeError", string.format("%s.%s(): argument 'self' must be %s, not %s", class_name, name,
        class_name, repr.typename(self)), {kind = "argument", notes = notes})
end

-- Methods of `class` whose names begin with a letter, but for `except` (a set). is_instance(v)
-- tells objects of it, `like` is what the note calls one.
function M.guard(class, is_instance, class_name, like, except)
  for name, f in next, class do
    if type(f) == "function" and type(name) == "string" and name:find("^%a")
       and not (except and except[name]) then
      class[name] = function(self, ...)
        if not is_instance(self) then
          wrong(class_name, name, like, self, self ~= nil or select("#", ...) > 0)
        end
        return f(self, ...)
      end
    end
  end
end

return M
