#!/bin/sh
# build.sh -- `make start` and `make test` build through this: silent while all is well.
#
#   sh .ci/build.sh make -j2 all
#
# The log stays in build/log; of a failed build its end is shown.
mkdir -p build
if ! "$@" -q >/dev/null 2>&1; then
  echo "Building dlrepl (a minute or two the first time) ..."
fi
if "$@" >build/log 2>&1; then
  exit 0
fi
grep -E 'error|undefined|Error' build/log | head -20
tail -n 5 build/log
echo "dlrepl: the build failed; the whole log is in build/log" >&2
exit 1
