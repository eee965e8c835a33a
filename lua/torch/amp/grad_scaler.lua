-- grad_scaler.lua -- torch.amp.GradScaler: losses scaled up, gradients scaled back
--
--     local scaler = torch.amp.GradScaler("cuda")
--     scaler:scale(loss):backward()
--     scaler:unscale_(opt)          -- only where gradients are looked at or clipped
--     scaler:step(opt)
--     scaler:update()
--
-- INVARIANT  The scale stays on the device; step() waits for it once an optimizer, update() never.
-- SOURCE     torch/amp/grad_scaler.py

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local near = require "dlrepl.near"
local odict = require "dlrepl.odict"
local repr = require "dlrepl.pyrepr"

local torch, raise, warn = core.torch, core.raise, core.warn
local unscale_op, update_op = core.ops._amp_unscale_, core.ops._amp_update_scale_

local READY, UNSCALED, STEPPED = "ready", "unscaled", "stepped"

local GradScaler = {}
local meta = {__name = "GradScaler"}
function meta.__index(_, k)
  local v = rawget(GradScaler, k)
  if v ~= nil or type(k) == "string" and k:sub(1, 1) == "_" then return v end
  local names = {}
  for name in pairs(GradScaler) do names[#names + 1] = name end
  local meant = near.best(k, names)
  raise("AttributeError", string.format("'GradScaler' object has no attribute '%s'", tostring(k)),
        {kind = "argument", notes = meant and {"did you mean '" .. meant .. "'?"} or nil})
end
function meta.__tostring() return "<torch.amp.grad_scaler.GradScaler object>" end

local live = setmetatable({}, {__mode = "k"}) -- scalers whose scaled gradients may be about

local read = args("GradScaler.__init__(str device='cuda', number init_scale=65536.0, number "
  .. "growth_factor=2.0, number backoff_factor=0.5, int growth_interval=2000, bool enabled=True)")

local function assert_(cond, text, note)
  if not cond then
    raise("AssertionError", text, {kind = "argument", notes = note and {note} or nil})
  end
end

local function new(...)
  local device, init, growth, backoff, interval, enabled = read(...)
  if enabled and device:match("^[^:]*") == "cuda" and not torch.cuda.is_available() then
    core.warn_once("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
    enabled = false
  end
  if enabled then
    assert_(growth > 1, "The growth factor must be > 1.0.")
    assert_(backoff < 1, "The backoff factor must be < 1.0.")
  end
  return setmetatable({_device = device, _enabled = enabled, _init_scale = init + 0.0,
    _growth_factor = growth + 0.0, _backoff_factor = backoff + 0.0, _growth_interval = interval,
    _init_growth_tracker = 0, _states = setmetatable({}, {__mode = "k"}), _skipped = 0}, meta)
end

-- t on a device. The host does not wait for a GPU to take it; what comes back it must wait for.
local function there(t, device)
  return t:to({device = device, non_blocking = device.type ~= "cpu"})
end

-- ---- scaling -----------------------------------------------------------------------------------

local function make_scale(self, device)
  self._scale = torch.full({}, self._init_scale, {dtype = torch.float32, device = device})
  self._growth_tracker = torch.full({}, self._init_growth_tracker,
    {dtype = torch.int32, device = device})
end

-- A tensor, or a list of them (nested ones too), times the scale.
function GradScaler.scale(self, outputs)
  if not self._enabled then return outputs end
  if core.is_tensor(outputs) then
    if not self._scale then make_scale(self, outputs.device) end
    live[self] = true
    return outputs * there(self._scale, outputs.device)
  end
  if type(outputs) ~= "table" then
    raise("ValueError", "outputs must be a Tensor or an iterable of Tensors", {kind = "argument"})
  end
  local scaled = {}
  for i, t in ipairs(outputs) do scaled[i] = self:scale(t) end
  return scaled
end

-- ---- what is handed in -------------------------------------------------------------------------

local function need_optimizer(opt)
  if type(opt) == "table" and type(opt.param_groups) == "table" then return end
  raise("AttributeError", "'" .. repr.typename(opt) .. "' object has no attribute 'param_groups'",
        {kind = "argument", notes = {"an optimizer goes here: scaler:step(optimizer)"}})
end

local function need_number(name, v, whole)
  local n = type(v) == "number" and (whole and math.tointeger(v) or not whole and v + 0.0)
  if n then return n end
  raise("TypeError", string.format("%s of a GradScaler must be %s, not %s", name,
                                   whole and "int" or "float", repr.typename(v)),
        {kind = "argument"})
end

-- ---- unscaling ---------------------------------------------------------------------------------

local function need_scale(self, what)
  if not self._scale then
    raise("AssertionError", "Attempted " .. what .. " but _scale is None.  This may indicate your "
      .. "script did not use scaler.scale(loss or outputs) earlier in the iteration.", {
      notes = {"call scaler:scale(loss):backward() before this"}})
  end
end

local function state_of(self, opt)
  local s = self._states[opt]
  if not s then
    s = {stage = READY, found = {}}
    self._states[opt] = s
  end
  return s
end

local function check_half(grad)
  if grad.dtype ~= torch.float16 then return end
  raise("ValueError", "Attempting to unscale FP16 gradients.", {notes = {
    "the parameters themselves are float16: keep the model in float32 and let torch.autocast cast "
    .. "(no model:half())"}})
end

-- Gradients of one optimizer, a list a device.
local function gradients(opt)
  local by_device, order = {}, {}
  for _, group in ipairs(opt.param_groups) do
    for _, p in ipairs(group.params) do
      local g = p.grad
      if g then
        check_half(g)
        local key = tostring(g.device)
        if not by_device[key] then
          by_device[key] = {}
          order[#order + 1] = key
        end
        table.insert(by_device[key], g)
      end
    end
  end
  return by_device, order
end

local function unscale(self, opt)
  local inverse = self._scale:double():reciprocal():float()
  local found = {}
  local by_device, order = gradients(opt)
  for _, key in ipairs(order) do
    local device = by_device[key][1].device
    local flag = torch.zeros({}, {dtype = torch.float32, device = device})
    unscale_op(flag, by_device[key], there(inverse, device))
    found[#found + 1] = flag
  end
  return found
end

-- Divides the gradients of an optimizer by the scale; to be called before they are looked at.
function GradScaler.unscale_(self, opt)
  if not self._enabled then return end
  need_scale(self, "unscale_")
  need_optimizer(opt)
  local s = state_of(self, opt)
  if s.stage == UNSCALED then
    raise("RuntimeError",
          "unscale_() has already been called on this optimizer since the last update().",
          {notes = {"once an iteration, after backward and before step; update() ends it"}})
  elseif s.stage == STEPPED then
    raise("RuntimeError", "unscale_() is being called after step().",
          {notes = {"the order is: backward, unscale_, clip, step, update"}})
  end
  local _ <close> = torch.no_grad()
  s.found = unscale(self, opt)
  s.stage = UNSCALED
end

-- ---- stepping ----------------------------------------------------------------------------------

local function any_found(found)
  local sum = 0
  for _, f in ipairs(found) do sum = sum + f:item() end
  return sum > 0
end

-- optimizer:step(…), unless some gradient is inf or nan; what it returns, or nil when skipped.
function GradScaler.step(self, opt, ...)
  if not self._enabled then return opt:step(...) end
  local given = table.pack(...)
  local last = given[given.n]
  if type(last) == "function" or (type(last) == "table" and last.closure) then
    raise("RuntimeError", "Closure use is not currently supported if GradScaler is enabled.")
  end
  need_scale(self, "step")
  need_optimizer(opt)
  local s = state_of(self, opt)
  if s.stage == STEPPED then
    raise("RuntimeError", "step() has already been called since the last update().",
          {notes = {"call scaler:update() once at the end of each iteration"}})
  end
  if s.stage == READY then self:unscale_(opt) end
  assert_(#s.found > 0, "No inf checks were recorded for this optimizer.", "none of its "
    .. "parameters has a gradient: scaler:scale(loss):backward() comes before step(), and the "
    .. "optimizer must hold the parameters of the model that made the loss")
  local result
  if any_found(s.found) then
    core.record_step(-1)
    self._skipped = self._skipped + 1
  else
    result = opt:step(...)
    self._skipped = 0
  end
  s.stage = STEPPED
  if result ~= nil then return result end
end

-- ---- adapting ----------------------------------------------------------------------------------

local FEW = 2.0 ^ -14 -- a scale below it protects nothing any more

local function set_scale(self, scale)
  if core.is_tensor(scale) then
    local reason = "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
      .. "torch.FloatTensor with requires_grad=False."
    assert_(scale.dtype == torch.float32 and scale:numel() == 1 and not scale.requires_grad,
            reason)
    self._scale:copy_(scale)
  elseif type(scale) == "number" then
    self._scale:fill_(scale)
  else
    raise("AttributeError", "'" .. repr.typename(scale) .. "' object has no attribute 'device'",
          {kind = "argument"})
  end
end

-- Every step was skipped for long: shrinking the scale does not help.
local function complain(self)
  if self._skipped < 20 or self._said or self:get_scale() >= FEW then return end
  self._said = true
  warn(string.format("the last %d steps were skipped and the loss scale has fallen to %g: the "
    .. "gradients are inf or nan at any scale, so look at the loss and the inputs "
    .. "(torch.autograd.set_detect_anomaly(true) names the op)", self._skipped, self:get_scale()))
end

-- Adapts the scale to what the steps since the last update found; update(x) sets it.
function GradScaler.update(self, new_scale)
  if not self._enabled then return end
  need_scale(self, "update")
  local _ <close> = torch.no_grad()
  if new_scale ~= nil and not rawequal(new_scale, core.None) then
    set_scale(self, new_scale)
  else
    local found
    for _, s in pairs(self._states) do
      for _, f in ipairs(s.found) do
        local here = there(f, self._scale.device)
        found = found and found + here or here
      end
    end
    assert_(found, "No inf checks were recorded prior to update.", "the order of an iteration is "
      .. "scaler:scale(loss):backward(), scaler:step(opt), scaler:update(), each once")
    update_op(self._scale, self._growth_tracker, found, self._growth_factor, self._backoff_factor,
              self._growth_interval)
    complain(self)
  end
  core.record_scale(self._scale)
  self._states = setmetatable({}, {__mode = "k"})
  live[self] = nil
end

-- ---- reading and saving ------------------------------------------------------------------------

function GradScaler.get_scale(self)
  if not self._enabled then return 1.0 end
  return self._scale and self._scale:item() or self._init_scale
end
function GradScaler.get_growth_factor(self) return self._growth_factor end
function GradScaler.set_growth_factor(self, v)
  self._growth_factor = need_number("growth_factor", v)
end
function GradScaler.get_backoff_factor(self) return self._backoff_factor end
function GradScaler.set_backoff_factor(self, v)
  self._backoff_factor = need_number("backoff_factor", v)
end
function GradScaler.get_growth_interval(self) return self._growth_interval end
function GradScaler.set_growth_interval(self, v)
  self._growth_interval = need_number("growth_interval", v, true)
end
function GradScaler.is_enabled(self) return self._enabled end

function GradScaler._get_growth_tracker(self)
  if not self._enabled then return 0 end
  return self._growth_tracker and self._growth_tracker:item() or self._init_growth_tracker
end

function GradScaler.state_dict(self)
  if not self._enabled then return odict.dict() end
  return odict.dict {{"scale", self:get_scale()}, {"growth_factor", self._growth_factor},
    {"backoff_factor", self._backoff_factor}, {"growth_interval", self._growth_interval},
    {"_growth_tracker", self:_get_growth_tracker()}}
end

local function saved(state, key, whole)
  local v = state[key]
  if v == nil then raise("KeyError", "'" .. key .. "'") end
  return need_number(key, v, whole)
end

function GradScaler.load_state_dict(self, state)
  if not self._enabled then return end
  local empty = type(state) ~= "table"
  if not empty then
    empty = true
    for _ in pairs(state) do empty = false end
  end
  if empty then
    raise("RuntimeError", "The source state dict is empty, possibly because it was saved from a "
          .. "disabled instance of GradScaler.")
  end
  local scale, growth = saved(state, "scale"), saved(state, "growth_factor")
  local backoff, interval = saved(state, "backoff_factor"), saved(state, "growth_interval", true)
  self._init_growth_tracker = saved(state, "_growth_tracker", true)
  self._init_scale, self._growth_factor = scale, growth
  self._backoff_factor, self._growth_interval = backoff, interval
  if self._scale then self._scale:fill_(self._init_scale) end
  if self._growth_tracker then self._growth_tracker:fill_(self._init_growth_tracker) end
end

-- ---- clipping before unscaling -----------------------------------------------------------------

-- For nn.utils.clip_grad_*: the scale that these parameters' gradients still carry, or nil.
local function still_scaled(params)
  for scaler in pairs(live) do
    local owner
    for opt, s in pairs(scaler._states) do
      if s.stage ~= READY and opt._owned and opt._owned[params[1]] then owner = opt end
    end
    local scale = not owner and scaler:get_scale()
    if scale and scale ~= 1 then return scale end
  end
end

require("dlrepl.methods").guard(GradScaler,
  function(v) return type(v) == "table" and getmetatable(v) == meta end, "GradScaler", "scaler")

return setmetatable(GradScaler, {__name = "type", __call = function(_, ...) return new(...) end,
  __tostring = function() return "<class 'torch.amp.grad_scaler.GradScaler'>" end,
  __index = {_still_scaled = still_scaled}})
