#!/bin/sh
# Writes the public C++ API as HTML to out/doc/html. What Doxygen warns of is an error: a public
# name without a word about it, or a comment that it cannot read.
set -eu
mkdir -p out/doc
rm -rf out/doc/html
doxygen tools/doc/Doxyfile || {
  echo "tools/doc/Doxyfile: Doxygen has something against the public headers, see above"
  exit 1
}
