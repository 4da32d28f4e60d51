#!/bin/sh
# Measures the commit path beside fio on the same disk: run_commit_path.sh [--quick] [OPTION...]
# The options are those of //benchmarks:commit_path_bench; --help lists them.
set -eu
cd -- "$(dirname -- "$0")/../.."

bazel build --config=opt $HEXAD_BAZEL_UI //benchmarks:commit_path_bench

commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo "not in git")
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit and changes"
exec .bazel/opt/bin/benchmarks/commit_path_bench --commit "$commit" "$@"
