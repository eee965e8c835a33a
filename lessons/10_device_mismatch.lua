-- L10: a model on one device, data on another. The error, what it names, and the one habit that
-- prevents it.

-- Which tensor was left behind when the devices did not match? Told from what had run by then.
local function left_behind(kind, text, rec, case)
  if kind ~= "device_mismatch" then return nil end
  if rec:last("linear", "addmm") then return "labels_left" end
  local c = rec.copies
  if c.h2d.count + c.d2h.count + c.d2d.count > case.own_copies then return "result_dropped" end
  return "inputs_left"
end

local function on_device(params, device)
  for _, p in ipairs(params) do
    if tostring(p.device) ~= device then return tostring(p.device) end
  end
  return device
end

return lesson {
  id = "L10", format = 1, title = T"Device mismatch", minutes = 12, needs = {"L09"},
  answers = {"S0.mindset", "S0.moving_text", "S0.moving_code", "S0.check2", "S0.Q2",
             "S0.standard_mismatch", "S2.Q12", "S2.Q12.answer", "S2.Q12.mismatch_loop",
             "S2.Q12.device_pick", "S2.Q12.device_attribute", "S2.Q12.in_place"},
  goals = {T"Read a device error and name the tensor that is in the wrong place",
           T"Move a model and every batch to one device, once",
           T"Keep what a module makes for itself on the device of its input"},
  world = {card = "t4", devices = 2},

  steps = {
    {id = "why", kind = "text", body = T[[
A GPU has its own memory. An operation can only use what lies on one device.]]},

    {id = "see", kind = "run", expect = {error = "device_mismatch"}, code = [[
model = nn.Linear(4, 2):to("cuda")
x = torch.randn(8, 4)
model(x)]],
     say = T"The first line is PyTorch's own. The lines below it say which operand is where."},

    {id = "odd", kind = "quiz", type = "one", ask = T"Which tensor is in the wrong place?",
     options = {T"the weight of the layer", T"x", T"the result"}, correct = 2,
     why = {T"The weight is on cuda:0 because we sent it there. That was the intention.",
            T"Nobody moved x. Moving a model moves its parameters, never the data.",
            T"There is no result yet: the operation was refused before it ran."}},

    {id = "drop", kind = "predict", title = T"A move that does nothing", code = [[
x:to("cuda")
print(x.device)]], options = {"cuda:0", "cpu"}, answer = "cpu",
     wrong = {["cuda:0"] = T"x:to makes a new tensor. Nothing was assigned, so x is where it was."},
     say = T"x = x:to(device) keeps the copy. A module is different: model:to(device) moves its "
       .. T"own "
       .. T"parameters, so there the assignment only does no harm."},

    {id = "pick", kind = "run", title = T"Ask once", code = [[
device = torch.device(torch.cuda.is_available() and "cuda" or "cpu")
device]],
     say = T"Choose the device in one place. Everything after it says `device`, never \"cuda\"."},

    {id = "do", kind = "task", title = T"One training step, on the device asked for",
     define = "loss_on", watch = "model",
     prompt = T[[
Write loss_on(model, x, y, device): move what has to be moved, run the model on x, and return
F.cross_entropy of the result and the labels y. Model and data may start anywhere. All of it is to
run on `device`, and the model is to stay there.

Try it here: loss_on(model, x, y, "cuda")]],
     instances = function(rng)
       return rng:set {device = {"cuda:0", "cpu", "cuda:1", "cuda:0"},
                       model_on = {"cpu", "cuda:0", "cuda:0", "cuda:0"},
                       x_on = {"cpu", "cuda:0", "cpu", "cpu"},
                       y_on = {"cpu", "cpu", "cpu", "cpu"},
                       rows = rng:odd(7, 31), inputs = rng:odd(3, 17), classes = rng:ints(3, 9)}
     end,
     setup = function(w, p)
       local net = nn.Linear(p.inputs, p.classes)
       local x, y = torch.randn(p.rows, p.inputs), torch.randint(0, p.classes, {p.rows})
       p.want = F.cross_entropy(net(x), y):detach()
       w.model, w.x, w.y = net:to(p.model_on), x:to(p.x_on), y:to(p.y_on)
       p.own_copies = p.model_on ~= p.device and 2 or 0 -- those that moving the model makes
       p.most = p.device == "cpu" and 0 or p.model_on == "cpu" and 4 or 2 -- from the host
     end,
     drive = function(w, p) return w.loss_on(w.model, w.x, w.y, p.device) end,
     errors = left_behind,
     check = function(r, p, w, loss)
       local odd = r.rec:mixed()
       r:ok("one device per operation", not odd, "mixed", odd and r.rec.describe(odd),
            "every operand on " .. p.device)
       local ran = r.rec:last("linear", "addmm")
       r:ok("it ran where it was asked to", ran ~= nil and ran.device == p.device, "elsewhere",
            ran and "the layer ran on " .. ran.device or "no layer ran", p.device)
       r:is("the model stays on the device", on_device(w.model:parameters(), p.device), p.device,
            "model_moved_back")
       r:ok("nothing is copied twice", r.rec.copies.h2d.count <= p.most, "copied_twice",
            r.rec.copies.h2d.count .. " copies to the GPU", "at most " .. p.most)
       r:near("the loss is the loss", loss, p.want, "other_loss", {terms = p.inputs})
     end,
     hints = {
       T"Read the lines under the error: each operand is listed with its device.",
       T"Print x.device, y.device and model.weight.device just before the call that fails.",
       T"Three things have to meet: the parameters, the inputs, the labels. Count your moves.",
       T"One :to for each of the three, and the two tensors keep the copy by assignment."},
     feedback = {
       inputs_left = {why = T"Moving the model moved its weights. The inputs are still where the "
         .. T"loader made them.", probe = T"print(x.device, model.weight.device)"},
       result_dropped = {why = T"x:to(device) returns the copy. Without an assignment the copy is "
         .. T"thrown away and x stays.", probe = T"x:to(\"cuda\"); print(x.device)"},
       labels_left = {why = T"The model ran, so inputs and weights agree. The loss compares its "
         .. T"result with labels that nobody moved.", probe = T"print(y.device)"},
       mixed = {why = T"One operation used tensors of two devices.",
                probe = T"Print the device of each operand of that operation."},
       elsewhere = {why = T"Sending everything to the CPU silences the error and leaves the GPU "
         .. T"idle. The caller asked for a device.", probe = T"print(device) at the top of "
         .. T"loss_on"},
       model_moved_back = {why = T"The next step would have to move every parameter again.",
                           probe = T"print(model.weight.device) after the call"},
       copied_twice = {why = T"Each copy crosses the bus, which is the slowest part of a step.",
                       probe = T"Count how often :to is called on the same tensor."},
       other_loss = {why = T"The devices are right, the number is not: another loss, or other "
         .. T"arguments.", probe = T"print(F.cross_entropy(model(x), y))"}}},

    {id = "fix", kind = "fix", title = T"A tensor that a module makes itself",
     script = "broken/10_own_tensor.lua", fault = "F04", define = "Shifted",
     prompt = T[[
This layer adds a constant of its own. On the CPU it works; sent to the GPU it fails. Repair it so
that Shifted(n):to(device)(x) runs wherever x is, and so that a call copies nothing from the
host.]],
     instances = function(rng)
       return rng:set {device = {"cuda:0", "cpu", "cuda:0", "cuda:0"}, n = rng:odd(3, 21),
                       rows = rng:ints(2, 12)}
     end,
     setup = function(w, p) w.sample = torch.randn(p.rows, p.n):to(p.device) end,
     drive = function(w, p)
       p.layer = w.Shifted(p.n):to(p.device)
       p.layer(w.sample)
       return p.layer(w.sample)
     end,
     errors = function(kind) return kind == "device_mismatch" and "left_on_cpu" or nil end,
     check = function(r, p, w, out)
       r:ok("the result is on the device", type(out) == "userdata"
            and tostring(out.device) == p.device, "elsewhere",
            type(out) == "userdata" and tostring(out.device) or out, p.device)
       local moved = #p.layer:parameters() + #p.layer:buffers()
       local most = p.device == "cpu" and 0 or moved
       r:ok("a call copies nothing", r.rec.copies.h2d.count <= most, "copied_each_call",
            r.rec.copies.h2d.count .. " copies to the GPU for two calls",
            "only the " .. moved .. " that moving the layer makes")
       local weight, bias = p.layer.fc.weight, p.layer.fc.bias
       r:near("the values are right", out, F.linear(w.sample, weight, bias) + 0.5, "other_values",
              {terms = p.n})
     end,
     hints = {
       T"Which operand does the error call odd? Where was it made?",
       T"Print layer.shift.device after layer:to(\"cuda\"). Was it moved with the rest?",
       T":to moves parameters and buffers. A plain tensor in a field is neither.",
       T"Either register it under its name as a buffer, or make it where the input is."},
     feedback = {
       left_on_cpu = {why = T":to moves what a module has registered: parameters, buffers, other "
         .. T"modules. A tensor in a plain field is invisible to it.",
         probe = T"layer = Shifted(3):to(\"cuda\"); print(layer.shift.device)"},
       copied_each_call = {why = T"It runs, but each call sends the constant over the bus again. A "
         .. T"buffer is sent once, with the layer.",
         probe = T"Look for :to or :cuda inside forward."},
       elsewhere = {why = T"A layer that answers on another device breaks whatever comes next.",
                    probe = T"print(layer(sample).device)"},
       other_values = {why = T"The layer has to compute what it did before.",
                       probe = T"print(layer(sample) - layer.fc(sample))"}}},

    {id = "texts", kind = "quiz", type = "many", title = T"One complaint, several wordings",
     ask = T"PyTorch has worded this error in more than one way. Which of these are it?",
     options = {
       T"Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
         .. T"cpu!",
       T"CUDA out of memory.",
       T"Expected all tensors to be on the same device, but got mat1 is on cpu, different from "
         .. T"other tensors on cuda:0",
       T"mat1 and mat2 shapes cannot be multiplied"},
     correct = {1, 3},
     why = {T"The older text names the devices; the newer one also names the operand.",
            T"That is about how much, not about where.",
            T"The newer text names the operand: mat1 is the input of a linear layer.",
            T"That is about shapes; both operands may well be on one device."}},

    {id = "say", kind = "explain", rubric = "C2", max_words = 80, title = T"In an interview",
     ask = T"What happens if your model and your data are on different devices, and what do you "
       .. T"do?"},
  },

  reference = {["do"] = "sol/10_do.lua", fix = "sol/10_fix.lua", say = "sol/10_say.txt"},
  also_right = {["do"] = {"sol/10_do_cuda.lua", "sol/10_do_fresh.lua"},
                fix = {"sol/10_fix_like_input.lua"}},
  survivors = {["do"] = {["lines 2 and 3 swapped"] = "the moves may come in any order"},
               fix = {["lines 3 and 4 swapped"] = "the order of registration is free"}},
  wrong = {
    {step = "do", file = "bad/10_only_model.lua", fails = "it runs", feedback = "inputs_left"},
    {step = "do", file = "bad/10_drop_result.lua", fails = "it runs", feedback = "result_dropped"},
    {step = "do", file = "bad/10_no_labels.lua", fails = "it runs", feedback = "labels_left"},
    {step = "do", file = "bad/10_all_to_cpu.lua", fails = "it ran where it was asked to",
     feedback = "elsewhere"},
    {step = "do", file = "bad/10_back_again.lua", fails = "the model stays on the device",
     feedback = "model_moved_back"},
    {step = "fix", file = "bad/10_copy_each_call.lua", fails = "a call copies nothing",
     feedback = "copied_each_call"},
  },
}
