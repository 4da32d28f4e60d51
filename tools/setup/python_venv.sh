#!/bin/sh
# Makes .venv, the virtual environment of this tree, where it is missing or of another time, with
# what building the Python package takes: python_venv.sh [--tests] [--bench]
# --tests, --bench: with what its tests take, and what its benchmark compares with.
set -eu
cd -- "$(dirname -- "$0")/../.."

venv=.venv
pip="$venv/bin/python -m pip --disable-pip-version-check"

# A venv holds absolute paths: one that was copied or moved along is made anew.
base=$(python3 --version; pwd)
if [ ! -x $venv/bin/python ] || [ "$(cat $venv/hexad-base 2>/dev/null)" != "$base" ]; then
  echo "setup: making $venv"
  python3 -m venv --clear $venv
  echo "$base" >$venv/hexad-base
fi

# install FILE: what it names, unless that is there already.
install() {
  stamp=$venv/hexad-$(basename "$1")
  ! cmp -s "$1" "$stamp" || return 0
  echo "setup: installing what $1 names (from PyPI) into $venv"
  $pip install --quiet --requirement "$1"
  cp "$1" "$stamp"
}

install python/requirements-build.txt
for more in "$@"; do
  case $more in
    --tests) install python/requirements-test.txt ;;
    --bench) install python/requirements-bench.txt ;;
    *)
      echo "python_venv.sh: '$more' is not known" >&2
      exit 2
      ;;
  esac
done
