"""reports.py -- what users of other kernels reported, tried on ours

The fifteen reports are public: each function names where it was reported.
"""
import os
import subprocess
import sys
import time

import zmq

import tap
from client import DLREPL, Kernel, quiet

K = None
FULL = bool(os.environ.get("FULL"))


def interrupted_training():
    """iTorch 65: interrupting a training does nothing, only a restart helps"""
    K.run("""torch.manual_seed(0)
model = nn.Linear(20, 2)
opt = optim.SGD(model:parameters(), {lr = 0.01})
x, y = torch.randn(64, 20), torch.randn(64, 2)
steps = 0""")
    mid = K.client.execute("""for e = 1, 1e9 do
  opt:zero_grad()
  local loss = F.mse_loss(model(x), y)
  loss:backward()
  opt:step()
  steps = steps + 1
end""")
    time.sleep(0.3)
    began = time.perf_counter()
    K.signal()
    c = K.collect(mid)
    tap.same(c.reply["ename"], "KeyboardInterrupt", "1: a training is interrupted")
    tap.ok(c.reply_at - began < 1, "1: in milliseconds")
    tap.same(K.run("steps > 0, #model:parameters()").value(), "true\n2",
             "1: with the model and all names intact")


def interrupted_printing():
    """xeus-cling 275, xeus 272, xeus-python 443: an interrupt kills the kernel"""
    mid = K.client.execute("i = 0 while true do i = i + 1 print(i) end")
    time.sleep(0.2)
    K.signal()
    tap.same(K.collect(mid, 30).reply["ename"], "KeyboardInterrupt",
             "2: a loop that prints is interrupted")
    K.signal()
    time.sleep(0.05)
    tap.same(K.run("1").value(), "1", "2: an interrupt while idle is harmless")


PARENT = """
import os, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], env=dict(os.environ, JPY_PARENT_PID=str(os.getpid())),
                     stdin=subprocess.DEVNULL, start_new_session=True)
print(p.pid, flush=True)
time.sleep(100)
"""


def gone(pid, seconds):
    end = time.time() + seconds
    while time.time() < end:
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] in "ZX":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def orphans():
    """iTorch 120, jupyter_console 221, ipykernel 517: the kernel outlives its server"""
    import ctypes
    from client import connection
    libc = ctypes.CDLL(None)
    for subreaper in (False, True):
        libc.prctl(36, int(subreaper), 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        for busy in ("", "while true do end", "b = torch.randn(3000, 3000) b:matmul(b) "
                     "while true do b:matmul(b) end"):
            path, _ = connection(name="orphan")
            parent = subprocess.Popen([sys.executable, "-c", PARENT, DLREPL, "kernel", "-f", path],
                                      stdout=subprocess.PIPE, text=True)
            pid = int(parent.stdout.readline())
            k = Kernel.__new__(Kernel)
            k.file = path
            kc = k.new_client()
            kc.wait_for_ready(timeout=20)
            if busy:
                kc.execute(busy)
                time.sleep(0.2)
            parent.kill()
            parent.wait()
            began = time.time()
            what = busy[:17] or "idle"
            tap.ok(gone(pid, 1.5), f"3: an orphan ({what}{', subreaper' if subreaper else ''}) "
                                   "is gone within 1.5 s")
            tap.say(f"{time.time() - began:.3f} s")
            kc.stop_channels()
    libc.prctl(36, 0, 0, 0, 0)


def large_value():
    """torch7 586: a whole training set as the last value"""
    K.run("big = torch.zeros(50000, 3, 32, 32, {dtype = torch.uint8})")
    c = K.run("big")
    size = sum(len(v) for v in c.of("execute_result")[0]["data"].values())
    tap.ok(size < 20000, "4: a large tensor is summarised", size)
    tap.has(c.value(), "...", "4: with its corners")
    c = K.run("t = {} for i = 1, 1e6 do t[i] = i end\nt")
    tap.ok(len(c.value()) < 10000, "4: a large table too", len(c.value()))
    K.run("big, t = nil, nil")


def unsigned():
    """iTorch 33 and 30, iruby 29, IRkernel 138: unsigned messages; no key"""
    k = Kernel(name="nokey2", key="")
    k.client.session.check_pid = False
    c = k.run("1 + 1")
    tap.same(c.value(), "2", "5: an empty key: nothing is signed or checked")
    k.close()
    # the client of K refuses what is not signed: every test here is one of this


def heartbeat():
    """iTorch 91, IRkernel 164, JupyterKernel 3: connection lost during a long cell"""
    ctx = zmq.Context.instance()
    beat = ctx.socket(zmq.REQ)
    beat.connect(f"tcp://127.0.0.1:{K.client.hb_port}")
    K.run("b = torch.randn(1800, 1800)")
    mid = K.client.execute("for i = 1, 3 do b:matmul(b) print(i) end")
    times = []
    for i in range(40):
        began = time.perf_counter()
        beat.send(b"ping%d" % i)
        if not beat.poll(2000) or beat.recv() != b"ping%d" % i:
            break
        times.append(time.perf_counter() - began)
        time.sleep(0.01)
    times.sort()
    tap.ok(len(times) == 40 and times[20] < 0.2, "6: the heart beats during long C calls", times)
    K.client.control_channel.send(K.client.session.msg("kernel_info_request", {}))
    tap.same(K.client.get_control_msg(timeout=5)["content"]["status"], "ok",
             "6: control answers too")
    tap.same(K.collect(mid, 60).stream(), "1\n2\n3\n", "6: and output flows")
    beat.close(0)


def invalid_utf8():
    """IJulia 170, ilua 4: invalid UTF-8 and the cell never ends"""
    c = K.run('print("\\xff\\xfe") io.stderr:write("\\xf0\\x9f")')
    tap.same((c.stream(), c.stream("stderr"), c.states()),
             ("\ufffd\ufffd\n", "\ufffd\ufffd", ["busy", "idle"]), "7: bytes that are no UTF-8")
    c = K.run('error("\\xed\\xa0\\xb5")')
    tap.has(c.reply["evalue"], "\ufffd", "7: in an error")
    c = K.run('print("a\\0b")')
    tap.same(c.stream(), "a\0b\n", "7: a byte 0 is printed")
    c = K.run('"\\0\\1\\127"')
    tap.same(c.reply["status"], "ok", "7: a value with control characters")
    c = K.run('for i = 1, 60000 do io.write("é") end io.flush()')
    tap.same(c.stream(), "é" * 60000, "7: a sign is never cut in two")


def cursors():
    """IJulia 541, jupyter_client 259, deno 22771: completion behind an astral character"""
    code = 'x="𝐚𝐚"; pri'
    r = K.ask("complete_request", code=code, cursor_pos=11).reply
    tap.same((r["matches"], r["cursor_start"], r["cursor_end"]), (["print"], 8, 11),
             "8: positions count characters")
    fine = True
    for text in ('"서', "𝐚.𝐛(", code, "\ud7ff\ue000x", ""):
        for pos in (*range(len(text) + 1), 99, -1, 2**40, -2**40, 1.5, "x", None):
            for kind in ("complete_request", "inspect_request"):
                r = K.ask(kind, code=text, cursor_pos=pos).reply
                fine = fine and r["status"] == "ok" and K.alive()
    tap.ok(fine, "8: any position is answered")


def run_all():
    """IJulia 376, IRkernel 232, ipykernel 609: Run All goes on after an error"""
    for _ in range(10):
        ids = [K.client.execute(c) for c in ("ran = 1", "error('x')", "ran = 3")]
        got = [K.collect(i).reply["status"] for i in ids]
        time.sleep(0.05)
        later = K.run("ran").value()
        if (got, later) != (["ok", "error", "aborted"], "1"):
            return tap.ok(False, "9: the third of three cells is aborted", got, later)
    tap.ok(True, "9: the third of three cells is aborted, a later one runs")


def order():
    """evcxr 353, ark 569, jupyter-c-kernel 67: one run in 25 has no output"""
    n = 1000 if FULL else 200
    bad = 0
    for i in range(n):
        c = K.run(f"print('x{i}')" if i % 2 else f"os.execute('echo x{i}')", silent=bool(i % 3))
        if c.stream() != f"x{i}\n":
            bad += 1
    tap.same(bad, 0, f"10: {n} cells have all their output before idle")


def flood():
    """papermill 426: fast printing loses lines"""
    mid = K.client.execute("local s = ('x'):rep(92) for i = 1, 10000 do "
                           "print(string.format('%07d', i) .. s) io.flush() end")
    time.sleep(1)  # a slow reader
    lines = K.collect(mid, 30).stream().splitlines()
    tap.ok(len(lines) == 10000 and lines[-1].startswith("0010000"),
           "11: 10,000 lines come to a slow reader", len(lines))
    c = K.run("for i = 1, 100001 do print(i) end", timeout=30)
    tap.same(c.stream().count("\n"), 100001, "11: 100,001 short lines too")
    tap.ok(len(c.messages) < 200, "11: in few messages", len(c.messages))
    c = K.run("local s = ('x'):rep(1000000) for i = 1, 100 do print(s) end", timeout=60)
    tap.ok(len(c.stream()) == 16 << 20, "11: 100 MB are cut", len(c.stream()))
    tap.has(c.stream("stderr"), "left out", "11: with a word")
    mid = K.client.execute("local s = ('x'):rep(1 << 20) for i = 1, 150 do "
                           "dlrepl.kernel.display({['text/plain'] = s}) end")
    tap.same(len(K.collect(mid, 60).of("display_data")), 150,
             "11: 150 displays of 1 MB all come to a client that reads")
    tap.same(K.run("print('after')").stream(), "after\n", "11: the next cell prints again")


def stdin_again():
    """ipykernel 400, jupyterlab 6196: input cannot be interrupted; a stale reply is taken"""
    for _ in range(2):
        mid = K.client.execute("io.read()", allow_stdin=True)
        K.client.get_stdin_msg(timeout=5)
        K.signal()
        tap.same(K.collect(mid).reply["ename"], "KeyboardInterrupt", "12: input is interrupted")
    K.client.input("stale")
    mid = K.client.execute("io.read('n')", allow_stdin=True)
    K.client.get_stdin_msg(timeout=5)
    K.client.input("41")
    tap.same(K.collect(mid).value(), "41", "12: and asked again, without the stale answer")
    tap.same(K.run("io.read('n')").reply["status"], "error", "12: a refusal is an error")


def completeness():
    """beakerx 5251, jupyter_console 40 and 120: `did not respond to is_complete`

    The console itself, which waits for a second, is in console.t."""
    worst = 0
    for code, wanted in (("for i=1,3 do", "incomplete"), ("[[", "incomplete"),
                         ("--[[", "incomplete"), ("x = =", "invalid"), ("x = 1", "complete")):
        began = time.perf_counter()
        r = K.ask("is_complete_request", code=code).reply
        worst = max(worst, time.perf_counter() - began)
        tap.same(r["status"], wanted, f"13: {code} is {wanted}")
        tap.ok(wanted != "incomplete" or isinstance(r["indent"], str), "13: with an indent")
    tap.ok(worst < 1, "13: within a second", worst)
    tap.has(K.run("x = =").reply["evalue"], "unexpected symbol", "13: what is wrong is told")


def nulls():
    """xeus-python 430: a null where an object belongs (nbconvert is in notebook.t)"""
    c = K.run("dlrepl.display(1)\n2")
    bad = [m for m in c.messages for part in (m["content"], m["metadata"], m["parent_header"])
           if part is None or any(v is None for v in part.values())]
    tap.same(bad, [], "14: no message holds a null")


def reloads():
    """libzmq 2892, ipykernel 270 and 1554, kernel_gateway 131, jupyter_client 487"""
    mid = K.client.execute("local t = os.clock() while os.clock() - t < 0.3 do end reloaded = 1")
    sock = K.client.shell_channel.socket
    sock.setsockopt(zmq.LINGER, 500)
    time.sleep(0.1)
    K.client.shell_channel.stop()
    K.client._shell_channel = None
    K.client.shell_channel.start()
    K.client.execute("reloaded = (reloaded or 0) + 1")
    time.sleep(0.1)
    end = time.time() + 10
    value = None
    while time.time() < end and value is None:
        try:
            value = K.run("reloaded").value()
        except Exception:  # the reply of the first cell may be lost with its socket
            pass
    tap.same(value, "2", "15: a client that comes back with its identity is answered")
    k = Kernel(name="again")
    for i in range(20):
        k.client.control_channel.send(k.client.session.msg("shutdown_request", {"restart": True}))
        status = k.ended(5)
        k.client.stop_channels()
        if status != 0:
            return tap.ok(False, "15: 20 restarts on the same ports", i, status, k.logged())
        k = Kernel(file=k.file, ready=False)
        k.client = k.new_client()
        k.client.kernel_info()
        k.client.get_shell_msg(timeout=20)
    k.client.wait_for_ready(timeout=20)  # subscribed, too
    tap.ok(k.run("1").value() == "1", "15: 20 restarts on the same ports")
    k.close()


def others():
    """iTorch 26, ilua 30, cl-jupyter 45, IHaskell 532 and 694, ipykernel 799"""
    c = K.run("setmetatable({}, {__tostring = function() return 'plain' end, __index = "
              "{_repr_html_ = function() return '<b>rich</b>' end}})")
    tap.same(c.of("execute_result")[0]["data"].get("text/html"), "<b>rich</b>",
             "an object shows itself as HTML")
    k = Kernel(name="early", ready=False)
    k.client = k.new_client()
    k.client.execute("1 + 1")
    tap.same(k.client.get_shell_msg(timeout=20)["content"]["status"], "ok",
             "a cell sent before the start is answered")
    k.close()
    mid = K.client.execute("local t = os.clock() while os.clock() - t < 0.2 do end")
    control = K.client.session.msg("kernel_info_request", {})
    K.client.control_channel.send(control)
    states = []
    while ("idle", mid) not in states:
        m = K.client.get_iopub_msg(timeout=5)
        if m["msg_type"] == "status":
            states.append((m["content"]["execution_state"], m["parent_header"]["msg_id"]))
    tap.ok(("idle", control["header"]["msg_id"]) in states, "control's idle has its own parent",
           states)
    quiet(K.client)


if __name__ == "__main__":
    K = Kernel()
    for part in (interrupted_training, interrupted_printing, orphans, large_value, unsigned,
                 heartbeat, invalid_utf8, cursors, run_all, order, flood, stdin_again, completeness,
                 nulls, reloads, others):
        began = time.time()
        tap.section(part)
        tap.say(f"{part.__name__}: {time.time() - began:.1f} s")
        if not K.alive():
            tap.ok(False, f"the kernel lives after {part.__name__}", K.logged())
            K = Kernel()
        quiet(K.client, 0.02)
    K.close()
    tap.done()
