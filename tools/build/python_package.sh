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
$pip wheel --verbose --no-deps --no-build-isolation --wheel-dir $wheels . >"$log" 2>&1 || {
  tail -n 60 "$log"
  exit 1
}

# An index takes no other; the backend (python/wheel_backend.py) says why it is none.
case $(echo $wheels/hexad-*.whl) in
  *manylinux*) ;;
  *)
    grep '^ *hexad: ' "$log" || tail -n 20 "$log"
    echo "python_package.sh: $(echo $wheels/hexad-*.whl) is not for any manylinux"
    exit 1
    ;;
esac
$pip install --quiet --no-deps --force-reinstall $wheels/hexad-*.whl
