-- front.lua -- where a lesson's words go: a terminal, a pipe, or a notebook
--
-- For play.lua. At the prompt everything is lines of text; in a notebook a verdict is a display
-- with text, HTML and data, and a question may be asked through the client.
--
-- MUST NOT   know steps' order or progress.

local text = require "dlrepl.lesson.text"
local words = require "dlrepl.lesson.words"

local print, rawget = print, rawget
local M = {}
local RESULT = "application/vnd.dlrepl.result+json"

-- The notebook's functions {display, input}, or nil at a prompt.
function M.kernel()
  local k = rawget(dlrepl, "kernel")
  if type(k) ~= "table" then return nil end
  local active = k.active
  if type(active) == "function" then active = active() end
  return active and k or nil
end

-- A text of paragraphs and code.
function M.say(body, lead)
  for _, line in ipairs(text.wrap(body, text.columns(), lead)) do print(line) end
end

-- One line or more as they are.
function M.line(s) print(s or "") end

function M.blank() print("") end

function M.tagged(word, body)
  local columns = text.columns()
  local lead = "[" .. word .. "] "
  local lines = text.wrap(body, columns, string.rep(" ", #lead), "  ")
  lines[1] = text.tag(word) .. " " .. (lines[1] or ""):sub(#lead + 1)
  for _, line in ipairs(lines) do print(line) end
end

-- Code as a transcript has it: each piece after its prompt.
function M.echo(code)
  local first = true
  for line in (code .. "\n"):gmatch("(.-)\n") do
    print((first and "> " or "... ") .. line)
    first = false
  end
end

function M.code(code) print(text.code(code)) end

-- ---- verdicts ---------------------------------------------------------------------------------

local entities = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;"}
local function html(s) return (tostring(s):gsub('[&<>"]', entities)) end

local function verdict_html(word, head, rows)
  local out = {"<div><strong>[", word, "]</strong> ", html(head), "</div>"}
  if #rows > 0 then
    out[#out + 1] = "<table>"
    for _, row in ipairs(rows) do
      if row[2] and row[2] ~= "" then
        out[#out + 1] = string.format('<tr><th scope="row" style="text-align:left">%s</th>'
          .. '<td style="text-align:left;white-space:pre-wrap">%s</td></tr>', html(row[1]),
          html(row[2]))
      end
    end
    out[#out + 1] = "</table>"
  end
  return table.concat(out)
end

local function data_of(lesson, step, word, v)
  local f = v.failed or {}
  return {lesson = lesson.id, step = step.id, verdict = word, check = f.check,
          feedback = f.feedback, seed = v.seed, case = v.case}
end

-- A verdict: `[FAIL] check (case 2 of 4, seed 7)` and its rows.
function M.verdict(lesson, step, v)
  local word, head, rows = words.rows(step, v)
  local case = not v.pass and words.case(v)
  if case then head = head .. "  (" .. case .. ")" end
  if v.pass and (v.of or 1) > 1 then head = head .. "  (" .. v.of .. " cases)" end
  local columns = text.columns()
  local kernel = M.kernel()
  if not kernel then
    M.tagged(word, head)
    for _, line in ipairs(text.labelled(rows, columns)) do print(line) end
    return
  end
  local plain = {"[" .. word .. "] " .. head}
  for _, line in ipairs(text.labelled(rows, columns)) do plain[#plain + 1] = line end
  kernel.display {["text/plain"] = table.concat(plain, "\n"),
                  ["text/html"] = verdict_html(word, head, rows),
                  [RESULT] = data_of(lesson, step, word, v)}
end

-- Ask through the notebook's client; nil where it cannot (as when nbconvert runs the notebook).
function M.ask(question)
  local kernel = M.kernel()
  if not kernel or not kernel.input then return nil end
  local ok, reply = pcall(kernel.input, question)
  return ok and type(reply) == "string" and reply or nil
end

return M
