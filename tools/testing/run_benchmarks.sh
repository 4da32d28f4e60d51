#!/bin/sh
# Measures, and writes out/report.html and out/bench.json: run_benchmarks.sh [--quick]
# run_benchmarks.sh commit-path|metadata|peers [--quick] [OPTION...]: one of the programs that print
# tables of their own, with its options; --help lists them.
set -eu
cd -- "$(dirname -- "$0")/../.."

commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo "not in git")
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit and changes"

case ${1:-} in
  commit-path | metadata | peers)
    program=$(echo "$1" | tr - _)_bench
    shift
    bazel build --config=opt $HEXAD_BAZEL_UI "//benchmarks:$program"
    exec ".bazel/opt/bin/benchmarks/$program" --commit "$commit" "$@"
    ;;
  "" | --quick) ;;
  *)
    echo "./run bench: '$1' is not known; type ./run bench, ./run bench --quick, or ./run bench commit-path, metadata or peers" >&2
    exit 2
    ;;
esac

bazel build --config=opt $HEXAD_BAZEL_UI //benchmarks/suite:programs
exec python3 -B benchmarks/suite/suite.py --programs .bazel/opt/bin --out out --commit "$commit" "$@"
