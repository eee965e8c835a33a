-- html.lua -- texts that become HTML or SVG
--
-- For the rich forms. Everything that is not written here goes through escape().
--
-- MUST NOT   know what is shown.

local M = {}

local SIGNS = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;"}

-- The text as text, in an element or in an attribute; controls but for line ends and tabs are
-- dropped, which XML does not allow.
function M.escape(v)
  return (tostring(v):gsub("[\0-\8\11\12\14-\31\127]", ""):gsub("[&<>\"']", SIGNS))
end

-- 1234567 -> "1,234,567"
function M.thousands(n)
  local text = string.format("%d", n)
  repeat
    local more
    text, more = text:gsub("^(-?%d+)(%d%d%d)", "%1,%2")
  until more == 0
  return text
end

M.bytes = require "dlrepl.bytes"

-- "1 value", "3 values"
function M.counted(n, word) return M.thousands(n) .. " " .. word .. (n == 1 and "" or "s") end

-- No more than n characters.
function M.cut(s, n)
  if (utf8.len(s) or #s) <= n then return s end
  local stop = utf8.len(s) and utf8.offset(s, n) or n
  return s:sub(1, stop - 1) .. "…"
end

return M
