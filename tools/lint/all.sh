#!/bin/sh
# Every check of the source text. Each counts as one test; a failing one says
# what to do. Add a check by adding an executable to the list.
set -u
passed=0 failed=0
for check in format.sh layers.py words.py labels.py tests.py parameters.py spelling.sh headers.sh mutations.sh hints.py api_doc.sh; do
  if "tools/lint/$check"; then
    passed=$((passed + 1))
  else
    echo "tools/lint/$check failed"
    failed=$((failed + 1))
  fi
done
[ -z "${HEXAD_PART_RESULT:-}" ] || echo "$passed $failed 0" >"$HEXAD_PART_RESULT"
[ "$failed" -eq 0 ]
