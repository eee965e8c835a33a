#!/bin/sh
# cuda.sh -- whether make can build the CUDA plugin, and for which cards
#
#   sh .ci/cuda.sh why             can it be built? Otherwise says why not, with status 1
#   sh .ci/cuda.sh try MAKE...     `make`: builds it if it can; else one line says why. Status 0 either way
#   sh .ci/cuda.sh must MAKE...    the same, but what cannot be built is an error
#   sh .ci/cuda.sh cards MAKE...   for `make start`: builds it only where an NVIDIA GPU is, for the
#                                  cards that are there
#
# The Makefile sets NVCC (empty: there is none), NVCC_KNOWS (the architectures that it has), ARCHS,
# PLUGIN and CUDA_DIR. A plugin that is up to date is left alone, without a word.
set -u
way=$1
shift
letters=${MAKEFLAGS:-}
letters=${letters%% *} # make's options of one letter: q, it only asks; n, it only shows
case $letters in
  -* | *=*) letters='' ;;
esac

# ---- can it be built? -------------------------------------------------------------------------
# nvcc and the C++ compiler that it calls, tried on an empty program.
try_nvcc() {
  dir=$(mktemp -d) || return 1
  echo 'int dl_nothing;' >"$dir/t.cu"
  # NVCC may be several words
  # shellcheck disable=SC2086
  $NVCC -shared -cudart static -Xcompiler -fPIC -o "$dir/t.so" "$dir/t.cu" >"$dir/said" 2>&1
  status=$?
  if [ $status -ne 0 ] && grep -qi 'unsupported GNU version\|unsupported clang version' "$dir/said"
  then
    echo "nvcc ${version% *}.${version#* } does not take this C++ compiler:" \
      "make NVCC='nvcc -ccbin g++-12' names another"
  elif [ $status -ne 0 ] && grep -q "cc1plus\|g++.*not found\|host compiler" "$dir/said"; then
    echo "nvcc finds no C++ compiler (Debian: apt-get install g++)"
  elif [ $status -ne 0 ]; then
    echo "nvcc fails on an empty program: $(grep -v '^ *$' "$dir/said" | head -n 1)"
  fi
  rm -rf "$dir"
  return $status
}

why() { # prints why not, with status 1
  if [ -z "$NVCC" ]; then
    echo "no nvcc here (CUDA 12 or 13)"
    return 1
  fi
  # shellcheck disable=SC2086
  version=$($NVCC --version 2>/dev/null | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
  if [ -z "$version" ]; then
    echo "$NVCC does not run"
    return 1
  fi
  if [ "${version% *}" -lt 12 ]; then
    echo "nvcc here is of CUDA ${version% *}.${version#* }, and 12 or 13 is needed" \
      "(Debian 12's own is older; NVIDIA has packages)"
    return 1
  fi
  for a in ${ARCHS:-none}; do
    case " $NVCC_KNOWS " in
      *" $a "*) ;;
      *)
        # shellcheck disable=SC2086
        echo "this nvcc has no architecture $a; it has" $NVCC_KNOWS
        return 1
        ;;
    esac
  done
  try_nvcc
}

build() { # build MAKE...: silent if nothing is to be done; where it fails, $reason says why
  reason=''
  if "$@" -q >/dev/null 2>&1; then return 0; fi
  case $letters in
    *q*) return 1 ;;
    *n*) "$@"; return 0 ;;
  esac
  if ! reason=$(why); then return 1; fi
  if "$@"; then return 0; fi
  # one that is older than the sources would not fit the program
  rm -f "$PLUGIN"
  reason="nvcc failed, as told above"
  return 1
}

# ---- cards ------------------------------------------------------------------------------------
gpu_is_here() { # by its driver
  if [ -n "$(ls /proc/driver/nvidia/gpus 2>/dev/null)" ]; then return 0; fi
  nvidia-smi -L 2>/dev/null | grep -q '^GPU 0'
}

# For each card its own architecture, if nvcc has it, or the newest of ARCHS that it takes: "75 86".
archs_of_cards() {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    sed -n 's/^ *\([0-9]*\)\.\([0-9]\) *$/\1\2/p' | sort -nu | while read -r card; do
      best=''
      for a in $NVCC_KNOWS; do
        case " $ARCHS $card " in
          *" $a "*) if [ "$a" -ge 75 ] && [ "$a" -le "$card" ]; then best=$a; fi ;;
        esac
      done
      [ -z "$best" ] || echo "$best"
    done | sort -nu | tr '\n' ' '
}

# A plugin that was made for more than these cards is kept at that.
widen() {
  made=''
  [ ! -f "$PLUGIN" ] || made=$(cat "$CUDA_DIR/archs")
  for a in "$@"; do
    case " $made " in
      *" $a "*) ;;
      *)
        echo "$@"
        return
        ;;
    esac
  done
  echo "$made"
}

for_cards() {
  gpu_is_here || return 0
  if ! reason=$(why); then
    [ -f "$PLUGIN" ] || echo "An NVIDIA GPU is here, but no CUDA plugin: $reason"
    return 0
  fi
  cards=$(archs_of_cards)
  if [ -z "$cards" ]; then
    [ -f "$PLUGIN" ] || echo "An NVIDIA GPU is here, but not one that nvidia-smi tells and nvcc" \
      "takes (7.5 and later): make ARCHS=90 builds the CUDA plugin by hand"
    return 0
  fi
  # shellcheck disable=SC2086
  ARCHS=$(widen $cards)
  if "$@" ARCHS="$ARCHS" -q >/dev/null 2>&1; then return 0; fi
  # shellcheck disable=SC2086
  echo "Building the CUDA plugin for the GPU here (sm_$(echo $cards | sed 's/ /, sm_/g');" \
    "some minutes, CUDA=0 leaves it out) ..."
  mkdir -p "$CUDA_DIR"
  if "$@" ARCHS="$ARCHS" >"$CUDA_DIR/log" 2>&1; then return 0; fi
  rm -f "$PLUGIN"
  echo "No CUDA plugin: nvcc failed, see $CUDA_DIR/log; dlrepl works on the CPU"
}

# ---- what was asked ---------------------------------------------------------------------------
case $way in
  why) why ;;
  try)
    build "$@"
    status=$?
    case $letters in
      *q*) exit $status ;;
    esac
    [ $status = 0 ] || echo "No CUDA plugin: $reason"
    exit 0
    ;;
  must)
    build "$@" && exit 0
    [ -z "$reason" ] || echo "No CUDA plugin: $reason" >&2
    exit 1
    ;;
  cards) for_cards "$@" ;;
esac
