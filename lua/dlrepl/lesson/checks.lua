-- checks.lua -- r, what a lesson's check function asks its questions of
--
-- For judge.lua. Each question has a name; the first that fails ends the check, with what was
-- measured, what was expected, and the id of the feedback that says why and what to look at next.
--
-- INVARIANT  No method of the answer's own values runs: tensors are read by functions kept from
--            before, numbers by type. NaN equals nothing.
-- MUST NOT   read what an answer printed or how it was written.

local core = require "dlrepl.core"
local ops = dlrepl.ops
local is_tensor, type, rawget, pairs = core.is_tensor, type, rawget, pairs
local abs, max, sqrt = math.abs, math.max, math.sqrt
local tensor = torch.Tensor
local to_cpu, to_double, to_list, size_of = tensor.cpu, tensor.double, tensor.tolist, tensor.size
local dtype_text, tostring = tostring, tostring

local M = {}
local Check = {}
Check.__index = Check

local stop = setmetatable({}, {__tostring = function() return "a check failed" end})
M.stop = stop

local function short(v)
  if v == nil then return "nothing (nil)" end
  if is_tensor(v) then
    return "a tensor " .. tostring(v.shape):gsub("^torch.Size%(?", ""):gsub("%)$", "") .. " "
      .. tostring(v.dtype)
  end
  if type(v) == "number" then
    return v == math.floor(v) and abs(v) < 1e15 and string.format("%d", v)
      or string.format("%.6g", v)
  end
  if type(v) == "table" then return "a table" end
  if type(v) == "function" then return "a function" end
  local text = tostring(v)
  return #text > 300 and text:sub(1, 300) .. " …" or text
end
M.short = short

local function fail(self, name, feedback, got, want)
  self.failed = {check = name, feedback = feedback, got = short(got), want = short(want)}
  error(stop, 0)
end

-- Note that a question was asked, and of which kind it is.
local function asked(self, name, kind)
  self.asked[#self.asked + 1] = name
  self.kinds[kind] = true
end

-- ok(name, condition, feedback, measured, expected)
function Check:ok(name, condition, feedback, got, want)
  asked(self, name, "state")
  if type(condition) == "boolean" and condition then return true end
  if condition ~= nil and type(condition) ~= "boolean" then
    error("r:ok takes true or false, not a " .. type(condition), 2)
  end
  fail(self, name, feedback, got, want)
end

-- is(name, measured, expected, feedback): the same number, text or boolean
function Check:is(name, got, want, feedback)
  asked(self, name, "state")
  if type(got) == type(want) and rawequal(got, want) then return true end
  if type(got) == "number" and type(want) == "number" and got == want then return true end
  fail(self, name, feedback, got, want)
end

-- ---- numbers ----------------------------------------------------------------------------------

local function flatten(v, into)
  if type(v) == "table" then
    for i = 1, #v do flatten(rawget(v, i), into) end
  else into[#into + 1] = v == true and 1 or v == false and 0 or v end
  return into
end

local function numbers(v)
  if type(v) == "number" then return {v} end
  if v:numel() > 6 then v = v:flatten()["0:7"] end
  return flatten(to_list(to_double(to_cpu(v:detach()))), {})
end

local unit = {["torch.float16"] = 1e-3, ["torch.bfloat16"] = 1e-2, ["torch.float64"] = 1e-10}

-- The tolerance of a dtype and of how many terms were added, relative to the largest value.
function M.tolerance(dtype, terms)
  return (unit[dtype_text(dtype)] or 1e-5) * sqrt(max(terms or 1, 1))
end

local function same_shape(a, b)
  if type(a) == "number" or type(b) == "number" then
    return (type(a) == "number" or a:numel() == 1) and (type(b) == "number" or b:numel() == 1)
  end
  return torch.Size and tostring(size_of(a)) == tostring(size_of(b))
end

local function wrong_value(v)
  if is_tensor(v) or type(v) == "number" then return nil end
  if type(v) == "table" and getmetatable(v) then return "a table that stands in for a value" end
  return short(v)
end

-- A tensor of these numbers on the CPU in float64; a number becomes a 0-dim tensor.
local function plain(v)
  if type(v) == "number" then return torch.tensor(v + 0.0, {dtype = torch.float64}) end
  return to_double(to_cpu(v:detach()))
end

-- The largest difference (NaN if there is one) and the largest expected value.
local function compare(got, want)
  local a, b = plain(got):flatten(), plain(want):flatten()
  if b:numel() == 0 then return 0, 0 end
  return (a - b):abs():max():item(), b:abs():max():item()
end

local function tell(v)
  local list = numbers(v)
  if #list > 6 then return short(v) end
  for i, x in ipairs(list) do list[i] = string.format("%.6g", x) end
  return table.concat(list, ", ")
end

-- near(name, measured, expected, feedback, {terms=, tol=}): tensors or numbers of the same shape,
-- within the tolerance of the dtype and of so many added terms. Says the measured difference.
function Check:near(name, got, want, feedback, options)
  asked(self, name, "value")
  options = options or {}
  local odd = wrong_value(got)
  if odd then fail(self, name, feedback, odd, short(want)) end
  if not same_shape(got, want) then fail(self, name, feedback, short(got), short(want)) end
  local worst, scale = compare(got, want)
  if worst ~= worst then fail(self, name, feedback, "NaN", tell(want)) end
  local tol = options.tol or M.tolerance(is_tensor(want) and want.dtype, options.terms)
  local limit = tol * max(scale, options.least or 1e-3)
  if worst <= limit then return true end
  fail(self, name, feedback, string.format("%s (off by %.2g)", tell(got), worst),
       string.format("%s (within %.1g)", tell(want), limit))
end

-- finite(name, value, feedback): every number is one
function Check:finite(name, v, feedback)
  asked(self, name, "value")
  local odd = wrong_value(v)
  if odd then fail(self, name, feedback, odd, "numbers") end
  if plain(v):isfinite():all():item() then return true end
  fail(self, name, feedback, "inf or NaN among them", "finite numbers")
end

-- same(name, before, after, feedback): bit for bit; for what an answer may not change
function Check:same(name, before, after, feedback)
  asked(self, name, "state")
  local odd = wrong_value(after)
  if odd then fail(self, name, feedback, odd, short(before)) end
  if same_shape(before, after) and torch.equal(plain(before), plain(after)) then return true end
  local off = same_shape(before, after) and compare(after, before)
  fail(self, name, feedback, off and string.format("changed by %.2g", off) or short(after),
       "as it was before")
end

-- loss_below(name, losses, limit, feedback, steps): the last of a list of numbers, or that after so
-- many steps. Never the only check.
function Check:loss_below(name, losses, limit, feedback, steps)
  asked(self, name, "loss")
  local last = type(losses) == "table" and rawget(losses, steps or #losses) or losses
  if type(last) == "number" and last < limit then return true end
  fail(self, name, feedback, last, "below " .. limit)
end

-- new(record) -> r
function M.new(record)
  local self = setmetatable({asked = {}, kinds = {}, rec = record}, Check)
  return self
end

for name, check in pairs(require("dlrepl.lesson.ready").checks) do Check[name] = check end

M.Check = Check
return M
