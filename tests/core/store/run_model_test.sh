#!/bin/sh
# A moment of the program that doc/testing.md tells how to run for long: run_model_test.sh PROGRAM
set -eu
program=$1

for store in memory device; do
  line=$("$program" --store "$store" --ops 3000 --round 1000 --seed 7 --threads 2 \
    --big-one-in 50 --compare-one-in 50 --check-one-in 100 --reopen-one-in 50)
  case $line in
    "runner seed=7 ops=3"*" differences=0") ;;
    *) echo "$store: $line" && exit 1 ;;
  esac
done
! "$program" --store tape 2>/dev/null
