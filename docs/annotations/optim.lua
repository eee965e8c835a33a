---@meta
-- Written by `make docs`. For the Lua language server: put this folder into workspace.library.

---@class optim.Optimizer
---@field param_groups table[]
---@field state table
local Optimizer = {}

---@param closure? function
---@return any
function Optimizer:step(closure) end

---@param set_to_none? boolean
function Optimizer:zero_grad(set_to_none) end

---@return table
function Optimizer:state_dict() end

---@param state_dict table
function Optimizer:load_state_dict(state_dict) end

optim = {Optimizer = Optimizer}
torch.optim = optim

---@class optim.Adam: optim.Optimizer
---@param params table
---@param keywords? {lr?: number, betas?: number[], eps?: number, weight_decay?: number, amsgrad?: boolean, maximize?: boolean, foreach?: any, capturable?: boolean, differentiable?: boolean, fused?: any, decoupled_weight_decay?: boolean}
---@return optim.Adam
function optim.Adam(params, keywords) end

---@class optim.AdamW: optim.Optimizer
---@param params table
---@param keywords? {lr?: number, betas?: number[], eps?: number, weight_decay?: number, amsgrad?: boolean, maximize?: boolean, foreach?: any, capturable?: boolean, differentiable?: boolean, fused?: any, decoupled_weight_decay?: boolean}
---@return optim.AdamW
function optim.AdamW(params, keywords) end

---@class optim.SGD: optim.Optimizer
---@param params table
---@param keywords? {lr?: number, momentum?: number, dampening?: number, weight_decay?: number, nesterov?: boolean, maximize?: boolean, foreach?: any, differentiable?: boolean, fused?: any}
---@return optim.SGD
function optim.SGD(params, keywords) end

