-- picture.lua -- image tensors as one PNG: a picture, or a grid of them
--
-- For dlrepl.show and rich/plot.lua. Grey images are drawn from their lowest to their highest
-- value, as matplotlib's imshow does; coloured ones, bytes and booleans keep their scale.
--
-- INVARIANT  A picture is a snapshot. At most MOST images and a few million pixels are looked at.

local core = require "dlrepl.core"
local plot = require "dlrepl.plot"
local read = require "dlrepl.plot.read"

local torch = core.torch
local M = {}

local MOST, ACROSS, GAP = 64, 8, 2      -- images of a batch, in a row, pixels between them
local ALONE, TOGETHER = 224, 96         -- pixels a side that small images are enlarged to
local LARGEST, LARGEST_OF_MANY = 1024, 256 -- pixels a side that large ones are reduced to
local FEW = 4                           -- images of a batch that the prompt shows in text
local SMALL = 56                        -- columns of the text beside a picture, of one image

-- ---- values to bytes --------------------------------------------------------------------------

-- The lowest and highest finite value; 0, 1 where there is none.
local function limits(x)
  if x:numel() == 0 then return 0.0, 1.0 end
  local good, inf = x:isfinite(), torch.full_like(x, math.huge)
  local lo, hi = torch.where(good, x, inf):amin():item(), torch.where(good, x, -inf):amax():item()
  if lo > hi then return 0.0, 1.0 end
  return lo, hi
end

-- What shall be black and what white. x: float64 [n, c, h, w] of a tensor of this dtype.
local function range_of(x, dtype)
  if dtype == torch.uint8 then return 0.0, 255.0 end
  if dtype == torch.bool then return 0.0, 1.0 end
  local lo, hi = limits(x)
  if x.shape[1] == 3 and lo >= 0 and hi <= 255 then return 0.0, hi <= 1 and 1.0 or 255.0 end
  return lo, hi
end

-- Values to 0 … 1; what is not finite to 0.
local function share(x, lo, hi)
  local span = hi - lo
  local y = span > 0 and ((x - lo) / span):clamp(0, 1) or torch.zeros_like(x)
  return torch.where(x:isfinite(), y, torch.zeros_like(x))
end

local function bytes(y) return (y * 255):round():to(torch.uint8) end

-- ---- sizes ------------------------------------------------------------------------------------

local function reduced(x, most)
  local h, w = x.shape[2], x.shape[3]
  local times = math.max(h, w) / most
  if times <= 1 then return x end
  local size = {math.max(1, math.floor(h / times)), math.max(1, math.floor(w / times))}
  return torch.nn.functional.adaptive_avg_pool2d(x, size)
end

local function enlarged(x, side)
  local times = side // math.max(x.shape[2], x.shape[3])
  if times < 2 then return x end
  return x:repeat_interleave(times, 2):repeat_interleave(times, 3)
end

-- uint8 [n, c, h, w] -> [H, W, c]
local function grid(x)
  local n, c, h, w = x.shape:unpack()
  local across = math.min(n, ACROSS)
  local down = (n + across - 1) // across
  local out = torch.full({c, down * (h + GAP) - GAP, across * (w + GAP) - GAP}, 255,
                         {dtype = torch.uint8})
  for i = 0, n - 1 do
    local top, left = i // across * (h + GAP), i % across * (w + GAP)
    out:narrow(1, top, h):narrow(2, left, w):copy_(x[i])
  end
  return out:permute(1, 2, 0):contiguous()
end

-- The file in base64; nil where a dry run has no values.
local function png(x, lo, hi)
  local alone = x.shape[0] == 1
  x = share(reduced(x, alone and LARGEST or LARGEST_OF_MANY), lo, hi)
  local file = dlrepl._png(grid(bytes(enlarged(x, alone and ALONE or TOGETHER))))
  return file and dlrepl._base64(file)
end

-- ---- heat maps --------------------------------------------------------------------------------

-- Viridis at nine places: red, green, blue from 0 to 255. bids.github.io/colormap
local VIRIDIS = {{68, 1, 84}, {71, 45, 123}, {59, 82, 139}, {44, 114, 142}, {33, 145, 140},
                 {40, 174, 128}, {94, 201, 98}, {173, 220, 48}, {253, 231, 37}}

-- A matrix, float64 [h, w], in colours as base64 of a PNG; nil in a dry run.
-- range: {lo, hi} or nil.
function M.heat(t, range)
  return torch.no_grad(function()
    local lo, hi = limits(t)
    if range then lo, hi = range[1], range[2] end
    local at = share(t, lo, hi) * (#VIRIDIS - 1)
    local low = at:floor():clamp(0, #VIRIDIS - 2)
    local part, map = (at - low):unsqueeze(2), torch.tensor(VIRIDIS):to(torch.float64)
    local i = low:to(torch.int64)
    local x = (map[i] * (1 - part) + map[i + 1] * part):permute(2, 0, 1):unsqueeze(0)
    return png(x, 0.0, 255.0)
  end)
end

-- ---- pictures ---------------------------------------------------------------------------------

local meta = {__name = "picture", _rich = "picture"}
function meta.__tostring(self) return self.text end

-- The images of a tensor as a list of at most `most` plots in text, and how many there are.
function M.texts(image, options, most)
  if not (core.is_tensor(image) and image:dim() == 4) then
    return {plot.image(image, options)}, 1
  end
  local list, n = {}, image.shape[0]
  for i = 0, math.min(n, most or FEW) - 1 do list[i + 1] = plot.image(image[i], options) end
  return list, n
end

-- new(image, options): [h, w], [1 or 3, h, w] or a batch of those. Raises what plot.image raises.
function M.new(image, options)
  local list, n = M.texts(image, options, 1)
  local parts = {list[1] and list[1]:text(options and options.columns or SMALL)}
  if n > #list then parts[#parts + 1] = string.format("(%d of %d images)", #list, n) end
  return torch.no_grad(function()
    if type(image) == "table" then image = torch.tensor(image) end
    if n > MOST then image = image:narrow(0, 0, MOST) end
    local dtype = core.is_tensor(image) and image.dtype
    local x = read.tensor(image)
    while x:dim() < 4 do x = x:unsqueeze(0) end
    local self = {text = table.concat(parts, "\n"), images = n, shown = math.min(n, MOST)}
    local range = options and options.range
    local lo, hi
    if range then lo, hi = range[1], range[2] else lo, hi = range_of(x, dtype) end
    if x:numel() > 0 then self.png = png(x, lo + 0.0, hi + 0.0) end
    return setmetatable(self, meta)
  end)
end

function M.bundle(picture)
  local text = picture.text
  if picture.images > picture.shown then
    text = text .. string.format("\n(the picture shows %d of %d)", picture.shown, picture.images)
  end
  return {["text/plain"] = text, ["image/png"] = picture.png}
end

return M
