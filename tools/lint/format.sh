#!/bin/sh
# C++ must look as clang-format leaves it. `format.sh --fix` rewrites the files.
set -eu
files=$(tools/lint/sources.sh '*.h' '*.cc')
if [ "${1:-}" = --fix ]; then
  clang-format-14 -i $files
  exit 0
fi
wrong=$(clang-format-14 --dry-run $files 2>&1 | sed -n 's/^\([^ :]*\):\([0-9]*\):.*/\1:\2/p' | sort -u -t: -k1,1)
[ -z "$wrong" ] || {
  echo "$wrong" | sed 's/$/: not formatted; type: tools\/lint\/format.sh --fix/'
  exit 1
}
