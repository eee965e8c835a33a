-- conv.lua -- Conv1d, Conv2d, pools, and padding layers
--
-- INVARIANT  kernel_size, stride, padding and dilation of a convolution are lists of one number a
--            spatial dimension; pools keep them as they were given, as PyTorch prints them.

local core = require "dlrepl.core"
local layer = require "torch.nn.layer"
local init = require "torch.nn.init"
local repr = require "dlrepl.pyrepr"
local F = F -- of the binding; what it lacks is loaded by its first use

local torch, raise, parameter, None = core.torch, core.raise, core.parameter, core.None
local M = {}

-- One integer stands for n of them.
local function spread(v, n)
  if type(v) ~= "table" then
    local list = {}
    for i = 1, n do list[i] = v end
    return list
  end
  return v
end

local function all_are(list, value)
  for _, v in ipairs(list) do if v ~= value then return false end end
  return true
end

local modes = {zeros = true, reflect = true, replicate = true, circular = true}

local function check(self, padding_text)
  if self.groups <= 0 then raise("ValueError", "groups must be a positive integer") end
  if self.in_channels % self.groups ~= 0 then
    raise("ValueError", "in_channels must be divisible by groups")
  elseif self.out_channels % self.groups ~= 0 then
    raise("ValueError", "out_channels must be divisible by groups")
  end
  if padding_text then
    if padding_text ~= "same" and padding_text ~= "valid" then
      raise("ValueError", string.format("Invalid padding string %s, should be one of "
            .. "{'same', 'valid'}", repr.repr(padding_text)))
    elseif padding_text == "same" and not all_are(self.stride, 1) then
      raise("ValueError", "padding='same' is not supported for strided convolutions")
    end
  end
  if not modes[self.padding_mode] then
    raise("ValueError", string.format("padding_mode must be one of {'zeros', 'reflect', "
          .. "'replicate', 'circular'}, but got padding_mode='%s'", self.padding_mode))
  end
end

-- Padding on both sides of each dimension, last dimension first, as F.pad wants it.
local function both_sides(self, n)
  local pads = {}
  for i = n, 1, -1 do
    local left, right = 0, 0
    if self.padding == "same" then
      local total = self.dilation[i] * (self.kernel_size[i] - 1)
      left, right = total // 2, total - total // 2
    elseif self.padding ~= "valid" then
      left, right = self.padding[i], self.padding[i]
    end
    pads[#pads + 1], pads[#pads + 2] = left, right
  end
  return pads
end

local function conv_init(n)
  return function(self, n_in, n_out, kernel, stride, padding, dilation, groups, bias, mode, device,
                  dtype)
    local text = type(padding) == "string" and padding or nil
    self.kernel_size, self.stride = spread(kernel, n), spread(stride, n)
    self.dilation = spread(dilation, n)
    self.padding = text or spread(padding, n)
    check(self, text)
    self._sides = both_sides(self, n)
    local zeros = {}
    for i = 1, n do zeros[i] = 0 end
    local symmetric = true
    for i = 1, #self._sides, 2 do symmetric = symmetric and self._sides[i] == self._sides[i + 1] end
    self._pad_first = mode ~= "zeros" or not symmetric
    local inside = {}
    for i = 1, n do inside[i] = self._sides[2 * (n - i) + 1] end
    self._inner_padding = self._pad_first and zeros or inside
    local options = core.place(device, dtype)
    self.weight = parameter(torch.empty({n_out, n_in // groups, table.unpack(self.kernel_size)},
      options))
    self:register_parameter("bias", bias and parameter(torch.empty({n_out}, options)) or nil)
    self:reset_parameters()
  end
end

local function conv_forward(conv)
  return function(self, x)
    local p = self._parameters
    if self._pad_first then
      local mode = self.padding_mode == "zeros" and "constant" or self.padding_mode
      x = F.pad(x, self._sides, mode)
    end
    return conv(x, p.weight, p.bias, self.stride, self._inner_padding, self.dilation, self.groups)
  end
end

local function conv_repr(self)
  local text = string.format("%d, %d, kernel_size=%s, stride=%s", self.in_channels,
    self.out_channels, repr.tuple(self.kernel_size), repr.tuple(self.stride))
  if type(self.padding) == "string" then text = text .. ", padding=" .. self.padding
  elseif not all_are(self.padding, 0) then text = text .. ", padding=" .. repr.tuple(self.padding)
  end
  if not all_are(self.dilation, 1) then text = text .. ", dilation="
    .. repr.tuple(self.dilation) end
  if self.groups ~= 1 then text = text .. ", groups=" .. self.groups end
  if self.bias == nil then text = text .. ", bias=False" end
  if self.padding_mode ~= "zeros" then text = text .. ", padding_mode=" .. self.padding_mode end
  return text
end

local function define_conv(name, n, conv)
  M[name] = layer(name, "int in_channels, int out_channels, int2 kernel_size, int2 stride=1, "
    .. "any padding=0, int2 dilation=1, int groups=1, bool bias=True, str padding_mode='zeros', "
    .. "any device=None, any dtype=None", {
    skip = {bias = true, device = true, dtype = true},
    init = conv_init(n), forward = conv_forward(conv), repr = conv_repr,
  })
  M[name].reset_parameters = require("torch.nn.linear").Linear.reset_parameters
end
define_conv("Conv1d", 1, core.ops.conv1d)
define_conv("Conv2d", 2, core.ops.conv2d)

-- ---- pools ---------------------------------------------------------------------------------

local function stride_is_kernel(self, kernel, stride)
  if stride == nil then self.stride = kernel end
end

for name, pool in pairs {MaxPool1d = F.max_pool1d, MaxPool2d = F.max_pool2d} do
  M[name] = layer(name, "int2 kernel_size, int2? stride=None, int2 padding=0, int2 dilation=1, "
                  .. "bool return_indices=False, bool ceil_mode=False", {
    init = stride_is_kernel,
    forward = function(self, x)
      return pool(x, self.kernel_size, self.stride, self.padding, self.dilation,
                  self.ceil_mode, self.return_indices)
    end,
    repr = "kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, "
           .. "ceil_mode={ceil_mode}",
  })
end

M.AvgPool1d = layer("AvgPool1d", "int2 kernel_size, int2? stride=None, int2 padding=0, "
                    .. "bool ceil_mode=False, bool count_include_pad=True", {
  init = function(self, kernel, stride, padding)
    self.kernel_size, self.stride = spread(kernel, 1), spread(stride or kernel, 1)
    self.padding = spread(padding, 1)
  end,
  forward = function(self, x)
    return F.avg_pool1d(x, self.kernel_size, self.stride, self.padding, self.ceil_mode,
                        self.count_include_pad)
  end,
  repr = "kernel_size={kernel_size}, stride={stride}, padding={padding}",
})

M.AvgPool2d = layer("AvgPool2d", "int2 kernel_size, int2? stride=None, int2 padding=0, "
  .. "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None", {
  init = stride_is_kernel,
  forward = function(self, x)
    return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding, self.ceil_mode,
                        self.count_include_pad, self.divisor_override or None)
  end,
  repr = "kernel_size={kernel_size}, stride={stride}, padding={padding}",
})

for name, pool in pairs {AdaptiveAvgPool1d = F.adaptive_avg_pool1d,
                         AdaptiveAvgPool2d = F.adaptive_avg_pool2d} do
  M[name] = layer(name, "any output_size", {
    forward = function(self, x) return pool(x, self.output_size) end,
    repr = "output_size={output_size}",
  })
end

-- ---- padding -------------------------------------------------------------------------------

local function define_pad(name, sides, mode, with_value)
  M[name] = layer(name, "int2 padding" .. (with_value and ", number value" or ""), {
    init = function(self, padding) self.padding = spread(padding, sides) end,
    forward = function(self, x)
      if mode ~= "constant" then return F.pad(x, self.padding, mode) end
      return F.pad(x, self.padding, mode, with_value and self.value or 0)
    end,
    repr = with_value and "padding={padding}, value={value}" or "{padding}",
  })
end
for d = 1, 2 do
  define_pad("ZeroPad" .. d .. "d", 2 * d, "constant", false)
  define_pad("ConstantPad" .. d .. "d", 2 * d, "constant", true)
  define_pad("ReflectionPad" .. d .. "d", 2 * d, "reflect", false)
  define_pad("ReplicationPad" .. d .. "d", 2 * d, "replicate", false)
  define_pad("CircularPad" .. d .. "d", 2 * d, "circular", false)
end

return M
