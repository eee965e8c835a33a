-- state.lua -- torch.get_autocast_dtype, torch.is_autocast_enabled and their kin
--
-- For the loader of torch's names. MUST NOT hold state.

return require("torch.amp").state
