-- there.lua -- is there a GPU? "yes" with the plugin's file, then the card; or "no" with the reason
local found = torch.cuda.is_available() and not dlrepl.is_simulated()
local facts = dlrepl._facts()
print(found and "yes " .. facts.cuda_file or "no " .. facts.cuda)
if found then print(torch.cuda.get_device_name()) end
