#!/usr/bin/env python3
"""The benchmark of metadata runs, measures every row, and leaves nothing behind.

    metadata_test.py PROGRAM
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_testing import ProgramTest, main  # pylint: disable=wrong-import-position

ROWS = {"index_per_object", "runs_per_object", "rate_with_checkpoints", "runs_per_update",
        "index_per_update", "fill", "reopen", "rebuild", "fill_runs_only", "reopen_runs_only"}


class Metadata(ProgramTest):
    QUICKLY = ("--objects=2000", "--repetitions=1")

    def test_every_row_is_measured_and_nothing_stays(self):
        _, _, rows = self.measure()
        self.assertEqual(set(rows), ROWS)
        for name in ("reopen", "rebuild", "reopen_runs_only"):
            self.assertGreaterEqual(rows[name]["counted"]["objects"], 2000)
        self.assertGreater(rows["reopen"]["counted"]["index, MiB"], 0)
        self.assertEqual(rows["reopen_runs_only"]["counted"]["index, MiB"], 0)
        # The commits that the kill cut off were begun: more is in the log than a clean end leaves.
        self.assertGreater(rows["reopen"]["counted"]["log in use, MiB"], 0)

    def test_a_row_that_is_not_there_is_refused(self):
        self.refuse_a_row_that_is_not_there()


if __name__ == "__main__":
    main()
