#!/bin/sh
# notebook.sh -- `make notebook`: makes the kernel known to Jupyter, and opens JupyterLab
#
# Looks for JupyterLab in PATH, in the folder that the line below installs it into, and in the
# tests' environment. Where there is none it says that line. Without a terminal it only says what
# it would open.
set -u
mine=${XDG_DATA_HOME:-${HOME:-/tmp}/.local/share}/dlrepl/jupyter
page=jupyter/notebooks/tour.ipynb

find_lab() {
  for p in "$(command -v jupyter-lab)" "$mine/bin/jupyter-lab" build/venv/bin/jupyter-lab; do
    if [ -n "$p" ] && [ -x "$p" ]; then
      echo "$p"
      return
    fi
  done
}

./dlrepl kernel install --user || exit 1
lab=$(find_lab)
if [ -z "$lab" ]; then
  first=''
  if ! python3 -c 'import ensurepip' 2>/dev/null; then
    first='sudo apt-get install python3-venv && '
  fi
  echo "JupyterLab is not installed. This line installs it, then run make notebook again:"
  echo "  ${first}python3 -m venv '$mine' && '$mine/bin/pip' install jupyterlab"
  exit 0
fi
if [ ! -t 0 ]; then
  echo "to open: $lab $page"
  exit 0
fi
exec "$lab" "$page"
