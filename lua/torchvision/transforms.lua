-- transforms.lua -- torchvision.transforms for tensors
--
-- Images are uint8 tensors of shape (H, W) or (H, W, C), as datasets here give them; ToTensor makes
-- them float32 (C, H, W) in [0, 1].
--
-- INVARIANT  A transform is an object that is called with a sample and returns the changed one.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "dlrepl.class"
local repr = require "dlrepl.pyrepr"

local torch, raise, None = core.torch, core.raise, core.None
local M = {}

-- transform(name, parameters, {init=, call=, repr=})
local function transform(name, params, def)
  local cls = class.new(name)
  local read, sig = args(name .. ".__init__(" .. params .. ")")
  function cls.init(self, ...)
    local values = {read(...)}
    for i, p in ipairs(sig.params) do self[p.name] = values[i] end
    if def.init then def.init(self) end
  end
  cls.call = def.call
  cls.repr = def.repr or function() return name .. "()" end
  M[name] = cls
end

transform("Compose", "list transforms", {
  call = function(self, x)
    for _, t in ipairs(self.transforms) do x = t(x) end
    return x
  end,
  repr = function(self)
    local lines = {"Compose("}
    for _, t in ipairs(self.transforms) do lines[#lines + 1] = "    " .. tostring(t) end
    lines[#lines + 1] = ")"
    return table.concat(lines, "\n")
  end,
})

transform("ToTensor", "", {
  call = function(_, image)
    if not core.is_tensor(image) then
      raise("TypeError", "pic should be PIL Image or ndarray. Got <class '" .. repr.typename(image)
            .. "'>", {notes = {"images here are uint8 tensors (H, W) or (H, W, C)"}})
    end
    local d = image:dim()
    if d ~= 2 and d ~= 3 then
      raise("ValueError", string.format("pic should be 2/3 dimensional. Got %d dimensions.", d),
            {kind = "shape"})
    end
    local chw = d == 2 and image:unsqueeze(0) or image:permute(2, 0, 1):contiguous()
    if image.dtype ~= torch.uint8 then return chw end
    return chw:to(torch.float32):div_(255)
  end,
})

transform("PILToTensor", "", {
  call = function(_, image)
    return image:dim() == 2 and image:unsqueeze(0) or image:permute(2, 0, 1)
  end,
})

-- A number or list a channel, as a (C, 1, 1) tensor.
local function a_channel(v, dtype)
  return torch.tensor(type(v) == "table" and v or {v}, {dtype = dtype}):view(-1, 1, 1)
end

transform("Normalize", "any mean, any std, bool inplace=False", {
  call = function(self, x)
    if not core.is_tensor(x) then
      raise("TypeError", "img should be Tensor Image. Got <class '" .. repr.typename(x) .. "'>")
    elseif not x:is_floating_point() then
      raise("TypeError", "Input tensor should be a float tensor. Got " .. tostring(x.dtype) .. ".",
            {notes = {"put ToTensor() before Normalize(…)"}})
    end
    local std = a_channel(self.std, x.dtype)
    if std:eq(0):any():item() then
      raise("ValueError", "std evaluated to zero after conversion to " .. tostring(x.dtype)
            .. ", leading to division by zero.")
    end
    return x:sub(a_channel(self.mean, x.dtype)):div_(std)
  end,
  repr = function(self)
    return string.format("Normalize(mean=%s, std=%s)", repr.repr(self.mean), repr.repr(self.std))
  end,
})

transform("Lambda", "fn lambd", {
  call = function(self, x) return self.lambd(x) end,
})

transform("ConvertImageDtype", "any dtype", {
  call = function(self, x)
    if x.dtype == self.dtype then return x end
    if x.dtype == torch.uint8 and self.dtype.is_floating_point then return
      x:to(self.dtype):div_(255) end
    if self.dtype == torch.uint8 and x:is_floating_point() then
      return x:mul(255.999):to(torch.uint8)
    end
    return x:to(self.dtype)
  end,
})

-- Mirror left and right with probability p; one uniform number is drawn a call.
transform("RandomHorizontalFlip", "number p=0.5", {
  call = function(self, x)
    if torch.rand(1):item() < self.p then return x:flip(-1) end
    return x
  end,
  repr = function(self) return "RandomHorizontalFlip(p=" .. repr.repr(self.p) .. ")" end,
})

return M
