#!/bin/sh
# Builds the wheel with pinned tools, installs it into .venv and runs python/tests
# against what is installed: python_part.sh [PYTEST_OPTION...]
# Writes down how many tests passed, for tools/testing/run_parts.sh.
set -eu
cd -- "$(dirname -- "$0")/../.."
. tools/setup/environment.sh

venv=.venv
requirements="python/requirements-build.txt python/requirements-test.txt"

# A venv holds absolute paths: one that was copied or moved along is made anew.
stamp=$(python3 --version; pwd; cat $requirements)
if [ ! -x $venv/bin/python ] || [ "$(cat $venv/hexad-stamp 2>/dev/null)" != "$stamp" ]; then
  echo "python: making $venv (packages of PyPI, about 60 MB)"
  python3 -m venv --clear $venv
  $venv/bin/python -m pip install --quiet --disable-pip-version-check \
    $(printf -- '--requirement %s ' $requirements)
  echo "$stamp" >$venv/hexad-stamp
fi
pip="$venv/bin/python -m pip --disable-pip-version-check"

wheels=python/.build/wheels
rm -rf $wheels
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "python: building the wheel"
$pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $wheels ./python >"$log" 2>&1 || {
  tail -n 60 "$log"
  exit 1
}
$pip install --quiet --no-deps --force-reinstall $wheels/hexad-*.whl

report=python/.build/pytest.xml
rm -f $report
status=0
# Not `pytest`: the package that counts is the installed one, not the folder here.
$venv/bin/python -P -m pytest --quiet -p no:cacheprovider --rootdir python -c python/pyproject.toml \
  --junitxml=$report "$@" python/tests || status=$?
[ -z "${HEXAD_PART_RESULT:-}" ] || [ ! -f $report ] || python3 - $report >"$HEXAD_PART_RESULT" <<'EOF'
import sys
import xml.etree.ElementTree

count = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
for suite in xml.etree.ElementTree.parse(sys.argv[1]).iter("testsuite"):
    for what in count:
        count[what] += int(suite.get(what, 0))
bad = count["failures"] + count["errors"]
print(count["tests"] - bad - count["skipped"], bad, count["skipped"])
EOF
exit "$status"
