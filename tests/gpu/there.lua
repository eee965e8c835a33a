-- there.lua -- is there a GPU? "yes" and the plugin's file, below it the card's name; or "no" and why
local found = torch.cuda.is_available() and not dlrepl.is_simulated()
local facts = dlrepl._facts()
print(found and "yes " .. facts.cuda_file or "no " .. facts.cuda)
if found then print(torch.cuda.get_device_name()) end
