-- command.lua -- the commands of lessons, by name
--
-- For lesson.c. run(name, rest) does what the command says and returns the next text that the
-- session shall run, and whether quietly; after(ok, kind, error) is told what became of it.
--
-- MUST NOT   do anything itself.

local answers = require "dlrepl.lesson.answers"
local manage = require "dlrepl.lesson.manage"
local play = require "dlrepl.lesson.play"

local M = {}

function M.run(name, rest)
  play.P.queue = {}
  local f = answers[name] or manage[name]
  f(rest)
  return play.pump()
end

M.after = play.after

return M
