-- words.lua -- what the player says of itself: verdicts, refusals, the ways on
--
-- For play.lua and batch.lua. A verdict becomes rows of {label, text}; a front end lays them out.
--
-- MUST NOT   print.

local ready = require "dlrepl.lesson.ready"

local M = {}

-- Feedback that every step has.
M.feedback = {
  ["it runs"] = {
    why = "A program ends at its first error; what comes after it never runs.",
    probe = "Read the error's first line, then the lines below it: they name the operands.",
  },
  ["it is there"] = {
    why = "The check calls it by that name.",
    probe = "Define it at the prompt, then :check.",
  },
}

for name, told in pairs(ready.feedback) do M.feedback[name] = told end

M.refused = {
  empty = {"There is no code in this answer yet.",
           "Type your lines at the prompt (or fill the cell), then :check."},
  starter = {"This is the starter as it was; nothing has changed yet.",
             "Change the part that the task speaks of, then :check. :hint says where to look."},
}

M.limits = {
  time = {"It did not end within %s.",
          "Look for a loop whose condition never changes, or for far more work than was asked."},
  instructions = {"It ran far longer than the task needs, and was stopped.",
                  "Look for a loop whose condition never changes: print its counter."},
  memory = {"It asked for more memory than the task may have, and was stopped.",
            "Look for a list or tensor that grows in a loop, or for a size with a zero too many."},
}

-- rows(step, verdict) -> word, headline, rows; word is PASS, FAIL, NOTE (nothing was judged) or
-- CHECKER ERROR
function M.rows(step, v)
  if v.pass then return "PASS", step.title or step.id, {} end
  if v.checker then
    return "CHECKER ERROR", "not your fault: this lesson's own check failed",
      {{"it said", v.checker}, {"next", "The way is open: :skip goes on with full credit for "
        .. "this step. :appeal writes a file for the author."}}
  end
  if v.refused == "patched" then
    return "FAIL", "the library is as it was", {
      {"measured", v.name .. " is not what it was"}, {"expected", "torch and Lua unchanged"},
      {"why", "A check that measures with replaced functions would measure nothing."},
      {"next", "Give your function a name of its own."}}
  end
  if v.refused then
    local said = M.refused[v.refused]
    return "NOTE", said[1], {{"next", said[2]}}
  end
  if v.limit then
    local said = M.limits[v.limit] or M.limits.time
    return "FAIL", "it comes to an end", {{"measured", said[1]:format(v.text or "its time")},
                                          {"next", said[2]}}
  end
  local f = v.failed
  local told = step.feedback[f.feedback] or M.feedback[f.feedback] or M.feedback[f.check]
    or M.feedback["it runs"]
  return "FAIL", f.check, {{"measured", f.got}, {"expected", f.want}, {"why", told.why},
                           {"next", told.probe}}
end

-- Which of the cases it was: "case 2 of 4, seed 7"; the last one is held back.
function M.case(v)
  if not v.case or (v.of or 1) < 2 then return nil end
  if v.case == v.of then return string.format("held-back case, seed %d", v.seed or 0) end
  return string.format("case %d of %d, seed %d", v.case, v.of, v.seed or 0)
end

local ways = {
  task = "Type your lines, then :check. Stuck? :hint, or :skip to go on.",
  fix = "Type the lines that change it (or :watch FILE), then :check. Stuck? :hint, or :skip.",
  predict = ":answer YOUR GUESS, then the code runs.",
  explain = ":answer YOUR WORDS (a sentence or three), or :skip.",
}
local quiz_ways = {
  one = ":answer LETTER", many = ":answer LETTERS, as in :answer a c",
  order = ":answer LETTERS in order, as in :answer c a b", number = ":answer NUMBER",
  match = ":answer PAIRS, as in :answer 1b 2a",
}

-- How to answer this step, in one line.
function M.way(step)
  if step.kind == "quiz" then
    return quiz_ways[step.type] .. (step.unit and " " .. step.unit or "") .. ", or :skip."
  end
  return ways[step.kind] or ":next"
end

return M
