-- there.lua -- says whether there is a GPU, and if not why: "yes", or "no" and the reason
if torch.cuda.is_available() and not dlrepl.is_simulated() then return print("yes") end
local why = dlrepl._facts().cuda
print("no " .. (why or "torch.cuda.is_available() is false"))
