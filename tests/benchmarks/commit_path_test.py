#!/usr/bin/env python3
"""The commit path's benchmark runs, measures every row, and leaves nothing behind.

    commit_path_test.py PROGRAM
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None

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

MOMENT = ["--quick", "--device-mib=128", "--seconds=0.02", "--long-seconds=0.05", "--repetitions=1"]


def run(directory, *arguments):
    return subprocess.run(
        [PROGRAM, "--dir", directory, *MOMENT, *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


class CommitPath(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR", "/var/tmp"))
        self.addCleanup(folder.cleanup)
        self.work = os.path.join(folder.name, "work")
        self.json = os.path.join(folder.name, "figures.json")
        os.mkdir(self.work)

    def test_every_row_is_measured_and_nothing_stays(self):
        result = run(self.work, "--json", self.json, "--commit", "0123abc")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.work), [])
        with open(self.json, encoding="utf-8") as figures:
            figures = json.load(figures)
        self.assertEqual(figures["settings"]["commit"], "0123abc")
        with_fio = figures["settings"]["fio"] != "missing"
        self.assertEqual({row["id"] for row in figures["rows"]}, set(ROWS))
        for row in figures["rows"]:
            with self.subTest(row["id"]):
                self.assertGreater(row["value"], 0)
                self.assertGreater(row["cpu_us"], 0)
                self.assertEqual("fio" in row, ROWS[row["id"]])
                self.assertEqual("ratio" in row, ROWS[row["id"]] and with_fio)
                self.assertIn("| " + row["what"] + " |", result.stdout)

    def test_without_fio_it_says_so_loudly_and_measures_the_rest(self):
        # A PATH without fio: the program needs no other one.
        result = subprocess.run(
            [PROGRAM, "--dir", self.work, *MOMENT, "--only=put_4k_1", "--json", self.json],
            env={**os.environ, "PATH": "/nonexistent"},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("NO RATIO IS MEASURED", result.stderr)
        self.assertIn("| no fio |", result.stdout)
        with open(self.json, encoding="utf-8") as figures:
            row = json.load(figures)["rows"][0]
        self.assertEqual(row["judgement"], "not judged")

    def test_an_interruption_leaves_nothing(self):
        with subprocess.Popen(
            [PROGRAM, "--dir", self.work, "--quick", "--no-fio", "--only=put_4k_64_callback"]
            + ["--device-mib=128", "--seconds=60"],
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            while not os.listdir(self.work) and program.poll() is None:
                pass
            program.terminate()
            self.assertIn("interrupted", program.communicate(timeout=60)[1])
            self.assertEqual(program.returncode, 1)
        self.assertEqual(os.listdir(self.work), [])

    def test_a_row_that_is_not_there_is_refused(self):
        result = run(self.work, "--no-fio", "--only=no_such_row")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no row 'no_such_row'", result.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
