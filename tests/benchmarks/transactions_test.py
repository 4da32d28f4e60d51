#!/usr/bin/env python3
"""The benchmark of small transactions runs, measures every row, and leaves nothing behind.

    transactions_test.py PROGRAM
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
CONTEST = {f"{kind}_{together}_{callers}"
           for kind in ("create", "setattr", "omap") for together in (1, 100) for callers in (1, 16)}
ROWS = CONTEST | {"page", "list", "split", "merge", "clone_omap"}


class Transactions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR", "/var/tmp"))
        self.addCleanup(folder.cleanup)
        self.work = os.path.join(folder.name, "work")
        self.json = os.path.join(folder.name, "figures.json")
        os.mkdir(self.work)

    def run_quickly(self, *arguments):
        return subprocess.run(
            [PROGRAM, "--dir", self.work, "--quick", "--objects=3000", "--repetitions=1", *arguments],
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
        rocksdb = "measured" in figures["settings"]["RocksDB"]
        for name in CONTEST:
            with self.subTest(name):
                self.assertGreater(rows[name]["counted"]["LMDB operations/s"], 0)
                self.assertEqual("RocksDB operations/s" in rows[name]["counted"], rocksdb)

    def test_a_row_that_is_not_there_is_refused(self):
        result = self.run_quickly("--only=no_such_row")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no row 'no_such_row'", result.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
