-- report.lua -- what memory is for, as tables and a timeline
--
-- For rich.lua: what dlrepl.report gives.
--
-- MUST NOT   count anything itself.

local draw = require "dlrepl.rich.draw"
local html = require "dlrepl.rich.html"

local M = {}

local escape, bytes = html.escape, html.bytes
local ROLES = {"parameter", "gradient", "optimizer state", "saved activation", "batch", "other"}
local MOST = 100 -- modules that are listed

local function tr(cells, tag)
  local out = {}
  for i, c in ipairs(cells) do out[i] = "<" .. tag .. ">" .. escape(c) .. "</" .. tag .. ">" end
  return "<tr>" .. table.concat(out) .. "</tr>"
end

local function grid(title, head, rows)
  local out = {"<div><b>", escape(title), "</b></div><table><thead>", tr(head, "th"),
               "</thead><tbody>"}
  for _, row in ipairs(rows) do out[#out + 1] = tr(row, "td") end
  out[#out + 1] = "</tbody></table>"
  return table.concat(out)
end

local function by_role(title, devices)
  local head, rows, names = {"device", table.unpack(ROLES)}, {}, {}
  head[#head + 1] = "total"
  for name in pairs(devices) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local row, total = {name}, 0
    for _, role in ipairs(ROLES) do
      local n = devices[name][role] or 0
      row[#row + 1], total = n > 0 and bytes(n) or "", total + n
    end
    row[#row + 1] = bytes(total)
    rows[#rows + 1] = row
  end
  return grid(title, head, rows)
end

local function by_module(list)
  local rows = {}
  for i = 1, math.min(#list, MOST) do
    local m = list[i]
    rows[i] = {m.path, m.class, bytes(m.parameter), bytes(m.gradient),
               m.saved and bytes(m.saved) or ""}
  end
  local more = #list > MOST and "<div>… " .. html.counted(#list - MOST, "more module") .. "</div>"
  return grid("by module", {"module", "class", "parameter", "gradient", "saved by forward"}, rows)
         .. (more or "")
end

function M.bundle(report)
  local out = {'<div class="dlrepl-report">'}
  if report.at_peak then out[#out + 1] = by_role("at the peak", report.at_peak) end
  out[#out + 1] = by_role(report.at_peak and "afterwards" or "bytes by role", report.roles)
  if report.timeline then out[#out + 1] = "<div>" .. draw.plot(report.timeline) .. "</div>" end
  if report.modules and #report.modules > 0 then out[#out + 1] = by_module(report.modules) end
  out[#out + 1] = "<pre>" .. escape(tostring(report.graphs)) .. "</pre></div>"
  return {["text/plain"] = tostring(report), ["text/html"] = table.concat(out)}
end

return M
