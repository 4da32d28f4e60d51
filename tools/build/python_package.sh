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

# Its name says which C library it takes, as an index wants it; what else it needs it brings along.
tag=$(.venv/bin/python -m auditwheel show $wheels/hexad-*.whl 2>"$log" |
  sed -n 's/.*\(manylinux_[0-9]*_[0-9]*_x86_64\).*/\1/p' | head -n 1)
[ -n "$tag" ] || {
  tail -n 20 "$log"
  echo "python_package.sh: auditwheel names no manylinux that the wheel would run on"
  exit 1
}
.venv/bin/python -m wheel tags --remove --platform-tag "$tag" $wheels/hexad-*.whl >"$log"
$pip install --quiet --no-deps --force-reinstall $wheels/hexad-*.whl
