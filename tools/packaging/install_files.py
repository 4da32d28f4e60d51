#!/usr/bin/env python3
"""Lays down what applications outside this tree need to use hexad:

  PREFIX/include/hexad/hexad.h         and the headers that it includes
  PREFIX/lib/libhexad.so.0, .so, .a
  PREFIX/lib/pkgconfig/hexad.pc
  PREFIX/lib/cmake/hexad/hexad-config.cmake

tools/install builds the libraries and calls this.
"""

import argparse
import os
import re
import shutil

VERSION = "0.1.0"
MAIN_HEADER = "core/hexad.h"
INCLUDE = re.compile(r'^(\s*#\s*include\s*)"([^"]+)"', re.M)
# Debian's libraries below libhexad.a; the shared library brings them along by itself.
SYSTEM_LIBRARIES = (
    "-lisal -lJerasure -lgf_complete -llmdb -luring -lzstd -lsnappy -llz4 -lz -lxxhash -pthread"
)

PC = """\
prefix={prefix}
libdir=${{prefix}}/lib
includedir=${{prefix}}/include

Name: hexad
Description: Embeddable erasure-coded object store
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -lhexad
Libs.private: {system}
"""

CMAKE = """\
# Targets hexad::hexad (shared) and hexad::static. Both need C++20.
get_filename_component(_hexad_prefix "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
set(hexad_VERSION {version})
if(NOT TARGET hexad::hexad)
  add_library(hexad::hexad SHARED IMPORTED)
  set_target_properties(hexad::hexad PROPERTIES
    IMPORTED_LOCATION "${{_hexad_prefix}}/lib/libhexad.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${{_hexad_prefix}}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20)
  add_library(hexad::static STATIC IMPORTED)
  set_target_properties(hexad::static PROPERTIES
    IMPORTED_LOCATION "${{_hexad_prefix}}/lib/libhexad.a"
    INTERFACE_INCLUDE_DIRECTORIES "${{_hexad_prefix}}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "{system}")
endif()
unset(_hexad_prefix)
"""


def public_headers(root):
    """Paths from the top of the tree, of the main header and all that it includes."""
    found, waiting = set(), [MAIN_HEADER]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        with open(os.path.join(root, path), encoding="utf-8") as header:
            waiting += [name for _, name in INCLUDE.findall(header.read())]
    return sorted(found)


def install_header(root, path, include):
    """Includes become "hexad/...", so that one -I is enough and no name is taken from others."""
    target = os.path.join(include, "hexad.h" if path == MAIN_HEADER else path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(os.path.join(root, path), encoding="utf-8") as header:
        text = INCLUDE.sub(r'\1"hexad/\2"', header.read())
    with open(target, "w", encoding="utf-8") as header:
        header.write(text)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--root", required=True, help="top of the tree, for the headers")
    parser.add_argument("--shared", required=True, help="the built libhexad.so")
    parser.add_argument("--static", required=True, help="the built libhexad.a")
    options = parser.parse_args()
    prefix = os.path.abspath(options.prefix)
    libraries = os.path.join(prefix, "lib")
    headers = public_headers(options.root)
    for path in headers:
        install_header(options.root, path, os.path.join(prefix, "include", "hexad"))
    os.makedirs(libraries, exist_ok=True)
    for source, name in ((options.shared, "libhexad.so.0"), (options.static, "libhexad.a")):
        target = os.path.join(libraries, name)
        if os.path.exists(target):
            os.unlink(target)  # built files are read-only, and somebody may be running it
        shutil.copyfile(source, target)
        os.chmod(target, 0o755 if name.endswith(".0") else 0o644)
    link = os.path.join(libraries, "libhexad.so")
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink("libhexad.so.0", link)
    values = {"prefix": prefix, "version": VERSION, "system": SYSTEM_LIBRARIES}
    write(os.path.join(libraries, "pkgconfig", "hexad.pc"), PC.format(**values))
    write(os.path.join(libraries, "cmake", "hexad", "hexad-config.cmake"), CMAKE.format(**values))
    print(f"installed {len(headers)} headers, libhexad.so, libhexad.a below {prefix}")


if __name__ == "__main__":
    main()
