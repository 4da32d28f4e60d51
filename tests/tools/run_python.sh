#!/bin/sh
# A Python test as a shell one: needs no Python toolchain of Bazel's.
PYTHONDONTWRITEBYTECODE=1 exec python3 "$@"
