#!/bin/sh
# Runs the parts of the test suite, all or the named ones, one after another.
#
# A part is an executable file tools/test_parts/NN-NAME; NN gives the order. One
# that is called named-NAME runs only when it is named. A part runs at the top of
# the tree. It counts as one test that passed or failed by its exit status, unless
# it writes "PASSED FAILED SKIPPED", three numbers, into the file
# $HEXAD_PART_RESULT.
#
# The last line is "N passed, N failed", with ", N skipped" where some were.
set -eu
cd -- "$(dirname -- "$0")/../.."

parts=
if [ $# -eq 0 ]; then
  parts=$(ls tools/test_parts/[0-9]*)
else
  for name in "$@"; do
    part=$(ls tools/test_parts/*-"$name" 2>/dev/null) || {
      echo "./run test: there is no part '$name'. The parts are:" >&2
      ls tools/test_parts/ | sed -n 's/^[^-]*-/  /p' >&2
      exit 2
    }
    parts="$parts $part"
  done
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HEXAD_PART_RESULT="$work/result"

all_passed=0 all_failed=0 all_skipped=0
for part in $parts; do
  name=$(basename "$part" | sed 's/^[^-]*-//')
  echo "=== $name"
  : >"$HEXAD_PART_RESULT"
  start=$(date +%s)
  status=0
  "$part" </dev/null || status=$?
  seconds=$(($(date +%s) - start))

  [ -s "$HEXAD_PART_RESULT" ] || echo "$((status == 0)) 0 0" >"$HEXAD_PART_RESULT"
  read -r passed failed skipped <"$HEXAD_PART_RESULT"
  if [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
    echo "$name: ended with status $status"
    failed=1
  fi
  all_passed=$((all_passed + passed))
  all_failed=$((all_failed + failed))
  all_skipped=$((all_skipped + skipped))
  printf '%-14s %7d %7d %7d %8d\n' "$name" "$passed" "$failed" "$skipped" "$seconds" >>"$work/table"
done

echo
printf '%-14s %7s %7s %7s %8s\n' part passed failed skipped seconds
cat "$work/table"
echo

summary="$all_passed passed, $all_failed failed"
[ "$all_skipped" -eq 0 ] || summary="$summary, $all_skipped skipped"
[ $((all_passed + all_failed)) -gt 0 ] || echo "no test ran"
echo "$summary"
[ "$all_failed" -eq 0 ] && [ "$all_passed" -gt 0 ]
