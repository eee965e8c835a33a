-- rich_bundle.lua -- a value as a notebook shows it: what the bundle holds, what breaks nothing
local t = require "tap"

local json = require "dlrepl.json"
local bundle = require("dlrepl.rich").bundle

local VEGA = "application/vnd.vegalite.v5+json"

local function kinds(v)
  local data, list = bundle(v), {}
  for mime in pairs(data) do list[#list + 1] = mime end
  table.sort(list)
  return table.concat(list, " ")
end
local function html(v) return bundle(v)["text/html"] or "" end
local function text(v) return bundle(v)["text/plain"] end
local function count(s, pattern) return select(2, s:gsub(pattern, "")) end

-- Opened elements are closed, in order.
local function balanced(s)
  local open = {}
  for slash, name, rest in s:gmatch("<(/?)(%a+)([^>]*)>") do
    if slash == "/" then
      if table.remove(open) ~= name then return false end
    elseif rest:sub(-1) ~= "/" then
      open[#open + 1] = name
    end
  end
  return #open == 0
end

-- ---- plain values --------------------------------------------------------------------------
t.is({kinds(3), text(3)}, {"text/plain", "3"}, "a number is text alone")
t.is(text("a\nb"), '"a\\nb"', "a string is quoted as at the prompt")
t.is(text({1, {2}}), "{1, {2}}", "a table prints as at the prompt")
t.is(text(nil), "nil", "nil has a text")

-- ---- tensors -------------------------------------------------------------------------------
local x = torch.tensor {{1.5, -2}, {0, 3}}
t.is(kinds(x), "text/html text/plain", "a tensor is text and HTML")
t.is(text(x), tostring(x), "its text is what print says")
t.like(html(x), "<b>Tensor</b> <code>%[2, 2%]</code> · float32 · cpu · 16 B",
       "shape, dtype, device and size")
t.like(html(x), "<tr><th>0</th><td>1.5000</td><td>%-2.0000</td></tr>", "elements as they print")
t.is(count(html(torch.arange(144):reshape(12, 12)), "<td>"), 144, "a small matrix is whole")
local big = torch.arange(10000):reshape(100, 100)
t.is(count(html(big), "<td>"), 121, "a long one shows five rows and columns at each end")
t.like(html(big), "<th>4</th><th>…</th><th>95</th>", "its columns keep their numbers")
t.like(html(big), "<td>9999</td></tr></tbody>", "its last element is there")
t.is(count(html(torch.arange(30)), "<td>"), 11, "a long vector is one short row")
t.is(count(html(torch.tensor(3.5)), "<th>"), 0, "a scalar is a cell")
t.like(html(torch.tensor(3.5)), "<td>3.5000</td>", "with its value")
t.like(html(torch.empty(0, 3)), "no elements", "an empty one says so")
t.like(html(torch.zeros(2, 2, 2)), "%[1, :, :%]", "three dimensions are matrices")
t.like(html(torch.zeros(9, 5, 2, 2)), "… 42 more matrices.*%[8, 4, :, :%]", "many are left out")
t.like(html(torch.tensor {true, false}), "<td>True</td><td>False</td>", "booleans")
t.like(html(torch.tensor {0 / 0, 1 / 0}), "<td>nan</td><td>inf</td>", "nan and inf")
local w = torch.ones(2, {requires_grad = true})
t.like(html(w), "requires_grad", "a leaf that requires grad")
t.like(html(w * 2), "grad_fn=MulBackward0", "a result of the graph")
t.ok(not html(w * 2):find("<Mul"), "its grad_fn is no element")
t.like(html(nn.Parameter(torch.ones(1))), "<b>Parameter</b>", "a parameter")
t.like(html(np.array {1., 2.}), "<b>array</b>.*float64.*<td>1%.</td>", "a numpy array")
t.like(html(big:t()), "<th>0</th><td>0</td><td>100</td>", "a view reads through its strides")
local data = torch.zeros(50000, 3, 32, 4)
local began = dlrepl.clock()
local whole = bundle(data)
t.ok(dlrepl.clock() - began < 1, "a whole training set is shown in a moment")
t.ok(#whole["text/html"] + #whole["text/plain"] < 10240, "in less than 10 KB")
for _, dtype in ipairs {"float16", "bfloat16", "float64", "int8", "uint8", "int64", "bool"} do
  t.is(count(html(torch.ones(3, 3, {dtype = torch[dtype]})), "<td>"), 9, "nine cells of " .. dtype)
end

dlrepl.simulate("t4")
local far = torch.arange(400, {device = "cuda"}):reshape(20, 20)
torch.cuda.reset_peak_memory_stats()
local peak = torch.cuda.max_memory_allocated()
t.like(html(far), "int64 · cuda:0 · 3.1 KiB.*<td>399</td></tr></tbody>", "a tensor on a GPU")
t.ok(torch.cuda.max_memory_allocated() - peak < 1024, "takes none of its memory to speak of")

-- ---- modules -------------------------------------------------------------------------------
local shared = nn.Linear(3, 3)
local model = nn.Sequential(nn.Linear(4, 3), shared, nn.Sequential(shared, nn.BatchNorm1d(3)))
model[0].weight:requires_grad_(false)
local tree = html(model)
t.is(text(model), tostring(model), "a module's text is what print says")
t.ok(balanced(tree), "its tree is well-formed")
t.like(tree, "33 parameters, 21 trainable · 132 B", "parameters count once, frozen ones apart")
t.like(tree, "%(0%): </code><code>Linear%(in_features=4, out_features=3, bias=True%)",
       "a child with its options")
t.like(tree, "weight</code> <span[^>]*>%[3, 4%] · float32 · cpu · frozen", "a frozen parameter")
t.like(tree, "12 parameters · shared", "a module that was there before")
t.like(tree, "running_mean</code>.-buffer", "a buffer")
t.is(count(tree, "<details open>"), 1, "the outermost is open")
t.like(html(model:eval()), "eval mode", "eval mode is told")
local hostile = nn.Module:class("<script>")
function hostile:extra_repr() return "<img src=x onerror=alert(1)>" end
t.ok(not html(hostile()):find("<script>", 1, true) and not html(hostile()):find("<img", 1, true),
     "names and options of a user are escaped")
local many = nn.Sequential()
for i = 1, 400 do many:append(nn.ReLU()) end
t.like(html(many), "… 101 more modules", "of a great many the first 300 are listed")
local broken = nn.Module:class("Broken")
function broken:extra_repr() error("no text") end
t.ok(not pcall(bundle, broken()), "a module whose text fails fails, as at the prompt")

-- ---- plots ---------------------------------------------------------------------------------
local function spec(p) return json.decode(bundle(p)[VEGA]) end
local line = dlrepl.plot({train = {3, 2, 1}, valid = {3, 0 / 0, 2}}, {title = "loss <b>"})
t.is(kinds(line), VEGA .. " image/svg+xml text/plain", "a plot is Vega-Lite, SVG and text")
t.is(text(line), tostring(line), "its text is what print says")
local s = spec(line)
t.is({s.mark.type, s.title, #s.data.values}, {"line", "loss <b>", 6}, "its line, title, values")
t.is(s["$schema"], "https://vega.github.io/schema/vega-lite/v5.json", "the version of the format")
t.is(s.data.values[5], {x = 2, y = None, series = "valid", at = 2}, "nan is null")
t.is(s.encoding.color.field, "series", "series are told apart by colour")
t.is(spec(dlrepl.plot({1, 2})).encoding.color, nil, "one series needs none")
t.is(spec(dlrepl.plot.scatter({1}, {2})).mark.type, "point", "points")
local h = spec(dlrepl.plot.hist({1, 2, 2, 9}, {bins = 2}))
t.is(h.data.values, {{lo = 1, hi = 5, count = 3}, {lo = 5, hi = 9, count = 1}}, "bins and counts")
local m = spec(dlrepl.plot({{1, 2}, {3, 4}}))
t.is(m.mark.type, "line", "two lists are two lines")
m = spec(dlrepl.plot(torch.tensor {{1., 2., 3.}, {4., 5., 0 / 0}}))
t.is({m.mark.type, m.data.values}, {"rect", {1, 2, 3, 4, 5, None}}, "a matrix is a heat map")
local peak = torch.zeros(100000)
peak[54321] = 7
s = spec(dlrepl.plot(peak))
local top = 0
for _, v in ipairs(s.data.values) do top = math.max(top, v.y) end
t.is(top, 7, "a peak among 100,000 points is kept")
t.ok(#s.data.values <= 4000, "and most others are not")
t.ok(#bundle(dlrepl.plot(torch.rand(1000, 1000)))[VEGA] < 200000, "a large matrix is averaged")
t.is(kinds(dlrepl.plot({})), "text/plain", "nothing to draw is text alone")
t.is(kinds(dlrepl.plot({0 / 0, 1 / 0})), "text/plain", "no finite value neither")
local svg = bundle(line)["image/svg+xml"]
t.ok(balanced(svg) and svg:find("loss &lt;b&gt;", 1, true), "the SVG is well-formed and escaped")
local strange = {{5}, {-1.7e308, 1.7e308}, {0, 5e-324}, {1e16, 1e16 + 2}, {math.maxinteger}}
for _, values in ipairs(strange) do
  for _, p in ipairs {dlrepl.plot(values), dlrepl.plot.hist(values), dlrepl.plot.scatter(values)} do
    local d = bundle(p)
    t.ok(not d["image/svg+xml"]:find("nan") and not d["image/svg+xml"]:find("inf")
         and pcall(json.decode, d[VEGA]), p.kind .. " of " .. tostring(values[1]))
  end
end

-- ---- pictures: what the kernel is given -----------------------------------------------------
local shown = {}
dlrepl.kernel = {active = true, display = function(...) shown[#shown + 1] = {...} end}
local function shows(...)
  shown = {}
  dlrepl.show(...)
  return shown[1][1]
end
-- Width and height in the header of a PNG in base64, after its 24 characters of magic and length.
local function size(b64)
  local bytes = {}
  local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  for a, b, c, d in b64:sub(1, 44):gmatch("(.)(.)(.)(.)") do
    local v = 0
    for _, sign in ipairs {a, b, c, d} do v = v * 64 + digits:find(sign, 1, true) - 1 end
    for k = 16, 0, -8 do bytes[#bytes + 1] = v >> k & 255 end
  end
  return {bytes[19] * 256 + bytes[20], bytes[23] * 256 + bytes[24]}
end
local one = shows(torch.rand(28, 28))
t.is(size(one["image/png"]), {224, 224}, "a small image is enlarged")
t.like(one["text/plain"], "28 x 28", "its text is that of the prompt")
t.is(size(shows(torch.rand(1, 10, 3))["image/png"]), {66, 220}, "in its proportions")
t.is(size(shows(torch.rand(3, 2000, 500))["image/png"]), {256, 1024}, "a large one is reduced")
t.is(size(shows(torch.rand(10, 3, 32, 32))["image/png"]), {8 * 98 - 2, 2 * 98 - 2},
     "a batch is a grid, eight in a row")
t.like(shows(torch.rand(100, 1, 8, 8))["text/plain"], "%(1 of 100 images%).*shows 64 of 100",
       "a large batch says what is left out")
t.is(shows(torch.zeros(4, 4))["image/png"] ~= nil, true, "one value everywhere")
t.is(shows(torch.full({4, 4}, 0 / 0))["image/png"] ~= nil, true, "no finite value")
t.is(shows(torch.ones(4, 4, {dtype = torch.uint8}))["image/png"] ~= nil, true, "bytes")
t.is(shows(torch.zeros(0, 1, 4, 4))["image/png"], nil, "no images, no picture")
t.is(shows(np.array {{1., 2.}, {3., 4.}})["image/png"] ~= nil, true, "an array")
t.raises(function() dlrepl.show(torch.ones(3)) end, "TypeError: image() expects a matrix…",
         "what is no image")
dlrepl.kernel = nil

-- ---- a user's own --------------------------------------------------------------------------
local function own(methods, more)
  return setmetatable({}, {__index = methods, __tostring = more or function() return "own" end})
end
local d, meta = bundle(own {
  _repr_html_ = function() return "<b>x</b>", {isolated = true} end,
  _repr_svg_ = function() return "<svg/>" end,
  _repr_png_ = function() return "\x89PNG\r\n\x1a\n..." end,
  _repr_json_ = function() return {a = {1, 2}} end,
})
t.is(d, {["text/plain"] = "own", ["text/html"] = "<b>x</b>", ["image/svg+xml"] = "<svg/>",
         ["image/png"] = "iVBORw0KGgouLi4=", ["application/json"] = '{"a": [1, 2]}'},
     "_repr_html_, _repr_svg_, _repr_png_, _repr_json_")
t.is(meta, {["text/html"] = {isolated = true}}, "a second result is the metadata")
t.is(select(2, bundle(own {})), nil, "no metadata is nil")
t.is(bundle(own {_repr_png_ = function() return "aGVsbG8=\n" end})["image/png"], "aGVsbG8=",
     "an image may come in base64")
t.is(bundle(own {_repr_html_ = function() end}), {["text/plain"] = "own"},
     "nothing means not this time")
t.is(bundle(own {_repr_mimebundle_ = function()
  return {["text/plain"] = "p", ["text/markdown"] = "*m*", ["application/x+json"] = {1}}
end}), {["text/plain"] = "p", ["text/markdown"] = "*m*", ["application/x+json"] = "[1]"},
     "_repr_mimebundle_ may give every type")
t.is(bundle(own {_repr_html_ = function() return "a\xffb" end})["text/html"], "a\u{fffd}b",
     "what is no UTF-8 is replaced")

local Mine = nn.Module:class("Mine")
function Mine:_repr_html_() return "<i>" .. self:_get_name() .. "</i>" end
t.is(html(Mine()), "<i>Mine</i>", "a method of a module goes before our tree")
local Point = {}
Point.__index = Point
function Point:_repr_html_() return "<b>" .. self.x .. "</b>" end
t.is(html(setmetatable({x = 3}, Point)), "<b>3</b>", "a method of a class of one's own")
t.is(kinds(Point), "text/plain", "the class itself is text")
local anything = setmetatable({}, {__index = function() return function() return "x" end end,
                                   __tostring = function() return "any" end})
t.is(kinds(anything), "text/plain", "what answers to every name has no methods")
t.is(kinds(setmetatable({}, {__index = function() error("no") end})), "text/plain",
     "what fails at every name is text")

-- What fails falls back to the text, with a word.
local function word(methods, want, name)
  t.is({kinds(own(methods)), (text(own(methods)):gsub("%S+%.lua:%d+: ", ""))},
       {"text/plain", "own\nnote: " .. want}, name)
end
word({_repr_html_ = function() error("oops") end}, "_repr_html_ failed: oops", "what fails")
local no_text = setmetatable({}, {__tostring = function() error("never") end})
word({_repr_html_ = function() error(no_text) end}, "_repr_html_ failed: an error without text",
     "an error that cannot be told")
word({_repr_html_ = function() return 3 end}, "_repr_html_ gave a number, not a string",
     "a number")
word({_repr_png_ = function() return "<no>" end},
     "_repr_png_ gave neither image bytes nor base64", "bytes that are no image")
word({_repr_json_ = function() return "{" end}, "_repr_json_ gave no JSON", "what is no JSON")
word({_repr_json_ = function() return print end}, "_repr_json_ gave no JSON", "a function")
word({_repr_mimebundle_ = function() return 3 end}, "_repr_mimebundle_ gave a number, not a table",
     "a bundle that is none")
word({_repr_mimebundle_ = function() return {["text/html; charset=utf-8"] = ""} end},
     "_repr_mimebundle_ has 'text/html; charset=utf-8', which is no type", "a type with parameters")
word({_repr_mimebundle_ = function() return {[1] = ""} end},
     "_repr_mimebundle_ has 1, which is no type", "a type that is a number")
t.is(html(own {_repr_html_ = function() error("a") end, _repr_mimebundle_ = function()
  return {["text/html"] = "b"}
end}), "b", "what does not fail is kept")
t.ok(not pcall(bundle, own({}, function() error("no") end)), "a text that fails fails")

t.done()
