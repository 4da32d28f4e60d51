#!/bin/sh
# Builds the wheel for every other Python that is supported and is on this machine, and imports and
# uses it there: python_versions.sh [PYTHON...]
# The engine comes from the wheel that tools/build/python_package.sh has built. A Python without its
# headers, or for which PyPI has no nanobind, is left out, and that is said.
set -eu
cd -- "$(dirname -- "$0")/../.."
. tools/setup/environment.sh

# In PATH, or where pyenv keeps them; its stand-ins for those that are not chosen do not run.
find_python() {
  for found in "$(command -v "$1" || true)" "$HOME"/.pyenv/versions/"${1#python}".*/bin/"$1"; do
    [ -x "$found" ] && "$found" -c "" 2>/dev/null && echo "$found" && return
  done
  return 0
}

if [ $# -eq 0 ]; then
  set -- python3.10 python3.11 python3.12 python3.13 python3.13t python3.14 python3.14t
fi
built=$(.venv/bin/python -c 'import sys; print(sys.version_info[:2])')
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
absent=
for name in "$@"; do
  python=$(find_python "$name")
  if [ -z "$python" ]; then
    absent="$absent $name"
    continue
  fi
  version=$("$python" -c 'import sys; print(sys.version_info[:2])')
  free=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)')
  # The one of .venv has been tested; but for its kind without a GIL, and when it is asked for.
  [ "$version" != "$built" ] || [ "$free" = 1 ] || [ $# -eq 1 ] || continue
  include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  if [ ! -f "$include/Python.h" ]; then
    echo "$python: left out: its headers are not installed ($include)"
    continue
  fi
  venv=$folder/venv
  rm -rf "$venv"
  if ! "$python" -m venv --without-pip "$venv"; then
    echo "$python: left out: it makes no virtual environment"
    continue
  fi
  pip=".venv/bin/python -m pip --python $venv/bin/python --disable-pip-version-check --quiet"
  if ! $pip install --requirement python/requirements-build.txt; then
    echo "$python: left out: PyPI has not what building takes"
    continue
  fi
  # Unpacked there: the pip of .venv may not know what newer Pythons call their wheels.
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
  echo "$python: building the wheel, and using it"
  if HEXAD_PREFIX="$PWD/python/.build/engine" $pip wheel --no-deps --no-build-isolation \
    --wheel-dir "$folder/wheels" . >"$folder/log" 2>&1 &&
    "$venv/bin/python" -m zipfile -e "$folder"/wheels/hexad-*.whl "$site" &&
    "$venv/bin/python" -I tools/testing/python_smoke.py; then
    rm -rf "$folder/wheels"
  else
    tail -n 40 "$folder/log"
    echo "$python: FAILED"
    status=1
  fi
done
[ -z "$absent" ] || echo "not on this machine, so left out:$absent"
exit $status
