"""notebook.py -- the tour through nbconvert, and cells of our own through nbclient

What is asked: the notebooks are valid, every cell runs, and what it shows is what a front end can
draw: HTML and SVG that parse, PNG with the right size, Vega-Lite that is JSON.
"""
import base64
import glob
import json
import os
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

import place
import tap
from place import TMP, TOP, TOUR

VEGA = "application/vnd.vegalite.v5+json"
VOID = {"img", "br", "hr", "input"}


class Checker(HTMLParser):
    """Are opened elements closed, in order?"""

    def __init__(self, text):
        super().__init__()
        self.open, self.fine, self.seen = [], True, set()
        self.feed(text)
        self.close()
        self.fine = self.fine and not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.fine = self.fine and bool(self.open) and self.open.pop() == tag


def png_size(text):
    data = base64.b64decode(text, validate=True)
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        return None
    return struct.unpack(">II", data[16:24])


def shown(nb):
    """Every bundle of the notebook's outputs."""
    return [o.data for c in nb.cells for o in c.get("outputs", []) if "data" in o]


def the_files():
    for path in sorted(glob.glob(os.path.join(TOP, "jupyter", "notebooks", "*.ipynb"))):
        name = os.path.basename(path)
        try:
            nbformat.validate(nbformat.read(path, 4))
            tap.ok(True, f"{name} is a valid notebook")
        except Exception as e:
            tap.ok(False, f"{name} is a valid notebook", e)


def the_tour():
    status, _, err = place.run(place.program("jupyter-nbconvert"), "--to", "notebook", "--execute",
                               "--output-dir", TMP, TOUR)
    if not tap.same(status, 0, "nbconvert --execute runs the tour"):
        return tap.say(err)
    nb = nbformat.read(os.path.join(TMP, "tour.ipynb"), 4)
    nbformat.validate(nb)
    code = [c for c in nb.cells if c.cell_type == "code"]
    tap.same([c.execution_count for c in code], list(range(1, len(code) + 1)),
             "every cell ran once, in order")
    kinds = [o.output_type for c in code for o in c.outputs]
    tap.ok("error" not in kinds, "no cell failed", kinds)
    streams = "".join(o.text for c in code for o in c.outputs if o.output_type == "stream")
    tap.has(streams, "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
            "the caught error is PyTorch's")
    tap.ok(not [o for c in code for o in c.outputs if o.get("name") == "stderr"],
           "nothing was said on standard error")
    data = shown(nb)
    plain = [d["text/plain"] for d in data]
    tap.ok(all("text/plain" in d for d in data), "every display has a text")
    tap.ok("tensor([4., 6.])" in plain, "the gradient is right", plain)
    check_forms(data)
    bar = [d for d in data if "training" in d["text/plain"]]
    tap.same(len(bar), 1, "the progress bar is one output")
    tap.has(bar[0]["text/plain"], "200/200", "that has come to its end")
    the_page(nb)


def check_forms(data):
    html = [d["text/html"] for d in data if "text/html" in d]
    seen = set().union(*(Checker(h).seen for h in html))
    tap.ok(all(Checker(h).fine for h in html), "all HTML is well-formed", html)
    tap.ok({"table", "details", "progress"} <= seen, "a table, a tree and a bar", seen)
    plots = [json.loads(json.dumps(d[VEGA])) for d in data if VEGA in d]
    tap.same([p["mark"]["type"] for p in plots], ["line", "bar"], "two plots in Vega-Lite")
    tap.ok(all(p["data"]["values"] for p in plots), "with their values")
    svg = [ElementTree.fromstring(d["image/svg+xml"]) for d in data if "image/svg+xml" in d]
    tap.ok(len(svg) == 3 and all(s.tag.endswith("svg") for s in svg),
           "two plots and a graph in SVG that is XML", svg)
    png = [png_size(d["image/png"]) for d in data if "image/png" in d]
    tap.same(png, [(8 * 66 - 2, 64)], "eight images in one PNG")


def the_page(nb):
    page, _ = HTMLExporter().from_notebook_node(nb)
    tap.ok("dlrepl-module" in page and "data:image/png;base64," in page
           and "data:image/svg+xml;base64," in page,
           "nbconvert makes a page of it, with tree, picture and drawings")


def execute(cells, **options):
    nb = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(c) for c in cells],
        metadata={"kernelspec": {"name": "dlrepl", "display_name": "dlrepl", "language": "lua"}})
    NotebookClient(nb, timeout=60, kernel_name="dlrepl", **options).execute()
    return nb.cells


CELLS = {
    "handle": 'd = dlrepl.display("before", {display_id=true})',
    "update": 'd:update(torch.ones(2))',
    "error": "torch.ones(2, 3):matmul(torch.ones(2, 3))",
    "plain error": 'error("boom")',
    "hostile": '"<script>alert(1)</script>"',
    "own": 't = {_repr_html_ = function() return "<b>mine</b>" end}\nt',
    "broken": 't = {_repr_html_ = function() error("oops") end}\nt',
    "bytes": 'setmetatable({}, {__tostring = function() return "\\xff<" end})',
    "clear": 'for i = 1, 3 do print(i) end',
    "local": "local a = 40\na + 2",
    "magic": "x = 3\n%who",
    "reset": "%reset -f",
    "gone": "x",
}


def our_cells():
    cells = dict(zip(CELLS, execute(CELLS.values(), allow_errors=True)))

    def output(name, i=0):
        return cells[name].outputs[i]
    tap.same(output("handle").data["text/plain"], "tensor([1., 1.])",
             "an update changes the output of an earlier cell")
    tap.same(cells["update"].outputs, [], "and shows nothing in its own")
    error = output("error")
    tap.same((error.output_type, error.ename), ("error", "RuntimeError"), "an error has its class")
    tap.ok("self:" not in "".join(error.traceback), "its traceback has no notes", error.traceback)
    tap.has(output("error", 1).data["text/html"], "<details>", "they are folded under it")
    tap.same([o.output_type for o in cells["plain error"].outputs], ["error"],
             "an error without notes is one output")
    tap.same(output("hostile").data, {"text/plain": '"<script>alert(1)</script>"'},
             "a string is never HTML")
    tap.same(output("own").data["text/html"], "<b>mine</b>", "_repr_html_ is asked")
    tap.ok("text/html" not in output("broken").data, "one that fails falls back to the text")
    tap.has(output("broken").data["text/plain"], "note: _repr_html_ failed:", "with a word")
    tap.same(output("bytes").data["text/plain"], "\ufffd<", "what is no UTF-8 is replaced")
    tap.same(output("local").data["text/plain"], "42", "a cell's local and its last expression")
    tap.same(output("gone").data["text/plain"] if cells["gone"].outputs else "nil", "nil",
             "%reset -f forgets the names of other cells")


def make_notebook():
    """What `make notebook` runs, in a folder and with a PATH of its own."""
    folder, tools = os.path.join(TMP, "tree"), os.path.join(TMP, "tools")
    os.makedirs(folder)
    os.makedirs(tools)
    os.symlink(place.DLREPL, os.path.join(folder, "dlrepl"))
    script = os.path.join(TOP, ".ci", "notebook.sh")

    def run():
        return subprocess.run(["/bin/sh", script], cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=dict(os.environ, PATH=tools))
    r = run()
    tap.has(r.stdout, "installed as dlrepl", "make notebook installs the kernel")
    line = [x for x in r.stdout.splitlines() if x.startswith("  ")]
    tap.ok(len(line) == 1 and "python3 -m venv" in line[0] and line[0].endswith("jupyterlab"),
           "without JupyterLab it says the one line that installs it", r.stdout, r.stderr)
    os.symlink("/bin/true", os.path.join(tools, "jupyter-lab"))
    tap.has(run().stdout, "jupyter/notebooks/tour.ipynb", "with it the tour is what it opens")


tap.same(place.installed[0], 0, "dlrepl kernel install --user installs the kernel")
tap.section(the_files)
tap.section(the_tour)
tap.section(our_cells)
tap.section(make_notebook)
tap.done()
