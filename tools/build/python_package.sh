#!/bin/sh
# Builds the wheel of the Python package and installs it into .venv, which tools/setup/python_venv.sh
# has made. The wheel stays in python/.build/wheels.
set -eu
cd -- "$(dirname -- "$0")/../.."
. tools/setup/environment.sh

pip=".venv/bin/python -m pip --disable-pip-version-check"
wheels=python/.build/wheels
rm -rf $wheels
log=$(mktemp)
trap 'rm -f "$log"' EXIT
$pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $wheels . >"$log" 2>&1 || {
  tail -n 60 "$log"
  exit 1
}
$pip install --quiet --no-deps --force-reinstall $wheels/hexad-*.whl
