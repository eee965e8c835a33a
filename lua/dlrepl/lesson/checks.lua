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
local is_tensor, type, rawget = core.is_tensor, type, rawget
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

-- near(name, measured, expected, feedback, {terms=, tol=}): tensors or numbers of the same shape,
-- within the tolerance of the dtype and of so many added terms. Says the measured difference.
function Check:near(name, got, want, feedback, options)
  asked(self, name, "value")
  options = options or {}
  local odd = wrong_value(got)
  if odd then fail(self, name, feedback, odd, short(want)) end
  if not same_shape(got, want) then fail(self, name, feedback, short(got), short(want)) end
  local a, b, worst, scale = numbers(got), numbers(want), 0, 0
  for i = 1, #b do scale = max(scale, abs(b[i])) end
  for i = 1, #b do
    local d = abs(a[i] - b[i])
    if d ~= d or a[i] ~= a[i] then fail(self, name, feedback, "NaN", short(want)) end
    worst = max(worst, d)
  end
  local tol = options.tol or M.tolerance(is_tensor(want) and want.dtype, options.terms)
  local limit = tol * max(scale, options.least or 1e-3)
  if worst <= limit then return true end
  local function tell(v) return #b <= 6 and table.concat(self.tell(v), ", ") or short(want) end
  fail(self, name, feedback, string.format("%s (off by %.2g)", tell(a), worst),
       string.format("%s (within %.1g)", tell(b), limit))
end

-- finite(name, value, feedback): every number is one
function Check:finite(name, v, feedback)
  asked(self, name, "value")
  local odd = wrong_value(v)
  if odd then fail(self, name, feedback, odd, "numbers") end
  for _, x in ipairs(numbers(v)) do
    if x ~= x or abs(x) == math.huge then
      fail(self, name, feedback, tostring(x), "finite numbers")
    end
  end
  return true
end

-- same(name, before, after, feedback): bit for bit; for what an answer may not change
function Check:same(name, before, after, feedback)
  asked(self, name, "state")
  local odd = wrong_value(after)
  if odd then fail(self, name, feedback, odd, short(before)) end
  local a, b = numbers(before), numbers(after)
  for i = 1, max(#a, #b) do
    if a[i] ~= b[i] then
      fail(self, name, feedback, "number " .. i .. " is " .. tostring(b[i]),
           "as before: " .. tostring(a[i]))
    end
  end
  return true
end

-- loss_below(name, losses, limit, feedback): the last of a list of numbers. Never the only check.
function Check:loss_below(name, losses, limit, feedback)
  asked(self, name, "loss")
  local last = type(losses) == "table" and rawget(losses, #losses) or losses
  if type(last) == "number" and last < limit then return true end
  fail(self, name, feedback, last, "below " .. limit)
end

-- new(record) -> r
function M.new(record)
  local self = setmetatable({asked = {}, kinds = {}, rec = record}, Check)
  self.tell = function(list)
    local out = {}
    for i, x in ipairs(list) do out[i] = string.format("%.6g", x) end
    return out
  end
  return self
end

M.Check = Check
return M
