#!/usr/bin/env python3
"""Breaks the rules of commits and checkpoints, one at a time, and sees whether a test notices.

Each *.patch beside this file is one bug: a header that names the rule of doc/invariants.md that it
breaks, the change in words, and the tests that must fail; then a unified diff. A header:

    Rule: R9
    Change: freed space is used again when its release is durable, not recorded
    Killed by: //tests/core/faults:commit_rules_test

A test that may run out of time instead of failing is followed by "(timeout)". Everything happens in
a copy of the tree. A hunk is found by its text alone, which must occur once in its file: patches
survive changes elsewhere in the file and cannot land in the wrong place.
"""

import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NOT_COPIED = (".git", ".bazel", "bazel-*", "__pycache__", ".venv", ".cache")
# A test that hangs under a mutation should not hold up the others for long.
TEST_TIMEOUT_S = 300


class Mutation:
    def __init__(self, path):
        header, _, diff = path.read_text(encoding="utf-8").partition("\n--- ")
        fields = dict(re.findall(r"^([A-Z][a-z ]+): +(\S.*)$", header, re.M))
        self.path = path
        self.rule = fields.get("Rule", "")
        self.change = fields.get("Change", "")
        killers = re.findall(r"(//\S+:\S+)( \(timeout\))?", fields.get("Killed by", ""))
        self.targets = [label for label, _ in killers]
        self.may_time_out = {label for label, timeout in killers if timeout}
        self.hunks = list(hunks_of("--- " + diff))

    @property
    def name(self):
        return self.path.stem.partition("-")[2]

    def problems(self):
        """What is wrong with it, as far as that can be seen without a build."""
        # Whether there is such a rule is seen by tools/lint/labels.py.
        label = re.fullmatch(r"([A-Z]{1,2})([1-9]\d?)", self.rule)
        if not label:
            yield "no 'Rule: <label>', as R9, in its header"
        elif not self.path.stem.startswith(f"{label[1]}{int(label[2]):02}-"):
            yield f"its name does not begin with that of its rule, {self.rule}"
        if not self.change:
            yield "no 'Change: <words>' in its header"
        if not self.targets:
            yield "no 'Killed by: //<test> ...' in its header"
        for label in self.targets:
            package, _, target = label[2:].partition(":")
            build = ROOT / package / "BUILD"
            named = build.is_file() and f'"{target}"' in build.read_text(encoding="utf-8")
            if not named and not (ROOT / package / f"{target}.cc").is_file():
                yield f"there is no test {label}"
        if not self.hunks:
            yield "no diff"
        try:
            self.mutated(ROOT)
        except ValueError as error:
            yield str(error)

    def mutated(self, tree):
        """The files as they are with the mutation: path -> text."""
        texts = {}
        for path, old, new in self.hunks:
            if path not in texts:
                texts[path] = (tree / path).read_text() if (tree / path).is_file() else ""
            found = texts[path].count(old)
            if found != 1:
                raise ValueError(f"{path} has {found} places for a hunk, not one:\n{old}")
            texts[path] = texts[path].replace(old, new)
        return texts


def hunks_of(diff):
    """(path, lines before, lines after) of each hunk of a unified diff."""
    for part in re.split(r"^--- ", diff, flags=re.M)[1:]:
        names, *hunks = re.split(r"^@@ .*\n", part, flags=re.M)
        path = re.search(r"^\+\+\+ b/(\S+)", names, re.M)[1]
        for hunk in hunks:
            lines = hunk.splitlines(keepends=True)
            yield (
                path,
                "".join(line[1:] or line for line in lines if line[0] in " -\n"),
                "".join(line[1:] or line for line in lines if line[0] in " +\n"),
            )


class Builder:
    """A copy of the tree, and the tests in it. One output base, so that builds are incremental."""

    def __init__(self, work):
        self.tree = work / "tree"
        self.base = work / "base"
        self.scratch = work / "tmp"
        shutil.rmtree(self.tree, ignore_errors=True)
        ignored = shutil.ignore_patterns(*NOT_COPIED)
        shutil.copytree(ROOT, self.tree, symlinks=True, ignore=ignored)
        self.scratch.mkdir(exist_ok=True)

    def bazel(self, *arguments):
        return subprocess.run(
            ["bazel", f"--output_base={self.base}", *arguments],
            cwd=self.tree,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )

    def test(self, targets):
        """label -> PASSED, FAILED, TIMEOUT, or whatever else Bazel says; and its output."""
        done = self.bazel(
            "test",
            "--config=opt",
            "--noshow_progress",
            "--test_summary=short",
            f"--test_timeout={TEST_TIMEOUT_S}",
            f"--test_env=TMPDIR={self.scratch}",  # a test that dies leaves its files here
            *targets,
        )
        status = dict(
            re.findall(r"^(//\S+) +(?:\(cached\) )?(FAILED TO BUILD|[A-Z]+)", done.stdout, re.M)
        )
        return status, done.stdout


def check_apply(mutations):
    bad = 0
    for mutation in mutations:
        for problem in mutation.problems():
            print(f"{mutation.path.relative_to(ROOT)}: {problem}")
            bad += 1
    return bad == 0


def table(mutations):
    rows = ["| rule | change | test that fails |", "|---|---|---|"]
    for mutation in mutations:
        tests = ", ".join(f"`{label}`" for label in mutation.targets)
        rows.append(f"| {mutation.rule} | {mutation.change} | {tests} |")
    return "\n".join(rows) + "\n"


def check_documented(mutations):
    document = ROOT / "doc" / "testing.md"
    if table(mutations) in document.read_text(encoding="utf-8"):
        return True
    print(f"{document.relative_to(ROOT)}: its table of mutations is not what --table prints")
    return False


def try_mutation(builder, mutation):
    """The tests that failed, whether any could be built, and what Bazel said."""
    texts = mutation.mutated(builder.tree)
    originals = {path: (builder.tree / path).read_text() for path in texts}
    try:
        for path, text in texts.items():
            (builder.tree / path).write_text(text)
        status, output = builder.test(mutation.targets)
    finally:
        for path, text in originals.items():
            (builder.tree / path).write_text(text)
    failed = [
        label
        for label in mutation.targets
        if status.get(label) == "FAILED"
        or (status.get(label) == "TIMEOUT" and label in mutation.may_time_out)
    ]
    # NO STATUS: another one did not build, and this one was not tried.
    built = any(status.get(label) in ("PASSED", "FAILED", "TIMEOUT") for label in mutation.targets)
    return failed, built, output


def run(mutations, work):
    """How many survive, or cannot be tried; None when the tests do not even pass without a mutation."""
    builder = Builder(work)
    try:
        targets = sorted({label for mutation in mutations for label in mutation.targets})
        status, output = builder.test(targets)
        broken = [label for label in targets if status.get(label) != "PASSED"]
        if broken:
            print(f"{output}\nwithout any mutation these do not pass: {' '.join(broken)}")
            return None
        survivors = 0
        for mutation in mutations:
            start = time.monotonic()
            failed, built, output = try_mutation(builder, mutation)
            seconds = f"({time.monotonic() - start:.0f} s)"
            if failed:
                what = f"killed by {' '.join(failed)}"
            else:
                survivors += 1
                # A patch that names what is not there any more has tried nothing.
                what = "SURVIVED" if built else "DOES NOT BUILD"
                print(output)
            print(f"{mutation.rule} {mutation.name} {what} {seconds}", flush=True)
        return survivors
    finally:
        builder.bazel("shutdown")


def main():
    parser = argparse.ArgumentParser(description="Mutations of the rules of commits and checkpoints.")
    add = parser.add_argument
    add("--only", metavar="PATTERN", nargs="+", default=[""],
        help="those whose file names begin so, as R09, K05 or R*-fence")
    add("--work", metavar="DIR", help="keep the copy and what is built in it here")
    add("--apply-only", action="store_true", help="look at headers, hunks and doc, build nothing")
    add("--table", action="store_true", help="print the table of doc/testing.md")
    options = parser.parse_args()

    patterns = [f"{start}*.patch" for start in options.only]
    # In the order of doc/invariants.md: those of commits before those of checkpoints.
    found = sorted(HERE.iterdir(), key=lambda path: (not path.name.startswith("R"), path.name))
    paths = [path for path in found if any(fnmatch.fnmatch(path.name, p) for p in patterns)]
    mutations = [Mutation(path) for path in paths]
    if not mutations:
        sys.exit(f"no mutation is named {' or '.join(patterns)}")
    if options.table:
        print(table(mutations), end="")
        return
    if not check_apply(mutations) or (options.only == [""] and not check_documented(mutations)):
        sys.exit(1)
    if options.apply_only:
        return

    start = time.monotonic()
    work = Path(options.work or tempfile.mkdtemp(prefix="hexad-mutations-")).resolve()
    try:
        survivors = run(mutations, work)
    finally:
        if not options.work:
            shutil.rmtree(work, ignore_errors=True)
    if survivors is None:
        sys.exit(2)
    if part_result := os.environ.get("HEXAD_PART_RESULT"):
        Path(part_result).write_text(f"{len(mutations) - survivors} {survivors} 0\n")
    seconds = time.monotonic() - start
    print(f"name=mutations states={len(mutations)} violations={survivors} secs={seconds:.0f}")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
