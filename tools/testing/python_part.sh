#!/bin/sh
# Builds the wheel with pinned tools, installs it into .venv and runs python/tests
# against what is installed: python_part.sh [PYTEST_OPTION...]
# Without options the wheel is built and used with every other Python that is here, too
# (python_versions.sh).
# Writes down how many tests passed, for tools/testing/run_parts.sh.
set -eu
cd -- "$(dirname -- "$0")/../.."

tools/setup/python_venv.sh --tests
echo "python: building the wheel"
tools/build/python_package.sh

report=python/.build/pytest.xml
rm -f $report
status=0
# Not `pytest`: the package that counts is the installed one, not the folder here.
export PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY="$PWD/python/.build/hypothesis"
.venv/bin/python -P -m pytest --quiet -p no:cacheprovider \
  --rootdir python -c python/pyproject.toml --junitxml=$report "$@" python/tests || status=$?
[ $# -gt 0 ] || tools/testing/python_versions.sh || status=$?
[ -z "${HEXAD_PART_RESULT:-}" ] || [ ! -f $report ] || python3 - $report >"$HEXAD_PART_RESULT" <<'END'
import sys
import xml.etree.ElementTree

count = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
for suite in xml.etree.ElementTree.parse(sys.argv[1]).iter("testsuite"):
    for what in count:
        count[what] += int(suite.get(what, 0))
bad = count["failures"] + count["errors"]
print(count["tests"] - bad - count["skipped"], bad, count["skipped"])
END
exit "$status"
