#!/bin/sh
# Prints the files of the tree whose names match the patterns: sources.sh '*.h' '*.cc'
# Walks folders instead of asking git, which a machine that only builds may lack.
set -eu
match=
for pattern in "$@"; do match="$match -o -name $pattern"; done
set -f # the patterns are for find, not for the shell
find . \( -name '.?*' -o -name 'bazel-*' -o -name __pycache__ \) -prune -o \
  -type f \( ${match# -o} \) -print | sed 's|^\./||' | LC_ALL=C sort
