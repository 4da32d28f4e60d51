#!/usr/bin/env python3
"""Prints a header with its comments as Doxygen wants them: as_documentation.py FILE.

A comment on lines of its own documents what follows (///); one behind a declaration documents that
(///<), with the lines below it that go on where it began. What is set apart by dashes is a heading
of the source, and stays a comment. What Doxygen would take for a command is escaped.
"""

import re
import sys

OWN_LINE = re.compile(r"^(\s*)//(?!/) ?(.*)$")
BEHIND = re.compile(r"^([^#}].*[;,{}\w)])(\s+)//(?!/) ?(.*)$")
NOT_FOR_READERS = re.compile(r"// ?(---|IWYU|NOLINT)")


def escaped(text):
    return re.sub(r"([\\@<>&#%])", r"\\\1", text)


def documentation(lines):
    lines = list(lines)
    column = None  # of a comment behind a declaration, with which the next line may go on
    if OWN_LINE.match(lines[0]):
        yield "/// @file"  # what a header begins with is about the header
    for line in lines:
        own, behind = OWN_LINE.match(line), BEHIND.match(line)
        if NOT_FOR_READERS.search(line):
            yield line
            column = None
        elif own:
            goes_on = len(own[1]) == column
            yield f"{own[1]}///{'<' if goes_on else ''} {escaped(own[2])}"
            column = column if goes_on else None
        elif behind:
            yield f"{behind[1]}{behind[2]}///< {escaped(behind[3])}"
            column = len(behind[1]) + len(behind[2])
        else:
            yield line
            column = None


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        for line in documentation(source.read().splitlines()):
            print(line)


if __name__ == "__main__":
    main()
