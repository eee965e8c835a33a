"""peer.py -- what PyTorch does in a second on the same GPU: JSON lines (see rates.lua)."""
import json
import math
import sys

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    print(json.dumps({"skip": "python3 has no torch"}))
    sys.exit(0)
if not torch.cuda.is_available():
    print(json.dumps({"skip": "this torch has no CUDA"}))
    sys.exit(0)

small = "--small" in sys.argv
cuda = torch.cuda
print(json.dumps({"card": cuda.get_device_name(0), "torch": torch.__version__,
                  "cuda": torch.version.cuda}))
first, last = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)


def run(fn, n):
    cuda.synchronize()
    first.record()
    for _ in range(n):
        fn()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / n


def measure(fn):
    for _ in range(1 if small else 3):
        fn()
    once = run(fn, 1)
    n = 2 if small else max(1, min(2000, math.ceil(20 / max(once, 0.001))))
    s = sorted(run(fn, n) for _ in range(1 if small else 5))
    return s[len(s) // 2]


def report(name, unit, amount, fn):
    ms = measure(fn)
    scale = {"GB/s": 1e-6, "TFLOP/s": 1e-9}.get(unit)
    print(json.dumps({"name": name, "unit": unit, "value": amount * scale / ms if scale else ms}),
          flush=True)


side = 256 if small else 4096
size = side * side * 4
x, y = torch.rand(side, side, device="cuda"), torch.empty(side, side, device="cuda")
host = torch.rand(side, side)
pinned = host.pin_memory()
w, bias = torch.ones(side, device="cuda"), torch.zeros(side, device="cuda")
one = torch.ones(1, device="cuda")
report("copy device to device", "GB/s", 2 * size, lambda: y.copy_(x))
report("copy host to device, pinned", "GB/s", size, lambda: x.copy_(pinned, non_blocking=True))
report("copy host to device, pageable", "GB/s", size, lambda: x.copy_(host))
report("copy device to host, pinned", "GB/s", size, lambda: pinned.copy_(x, non_blocking=True))
report("add", "GB/s", 3 * size, lambda: x + y)
report("mul by a number", "GB/s", 2 * size, lambda: x * 1.5)
report("relu", "GB/s", 2 * size, lambda: x.relu())
report("gelu", "GB/s", 2 * size, lambda: F.gelu(x))
report("exp", "GB/s", 2 * size, lambda: x.exp())
report("sum", "GB/s", size, lambda: x.sum())
report("softmax", "GB/s", 2 * size, lambda: x.softmax(-1))
report("layer norm", "GB/s", 2 * size, lambda: F.layer_norm(x, (side,), w, bias))
report("transpose", "GB/s", 2 * size, lambda: x.t().contiguous())
report("add of one element", "ms", 0, lambda: one + one)
del x, y, host, pinned

for kind, dtype, tf32 in (("fp32", torch.float32, False), ("tf32", torch.float32, True),
                          ("fp16", torch.float16, False), ("bf16", torch.bfloat16, False)):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    for n in (128,) if small else (512, 1024, 2048, 4096, 8192):
        a, b = (torch.rand(n, n, device="cuda").to(dtype) for _ in range(2))
        report(f"gemm {kind} {n}", "TFLOP/s", 2 * n ** 3, lambda: a.mm(b))
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False


def training(name, model, shape):
    model.cuda()
    images = torch.rand(*shape, device="cuda")
    labels = torch.randint(0, 10, (shape[0],), device="cuda")
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step():
        opt.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        opt.step()

    report(name, "ms", 0, step)


batch, wide, n = (8, 32, 2) if small else (256, 1024, 32)
training("training step, MLP",
         nn.Sequential(nn.Linear(784, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(),
                       nn.Linear(wide, 10)), (batch, 784))
training("training step, CNN",
         nn.Sequential(nn.Conv2d(1, n, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                       nn.Conv2d(n, 2 * n, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                       nn.Flatten(), nn.Linear(2 * n * 49, 10)), (batch, 1, 28, 28))
