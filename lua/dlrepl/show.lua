-- show.lua -- dlrepl.show(image): a look at an image tensor
--
-- For lessons, the prompt and notebooks. Takes [h, w], [1 or 3, h, w], or a batch of those. The
-- prompt prints the first few in text; a notebook shows a picture, or a grid of pictures.
-- show.display is what a front end that can draw text plots puts its own in for.

local picture = require "dlrepl.rich.picture"
local rich = require "dlrepl.rich"

local M = {}

function M.display(p) print(p) end

local function show(_, image, options)
  local kernel = rich.kernel()
  if kernel then
    kernel.display(rich.bundle(picture.new(image, options)))
    return
  end
  local list, n = picture.texts(image, options)
  for _, p in ipairs(list) do M.display(p) end
  if n > #list then print(string.format("(%d of %d images)", #list, n)) end
end

return setmetatable(M, {__call = show})
