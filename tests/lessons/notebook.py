"""notebook.py -- a lesson as a notebook: exported, run by nbclient, asked through a client

The same answers are given at the prompt, in a notebook and in a folder: one verdict each.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../jupyter"))
import tap  # noqa: E402

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
DLREPL = os.environ.get("DLREPL", TOP + "/dlrepl")
TMP = tempfile.mkdtemp()
os.environ["JUPYTER_PATH"] = TMP + "/share/jupyter"
os.environ["XDG_DATA_HOME"] = TMP + "/data"
os.environ["NO_COLOR"] = "1"
MEAN = TOP + "/tests/lessons/fixtures/01_mean.lua"
RESULT = "application/vnd.dlrepl.result+json"
subprocess.run([DLREPL, "kernel", "install", "--prefix", TMP], check=True,
               stdout=subprocess.DEVNULL)

import nbformat  # noqa: E402 (they read JUPYTER_PATH)
from jupyter_client.manager import start_new_kernel  # noqa: E402
from nbclient import NotebookClient  # noqa: E402


def export(lesson):
    run = subprocess.run([DLREPL, "export", "--ipynb", lesson, TMP], capture_output=True,
                         text=True)
    assert run.stdout, run.stderr
    tap.same(run.returncode, 0, f"{os.path.basename(lesson)} is exported")
    return nbformat.read(run.stdout.strip(), as_version=4)


def execute(nb):
    NotebookClient(nb, timeout=60, kernel_name="dlrepl", allow_errors=False).execute()
    return nb


def text_of(cell):
    parts = []
    for out in cell.get("outputs", []):
        parts.append(out.get("text", "") or out.get("data", {}).get("text/plain", ""))
    return "\n".join(parts)


def code_cells(nb):
    return [c for c in nb.cells if c.cell_type == "code"]


def cell_of(nb, step):
    for c in code_cells(nb):
        if re.match(r":(?:check|answer|lesson \S+) " + step + r"\b", c.source):
            return c


RIGHT = {"guess": ":answer guess 3.0", "do": ":check do\nfunction mean(x) return x:mean() end",
         "fix": ":check fix\nfunction spread(x) return x:max() - x:min() end",
         "one": ":answer one b", "many": ":answer many a c", "order": ":answer order c b a",
         "number": ":answer number 4000", "match": ":answer match 1a 2b",
         "say": ":answer say\na long list has a larger sum\nbut no larger mean"}


def as_exported():
    nb = export(MEAN)
    nbformat.validate(nb)
    text = json.dumps(nb)
    tap.ok("x:sum() / x:numel()" not in text.split("Which are means?")[0],
           "the notebook holds no answer")
    execute(nb)
    tap.ok(True, "it runs from top to bottom with nothing filled in, and nobody to ask")
    tap.has(text_of(cell_of(nb, "see")), "tensor(9.)", "a demonstration shows its values")
    tap.has(text_of(cell_of(nb, "one")), ":answer one", "a question says how to answer it")
    tap.has(text_of(cell_of(nb, "fix")), "This is the starter as it was", "a starter is no answer")


def filled_in():
    nb = export(MEAN)
    for step, code in RIGHT.items():
        cell_of(nb, step).source = code
    execute(nb)
    for step in RIGHT:
        word = "[KEPT]" if step == "say" else "[PASS]"
        tap.has(text_of(cell_of(nb, step)), word, f"{step} passes in its cell")
    shown = [o for o in cell_of(nb, "do").outputs if o.output_type == "display_data"]
    tap.ok(shown and {"text/plain", "text/html", RESULT} <= set(shown[0].data),
           "a verdict is text, HTML and data", shown)
    tap.same(shown and shown[0].data[RESULT].get("verdict"), "PASS", "the data says so too")
    tap.has(text_of(code_cells(nb)[-1]), "4  do  task: passed".replace("  ", " "),
            "the last cell looks back")


def out_of_order():
    nb = export(MEAN)
    cells = [c for c in code_cells(nb) if not c.source.startswith(":review")]
    first, rest = cells[0], cells[1:]
    for step, code in RIGHT.items():
        cell_of(nb, step).source = code
    nb.cells = [first] + rest[::-1] + rest
    execute(nb)
    tap.has(text_of(cell_of(nb, "do")), "[PASS]", "cells in another order, and twice, pass too")


def html_is_safe():
    nb = export(MEAN)
    cell_of(nb, "do").source = ":check do\nfunction mean(x) error('<b>&') end"
    execute(nb)
    shown = [o for o in cell_of(nb, "do").outputs if o.output_type == "display_data"]
    tap.has(shown[0].data["text/html"], "&lt;b&gt;&amp;", "what an answer says is no HTML")


def asked():
    """A question asked through the client, as a notebook in a browser would."""
    km, kc = start_new_kernel(kernel_name="dlrepl")
    said = []

    def run(code, reply=None):
        asked_for = []

        def on_input(msg):
            asked_for.append(msg["content"]["prompt"])
            kc.input(reply)

        said.clear()
        kc.execute_interactive(code, timeout=60, allow_stdin=reply is not None,
                               stdin_hook=on_input, output_hook=lambda m: said.append(
                                   m["content"].get("text", "")))
        return asked_for

    run(":lesson " + MEAN)
    tap.same(run(":answer one", "b"), ["Your answer: "], "a question is asked through the client")
    tap.has("".join(said), "[PASS] right", "... and its reply is the answer")
    tap.same(run(":answer guess", "9"), ["Your answer: "], "a prediction too")
    tap.has("".join(said), "[FAIL] you said 9", "... and marked")
    kc.stop_channels()
    km.shutdown_kernel(now=True)


def first_verdict(text):
    word, head = re.search(r"\[(PASS|FAIL|NOTE)\] ([^\n(]*)", text).groups()
    return word + " " + head.strip()


def three_ways():
    """The same answer, the same verdict: prompt, notebook, folder."""
    answers = ["function mean(x) return x:mean() end", "function mean(x) return x:sum() end",
               "function mean(x) end", "while true do end", "function mean(x) return 0/0 end",
               "local function mean(x) x:mul_(0) return 3 end", "io.open('x')", "-- mean"]
    nb = export(MEAN)
    first = code_cells(nb)[0]
    nb.cells = [first] + [nbformat.v4.new_code_cell(":check do\n" + a) for a in answers]
    os.environ["XDG_DATA_HOME"] = TMP + "/ways"
    first.source = ":lesson " + MEAN + " seed=7"
    execute(nb)
    for cell, answer in zip(nb.cells[1:], answers):
        folder = tempfile.mkdtemp(dir=TMP)
        open(folder + "/do.lua", "w").write(answer)
        out = subprocess.run([DLREPL, "play", MEAN, "--answers", folder, "--seed", "7"],
                             capture_output=True, text=True).stdout
        batch = re.search(r"X01 do\n(?:  (?=FAIL|NOTE)[^\n]*)?", out).group(0)
        batch = "PASS Write it" if "FAIL" not in batch and "NOTE" not in batch else \
            first_verdict(re.sub(r"(FAIL|NOTE) +", r"[\1] ", batch))
        tap.same(first_verdict(text_of(cell)), batch, f"notebook and folder agree on: {answer}")
        env = dict(os.environ, XDG_DATA_HOME=folder)
        typed = f":answer 3\n:watch {folder}/do.lua\n"
        run = subprocess.Popen([DLREPL, "learn", MEAN, "--seed", "7"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=env)
        run.stdin.write(typed)
        run.stdin.close()
        watched, text = False, ""
        for line in run.stdout:
            watched = watched or line.startswith("Watching")
            if watched and re.match(r"\[(PASS|FAIL|NOTE)\]", line):
                text = line
                break
        run.kill()
        run.wait()
        tap.same(first_verdict(text), batch, "... and so does the prompt")


def the_lessons():
    """L10, L22 and L26, each as a notebook with the right answers in its cells."""
    for name in ("L10", "L22", "L26"):
        os.environ["XDG_DATA_HOME"] = TMP + "/" + name
        out = subprocess.run([DLREPL, TOP + "/tests/lessons/right.lua", name],
                             capture_output=True, text=True).stdout
        nb = export(name)
        steps = json.loads(out)["steps"]
        for step in steps:
            text = step.get("code") or step["answer"]
            word = ":check " if "code" in step else ":answer "
            cell_of(nb, step["id"]).source = word + step["id"] + "\n" + text
        execute(nb)
        said = {s["id"]: text_of(cell_of(nb, s["id"])) for s in steps}
        bad = {k: v for k, v in said.items() if "[PASS]" not in v and "[KEPT]" not in v}
        tap.ok(not bad, f"{name} passes as a notebook, all {len(said)} answers", bad)


for part in (the_lessons, as_exported, filled_in, out_of_order, html_is_safe, asked, three_ways):
    tap.section(part)
tap.done()
