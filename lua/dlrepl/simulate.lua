-- simulate.lua -- dlrepl.simulate: a GPU that this machine does not have

return require("dlrepl.sim").open
