-- ready.lua -- ready-made checks: questions that many lessons ask, each with a message of its own
--
-- For checks.lua, which has them as methods of r, and words.lua, which says their messages:
--
--     r:steps(3)                                     -- "3 optimizer steps were taken"
--     r:device_is("matmul", "cuda:0", "moved_back")  -- a step's own feedback
--
-- Every check takes a feedback id last; without one the message is told that stands here.
--
-- INVARIANT  They read the record, and values by functions kept from before; never an answer's.

local bytes_text = require "dlrepl.bytes"
local core = require "dlrepl.core"

local ipairs, rawget, table, type = ipairs, rawget, table, type
local getmetatable, pairs, tostring = debug.getmetatable, pairs, tostring
local format = string.format
local is_tensor = core.is_tensor
local named_parameters = nn.Module.named_parameters

local M = {checks = {}, feedback = {}}
local checks = M.checks

-- A check and what is said where it fails.
local function define(name, why, probe, fn)
  checks[name] = fn
  M.feedback[name] = {why = why, probe = probe}
end

-- The names of the watched ones that are in `set`: a list of names, one name, or nil for all.
local function chosen(list, set)
  if set == nil then return list end
  local wanted, out = {}, {}
  for _, name in ipairs(type(set) == "table" and set or {set}) do wanted[name] = true end
  for _, p in ipairs(list) do if wanted[p.name] then out[#out + 1] = p end end
  return out
end

-- The names among `list` that `bad` says yes to; "none" is watched is a fault of the lesson.
local function offenders(list, set, bad)
  local some, names = chosen(list, set), {}
  if #some == 0 then error("nothing of that name is watched: the step needs watch =", 0) end
  for _, p in ipairs(some) do if bad(p) then names[#names + 1] = p.name end end
  return names
end

local function none_of(r, name, list, set, bad, feedback, want)
  local names = offenders(list, set, bad)
  r:ok(name, #names == 0, feedback, table.concat(names, ", "), want)
end

-- At most so much of something that is counted.
local function at_most(r, name, got, most, feedback, text)
  text = text or function(n) return format("%d", n) end
  r:ok(name, got <= most, feedback, text(got), "at most " .. text(most))
end

-- ---- devices ----------------------------------------------------------------------------------

define("device_is",
  "The work went to another device than the one that was asked for.",
  "Print x.device of each operand just before that line.",
  function(r, what, device, feedback)
    local found = is_tensor(what) and what or r.rec:last(what)
    local got = found and tostring(found.device)
    local name = is_tensor(what) and "the value is on " .. device or what .. " ran on " .. device
    r:ok(name, got == device, feedback or "device_is",
         got or tostring(what) .. " never ran", device)
  end)

define("one_device_per_op",
  "An operation needs all its operands on one device; only 0-dim CPU numbers may differ.",
  "Find the operation named above and print .device of each of its operands.",
  function(r, feedback)
    local odd = r.rec:mixed()
    r:ok("one device per op", odd == nil, feedback or "one_device_per_op",
         odd and r.rec.describe(odd), "all operands on one device")
  end)

define("bytes_moved",
  "Copies between devices wait for a bus that is far slower than the memory on either side.",
  "Look for :to, :cuda, :cpu and :item inside the loop, and for what could stay where it is.",
  function(r, most, feedback)
    at_most(r, "few bytes are moved", (r.rec:moved()), most, feedback or "bytes_moved", bytes_text)
  end)

define("copies",
  "Each copy between devices has a cost of its own, however small it is.",
  "Count the calls of :to, :cuda and :cpu that one step makes.",
  function(r, most, feedback)
    local _, count = r.rec:moved()
    at_most(r, "few copies", count, most, feedback or "copies")
  end)

define("syncs",
  "Where the host waits for the device, neither works ahead.",
  "Look for :item(), print of a tensor and :cpu() inside the loop; keep sums on the device.",
  function(r, most, feedback)
    at_most(r, "the host seldom waits", r.rec.syncs, most, feedback or "syncs")
  end)

define("kernels",
  "Each operation starts a kernel of its own; many small ones cost more than one large one.",
  "Look for a loop over elements or rows that one operation on the whole tensor replaces.",
  function(r, most, feedback)
    at_most(r, "few kernels", r.rec.kernels, most, feedback or "kernels")
  end)

define("busy_at_least",
  "A device that waits for the host does nothing while it is paid for.",
  "Compare virtual_seconds.load with .elapsed in dlrepl.record: what is the device waiting for?",
  function(r, share, feedback)
    local t = r.rec.virtual_seconds
    local got = t.elapsed > 0 and t.busy / t.elapsed or 0
    r:ok("the device is busy", got >= share, feedback or "busy_at_least",
         format("%.0f %%", 100 * got), format("at least %.0f %%", 100 * share))
  end)

define("wait_under",
  "While a batch is loaded nothing is learned from the one before.",
  "More workers, a larger prefetch, or less work an item: dlrepl.record(…).loader says the wait.",
  function(r, seconds, feedback)
    r:ok("batches are there in time", r.rec.loader.virtual_wait <= seconds,
         feedback or "wait_under", format("%.3g s", r.rec.loader.virtual_wait),
         format("at most %.3g s", seconds))
  end)

-- ---- memory and graphs ------------------------------------------------------------------------

define("peak_under",
  "What is alive at one moment must fit, whatever is freed later.",
  "dlrepl.report(function() … end, model) shows what is alive at the peak, by role.",
  function(r, bytes, device, feedback)
    device = device or r.rec.memory["cuda:0"] and "cuda:0" or "cpu"
    at_most(r, "the peak on " .. device .. " is low enough", r.rec:peak(device), bytes,
            feedback or "peak_under", bytes_text)
  end)

define("saved_bytes",
  "Forward keeps what backward will need; what needs no gradient keeps nothing.",
  "Where could no_grad, checkpoint, or an in-place activation keep less?",
  function(r, most, feedback)
    at_most(r, "little is saved for backward", r.rec.graph.saved_peak, most,
            feedback or "saved_bytes", bytes_text)
  end)

define("no_graph_retained",
  "A tensor with a history keeps all of its graph alive, with everything saved in it.",
  "dlrepl.graphs() names who holds it; keep loss:item() or loss:detach().",
  function(r, from, to, feedback)
    from, to = from or r.rec.graph.nodes_start, to or r.rec.graph.nodes_end
    r:ok("no graph is kept", to <= from, feedback or "no_graph_retained",
         format("%d nodes more than before", to - from), "none")
  end)

-- ---- gradients and parameters -----------------------------------------------------------------

define("grads_non_nil",
  "A parameter that no loss reaches has no gradient, and no step moves it.",
  "Print p.grad of each parameter after backward; follow the graph from the loss back to it.",
  function(r, set, feedback)
    none_of(r, "every parameter has a gradient", r.rec.params, set,
            function(p) return p.grad == "none" end, feedback or "grads_non_nil", "a gradient each")
  end)

define("changed",
  "What an optimizer does not hold, or has no gradient for, stays as it was made.",
  "Is it among the parameters that the optimizer was given? Does it have a gradient?",
  function(r, set, feedback)
    none_of(r, "the parameters changed", r.rec.params, set,
            function(p) return not p.changed end, feedback or "changed", "changed by the step")
  end)

define("unchanged",
  "Something wrote into parameters that were to stay as they are.",
  "Is requires_grad false there, and is it left out of the optimizer?",
  function(r, set, feedback)
    none_of(r, "the parameters stay as they were", r.rec.params, set,
            function(p) return p.changed end, feedback or "unchanged", "the same bits as before")
  end)

define("buffers_unchanged",
  "Running statistics are updated by every forward call in training mode.",
  "Call model:eval() before it is measured, and model:train() afterwards.",
  function(r, set, feedback)
    none_of(r, "the buffers stay as they were", r.rec.buffers, set,
            function(b) return b.changed end, feedback or "buffers_unchanged",
            "the same bits as before")
  end)

local function grad_of(p) return p.grad end

-- name -> tensor of a module's parameters (or of what `of` makes of them), or the table itself
local function by_name(values, of)
  if rawget(getmetatable(values) or {}, "module_class") == nil then return values end
  local out = {}
  for name, p in named_parameters(values) do out[name] = of and of(p) or p end
  return out
end

-- Each of `want` near what `got` has under its name.
local function all_near(r, name, got, want, feedback)
  local names = {}
  for key in pairs(want) do names[#names + 1] = key end
  table.sort(names)
  for _, key in ipairs(names) do
    r:near(name .. " (" .. key .. ")", got[key], want[key], feedback)
  end
end

define("grads_match",
  "The gradient is another one: of another loss, of another batch, or added to an older one.",
  "Is zero_grad called each step? Is the loss the mean over the whole batch?",
  function(r, got, want, feedback)
    all_near(r, "the gradients are right", by_name(got, grad_of), by_name(want, grad_of),
             feedback or "grads_match")
  end)

define("same_update_as",
  "Both ways start from the same weights and see the same samples, so they end at the same ones.",
  "Compare p.grad just before the step: by what factor is it off?",
  function(r, got, want, feedback)
    all_near(r, "the update is the same", by_name(got), by_name(want), feedback or "same_update_as")
  end)

-- ---- training ---------------------------------------------------------------------------------

define("steps",
  "The optimizer moves the weights once a step; backward alone moves nothing.",
  "Count the calls of opt:step() that your loop makes.",
  function(r, n, feedback)
    r:is(n .. " optimizer steps were taken", r.rec.optimizer.taken, n, feedback or "steps")
  end)

define("steps_skipped",
  "A scaler skips the step where a gradient is inf or nan, and lowers its scale.",
  "Print scaler:get_scale() after each update.",
  function(r, n, feedback)
    r:is(n .. " steps were skipped", r.rec.optimizer.skipped, n, feedback or "steps_skipped")
  end)

define("mode_was",
  "Dropout and batch norm do one thing in training and another in evaluation.",
  "model:train() before the training loop, model:eval() before anything is measured.",
  function(r, mode, name, feedback)
    local odd, seen
    for _, m in ipairs(r.rec.modules) do
      if not name or m.name == name then
        seen = true
        odd = odd or m.training ~= (mode == "train") and m
      end
    end
    r:ok("the model is in " .. mode .. " mode", seen and not odd, feedback or "mode_was",
         not seen and "no module was called"
           or odd and odd.name .. " in " .. (odd.training and "train" or "eval") .. " mode", mode)
  end)

define("hook_ran",
  "A hook runs when the module or tensor it was registered on is used, and until it is removed.",
  "Where is it registered, and is its handle removed too early?",
  function(r, kind, n, name, feedback)
    r:is(format("the %s hook ran %d times", kind, n), r.rec:hook_runs(kind, name), n,
         feedback or "hook_ran")
  end)

-- An index twice or missing; nil where each of 0 … n - 1 is there once.
local function not_once(list, n)
  local seen = {}
  for _, i in ipairs(list) do
    if seen[i] then return "index " .. i .. " twice" end
    seen[i] = true
  end
  for i = 0, n - 1 do if not seen[i] then return "index " .. i .. " never" end end
  if #list > n then return #list .. " indices" end
end

define("indices_once",
  "In an epoch every sample counts once: none is left out, none is seen twice.",
  "Is drop_last on, is the sampler drawn with replacement, does the loop end early?",
  function(r, n, feedback)
    local loader, odd = r.rec.loader, nil
    for e, list in ipairs(loader.indices) do
      local what = not_once(list, n)
      odd = odd or what and format("epoch %d: %s", e, what)
    end
    if loader.epochs == 0 then odd = "no epoch was begun" end
    r:ok("each sample once an epoch", odd == nil, feedback or "indices_once", odd,
         format("0 to %d, each once", n - 1))
  end)

return M
