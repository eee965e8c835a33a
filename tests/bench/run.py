#!/usr/bin/env python3
"""run.py -- `make bench`: ours and PyTorch's, program by program, in one process tree.

For whoever wants to know how fast dlrepl is beside PyTorch on THIS machine. Each program runs in a
fresh process of each side, one after the other, so that a drift of the machine hits both; the table
shows medians, the ratio ours / PyTorch, and the target. Never part of `make test`.

Peer: the newest PyTorch that pip installs (virtual environment build/bench-venv), else Debian's
python3-torch, else ours alone. BENCH_PYTHON names another interpreter that has torch.
"""
import json
import os
import pty
import select
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tests", "bench")
VENV = os.path.join(ROOT, "build", "bench-venv")
DLREPL = os.path.join(ROOT, "dlrepl")

# name -> target ratio (ours / PyTorch's time); None: shown, no target
TARGETS = {
    "start to first tensor": 0.02,
    "resident memory after first tensor": 0.08,
    "100 adds, 16 elements": 0.22,
    "100 adds, 16 elements, with graph": 0.2,
    "100 muls by a number, 16 elements": None,
    "100-op chain, forward and backward": 0.08,
    "add, 1e6": 1.0,
    "add, 1e7": 0.35,
    "tanh, 1e6": 0.35,
    "gelu, 1e6": 0.8,
    "exp, 1e6": None,
    "sigmoid, 1e6": None,
    "relu, 1e6": None,
    "sum, 1e6": None,
    "softmax, 1000x1000": 0.8,
    "layer_norm, 1000x1000": 0.8,
    "sgemm 1024": 1.0,
    "sgemm 64x784x128": 0.65,
    "bmm 256x16x16x16": 0.1,
    "conv2d 64x32x14x14 -> 64, forward and backward": None,
    "MLP epoch, batch 64": 0.45,
    "CNN step, batch 64": 1.0,
    "gemm 1024, bfloat16": 1.0,
    "MLP epoch, batch 64, bfloat16": 0.45,
    "CNN step, batch 64, bfloat16": 1.0,
}

# name -> seconds that it may take here, whatever PyTorch takes
LIMITS = {
    "autocast on an op that it does not cast": 100e-9,
    "autocast on a product whose cast weight is kept": 100e-9,
}

# rows whose times are also shown one by the other
BESIDE = [("gemm 1024, bfloat16", "sgemm 1024"),
          ("MLP epoch, batch 64, bfloat16", "MLP epoch, batch 64"),
          ("CNN step, batch 64, bfloat16", "CNN step, batch 64")]

STARTER = """
import resource, subprocess, sys, time
t0 = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(time.perf_counter() - t0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def torch_version(exe):
    try:
        out = subprocess.run([exe, "-c", "import torch; print(torch.__version__)"],
                             capture_output=True, text=True, timeout=120)
    except OSError:
        return None
    return out.stdout.strip() if out.returncode == 0 else None


def install(exe):
    print("# installing PyTorch for the comparison (some gigabytes, once) …", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", VENV]).returncode:
        return False
    return subprocess.run([exe, "-m", "pip", "install", "-q", "torch", "numpy"]).returncode == 0


def peer():
    """(python, version) of the PyTorch to compare with, or (None, None)."""
    mine = os.path.join(VENV, "bin", "python")
    for exe in filter(None, (os.environ.get("BENCH_PYTHON"), mine)):
        if torch_version(exe):
            return exe, torch_version(exe)
    if install(mine):
        return mine, torch_version(mine)
    version = torch_version("/usr/bin/python3")
    if version:
        return "/usr/bin/python3", version + " (Debian's python3-torch)"
    print("# no PyTorch here: our figures alone")
    return None, None


def seconds(cmd, name):
    out = subprocess.run(cmd, capture_output=True, text=True, cwd=ROOT)
    if out.returncode:
        print("#", cmd[1], name, "failed:", out.stderr.strip()[-300:])
    found = [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]
    return found[0]["seconds"] if found else None


def started(cmd):
    """(seconds, KiB resident) of a process that makes and prints one tensor; medians of 5."""
    runs = [subprocess.run([sys.executable, "-c", STARTER, *cmd], capture_output=True, text=True)
            .stdout.split() for _ in range(5)]
    return sorted(float(t) for t, _ in runs)[2], sorted(int(m) for _, m in runs)[2]


def read_until(fd, word, seconds=5.0):
    """What the terminal shows until `word` stands in it."""
    seen, end = b"", time.perf_counter() + seconds
    while word not in seen and time.perf_counter() < end:
        if select.select([fd], [], [], 0.1)[0]:
            seen += os.read(fd, 65536)
    return seen


def prompt():
    """On a terminal: seconds to the first prompt, seconds of one Tab, KiB resident then."""
    t0 = time.perf_counter()
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(DLREPL, [DLREPL, "--plain"])
    read_until(fd, b"> ")
    first = time.perf_counter() - t0
    os.write(fd, b"torch.zer\t")
    read_until(fd, b"zeros")  # the list of both names, or the common beginning
    t0 = time.perf_counter()
    os.write(fd, b"\x15x = torch.arang\t")
    read_until(fd, b"arange")
    tab = time.perf_counter() - t0
    with open(f"/proc/{pid}/status") as status:
        rss = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    os.write(fd, b"\x15\x04")
    os.waitpid(pid, 0)
    return first, tab, rss


def show_prompt():
    runs = sorted(prompt() for _ in range(5))
    first, tab, rss = (sorted(column)[2] for column in zip(*runs))
    print(f"\n{'at the prompt':<50} {'dlrepl':>12} {'limit':>12}")
    for name, value, limit, text in (
            ("start to first prompt", first, 0.05, unit(first)), ("one Tab", tab, 0.02, unit(tab)),
            ("resident memory", rss, 20480, f"{rss / 1024:.1f} MiB")):
        bound = unit(limit) if limit < 1 else f"{limit / 1024:.0f} MiB"
        verdict = "ok" if value <= limit else "MISSED"
        print(f"{name:<50} {text:>12} {bound:>12} {verdict}", flush=True)


def unit(t):
    for scale, word in ((1e-6, "ns"), (1e-3, "us"), (1, "ms")):
        if t < scale:
            return f"{t / scale * 1000:.1f} {word}"
    return f"{t:.2f} s"


def row(name, mine, theirs, show):
    target = TARGETS.get(name)
    ratio = mine / theirs if mine and theirs else None
    word = "" if ratio is None or target is None else ("ok" if ratio <= target else "MISSED")
    print(f"{name:<50} {show(mine) if mine else '-':>12} {show(theirs) if theirs else '-':>12} "
          f"{'%.3f' % ratio if ratio else '-':>8} {target if target else '':>7} {word}", flush=True)


def limit_row(name, mine, theirs):
    word = "" if mine is None else ("ok" if mine <= LIMITS[name] else "MISSED")
    print(f"{name:<50} {unit(mine) if mine else '-':>12} {unit(theirs) if theirs else '-':>12} "
          f"{unit(LIMITS[name]):>16} {word}", flush=True)


def show_beside(times):
    """bfloat16's time by float32's, on each side."""
    for name, plain in BESIDE:
        if name not in times or plain not in times:
            continue
        shares = [a / b if a and b else None for a, b in zip(times[name], times[plain])]
        text = [f"x {share:.2f}" if share else "-" for share in shares]
        print(f"{name + ' / float32':<50} {text[0]:>12} {text[1]:>12}", flush=True)


def head(title):
    print(f"\n{title:<50} {'dlrepl':>12} {'PyTorch':>12} {'ratio':>8} {'target':>7}")


def main():
    wanted = sys.argv[1:]
    python, version = peer()
    ours = subprocess.run([DLREPL, "--version"], capture_output=True, text=True).stdout.strip()
    print(f"# {ours} beside PyTorch {version}")
    if not wanted:
        mine = started([DLREPL, "-e", "print(torch.ones(2))"])
        theirs = (None, None)
        if python:
            theirs = started([python, "-c", "import torch; print(torch.ones(2))"])
        head("start")
        row("start to first tensor", mine[0], theirs[0], unit)
        row("resident memory after first tensor", mine[1], theirs[1],
            lambda k: f"{k / 1024:.1f} MiB")
        show_prompt()
    every = [*TARGETS, *LIMITS]
    names = wanted or [n for n in every if not n.startswith(("start", "resident"))]
    for threads in (1, 2) if (os.cpu_count() or 1) > 1 else (1,):
        head(f"{threads} thread" + "s" * (threads > 1))
        times = {}
        for name in names:
            mine = seconds([DLREPL, os.path.join(HERE, "bench.lua"), str(threads), name], name)
            program = [python, os.path.join(HERE, "bench.py"), str(threads), name]
            theirs = python and seconds(program, name)
            times[name] = (mine, theirs)
            if name in LIMITS:
                limit_row(name, mine, theirs)
            else:
                row(name, mine, theirs, unit)
        show_beside(times)


if __name__ == "__main__":
    main()
