"""make.py -- the files of PyTorch's that tests/lua/save_python.lua reads

Run where PyTorch is: python tests/save/make.py. Tests need the files alone.
"""
import collections
import os
import torch

os.chdir(os.path.dirname(os.path.abspath(__file__)))
torch.manual_seed(0)
x = torch.arange(12.0).reshape(3, 4)
values = {
    "none": None, "true": True, "false": False, "ints": [0, 255, 256, 65535, 65536, -1, -2**31],
    "longs": [2**31, 2**40, -(2**40), 2**63 - 1, -(2**63)],
    "floats": [0.1, -0.0, float("inf"), 1e300], "text": "gr\u00fc\u00df", "bytes": b"\xff\x00a",
    "tuple": (1, (2, 3), ()), "list": [[], [1, [2]]], "dict": {3: "three", "b": 1, "a": {}},
    "ordered": collections.OrderedDict(z=1, a=2), "set": {1}, "counter": collections.Counter("aab"),
    "dtype": torch.bfloat16, "device": torch.device("cuda:1"), "cpu": torch.device("cpu"),
    "size": x.shape, "long": "x" * 300,
}
torch.save(values, "values.pth")

names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
torch.save({n: torch.tensor([0, 1, 2]).to(getattr(torch, n)) for n in names}, "dtypes.pth")

p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
noted, noted_p = torch.ones(2), torch.nn.Parameter(torch.ones(2), requires_grad=False)
noted.note, noted_p.note = "kept by Python alone", 1
torch.save({
    "whole": x, "turned": x.t(), "rows": x[1:], "steps": x[::2, 1::2], "empty": torch.empty(0, 3),
    "scalar": torch.tensor(5), "expanded": torch.ones(3, 1).expand(3, 4), "leaf":
    torch.ones(2, requires_grad=True), "parameter": p, "shared": [p, p], "noted": noted,
    "noted_parameter": noted_p,
}, "tensors.pth")

# A run that dlrepl goes on with: two steps made here, the third's losses and weights as the answer.
model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, bias=False), torch.nn.BatchNorm2d(2),
                            torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 2))
adam = torch.optim.Adam(model.parameters(), lr=0.01, amsgrad=True)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
batch, labels = torch.randn(4, 1, 4, 4), torch.tensor([0, 1, 1, 0])


def step():
    adam.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(batch), labels)
    scaler.scale(loss).backward()
    scaler.step(adam)
    scaler.update()
    return loss.item()


step(), step()
run = {"model": model.state_dict(), "adam": adam.state_dict(), "scaler": scaler.state_dict(),
       "rng": torch.get_rng_state(), "batch": batch, "labels": labels, "epoch": 2}
run = torch.utils._pytree.tree_map(lambda v: v.clone() if torch.is_tensor(v) else v, run)
run["draws"] = torch.rand(3)
run["losses"] = [step(), step()]
run["after"] = {k: v.clone() for k, v in model.state_dict().items()}
run["scale"] = scaler.get_scale()
torch.save(run, "run.pth")

# What is refused.
torch.save(torch.nn.Linear(1, 1), "module.pth")
torch.save(torch.ones(1), "legacy.pth", _use_new_zipfile_serialization=False)
torch.save(torch.tensor([1j]), "complex.pth")
torch.jit.script(torch.nn.Identity()).save("script.pth")
loop = []
loop.append(loop)
torch.save(loop, "loop.pth")
