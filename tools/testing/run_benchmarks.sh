#!/bin/sh
# Measures, and writes out/report.html and out/bench.json: run_benchmarks.sh [--quick]
# run_benchmarks.sh commit-path|metadata|transactions|peers|space|tiers [--quick] [OPTION...]: one of the programs that
# print tables of their own, with its options; --help lists them. run_benchmarks.sh nbd: fio on an object
# as a disk. run_benchmarks.sh ceph: a store on images of a Ceph cluster. run_benchmarks.sh python: the Python
# package beside other stores. run_benchmarks.sh devices: drives that die and come back, beside fio.
set -eu
cd -- "$(dirname -- "$0")/../.."

commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo "not in git")
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit and changes"

case ${1:-} in
  commit-path | metadata | transactions | peers | space | tiers)
    program=$(echo "$1" | tr - _)_bench
    shift
    bazel build --config=opt $HEXAD_BAZEL_UI "//benchmarks:$program"
    exec ".bazel/opt/bin/benchmarks/$program" --commit "$commit" "$@"
    ;;
  nbd)
    shift
    bazel build --config=opt $HEXAD_BAZEL_UI //examples/nbd:hexad_nbd.so //tools:hexad
    exec /usr/bin/python3 -B benchmarks/nbd/compare.py --hexad .bazel/opt/bin/tools/hexad \
      --plugin .bazel/opt/bin/examples/nbd/hexad_nbd.so --commit "$commit" "$@"
    ;;
  ceph)
    shift
    tools/setup/ceph.sh
    bazel build --config=opt $HEXAD_BAZEL_UI //tools:hexad
    exec python3 -B benchmarks/ceph/compare.py --hexad .bazel/opt/bin/tools/hexad \
      --cluster tools/ceph/cluster.py --commit "$commit" "$@"
    ;;
  devices)
    shift
    tools/setup/python_venv.sh --tests
    tools/build/python_package.sh
    exec .venv/bin/python -B benchmarks/devices/compare.py --commit "$commit" "$@"
    ;;
  python)
    shift
    tools/setup/python_venv.sh --tests --bench
    tools/build/python_package.sh
    exec .venv/bin/python python/benchmarks/compare.py --plots python/.build/plots --commit "$commit" "$@"
    ;;
  "" | --quick) ;;
  *)
    echo "./run bench: '$1' is not known; type ./run bench, ./run bench --quick, or ./run bench commit-path, metadata, transactions, peers, space, tiers, devices, nbd, ceph or python" >&2
    exit 2
    ;;
esac

bazel build --config=opt $HEXAD_BAZEL_UI //benchmarks/suite:programs
exec python3 -B benchmarks/suite/suite.py --programs .bazel/opt/bin --out out --commit "$commit" "$@"
