"""peer.py -- what PyTorch does in a second on the same GPU: JSON lines (see rates.lua).

    python3 tests/gpu/peer.py [--small] [--device cpu] [--names]

--device cpu proves this program where there is no GPU. --names prints the rows alone, without
torch. INVARIANT: the rows are those of rates.lua, in its order.
"""
import json
import math
import sys
import time

small = "--small" in sys.argv
where = sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else "cuda"
side = 64 if small else 4096
size = side * side * 4
rows = []


def row(name, unit, amount):
    """The function below makes the call that is measured."""
    def take(make):
        rows.append((name, unit, amount, make))
        return make
    return take


def square():
    return torch.rand(side, side, device=where)


def host(pinned):
    x = torch.rand(side, side)
    return x.pin_memory() if pinned and where == "cuda" else x


def one_pass(name, passes, fn):
    def make():
        x = square()
        return lambda: fn(x)
    rows.append((name, "GB/s", passes * size, make))


# ---- copies and one pass over memory ----------------------------------------------------------
@row("copy device to device", "GB/s", 2 * size)
def _():
    x, y = square(), square()
    return lambda: y.copy_(x)


@row("copy host to device, pinned", "GB/s", size)
def _():
    x, pinned = square(), host(True)
    return lambda: x.copy_(pinned, non_blocking=True)


@row("copy host to device, pageable", "GB/s", size)
def _():
    x, pageable = square(), host(False)
    return lambda: x.copy_(pageable)


@row("copy device to host, pinned", "GB/s", size)
def _():
    x, pinned = square(), host(True)
    return lambda: pinned.copy_(x, non_blocking=True)


@row("add", "GB/s", 3 * size)
def _():
    x, y = square(), square()
    return lambda: x + y


one_pass("mul by a number", 2, lambda x: x * 1.5)
one_pass("relu", 2, lambda x: x.relu())
one_pass("gelu", 2, lambda x: F.gelu(x))
one_pass("exp", 2, lambda x: x.exp())
one_pass("sum", 1, lambda x: x.sum())
one_pass("softmax", 2, lambda x: x.softmax(-1))


@row("layer norm", "GB/s", 2 * size)
def _():
    x, w, b = square(), torch.ones(side, device=where), torch.zeros(side, device=where)
    return lambda: F.layer_norm(x, (side,), w, b)


one_pass("transpose", 2, lambda x: x.t().contiguous())


@row("add of one element", "ms", 0)
def _():
    one = torch.ones(1, device=where)
    return lambda: one + one


# ---- matrix products --------------------------------------------------------------------------
def product(name, dtype, tf32, n):
    def make():
        a, b = (torch.rand(n, n, device=where).to(getattr(torch, dtype)) for _ in range(2))
        torch.backends.cuda.matmul.allow_tf32 = tf32
        return lambda: a.mm(b)
    rows.append((name, "TFLOP/s", 2 * n ** 3, make))


for kind, type_name, may in (("fp32", "float32", False), ("tf32", "float32", True),
                             ("fp16", "float16", False), ("bf16", "bfloat16", False)):
    for length in (48,) if small else (512, 1024, 2048, 4096, 8192):
        product(f"gemm {kind} {length}", type_name, may, length)


# ---- training steps ---------------------------------------------------------------------------
def mlp():
    n = 32 if small else 1024
    return nn.Sequential(nn.Linear(784, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(),
                         nn.Linear(n, 10))


def cnn():
    n = 2 if small else 32
    return nn.Sequential(nn.Conv2d(1, n, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(n, 2 * n, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(2 * n * 49, 10))


def training(name, net, *shape):
    def make():
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        model = net().to(where)
        images = torch.rand(*shape, device=where)
        labels = torch.randint(0, 10, (shape[0],), device=where)
        opt = torch.optim.Adam(model.parameters(), lr=1e-3)

        def step():
            opt.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            opt.step()
        return step
    rows.append((name, "ms", 0, make))


batch = 4 if small else 256
training("training step, MLP", mlp, batch, 784)
training("training step, CNN", cnn, batch, 1, 28, 28)


# ---- measuring --------------------------------------------------------------------------------
def run(fn, n):
    """Milliseconds a call, by the device's clock where it has one."""
    if where == "cpu":
        t = time.perf_counter()
        for _ in range(n):
            fn()
        return (time.perf_counter() - t) * 1e3 / n
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    first.record()
    for _ in range(n):
        fn()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / n


def measure(fn):
    """As measure.lua: the median of five samples of about 20 ms, after three calls."""
    for _ in range(3):
        fn()
    n = max(1, min(2000, math.ceil(20 / max(run(fn, 1), 0.001))))
    return sorted(run(fn, n) for _ in range(5))[2]


def main():
    scale = {"GB/s": 1e-6, "TFLOP/s": 1e-9}
    if where == "cuda":
        print(json.dumps({"card": torch.cuda.get_device_name(0), "torch": torch.__version__,
                          "cuda": torch.version.cuda}), flush=True)
    else:
        print(json.dumps({"card": "the CPU", "torch": torch.__version__}), flush=True)
    for name, unit, amount, make in rows:
        ms = measure(make())
        value = amount * scale[unit] / ms if unit in scale else ms
        print(json.dumps({"name": name, "unit": unit, "value": value, "ms": ms}), flush=True)


def skip(why):
    print(json.dumps({"skip": why}))
    sys.exit(0)


if "--names" in sys.argv:
    print("\n".join(r[0] for r in rows))
    sys.exit(0)
try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    skip("python3 has no torch")
if where == "cuda" and not torch.cuda.is_available():
    skip("this torch has no CUDA")
main()
