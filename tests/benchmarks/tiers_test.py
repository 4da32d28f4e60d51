#!/usr/bin/env python3
"""The benchmark of fast tiers that are too small runs, measures everybody, and leaves nothing
behind.

    tiers_test.py PROGRAM
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_testing import ProgramTest, main  # pylint: disable=wrong-import-position

SKEWS = ("uniform", "zipf0.8", "zipf1.2")


class Tiers(ProgramTest):
    QUICKLY = ("--seconds=0.05", "--multiples", "0.5", "4")

    def test_every_row_is_measured_and_nothing_stays(self):
        _, settings, rows = self.measure()
        for skew in SKEWS:
            for multiple in ("0.5", "4"):
                with self.subTest(f"{skew}, {multiple}"):
                    counted = rows[f"get/{skew}/{multiple}/hexad"]["counted"]
                    self.assertGreater(counted["bound, us"], 0)
                    self.assertGreater(rows[f"hits/{skew}/{multiple}/hexad"]["value"], 0)
                    self.assertEqual(f"get/{skew}/{multiple}/rocksdb" in rows,
                                     "not in this build" not in settings["RocksDB"])
        self.assertGreater(rows["puts/4"]["counted"]["puts/s, all resident"], 0)

    def test_a_row_that_is_not_there_is_refused(self):
        self.refuse_a_row_that_is_not_there()


if __name__ == "__main__":
    main()
