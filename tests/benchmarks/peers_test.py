#!/usr/bin/env python3
"""The benchmark of peers runs, measures every workload of everybody, and leaves nothing behind.

    peers_test.py PROGRAM
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench_testing import ProgramTest, main  # pylint: disable=wrong-import-position

WORKLOADS = {f"{verb}_{size}{callers}" for size in ("4k", "64k")
             for verb, callers in (("put", "_1"), ("put", "_64"), ("get", ""), ("delete", ""))}
ALWAYS = {"hexad", "lmdb", "lmdb_grouped", "files", "coded_files"}
OPTIONAL = {"SQLite": "sqlite", "RocksDB, BlobDB": "rocksdb"}


class Peers(ProgramTest):
    QUICKLY = ("--repetitions=1", "--seconds=0.02", "--objects=64")

    def test_every_workload_of_everybody_is_measured_and_nothing_stays(self):
        _, settings, rows = self.measure()
        here = ALWAYS | {name for what, name in OPTIONAL.items()
                         if "not in this build" not in settings[what]}
        for workload in WORKLOADS:
            expected = set(here)
            if workload.endswith("_64"):
                expected.add("hexad_callbacks")
            if not workload.startswith("delete") and settings["fio"] != "missing":
                expected.add("fio")
            found = {row.split("/")[1] for row in rows if row.split("/")[0] == workload}
            self.assertEqual(found, expected, workload)
        # Durable objects have been written to the disk by whoever put them; what a file system writes
        # of its own is not counted.
        for peer in here:
            self.assertGreaterEqual(rows["put_64k_1/" + peer]["counted"]["bytes written/op"], 65536)

    def test_one_peer_can_be_asked_for(self):
        _, _, rows = self.measure("--only=lmdb")
        self.assertEqual({row.split("/")[0] for row in rows}, WORKLOADS)
        self.assertLessEqual({row.split("/")[1] for row in rows}, {"lmdb", "fio"})

    def test_what_is_neither_workload_nor_peer_is_refused(self):
        self.refuse_a_row_that_is_not_there()


if __name__ == "__main__":
    main()
