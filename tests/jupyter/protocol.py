"""protocol.py -- each request and message of the protocol, as far as no other test has it"""
import json
import os
import signal
import statistics
import subprocess
import threading
import time
from queue import Empty

import tap
from client import ASAN, DLREPL, TMP, Kernel, connection, quiet

K = None


# ---- executing -----------------------------------------------------------------------------------
def cells():
    c = K.run("x = 6 * 7\nprint('out')\nx")
    tap.same(c.kinds(), ["status", "execute_input", "stream", "execute_result", "status"],
             "a cell sends busy, its input, its output, its value, idle")
    tap.same((c.states(), c.value(), c.stream()), (["busy", "idle"], "42", "out\n"),
             "with the value of its last expression")
    n = c.reply["execution_count"]
    tap.same(c.of("execute_input")[0], {"code": "x = 6 * 7\nprint('out')\nx",
                                        "execution_count": n}, "its input is repeated")
    tap.same(K.run("x").reply["execution_count"], n + 1, "the count goes up by one")
    c = K.run("silent = 1\nprint('heard')\nsilent", silent=True)
    tap.same((c.kinds(), c.stream()), (["status", "stream", "status"], "heard\n"),
             "a silent cell has output, but no input and no value")
    tap.same(c.reply["execution_count"], n + 1, "and does not count")
    c = K.run("silent", store_history=False)
    tap.same((c.value(), c.reply["execution_count"]), ("1", n + 1),
             "a cell that is not kept has a value and does not count")
    tap.same(K.run("").reply["execution_count"], n + 1, "an empty cell does nothing")
    tap.same(K.run("  \n-- words\n").reply["status"], "ok", "nor does a comment")
    c = K.run("local hidden = 5\nlocal function f() return hidden end")
    tap.same(K.run("f()").value(), "5", "locals stay for later cells")
    tap.same(K.run("1, nil, 'x'").value(), '1\nnil\n"x"', "several values are all shown")
    c = K.run("table.unpack({}, 1, 100000)")
    tap.ok(c.reply["status"] in ("ok", "error") and K.alive(), "even very many")
    tap.same(K.run("return 3").value(), "3", "return works too")
    tap.same(K.run("_ * 2").value(), "6", "_ is the last value")


def expressions():
    c = K.run("y = 2", user_expressions={"a": "y + 1", "b": "nope.x", "c": "= =", "d": "y = 9"})
    e = c.reply["user_expressions"]
    tap.same(e["a"], {"status": "ok", "data": {"text/plain": "3"}, "metadata": {}},
             "a user expression has its value")
    tap.same([e["b"]["status"], e["c"]["status"], e["c"]["ename"]],
             ["error", "error", "SyntaxError"], "or its own error")
    tap.ok("traceback" in e["b"] and "evalue" in e["b"], "which is whole", e["b"])
    tap.same(c.reply["status"], "ok", "and the cell is fine all the same")
    tap.same(K.run("error('x')", user_expressions={"a": "1"}).reply["user_expressions"], {},
             "after an error none is evaluated")


def failures():
    c = K.run("local function g()\n  error('boom')\nend\ng()")
    e = c.of("error")[0]
    tap.same((e["ename"], c.reply["ename"], c.reply["status"]), ("Error", "Error", "error"),
             "an error is on iopub and in the reply")
    text = "\n".join(e["traceback"])
    tap.has(text, "error('boom')", "its traceback quotes the cell's line")
    tap.has(text, "In[", "and names the cell")
    K.run("function later(x)\n  return x.y.z\nend")
    text = "\n".join(K.run("later({})").reply["traceback"])
    tap.has(text, "return x.y.z", "a line of an earlier cell is quoted too")
    c = K.run("torch.ones(2):matmul(torch.ones(3))")
    tap.same((c.kinds()[2:], c.reply["ename"]), (["error", "display_data", "status"],
             "RuntimeError"), "what dlrepl adds to an error follows it")
    tap.has(c.of("display_data")[0]["data"].get("text/html", ""), "<details>", "folded")
    tap.has("\n".join(c.reply["traceback"]), "torch.float32 [2]", "and is in the reply")
    c = K.run("error({1, 2})")
    tap.same(c.reply["status"], "error", "an error may be any value")
    c = K.run("setmetatable({}, {__tostring = function() error('in text') end})")
    tap.same((c.reply["status"], c.kinds().count("status")), ("error", 2),
             "a text that fails is one error and one reply")
    tap.same(K.run("local function f() return f() + 1 end f()").reply["status"], "error",
             "endless recursion is an error")
    c = K.run("local t = torch.no_grad()")
    tap.has(c.stream("stderr"), "has been restored", "a mode left on is told on stderr")
    tap.same(K.run("os.exit(3)").reply["ename"], "RuntimeError", "os.exit is refused")


def aborting():
    def burst(codes, **options):
        ids = [K.client.execute(c, allow_stdin=False, **options) for c in codes]
        return [K.collect(i) for i in ids]
    got = burst(["a = 1", "error('stop')", "a = 2", "a = 3"])
    tap.same([c.reply["status"] for c in got], ["ok", "error", "aborted", "aborted"],
             "cells behind an error are aborted")
    tap.same(got[2].kinds(), ["status", "status"], "between busy and idle, without input")
    tap.same(K.run("a").value(), "1", "they did not run")
    got = burst(["error('go on')", "a = 4"], stop_on_error=False)
    tap.same([c.reply["status"] for c in got], ["error", "ok"], "unless stop_on_error is false")
    for _ in range(5):
        K.run("error('x')")
        if K.run("a = 5").reply["status"] != "ok":
            return tap.ok(False, "a cell sent after the error's reply runs")
    tap.ok(True, "a cell sent after the error's reply runs")
    K.client.execute("error('x')", allow_stdin=False)
    i = K.client.kernel_info()
    K.client.get_shell_msg(timeout=5)
    tap.same(K.collect(i).reply["status"], "ok", "other requests are answered after an error")


# ---- output ------------------------------------------------------------------------------------
def streams():
    c = K.run("print('1') io.stderr:write('2\\n') print('3') io.write('4\\n') "
              "os.execute('echo 5; echo 6 >&2') print('7') "
              "local p = io.popen('echo 8; echo 9 >&2') io.write(p:read('a')) p:close()")
    text = [(s["name"], s["text"]) for s in c.of("stream")]
    joined = "".join(t for _, t in text)
    tap.ok(joined in ("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n9\n8\n"),
           "output of print, io and child processes is in order", text)
    tap.same("".join(t for n, t in text if n == "stderr").split(), ["2", "6", "9"],
             "each on its own stream")
    c = K.run("io.write('no line end')")
    tap.same(c.stream(), "no line end", "the last line needs no end")
    c = K.run("dlrepl.display(1) print('between') dlrepl.display(2)\n3")
    tap.same(c.kinds()[2:-1], ["display_data", "stream", "display_data", "execute_result"],
             "displays and prints are in order")
    c = K.run("for i = 1, 3 do io.write(i, ' ') io.flush() end")
    tap.same(c.stream(), "1 2 3 ", "small pieces come whole")
    mid = K.client.execute("print('early') while not stop do dlrepl._poll = 1 end")
    began = time.time()
    K.wait_output("early")
    tap.ok(time.time() - began < 2, "output comes while the cell runs")
    K.signal()
    K.collect(mid)


def displays():
    c = K.run("dlrepl.kernel.display({['text/plain'] = 'p', ['text/html'] = '<b>p</b>'}, "
              "{isolated = true}, 'one')")
    d = c.of("display_data")[0]
    tap.same(d, {"data": {"text/plain": "p", "text/html": "<b>p</b>"},
                 "metadata": {"isolated": True}, "transient": {"display_id": "one"}},
             "a display has data, metadata and its id")
    c = K.run("dlrepl.kernel.display({['text/plain'] = 'q'}, nil, 'one', true)")
    tap.same(c.of("update_display_data")[0]["transient"], {"display_id": "one"},
             "an update has the id")
    c = K.run("dlrepl.kernel.display({['text/plain'] = 'q'})")
    tap.same((c.of("display_data")[0]["metadata"], c.of("display_data")[0]["transient"]),
             ({}, {}), "without an id both are empty objects")
    c = K.run("dlrepl.kernel.display({['application/json'] = {a = {1, 2}, b = 0/0}, "
              "['application/vnd.vegalite.v5+json'] = '{\"mark\": \"bar\"}'})")
    d = c.of("display_data")[0]["data"]
    tap.same(d["application/json"], {"a": [1, 2], "b": None}, "tables become JSON")
    tap.same(d["application/vnd.vegalite.v5+json"], {"mark": "bar"}, "JSON text stays JSON")
    tap.same(K.run("dlrepl.kernel.display({['no type'] = 1})").reply["status"], "error",
             "what is no MIME type is an error")
    tap.same(K.run("dlrepl.kernel.display({}, nil, nil, true)").reply["status"], "error",
             "an update without an id is an error")
    tap.same(K.run("local t = {} t[1] = t dlrepl.kernel.display({['application/json'] = t})")
             .reply["status"], "error", "a table within itself is an error")
    c = K.run("os.setlocale('de_DE.UTF-8') dlrepl.kernel.display({['application/json'] = {0.5}}) "
              "os.setlocale('C')")
    tap.same(c.of("display_data")[0]["data"], {"application/json": [0.5]}, "in any locale")
    c = K.run("print(1) dlrepl.kernel.clear_output(true) dlrepl.kernel.clear_output()")
    tap.same(c.of("clear_output"), [{"wait": True}, {"wait": False}], "clear_output has its wait")
    c = K.run("?torch.ones")
    tap.has(c.stream(), "torch.ones", "help is output where a program runs the cell")
    c = K.run("?torch.ones", allow_stdin=True)
    tap.same((c.reply["payload"][0]["source"], c.kinds().count("stream")), ("page", 0),
             "help is a page where a person does")
    K.run("'to be edited'", allow_stdin=True)
    c = K.run("%load_history 1")
    tap.same(c.reply["payload"][0]["source"], "set_next_input", "%load_history fills a new cell")
    c = K.run("%time 1 + 1")
    tap.ok(c.value() == "2" and "Wall time" in c.stream(), "%time runs a cell", c.messages)
    c = K.collect(K.client.session.send(K.client.shell_channel.socket, "execute_request", dict(
        code="dlrepl.kernel.metadata().cellId", silent=False, allow_stdin=False),
        metadata={"cellId": "c1"})["header"]["msg_id"])
    tap.same(c.value(), '"c1"', "a cell can read its request's metadata")


# ---- questions -----------------------------------------------------------------------------------
def questions():
    c = K.ask("complete_request", code="torch.manual_se", cursor_pos=15).reply
    tap.same((c["matches"], c["cursor_start"], c["cursor_end"]), (["manual_seed"], 6, 15),
             "completion replaces the unfinished word")
    kinds = c["metadata"]["_jupyter_types_experimental"]
    tap.same((kinds[0]["type"], kinds[0]["start"], kinds[0]["end"]), ("function", 6, 15),
             "and tells the kind")
    tap.has(kinds[0].get("signature", ""), "seed", "and the signature")
    c = K.ask("complete_request", code="%ti", cursor_pos=3).reply
    tap.same(c["matches"], ["%time", "%timeit"], "commands complete")
    K.run("model = nn.Linear(2, 3)")
    c = K.ask("complete_request", code="model.wei", cursor_pos=9).reply
    tap.same(c["matches"], ["weight"], "so do the fields of a value")
    r = K.ask("inspect_request", code="torch.sum(", cursor_pos=10, detail_level=0).reply
    more = K.ask("inspect_request", code="torch.sum(", cursor_pos=10, detail_level=1).reply
    tap.ok(r["found"] and len(more["data"]["text/plain"]) > len(r["data"]["text/plain"]),
           "inspection has a short and a long form", r, more)
    r = K.ask("inspect_request", code="no_such_thing", cursor_pos=5).reply
    tap.same((r["status"], r["found"], r["data"]), ("ok", False, {}), "or nothing")
    for code, status, indent in (("for i = 1, 3 do", "incomplete", "  "),
                                 ("for i = 1, 3 do\n  if x then", "incomplete", "    "),
                                 ("f({", "incomplete", "    "), ("x = 1", "complete", None),
                                 ("[[", "incomplete", ""), ("--[[", "incomplete", ""),
                                 ("x = =", "invalid", None), ("if x then y() else", "incomplete",
                                                              "  ")):
        r = K.ask("is_complete_request", code=code).reply
        tap.same((r["status"], r.get("indent")), (status, indent), f"{code!r} is {status}")
    tap.same(K.ask("connect_request", reply=False).states(), ["busy", "idle"],
             "a request that is not known has busy and idle and no reply")
    r = K.ask("kernel_info_request").reply
    tap.same((r["protocol_version"], r["language_info"]["name"], r["language_info"]["version"][:3],
              r["supported_features"]), ("5.5", "lua", "5.4", []), "kernel_info is protocol 5.5's")


def history():
    K.run("'needle one'")
    K.run("'needle two'")
    n = K.run("'needle one'").reply["execution_count"]
    h = K.ask("history_request", hist_access_type="range", session=0, start=n - 2, stop=n,
              raw=True, output=True).reply["history"]
    tap.same([e[1:] for e in h], [[n - 2, ["'needle one'", '"needle one"']],
                                  [n - 1, ["'needle two'", '"needle two"']]],
             "a range of the history has inputs and outputs, without its stop")
    h = K.ask("history_request", hist_access_type="search", pattern="*needle*", raw=True,
              output=False, unique=True).reply["history"]
    tap.same([e[2] for e in h], ["'needle two'", "'needle one'"], "a search may be unique")
    K.run("'typed by hand'", allow_stdin=True)
    K.run("'run by a program'")
    with open(TMP + "/data/dlrepl/history") as f:
        kept = f.read()
    tap.ok("typed by hand" in kept and "run by a program" not in kept,
           "what a person typed outlives the session, what a program ran does not", kept[-300:])
    h = K.ask("history_request", hist_access_type="search", pattern="*by *", raw=True,
              output=False).reply["history"]
    tap.same([e[2] for e in h], ["'typed by hand'", "'run by a program'"],
             "both are in the history of this one")
    K.run("'needle two'")
    K.run("'needle one'")
    h = K.ask("history_request", hist_access_type="tail", n=2, raw=True, output=False).reply
    tap.same([e[2] for e in h["history"]], ["'needle two'", "'needle one'"],
             "the tail is the last ones, oldest first")


# ---- standard input ------------------------------------------------------------------------------
def answering(code, *answers, timeout=20):
    """Run it and answer each question; the cell, and the questions."""
    mid, asked = K.client.execute(code, allow_stdin=True), []
    for a in answers:
        m = K.client.get_stdin_msg(timeout=timeout)
        asked.append(m["content"])
        K.client.input(a)
    return K.collect(mid, timeout), asked


def stdin():
    c, asked = answering("io.write('name? ') name = io.read()\nname", "Ada")
    tap.same((c.value(), asked), ('"Ada"', [{"prompt": "", "password": False}]),
             "io.read asks the client")
    tap.same(c.kinds()[2:4], ["stream", "execute_result"], "after what was printed")
    c, asked = answering("input('how? ')", "well")
    tap.same((c.value(), asked[0]["prompt"]), ('"well"', "how? "), "so does input, with its prompt")
    c, asked = answering("dlrepl.kernel.input('age? ', true)", "36")
    tap.same((c.value(), asked), ('"36"', [{"prompt": "age? ", "password": True}]),
             "what is typed may be hidden")
    c, _ = answering("io.read('n', 'l', 'L')", "12 rest", "line")
    tap.same(c.value(), '12\n" rest"\n"line\\n"', "io.read takes its formats")
    c, _ = answering("local t = {} for l in io.lines() do t[#t + 1] = l end\ntable.concat(t, ',')",
                     "a", "b", "\x04")
    tap.same(c.value(), '"a,b"', "io.lines ends where the client ends the input")
    c, _ = answering("io.stdin:read('l')", "again")
    tap.same(c.value(), '"again"', "io.stdin reads, after the end of a former input too")
    for code in ("io.read()", "for l in io.lines() do end", "io.stdin:read('n')",
                 "for l in io.stdin:lines() do end", "input('x')"):
        c = K.run(code)
        tap.has(c.reply.get("evalue", ""), "no way to ask", f"{code} without a client is refused")
    tap.same(K.run("(pcall(io.read))").value(), "false", "which a program can catch")
    mid = K.client.execute("io.read()", allow_stdin=True)
    K.client.get_stdin_msg(timeout=10)
    K.ask("interrupt_request", channel="control")
    tap.same(K.collect(mid).reply["ename"], "KeyboardInterrupt", "a wait can be interrupted")
    K.client.input("too late")
    c, _ = answering("io.read()", "in time")
    tap.same(c.value(), '"in time"', "an answer that comes too late is not taken for the next")


# ---- comms ---------------------------------------------------------------------------------------
def comms():
    c = K.ask("comm_open", reply=False, comm_id="u1", target_name="unknown", data={})
    tap.same(c.of("comm_close"), [{"comm_id": "u1", "data": {}}], "an unknown target is closed")
    K.run("""got = {}
dlrepl.kernel.register_target('echo', function(comm, data)
  got.open = data.a
  comm.on_msg = function(c, d) c:send({back = d.n + 1}) end
  comm.on_close = function(c, d) got.closed = true end
end)""")
    c = K.ask("comm_open", reply=False, comm_id="e1", target_name="echo", data={"a": 7})
    tap.same(c.of("comm_close"), [], "a known one stays open")
    c = K.ask("comm_msg", reply=False, comm_id="e1", data={"n": 1})
    tap.same(c.of("comm_msg"), [{"comm_id": "e1", "data": {"back": 2}}], "and answers")
    K.run("dlrepl.kernel.register_target('bytes', function(comm) "
          "comm.on_msg = function(c, d, b) c:send({n = #b}, {b[1]:reverse(), ''}) end end)")
    K.ask("comm_open", reply=False, comm_id="b1", target_name="bytes", data={})
    msg = K.client.session.msg("comm_msg", {"comm_id": "b1", "data": {}})
    K.client.session.send(K.client.shell_channel.socket, msg, buffers=[b"\0\xffab"])
    c = K.collect(msg["header"]["msg_id"], channel=None)
    got = [m for m in c.messages if m["msg_type"] == "comm_msg"][0]
    tap.same((got["content"]["data"], [bytes(b) for b in got["buffers"]]),
             ({"n": 1}, [b"ba\xff\0", b""]), "buffers travel with it, both ways")
    K.ask("comm_close", reply=False, comm_id="b1", data={})
    tap.same(K.ask("comm_info_request").reply["comms"], {"e1": {"target_name": "echo"}},
             "comm_info lists it")
    tap.same(K.ask("comm_info_request", target_name="no").reply["comms"], {}, "by target")
    K.ask("comm_close", reply=False, comm_id="e1", data={})
    tap.same(K.run("got.open, got.closed").value(), "7\ntrue", "handlers have run")
    tap.same(K.ask("comm_info_request").reply["comms"], {}, "a closed comm is gone")
    c = K.run("c = dlrepl.kernel.comm('front', {x = 1}) c:send({y = 2}) c:close()")
    tap.same([k for k in c.kinds() if k.startswith("comm")],
             ["comm_open", "comm_msg", "comm_close"], "the kernel can open one")
    tap.same(c.of("comm_open")[0]["target_name"], "front", "by target")
    tap.same(K.ask("comm_msg", reply=False, comm_id="gone", data={}).states(), ["busy", "idle"],
             "a message for no comm is passed over")


# ---- control and interrupts ----------------------------------------------------------------------
def control():
    mid = K.client.execute("while true do end")
    time.sleep(0.1)
    began = time.perf_counter()
    r = K.ask("kernel_info_request", channel="control").reply
    tap.ok(r["status"] == "ok" and time.perf_counter() - began < 1,
           "control answers kernel_info while a cell runs")
    tap.ok("kernel_memory" in K.ask("usage_request", channel="control").reply,
           "and tells what the process uses")
    c = K.ask("no_such_request", channel="control", reply=False)
    tap.same(c.states(), ["busy", "idle"], "what it does not know has busy and idle")
    tap.ok(K.client.hb_channel.is_beating(), "the heart beats")
    r = K.ask("interrupt_request", channel="control").reply
    tap.same((r, K.collect(mid).reply["ename"]), ({"status": "ok"}, "KeyboardInterrupt"),
             "interrupt_request stops the cell")


LOOPS = {
    "a loop": "while true do end",
    "a loop in a coroutine": "coroutine.wrap(function() while true do end end)()",
    "a loop of protected calls": "while true do pcall(function() while true do end end) end",
    "a sleep": "os.execute('sleep 30')",
    "a wait for input": "io.read()",
}


def interrupts():
    worst = {}
    for name, code in LOOPS.items():
        for how in ("message", "signal"):
            times = []
            for _ in range(5):
                mid = K.client.execute("keep = 1 " + code, allow_stdin=True)
                time.sleep(0.03)
                began = time.perf_counter()
                if how == "signal":
                    K.signal()
                else:
                    K.client.control_channel.send(K.client.session.msg("interrupt_request", {}))
                c = K.collect(mid)
                times.append(c.reply_at - began)
                if c.reply.get("ename") != "KeyboardInterrupt":
                    return tap.ok(False, f"{name} is interrupted by {how}", c.reply)
            quiet(K.client)
            worst[name, how] = statistics.median(times) * 1000
            tap.ok(True, f"{name} is interrupted by {how}")
            tap.say(f"median {worst[name, how]:.1f} ms")
    tap.ok(max(worst.values()) < 500, "all of them at once", worst)
    times = []
    K.run("big = torch.randn(%d, 1500)" % (100 if ASAN else 1500))
    for _ in range(5):
        mid = K.client.execute("while true do big:matmul(big.T) end")
        time.sleep(0.15)
        began = time.perf_counter()
        K.signal()
        times.append(K.collect(mid).reply_at - began)
    tap.ok(max(times) < (60 if ASAN else 2), "a long operation is interrupted", times)
    tap.say(f"at most {max(times) * 1000:.0f} ms")
    tap.same(K.run("keep").value(), "1", "what was before is still there")
    K.signal()
    K.ask("interrupt_request", channel="control")
    time.sleep(0.05)
    tap.same(K.run("1").value(), "1", "an interrupt of nothing changes nothing")
    mid = [K.client.execute(c) for c in ("while true do end", "never = 1")]
    time.sleep(0.1)
    K.signal()
    tap.same([K.collect(i).reply["status"] for i in mid], ["error", "aborted"],
             "cells behind an interrupted one are aborted")


# ---- start and end -------------------------------------------------------------------------------
def ends():
    k = Kernel(name="end")
    for restart in (False, True):
        began = time.time()
        c = k.ask("shutdown_request", channel="control", restart=restart)
        tap.same(c.reply, {"status": "ok", "restart": restart}, f"shutdown answers {restart}")
        tap.same(c.of("shutdown_reply"), [c.reply], "and tells all clients")
        tap.same(k.ended(5), 0, "the kernel ends with status 0")
        tap.say(f"after {time.time() - began:.3f} s")
        k.client.stop_channels()
        k = Kernel(file=k.file)
        tap.same(k.run("1").value(), "1", "another starts on the same ports")
    k.client.execute("while true do end")
    time.sleep(0.2)
    c = k.ask("shutdown_request", channel="control", restart=False)
    tap.same((c.reply["status"], k.ended(5)), ("ok", 0), "a busy kernel can be shut down")
    k.close()
    k = Kernel(name="old")
    c = k.ask("shutdown_request", restart=False)
    tap.same((c.reply["status"], k.ended(5)), ("ok", 0), "shutdown on shell is honoured")
    k.close()
    k = Kernel(name="ipc", transport="ipc")
    tap.same(k.run("1 + 1").value(), "2", "ipc works as tcp does")
    k.close()
    k = Kernel(name="nokey", key="")
    tap.same(k.run("1 + 1").value(), "2", "without a key nothing is signed")
    k.close()


def files():
    def start(path, *args):
        return subprocess.run([DLREPL, "kernel", *(args or ("-f", path))], capture_output=True,
                              text=True, timeout=10, stdin=subprocess.DEVNULL)
    for name, text in (("empty", ""), ("list", "[]"), ("noports", "{}"), ("bad", "{,"),
                       ("scheme", '{"signature_scheme": "hmac-md5"}'),
                       ("port", '{"shell_port": "x"}'), ("transport", '{"transport": "udp"}')):
        path = f"{TMP}/{name}.json"
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, 0o600)
        p = start(path)
        tap.ok(p.returncode == 2 and len(p.stderr.splitlines()) == 1 and path in p.stderr,
               f"a connection file that is {name} is refused in one line", p.stderr, p.returncode)
    tap.same(start(TMP + "/none").returncode, 2, "so is one that is not there")
    path, info = connection(name="open")
    os.chmod(path, 0o644)
    k = Kernel(file=path, log=TMP + "/openlog")
    tap.has(k.logged(), "others can read", "a file that others can read is warned of")
    k2 = start(path)
    tap.ok(k2.returncode == 2 and "listen" in k2.stderr, "a port in use is told in one line",
           k2.stderr)
    k.close()
    if os.getuid() == 0:
        os.chown(path, 12345, 12345)
        p = start(path)
        tap.ok(p.returncode == 2 and "another user" in p.stderr, "another user's is refused",
               p.stderr)
    else:
        tap.skip("another user's is refused", "needs root, to make such a file")
    for args in ((), ("-f",), ("nonsense",), ("install", "--nonsense"), ("list", "x")):
        tap.same(start("", *(args or ("--",))).returncode, 2, f"kernel {' '.join(args)} is refused")
    env = dict(os.environ, JUPYTER_DATA_DIR=TMP + "/data-dir")

    def spec(*args):
        return subprocess.run([DLREPL, "kernel", *args], capture_output=True, text=True, env=env)
    spec("install")
    folder = TMP + "/data-dir/kernels/dlrepl"
    with open(folder + "/kernel.json") as f:
        argv = json.load(f)["argv"]
    tap.same(argv[1:], ["kernel", "-f", "{connection_file}"], "install writes a kernelspec")
    tap.same(sorted(os.listdir(folder)), ["kernel.json", "logo-32x32.png", "logo-64x64.png",
                                          "logo-svg.svg"], "with its pictures")
    tap.has(spec("list").stdout, folder, "list tells where")
    doctor = subprocess.run([DLREPL, "doctor"], capture_output=True, text=True, env=env).stdout
    tap.has("".join(doctor.split()), folder, "so does dlrepl doctor")
    tap.same((spec("uninstall").returncode, os.path.exists(folder)), (0, False),
             "uninstall removes it")
    tap.same(spec("uninstall").returncode, 1, "once")
    spec("install", "--prefix", TMP + "/pre", "--name", "mine")
    env["JUPYTER_PATH"] = TMP + "/pre/share/jupyter"
    tap.has(spec("list").stdout, "kernels/mine", "list finds it under any name")
    tap.ok(os.path.exists(TMP + "/pre/share/jupyter/kernels/mine/kernel.json"),
           "it can be installed elsewhere, under another name")


def curve():
    import zmq
    from zmq.auth import create_certificates  # noqa: F401 (tells whether CURVE is there)
    if not zmq.has("curve"):
        return tap.skip("encrypted connections work", "this libzmq has no CURVE")
    public, secret = (k.decode() for k in zmq.curve_keypair())
    k = Kernel(name="curve", curve_publickey=public, curve_secretkey=secret)
    tap.same(k.run("1 + 1").value(), "2", "encrypted connections work")
    k.close()


if __name__ == "__main__":
    K = Kernel()
    for part in (cells, expressions, failures, aborting, streams, displays, questions, history,
                 stdin, comms, control, interrupts):
        tap.section(part)
        if not K.alive():
            tap.ok(False, f"the kernel lives after {part.__name__}", K.logged())
            K = Kernel()
        quiet(K.client, 0.02)
    K.close()
    for part in (ends, files, curve):
        tap.section(part)
    tap.done()
