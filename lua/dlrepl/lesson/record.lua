-- record.lua -- the engine's record of an answer's run, and questions to it
--
-- For judge.lua and, as r.rec, for a lesson's check. The record is kept in C and copied into a
-- table when the run has ended; nothing of it is a name of an answer's.
--
-- MUST NOT   be loaded by a session.

local questions = require "dlrepl.recorded"

local keep = dlrepl.debug.record
local pairs = pairs
local M = {}

-- run(fn, {watch=, exact=}) -> results (packed), record; or nil, record, the error
function M.run(fn, options)
  local r = keep(fn, options)
  for k, f in pairs(questions) do r[k] = f end
  if r.error ~= nil then return nil, r, r.error end
  return r.results, r
end

return M
