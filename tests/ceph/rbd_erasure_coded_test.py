#!/usr/bin/env python3
"""A store on images whose data lie in an erasure-coded pool of Ceph, 4+2 on six OSDs, two of which die.

The pool has fewer cells than its min_size (5) then, and the cluster holds back all that wants to write there, until whoever
runs it says that four are enough, or an OSD is back."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import ledger  # pylint: disable=wrong-import-position
import on_cluster  # pylint: disable=wrong-import-position

OSDS = 6


def setUpModule():
    on_cluster.start("--osds", str(OSDS))


class BelowMinSize(on_cluster.OnCluster):
    shape = {"names_pool": "names", "data_pool": "six"}

    def setUp(self):
        cluster = on_cluster.daemons.Daemons(on_cluster.CONF)
        if "six" not in cluster.ceph("osd", "pool", "ls").split():
            # Three copies of names and lengths: two of them may be on the OSDs that die.
            cluster.ceph("osd", "pool", "create", "names", "8", "8", "replicated", "--size", "3")
            cluster.ceph("osd", "erasure-code-profile", "set", "four", "k=4", "m=2", "crush-failure-domain=osd")
            cluster.ceph("osd", "pool", "create", "six", "8", "8", "erasure", "four")
            cluster.ceph("osd", "pool", "set", "six", "allow_ec_overwrites", "true")
            for name in ("names", "six"):
                cluster.ceph("osd", "pool", "application", "enable", name, "rbd")
        super().setUp()

    def two_die(self):
        """Returns when no commit goes on any more."""
        self.assertEqual(self.daemons.ceph("osd", "pool", "get", "six", "min_size").split(), ["min_size:", "5"])
        dead = self.daemons.osds[:2]
        for osd in dead:
            self.daemons.kill(osd)
        # Each placement group has a cell on each OSD, so each write meets it.
        self.warnings_have(self.pool.name, " has not answered for 6 s")
        before = self.pool.acknowledged()
        self.warnings_have(self.pool.name, " has not answered for 12 s")
        self.assertEqual(self.pool.acknowledged(), before)
        return dead

    def come_back(self, dead):
        for osd in dead:
            self.daemons.start(osd)
        self.daemons.ceph("osd", "pool", "set", "six", "min_size", "5")
        ledger.wait_until(lambda: "inactive" not in self.daemons.ceph("health", "detail"), what="the two OSDs")

    def test_writes_wait_until_fewer_cells_are_allowed(self):
        dead = self.two_die()
        try:
            self.daemons.ceph("osd", "pool", "set", "six", "min_size", "4")
            self.goes_on(100)
            # What is written now has no cell to spare, and is read back.
            self.assertEqual(self.writer.finish(), 0, self.writer.lines)
            self.pool.check()
            self.writer = self.start_writer()
        finally:
            self.come_back(dead)
        self.ends_well()

    def test_a_writer_that_waits_is_killed_and_followed(self):
        dead = self.two_die()
        try:
            self.writer.kill()
            self.daemons.ceph("osd", "pool", "set", "six", "min_size", "4")
            self.pool.check("take-over")
            self.writer = self.start_writer()
        finally:
            self.come_back(dead)
        self.ends_well()


if __name__ == "__main__":
    unittest.main()
