-- collect.lua -- runs a test file with a full collection before every op that Lua calls
--
-- Usage: dlrepl collect.lua FILE      (TAP of FILE)
-- What the binding borrows from the stack must be anchored there: a box that dies too early shows.

dlrepl.debug.collect_always(true)
local file = arg[1]
arg = {[0] = file}
assert(loadfile(file, "t"))()
