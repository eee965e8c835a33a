-- there.lua -- says whether there is a GPU: "yes" and the plugin's file, or "no" and the reason
local found = torch.cuda.is_available() and not dlrepl.is_simulated()
local facts = dlrepl._facts()
print(found and "yes " .. facts.cuda_file or "no " .. facts.cuda)
