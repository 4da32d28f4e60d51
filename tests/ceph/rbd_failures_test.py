#!/usr/bin/env python3
"""What fails below a store on images of a Ceph cluster: its monitor, its OSDs, the network, the images, the space.

A process writes all the time and keeps a ledger (ledger_writer.cc). Commits wait or fail with a true message, the
warnings of its status name the images and for how long, it goes on by itself where it can, and a last look finds
all that was acknowledged and nothing that failed. The cluster is one of its own: each test does something to all of it,
and takes it back."""

import json
import os
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import ledger  # pylint: disable=wrong-import-position
import on_cluster  # pylint: disable=wrong-import-position

CONF = on_cluster.CONF
PATIENCE = 5  # s: device_patience, shorter than what OSDs and monitors are away
FAILED = 7
UNAVAILABLE = 4
SLOW = 0.05  # s that an OSD keeps each message
THREADS = 4  # of the writer


def setUpModule():
    on_cluster.start()


class Failures(on_cluster.OnCluster):
    patience = PATIENCE

    def rbd(self, *words):
        command = ["rbd", "--conf", CONF, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=ledger.PATIENCE, check=False)

    def test_a_cluster_without_a_monitor(self):
        self.daemons.kill(self.daemons.monitor)
        try:
            # What is connected goes on.
            self.goes_on(300)
            # Who is not is told, once and not for each image.
            said = self.pool.hexad("takeover", "--yes", self.pool.path, code=UNAVAILABLE).stderr
            self.assertIn("cannot connect as client.admin", said)
            self.assertIn(CONF, said)
            self.goes_on()
        finally:
            self.daemons.start(self.daemons.monitor)
        self.ends_well()

    def test_osds_that_do_not_answer(self):
        try:
            self.daemons.stop(*self.daemons.osds)
            for path in self.pool.devices:
                self.warnings_have(f"({path}) has not answered for ", "commits and checkpoints wait for it")
            asked = []
            asking = threading.Thread(
                target=lambda: asked.append(self.pool.hexad("takeover", "-n", self.pool.path, code=UNAVAILABLE))
            )
            asking.start()
            # It closes, and says that it cannot.
            code = self.writer.finish()
            closed = self.writer.said("closed")[0]
            self.assertEqual(code, FAILED)
            self.assertIn("the store is not closed yet: device ", closed)
            self.assertIn("has not answered for ", closed)
            asking.join()
            self.assertIn(f"cannot tell who has {self.pool.devices[0]}: the cluster has not answered for 30 s",
                          asked[0].stderr)  # fmt: skip
        finally:
            self.daemons.go_on(*self.daemons.osds)
        self.pool.check("take-over")

    def test_the_network_is_away_for_a_while(self):
        away = (self.daemons.monitor, *self.daemons.osds)
        try:
            self.daemons.stop(*away)
            # Longer than what a device is waited for that others could do without.
            self.warnings_have(f" has not answered for {2 * PATIENCE} s")
        finally:
            self.daemons.go_on(*away)
        self.ends_well()

    def test_a_pool_with_fewer_copies_than_it_needs(self):
        self.daemons.ceph("osd", "pool", "set", "log", "min_size", "2")
        osd = self.daemons.osds[0]
        try:
            self.daemons.kill(osd)
            try:
                self.warnings_have(self.pool.name, " has not answered for ")
            finally:
                self.daemons.start(osd)
            self.goes_on()
        finally:
            self.daemons.ceph("osd", "pool", "set", "log", "min_size", "1")
        self.ends_well()

    def test_an_osd_that_starts_again_under_load(self):
        osd = self.daemons.osds[1]
        self.daemons.kill(osd)
        self.daemons.start(osd)
        self.goes_on(300)
        self.ends_well()

    def test_an_image_that_grows_and_one_that_cannot_be_removed(self):
        grown = self.rbd("resize", "--no-progress", "--size", "512M", self.pool.images[0])
        self.assertEqual(grown.returncode, 0, grown.stderr)
        removed = self.rbd("rm", "--no-progress", self.pool.images[1])
        self.assertNotEqual(removed.returncode, 0)
        self.assertIn("watchers", removed.stderr)
        self.goes_on(200)
        self.ends_well()

    def test_an_image_that_is_cut_below_what_is_used(self):
        cut = self.rbd("resize", "--no-progress", "--allow-shrink", "--size", "24M", self.pool.images[1])
        self.assertEqual(cut.returncode, 0, cut.stderr)
        ended = self.writer.wait_for("ended")
        self.assertIn(self.pool.devices[1], ended)
        self.assertEqual(self.writer.finish(), FAILED)
        for line in self.writer.said("error"):
            self.assertIn(self.pool.devices[1], line)
        opened = self.pool.start("open", "check")
        self.assertEqual(opened.finish(), 2)
        self.assertIn(f"{self.pool.devices[1]}: 24 MiB long", opened.said("failed")[0])
        self.assertIn("its label says 256 MiB", opened.said("failed")[0])
        # Long again, it lacks what was cut off, and that is said of each object that was there.
        self.rbd("resize", "--no-progress", "--size", "256M", self.pool.images[1])
        again = self.pool.start("open", "check")
        self.assertNotEqual(again.finish(), 0)
        self.assertNotEqual(again.said("problem") + again.said("failed"), [])
        for line in again.said("problem"):
            self.assertNotIn("is not what anybody wrote", line)

    def test_an_image_that_is_removed(self):
        self.assertEqual(self.writer.finish(), 0)
        self.assertEqual(self.rbd("rm", "--no-progress", self.pool.images[2]).returncode, 0)
        for how in ("open", "take-over"):
            opened = self.pool.start(how, "check")
            self.assertEqual(opened.finish(), 2)
            said = opened.said("failed")[0]
            self.assertIn(f"cannot open {self.pool.devices[2]}: No such file or directory", said)
            self.assertIn("needs all of them", said)

    def test_a_cluster_that_is_nearly_full(self):
        try:
            self.daemons.ceph("osd", "set-nearfull-ratio", "0.001")
            ledger.wait_until(lambda: "nearfull" in self.daemons.ceph("health", "detail"), what="nearfull")
            self.goes_on(200)
        finally:
            self.daemons.ceph("osd", "set-nearfull-ratio", "0.85")
        self.ends_well()


class Slow(on_cluster.OnCluster):
    """A pool with parity, in which devices could be left behind; they are not while they answer within their patience."""

    shape = {"images": 6, "profile": "4+2"}

    def ends_with_all_devices(self):
        self.ends_well()
        status = json.loads(self.pool.hexad("status", "--json", self.pool.path).stdout)
        self.assertEqual((status["health"], status["faults_tolerated"]), ("ok", 2))
        self.assertEqual([device["state"] for device in status["devices"]], ["ok"] * 6)

    def test_osds_that_are_stopped_in_turn(self):
        for osd in self.daemons.osds:
            try:
                self.daemons.stop(osd)
                said = self.warnings_have(self.pool.name, " has not answered for ")
                self.assertNotIn("given up", said)
            finally:
                self.daemons.go_on(osd)
            self.goes_on()
        self.ends_with_all_devices()

    def test_osds_that_take_long_for_each_request(self):
        def delay(seconds):
            for osd in self.daemons.osds:
                for name, value in (("duration", seconds), ("probability", int(seconds > 0))):
                    name = f"osd_debug_inject_dispatch_delay_{name}"
                    self.daemons.ceph("tell", osd, "config", "set", name, str(value))

        delay(SLOW)
        try:
            began = time.monotonic()
            self.goes_on(10 * THREADS)
            took = time.monotonic() - began
            self.assertNotIn("given up", self.writer.warnings())
        finally:
            delay(0)
        # One of the threads had ten of them, nine of which it has begun meanwhile, one after the other.
        self.assertGreaterEqual(took, 9 * SLOW)
        self.ends_with_all_devices()


if __name__ == "__main__":
    unittest.main()
