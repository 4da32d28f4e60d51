#!/bin/sh
# Every header compiles alone, and twice in a row, so that a reader may include
# any of them first and none of them silently leans on its neighbours. Those of
# python/ and examples/ need headers that are there only while those are built.
set -eu
jobs=$(nproc)

check() {
  printf '#include "%s"\n#include "%s"\n' "$1" "$1" |
    g++ -std=c++20 -Wall -Wextra -march=x86-64-v2 -fsyntax-only -Werror -I. \
      -isystem /usr/include/jerasure -x c++ - ||
    { echo "$1: does not compile on its own; include what it uses" && exit 1; }
}

# With arguments this script is one of the parallel jobs below.
if [ $# -gt 0 ]; then
  for header in "$@"; do check "$header"; done
else
  tools/lint/sources.sh '*.h' | grep -vE '^(python|examples)/' | xargs -r -n 4 -P "$jobs" "$0"
fi
