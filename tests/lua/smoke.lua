-- smoke.lua -- the few lines that must work whatever else does not
local t = require "tap"

t.is(1 + 1, 2, "Lua runs")
t.done()
