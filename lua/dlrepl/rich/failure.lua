-- failure.lua -- an error: PyTorch's line, and what dlrepl adds to it folded under it
--
-- For rich.lua, which shows a caught error as a value, and for the kernel, which shows the notes
-- under the traceback of one that was not caught.
--
-- MUST NOT   know how a line failed.

local html = require "dlrepl.rich.html"

local M = {}

local escape = html.escape

local function pre(text) return '<pre style="margin:0">' .. escape(text) .. "</pre>" end

local function fold(title, text)
  return "<details><summary>" .. escape(title) .. "</summary>" .. pre(text) .. "</details>"
end

-- "  a\n  b" -> "a\nb": notes are indented under their error.
local function outdent(text) return (("\n" .. text):gsub("\n  ", "\n"):sub(2)) end

-- notes(text): the lines below the first of an error's text as a bundle of their own, folded where
-- there are several; nil where there are none. text: what tostring gives, or the kernel's report
-- of it.
function M.notes(text)
  local rest = text:match("^[^\n]*\n(.+)$")
  if not rest then return nil end
  rest = outdent(rest)
  local n = select(2, rest:gsub("[^\n]+", ""))
  local body = n == 1 and pre(rest) or fold(html.counted(n, "note"), rest)
  return {["text/plain"] = rest, ["text/html"] = '<div class="dlrepl-notes">' .. body .. "</div>"}
end

-- A caught error as a value.
function M.bundle(e)
  local text = tostring(e)
  local first, rest = text:match("^([^\n]*)\n?(.*)$")
  local class, message = first:match("^([%a_][%w_.]*): (.*)$")
  local out = {'<div class="dlrepl-error"><div>',
               class and "<b>" .. escape(class) .. "</b>: " .. escape(message) or escape(first),
               "</div>"}
  if rest ~= "" then out[#out + 1] = fold("notes", outdent(rest)) end
  local trace = rawget(e, "traceback")
  if type(trace) == "string" then out[#out + 1] = fold("where", trace) end
  out[#out + 1] = "</div>"
  return {["text/plain"] = text, ["text/html"] = table.concat(out)}
end

return M
