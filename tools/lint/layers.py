#!/usr/bin/env python3
"""Checks who includes whom.

  base <- io <- {alloc, ec, compression, kv} <- core <- {python, tools, examples, benchmarks}

The four in the middle do not know each other. Third-party headers appear in
library folders in .cc files only, so that nobody who includes one of our
headers needs them. tests and benchmarks see everything.
"""

import os
import re
import sys

MIDDLE = ["alloc", "ec", "compression", "kv"]
LIBRARIES = ["base", "io", *MIDDLE, "core"]
ABOVE = ["python", "tools", "examples"]

MAY_INCLUDE = {
    "base": {"base"},
    "io": {"base", "io"},
    **{middle: {"base", "io", middle} for middle in MIDDLE},
    "core": set(LIBRARIES),
    **{above: {*LIBRARIES, above} for above in ABOVE},
}

# A test beside the code it tests may also use the shared helpers under tests/.
TEST_FILE = re.compile(r"_(test|benchmark|testing)\.(h|cc)$|/testing/")

THIRD_PARTY = re.compile(
    r"(lmdb\.h|isa-l|isal|zstd|zdict|snappy|lz4|zlib\.h|xxh|liburing|jerasure|gf_\w+\.h"
    r"|fmt/|CLI/|nlohmann/|catch2/|benchmark/)"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def sources():
    for top in sorted(MAY_INCLUDE):
        for folder, folders, names in os.walk(top):
            folders[:] = [one for one in folders if not one.startswith(".")]  # built files
            for name in sorted(names):
                if name.endswith((".h", ".cc")):
                    yield top, os.path.join(folder, name)


def problem(top, path, quote, target):
    """What is wrong with this include and what to do about it, or None."""
    is_test = TEST_FILE.search(path) is not None
    if THIRD_PARTY.match(target):
        if top in LIBRARIES and path.endswith(".h") and not is_test:
            return f"third-party header <{target}> in a header; move its use into the .cc file"
        return None
    if quote == "<":
        return None
    target_top = target.split("/")[0]
    if "/" not in target:
        return f'write the include from the top of the tree: "{os.path.dirname(path)}/{target}"'
    if target_top in MAY_INCLUDE[top]:
        return None
    if is_test and target_top == "tests":
        return None
    allowed = " ".join(sorted(MAY_INCLUDE[top]))
    return (
        f'{top} includes "{target}", but may include only: {allowed}; '
        f"declare an interface in {top} and let a higher layer implement it"
    )


def main():
    found = 0
    for top, path in sources():
        with open(path, encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                if match := INCLUDE.match(line):
                    if what := problem(top, path, *match.groups()):
                        print(f"{path}:{number}: {what}")
                        found += 1
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
