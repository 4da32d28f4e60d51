#!/usr/bin/env python3
"""The benchmark of small transactions runs, measures every row, and leaves nothing behind.

    transactions_test.py PROGRAM
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_testing import ProgramTest, main  # pylint: disable=wrong-import-position

CONTEST = {f"{kind}_{together}_{callers}"
           for kind in ("create", "setattr", "omap") for together in (1, 100) for callers in (1, 16)}
ROWS = CONTEST | {"page", "list", "split", "merge", "clone_omap"}


class Transactions(ProgramTest):
    QUICKLY = ("--objects=3000", "--repetitions=1")

    def test_every_row_is_measured_and_nothing_stays(self):
        _, settings, rows = self.measure()
        self.assertEqual(set(rows), ROWS)
        self.assertIn("sync", settings["LMDB"])
        expected = {"LMDB"}
        if "not in this build" not in settings["RocksDB, BlobDB"]:
            expected.add("RocksDB")
        for name in CONTEST:
            with self.subTest(name):
                rates = {key.removesuffix(" operations/s"): value
                         for key, value in rows[name]["counted"].items()
                         if key.endswith(" operations/s")}
                self.assertEqual(set(rates), expected)
                self.assertGreater(min(rates.values()), 0)

    def test_a_row_that_is_not_there_is_refused(self):
        self.refuse_a_row_that_is_not_there()


if __name__ == "__main__":
    main()
