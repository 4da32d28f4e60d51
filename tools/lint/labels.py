#!/usr/bin/env python3
"""Checks that each label of a rule (R9, PN2) names one rule, and that what is cited is there.

The table in section "Labels" of doc/invariants.md says where the rules of each prefix are at home.

A rule is defined by
  * a line of a comment that begins with three blanks and its label:     //   PN2 the reader reads
  * in doc/invariants.md a row of a table that begins with its label:    | R9 | space freed at f
    if its prefix is at home there. Rows of other prefixes ("| N1 |", "| C1-C5 |") repeat rules.

A rule is cited by its label anywhere in C++ and in mutations, in the comments of scripts and BUILD
files, and in documentation outside of code. A range, "C1 to C5", cites both of its ends.
"""

import os
import re
import subprocess
import sys

HOME_DOC = "doc/invariants.md"
TABLE = f'the table in section "Labels" of {HOME_DOC}'
PATTERNS = ["*.h", "*.cc", "*.py", "*.sh", "*.bzl", "*.md", "BUILD", "run", "*.patch"]
ADVICE = f"give one another number, or its list a prefix that is free and a row in {TABLE}"
# Look like labels and are names.
NAMES = {"LZ4"}

LABEL = r"(?<![A-Za-z0-9_])[A-Z]{1,2}[1-9]\d?(?![A-Za-z0-9_])"
LABELS = rf"{LABEL}(?:(?:, | and | to |-){LABEL})*"
MAYBE = re.compile(r"[A-Z][1-9]")  # is quick, and most lines have none
DEFINITION = re.compile(rf"\s*(?://|#)   ({LABEL}) +\S")
ROW = re.compile(rf"\| ({LABELS}) \|")
HOME_ROW = re.compile(r"\| ([A-Z]{1,2}) \|[^|]*\|([^|]*)\|")
PATH = r"`?(?P<path>(?:\w+/)*\w+\.(?:h|cc|md))`?"
# "P2 of alloc/root_choice.h" and "`alloc/root_choice.h`, P2": it should be at home there.
PLACED = [
    re.compile(rf"(?P<labels>{LABELS}) (?:of|in) {PATH}"),
    re.compile(rf"{PATH}, (?P<labels>{LABELS})(?!, [A-Z]| and | to |-| of | in )"),
]


def prefix_of(label):
    return label.rstrip("0123456789")


def all_of(labels):
    """Every label that "C1-C3, C7" stands for."""
    for part in re.split(r", | and ", labels):
        ends = re.findall(LABEL, part)
        first, last = (int(end[len(prefix_of(end)) :]) for end in (ends[0], ends[-1]))
        yield from (f"{prefix_of(ends[0])}{number}" for number in range(first, last + 1))


def prose_of(path, text):
    """(number, line) of what may cite, without what is code."""
    fenced = False
    comment_only = path.endswith((".py", ".sh", ".bzl")) or "." not in os.path.basename(path)
    for number, line in enumerate(text.split("\n"), 1):
        if path.endswith(".md"):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if not fenced and not line.startswith("    "):
                yield number, line
        elif not comment_only:
            yield number, line
        elif "#" in line:
            yield number, line[line.index("#") :]


class Labels:
    def __init__(self):
        self.found = 0
        self.homes = {}  # prefix -> files
        self.defined = {}  # label -> where
        self.repeated = {}  # label -> where its row is in HOME_DOC
        self.cited = []  # (where, label)
        self.placed = []  # (where, label, file that the citation names)

    def problem(self, where, what):
        print(f"{where}: {what}")
        self.found += 1

    def read_homes(self):
        with open(HOME_DOC, encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                if not (row := HOME_ROW.match(line)):
                    continue
                where, prefix, home = f"{HOME_DOC}:{number}", row[1], row[2]
                files = re.findall(r"`([^`]+)`", home) + [HOME_DOC] * ("](#" in home)
                if prefix in self.homes:
                    self.problem(where, f"{prefix} has two rows; a list needs a prefix of its own")
                if not files:
                    self.problem(where, f"{prefix} has no home: name its header, or link a section")
                for path in files:
                    if not os.path.isfile(path):
                        self.problem(where, f"{path}, home of {prefix}, is not there")
                self.homes[prefix] = files

    def read(self, path):
        with open(path, encoding="utf-8", errors="replace") as source:
            text = source.read()
        for number, line in prose_of(path, text):
            if not MAYBE.search(line):
                continue
            where = f"{path}:{number}"
            if path == HOME_DOC and (row := ROW.match(line)):
                self.row(where, row[1])
            elif not path.endswith((".md", ".patch")) and (definition := DEFINITION.match(line)):
                self.define(where, path, definition[1])
            if path.endswith(".md"):
                prose = re.sub(r"`[^`]*`", "", line)
            else:
                prose = line
            self.cited += ((where, label) for label in re.findall(LABEL, prose))
            for pattern in PLACED:
                for match in pattern.finditer(line):
                    labels = re.findall(LABEL, match["labels"])
                    self.placed += ((where, label, match["path"]) for label in labels)

    def row(self, where, labels):
        for label in all_of(labels):
            if HOME_DOC in self.homes.get(prefix_of(label), [HOME_DOC]):
                self.define(where, HOME_DOC, label)
                continue
            self.cited.append((where, label))  # each one of a range
            if label in self.repeated:
                self.problem(where, f"{label} has a row in {self.repeated[label]}, too; {ADVICE}")
            self.repeated[label] = where

    def define(self, where, path, label):
        homes = self.homes.get(prefix_of(label))
        if label in self.defined:
            self.problem(where, f"{label} is defined in {self.defined[label]}, too; {ADVICE}")
        elif not homes:
            self.problem(where, f"{label} is defined, and {prefix_of(label)} has no row in {TABLE}")
        elif path not in homes:
            home = ", ".join(homes)
            what = f"{label} is defined here, and {prefix_of(label)} is at home in {home}"
            self.problem(where, f"{what}; {ADVICE}")
        self.defined.setdefault(label, where)

    def compare(self):
        for where, label in self.cited:
            if label not in self.defined and label not in NAMES:
                self.problem(where, f"{label} is cited and defined nowhere; {self.remedy(label)}")
        for where, label, path in self.placed:
            homes = self.homes.get(prefix_of(label))
            if homes and not any(f"/{home}".endswith(f"/{path}") for home in homes):
                home = ", ".join(homes)
                what = f"{label} is not a rule of {path}: {prefix_of(label)} is at home in {home}"
                self.problem(where, what)
        at_home = {
            (prefix_of(label), where.rpartition(":")[0]) for label, where in self.defined.items()
        }
        for prefix, homes in self.homes.items():
            for path in homes:
                if (prefix, path) not in at_home:
                    what = f"{path}, home of {prefix}, defines no rule with that prefix"
                    self.problem(HOME_DOC, f"{what}; take it out of {TABLE}")

    def remedy(self, label):
        homes = self.homes.get(prefix_of(label))
        if not homes:
            names = f"a name that is no label belongs to NAMES in {sys.argv[0]}"
            return f"no prefix {prefix_of(label)} is in {TABLE}; {names}"
        ours = [other for other in self.defined if prefix_of(other) == prefix_of(label)]
        ours.sort(key=lambda other: int(other[len(prefix_of(other)) :]))
        return f"{', '.join(homes)} has {', '.join(ours)}: cite one of these, or define it there"


def main():
    listing = subprocess.run(
        ["tools/lint/sources.sh", *PATTERNS], check=True, capture_output=True, text=True
    )
    labels = Labels()
    labels.read_homes()
    for path in listing.stdout.split():
        if path.startswith("third_party/") or path == "tools/lint/labels.py":
            continue
        labels.read(path)
    labels.compare()
    sys.exit(1 if labels.found else 0)


if __name__ == "__main__":
    main()
