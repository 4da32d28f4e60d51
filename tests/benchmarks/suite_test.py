#!/usr/bin/env python3
"""The whole suite runs for a moment and writes a page and figures that can be compared.

    suite_test.py SUITE PROGRAMS
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

SUITE = PROGRAMS = None


def jobs():
    """The names of rows that the files of jobs stand for."""
    names = set()
    folder = os.path.join(os.path.dirname(SUITE), "..", "jobs")
    for file in os.listdir(folder):
        if file.endswith(".job"):
            with open(os.path.join(folder, file), encoding="utf-8") as text:
                names |= {"load/" + name for name in re.findall(r"^\[(\w+)\]", text.read(), re.M)
                          if name != "global"}
    return names


class SuiteTest(unittest.TestCase):
    def test_everything_is_measured_drawn_and_comparable(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR", "/var/tmp")) as folder:
            out = os.path.join(folder, "out")
            work = os.path.join(folder, "work")
            os.mkdir(work)
            done = subprocess.run(
                [sys.executable, "-B", SUITE, "--programs", PROGRAMS, "--out", out, "--dir", work,
                 "--moment", "--commit", "0123abc"],
                capture_output=True, text=True, timeout=1500, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.listdir(work), [])
            path = os.path.join(out, "bench.json")
            with open(path, encoding="utf-8") as figures:
                bench = json.load(figures)
            self.assertEqual(bench["settings"]["commit"], "0123abc")
            families = {row["id"].split("/")[0] for row in bench["rows"]}
            self.assertEqual(families, {"peers", "load", "space", "tiers", "scale", "micro"})
            for row in bench["rows"]:
                self.assertGreater(min(row["values"]), 0, row["id"])
                self.assertIn(row["better"], ("more", "less"))
            # In a moment nothing large may come to its end; then it says so.
            for row in bench["not_measured"]:
                self.assertIn("no operation came to its end", row["why"], row["id"])
            everything = [row["id"] for row in bench["rows"] + bench["not_measured"]]
            self.assertEqual(len(set(everything)), len(everything))
            self.assertEqual({name for name in everything if name.startswith("load/")}, jobs())
            with open(os.path.join(out, "report.html"), encoding="utf-8") as page:
                text = page.read()
            for section in ("Beside what one would use", "A pool under load",
                            "nearly full", "too small", "Very many objects", "Parts on their own"):
                self.assertIn(section, text)
            compared = subprocess.run(
                [os.path.join(PROGRAMS, "tools", "hexad"), "bench", "compare", path, path, "--json"],
                capture_output=True, text=True, check=True)
            verdicts = json.loads(compared.stdout)
            # Of one run each nothing can be said.
            self.assertGreater(verdicts["not_judged"], 0)
            self.assertEqual((verdicts["better"], verdicts["worse"]), (0, 0))


if __name__ == "__main__":
    PROGRAMS = os.path.abspath(sys.argv.pop(2))
    SUITE = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
