#!/usr/bin/env python3
"""The benchmark of full stores runs, measures everybody, and leaves nothing behind.

    space_test.py PROGRAM
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_testing import ProgramTest, main  # pylint: disable=wrong-import-position

CAUSES = {"user", "parity", "log", "run", "merge", "clean", "super", "zero"}


class Space(ProgramTest):
    QUICKLY = ("--device-mib=64", "--sizes", "4k", "mixed", "--fills=20", "--fills=50",
               "--loads=uniform", "--warm-laps=0.1", "--laps=0.2")

    def test_every_row_is_measured_and_nothing_stays(self):
        _, _, rows = self.measure()
        hexad = {f"{size}/uniform/{fill}/hexad" for size in ("4k", "mixed") for fill in (20, 50)}
        files = {f"{size}/uniform/50/files" for size in ("4k", "mixed")}
        self.assertLessEqual(hexad | files, set(rows))
        for name in hexad:
            counted = rows[name]["counted"]
            with self.subTest(name):
                self.assertEqual(counted["refused"], 0)
                self.assertLessEqual(CAUSES, set(counted))
                self.assertGreater(counted["space at rest"], 1)
                # Each byte goes into a cell or into the log, and what is durable has been written.
                self.assertGreaterEqual(counted["user"] + counted["log"], 1)
                self.assertGreaterEqual(rows[name]["value"], 1)
        for name in set(rows) - hexad:
            self.assertGreaterEqual(rows[name]["counted"]["space"], 1, name)

    def test_a_row_that_is_not_there_is_refused(self):
        self.refuse_a_row_that_is_not_there()


if __name__ == "__main__":
    main()
