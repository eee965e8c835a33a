#!/bin/sh
# quick.sh -- a smoke test of at most 15 seconds: does ./dlrepl start, compute and fail well?
# Run from the top of the tree. Silent when all is well; status 1 with the reason otherwise.
[ -x ./dlrepl ] || exit 0
out=/tmp/dlrepl-quick.$$
LUA_PATH='tests/lua/?.lua;;' timeout 15 ./dlrepl tests/lua/smoke.lua </dev/null >$out 2>&1
status=$?
if [ $status -ne 0 ]; then
  grep -v '^ok ' $out | head -30
  echo "quick.sh: ./dlrepl tests/lua/smoke.lua ended with status $status"
fi
rm -f $out
[ $status -eq 0 ]
