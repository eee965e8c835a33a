"""lab.py -- JupyterLab in a browser: open the tour, run it, complete, interrupt, restart

A JupyterLab of its own with the tour in its folder, and Chromium without a window. Keys are typed
as a person types them; what a menu would do goes through Lab's commands. The last picture stays in
build/lab.png.
"""
import base64
import os
import re
import shutil
import socket
import subprocess
import sys
import time

import place
import tap

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError as e:
    print(f"1..0 # SKIP no selenium: {e}")
    sys.exit(0)

PATIENCE = 180  # seconds for what happens at once on an idle machine


def find(*names):
    return next((p for p in map(shutil.which, names) if p), None)


def until(question, what, seconds=PATIENCE):
    """The answer of question() once it is true; RuntimeError with `what` after the time."""
    stop = time.time() + seconds
    while True:
        try:
            answer = question()
            if answer:
                return answer
        except WebDriverException:
            pass
        if time.time() > stop:
            raise RuntimeError(f"in {seconds} s not: {what}")
        time.sleep(0.1)


class Server:
    """A JupyterLab server with the tour in its folder."""

    def __init__(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.root = os.path.join(place.TMP, "root")
        os.makedirs(self.root)
        shutil.copy(place.TOUR, self.root)
        self.log = open(os.path.join(place.TMP, "lab.log"), "w+")
        self.process = subprocess.Popen(
            [place.program("jupyter-lab"), "--no-browser", "--allow-root",
             "--expose-app-in-browser", f"--ServerApp.port={self.port}",
             "--ServerApp.port_retries=0", "--IdentityProvider.token=test",
             f"--ServerApp.root_dir={self.root}", "--ServerApp.ip=127.0.0.1",
             "--LabApp.news_url=", "--LabApp.check_for_updates_class="
             "jupyterlab.NeverCheckForUpdate", "--LabApp.extension_manager=readonly"],
            stdout=self.log, stderr=subprocess.STDOUT)

    def wait(self):
        until(self.answers, "a JupyterLab that answers")

    def answers(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise RuntimeError("JupyterLab ended: " + self.log.read()[-2000:])
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()


def browser(chromium, driver):
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--window-size=1300,1400", f"--user-data-dir={place.TMP}/chromium"):
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=driver, log_output=subprocess.DEVNULL)
    return webdriver.Chrome(options=options, service=service)


class Lab:
    """The page with the notebook."""

    def __init__(self, page, server):
        self.page = page
        page.set_script_timeout(PATIENCE)
        page.get(f"http://127.0.0.1:{server.port}/lab/tree/tour.ipynb?token=test&reset")
        until(lambda: self.js("return !!(window.jupyterapp && " + self.PANEL + "?.content)"),
              "the notebook is open")
        until(lambda: self.status() == "idle", "the kernel is ready")

    PANEL = "window.jupyterapp.shell.currentWidget"

    def js(self, code, *args):
        return self.page.execute_script(code, *args)

    def status(self):
        return self.js(f"return {self.PANEL}.sessionContext.session?.kernel?.status")

    def command(self, name, args="{}"):
        """Begin one of Lab's commands, as its menu or button does; not waited for."""
        self.js(f"window.jupyterapp.commands.execute('{name}', {args}); return 1")

    def cells(self):
        """[{code, count, outputs}] of the notebook's code cells."""
        return self.js(f"""
          return {self.PANEL}.content.model.sharedModel.cells
            .filter(c => c.cell_type === 'code')
            .map(c => ({{code: c.source, count: c.execution_count, outputs: c.toJSON().outputs}}))
        """)

    def idle(self, seconds=PATIENCE):
        until(lambda: self.status() == "idle", "the kernel is idle", seconds)

    def type(self, text):
        webdriver.ActionChains(self.page).send_keys(text).perform()

    def new_cell(self, code):
        """An empty cell at the end, in which `code` is typed."""
        self.js(f"{self.PANEL}.content.activeCellIndex = {self.PANEL}.content.widgets.length - 1")
        n = self.js(f"return {self.PANEL}.content.widgets.length")
        self.command("notebook:insert-cell-below")
        until(lambda: self.js(f"return {self.PANEL}.content.widgets.length") == n + 1, "a new cell")
        self.command("notebook:enter-edit-mode")
        until(lambda: self.js("return !!document.activeElement?.closest('.cm-content')"),
              "the cursor in it")
        self.type(code)

    def run_cell(self, code):
        self.new_cell(code)
        self.command("notebook:run-cell")

    def last(self):
        return self.cells()[-1]

    def answered(self):
        return until(lambda: self.last()["count"] and self.status() == "idle" and self.last(),
                     "the cell has run")

    def count(self, selector):
        return len(self.page.find_elements(By.CSS_SELECTOR, selector))


COLOURS = """
  const [data, done] = arguments, image = new Image();
  image.onload = () => {
    const canvas = new OffscreenCanvas(image.width, image.height), c = canvas.getContext('2d');
    c.drawImage(image, 0, 0);
    const bytes = c.getImageData(0, 0, image.width, image.height).data, seen = new Set();
    for (let i = 0; i < bytes.length; i += 4)
      seen.add(bytes[i] * 65536 + bytes[i + 1] * 256 + bytes[i + 2]);
    done([image.width, image.height, [...seen]]);
  };
  image.src = 'data:image/png;base64,' + data;
"""


def text_of(outputs):
    parts = []
    for o in outputs:
        data = o.get("data", {}).get("text/plain", "")
        parts.append("".join(o.get("text", "")) or "".join(data) or o.get("evalue", ""))
    return "\n".join(parts)


# ---- what is asked ------------------------------------------------------------------------------

def runs_the_tour(lab):
    lab.command("notebook:run-all-cells")
    until(lambda: all(c["count"] for c in lab.cells()) and lab.status() == "idle",
          "every cell has run")
    cells = lab.cells()
    tap.same([c["count"] for c in cells], list(range(1, len(cells) + 1)), "Run All runs every cell")
    kinds = [o["output_type"] for c in cells for o in c["outputs"]]
    tap.ok("error" not in kinds, "no cell fails", kinds)


def shows_it(lab):
    scroll = (f"{lab.PANEL}.content.activeCellIndex = arguments[0];"
              f"return {lab.PANEL}.content.scrollToItem(arguments[0], 'smart').then(() => 1)")
    total = lab.js(f"return {lab.PANEL}.content.widgets.length")
    for i in range(total):  # cells out of sight are not drawn
        lab.js(scroll, i)
    until(lambda: lab.count(".vega-embed canvas, .vega-embed svg.marks") >= 2,
          "two plots are drawn")
    tap.ok(lab.count(".dlrepl-tensor table td") > 10, "tensors are tables")
    tap.ok(lab.count(".dlrepl-module details summary") >= 3, "the module is a tree")
    sizes = lab.js("return [...document.querySelectorAll('.jp-RenderedImage img')]"
                   ".map(i => i.naturalWidth)")
    tap.ok(526 in sizes, "the images are one picture", sizes)
    tap.ok(lab.count(".jp-RenderedSVG img, .jp-RenderedSVG svg") >= 1, "the graph is a drawing")
    tap.same(lab.js("return document.querySelector('progress')?.value"), 1, "the bar is full")
    tap.same(lab.count("[data-mime-type='application/vnd.jupyter.stderr']"), 0,
             "nothing on standard error")


def opens_the_tree(lab):
    closed = lab.page.find_element(By.CSS_SELECTOR, ".dlrepl-module details:not([open]) > summary")
    lab.js("arguments[0].scrollIntoView({block: 'center'})", closed)
    closed.click()
    tap.ok(lab.js("return arguments[0].parentElement.open", closed), "a layer opens by a click")
    inside = lab.js("return arguments[0].parentElement.innerText", closed)
    tap.ok("weight" in inside and "[128, 784]" in inside, "to its parameters", inside)


def looks_right(lab):
    path = os.path.join(place.TOP, "build", "lab.png")
    lab.js("document.querySelectorAll('.vega-embed')[0].scrollIntoView({block: 'start'})")
    time.sleep(0.5)
    lab.page.save_screenshot(path)
    with open(path, "rb") as f:
        shot = base64.b64encode(f.read()).decode()
    width, height, colours = lab.page.execute_async_script(COLOURS, shot)
    tap.ok(width >= 1200 and height >= 1000, "a picture of the page", (width, height))
    tap.ok(0x4C78A8 in colours, "has the plots' blue", len(colours))
    tap.ok(0xDCEFDC in colours, "and the graph's green boxes")
    tap.ok(len(colours) > 150, "and is no empty page", len(colours))


def completes(lab):
    lab.new_cell("torch.zero")
    lab.type(Keys.TAB)
    until(lambda: lab.count(".jp-Completer-item") > 0 or lab.last()["code"] != "torch.zero",
          "Tab completes")
    items = [e.text for e in lab.page.find_elements(By.CSS_SELECTOR, ".jp-Completer-item")]
    tap.ok(any("zeros" in i for i in items), "Tab offers torch.zeros", items)
    lab.type(Keys.ENTER)
    until(lambda: re.search(r"zeros\w*$", lab.last()["code"]), "the name is taken")
    tap.ok(lab.last()["code"].startswith("torch.zeros"), "and takes it", lab.last()["code"])
    lab.type(Keys.ESCAPE)
    lab.command("notebook:delete-cell")


def interrupts(lab):
    lab.run_cell("while true do pcall(type, 1) end")
    until(lambda: lab.status() == "busy", "the loop runs")
    lab.command("notebook:interrupt-kernel")
    until(lambda: lab.status() == "idle", "the loop ends", 20)
    names = [o.get("ename") for o in lab.last()["outputs"]]
    tap.same(names, ["KeyboardInterrupt"], "the square stops an endless loop")
    lab.run_cell("x.shape")
    tap.has(text_of(lab.answered()["outputs"]), "torch.Size([64, 1])", "and the session is kept")


def asks(lab):
    lab.run_cell('name = io.read()')
    box = until(lambda: lab.page.find_elements(By.CSS_SELECTOR, ".jp-Stdin-input"),
                "a box to type in")
    box[-1].send_keys("Ada" + Keys.ENTER)
    lab.answered()
    lab.run_cell("name")
    tap.has(text_of(lab.answered()["outputs"]), '"Ada"', "io.read() asks in the page")


def restarts(lab):
    old = lab.js(f"return {lab.PANEL}.sessionContext.session.kernel.connectionStatus")
    tap.same(old, "connected", "connected before")
    lab.command("notebook:restart-kernel")
    accept = until(lambda: lab.page.find_elements(By.CSS_SELECTOR, ".jp-Dialog .jp-mod-accept"),
                   "Lab asks")
    accept[-1].click()
    until(lambda: not lab.count(".jp-Dialog"), "the question is gone")
    lab.idle()
    lab.run_cell("model == nil and 'empty' or 'kept'")
    tap.has(text_of(lab.answered()["outputs"]), "empty", "a restart begins anew")
    tap.same(lab.last()["count"], 1, "and counts from one")


def main():
    chromium, driver = find("chromium", "chromium-browser", "google-chrome"), find("chromedriver")
    if not chromium or not driver:
        print("1..0 # SKIP no chromium and chromedriver here (Debian: chromium, chromium-driver)")
        return
    server = Server()
    try:
        page = browser(chromium, driver)
        try:
            server.wait() # the browser started meanwhile
            lab = Lab(page, server)
            tap.ok(True, "JupyterLab opens the tour")
            for part in (runs_the_tour, shows_it, opens_the_tree, looks_right, completes,
                         interrupts, asks, restarts):
                tap.section(named(part, lab))
        finally:
            page.quit()
    finally:
        server.close()
    tap.done()


def named(part, lab):
    def whole():
        part(lab)
    whole.__name__ = part.__name__
    return whole


main()
