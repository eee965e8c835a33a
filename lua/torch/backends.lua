-- backends.lua -- torch.backends: switches of the libraries below, and what is there
--
-- The tf32 switches are the engine's; the others are kept so that programs which set them run.

local torch = require "torch"
local core = require "dlrepl.core"
local cuda = torch.cuda

-- A table whose fields are read and written through functions; other fields are plain values.
local function switches(name, fields, plain)
  return setmetatable(plain or {}, {
    __name = name,
    __index = function(_, key)
      if fields[key] then return fields[key].get() end
      core.raise("AttributeError", string.format("module '%s' has no attribute '%s'", name,
                                                 tostring(key)))
    end,
    __newindex = function(t, key, value)
      if fields[key] then return fields[key].set(value) end
      rawset(t, key, value)
    end,
  })
end

local function tf32(which)
  return {get = function() return cuda._tf32(which) end,
          set = function(v) cuda._tf32(which, v and true or false) end}
end

local M = {}

M.cuda = {
  is_built = function() return cuda._kind() == "cuda" end,
  matmul = switches("torch.backends.cuda.matmul", {allow_tf32 = tf32 "matmul"}, {
    allow_fp16_reduced_precision_reduction = true,
    allow_bf16_reduced_precision_reduction = true,
  }),
}
M.cudnn = switches("torch.backends.cudnn", {allow_tf32 = tf32 "conv"}, {
  enabled = true, benchmark = false, deterministic = false,
  is_available = function() return cuda.is_available() end,
  version = function() return cuda.is_available() and 90100 or nil end,
})
M.mps = {
  is_available = function() return cuda._kind() == "mps" end,
  is_built = function() return cuda._kind() == "mps" end,
}
M.mkldnn = {is_available = function() return true end, enabled = true}
M.openmp = {is_available = function() return true end}
M.mkl = {is_available = function() return false end}

return M
