-- command.lua -- %reset and %gpu
--
-- For src/repl/command.c: each function gets what follows the command's name.

local core = require "dlrepl.core"

local torch, raise = core.torch, core.raise
local M = {}

-- ---- %reset -----------------------------------------------------------------------------------

local QUESTION = "Once deleted, variables cannot be recovered. Proceed (y/[n])? "

-- A line from the person who typed the command; nil where nobody can be asked.
local function ask(question)
  local kernel = rawget(dlrepl, "kernel")
  if kernel and kernel.active then
    local ok, reply = pcall(kernel.input, question, false)
    return ok and reply or nil
  elseif dlrepl._isatty(io.stdin) and dlrepl._isatty(io.stdout) then
    io.write(question)
    io.flush()
    return io.read("l") or ""
  end
end

function M.reset(rest)
  if rest ~= "" and rest ~= "-f" then
    raise("ValueError", "%reset takes -f (do not ask) or nothing, not '" .. rest .. "'")
  end
  local reply = rest == "-f" and "y" or ask(QUESTION)
  if not reply then
    raise("RuntimeError", "%reset asks first, and nobody can be asked here",
          {notes = {"%reset -f does not ask"}})
  end
  if reply:lower():find("^%s*y") then dlrepl._forget() else print("Nothing done.") end
end

-- ---- %gpu -------------------------------------------------------------------------------------

local function found(name)
  local ok, v = pcall(function() return dlrepl[name] end)
  return ok and v or nil
end

-- What torch.device("cuda") stands for now.
local function tell()
  if not torch.cuda.is_available() then
    print("no GPU: torch.cuda.is_available() is false; %gpu sim:t4 simulates one")
    return
  end
  for i = 0, torch.cuda.device_count() - 1 do
    print(string.format("cuda:%d  %s", i, torch.cuda.get_device_name(i)))
  end
end

function M.gpu(rest)
  if rest == "" then return tell() end
  local card = rest:match("^sim:([%w_-]+)$")
  if not card then
    raise("ValueError", "%gpu takes the name of a simulated card, not '" .. rest .. "'",
          {notes = {"as in %gpu sim:t4; %gpu alone tells what there is"}})
  end
  local simulate = found("simulate")
  if not simulate then raise("RuntimeError", "this dlrepl was built without simulated GPUs") end
  simulate(card)
  tell()
end

return M
