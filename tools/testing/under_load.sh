#!/bin/sh
# Runs parts of the test suite again and again beside stress-ng, and prints what came of each run: a
# test that depends on the speed of the machine, or on what else goes on there, fails in one of them.
#
#   tools/testing/under_load.sh [--runs N] [--load "OPTIONS OF STRESS-NG"] [PART...]
#
# Three runs of unit, tsan and python beside --cpu 4 --hdd 2, if nothing is said. Have run the parts
# once before, so that everything is built. stress-ng is a package of Debian that setup does not
# install: apt-get install stress-ng. It writes in a folder of its own below out/under_load, where the
# output of each run is, too, and it ends with this script.
set -eu
cd -- "$(dirname -- "$0")/../.."

runs=3 load='--cpu 4 --hdd 2'
while [ $# -gt 0 ]; do
  case $1 in
    --runs | --load)
      [ $# -gt 1 ] || {
        echo "under_load.sh: $1 wants a value" >&2
        exit 2
      }
      [ "$1" = --runs ] && runs=$2 || load=$2
      shift 2
      ;;
    -*)
      sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2
      exit 2
      ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || set -- unit tsan python
command -v stress-ng >/dev/null || {
  echo "under_load.sh: there is no stress-ng; apt-get install stress-ng" >&2
  exit 2
}

out=out/under_load
rm -rf "$out"
mkdir -p "$out/disk"
# What has passed once is no news for Bazel, but here it is.
HEXAD_TEST_OPTIONS=--nocache_test_results
export HEXAD_TEST_OPTIONS

# In a session of its own, which ends as a whole: it has a process for each of its stressors.
# shellcheck disable=SC2086
setsid stress-ng $load --temp-path "$out/disk" --quiet &
stress=$!
end_stress() {
  kill -TERM -"$stress" 2>/dev/null || true
  wait "$stress" 2>/dev/null || true
  rm -rf "$out/disk"
}
trap end_stress EXIT
trap 'exit 130' INT TERM

failed_runs=0
for run in $(seq "$runs"); do
  kill -0 "$stress" 2>/dev/null || {
    echo "under_load.sh: stress-ng $load has ended by itself" >&2
    exit 1
  }
  start=$(date +%s)
  status=0
  ./run test "$@" >"$out/run$run.txt" 2>&1 || status=$?
  [ "$status" -eq 0 ] || failed_runs=$((failed_runs + 1))
  printf '%-4s %8s %8s  %s\n' "$run" "$(($(date +%s) - start))" \
    "$(cut -d' ' -f2 /proc/loadavg)" "$(tail -n 1 "$out/run$run.txt")" >>"$out/table"
  # Which they were: Bazel's summary, and pytest's.
  sed -n 's|^\(//[^ ]*\) .*\(FAILED\|TIMEOUT\).*|  \1 \2|p; s|^FAILED \(.*\)|  \1|p' "$out/run$run.txt" |
    sort -u | tee -a "$out/table"
done

echo
echo "beside stress-ng $load: $*"
printf '%-4s %8s %8s  %s\n' run seconds load5 result
cat "$out/table"
echo
echo "$((runs - failed_runs)) of $runs runs passed; their output is in $out"
[ "$failed_runs" -eq 0 ]
