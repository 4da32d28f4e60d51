#!/usr/bin/env python3
"""Counts test cases in a Bazel build event file; prints "PASSED FAILED SKIPPED".

A test program's own summary, at the end of its log, gives the numbers. A
program that prints none counts as one case.
"""

import json
import re
import sys
import urllib.parse


def summary_of(log):
    """(passed, failed, skipped) as Catch2, unittest or pytest reported them, or None."""
    if found := re.findall(r"^All tests passed \(.* in (\d+) test cases?\)", log, re.M):
        return sum(map(int, found)), 0, 0
    if found := re.findall(r"^test cases: +(\d+) \|(.*)$", log, re.M):
        total, rest = found[-1]
        failed = re.search(r"(\d+) failed *(\||$)", rest)
        failed = int(failed[1]) if failed else 0
        return int(total) - failed, failed, 0
    if found := re.findall(r"^Ran (\d+) tests? in .*\n\n(?:OK|FAILED)(.*)$", log, re.M):
        passed = failed = skipped = 0
        for total, detail in found:
            numbers = dict(re.findall(r"(\w+)=(\d+)", detail))
            bad = int(numbers.get("failures", 0)) + int(numbers.get("errors", 0))
            left_out = int(numbers.get("skipped", 0))
            failed += bad
            skipped += left_out
            passed += int(total) - bad - left_out
        return passed, failed, skipped
    if found := re.findall(r"^=+ (.*) in [\d.]+s.* =+$", log, re.M):
        numbers = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", found[-1])}
        failed = numbers.get("failed", 0) + numbers.get("errors", 0) + numbers.get("error", 0)
        return numbers.get("passed", 0), failed, numbers.get("skipped", 0)
    return None


def read_log(event):
    for output in event.get("testActionOutput", []):
        if output["name"] == "test.log" and output.get("uri", "").startswith("file://"):
            path = urllib.parse.unquote(output["uri"][len("file://"):])
            with open(path, encoding="utf-8", errors="replace") as log:
                return log.read()
    return ""


def main():
    tests = set()  # labels that should have run
    totals = {}  # (label, run, shard) -> (passed, failed, skipped); the last attempt wins
    with open(sys.argv[1], encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            if "targetConfigured" in event["id"]:
                kind = event.get("configured", {}).get("targetKind", "")
                if kind.endswith("_test rule"):
                    tests.add(event["id"]["targetConfigured"]["label"])
            if "testResult" in event["id"] and "testResult" in event:  # not one that was interrupted
                where = event["id"]["testResult"]
                key = where["label"], where.get("run", 1), where.get("shard", 1)
                ok = event["testResult"].get("status") == "PASSED"
                counts = summary_of(read_log(event["testResult"]))
                passed, failed, skipped = counts or ((1, 0, 0) if ok else (0, 1, 0))
                if not ok and failed == 0:
                    failed = 1  # it crashed, ran out of time, or a sanitizer spoke
                totals[key] = passed, failed, skipped

    never_ran = tests - {label for label, _, _ in totals}
    sums = [sum(column) for column in zip(*totals.values())] or [0, 0, 0]
    sums[1] += len(never_ran)
    for label in sorted(never_ran):
        print(f"did not build: {label}", file=sys.stderr)
    print(*sums)


if __name__ == "__main__":
    main()
