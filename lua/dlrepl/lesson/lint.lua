-- lint.lua -- lessons are tested like code: dlrepl lint lessons/ [--seeds 20] [--tap]
--
-- For authors and for make test. Each file is read against the schema; each task is given its
-- starter, nothing, its reference on so many seeds, every other right and wrong answer, and the
-- reference with small changes; hints are compared with the reference; the sources are covered.
--
-- INVARIANT  A problem names lesson, step, file and seed.
-- MUST NOT   touch a learner's progress.

local client = require "dlrepl.lesson.client"
local coverage = require "dlrepl.lesson.coverage"
local format = require "dlrepl.lesson.format"
local mutate = require "dlrepl.lesson.mutate"
local quiz = require "dlrepl.lesson.quiz"

local host = dlrepl._lesson
local M = {}

-- ---- points -----------------------------------------------------------------------------------

local report -- {tap, n, failed}

local function point(name, problem)
  report.n = report.n + 1
  if problem then report.failed = report.failed + 1 end
  if report.tap then
    print((problem and "not ok " or "ok ") .. report.n .. " - " .. name:gsub("#", "\\#"))
  elseif problem then print("[FAIL] " .. name) end
  if problem then
    for line in (problem .. "\n"):gmatch("(.-)\n") do
      if line ~= "" then print((report.tap and "#   " or "  ") .. line) end
    end
  end
  io.stdout:flush()
end

local function describe(v)
  local f = v.failed or {}
  local what = "ends: " .. tostring(v.limit or v.refused or v.checker)
  if v.pass then what = "it passes"
  elseif f.check then
    what = "fails '" .. f.check .. "' with feedback '" .. tostring(f.feedback) .. "'"
  end
  return string.format("%s%s%s (case %s, seed %s)", what, f.got and "\nmeasured " .. f.got or "",
    f.want and "\nexpected " .. f.want or "", tostring(v.case), tostring(v.seed))
end

-- ---- one task ---------------------------------------------------------------------------------

local function is_code(step) return step.kind == "task" or step.kind == "fix" end

local function judge(lesson, step, entries, seed)
  return client.check(lesson, step, entries,
                      {seed = seed, plain = true, replay = client.replay(lesson, step)})
end

-- The verdict of the first seed for which `good` says no; nil when it says yes for all.
local function first_bad(lesson, step, entries, seeds, good)
  for seed = 1, seeds do
    local v = judge(lesson, step, entries, seed)
    if not good(v) then return v end
  end
end

local function passes(v) return v.pass == true end
local function fails(v) return v.failed ~= nil or v.limit ~= nil or v.refused ~= nil end

local function read(lesson, name)
  local text, why = lesson:file(name)
  if not text then point(lesson.id .. ": " .. tostring(name) .. " can be read", tostring(why)) end
  return text
end

-- Other right answers, and wrong ones, are tried on fewer seeds than the reference.
local function few(seeds) return math.max(math.min(seeds, 3), seeds // 4) end

local function right_answers(lesson, step, seeds)
  local where = lesson.id .. "." .. step.id
  local reference = lesson:reference_of(step)
  point(where .. ": there is a reference", not reference and "add it to 'reference'" or nil)
  if not reference then return end
  local bad = first_bad(lesson, step, {reference}, seeds, passes)
  point(where .. ": the reference passes on " .. seeds .. " seeds", bad and describe(bad))
  for _, name in ipairs((lesson.also_right or {})[step.id] or {}) do
    local text = read(lesson, name)
    bad = text and first_bad(lesson, step, {text}, few(seeds), passes)
    point(where .. ": " .. name .. " passes too",
          bad and describe(bad) or not text and "missing" or nil)
  end
  local v = judge(lesson, step, {reference}, 1)
  local only_loss = v.pass and v.kinds.loss and not v.kinds.state and not v.kinds.value
  point(where .. ": more is asked than a low loss",
        only_loss and "a loss that falls proves nothing")
  return reference
end

local function poor_answers(lesson, step)
  local where = lesson.id .. "." .. step.id
  local starter = lesson:starter(step)
  local v = judge(lesson, step, {starter}, 1)
  point(where .. ": the starter fails", not fails(v) and describe(v) or nil)
  v = judge(lesson, step, {"-- nothing"}, 1)
  point(where .. ": an empty answer fails", not fails(v) and describe(v) or nil)
  v = judge(lesson, step, {(starter .. "\nprint(42)")}, 1)
  point(where .. ": a printed answer fails", not fails(v) and describe(v) or nil)
end

local function wrong_answers(lesson, seeds)
  for _, w in ipairs(lesson.wrong or {}) do
    local step = lesson:find(w.step)
    local text = read(lesson, w.file)
    local bad = text and first_bad(lesson, step, {text}, few(seeds), function(v)
      return v.failed and v.failed.check == w.fails and v.failed.feedback == w.feedback
    end)
    point(string.format("%s.%s: %s fails '%s' with '%s'", lesson.id, w.step, w.file, w.fails,
                        w.feedback), bad and describe(bad) or not text and "missing" or nil)
  end
end

-- A mutant that passes must be listed in `survivors`, with a word on why that is right.
local function mutants(lesson, step, reference)
  local known = (lesson.survivors or {})[step.id] or {}
  local alive = {}
  local all = mutate.list(reference)
  for _, m in ipairs(all) do
    if not known[m.name] and judge(lesson, step, {m.code}, 1).pass then
      alive[#alive + 1] = m.name
    end
  end
  point(string.format("%s.%s: each of %d small changes to the reference is noticed", lesson.id,
                      step.id, #all), #alive > 0 and table.concat(alive, "\n") or nil)
end

-- ---- words ------------------------------------------------------------------------------------

local function normal(text) return (text:gsub("%-%-[^\n]*", ""):gsub("[%s;]+", ""):lower()) end

-- No line of the reference that says anything stands in a hint.
local function hint_problem(step, reference)
  for line in (reference .. "\n"):gmatch("(.-)\n") do
    local n = normal(line)
    if #n >= 12 then
      for i, hint in ipairs(step.hints) do
        if normal(hint):find(n, 1, true) then return "hint " .. i .. " holds: " .. line end
      end
    end
  end
end

local function shown(lesson, step)
  local before = client.replay(lesson, step)
  if step.before then before[#before + 1] = step.before end
  return client.show(lesson, step, step.code, before)
end

local function check_run(lesson, step)
  local where = lesson.id .. "." .. step.id
  local r = shown(lesson, step)
  local want = step.expect and step.expect.error
  local problem
  if want and (r.ok or r.kind ~= want) then
    problem = "wanted an error of kind " .. want .. ", got "
      .. (r.ok and "none" or r.kind .. ": " .. r.text)
  elseif not want and not r.ok then problem = r.kind .. ": " .. r.text end
  point(where .. ": the demonstration ends as it says", problem)
end

local function check_predict(lesson, step)
  local r = shown(lesson, step)
  local got = r.printed and r.printed[#r.printed] or ""
  if not r.ok then got = r.text:match("^[^\n]*") end
  local right = quiz.predict(step, got)
  point(lesson.id .. "." .. step.id .. ": the code gives the answer",
        right ~= true and "it gives " .. got .. ", the answer is " .. step.answer or nil)
end

local function check_explain(lesson, step)
  local model = lesson:reference_of(step)
  local _, n = (model or ""):gsub("%S+", "")
  local name = ": the model answer has at most " .. step.max_words .. " words"
  point(lesson.id .. "." .. step.id .. name,
        (not model or n > step.max_words or n < 5) and n .. " words" or nil)
end

local function check_quiz(_, step)
  local right, why = quiz.mark(step, quiz.right(step))
  point(step.id .. ": its right answer is marked right", right ~= true and tostring(why) or nil)
end

local by_kind = {run = check_run, predict = check_predict, explain = check_explain,
                 quiz = check_quiz}

local function check_step(lesson, step, seeds)
  if by_kind[step.kind] then by_kind[step.kind](lesson, step) end
  if not is_code(step) then return end
  poor_answers(lesson, step)
  local reference = right_answers(lesson, step, seeds)
  if not reference then return end
  point(lesson.id .. "." .. step.id .. ": no hint holds the answer", hint_problem(step, reference))
  mutants(lesson, step, reference)
end

-- ---- the whole --------------------------------------------------------------------------------

local function lint_lesson(path, options)
  local lesson, why = format.load(path)
  point(path .. " is a lesson", why)
  if not lesson then return end
  local wrong = #(lesson.wrong or {})
  point(lesson.id .. ": at least three wrong answers", wrong < 3 and wrong .. " are there" or nil)
  for _, step in ipairs(lesson.steps) do check_step(lesson, step, options.seeds) end
  wrong_answers(lesson, options.seeds)
  client.close()
end

-- ---- several lessons at a time ----------------------------------------------------------------

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- A lesson linted by a process of its own: its TAP, to be read later.
local function start(path, seeds)
  local exe = quoted(host.exe())
  return io.popen(string.format("%s lint %s --seeds %d --tap 2>&1", exe, quoted(path), seeds))
end

-- Its points become ours.
local function take(pipe)
  local name, bad, lines
  local function flush()
    if name then point(name, bad and table.concat(lines, "\n") or nil) end
    name = nil
  end
  for line in pipe:lines() do
    local word, what = line:match("^(.-ok) %d+ %- (.*)$")
    if word then
      flush()
      name, bad, lines = what:gsub("\\#", "#"), word == "not ok", {}
    elseif line:find("^#   ") and name then lines[#lines + 1] = line:sub(5)
    elseif not line:find("^1%.%.%d") and line ~= "" then
      lines = lines or {}
      lines[#lines + 1] = line
    end
  end
  flush()
  pipe:close()
end

local function lint_folder(dir, options)
  local paths, found, running, from = format.paths(dir), {}, {}, 1
  if #paths == 0 then point(dir .. " holds lessons", "there are none") end
  for i, path in ipairs(paths) do
    while from <= #paths and from < i + options.jobs do
      running[from] = start(paths[from], options.seeds)
      from = from + 1
    end
    take(running[i])
    found[#found + 1] = format.load(path)
  end
  coverage.check(dir, found, point)
end

-- run({folder or file, …}, {seeds=, tap=, jobs=}) -> exit status
function M.run(names, options)
  report = {tap = options.tap, n = 0, failed = 0}
  for _, name in ipairs(names) do
    name = #name > 1 and name:gsub("/+$", "") or name
    local _, _, is_folder = host.stat(name)
    if is_folder then lint_folder(name, options) else lint_lesson(name, options) end
  end
  if report.tap then print("1.." .. report.n)
  else print(string.format("%d points, %d failed", report.n, report.failed)) end
  return report.failed > 0 and 1 or 0
end

return M
