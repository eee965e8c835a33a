-- gpu_parity.lua -- the deterministic parity cases once more, on a simulated GPU
arg = {[0] = "tests/parity/run.lua", "--cuda"}
dofile "tests/parity/run.lua"
