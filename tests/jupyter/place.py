"""place.py -- a home of its own for Jupyter's programs, with our kernel installed in it

For notebook.py, console.py and lab.py. Importing it makes a temporary folder, points HOME and
Jupyter's variables there and runs `dlrepl kernel install --user`.
"""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DLREPL = os.environ.get("DLREPL") or os.path.join(TOP, "dlrepl")
TOUR = os.path.join(TOP, "jupyter", "notebooks", "tour.ipynb")
TMP = tempfile.mkdtemp(prefix="dlrepl-place-")
atexit.register(shutil.rmtree, TMP, True)

for name, folder in (("HOME", ""), ("XDG_DATA_HOME", "data"), ("XDG_CACHE_HOME", "cache"),
                     ("XDG_CONFIG_HOME", "config"), ("JUPYTER_DATA_DIR", "jupyter"),
                     ("JUPYTER_CONFIG_DIR", "jupyter-config"), ("JUPYTER_RUNTIME_DIR", "runtime"),
                     ("IPYTHONDIR", "ipython")):
    os.environ[name] = os.path.join(TMP, folder) if folder else TMP
    os.makedirs(os.environ[name], exist_ok=True)
for name in ("JUPYTER_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH"):
    os.environ.pop(name, None)


def program(name):
    """The path of one of Jupyter's programs in the environment that runs this."""
    return os.path.join(os.path.dirname(sys.executable), name)


def run(*command, seconds=60):
    """Run it to its end; (status, standard output, standard error)."""
    try:
        r = subprocess.run(command, capture_output=True, text=True, timeout=seconds, cwd=TMP,
                           errors="replace")
    except subprocess.TimeoutExpired as e:
        return "timeout", str(e.stdout), str(e.stderr)
    return r.returncode, r.stdout, r.stderr


installed = run(DLREPL, "kernel", "install", "--user")
