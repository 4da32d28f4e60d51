#!/bin/sh
# Runs every benchmark program (the Bazel tests tagged `bench`), one at a time
# because they share the machine. --quick: a moment each, numbers without meaning.
set -eu
cd -- "$(dirname -- "$0")/../.."

seconds=1
if [ "${1:-}" = --quick ]; then
  seconds=0.001
  shift
fi
if [ $# -gt 0 ]; then
  echo "./run bench: '$1' is not known; type ./run bench or ./run bench --quick" >&2
  exit 2
fi

programs=$(bazel query --noshow_progress --ui_event_filters=-info 'attr(tags, "\bbench\b", tests(//...))')
if [ -z "$programs" ]; then
  echo "./run bench: no test has the tag 'bench'" >&2
  exit 1
fi
bazel build --config=opt $HEXAD_BAZEL_UI $programs

failed=0
for program in $programs; do
  path=.bazel/opt/bin/$(echo "$program" | sed 's|^//||; s|:|/|; s|^/||')
  echo "=== $program"
  "$path" --benchmark_min_time="$seconds" </dev/null || {
    echo "$program: ended with an error" >&2
    failed=1
  }
done
exit "$failed"
