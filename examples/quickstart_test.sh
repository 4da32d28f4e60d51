#!/bin/sh
# Runs the quick start as a reader would and looks at what it says.
set -eu
program=$1
directory=$TEST_TMPDIR/pool
mkdir -p "$directory"

"$program" "$directory" | tee "$TEST_TMPDIR/output"
grep -q '^both objects are durable' "$TEST_TMPDIR/output"
grep -q 'survives the loss of 0 more' "$TEST_TMPDIR/output"
grep -q '^every byte is back$' "$TEST_TMPDIR/output"

# A second time there is a store already: it says so and changes nothing.
if "$program" "$directory" 2>"$TEST_TMPDIR/errors"; then
  echo "formatted over an existing store" >&2
  exit 1
fi
grep -q 'holds a hexad store' "$TEST_TMPDIR/errors"
