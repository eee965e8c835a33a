"""refresh_autocast.py -- runs each expression under autocast in PyTorch, writes autocast.txt.

    python3 tests/parity/refresh_autocast.py tests/parity/autocast.txt

The expressions are those of the file itself; a new line needs its first column only. The GPU's list
is read from fake CUDA tensors, so that no GPU is needed; "-" where they cannot tell.
"""
import re
import sys
import warnings

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

warnings.simplefilter("ignore")


def world(dev, a_type, b_type):
    def o(dtype, *size):
        return torch.full(size, 0.5, dtype=dtype, device=dev)
    A, B = a_type, b_type
    return dict(
        torch=torch, F=F, true=True, a=o(A, 4, 4), v=o(A, 4), t3=o(A, 2, 4, 4),
        img=o(A, 1, 2, 4, 4), sig=o(A, 1, 2, 8), m3=o(A, 3, 2), vol=o(A, 1, 1, 4, 4, 4),
        b=o(B, 4, 4), w=o(B, 4), t4=o(B, 2, 4, 4), k2=o(B, 3, 2, 2, 2), kt=o(B, 2, 3, 2, 2),
        k1=o(B, 3, 2, 3), n3=o(B, 3, 2), t5=o(B, 2, 4, 4),
        rm=torch.zeros(2, device=dev), rv=torch.ones(2, device=dev),
        c=torch.ones(4, 4, dtype=torch.bool, device=dev),
        lbl=torch.zeros(4, dtype=torch.int64, device=dev),
        idx=torch.zeros(4, 4, dtype=torch.int64, device=dev))


# What fake tensors do not check: mixed dtypes fail on a real GPU.
UNCHECKED = re.compile(r"\bindex_(add|copy)_?\(|\b(index_put|addmm)_\(")


def name(r):
    if isinstance(r, torch.Tensor):
        return str(r.dtype).replace("torch.", "")
    return ",".join(name(q) for q in r)


def python(expr):
    """Lua's lists, methods and capital Repeat as Python writes them."""
    expr = re.sub(r":(\w+)\(", r".\1(", expr.replace("{", "[").replace("}", "]"))
    return expr.replace(".Repeat(", ".repeat(")


def column(exprs, dev, low):
    kinds = [(torch.float32, torch.float32), (low, low), (low, torch.float32)]
    worlds = [world(dev, *k) for k in kinds]
    out = []
    for e in exprs:
        row = []
        for g in worlds:
            try:
                row.append(name(eval(python(e), g)))
            except Exception as x:
                kind = type(x).__name__
                row.append("-" if "Dynamic" in kind or "DataDep" in kind else "!" + kind)
        if dev == "cuda" and UNCHECKED.search(e):
            row[2] = "-"
        out.append(" ".join(row))
    return out


def main(path):
    exprs = [line.rstrip("\n").split("\t")[0] for line in open(path)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        bf16 = column(exprs, "cpu", torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.float16):
        half = column(exprs, "cpu", torch.float16)
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.float16)
    with FakeTensorMode(allow_non_fake_inputs=True):
        cuda = column(exprs, "cuda", torch.float16)
    with open(path, "w") as out:
        for row in zip(exprs, bf16, half, cuda):
            out.write("\t".join(row) + "\n")


main(sys.argv[1])
