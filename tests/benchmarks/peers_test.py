#!/usr/bin/env python3
"""The benchmark of peers runs, measures every workload of everybody, and leaves nothing behind.

    peers_test.py PROGRAM
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
WORKLOADS = {f"{verb}_{size}{callers}" for size in ("4k", "64k")
             for verb, callers in (("put", "_1"), ("put", "_64"), ("get", ""), ("delete", ""))}
ALWAYS = {"hexad", "lmdb", "lmdb_grouped", "files", "coded_files"}
OPTIONAL = {"SQLite": "sqlite", "RocksDB, BlobDB": "rocksdb"}


class Peers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR", "/var/tmp"))
        self.addCleanup(folder.cleanup)
        self.work = os.path.join(folder.name, "work")
        self.json = os.path.join(folder.name, "figures.json")
        os.mkdir(self.work)

    def run_quickly(self, *arguments):
        return subprocess.run(
            [PROGRAM, "--dir", self.work, "--quick", "--repetitions=1", "--seconds=0.02",
             "--objects=64", *arguments],
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )

    def test_every_workload_of_everybody_is_measured_and_nothing_stays(self):
        result = self.run_quickly("--json", self.json, "--commit", "0123abc")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.work), [])
        with open(self.json, encoding="utf-8") as figures:
            figures = json.load(figures)
        settings = figures["settings"]
        here = ALWAYS | {name for what, name in OPTIONAL.items()
                         if "not in this build" not in settings[what]}
        rows = {row["id"]: row for row in figures["rows"]}
        for workload in WORKLOADS:
            expected = set(here)
            if workload.endswith("_64"):
                expected.add("hexad_callbacks")
            if not workload.startswith("delete") and settings["fio"] != "missing":
                expected.add("fio")
            found = {row.split("/")[1] for row in rows if row.split("/")[0] == workload}
            self.assertEqual(found, expected, workload)
        for row in rows.values():
            with self.subTest(row["id"]):
                self.assertGreater(row["value"], 0)
                self.assertIn("| " + row["what"] + " |", result.stdout)
        # Durable objects have been written to the disk by whoever put them.
        for peer in here:
            self.assertGreater(rows["put_64k_1/" + peer]["counted"]["bytes written/op"], 65536)

    def test_one_peer_can_be_asked_for(self):
        result = self.run_quickly("--only=lmdb", "--json", self.json)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.json, encoding="utf-8") as figures:
            rows = [row["id"] for row in json.load(figures)["rows"]]
        self.assertEqual({row.split("/")[0] for row in rows}, WORKLOADS)
        self.assertLessEqual({row.split("/")[1] for row in rows}, {"lmdb", "fio"})

    def test_what_is_neither_workload_nor_peer_is_refused(self):
        result = self.run_quickly("--only=no_such_row")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no row 'no_such_row'", result.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
