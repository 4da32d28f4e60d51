#!/bin/sh
# Installs the library into a folder and builds and runs an application against it, outside Bazel:
# with make and pkg-config, shared and static, and with CMake where there is one.
set -eu
shared=$1
static=$2
root=$PWD
prefix=$TEST_TMPDIR/installed
work=$TEST_TMPDIR/consumer
pool=$TEST_TMPDIR/pool
mkdir -p "$work" "$pool"

tools/packaging/install_files.py --prefix "$prefix" --root "$root" \
  --shared "$shared" --static "$static"
cp examples/consumer/main.cc examples/consumer/Makefile examples/consumer/CMakeLists.txt "$work"
cd "$work"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig

# Runs a program of the two and checks that it saw what the runs before it had committed.
expect_start() {
  said=$(LD_LIBRARY_PATH=$prefix/lib "$2" "$pool")
  echo "$2: $said"
  [ "$said" = "start number $1" ] || exit 1
}

make -s counter
expect_start 1 ./counter
make -s static
expect_start 2 ./counter-static
if command -v cmake >/dev/null; then
  cmake -B build -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
  cmake --build build >/dev/null
  expect_start 3 build/counter
else
  echo "no cmake here: its package is not tried"
fi
