#!/bin/sh
# newcomer.sh -- from a fresh clone to the first passed exercise, with nothing but the README
#
#   sh tests/lessons/newcomer.sh [REPOSITORY]
#
# Clones, builds as `make start` does (whatever is missing must be installed already: downloads are
# not timed), runs `./dlrepl learn` and passes its first exercise. Prints the seconds of each part;
# status 1 when it takes more than three minutes or the exercise does not pass.
set -eu
from=${1:-$(git -C "$(dirname "$0")" rev-parse --show-toplevel)}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
now() { date +%s; }
part() { # part NAME COMMAND...
  name=$1
  shift
  begun=$(now)
  "$@" >"$dir/$name.log" 2>&1 || { tail -5 "$dir/$name.log"; exit 1; }
  echo "$name: $(($(now) - begun)) s"
}
start=$(now)
part clone git clone -q "$from" "$dir/dlrepl"
cd "$dir/dlrepl"
part build env DLREPL_NO_INSTALL=1 make start
part learn sh -c "printf ':answer b\n' | XDG_DATA_HOME=$dir/data ./dlrepl learn"
grep -q '^\[PASS\]' "$dir/learn.log" || { cat "$dir/learn.log"; exit 1; }
sed -n '1,/^\[PASS\]/p' "$dir/learn.log"
total=$(($(now) - start))
echo "from clone to the first passed exercise: $total s"
[ "$total" -le 180 ]
