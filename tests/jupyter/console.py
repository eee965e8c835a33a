"""console.py -- jupyter console on a terminal: lines, blocks, errors, Tab, Ctrl-C, input, leaving

The terminal is a pseudo-terminal; keys are sent as a person types them. Only texts are looked for:
how the console draws them is its own affair.
"""
import os
import re
import time

import pexpect

import place
import tap

PATIENCE = 30
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07|\x1b[=>]")


class Console:
    def __init__(self):
        env = dict(os.environ, TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1", COLUMNS="100", LINES="40",
                   PYTHONWARNINGS="ignore")
        self.child = pexpect.spawn(place.program("jupyter-console"), ["--kernel", "dlrepl"],
                                   env=env, dimensions=(40, 100), encoding="utf-8",
                                   codec_errors="replace", timeout=PATIENCE)
        self.seen = ""
        self.prompts = 0

    def read(self):
        try:
            self.seen += CODES.sub("", self.child.read_nonblocking(65536, 0.1))
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            return False
        return True

    def wait(self, pattern, seconds=PATIENCE):
        """What came up to the end of the pattern, which is dropped; None if it did not come."""
        stop = time.time() + seconds
        while True:
            m = re.search(pattern, self.seen)
            if m:
                before, self.seen = self.seen[:m.end()], self.seen[m.end():]
                return before
            if time.time() > stop or not self.read():
                tap.say(f"waited for {pattern!r}, have {self.seen[-2000:]!r}")
                return None

    def line(self, text, pattern):
        """Type a line; what came up to the pattern, or None."""
        self.seen = ""
        self.child.send(text + "\r")
        return self.wait(pattern)


def main():
    c = Console()
    tap.ok(c.wait(r"In \[1\]:"), "the console starts with our kernel")
    tap.ok(c.line("1 + 1", r"Out\[1\]: 2\b"), "a value is shown")
    tap.ok(c.wait(r"In \[2\]:"), "the next prompt comes")
    tap.ok(c.line("x = torch.ones(2)", r"In \[3\]:"), "a statement runs")
    got = c.line("x", r"In \[4\]:")
    tap.has(got or "", "tensor([1., 1.])", "a tensor is text")
    tap.ok("<table" not in (got or ""), "and no HTML")
    c.child.send("for i = 1, 3 do\r")
    time.sleep(0.5)
    c.child.send("print('line ' .. i)\r")
    time.sleep(0.5)
    got = c.line("end", r"In \[5\]:")
    tap.ok(got and "line 3" in got, "a block is continued until it is whole", got)
    got = c.line("torch.ones(2, 3):matmul(x:view(1, 2))", r"In \[6\]:")
    tap.has(got or "", "RuntimeError", "an error has its class")
    got = c.line("x = = 1", r"In \[7\]:")
    tap.has(got or "", "unexpected symbol", "a line that is no Lua says why")
    c.seen = ""
    c.child.send("torch.zer\t")
    tap.ok(c.wait(r"zeros"), "Tab completes")
    c.child.send("\x03") # the line is dropped
    time.sleep(0.5)
    c.read()
    stop(c)
    got = c.line("name = io.read()", r"name = io\.read\(\)[\s\S]*\n")
    time.sleep(0.5)
    c.child.send("Ada\r")
    tap.ok(c.wait(r"In \[\d+\]:"), "io.read() asks")
    got = c.line("name", r"Out\[\d+\]: \"Ada\"")
    tap.ok(got, "and gets what was typed")
    leave(c)
    tap.done()


def stop(c):
    c.line("while true do end", r"while true do end")
    time.sleep(1)
    began = time.time()
    c.child.send("\x03")
    tap.ok(c.wait("KeyboardInterrupt"), "Ctrl-C stops a loop")
    tap.ok(time.time() - began < 10, "at once")
    c.wait(r"In \[\d+\]:")
    got = c.line("x:sum()", r"Out\[\d+\]: tensor\(2\.\)")
    tap.ok(got, "and the session is kept")
    c.wait(r"In \[\d+\]:")


def leave(c):
    c.wait(r"In \[\d+\]:")
    c.child.send("\x04")
    stop = time.time() + PATIENCE
    while c.read() and c.child.isalive() and time.time() < stop:
        if "exit" in c.seen and "y" in c.seen and not getattr(c, "told", False):
            c.told = True
            c.child.send("y\r")
    c.child.close()
    tap.ok(not c.child.isalive(), "Ctrl-D leaves")


main()
