#!/usr/bin/env python3
"""Checks who includes whom.

  base <- io <- {alloc, ec, compression, kv} <- core <- {python, tools, examples, benchmarks}

The four in the middle do not know each other. Third-party headers appear in
library folders in .cc files only, so that nobody who includes one of our
headers needs them. tests and benchmarks see everything.

Some folders have rooms, which stand in an order, too: a room includes itself
and those above it in ROOMS.
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

# Lowest first; "" is the folder itself. Rooms that stand in one line do not know each other.
ROOMS = {
    "io": [[""], ["lines"], ["rbd", "sim"], ["os"]],
    "kv": [[""], ["log", "run", "lmdb", "memory"], ["tiered"]],
    "core": [
        [room]
        for room in (
            "api",
            "stats",
            "job",
            "record",
            "space",
            "blob",
            "cache",
            "metadata",
            "read",
            "plan",
            "commit",
            "membership",
            "runs",
            "check",
            "clean",
            "jobs",
            "opening",
            "transact",
            "devices",
            "control",
            "report",
            "engine",
            "",
        )
    ],
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


def room_of(path):
    """core/space/reserve.h: space; core/store.h: the folder itself."""
    folders = path.split("/")[1:-1]
    return folders[0] if folders else ""


def room_problem(top, room, target):
    """What is wrong with an include between two rooms of a folder, or None."""
    floor = {one: number for number, rooms in enumerate(ROOMS[top]) for one in rooms}
    for one in (room, target):
        if one not in floor:
            return f"{top}/{one} is no room of {top}: give it a place in ROOMS of {sys.argv[0]}"
    if room == target or floor[target] < floor[room]:
        return None
    return (
        f"{top}/{room} includes {top}/{target}, which does not stand below it; declare an interface in "
        f"{top}/{room} and let the other implement it, or move what both need below them"
    )


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
    if target_top == top and top in ROOMS and not is_test:
        return room_problem(top, room_of(path), room_of(target))
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
