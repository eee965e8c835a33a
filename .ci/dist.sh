#!/bin/sh
# dist.sh -- packs dlrepl for machines that have nothing of it; called by `make dist`
#
#   sh .ci/dist.sh      with CC, BUILD, VERSION, FRONT_O, OPS_O, LUA_LIBS, FRONT_LIBS, LIBS, PLUGIN set
#
# Makes $BUILD/dlrepl-VERSION-ARCH.tar.gz: the program and the libraries it needs but glibc, Readline,
# oneDNN and NVIDIA's, lua/, lessons/, the kernel's files, tests/gpu and the tests that it runs, and
# the plugin ($PLUGIN; DIST_CUDA=0 leaves it out). Everything is found
# beside the program. Refuses where a file would need a glibc newer than 2.35.
set -eu
newest=2.35
name=dlrepl-$VERSION-$(uname -m)
top=$BUILD/dist/$name
glibc='libc|libm|libdl|libpthread|librt|libresolv|libutil|ld-linux.*|linux-vdso'

rm -rf "$BUILD/dist"
mkdir -p "$top/lib" "$top/tests/gpu" "$top/jupyter" "$top/docs"

# ---- the programs -----------------------------------------------------------------------------
# A library is found from the program's own place, also by the libraries that it loads: an rpath.
rpath() { printf '%s' "-Wl,--disable-new-dtags,-z,origin,-rpath,\$ORIGIN/$1"; }
archive() { # the static library NAME, if it is here
  file=$($CC -print-file-name="lib$1.a")
  if [ -f "$file" ]; then echo "$file"; fi
}

compile() { $CC -std=c11 -O2 -fPIC -w -c -o "$BUILD/dist/$1.o" ".ci/dist/$1.c"; }
compile old_glibc
compile zmq_unused

# libzmq is C++, whose library is bound to a new glibc: both go into the program, where they can.
zmq=$(archive zmq)
cxx=$(archive stdc++)
[ -n "$cxx" ] || zmq=''
zmq_flags() {
  nm -u "$zmq" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u | sed -n -E \
    -e 's/^(pgm_.*|Norm.*)$/-Wl,--defsym=\1=dl_zmq_nothing/p' \
    -e 's/^(gss_.*)$/-Wl,--defsym=\1=dl_zmq_no_gss/p' \
    -e 's/^(GSS_.*|NORM_.*)$/-Wl,--defsym=\1=dl_zmq_no_name/p'
}
flags=''
[ -z "$zmq" ] || flags="$(zmq_flags) $BUILD/dist/zmq_unused.o -lbsd $cxx -static-libgcc"
# shellcheck disable=SC2086
$CC -rdynamic -o "$top/dlrepl" $FRONT_O -Wl,--whole-archive "$BUILD/libdl.a" $zmq \
  -Wl,--no-whole-archive "$BUILD/dist/old_glibc.o" $flags $LUA_LIBS $FRONT_LIBS $LIBS "$(rpath lib)"
# shellcheck disable=SC2086
$CC -rdynamic -o "$top/tests/gpu/ops" $OPS_O -Wl,--whole-archive "$BUILD/libdl.a" \
  -Wl,--no-whole-archive "$BUILD/dist/old_glibc.o" $LIBS "$(rpath ../../lib)"
strip "$top/dlrepl" "$top/tests/gpu/ops"

# ---- the libraries ----------------------------------------------------------------------------
take() { # what FILE needs, and what that needs
  ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | while read -r so path; do
    if printf '%s\n' "$so" | grep -Eq "^($glibc)[.-]"; then continue; fi
    [ -f "$top/lib/$so" ] || cp -L "$path" "$top/lib/$so"
  done
}
take "$top/dlrepl"
take "$top/tests/gpu/ops"
if [ -z "$zmq" ]; then
  file=$(/sbin/ldconfig -p | awk '$1 == "libzmq.so.5" { print $NF; exit }')
  if [ -n "$file" ]; then
    cp -L "$file" "$top/lib/libzmq.so.5"
    take "$file"
  else
    echo "make dist: no libzmq here; notebooks will need the machine's own"
  fi
fi
chmod u+w,a+r "$top"/lib/*

# ---- the plugin and the files -----------------------------------------------------------------
if [ "${DIST_CUDA:-1}" != 0 ]; then
  cp "$PLUGIN" "$top/dl_cuda.so"
  strip --strip-unneeded "$top/dl_cuda.so"
else
  echo "make dist: without the CUDA plugin"
fi
cp -R lua lessons README.md LICENSE "$top/"
cp -R jupyter/kernelspec jupyter/notebooks "$top/jupyter/"
cp docs/*.md docs/dlrepl.1 "$top/docs/"
cp -R docs/completion docs/annotations "$top/docs/"
cp -R tests/parity "$top/tests/"
mkdir -p "$top/tests/lua"
cp tests/lua/tap.lua tests/lua/gpu_*.lua "$top/tests/lua/"
cp tests/gpu/run tests/gpu/*.lua tests/gpu/*.py "$top/tests/gpu/"
find "$top" -name __pycache__ -prune -exec rm -rf {} +
for so in "$top"/lib/*; do # the terms of what is passed on
  owner=$(dpkg -S "$(basename "$so")" 2>/dev/null | head -n 1 | cut -d: -f1) || owner=''
  if [ -n "$owner" ] && [ -f "/usr/share/doc/$owner/copyright" ]; then
    mkdir -p "$top/lib/copyright"
    cp -L "/usr/share/doc/$owner/copyright" "$top/lib/copyright/$owner"
  fi
done

# ---- does it run elsewhere? -------------------------------------------------------------------
late=$(find "$top" -type f \( -perm -u+x -o -name '*.so*' \) -exec sh -c '
  objdump -T "$1" 2>/dev/null | grep -Eo "GLIBC_[0-9.]+" | sort -Vu | tail -n 1 |
    sed "s|^GLIBC_\(.*\)|\1 $1|"' sh {} \; | while read -r version file; do
      [ "$(printf '%s\n%s\n' "$version" "$newest" | sort -V | tail -n 1)" = "$newest" ] ||
        echo "  glibc $version: ${file#"$top"/}"
    done)
if [ -n "$late" ]; then
  echo "make dist: these would not run on systems with glibc $newest:" >&2
  echo "$late" >&2
  echo "Build it on an older system (Debian 12, Ubuntu 22.04)." >&2
  exit 1
fi
tar -C "$BUILD/dist" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" |
  gzip -9 >"$BUILD/$name.tar.gz"
echo "$BUILD/$name.tar.gz: $(($(wc -c <"$BUILD/$name.tar.gz") / 1000)) kB, for glibc $newest and later"
