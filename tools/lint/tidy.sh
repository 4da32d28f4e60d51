#!/bin/sh
# clang-tidy with the checks of .clang-tidy: tidy.sh [FILE.cc...]
# Without arguments: every .cc file but tests and benchmarks, whose macros it
# judges as if they were ours.
set -eu
cd -- "$(dirname -- "$0")/../.."

if [ $# -eq 0 ]; then
  set -- $(tools/lint/sources.sh '*.cc' |
    grep -E '^(base|io|alloc|ec|compression|kv|core|tools)/' | grep -vE '_(test|benchmark)\.cc$')
fi
[ $# -gt 0 ] || exit 0

# xargs runs one clang-tidy per processor and fails when one of them did.
printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" sh -c '
  out=$(clang-tidy-14 --quiet "$1" -- -std=c++20 -march=x86-64-v2 -I. \
    -isystem /usr/include/jerasure 2>/dev/null) && exit 0
  echo "$out"
  echo "$1: clang-tidy objects; change it, or say why not with NOLINT(check): reason"
  exit 1' sh
