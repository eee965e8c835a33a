#!/bin/sh
# setup.sh -- installs what dlrepl needs, for `make start` and `make test`.
#
#   sh .ci/setup.sh start|test
#
# Looks first: on a machine that has everything it says nothing and does nothing. Otherwise it
# prints what it is about to install, asks if a terminal is there, and installs with apt-get as root
# or through sudo. Where there is no apt-get it names the packages. What only adds something (the
# data set, oneDNN, Readline) is asked for once and never stops the way.
# DLREPL_NO_INSTALL=1 in the environment: look and tell, install nothing.
set -u
purpose=${1:-start}
need=''  # packages without which nothing works
want=''  # packages that add something
state=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/dlrepl
asked=$state/optional-asked

add_need() { need="$need $1"; }
add_want() { want="$want $1"; }
have() { command -v "$1" >/dev/null 2>&1; }

# can_compile TEXT FLAGS...: does a program of these lines compile and link?
can_compile() {
  text=$1
  shift
  dir=$(mktemp -d) || return 1
  printf '%s\n' "$text" >"$dir/t.c"
  # CC may be two words, as in "ccache gcc"
  # shellcheck disable=SC2086
  ${CC:-cc} -o "$dir/t" "$dir/t.c" "$@" >/dev/null 2>&1
  result=$?
  rm -rf "$dir"
  return $result
}

has_lua() {
  for p in lua5.4 lua-5.4 lua54 lua; do
    if pkg-config --exists "$p >= 5.4" "$p < 5.5" 2>/dev/null; then return 0; fi
  done
  return 1
}

has_library() { # has_library NAME...: is one of these shared libraries known to the loader?
  for l in "$@"; do
    if /sbin/ldconfig -p 2>/dev/null | grep -q "$l"; then return 0; fi
  done
  return 1
}

has_header() { can_compile "#include <$1>
int main(void) { return 0; }"; }

look() {
  need=''
  want=''
  if ! can_compile 'int main(void) { return 0; }' -fopenmp; then
    add_need gcc
    add_need libc6-dev
  fi
  have make || add_need make
  have pkg-config || add_need pkg-config
  has_lua || add_need liblua5.4-dev
  [ -e /usr/include/zlib.h ] || can_compile '#include <zlib.h>
int main(void) { return zlibVersion() == 0; }' -lz || add_need zlib1g-dev
  # the Jupyter kernel's: messages, JSON, signatures
  [ -e /usr/include/zmq.h ] || has_header zmq.h || add_need libzmq3-dev
  [ -e /usr/include/jansson.h ] || has_header jansson.h || add_need libjansson-dev
  [ -e /usr/include/sodium.h ] || has_header sodium.h || add_need libsodium-dev
  if [ "$purpose" = test ]; then
    have prove || add_need perl
    have g++ || add_need g++ # CUDA's kernels are tested on the CPU, as C++
  fi
  has_library libreadline.so.8 || add_want libreadline8
  has_library libdnnl.so.2 libdnnl.so.3 || add_want libdnnl-dev
  [ -d /usr/share/datasets/fashion-mnist ] || add_want dataset-fashion-mnist
  if [ "$purpose" = test ]; then look_for_clients; fi
}

# What the tests of the Jupyter kernel drive it with; without them they skip.
look_for_clients() {
  if ! python3 -c 'import ensurepip' 2>/dev/null; then add_want python3-venv; fi
  have chromium || add_want chromium
  have chromedriver || add_want chromium-driver
}

# Optional packages are proposed once; a list that was refused or failed is not proposed again.
drop_asked() {
  if [ -f "$asked" ]; then
    rest=''
    for p in $want; do
      if ! grep -qx "$p" "$asked"; then rest="$rest $p"; fi
    done
    want=$rest
  fi
}

remember_asked() {
  mkdir -p "$state" 2>/dev/null && for p in $want; do echo "$p"; done >>"$asked" 2>/dev/null
  return 0
}

no_apt() {
  cat >&2 <<TEXT
dlrepl needs these (Debian's names):$need
  Fedora:    gcc make pkgconf-pkg-config lua-devel zlib-devel zeromq-devel jansson-devel
             libsodium-devel perl-Test-Harness readline onednn
  Arch:      gcc make pkgconf lua54 zlib zeromq jansson libsodium perl readline onednn
  openSUSE:  gcc make pkg-config lua54-devel zlib-devel zeromq-devel libjansson-devel
             libsodium-devel perl readline
apt-get is not here, so please install them and run make again.
TEXT
  exit 1
}

confirm() {
  [ -t 0 ] || return 0
  printf 'Go on? [Y/n] '
  read -r answer || answer=n
  case $answer in
    '' | [Yy]*) return 0 ;;
  esac
  return 1
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@"
}

install_wanted() { # one by one: what this release does not carry is left out
  for p in $want; do
    if ! apt install -y --no-install-recommends "$p" >/dev/null 2>&1; then
      echo "  $p is not available here; dlrepl works without it"
    fi
  done
}

look
drop_asked
if [ -z "$need$want" ]; then exit 0; fi
if [ -n "${DLREPL_NO_INSTALL:-}" ]; then
  if [ -z "$need" ]; then exit 0; fi
  echo "dlrepl needs:$need (DLREPL_NO_INSTALL is set, so nothing is installed)" >&2
  exit 1
fi
if ! have apt-get; then
  if [ -z "$need" ]; then exit 0; fi
  no_apt
fi
if [ "$(id -u)" != 0 ] && ! have sudo; then
  if [ -z "$need" ]; then exit 0; fi
  echo "dlrepl needs these packages; as root: apt-get install$need$want" >&2
  exit 1
fi
echo "About to install with apt-get:"
[ -z "$need" ] || echo "  needed:  $need"
[ -z "$want" ] || echo "  optional:$want"
if ! confirm; then
  remember_asked
  [ -z "$need" ] && exit 0
  echo "dlrepl cannot be built without:$need" >&2
  exit 1
fi
apt update >/dev/null 2>&1 || echo "  (apt-get update failed; trying with the lists that are here)"
if [ -n "$need" ]; then
  # shellcheck disable=SC2086
  apt install -y --no-install-recommends $need || exit 1
fi
install_wanted
remember_asked
look
if [ -n "$need" ]; then
  echo "dlrepl still misses:$need" >&2
  exit 1
fi
exit 0
