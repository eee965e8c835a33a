-- show.lua -- dlrepl.show(image): a look at an image tensor
--
-- For lessons and the prompt. Takes [h, w], [1 or 3, h, w], or a batch of those, of which the first
-- few are shown. Prints; show.display is what a front end that can draw puts its own in for.

local core = require "dlrepl.core"
local plot = require "dlrepl.plot"

local M = {}

local MOST = 4 -- images of a batch

function M.display(p) print(p) end

local function show(_, image, options)
  if not (core.is_tensor(image) and image:dim() == 4) then
    M.display(plot.image(image, options))
    return
  end
  local n = image.shape[0]
  for i = 0, math.min(n, MOST) - 1 do M.display(plot.image(image[i], options)) end
  if n > MOST then print(string.format("(%d of %d images)", MOST, n)) end
end

return setmetatable(M, {__call = show})
