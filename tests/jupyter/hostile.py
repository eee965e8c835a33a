"""hostile.py -- malformed, forged and huge messages, clients and parents that vanish

Frames are made by hand here. Whatever comes, the kernel lives, answers the next good request, and
runs nothing that is not signed.
"""
import hashlib
import hmac
import json
import os
import random
import signal
import socket
import time
import uuid
from datetime import datetime, timezone

import zmq

import tap
from client import ASAN, Kernel, quiet

FULL = bool(os.environ.get("FULL"))
K = ctx = None
KEY = b"8d7c6b5a-secret"


def sign(parts, key=KEY):
    return hmac.new(key, b"".join(parts), hashlib.sha256).hexdigest().encode()


def header(kind, **more):
    return {"msg_id": uuid.uuid4().hex, "session": "s", "username": "u", "msg_type": kind,
            "date": datetime.now(timezone.utc).isoformat(), "version": "5.5", **more}


def parts(kind, content, **more):
    return [json.dumps(p).encode() for p in (header(kind, **more), {}, {}, content)]


def frames(kind, content, key=KEY, **more):
    p = parts(kind, content, **more)
    return [b"<IDS|MSG>", sign(p, key), *p]


class Raw:
    """A DEALER that sends any frames."""

    def __init__(self, channel="shell", identity=None):
        self.sock = ctx.socket(zmq.DEALER)
        self.sock.setsockopt(zmq.LINGER, 0)
        if identity:
            self.sock.setsockopt(zmq.IDENTITY, identity)
        self.sock.connect(f"tcp://127.0.0.1:{getattr(K.client, channel + '_port')}")

    def send(self, *f):
        self.sock.send_multipart(list(f))
        return self

    def get(self, seconds=5):
        """The content of the next reply, None if there is none in time."""
        if not self.sock.poll(seconds * 1000):
            return None
        f = self.sock.recv_multipart()
        return json.loads(f[f.index(b"<IDS|MSG>") + 5])

    def close(self):
        self.sock.close(0)


def lives(what):
    """Nothing ran, and the next cell does."""
    fine = K.alive() and K.run("ran, 1").value() == "nil\n1"
    return tap.ok(fine, f"{what}: the kernel lives, nothing ran", K.logged()[-400:])


CODE = {"code": "ran = 1", "silent": False, "allow_stdin": False}


def dropped():
    good = frames("execute_request", CODE)
    p = parts("execute_request", CODE)
    bad = {
        "no delimiter": good[1:],
        "a wrong delimiter": [b"<IDS|MSG", *good[1:]],
        "nothing": [b""],
        "the delimiter alone": [b"<IDS|MSG>"],
        "too few frames": good[:4],
        "no signature": [b"<IDS|MSG>", b"", *good[2:]],
        "a wrong signature": [b"<IDS|MSG>", b"0" * 64, *good[2:]],
        "a short signature": [b"<IDS|MSG>", good[1][:63], *good[2:]],
        "a signature in capitals": [b"<IDS|MSG>", good[1].upper(), *good[2:]],
        "another key": frames("execute_request", CODE, key=b"other"),
        "a changed content": [b"<IDS|MSG>", sign(p), *p[:3], p[3].replace(b"= 1", b"= 2")],
        "a header that is no JSON": [b"<IDS|MSG>", sign([b"{", *p[1:]]), b"{", *p[1:]],
        "a header that is a list": [b"<IDS|MSG>", sign([b"[]", *p[1:]]), b"[]", *p[1:]],
        "a header that is null": [b"<IDS|MSG>", sign([b"null", *p[1:]]), b"null", *p[1:]],
        "an empty header": [b"<IDS|MSG>", sign([b"{}", *p[1:]]), b"{}", *p[1:]],
        "a header of invalid UTF-8": [b"<IDS|MSG>", sign([b'{"msg_type": "\xff"}', *p[1:]]),
                                      b'{"msg_type": "\xff"}', *p[1:]],
        "100 identities": [b"id"] * 100 + good,
        "500 frames": good + [b"x"] * 500,
        "a delimiter at the end": good[1:] + [b"<IDS|MSG>"],
    }
    for name, f in bad.items():
        for channel in ("shell", "control"):
            r = Raw(channel).send(*f)
            if r.get(0.05) is not None:
                tap.ok(False, f"{name} is not answered on {channel}")
            r.close()
        lives(name)
    tap.has(K.logged(), "was dropped", "the log counts them")


def answered():
    """Signed, but not as it should be: busy, an answer where there is one, idle."""
    def reply(content, kind="execute_request", raw=None, seconds=5, **more):
        p = parts(kind, content, **more)
        if raw is not None:
            p[3] = raw
        r = Raw().send(b"<IDS|MSG>", sign(p), *p)
        got = r.get(seconds)
        r.close()
        return got or {}
    for name, raw in (("no JSON", b"{"), ("a list", b"[]"), ("null", b"null"), ("empty", b""),
                      ("invalid UTF-8", b'{"code": "\xff"}'), ("NaN", b'{"code": NaN}'),
                      ("a lone surrogate", b'{"code": "\\ud800"}'),
                      ("deep lists", b'{"code": ' + b"[" * 100000),
                      ("deep objects", b'{"a":' * 100000)):
        got = reply(None, raw=raw)
        tap.ok(got.get("status") == "error" and "execution_count" in got,
               f"a content that is {name} is an error", got)
    tap.same(reply({}).get("status"), "ok", "no code is an empty cell")
    tap.same(reply({"code": 7, "silent": "x", "user_expressions": [1]}).get("status"), "ok",
             "fields of other types count as missing")
    got = reply(None, raw=b'{"code": "1", "code": "2", "extra": {"x": [1e308, 1]}}')
    tap.same(got.get("status"), "ok", "fields may come twice or be unknown")
    for kind in ("complete_request", "inspect_request", "is_complete_request", "history_request"):
        tap.ok(reply({}, kind).get("status") in ("ok", "error"), f"{kind} without fields")
    tap.same(reply({"hist_access_type": "range", "session": 2**62, "start": -2**62,
                    "stop": "x"}, "history_request").get("status"), "ok", "any history range")
    tap.same(reply({"code": "\0\0ran = 1", "silent": False}).get("status"), "error",
             "code with bytes 0 is an error")
    lives("after these")
    r = Raw(identity=b"\0\xff\xfe\x80").send(*frames("kernel_info_request", {}))
    tap.same((r.get() or {}).get("status"), "ok", "an identity is any bytes")
    r.close()
    r = Raw().send(b"a", b"", b"\xff", *frames("kernel_info_request", {}))
    tap.same((r.get() or {}).get("status"), "ok", "there may be several")
    r.close()
    k = reply({}, "nonsense\n\"\\_request", seconds=0.2)
    tap.same(k, {}, "an unknown type has no reply")
    r = Raw().send(*frames("kernel_info_request", {}, version="9.9", extra=[1], date=7))
    tap.same((r.get() or {}).get("status"), "ok", "a header may be of another version")
    r.close()
    lives("after these too")


def replays():
    f = frames("execute_request", {**CODE, "code": "n = (n or 0) + 1", "silent": True})
    r = Raw()
    for _ in range(3):
        r.send(*f)
    r.get()
    other = Raw().send(*f)
    tap.same((r.get(0.3), other.get(0.1)), (None, None), "a message that comes again is dropped")
    tap.same(K.run("n").value(), "1", "it has run once")
    r.close()
    other.close()


def huge():
    before = K.memory()
    p = parts("execute_request", {"code": "x" * (100 << 20), "silent": False})
    r = Raw().send(b"<IDS|MSG>", sign(p), *p)
    got = r.get(30) or {}
    tap.same(got.get("status"), "error", "a cell of 100 MB is an error")
    r.close()
    for channel in ("shell", "stdin"):
        r = Raw(channel).send(b"<IDS|MSG>", b"0" * 64, b"x" * (100 << 20), b"{}", b"{}", b"{}")
        r.get(0.5)
        r.close()
    lives("unsigned messages of 100 MB")
    code = "-- " + "x" * (8 << 20) + "\n'big'"
    tap.same(K.run(code, timeout=30).value(), '"big"', "a cell of 8 MB runs")
    c = K.run("('x'):rep(100 << 20)", timeout=60)
    tap.ok(len(c.value()) < 20 << 20, "a value of 100 MB is cut", len(c.value()))
    tap.has(c.value()[-200:], "bytes)", "and says so")
    K.run("_ = nil collectgarbage() collectgarbage()")
    time.sleep(0.5)
    grown = (K.memory() - before) >> 20
    tap.ok(grown < (1000 if ASAN else 100), "memory comes back", f"{grown} MiB more")


def floods():
    mid = K.client.execute("local t = os.clock() while os.clock() - t < 0.5 do end")
    time.sleep(0.1)
    r, n = Raw(), 2000 if FULL else 500
    for _ in range(n):
        r.send(*frames("complete_request", {"code": "torch.man", "cursor_pos": 9}))
    got = 0
    while got < n and r.get(5) is not None:
        got += 1
    tap.same(got, n, f"{n} completions during a run are all answered")
    r.close()
    K.collect(mid)
    rest = [Raw() for _ in range(20)]
    for i in range(2000):
        rest[i % 20].send(*[os.urandom(random.randrange(200)) for _ in range(random.randrange(12))]
                          or [b""])
    time.sleep(0.3)
    for r in rest:
        r.close()
    for channel in ("shell", "control", "iopub", "hb", "stdin"):
        s = socket.create_connection(("127.0.0.1", getattr(K.client, channel + "_port")))
        s.sendall(b"GET / HTTP/1.1\r\n\r\n" + os.urandom(2000))
        s.close()
    time.sleep(0.1)
    lives("2,000 messages of random bytes, and clients that speak HTTP")
    beat = ctx.socket(zmq.REQ)
    beat.setsockopt(zmq.LINGER, 0)
    beat.connect(f"tcp://127.0.0.1:{K.client.hb_port}")
    beat.send(b"\0" * 1000)
    tap.ok(beat.poll(3000) and beat.recv() == b"\0" * 1000, "the heart still beats")
    beat.close(0)


def vanishing():
    before = K.memory()
    stuck = ctx.socket(zmq.SUB)  # a client that subscribes and never reads
    stuck.setsockopt(zmq.LINGER, 0)
    stuck.setsockopt(zmq.RCVHWM, 1)
    stuck.setsockopt(zmq.RCVBUF, 4096)
    stuck.setsockopt(zmq.SUBSCRIBE, b"")
    stuck.connect(f"tcp://127.0.0.1:{K.client.iopub_port}")
    time.sleep(0.2)
    for _ in range(12):
        K.run("local s = ('x'):rep(99999) for i = 1, 100 do print(s) end", timeout=30)
    grown = (K.memory() - before) >> 20
    tap.ok(grown < (1000 if ASAN else 160), "a client that never reads costs bounded memory",
           f"{grown} MiB more")
    stuck.close(0)
    r = Raw().send(*frames("execute_request", {"code": "print(1) vanished = 1", "silent": False}))
    r.close()
    r = Raw().send(*frames("execute_request", {"code": "x = 1", "silent": False}))
    r.get()
    r.close()
    K.client.control_channel.send(K.client.session.msg("kernel_info_request", {}))
    K.client.get_control_msg(timeout=5)
    lives("clients that vanish")


def pipes():
    """Descriptors 1 and 2: full, closed, broken."""
    c = K.run("os.execute('head -c 5000000 /dev/zero | tr \"\\\\0\" x')", timeout=30)
    tap.same(len(c.stream()), 5000000, "a child that fills the pipe is read")
    mid = K.client.execute("os.execute('yes')")
    time.sleep(0.5)
    K.signal()
    c = K.collect(mid, 30)
    tap.ok(c.reply["status"] == "error" and len(c.stream()) <= 16 << 20,
           "a child that never ends can be interrupted", c.reply)
    c = K.run("os.execute('(sleep 0.3; echo late) &')\n1")
    time.sleep(0.5)
    c2 = K.run("2")
    tap.same((c.value()[:4], c2.value()), ("true", "2") if c.value()[:4] == "true" else ("1", "2"),
             "a child in the background holds up nothing")
    k = Kernel(name="closed", wrap=("sh", "-c", 'exec "$@" >&- 2>&-', "sh"))
    tap.same(k.run("print('x')").stream(), "x\n", "a kernel without descriptors 1 and 2 runs")
    k.close()


def crash():
    k = Kernel(name="crash")
    os.kill(k.pid, signal.SIGSEGV)
    status = k.ended(5)
    tap.ok(status not in (None, 0), "a crash ends the process", status)
    if not ASAN:  # whose report goes to descriptor 2
        tap.has(k.logged(), "crashed", "with a word in the log")
    k.close()


if __name__ == "__main__":
    ctx = zmq.Context()
    K = Kernel(name="hostile")
    for part in (dropped, answered, replays, huge, floods, vanishing, pipes, crash):
        began = time.time()
        tap.section(part)
        tap.say(f"{part.__name__}: {time.time() - began:.1f} s")
        if not K.alive():
            tap.ok(False, f"the kernel lives after {part.__name__}", K.logged()[-1000:])
            K = Kernel(name="hostile")
        quiet(K.client, 0.02)
    K.close()
    tap.done()
