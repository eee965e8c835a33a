-- rich_notebook.lua -- notebooks as they are written to a file
local t = require "tap"

local json = require "dlrepl.json"
local write = require("dlrepl.notebook").write

local cells = {
  {kind = "markdown", text = "# Über\n\nWords."},
  {kind = "code", text = 'x = "a\\tb"\nx\n'},
  {kind = "code", text = 'x = "a\\tb"\nx\n'},
  {kind = "code", text = ""},
}
local text = write(cells)
local nb = json.decode(text)

t.is({nb.nbformat, nb.nbformat_minor}, {4, 5}, "the format is 4.5")
t.is(nb.metadata.kernelspec.name, "dlrepl", "the kernel is named")
t.is(#nb.cells, 4, "every cell is there")
for i, cell in ipairs(nb.cells) do
  t.is(cell.cell_type, cells[i].kind, "the kind of cell " .. i)
  t.is(table.concat(cell.source), cells[i].text, "the text of cell " .. i)
  t.like(cell.id, "^%x+$", "cell " .. i .. " has an id")
end
t.is(nb.cells[1].source, {"# Über\n", "\n", "Words."}, "a text is a list of lines")
t.is(nb.cells[1].outputs, nil, "words have no outputs")
t.is(nb.cells[2].outputs, {}, "code has none yet")
t.isnt(nb.cells[2].id, nb.cells[3].id, "equal cells have different ids")
t.is(write(cells), text, "the same cells give the same text")
t.is(json.decode(write {}).cells, {}, "a notebook may be empty")

t.raises(function() write(3) end, "TypeError: write() expects a list of cells, but got int",
         "what is no list")
t.raises(function() write {{kind = "lua", text = ""}} end,
         'ValueError: write(): cell 1 must have kind = "markdown" or "code", but has \'lua\'',
         "what is no kind")
t.raises(function() write {{kind = "code", text = "\xff"}} end,
         "ValueError: write(): cell 1 needs a text in UTF-8", "what is no text")
t.done()
