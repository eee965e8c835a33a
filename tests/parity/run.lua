-- run.lua -- the parity cases: programs that must print what PyTorch prints
--
--     ./dlrepl tests/parity/run.lua [--cuda] [file.jsonl …] [id part]
--
-- With --cuda the programs that draw no random numbers run with cuda as the default device, on a
-- simulated card where there is no real one; they must print the same, but for device='cuda:0'.
--
-- Every line of a .jsonl file is {id, python, lua, text}. Runs of blanks count as one, the last
-- printed digit of a float may differ by one. Ids listed in pending/*.txt are expected to fail: one
-- that passes fails the test, so that the list can only shrink.

local t = require "tap"
local json = require "dlrepl.json"

local here = arg and arg[0]:match("^(.*)/[^/]*$") or "tests/parity"

-- ---- comparing -----------------------------------------------------------------------------

local function fold(text)
  return (text:gsub("[ \t]+", " "):gsub(" ?\n ?", "\n"):gsub("%s+$", ""))
end

-- Numbers of a text, and the text with each replaced by a mark.
local function take_numbers(text)
  local numbers = {}
  local marked = text:gsub("%-?%d+%.?%d*[eE]?[%+%-]?%d*", function(s)
    local n = s:match("^%-?%d+%.%d*[eE][%+%-]?%d+$") or s:match("^%-?%d+[eE][%+%-]?%d+$")
              or s:match("^%-?%d+%.?%d*")
    numbers[#numbers + 1] = n
    return "<n>" .. s:sub(#n + 1)
  end)
  return marked, numbers
end

-- One unit of the last printed digit of a decimal number.
local function unit(s)
  local fraction = s:match("%.(%d*)") or ""
  return 10.0 ^ (-#fraction + (tonumber(s:match("[eE](.+)$")) or 0))
end

local function numbers_agree(a, b)
  if a == b then return true end
  if not (a:find("%.") and b:find("%.")) then return false end -- integers are exact
  return math.abs(tonumber(a) - tonumber(b)) <= 1.001 * math.max(unit(a), unit(b))
end

-- A zero may come out with the other sign: the digit before it differed by one unit.
local function agree(got, want)
  if got == want then return true end
  local marked_got, a = take_numbers(got)
  local marked_want, b = take_numbers(want)
  if #a ~= #b or marked_got:gsub(" ?<n>", "<n>") ~= marked_want:gsub(" ?<n>", "<n>") then
    return false
  end
  for i = 1, #a do
    if not numbers_agree(a[i], b[i]) then return false end
  end
  return true
end

-- ---- running -------------------------------------------------------------------------------

-- The text that a program prints, or nil and the error.
local function run(code)
  local out = {}
  local env = setmetatable({}, {__index = _G})
  function env.print(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    out[#out + 1] = table.concat(parts, " ") .. "\n"
  end
  local chunk, problem = load(code, "=case", "t", env)
  if not chunk then return nil, problem end
  local ok, e = pcall(chunk)
  if torch.set_grad_enabled and not torch.is_grad_enabled() then torch.set_grad_enabled(true) end
  if not ok then return nil, table.concat(out) .. "raised " .. tostring(e) end
  return table.concat(out)
end

local function lines_of(path)
  local f = assert(io.open(path, "r"))
  local lines = {}
  for line in f:lines() do lines[#lines + 1] = line end
  f:close()
  return lines
end

-- pending/*.txt: "missing feature: id of the case", one a line.
local function read_pending()
  local pending = {}
  for _, line in ipairs(lines_of(here .. "/pending/list.txt")) do
    local feature, id = line:match("^([^:#]+): (.+)$")
    if feature then pending[id] = feature end
  end
  return pending
end

-- Programs whose numbers or texts are the CPU's own.
local own = {"rand", "seed", "dropout", "Dropout", "bernoulli", "multinomial", "nn%.", "init%.",
             "numpy", "np%.", "Loader", "normal", "device", "shuffle", "data_ptr", "pin_memory",
             "cross_entropy%(torch.ones%(2,3%)"}
local function on_cuda(code)
  for _, word in ipairs(own) do
    if code:find(word) then return false end
  end
  return true
end

-- The longer suffix may stand on a line of its own.
local function without_device(text)
  return text and (text:gsub(",%s*device='cuda:0'", ""):gsub("torch%.cuda%.", "torch.")
                   :gsub(",\n +([%l_]+=)", ", %1"))
end

local cuda = false
local function check(case, pending)
  -- a bad index is an error at once on the CPU, and a lost context later on cuda
  local index = case.text:find("index %d+ is out of bounds") or case.text:find("index out of range")
    or case.text:find("should be between 0 and 1") or case.text:find("ZeroDivisionError")
  if cuda and (pending[case.id] or index or not on_cuda(case.lua)) then return end
  local feature = pending[case.id]
  pending[case.id] = nil
  local got, problem = run(case.lua)
  if cuda then
    got, case.text = without_device(got), without_device(case.text)
    if not pcall(torch.cuda.synchronize) then dlrepl.reset_device() end
  end
  local passed = got and agree(fold(got), fold(case.text))
  if feature then
    return t.ok(not passed, case.id .. ": still pending (" .. feature
                .. "); once it passes, take it off the list")
  end
  if t.ok(passed, case.id) then return end
  t.diag("lua:\n" .. case.lua)
  t.diag("got:\n" .. (got or problem))
  t.diag("PyTorch:\n" .. case.text)
end

local files, word = {}, nil
for _, a in ipairs(arg or {}) do
  if a == "--cuda" then cuda = true
  elseif a:find("%.jsonl$") then files[#files + 1] = a else word = a end
end
if #files == 0 then files = {here .. "/golden.jsonl", here .. "/ops.jsonl"} end
local pending = read_pending()
if cuda then
  if not torch.cuda.is_available() then dlrepl.simulate("t4") end
  torch.set_default_device("cuda")
end
for _, path in ipairs(files) do
  for _, line in ipairs(lines_of(path)) do
    local case = json.decode(line)
    if not word or case.id:find(word, 1, true) then check(case, pending) end
  end
end
if not word and #files > 1 and not cuda then
  local left = next(pending)
  t.ok(left == nil, "every pending id is a case: " .. tostring(left))
end
t.done()
