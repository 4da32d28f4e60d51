#!/bin/sh
# Runs every benchmark program (the Bazel tests tagged `bench`), one at a time
# because they share the machine. --quick: a moment each, numbers without meaning.
# run_benchmarks.sh commit-path: the commit path beside fio instead.
# run_benchmarks.sh metadata: what metadata takes and costs, and reopening after a crash instead.
set -eu
cd -- "$(dirname -- "$0")/../.."

case ${1:-} in
  commit-path | metadata | peers)
    program=$(echo "$1" | tr - _)_bench
    shift
    exec tools/testing/run_bench_program.sh "$program" "$@"
    ;;
esac

seconds=1
if [ "${1:-}" = --quick ]; then
  seconds=0.001
  shift
fi
if [ $# -gt 0 ]; then
  echo "./run bench: '$1' is not known; type ./run bench, ./run bench --quick, ./run bench commit-path or ./run bench metadata" >&2
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
