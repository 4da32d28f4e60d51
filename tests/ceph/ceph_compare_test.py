#!/usr/bin/env python3
"""The comparison on a Ceph cluster measures every row, writes its table right, and leaves nothing behind."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CONF = os.environ["HEXAD_CEPH_CONF"]
HEXAD, SCRIPT, CLUSTER = (os.path.abspath(os.environ[name]) for name in ("HEXAD", "SCRIPT", "CLUSTER"))
sys.path.insert(0, os.path.dirname(SCRIPT))

import compare  # pylint: disable=wrong-import-position
import rows  # pylint: disable=wrong-import-position


class Table(unittest.TestCase):
    def cells(self, name, ours, theirs):
        row = next(row for row in rows.ROWS if row.name == name)
        return [cell.strip() for cell in rows.table([(row, ours, theirs)]).split("\n")[2].split("|")[1:-1]]

    def test_figures_have_their_units_and_a_ratio(self):
        self.assertEqual(self.cells("many", 1500.4, 3000.8)[1::2], ["1,500 /s", "3,001 /s"])
        self.assertEqual(self.cells("large", 6e6, 12e6)[-1], "0.50")
        self.assertEqual(self.cells("takeover", 3.94, None), [self.cells("takeover", 1, None)[0], "3.9 s", "", "", ""])


class Fio(unittest.TestCase):
    def test_a_write_and_its_flush_are_both_medians_and_no_mean(self):
        def latency(mean, median):
            return {"lat_ns": {"mean": mean, "percentile": {"1.000000": 1, "50.000000": median, "99.000000": 9e9}}}

        job = {"write": {"iops": 10.0, **latency(9e6, 1_250_000)}, "sync": latency(5e6, 30_500)}
        self.assertEqual(compare.flushed_write_us(job), 1280.5)


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hexad-")
        self.addCleanup(shutil.rmtree, self.folder)

    def compare(self, *arguments, **environment):
        words = [sys.executable, "-B", SCRIPT, "--hexad", HEXAD, "--cluster", CLUSTER, "--conf", CONF]
        return subprocess.run(
            [*words, "--dir", self.folder, *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )

    @unittest.skipIf(shutil.which("fio") is None, "there is no fio")
    def test_every_row_is_measured_and_nothing_stays(self):
        options = ("--seconds=1", "--repetitions=1", "--objects=100", "--commit=0123abc")
        done = self.compare(*options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("commit 0123abc", done.stdout)
        for row in rows.ROWS:
            self.assertIn(f"| {row.what} | ", done.stdout)
        self.assertEqual(os.listdir(self.folder), [])
        for pool in ("log", "meta"):
            left = subprocess.run(["rbd", "--conf", CONF, "ls", pool], capture_output=True, text=True, check=True).stdout
            self.assertNotIn("plain-", left)
        for pool in ("log", "data"):
            words = ["rados", "--conf", CONF, "-p", pool, "ls"]
            self.assertNotIn("benchmark_data", subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    def test_what_is_missing_is_named_before_anything_is_measured(self):
        self.assertIn("apt-get install fio", self.compare(PATH="/nowhere").stderr)
        self.assertIn("takeover", self.compare("--only=nothing").stderr)


if __name__ == "__main__":
    unittest.main()
