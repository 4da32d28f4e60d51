#!/bin/sh
# Runs a benchmark that prints tables of its own: run_bench_program.sh PROGRAM [--quick] [OPTION...]
# PROGRAM is one of //benchmarks, such as commit_path_bench; the options are its own, --help lists
# them.
set -eu
cd -- "$(dirname -- "$0")/../.."
program=$1
shift

bazel build --config=opt $HEXAD_BAZEL_UI "//benchmarks:$program"

commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo "not in git")
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit and changes"
exec ".bazel/opt/bin/benchmarks/$program" --commit "$commit" "$@"
