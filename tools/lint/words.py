#!/usr/bin/env python3
"""Finds what must not be handed in: unfinished work and paths of one machine."""

import os
import re
import subprocess
import sys

# Spelled in halves, so that this file passes its own check.
UNFINISHED = re.compile(
    r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|not (yet )?imple" r"mented|NotImple" r"mented"
)
HOME_PATH = re.compile(r"(?<![\w.])/(home|Users|root)/\w+")

PATTERNS = ["*.h", "*.cc", "*.py", "*.sh", "*.bzl", "*.md", "BUILD", "WORKSPACE", "run", "*.rc"]


def problems(line, machine_path):
    if match := UNFINISHED.search(line):
        yield f"'{match[0]}': finish it, or describe the limit in the documentation"
    if match := HOME_PATH.search(line):
        yield f"'{match[0]}' is a path of one machine; use a relative path or an argument"
    if re.search(rf"(?<![\w.]){re.escape(machine_path)}(/|\b)", line):
        yield f"'{machine_path}' is where this checkout happens to be; use a relative path"


def main():
    listing = subprocess.run(
        ["tools/lint/sources.sh", *PATTERNS], check=True, capture_output=True, text=True
    )
    found = 0
    for path in listing.stdout.split():
        with open(path, encoding="utf-8", errors="replace") as source:
            for number, line in enumerate(source, 1):
                for what in problems(line, os.getcwd()):
                    print(f"{path}:{number}: {what}")
                    found += 1
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
