-- record.lua -- dlrepl.record(): what a program did, to look at from the prompt
--
--     r = dlrepl.record(function() train(model) end, {watch = model})
--     r                       some lines of summary
--     r.loader.wait  r:calls("mm")  r:hook_runs("forward")  r.memory.cpu.peak  …
--
-- The fields are those of docs/run-record.md.
--
-- MUST NOT   count anything itself.

local core = require "dlrepl.core"
local Record = require "dlrepl.recorded"

local meta = {__name = "record", __index = Record, __tostring = Record.text}

return function(fn, options)
  if type(fn) ~= "function" then
    core.raise("TypeError", "record() takes a function to run, but got " .. core.typename(fn),
               {notes = {"write dlrepl.record(function() … end)"}})
  elseif options ~= nil and type(options) ~= "table" then
    core.raise("TypeError", "record(): options are a table {watch=…, exact=…}, not "
               .. core.typename(options))
  end
  for k in pairs(options or {}) do
    if k ~= "watch" and k ~= "exact" then
      core.raise("TypeError", "record() got an unexpected keyword argument '" .. tostring(k) .. "'",
                 {notes = {"its options are {watch=…, exact=…}"}})
    end
  end
  return setmetatable(dlrepl.debug.record(fn, options), meta)
end
