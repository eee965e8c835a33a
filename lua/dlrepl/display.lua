-- display.lua -- dlrepl.display(value): show a value in the middle of a cell, and change it later
--
--     dlrepl.display(model)
--     local d = dlrepl.display("starting", {display_id = true})
--     d:update(dlrepl.plot(losses))          replaces what was shown
--
-- In a notebook it looks as the value of a cell does; elsewhere it is printed as the prompt prints.
-- IPython's display() and its display_id are the model.

local core = require "dlrepl.core"
local rich = require "dlrepl.rich"

local methods, meta = {}, {__name = "DisplayHandle"}
meta.__index = methods

local function send(value, id, update)
  local kernel = rich.kernel()
  if not kernel then
    print(dlrepl._text(value, dlrepl._columns(io.stdout)))
    return
  end
  local data, metadata = rich.bundle(value)
  kernel.display(data, metadata, id, update)
end

-- Replace what is shown, in whichever cell it is.
function methods.update(self, value) send(value, self.display_id, true) end

function meta.__tostring(self) return "<DisplayHandle display_id=" .. self.display_id .. ">" end

local function check(options)
  for key in pairs(options or {}) do
    if key ~= "display_id" then
      core.raise("TypeError", "display() got an unexpected keyword argument '" .. tostring(key)
                 .. "'", {notes = {"options: display_id"}})
    end
  end
  local id = options and options.display_id
  if not id then return nil end
  return type(id) == "string" and id or require("dlrepl.rich.board").id("display")
end

-- dlrepl.display(value, {display_id = true or a name}) -> a handle with update(value) where a
-- display_id was asked for, else nothing.
return function(value, options)
  local id = check(options)
  send(value, id, false)
  if id then return setmetatable({display_id = id}, meta) end
end
