#!/usr/bin/env python3
"""kernel.py -- the second half of `make bench`: our Jupyter kernel beside others.

For whoever wants to know how quick a notebook is. Runs in the tests' virtual environment
(tests/jupyter/venv.sh). Beside ours: ipykernel, and xeus-lua (kernelspec xlua) or ilua where they
are installed. The client is jupyter_client's Session on plain sockets, the same for all, so the
figures hold its own half millisecond. Medians.
"""
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import zmq
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.session import Session

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = tempfile.mkdtemp(prefix="dlrepl-bench-")
PORTS = ("shell", "iopub", "stdin", "control", "hb")
STARTS, CELLS = 15, 200

OURS = [os.path.join(ROOT, "dlrepl"), "kernel", "-f", "{connection_file}"]
IPYKERNEL = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
LUA = {"sum": "1+1", "lines": "for i = 1, 100001 do print(i) end",
       "bytes": "local s = ('x'):rep(999) for i = 1, 10486 do print(s) end"}
PYTHON = {"sum": "1+1", "lines": "for i in range(100001): print(i)",
          "bytes": "for i in range(10486): print('x' * 999)"}
TARGETS = {"start": 0.03, "memory": 10.0, "cell": 0.0006, "bytes": None, "lines": 0.5}
LINES = {"lines": 100001, "bytes": 10486}


class Kernel:
    def __init__(self, argv):
        socks = [socket.socket() for _ in PORTS]
        for s in socks:
            s.bind(("127.0.0.1", 0))
        ports = {p: s.getsockname()[1] for p, s in zip(PORTS, socks)}
        for s in socks:
            s.close()
        path = os.path.join(TMP, "connection.json")
        info = {p + "_port": n for p, n in ports.items()}
        info.update(transport="tcp", ip="127.0.0.1", key="bench", signature_scheme="hmac-sha256")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as f:
            json.dump(info, f)
        self.ctx, self.session = zmq.Context(), Session(key=b"bench")
        self.shell, self.iopub = self.ctx.socket(zmq.DEALER), self.ctx.socket(zmq.SUB)
        self.iopub.setsockopt(zmq.SUBSCRIBE, b"")
        self.iopub.setsockopt(zmq.RCVHWM, 0)
        for s, p in ((self.shell, "shell"), (self.iopub, "iopub")):
            s.setsockopt(zmq.LINGER, 0)
            s.setsockopt(zmq.RECONNECT_IVL, 1)
            s.connect(f"tcp://127.0.0.1:{ports[p]}")
        began = time.perf_counter()
        self.process = subprocess.Popen(
            [a.replace("{connection_file}", path) for a in argv], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.session.send(self.shell, "kernel_info_request", {})
        self.get(self.shell)
        self.start = time.perf_counter() - began
        time.sleep(0.2)

    def get(self, sock, seconds=120):
        if not sock.poll(seconds * 1000):
            raise TimeoutError
        return self.session.recv(sock, mode=0)[1]

    def run(self, code):
        """(seconds to the reply, seconds to idle, what was printed, messages)"""
        began = time.perf_counter()
        sent = self.session.send(self.shell, "execute_request", {
            "code": code, "silent": False, "store_history": True, "user_expressions": {},
            "allow_stdin": False, "stop_on_error": True})["header"]["msg_id"]
        reply, text, n = None, [], 0
        while True:
            m = self.get(self.iopub)
            if m["parent_header"].get("msg_id") != sent:
                continue
            n += 1
            if m["msg_type"] == "stream":
                text.append(m["content"]["text"])
            if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
                break
            if reply is None and self.shell.poll(0):
                self.get(self.shell)
                reply = time.perf_counter() - began
        idle = time.perf_counter() - began
        if reply is None:
            self.get(self.shell)
        return reply or idle, idle, "".join(text), n

    def quick(self, code):
        """Seconds to the reply alone; returns when the kernel is idle."""
        began = time.perf_counter()
        sent = self.session.send(self.shell, "execute_request", {
            "code": code, "silent": False, "store_history": True, "user_expressions": {},
            "allow_stdin": False, "stop_on_error": True})["header"]["msg_id"]
        self.get(self.shell)
        took = time.perf_counter() - began
        while True:
            m = self.get(self.iopub)
            if (m["parent_header"].get("msg_id") == sent and m["msg_type"] == "status"
                    and m["content"]["execution_state"] == "idle"):
                return took

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024

    def close(self):
        self.process.kill()
        self.process.wait()
        self.ctx.destroy(0)


def measure(argv, code):
    starts, memory = [], []
    for _ in range(STARTS):
        k = Kernel(argv)
        starts.append(k.start)
        memory.append(k.memory())
        k.close()
    k = Kernel(argv)
    for _ in range(20):
        k.quick(code["sum"])
    cells = [k.quick(code["sum"]) for _ in range(CELLS)]
    got = {"start": statistics.median(starts), "memory": statistics.median(memory),
           "cell": statistics.median(cells)}
    for name in ("bytes", "lines"):
        _, took, text, n = k.run(code[name])
        lost = LINES[name] - text.count("\n")
        got[name], got[name + " lost"], got[name + " n"] = took, lost, n
    k.close()
    return got


def kernels():
    found = [("dlrepl", OURS, LUA), ("ipykernel", IPYKERNEL, PYTHON)]
    specs = KernelSpecManager().find_kernel_specs()
    for name in ("xlua", "lua"):
        if name in specs:
            with open(os.path.join(specs[name], "kernel.json")) as f:
                found.append((name, json.load(f)["argv"], LUA))
    return found


def show(name, v):
    return f"{v:.1f} MiB" if name == "memory" else f"{v * 1000:.2f} ms" if v < 0.1 else f"{v:.2f} s"


def main():
    rows = {"start": "start to kernel_info_reply", "memory": "resident memory, idle",
            "cell": "1+1 to its reply", "bytes": "10 MB printed in lines of 1,000",
            "lines": "100,001 lines printed"}
    results = []
    for name, argv, code in kernels():
        try:
            results.append((name, measure(argv, code)))
        except Exception as e:
            print(f"# {name} could not be measured: {e!r}")
    print(f"\n{'Jupyter kernel':<36} {'target':>10}" + "".join(f" {n:>22}" for n, _ in results))
    for key, title in rows.items():
        target, cells = TARGETS[key], ""
        for name, got in results:
            text = show(key, got[key])
            if key in LINES:
                text += f" ({got[key + ' lost']} lost)"
            missed = name == "dlrepl" and target and got[key] > target
            cells += f" {text + (' MISSED' if missed else ''):>22}"
        print(f"{title:<36} {show(key, target) if target else '-':>10}{cells}", flush=True)


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(TMP, ignore_errors=True)
