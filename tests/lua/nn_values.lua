-- nn_values.lua -- one op against numbers from PyTorch, for tests/lua/nn_*.lua
--
-- Inputs are made from a fixed pattern; a tensor is summed up in one number, sum of x[i] * w[i].
local t = require "tap"
local values = {}

local function pattern(n, k, m, o) return (torch.arange(n) * k % m - o):float() end

local function weights(n) return pattern(n, 3, 7, 3) + 0.5 end

-- The k-th operand of a case.
function values.operand(size, k)
  local n = 1
  for _, s in ipairs(size) do n = n * s end
  local v = pattern(n, 7, 11, 5) / 4 + pattern(n, 5, 13, 6) / 16 + k / 8
  return v:reshape(size):requires_grad_()
end

function values.number(x)
  local flat = x:detach():reshape(-1):double()
  return (flat * weights(flat:numel()):double()):sum():item()
end

-- `want`: the number of the result, then of each operand's gradient (false = none).
function values.case(name, sizes, fn, size, want)
  local x = {}
  for k, s in ipairs(sizes) do x[k] = values.operand(s, k) end
  local y = fn(table.unpack(x))
  local shape = "torch.Size([" .. table.concat(size, ", ") .. "])"
  local got, expected = { tostring(y.shape) }, { shape }
  y:backward(weights(y:numel()):reshape(size))
  for k = 0, #x do
    local v = k == 0 and y or x[k].grad
    local number = v and values.number(v) or false
    local limit = 1e-4 + 2e-5 * math.abs(want[k + 1] or 0)
    local near = number and want[k + 1] and math.abs(number - want[k + 1]) <= limit
    got[#got + 1] = tostring(near and want[k + 1] or number)
    expected[#expected + 1] = tostring(want[k + 1])
  end
  t.is(table.concat(got, " "), table.concat(expected, " "), name)
end

-- Run as a test by itself it has nothing to say.
if not ... then print("1..0 # SKIP helper of the other nn tests") end
return values
