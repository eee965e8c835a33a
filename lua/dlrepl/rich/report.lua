-- report.lua -- dlrepl.report() in a notebook: its tables as HTML, its timeline as a plot
--
-- For rich.lua. The text of the report is beside it, as the prompt prints it.
--
-- MUST NOT   ask for anything that the report does not hold.

local html = require "dlrepl.rich.html"

local M = {}

local ROLES = {"parameter", "gradient", "optimizer state", "saved activation", "batch", "other"}

local function row(cells, tag)
  local out = {}
  for i, cell in ipairs(cells) do
    local side = i == 1 and "left" or "right"
    out[i] = string.format('<%s style="text-align:%s">%s</%s>', tag, side, html.escape(cell), tag)
  end
  return "<tr>" .. table.concat(out) .. "</tr>"
end

local function table_of(title, head, rows)
  local out = {"<p><b>" .. html.escape(title) .. "</b></p><table>", row(head, "th")}
  for _, cells in ipairs(rows) do out[#out + 1] = row(cells, "td") end
  out[#out + 1] = "</table>"
  return table.concat(out)
end

local function by_role(title, devices)
  local names, rows = {}, {}
  for name in pairs(devices) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    local cells, sum = {name}, 0
    for _, role in ipairs(ROLES) do
      local n = devices[name][role] or 0
      cells[#cells + 1], sum = html.bytes(n), sum + n
    end
    cells[#cells + 1] = html.bytes(sum)
    rows[i] = cells
  end
  local head = {"device", table.unpack(ROLES)}
  head[#head + 1] = "total"
  return table_of(title, head, rows)
end

local function by_module(list)
  local rows = {}
  for i, m in ipairs(list) do
    rows[i] = {m.path, m.class, html.bytes(m.parameter), html.bytes(m.gradient),
               m.saved and html.bytes(m.saved) or "–"}
  end
  return table_of("by module", {"module", "class", "parameter", "gradient", "saved by forward"},
                  rows)
end

local function held(graphs)
  local rows = {}
  for i, g in ipairs(graphs) do
    rows[i] = {g.path, html.thousands(g.nodes), html.bytes(g.bytes), g.where or ""}
  end
  return table_of("graphs that are held", {"by", "nodes", "saved", "made at"}, rows)
end

function M.bundle(report)
  local parts, data = {}, {["text/plain"] = tostring(report)}
  if report.at_peak then parts[#parts + 1] = by_role("at the peak, by role", report.at_peak) end
  parts[#parts + 1] = by_role(report.at_peak and "afterwards, by role" or "by role", report.roles)
  if report.modules then parts[#parts + 1] = by_module(report.modules) end
  if #report.graphs > 0 then parts[#parts + 1] = held(report.graphs) end
  if report.timeline then
    local plot = require("dlrepl.rich.plot").bundle(report.timeline)
    parts[#parts + 1] = plot["image/svg+xml"]
  end
  data["text/html"] = table.concat(parts)
  return data
end

return M
