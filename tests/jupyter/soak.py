"""soak.py -- many cells, many interrupts, and memory that stays flat

1,000 cells and 100 interrupts, with FULL=1 ten times as many.
"""
import os
import time

import tap
from client import Kernel, quiet

FULL = bool(os.environ.get("FULL"))
CELLS, INTERRUPTS = (10000, 1000) if FULL else (1000, 100)
KINDS = (
    "n = (n or 0) + 1 n",
    "print('line ' .. n)",
    "x = torch.randn(50, 50) x:matmul(x)",
    "local t = {} for i = 1, 100 do t[i] = {i} end\nt",
    "w = torch.randn(10, {requires_grad = true}); (w * w):sum():backward()\nw.grad",
    "error('wrong')",
    "x = = 1",
    "dlrepl.kernel.display({['text/plain'] = 'shown'}, nil, 'id')",
    "function f(a) local b = a * 2 return function() return b end end f(3)()",
    "?torch.sum",
)
LOOPS = ("while true do end", "while true do pcall(error) end",
         "coroutine.wrap(function() while true do end end)()",
         "collectgarbage() local m = torch.randn(300, 300) while true do m:matmul(m) end")


def cells(k, n):
    wrong = 0
    for i in range(n):
        c = k.run(KINDS[i % len(KINDS)])
        wanted = "error" if i % len(KINDS) in (5, 6) else "ok"
        wrong += c.reply["status"] != wanted or c.states() != ["busy", "idle"]
        if i % 50 == 0:
            k.ask("complete_request", code="torch.ma", cursor_pos=8)
    return wrong


def interrupts(k, n):
    wrong = 0
    for i in range(n):
        mid = k.client.execute(LOOPS[i % len(LOOPS)], allow_stdin=False)
        while k.client.get_iopub_msg(timeout=10)["msg_type"] != "execute_input":
            pass
        time.sleep(0.002 * (i % 5))
        if i % 2:
            k.signal()
        else:
            k.client.control_channel.send(k.client.session.msg("interrupt_request", {}))
        reply = None
        while reply is None or reply["parent_header"].get("msg_id") != mid:
            try:
                reply = k.client.get_shell_msg(timeout=2)
            except Exception:  # the interrupt came before the loop was begun: once more
                k.signal()
        wrong += reply["content"].get("ename") != "KeyboardInterrupt"
        quiet(k.client, 0.004)
    return wrong


if __name__ == "__main__":
    k = Kernel(name="soak")
    cells(k, 300)
    interrupts(k, 24)
    k.run("collectgarbage()")
    before = k.memory()
    began = time.time()
    tap.same(cells(k, CELLS), 0, f"{CELLS} cells end as they should")
    tap.say(f"{time.time() - began:.1f} s")
    began = time.time()
    tap.same(interrupts(k, INTERRUPTS), 0, f"{INTERRUPTS} interrupts stop what runs")
    tap.say(f"{time.time() - began:.1f} s")
    k.run("collectgarbage()")
    grown = (k.memory() - before) / (1 << 20)
    tap.ok(grown < 5, "memory is flat within 5 MB", f"{grown:.2f} MiB more")
    tap.say(f"{before / (1 << 20):.1f} MiB, then {grown:+.2f}")
    tap.same(k.run("n and n > 100").value(), "true", "the session is the same")
    k.close()
    tap.done()
