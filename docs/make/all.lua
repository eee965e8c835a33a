-- all.lua -- writes every generated page: dlrepl docs/make/all.lua FOLDER
--
-- For `make docs`, and for the test that the committed pages are what it gives.

local folder = arg[1] or "docs"
local manual, annotations = require "manual", require "annotations"

local pages = {
  {"ops.md", require "ops"}, {"dlrepl.1", manual.man},
  {"completion/dlrepl.bash", manual.bash}, {"completion/_dlrepl", manual.zsh},
  {"annotations/torch.lua", annotations.ops}, {"annotations/nn.lua", annotations.nn},
  {"annotations/optim.lua", annotations.optim},
  {"annotations/rest.lua", annotations.rest},
}

for _, page in ipairs(pages) do
  local out = assert(io.open(folder .. "/" .. page[1], "w"))
  page[2](out)
  out:close()
end
