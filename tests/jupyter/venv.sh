#!/bin/sh
# venv.sh -- build/venv: the Python clients that the tests of the kernel speak to
#
#   sh tests/jupyter/venv.sh          makes it if it is not there (a minute), prints its folder
#
# Run from the top of the tree. DLREPL_VENV names another folder, to share one between trees. It is
# made anew when requirements.txt changes. Where it cannot be made (no Python with venv, no network)
# the status is 1 and the reason is on standard error: tests skip with it.
set -u
venv=${DLREPL_VENV:-build/venv}
wanted=tests/jupyter/requirements.txt

fail() {
  echo "$1" >&2
  exit 1
}

# pyenv's and other wrappers may stand before the system's Python.
find_python() {
  for p in python3 /usr/bin/python3; do
    if "$p" -c 'import ensurepip, sys; assert sys.version_info >= (3, 9)' 2>/dev/null; then
      echo "$p"
      return
    fi
  done
}

is_made() { [ -x "$venv/bin/python" ] && cmp -s "$wanted" "$venv/made-from"; }

mkdir -p "$(dirname "$venv")" || exit 1
if command -v flock >/dev/null 2>&1; then # two tests may ask at once
  exec 9>"$venv.lock"
  flock 9
fi
if ! is_made; then
  python=$(find_python)
  [ -n "$python" ] || fail 'no Python 3.9 with venv here (Debian: apt-get install python3-venv)'
  rm -rf "$venv"
  "$python" -m venv "$venv" >"$venv.log" 2>&1 || fail "python3 -m venv failed: see $venv.log"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 30 \
    -r "$wanted" >>"$venv.log" 2>&1 || fail "pip could not install Jupyter: see $venv.log"
  cp "$wanted" "$venv/made-from"
fi
echo "$venv"
