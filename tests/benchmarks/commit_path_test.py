#!/usr/bin/env python3
"""The commit path's benchmark runs, measures every row, and leaves nothing behind.

    commit_path_test.py PROGRAM
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_testing import ProgramTest, main  # pylint: disable=wrong-import-position

# Rows, and whether fio stands beside them.
ROWS = {
    "put_4k_1": True,
    "put_4k_1_fresh": True,
    "put_64k_1": True,
    "put_4k_64_callback": False,
    "put_4k_64_blocking": False,
    "put_4k_batch_1": False,
    "put_4k_batch": False,
    "put_4k_batch_long": False,
    "put_64k_64": True,
    "put_4m_16": True,
    "overwrite_4k_1": False,
    "overwrite_4k_32": False,
    "delete_batch": False,
    "delete_collection": False,
    "get_4k_cached": False,
    "stat_cached": False,
    "mixed": False,
    "mixed_same": False,
    "put_4k_1_fast": True,
    "put_4k_64_fast": False,
    "put_64k_1_fast": True,
    "get_64k_cold": True,
    "get_4k_cold": True,
    "space_64k": False,
    "space_4k": False,
    "space_1k": False,
}


class CommitPath(ProgramTest):
    QUICKLY = ("--device-mib=128", "--seconds=0.02", "--long-seconds=0.05", "--repetitions=1")

    def test_every_row_is_measured_and_nothing_stays(self):
        _, settings, rows = self.measure()
        with_fio = settings["fio"] != "missing"
        self.assertEqual(set(rows), set(ROWS))
        for name, row in rows.items():
            with self.subTest(name):
                self.assertGreater(row["cpu_us"], 0)
                self.assertEqual("fio" in row, ROWS[name])
                self.assertEqual("ratio" in row, ROWS[name] and with_fio)

    def test_without_fio_it_says_so_loudly_and_measures_the_rest(self):
        # A PATH without fio: the program needs no other one.
        result, _, rows = self.measure("--only=put_4k_1",
                                       env={**os.environ, "PATH": "/nonexistent"})
        self.assertIn("NO RATIO IS MEASURED", result.stderr)
        self.assertIn("| no fio |", result.stdout)
        self.assertEqual(rows["put_4k_1"]["judgement"], "not judged")

    def test_an_interruption_leaves_nothing(self):
        with subprocess.Popen(
            [self.PROGRAM, "--dir", self.work, "--quick", "--no-fio", "--only=put_4k_64_callback"]
            + ["--device-mib=128", "--seconds=60"],
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            while not os.listdir(self.work) and program.poll() is None:
                pass
            program.terminate()
            self.assertIn("interrupted", program.communicate(timeout=600)[1])
            self.assertEqual(program.returncode, 1)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_row_that_is_not_there_is_refused(self):
        self.refuse_a_row_that_is_not_there()


if __name__ == "__main__":
    main()
