-- L22: a batch that does not fit. What fills the card, what frees it, and how a smaller batch makes
-- the very same update.

local WIDE = 24576
local STALE = 0.25 -- gradients that an earlier step left behind

local function net_of(inputs, classes)
  return nn.Sequential(nn.Linear(inputs, WIDE), nn.ReLU(), nn.Linear(WIDE, classes))
end

-- The parameters after one SGD step with the mean loss of all of x, worked out on the CPU.
local function stepped(params, x, y, lr)
  local p, want = {}, {}
  for i, q in ipairs(params) do p[i] = q:clone():requires_grad_() end
  local xs, ys = x:split(16), y:split(16)
  for i, rows in ipairs(xs) do
    local scores = F.linear(F.relu(F.linear(rows, p[1], p[2])), p[3], p[4])
    local part = F.cross_entropy(scores, ys[i], {reduction = "sum"}) / #x
    part:backward()
  end
  for i, q in ipairs(p) do want[i] = (q - q.grad * lr):detach() end
  return want
end

-- Norm of the change of all parameters.
local function moved(before, after)
  local total = 0
  for i, p in ipairs(before) do
    total = total + ((after[i]:detach():cpu() - p) ^ 2):sum():item()
  end
  return math.sqrt(total)
end

local function copies_of(params)
  local out = {}
  for i, p in ipairs(params) do out[i] = p:detach():cpu():clone() end
  return out
end

-- Rows that went forward through the layer whose results have so many columns.
local function rows_through(rec, columns)
  local rows = 0
  for _, o in ipairs(rec:calls("linear")) do
    if not o.backward and o.shape[2] == columns then rows = rows + o.shape[1] end
  end
  return rows
end

return lesson {
  id = "L22", format = 1, title = T"Out of memory: first moves", minutes = 15,
  needs = {"L13", "L21"},
  answers = {"S0.empty_cache", "S0.check3", "S0.Q3", "S0.standard_oom", "S2.Q17",
             "S2.Q17.smaller_batch", "S2.Q17.accumulation", "S2.Q17.trade_offs"},
  goals = {T"Read an out-of-memory error: how much was asked for, what holds the rest",
           T"Make the batch smaller and keep the update, the last piece included",
           T"Know which moves do nothing"},
  world = {card = "t4", vram = "36MiB"},

  steps = {
    {id = "why", kind = "text", body = T[[
This card has 36 MiB, so it is full as soon as a large one would be after hours.]]},

    {id = "see", kind = "run", expect = {error = "out_of_memory"}, code = [[
model = nn.Sequential(nn.Linear(16, 24576), nn.ReLU(), nn.Linear(24576, 4)):to("cuda")
x = torch.randn(64, 16):to("cuda")
y = torch.randint(0, 4, {64}):to("cuda")
F.cross_entropy(model(x), y):backward()]],
     say = T"Look at the line \"alive on GPU 0\": it says what holds the memory now."},

    {id = "what", kind = "quiz", type = "one", ask = T"What of it grows with the batch?",
     options = {T"the parameters", T"what the batch made on its way through the model",
                T"the cache of the allocator"}, correct = 2,
     why = {T"They take 2 MiB here, whatever the batch.",
            T"Activations are kept for backward, and they grow with the batch. That is why the "
              .. T"batch "
              .. T"is the first thing to change.",
            T"Cached blocks are free blocks: PyTorch uses them before it gives up."}},

    {id = "empty", kind = "predict", title = T"Emptying the cache",
     ask = T"Does empty_cache free what your tensors hold? What will this print?", code = [[
held = torch.cuda.memory_allocated()
torch.cuda.empty_cache()
print(torch.cuda.memory_allocated() < held)]], options = {"true", "false"}, answer = "false",
     wrong = {["true"] = T"Live tensors stay where they are."},
     say = T"empty_cache hands unused blocks back to the driver, for other programs. Your own "
       .. T"program can use no more than before: it tries its cache first anyway."},

    {id = "less", kind = "quiz", type = "number", title = T"A smaller batch",
     ask = T"At batch 64 the first layer's result is 64 x 24576 numbers of 4 bytes: 6 MiB. How "
       .. T"many "
       .. T"MiB is it at batch 16?", correct = 1.5, unit = "MiB", tolerance = 0.02,
     why = T"A quarter of the batch makes a quarter of the activations. The parameters stay."},

    {id = "do", kind = "task", title = T"The same update in pieces", define = "train_step",
     prompt = T[[
Write train_step(model, opt, x, y, most): one update with the mean cross-entropy of all of x, but
never more than `most` rows in the model at once. The number of rows is odd, so the last piece is
smaller than the others: weigh each piece by its share. The optimizer steps once.

Here are model, opt, x and y to try it on: train_step(model, opt, x, y, 16)]],
     instances = function(rng)
       return rng:set {rows = rng:odd(57, 71), most = rng:pick {8, 12, 16, 20},
                       inputs = rng:ints(3, 6), classes = rng:ints(3, 6)}
     end,
     setup = function(w, p)
       local net = net_of(p.inputs, p.classes)
       p.x, p.y = torch.randn(p.rows, p.inputs), torch.randint(0, p.classes, {p.rows})
       p.before = copies_of(net:parameters())
       w.model, w.x, w.y = net:to("cuda"), p.x:to("cuda"), p.y:to("cuda")
       w.opt = optim.SGD(w.model:parameters(), {lr = 0.1})
     end,
     drive = function(w, p)
       for q in w.model:parameters() do q.grad = torch.full_like(q, STALE) end -- of a step before
       w.train_step(w.model, w.opt, w.x, w.y, p.most)
     end,
     errors = function(kind) return kind == "out_of_memory" and "same_batch" or nil end,
     check = function(r, p, w)
       local ran = r.rec:last("linear", "addmm")
       r:ok("it ran on the GPU", ran ~= nil and ran.device == "cuda:0", "elsewhere",
            ran and "the layer ran on " .. ran.device or "no layer ran", "cuda:0")
       r:is("one step of the optimizer", r.rec.optimizer.taken, 1, "steps")
       r:is("every row is used once", rows_through(r.rec, WIDE), p.rows, "rows")
       p.want = stepped(p.before, p.x, p.y, 0.1)
       local bias = w.model:parameters()[2]:detach():cpu() - p.want[2]
       r:ok("old gradients are cleared", (bias + STALE * 0.1):abs():max():item() > 1e-4, "stale",
            "the gradients of the step before are in the update", "only those of this batch")
       local ratio = moved(p.before, w.model:parameters()) / moved(p.before, p.want)
       r:ok("the update has the big batch's size", ratio > 0.4 and ratio < 2.2, "not_divided",
            string.format("%.2f times as large", ratio), "the same size")
       for i, q in ipairs(w.model:parameters()) do
         r:near("the update is the big batch's", q, p.want[i], "unequal_pieces",
                {terms = p.rows, tol = 2e-5})
       end
     end,
     hints = {
       T"The error names the size that was asked for. Which number in your code sets it?",
       T"Print #x, and what x:split(16) gives: how long is each piece?",
       T"Gradients add up over calls of backward. So each piece may only bring its share of the "
         .. T"mean.",
       T"For each piece: its loss times (its rows / all rows), then backward. Step after the "
         .. T"loop."},
     feedback = {
       same_batch = {why = T"What is kept for backward grows with the rows that go through at "
         .. T"once. "
         .. T"Nothing else on this card is large.", probe = T"torch.cuda.max_memory_allocated()"},
       elsewhere = {why = T"The CPU has room, but the training was to run on the card.",
                    probe = T"print(x.device)"},
       steps = {why = T"Each step moves the weights, so the next piece would see another model: "
         .. T"that "
         .. T"is a small batch, not a large one in pieces.",
         probe = T"Count the calls of opt:step()."},
       rows = {why = T"A row that is left out, or used twice, changes what is learnt.",
               probe = T"Add up the rows of your pieces and compare with #x."},
       stale = {why = T"Gradients add up until somebody clears them; those of the last step are "
         .. T"still "
         .. T"there.", probe = T"print(model[0].bias.grad) at the top of train_step"},
       not_divided = {why = T"Adding up the pieces' means gives a sum of means: as if the learning "
         .. T"rate were that much larger.", probe = T"Print the loss of each piece before "
         .. T"backward."},
       unequal_pieces = {why = T"The last piece has fewer rows. Weighed like the others, its rows "
         .. T"count for more than theirs.", probe = T"Print each piece's rows / #x; they add up "
         .. T"to 1."}}},

    {id = "fix", kind = "fix", title = T"The batches at the end", script = "broken/22_tail.lua",
     fault = "F21", define = "train_epoch",
     prompt = T[[
This loop makes an update every k batches, from the mean of their losses. The number of batches is
no multiple of k, and the last few are lost. Repair it: what is left at the end is an update too,
from the mean of the batches that are in it.]],
     instances = function(rng)
       return rng:set {batches = {5, 7, 10, 11}, k = {2, 3, 4, 3}, rows = rng:ints(3, 9),
                       inputs = rng:odd(3, 11)}
     end,
     setup = function(w, p)
       w.model = nn.Linear(p.inputs, 3):to("cuda")
       w.opt = optim.SGD(w.model:parameters(), {lr = 0.1})
       w.k, w.batches = p.k, {}
       for i = 1, p.batches do
         w.batches[i] = {torch.randn(p.rows, p.inputs):to("cuda"),
                         torch.randint(0, 3, {p.rows}):to("cuda")}
       end
       p.twin = nn.Linear(p.inputs, 3):to("cuda")
       p.twin:load_state_dict(w.model:state_dict())
       p.data = {table.unpack(w.batches)}
     end,
     drive = function(w, p)
       w.train_epoch(w.model, w.opt, w.batches, p.k)
       p.left = w.model.weight.grad
     end,
     check = function(r, p, w)
       local opt = optim.SGD(p.twin:parameters(), {lr = 0.1})
       for first = 1, p.batches, p.k do
         local last = math.min(first + p.k - 1, p.batches)
         opt:zero_grad()
         for i = first, last do
           local loss = F.cross_entropy(p.twin(p.data[i][1]), p.data[i][2]) / (last - first + 1)
           loss:backward()
         end
         opt:step()
       end
       local groups = (p.batches + p.k - 1) // p.k
       r:is("an update for each group", r.rec.optimizer.taken, groups, "tail_lost")
       r:is("every batch is used once", rows_through(r.rec, 3), p.batches * p.rows, "batches")
       r:near("the updates are those of the means", w.model.weight, p.twin.weight, "tail_scaled",
              {terms = p.batches * p.rows})
     end,
     hints = {
       T"Count the batches, and how often opt:step() runs.",
       T"Print i, k and i % k. At which i does the loop end?",
       T"The last batch ends a group too, a shorter one, and its mean has fewer parts.",
       T"Step also when i is the number of batches; divide by the size of the group that i is in."},
     feedback = {
       tail_lost = {why = T"The gradients of the last batches were computed and never used; they "
         .. T"would even leak into the next epoch.", probe = T"print(#batches % k)"},
       batches = {why = T"Each batch goes through the model once.",
                  probe = T"Count the calls of model(…)."},
       tail_scaled = {why = T"The last group has fewer batches. Divided by k, its update is too "
         .. T"small.", probe = T"Print how many batches the last group has."}}},

    {id = "first", kind = "quiz", type = "one", title = T"In the middle of a training",
     ask = T"Your training dies at step 1 with CUDA out of memory. What do you try first?",
     options = {T"a lower learning rate", T"empty_cache() after each step",
                T"a smaller batch, with accumulation if the update must stay the same",
                T"more memory for the computer"}, correct = 3,
     why = {T"It changes how far a step goes, not what it holds.",
            T"The cache is not what is full: the same tensors are needed again at once.",
            T"One number to change, and it acts on what is large.",
            T"The card's memory is its own; system memory does not come into it."}},

    {id = "then", kind = "quiz", type = "many",
     ask = T"Even batch 1 does not fit. Which of these can still help?",
     options = {T"mixed precision: activations in 16 bits",
                T"activation checkpointing: keep fewer, compute them again", T"shuffling the data",
                T"sharding parameters, gradients and optimizer state over several cards"},
     correct = {1, 2, 4},
     why = {T"Half the bytes for most of what is kept for backward, at some loss of precision.",
            T"Memory for time: the forward runs twice.",
            T"The order of the data changes no size.",
            T"Each card then holds a part, at the price of talking to the others."}},

    {id = "say", kind = "explain", rubric = "C3", max_words = 80, title = T"In an interview",
     ask = T"What causes a CUDA out-of-memory error, and what do you do about it?"},
  },

  reference = {["do"] = "sol/22_do.lua", fix = "sol/22_fix.lua", say = "sol/22_say.txt"},
  also_right = {["do"] = {"sol/22_do_sum.lua"}, fix = {"sol/22_fix_groups.lua"}},
  survivors = {
    ["do"] = {["lines 2 and 3 swapped"] = "clearing may come after the cutting"},
    fix = {["lines 1 and 2 swapped"] = "at the start there are no gradients to clear",
           ["without line 2: opt:zero_grad()"] = "at the start there are no gradients to clear"}},
  wrong = {
    {step = "do", file = "bad/22_same_batch.lua", fails = "it runs", feedback = "same_batch"},
    {step = "do", file = "bad/22_empty_cache.lua", fails = "it runs", feedback = "same_batch"},
    {step = "do", file = "bad/22_on_cpu.lua", fails = "it ran on the GPU", feedback = "elsewhere"},
    {step = "do", file = "bad/22_first_piece.lua", fails = "every row is used once",
     feedback = "rows"},
    {step = "do", file = "bad/22_many_steps.lua", fails = "one step of the optimizer",
     feedback = "steps"},
    {step = "do", file = "bad/22_not_divided.lua", fails = "the update has the big batch's size",
     feedback = "not_divided"},
    {step = "do", file = "bad/22_equal_weights.lua", fails = "the update is the big batch's",
     feedback = "unequal_pieces"},
    {step = "fix", file = "bad/22_tail_by_k.lua", fails = "the updates are those of the means",
     feedback = "tail_scaled"},
  },
}
