"""client.py -- a kernel of ours and a client of it, for the programs of this folder

Kernel() starts ./dlrepl (or $DLREPL) on a fresh connection file, as a Jupyter server would: in a
session of its own, with JPY_PARENT_PID. run() executes a cell and returns its reply and everything
that came on iopub for it.
"""
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
from queue import Empty

from jupyter_client.blocking import BlockingKernelClient

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DLREPL = os.environ.get("DLREPL") or os.path.join(TOP, "dlrepl")
ASAN = "asan" in DLREPL  # slower, larger, with a crash handler of its own
PATIENCE = 120 if ASAN else 20  # seconds for a reply
TMP = tempfile.mkdtemp(prefix="dlrepl-test-")
PORTS = ("shell", "iopub", "stdin", "control", "hb")
os.environ["XDG_DATA_HOME"] = TMP + "/data"


def free_ports(n):
    """Below those that a system gives to connections: nothing takes one between restarts."""
    ports = []
    while len(ports) < n:
        port = random.randrange(20000, 32000)
        with socket.socket() as s:
            if port not in ports and s.connect_ex(("127.0.0.1", port)) != 0:
                ports.append(port)
    return ports


def connection(name="k", transport="tcp", key="8d7c6b5a-secret", **more):
    """A connection file; its path and what is in it."""
    info = {"transport": transport, "ip": "127.0.0.1", "key": key, "kernel_name": "dlrepl",
            "signature_scheme": "hmac-sha256"}
    if transport == "ipc":
        info["ip"] = f"{TMP}/{name}-ipc"
        ports = range(1, 6)
    else:
        ports = free_ports(5)
    info.update({p + "_port": n for p, n in zip(PORTS, ports)})
    info.update(more)
    path = f"{TMP}/{name}.json"
    with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as f:
        json.dump(info, f)
    return path, info


class Cell:
    """What came of one request."""

    def __init__(self, msg_id):
        self.msg_id, self.reply, self.messages = msg_id, None, []
        self.reply_at = self.idle_at = None

    def of(self, kind):
        return [m["content"] for m in self.messages if m["msg_type"] == kind]

    def kinds(self):
        return [m["msg_type"] for m in self.messages]

    def stream(self, name="stdout"):
        return "".join(c["text"] for c in self.of("stream") if c["name"] == name)

    def value(self):
        found = self.of("execute_result")
        return found[0]["data"]["text/plain"] if found else None

    def states(self):
        return [c["execution_state"] for c in self.of("status")]


class Kernel:
    def __init__(self, file=None, env=None, ready=True, wrap=(), log=None, **conn):
        self.file = file or connection(**conn)[0]
        self.log = log or TMP + "/log"
        environ = dict(os.environ, JPY_PARENT_PID=str(os.getpid()), **(env or {}))
        with open(self.log, "ab") as out:
            self.began = time.perf_counter()
            self.process = subprocess.Popen(
                [*wrap, DLREPL, "kernel", "-f", self.file], env=environ, stdout=out, stderr=out,
                stdin=subprocess.DEVNULL, start_new_session=True)
        self.client = self.new_client() if ready else None
        if ready:
            self.client.wait_for_ready(timeout=30)

    def new_client(self):
        kc = BlockingKernelClient()
        kc.load_connection_file(self.file)
        kc.start_channels()
        return kc

    @property
    def pid(self):
        return self.process.pid

    def collect(self, msg_id, timeout=PATIENCE, channel="shell"):
        """The reply to msg_id and its messages up to idle."""
        cell, kc = Cell(msg_id), self.client
        get = kc.get_shell_msg if channel == "shell" else kc.get_control_msg
        end = time.time() + timeout
        while channel:
            m = get(timeout=max(0.01, end - time.time()))
            if m["parent_header"].get("msg_id") == msg_id:
                cell.reply, cell.reply_at = m["content"], time.perf_counter()
                cell.reply_message = m
                break
        while True:
            m = kc.get_iopub_msg(timeout=max(0.01, end - time.time()))
            if m["parent_header"].get("msg_id") != msg_id:
                continue
            cell.messages.append(m)
            if m["msg_type"] == "status" and m["content"]["execution_state"] == "idle":
                cell.idle_at = time.perf_counter()
                return cell

    def run(self, code, timeout=PATIENCE, **options):
        options.setdefault("allow_stdin", False)
        return self.collect(self.client.execute(code, **options), timeout)

    def ask(self, kind, timeout=PATIENCE, channel="shell", reply=True, **content):
        """A request of any kind."""
        kc = self.client
        msg = kc.session.msg(kind, content)
        (kc.shell_channel if channel == "shell" else kc.control_channel).send(msg)
        return self.collect(msg["header"]["msg_id"], timeout, channel if reply else None)

    def wait_output(self, text, timeout=PATIENCE):
        """Until a stream holds the text."""
        end, seen = time.time() + timeout, ""
        while text not in seen:
            m = self.client.get_iopub_msg(timeout=max(0.01, end - time.time()))
            if m["msg_type"] == "stream":
                seen += m["content"]["text"]

    def signal(self, sig=signal.SIGINT):
        os.killpg(self.pid, sig)

    def alive(self):
        return self.process.poll() is None

    def ended(self, seconds):
        """The exit status if it ends within so many seconds, else None."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def logged(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def close(self):
        if self.client:
            self.client.stop_channels()
        if self.alive():
            self.process.kill()
        self.process.wait()


def quiet(kc, seconds=0.2):
    """Throw away what waits on a client's channels."""
    for get in (kc.get_shell_msg, kc.get_iopub_msg, kc.get_stdin_msg, kc.get_control_msg):
        try:
            while True:
                get(timeout=seconds / 10)
        except Empty:
            pass
