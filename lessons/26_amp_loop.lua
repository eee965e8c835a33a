-- L26: the mixed-precision loop to its end: autocast around the forward, the scaler around the
-- rest.

local HALF = "torch.float16"

local function copies_of(params)
  local out = {}
  for i, p in ipairs(params) do out[i] = p:detach():clone() end
  return out
end

local function change(before, after)
  local total = 0
  for i, p in ipairs(before) do total = total + ((after[i]:detach() - p) ^ 2):sum():item() end
  return math.sqrt(total)
end

local function unchanged(before, after)
  for i, p in ipairs(before) do if not torch.equal(p, after[i]:detach()) then return false end end
  return true
end

local function dtypes(params)
  local odd
  for _, p in ipairs(params) do
    if tostring(p.dtype) ~= "torch.float32" then odd = tostring(p.dtype) end
  end
  return odd or "torch.float32"
end

local function dtype_of(o) return o and "torch." .. o.dtype or "no such operation" end

local function scaler_used(rec) return #rec:calls("_amp_unscale_") end

local function ended(rec) return rec.optimizer.taken + rec.optimizer.skipped end

-- Train as the task asks, to compare with.
local function trained(model, batches, lr)
  local opt = optim.SGD(model:parameters(), {lr = lr})
  local scaler = torch.amp.GradScaler("cuda", {growth_interval = 1000})
  for _, batch in ipairs(batches) do
    opt:zero_grad()
    local loss
    torch.autocast({device_type = "cuda", dtype = torch.float16}, function()
      loss = F.mse_loss(model(batch[1]), batch[2])
    end)
    scaler:scale(loss):backward()
    scaler:step(opt)
    scaler:update()
  end
end

return lesson {
  id = "L26", format = 1, title = T"The mixed-precision loop", minutes = 15,
  needs = {"L13", "L25"},
  answers = {"S0.amp_text", "S0.amp_code", "S0.check4", "S0.Q4", "S2.Q18", "S2.Q18.answer",
             "S2.Q18.scaler_loop", "S2.Q18.autocast"},
  goals = {T"Know what autocast changes and what it leaves alone",
           T"Write the whole loop: scale, backward, step, update",
           T"Read a skipped step for what it is"},
  world = {card = "t4"},

  steps = {
    {id = "why", kind = "text", body = T[[
Sixteen bits are fast and half as large, and they lose small numbers. Watch who uses them.]]},

    {id = "see", kind = "run", code = [[
model = nn.Linear(8, 3):to("cuda")
x, y = torch.randn(16, 8):to("cuda"), torch.randint(0, 3, {16}):to("cuda")
torch.autocast({device_type="cuda", dtype=torch.float16}, function()
  out = model(x)
  loss = F.cross_entropy(out, y)
end)
out.dtype, loss.dtype]],
     say = T"The product ran in 16 bits, the loss in 32: it sums many terms, and sums lose "
       .. T"digits. (torch.cuda.amp.autocast and torch.cuda.amp.GradScaler, which you will still "
       .. T"meet, are the older names of the same.)"},

    {id = "weights", kind = "predict", title = T"And the weights?", code = [[
print(model.weight.dtype)]], options = {"torch.float16", "torch.float32"},
     answer = "torch.float32",
     wrong = {["torch.float16"] = T"That would be model:half(). Autocast casts copies, for the "
       .. T"time "
       .. T"of an operation."},
     say = T"The optimizer keeps adding small updates to 32-bit weights, so none of them is lost."},

    {id = "small", kind = "predict", title = T"What gets lost", ask = T[[
A gradient of 1e-8, in 16 bits and back: what is left of it?]], code = [[
g = torch.tensor({1e-8})
print(g:half():float():item())]], answer = "0.0", accept = {"0", "nothing", "zero"},
     wrong = {["1e-8"] = T"16-bit floats end near 6e-8: below that there is only zero."},
     say = T"So the loss is multiplied by a large number before backward, and the gradients are "
       .. T"divided by it before they are used. That is all a GradScaler does, and it picks the "
       .. T"number."},

    {id = "do", kind = "task", title = T"The loop, to its end", define = "amp_step",
     starter = [[
function amp_step(model, opt, scaler, x, y)
  opt:zero_grad()
  local loss
  torch.autocast({device_type="cuda", dtype=torch.float16}, function()
    loss = F.cross_entropy(model(x), y)
  end)
  return loss
end]],
     prompt = T[[
Here is the half that everybody remembers. Write the other half: one training step in which no
small gradient is lost, a batch with inf in it changes no weight, and the scale follows.

To try it: scaler = torch.amp.GradScaler("cuda"); amp_step(model, opt, scaler, x, y)]],
     instances = function(rng)
       return rng:set {bad = {false, true, false, true}, rows = rng:odd(9, 33),
                       inputs = rng:ints(4, 15), classes = rng:ints(3, 8),
                       scale = rng:pick {512, 1024, 4096, 8192}}
     end,
     setup = function(w, p)
       w.model = nn.Linear(p.inputs, p.classes):to("cuda")
       w.opt = optim.SGD(w.model:parameters(), {lr = 0.5})
       w.scaler = torch.amp.GradScaler("cuda", {init_scale = p.scale, growth_interval = 1})
       w.x = torch.randn(p.rows, p.inputs):to("cuda")
       w.y = torch.randint(0, p.classes, {p.rows}):to("cuda")
       F.cross_entropy(w.model(w.x), w.y):backward()
       p.want = {}
       for i, q in ipairs(w.model:parameters()) do p.want[i] = (q - q.grad * 0.5):detach() end
       p.before, p.params = copies_of(w.model:parameters()), w.model:parameters()
       if p.bad then w.x[0] = 1e30 end
     end,
     drive = function(w, p)
       p.scaler = w.scaler
       for q in w.model:parameters() do q.grad = torch.full_like(q, 0.25 * p.scale) end
       return w.amp_step(w.model, w.opt, w.scaler, w.x, w.y)
     end,
     errors = function(_, text) return text:find("_scale is None", 1, true) and "not_scaled" end,
     check = function(r, p, w, result)
       local layer, loss = r.rec:last("linear"), r.rec:last("cross_entropy")
       r:is("the weights stay in 32 bits", dtypes(p.params), "torch.float32", "halved")
       r:is("the layer runs in 16 bits", dtype_of(layer), HALF, "no_autocast")
       r:is("the loss is in 32 bits", dtype_of(loss), "torch.float32", "loss_outside")
       r:ok("the scaler sees the gradients", scaler_used(r.rec) > 0, "no_scaler",
            "it looked at none", "scaler:step, which looks for inf and divides")
       r:is("one step, through the scaler", ended(r.rec), 1, "stepped_twice")
       if p.bad then
         r:ok("a batch with inf changes nothing", unchanged(p.before, w.model:parameters()),
              "bad_step", "weights have changed", "the step is skipped")
       else
         local ratio = change(p.before, w.model:parameters()) / change(p.before, p.want)
         r:ok("the update has its full size", ratio > 0.5, "not_scaled",
              string.format("%.2g of it", ratio), "all of it")
         r:ok("old gradients are cleared", ratio < 1.5, "stale",
              string.format("the update is %.1f times as large", ratio), "once")
         for i, q in ipairs(w.model:parameters()) do
           r:near("the update is the 32-bit one, nearly", q, p.want[i], "other_update",
                  {tol = 2e-2})
         end
       end
       r:ok("the loss comes back", type(result) == "userdata", "no_loss", result, "the loss")
       r:is("the scale follows", p.scaler:get_scale(), p.scale * (p.bad and 0.5 or 2), "no_update")
     end,
     hints = {
       T"Four things come after the forward. Which object knows the scale?",
       T"Print scaler:get_scale() before and after, and a weight's gradient after backward.",
       T"The scaler multiplies the loss, and it takes the step in the optimizer's place.",
       T"In order: the scaled loss goes backward; the scaler steps with opt; the scaler updates."},
     feedback = {
       halved = {why = T"16-bit weights round away updates smaller than a thousandth of them.",
                 probe = T"print(model.weight.dtype)"},
       no_autocast = {why = T"Outside of autocast everything runs in 32 bits: right, and slow.",
                      probe = T"print(model(x).dtype)"},
       loss_outside = {why = T"A loss on 16-bit scores outside of autocast stays in 16 bits, where "
         .. T"sums lose their digits.", probe = T"print(loss.dtype)"},
       no_scaler = {why = T"Without it small gradients become zero, and a batch with inf in it "
         .. T"ruins "
         .. T"the weights.", probe = T"Which call looks at the gradients before the weights "
         .. T"change?"},
       stepped_twice = {why = T"scaler:step calls the optimizer's own step. Another one uses the "
         .. T"gradients twice, and takes the steps that the scaler has refused.",
         probe = T"Count the calls that end in step(…)."},
       bad_step = {why = T"One inf in a weight, and every later result is nan.",
                   probe = T"print(model.weight) after the bad batch"},
       not_scaled = {why = T"The scaler divides the gradients by the scale. If the loss was never "
         .. T"multiplied by it, the update is that much too small.",
         probe = T"print(loss, scaler:scale(loss))"},
       stale = {why = T"Gradients add up until somebody clears them.",
                probe = T"print(model.weight.grad) at the top of amp_step"},
       other_update = {why = T"It is near the size, but not the update of this batch.",
                       probe = T"Compare with one step in 32 bits."},
       no_loss = {why = T"Whoever calls it wants to log the loss.",
                  probe = T"print(amp_step(model, opt, scaler, x, y))"},
       no_update = {why = T"The scale has to come down after inf, and may go up after good steps.",
                    probe = T"print(scaler:get_scale()) after each step"}}},

    {id = "skip", kind = "quiz", type = "one", title = T"A skipped step",
     ask = T"The log says that the first step was skipped and the scale went from 65536 to 32768. "
       .. T"What do you do?",
     options = {T"Lower the learning rate", T"Nothing: the scaler is finding its scale",
                T"Call the optimizer's step as well, so that no step is lost",
                T"Leave out the scaler"}, correct = 2,
     why = {T"The gradients overflowed because of the scale, not because of the rate.",
            T"It starts high, comes down until nothing overflows, and the weights were left alone.",
            T"That would put inf into the weights.",
            T"Then nothing protects the weights, and small gradients vanish."}},

    {id = "fix", kind = "fix", title = T"A model that has "
      .. T"stopped", script = "broken/26_no_scaler.lua",
     fault = "F13", define = "train",
     prompt = T[[
Late in a training the loss stands still. It is a mean over many outputs, so each gradient is tiny,
and on its way back through the 16-bit layer it becomes zero. Repair train so that next to nothing
is lost; use the scaler that is handed in, once a batch.]],
     instances = function(rng)
       return rng:set {batches = rng:ints(2, 6), rows = {48, 56, 64, 72},
                       outputs = rng:odd(385, 511),
                       inputs = rng:ints(6, 13)}
     end,
     setup = function(w, p)
       w.model = nn.Linear(p.inputs, p.outputs):to("cuda")
       w.opt = optim.SGD(w.model:parameters(), {lr = 1000})
       w.scaler = torch.amp.GradScaler("cuda", {growth_interval = 1000})
       p.twin = nn.Linear(p.inputs, p.outputs):to("cuda")
       p.twin:load_state_dict(w.model:state_dict())
       w.batches = {}
       for i = 1, p.batches do
         local x = torch.randn(p.rows, p.inputs):to("cuda")
         local y = (w.model(x) + 3e-4 * torch.randn(p.rows, p.outputs):to("cuda")):detach()
         w.batches[i] = {x, y}
       end
       p.data, p.params = {table.unpack(w.batches)}, w.model:parameters()
     end,
     drive = function(w) w.train(w.model, w.opt, w.scaler, w.batches) end,
     check = function(r, p, w)
       local lost, values = 0, p.batches * p.rows * p.outputs
       for _, o in ipairs(r.rec.ops) do if o.backward then lost = lost + o.flushed end end
       r:is("the weights stay in 32 bits", dtypes(p.params), "torch.float32", "halved")
       local layer = r.rec:last("linear")
       r:is("the layer runs in 16 bits", dtype_of(layer), HALF, "no_autocast")
       r:ok("small gradients survive", lost < 0.01 * values, "flushed",
            string.format("%.0f %% of them became zero", 100 * lost / values), "less than 1 %")
       r:ok("the scaler sees the gradients", scaler_used(r.rec) > 0, "no_scaler",
            "it looked at none", "scaler:step, which looks for inf and divides")
       r:is("one step a batch, through the scaler", ended(r.rec), p.batches, "stepped_twice")
       r:is("one update of the scale a batch", #r.rec:calls("_amp_update_scale_"), p.batches,
            "no_update")
       trained(p.twin, p.data, 1000)
       r:near("each update is its own batch's", w.model.weight, p.twin.weight, "accumulated",
              {tol = 1e-5})
     end,
     hints = {
       T"Where do numbers become 16-bit ones on the way back?",
       T"Print the largest gradient: model.weight.grad:abs():max(), before the step.",
       T"What is too small can be multiplied before and divided after.",
       T"Three lines change: the one with backward, the one with step, and one more after it."},
     feedback = {
       halved = {why = T"16-bit weights round small updates away.",
                 probe = T"print(model.weight.dtype)"},
       no_autocast = {why = T"32 bits throughout would lose nothing, at twice the bytes and half "
         .. T"the "
         .. T"speed. The task is to keep 16 bits for the layer.", probe = T"print(model(x).dtype)"},
       flushed = {why = T"A 16-bit number below about 3e-8 becomes zero, and a zero gradient "
         .. T"teaches "
         .. T"nothing.", probe = T"print((model.weight.grad:eq(0)):sum())"},
       no_scaler = {why = T"A loss that is multiplied by hand must be divided by hand, and nobody "
         .. T"looks for inf.", probe = T"Which call looks at the gradients before the step?"},
       stepped_twice = {why = T"scaler:step calls the optimizer's own step.",
                        probe = T"Count the calls that end in step(…)."},
       accumulated = {why = T"Gradients add up until somebody clears them; each batch starts anew.",
                      probe = T"Where is zero_grad called, and how often?"},
       no_update = {why = T"The scaler wants one update after each step.",
                    probe = T"print(scaler:get_scale())"}}},

    {id = "trade", kind = "quiz", type = "many", title = T"The bargain",
     ask = T"What is true of mixed precision?",
     options = {T"It needs less memory for what is kept for backward",
                T"It is faster on every model", T"It costs some precision",
                T"It halves weights, gradients and optimizer state too"},
     correct = {1, 3},
     why = {T"Activations are kept in 16 bits.",
            T"A model of small operations can even get slower: casts take time. Measure it.",
            T"16-bit floats have about three digits; 32 bits stay where that would hurt.",
            T"Under autocast all three stay in 32 bits."}},

    {id = "say", kind = "explain", rubric = "C4", max_words = 80, title = T"In an interview",
     ask = T"What is mixed-precision training, and what is the trade-off?"},
  },

  reference = {["do"] = "sol/26_do.lua", fix = "sol/26_fix.lua", say = "sol/26_say.txt"},
  also_right = {["do"] = {"sol/26_do_old_names.lua", "sol/26_do_guard.lua"}},
  survivors = {
    ["do"] = {["lines 2 and 3 swapped"] = "clearing may come after the declaration",
              ["without line 3: local loss"] = "a global is not nice, but it works",
              ["lines 6 and 7 swapped"] = "backward within autocast is discouraged, not wrong"},
    fix = {["lines 4 and 5 swapped"] = "clearing may come after the declaration",
           ["without line 5: local loss"] = "a global is not nice, but it works",
           ["lines 8 and 9 swapped"] = "backward within autocast is discouraged, not wrong"}},
  wrong = {
    {step = "do", file = "bad/26_half.lua", fails = "the weights stay in 32 bits",
     feedback = "halved"},
    {step = "do", file = "bad/26_no_autocast.lua", fails = "the layer runs in 16 bits",
     feedback = "no_autocast"},
    {step = "do", file = "bad/26_loss_outside.lua", fails = "the loss is in 32 bits",
     feedback = "loss_outside"},
    {step = "do", file = "bad/26_no_scaler.lua", fails = "the scaler sees the gradients",
     feedback = "no_scaler"},
    {step = "do", file = "bad/26_step_too.lua", fails = "one step, through the scaler",
     feedback = "stepped_twice"},
    {step = "do", file = "bad/26_not_scaled.lua", fails = "it runs", feedback = "not_scaled"},
    {step = "do", file = "bad/26_no_update.lua", fails = "the scale follows",
     feedback = "no_update"},
    {step = "fix", file = "bad/26_by_hand.lua", fails = "the scaler sees the gradients",
     feedback = "no_scaler"},
  },
}
