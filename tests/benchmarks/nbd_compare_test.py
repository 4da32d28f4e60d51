#!/usr/bin/env python3
"""The comparison through NBD runs every pattern, reads fio right, and leaves nothing behind.

    nbd_compare_test.py FOLDER_OF_SCRIPTS PLUGIN HEXAD
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPTS, PLUGIN, HEXAD = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
sys.path.insert(0, SCRIPTS)

import patterns  # pylint: disable=wrong-import-position


def row(**changes):
    return {
        "what": "it",
        "arguments": ["--bs=4k"],
        "hexad": (1500.4, 6e6),
        "file": (3000.0, 12e6),
        "user": 10_000_000,
        "device": 25_000_000,
        **changes,
    }


class Table(unittest.TestCase):
    def cells(self, **changes):
        return [cell.strip() for cell in patterns.table([row(**changes)]).split("\n")[2].split("|")]

    def test_small_requests_are_counted_and_large_ones_weighed(self):
        self.assertEqual(
            self.cells(), ["", "it", "1,500 IOPS", "3,000 IOPS", "0.50", "25.0 MB", "2.50", ""]
        )
        self.assertEqual(self.cells(arguments=["--bs=4m"])[2:4], ["6 MB/s", "12 MB/s"])

    def test_what_nobody_knows_is_not_made_up(self):
        self.assertEqual(self.cells(device=None)[5:7], ["unknown", ""])
        self.assertEqual(self.cells(user=0, device=0)[5:7], ["0.0 MB", ""])

    def test_the_side_that_moved_bytes_counts_and_a_failed_job_does_not(self):
        idle = {"iops": 0, "bw_bytes": 0, "io_bytes": 0}
        busy = {"iops": 7.5, "bw_bytes": 30720, "io_bytes": 61440}
        for read, write in ((idle, busy), (busy, idle)):
            job = {"error": 0, "read": read, "write": write}
            output = "fio: a note\n" + json.dumps({"jobs": [job]})
            self.assertEqual(patterns.figures(output), (7.5, 30720, 61440))
            with self.assertRaises(ValueError):
                patterns.figures(json.dumps({"jobs": [{**job, "error": 5}]}))


class Run(unittest.TestCase):
    def setUp(self):
        # Of a disk: files in memory take no O_DIRECT. A socket's path has 107 bytes at most.
        self.folder = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)

    def compare(self, *arguments, **environment):
        return subprocess.run(
            ["/usr/bin/python3", "-B", os.path.join(SCRIPTS, "compare.py"), "--hexad", HEXAD]
            + ["--plugin", PLUGIN, "--dir", self.folder, *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=1500,
            check=False,
        )

    @unittest.skipIf(shutil.which("fio") is None, "there is no fio")
    def test_every_pattern_is_measured_and_nothing_stays(self):
        done = self.compare("--seconds=1", "--size=32", "--commit=0123abc")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("commit 0123abc", done.stdout)
        for _, what, _ in patterns.PATTERNS:
            self.assertIn(f"| {what} |", done.stdout)
        self.assertEqual(os.listdir(self.folder), [])

    def test_without_fio_it_says_so(self):
        done = self.compare(PATH="/nonexistent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no fio", done.stderr)

    @unittest.skipIf(shutil.which("fio") is None, "there is no fio")
    def test_a_pattern_that_is_not_there_is_refused(self):
        done = self.compare("--only=no_such")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no pattern has 'no_such'", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
