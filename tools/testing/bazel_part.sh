#!/bin/sh
# A test part made of Bazel tests: bazel_part.sh CONFIG TAG_FILTERS [OPTION...] [-- TARGET...]
# Runs every test of TARGETs, all without any, that the tags select and writes down how many test cases
# passed.
set -eu
config=$1
tag_filters=$2
shift 2

case " $* " in
  *" -- "*) ;;
  *) set -- "$@" -- //... ;;
esac

events=$(mktemp)
trap 'rm -f "$events"' EXIT

status=0
bazel test --config="$config" --test_tag_filters="$tag_filters" --build_tests_only --keep_going \
  --build_event_json_file="$events" $HEXAD_BAZEL_UI ${HEXAD_TEST_OPTIONS:-} "$@" || status=$?

# 3 is "built, some tests failed", 4 is "no test has these tags"; the rest is
# a build that failed, which the events show as tests that never ran.
tools/testing/count_tests.py "$events" >"$HEXAD_PART_RESULT"
case $status in
  4) echo "no test has these tags: $tag_filters" ;;
  *) exit "$status" ;;
esac
