#!/bin/sh
# Runs every benchmark program (the Bazel tests tagged `bench`), one at a time
# because they share the machine. --quick: a moment each, numbers without meaning.
# run_benchmarks.sh commit-path: the commit path beside fio instead.
set -eu
cd -- "$(dirname -- "$0")/../.."

if [ "${1:-}" = commit-path ]; then
  shift
  exec tools/testing/run_commit_path.sh "$@"
fi

seconds=1
if [ "${1:-}" = --quick ]; then
  seconds=0.001
  shift
fi
if [ $# -gt 0 ]; then
  echo "./run bench: '$1' is not known; type ./run bench, ./run bench --quick or ./run bench commit-path" >&2
  exit 2
fi

programs=$(bazel query --noshow_progress --ui_event_filters=-info 'kind(cc_test, attr(tags, "\bbench\b", tests(//...)))')
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
