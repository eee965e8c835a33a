"""bench.py -- the measured programs, PyTorch's: one JSON object a line (see bench.lua)."""
import json
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
torch.set_num_threads(threads)
only = set(sys.argv[2:])
clock = time.perf_counter
programs = []


def bench(name, rounds=7):
    def add(make):
        programs.append((name, make, rounds))
        return make
    return add


def measure(fn, rounds):
    fn()
    n = 1
    while True:
        t0 = clock()
        for _ in range(n):
            fn()
        t = clock() - t0
        if t > 0.06:
            break
        n = math.ceil(n * max(2, min(100, 0.08 / max(t, 1e-7))))
    s = []
    for _ in range(rounds):
        t0 = clock()
        for _ in range(n):
            fn()
        s.append((clock() - t0) / n)
    return sorted(s)[len(s) // 2]


def once_each(fn, rounds):
    s = []
    for _ in range(rounds):
        t0 = clock()
        fn()
        s.append(clock() - t0)
    return sorted(s)[len(s) // 2]


def more(a, b):
    """What one op of b takes more than one of a; both run a hundred. The best of each counts."""
    best = [math.inf, math.inf]
    for _ in range(400):
        for k, fn in enumerate((a, b)):
            t0 = clock()
            for _ in range(7):
                fn()
            best[k] = min(best[k], (clock() - t0) / 700)
    return best[1] - best[0]


@bench("100 adds, 16 elements")
def _():
    x, y = torch.ones(16), torch.ones(16)

    def fn():
        for _ in range(100):
            x + y
    return fn


@bench("100 adds, 16 elements, with graph")
def _():
    x, y = torch.ones(16, requires_grad=True), torch.ones(16)

    def fn():
        for _ in range(100):
            x + y
    return fn


@bench("100 muls by a number, 16 elements")
def _():
    x = torch.ones(16)

    def fn():
        for _ in range(100):
            x * 2.5
    return fn


@bench("100-op chain, forward and backward")
def _():
    x, y = torch.ones(16, requires_grad=True), torch.full((16,), 1.01)

    def fn():
        h = x
        for _ in range(50):
            h = h * y
            h = h + y
        h.sum().backward()
        x.grad = None
    return fn


for label, size in (("1e6", 10**6), ("1e7", 10**7)):
    @bench(f"add, {label}")
    def _(size=size):
        x, y = torch.rand(size), torch.rand(size)
        return lambda: x + y

for op in ("tanh", "gelu", "exp", "sigmoid", "relu", "sum"):
    @bench(f"{op}, 1e6")
    def _(op=op):
        x = torch.randn(10**6)
        f = F.gelu if op == "gelu" else getattr(torch, op)
        return lambda: f(x)


@bench("softmax, 1000x1000")
def _():
    x = torch.randn(1000, 1000)
    return lambda: x.softmax(1)


@bench("layer_norm, 1000x1000")
def _():
    x, w, b = torch.randn(1000, 1000), torch.ones(1000), torch.zeros(1000)
    return lambda: F.layer_norm(x, (1000,), w, b)


@bench("sgemm 1024")
def _():
    a, b = torch.rand(1024, 1024), torch.rand(1024, 1024)
    return lambda: a.mm(b)


@bench("sgemm 64x784x128")
def _():
    a, b = torch.rand(64, 784), torch.rand(784, 128)
    return lambda: a.mm(b)


@bench("gemm 1024, bfloat16")
def _():
    a = torch.rand(1024, 1024).bfloat16()
    return lambda: a.mm(a)


def region(on, fn):
    def run():
        with torch.autocast("cpu", enabled=on):
            for _ in range(100):
                fn()
    return run


@bench("autocast on an op that it does not cast")
def _():
    x = torch.ones(16)
    return region(False, x.relu), region(True, x.relu)


@bench("autocast on a product whose cast weight is kept")
def _():
    x, w = torch.ones(4, 4).bfloat16(), torch.nn.Parameter(torch.ones(4, 4))
    narrow = torch.nn.Parameter(w.detach().bfloat16())
    return region(False, lambda: x.mm(narrow)), region(True, lambda: x.mm(w))


@bench("bmm 256x16x16x16")
def _():
    a, b = torch.rand(256, 16, 16), torch.rand(256, 16, 16)
    return lambda: a.bmm(b)


@bench("conv2d 64x32x14x14 -> 64, forward and backward", 3)
def _():
    x = torch.rand(64, 32, 14, 14, requires_grad=True)
    w = torch.rand(64, 32, 3, 3, requires_grad=True)
    b = torch.rand(64, requires_grad=True)
    return lambda: F.conv2d(x, w, b, padding=1).sum().backward()


for amp in (False, True):
    @bench("MLP epoch, batch 64" + (", bfloat16" if amp else ""), 3)
    def _(amp=amp):
        torch.manual_seed(0)
        images = torch.rand(60000, 784)
        labels = torch.randint(0, 10, (60000,))
        model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
        opt = torch.optim.Adam(model.parameters(), lr=1e-3)

        def fn():
            for i in range(0, 60000 - 63, 64):
                x, y = images.narrow(0, i, 64), labels.narrow(0, i, 64)
                opt.zero_grad()
                with torch.autocast("cpu", enabled=amp):
                    loss = F.cross_entropy(model(x), y)
                loss.backward()
                opt.step()
        return fn

    @bench("CNN step, batch 64" + (", bfloat16" if amp else ""), 3)
    def _(amp=amp):
        torch.manual_seed(0)
        x, y = torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,))
        model = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(64 * 49, 10))
        opt = torch.optim.Adam(model.parameters(), lr=1e-3)

        def fn():
            opt.zero_grad()
            with torch.autocast("cpu", enabled=amp):
                loss = F.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
        return fn


for name, make, rounds in programs:
    if only and name not in only:
        continue
    made = make()
    if isinstance(made, tuple):
        t = more(*made)
    else:
        t = (once_each if name.startswith("MLP") else measure)(made, rounds)
    print(json.dumps({"name": name, "seconds": t}), flush=True)
