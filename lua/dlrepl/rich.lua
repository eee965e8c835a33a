-- rich.lua -- a value as a notebook shows it: text, HTML, pictures, plots
--
--     local data, metadata = require("dlrepl.rich").bundle(value)
--
-- For the notebook kernel and dlrepl.display. data maps a MIME type to a string: text as it is, PNG
-- and JPEG in base64, types that end in "json" as JSON text. text/plain is what the prompt prints.
--
-- A user's table shows itself through methods of IPython's names, which return a string, or nothing
-- for "not this time": _repr_html_, _repr_markdown_, _repr_svg_, _repr_latex_, _repr_png_ and
-- _repr_jpeg_ (bytes or base64), _repr_json_ (a table too), _repr_mimebundle_ (a table of all).
-- Tables of our own name their maker in the metatable's field _rich.
--
-- INVARIANT  Every text is UTF-8. What fails but for the text itself leaves the text, and a word.
-- MUST NOT   know how a value is sent.

local core = require "dlrepl.core"
local json = require "dlrepl.json"
local repr = require "dlrepl.pyrepr"

local M = {}

local COLUMNS = 80
local CANARY = "_dlrepl_has_every_method_"

local METHODS = {
  {"_repr_html_", "text/html"}, {"_repr_markdown_", "text/markdown"},
  {"_repr_svg_", "image/svg+xml"}, {"_repr_latex_", "text/latex"}, {"_repr_png_", "image/png"},
  {"_repr_jpeg_", "image/jpeg"}, {"_repr_json_", "application/json"},
}
local MAGIC = {["image/png"] = "^\x89PNG", ["image/jpeg"] = "^\xff\xd8\xff"}

-- ---- strings that can be sent -------------------------------------------------------------------

-- What is not UTF-8 becomes U+FFFD, byte by byte.
local function clean(s)
  local out, from = {}, 1
  while true do
    local _, bad = utf8.len(s, from)
    if not bad then break end
    out[#out + 1] = s:sub(from, bad - 1) .. "\u{fffd}"
    from = bad + 1
  end
  return #out == 0 and s or table.concat(out) .. s:sub(from)
end
M.clean = clean

local function is_json(mime) return mime:find("[/+]json$") ~= nil end

-- The string that stands for a user's value in this type; nil and why.
local function encoded(mime, v)
  if is_json(mime) then
    local ok, text = true, v
    if type(v) ~= "string" then ok, text = pcall(json.encode, v) end
    ok = ok and pcall(json.decode, clean(text))
    if not ok then return nil, "gave no JSON" end
    return clean(text)
  elseif type(v) ~= "string" then return nil, "gave a " .. type(v) .. ", not a string"
  elseif not MAGIC[mime] then return clean(v)
  elseif v:find(MAGIC[mime]) then return dlrepl._base64(v)
  elseif v:find("^[%w+/=%s]+$") then return (v:gsub("%s", ""))
  end
  return nil, "gave neither image bytes nor base64"
end

-- ---- a user's own methods ---------------------------------------------------------------------

local function index(v, key) return v[key] end

local function is_callable(fn)
  local mt = debug.getmetatable(fn)
  return type(fn) == "function" or type(mt) == "table" and mt.__call ~= nil
end

-- A method of a table, nil where it has none. A class that is its instances' __index has them for
-- these; what answers to every name has none.
local function method(v, name)
  if rawget(v, "__index") == v then return nil end
  local ok, fn = pcall(index, v, name)
  return ok and is_callable(fn) and fn or nil
end

local function first_line(e)
  local ok, text = pcall(tostring, e)
  return ok and text:match("^[^\n]*") or "an error without text"
end

-- One failure in words, for the end of the text.
local function note(notes, name, why) notes[#notes + 1] = string.format("%s %s", name, why) end

local function call(v, name, notes)
  local fn = method(v, name)
  if not fn then return nil end
  local ok, value, metadata = pcall(fn, v)
  if ok then return value, metadata end
  note(notes, name, "failed: " .. first_line(value))
end

local function put(out, mime, value, metadata, name, notes)
  local text, why = encoded(mime, value)
  if not text then return note(notes, name, why) end
  out.data[mime] = text
  if type(metadata) == "table" then out.metadata[mime] = metadata end
end

local function put_bundle(out, v, notes)
  local bundle, metadata = call(v, "_repr_mimebundle_", notes)
  if bundle == nil then return end
  if type(bundle) ~= "table" then
    return note(notes, "_repr_mimebundle_", "gave a " .. type(bundle) .. ", not a table")
  end
  for mime, value in pairs(bundle) do
    if type(mime) == "string" and mime:find("^[%w.+-]+/[%w.+-]+$") then
      local own = type(metadata) == "table" and metadata[mime] or nil
      put(out, mime, value, own, "_repr_mimebundle_", notes)
    else
      note(notes, "_repr_mimebundle_", "has " .. repr.repr(mime) .. ", which is no type")
    end
  end
end

local function add_users(out, v, notes)
  if type(v) ~= "table" or method(v, CANARY) then return end
  for _, pair in ipairs(METHODS) do
    local value, metadata = call(v, pair[1], notes)
    if value ~= nil then put(out, pair[2], value, metadata, pair[1], notes) end
  end
  put_bundle(out, v, notes)
end

-- ---- our own ----------------------------------------------------------------------------------

local NAMED = {["numpy.ndarray"] = "tensor", Node = "graph", ["dlrepl.error"] = "failure"}

-- The name of the module in rich/ that shows this value, nil if there is none.
local function maker_of(v)
  if core.is_tensor(v) then return "tensor" end
  local mt = debug.getmetatable(v)
  if type(mt) ~= "table" then return nil end
  if rawget(mt, "module_class") then return "module" end
  local name = rawget(mt, "__name")
  local rich = rawget(mt, "_rich")
  return type(rich) == "string" and rich or type(name) == "string" and NAMED[name] or nil
end

local function add_ours(out, v, notes)
  local name = maker_of(v)
  if not name then return end
  local ok, data, metadata = pcall(function()
    return require("dlrepl.rich." .. name).bundle(v)
  end)
  if not ok then return note(notes, "the rich form", "failed: " .. first_line(data)) end
  for mime, text in pairs(data) do out.data[mime] = clean(text) end
  for mime, m in pairs(metadata or {}) do out.metadata[mime] = m end
end

-- bundle(value) -> {mime = string, …}, {mime = table, …} or nil. Raises only what the value's own
-- text raises.
function M.bundle(v)
  local kind = type(v)
  if kind ~= "table" and kind ~= "userdata" then
    return {["text/plain"] = clean(dlrepl._text(v, COLUMNS))}
  end
  local out, notes = {data = {}, metadata = {}}, {}
  add_ours(out, v, notes)
  add_users(out, v, notes)
  local text = out.data["text/plain"] or clean(dlrepl._text(v, COLUMNS))
  for _, n in ipairs(notes) do text = text .. "\nnote: " .. clean(n) end
  out.data["text/plain"] = text
  return out.data, next(out.metadata) and out.metadata or nil
end

-- The kernel's table where one runs, else nil: display(bundle, metadata, id or nil, update),
-- clear_output(wait), input(prompt, password).
function M.kernel()
  local kernel = rawget(dlrepl, "kernel")
  return kernel and kernel.active and kernel or nil
end

return M
