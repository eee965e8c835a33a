-- guard.lua -- "with" in Lua: a state that is put back at the end, whatever happens
--
-- For torch/*.lua. PyTorch's `with torch.cuda.device(1): …` is
--     torch.cuda.device(1, function() … end)   or   local _ <close> = torch.cuda.device(1)
--
-- INVARIANT  leave() runs once, also after an error.

local core = require "dlrepl.core"

local M = {}

local meta = {__name = "guard"}
function meta.__close(g) g:exit() end
meta.__index = meta
function meta.exit(g)
  local leave = g.leave
  g.leave = nil
  if leave then leave() end
end

-- M.enter(leave, fn, ...): with a function, call it and give back its results after leave();
-- without one, the guard itself.
function M.enter(leave, fn, ...)
  local g = setmetatable({leave = leave}, meta)
  if fn == nil then return g end
  local close <close> = g
  core.check_callable(fn)
  return fn(...)
end

return M
