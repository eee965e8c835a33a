-- amp.lua -- the deprecated torch.cpu.amp: works, and says what replaces it

local amp = require "torch.amp"

return {autocast = amp._old_autocast("cpu")}
