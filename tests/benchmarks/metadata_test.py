#!/usr/bin/env python3
"""The benchmark of metadata runs, measures every row, and leaves nothing behind.

    metadata_test.py PROGRAM
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
ROWS = {"index_per_object", "runs_per_object", "rate_with_checkpoints", "runs_per_update",
        "index_per_update", "fill", "reopen", "rebuild", "fill_runs_only", "reopen_runs_only"}


class Metadata(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR", "/var/tmp"))
        self.addCleanup(folder.cleanup)
        self.work = os.path.join(folder.name, "work")
        self.json = os.path.join(folder.name, "figures.json")
        os.mkdir(self.work)

    def run_quickly(self, *arguments):
        return subprocess.run(
            [PROGRAM, "--dir", self.work, "--quick", "--objects=2000", "--repetitions=1", *arguments],
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )

    def test_every_row_is_measured_and_nothing_stays(self):
        result = self.run_quickly("--json", self.json, "--commit", "0123abc")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.work), [])
        with open(self.json, encoding="utf-8") as figures:
            figures = json.load(figures)
        self.assertEqual(figures["settings"]["commit"], "0123abc")
        rows = {row["id"]: row for row in figures["rows"]}
        self.assertEqual(set(rows), ROWS)
        for row in rows.values():
            with self.subTest(row["id"]):
                self.assertGreater(row["value"], 0)
                self.assertIn("| " + row["what"] + " |", result.stdout)
        for name in ("reopen", "rebuild", "reopen_runs_only"):
            self.assertGreaterEqual(rows[name]["counted"]["objects"], 2000)
        self.assertGreater(rows["reopen"]["counted"]["index, MiB"], 0)
        self.assertEqual(rows["reopen_runs_only"]["counted"]["index, MiB"], 0)
        # The commits that the kill cut off were begun: more is in the log than a clean end leaves.
        self.assertGreater(rows["reopen"]["counted"]["log in use, MiB"], 0)

    def test_a_row_that_is_not_there_is_refused(self):
        result = self.run_quickly("--only=no_such_row")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no row 'no_such_row'", result.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
