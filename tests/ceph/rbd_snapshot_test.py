#!/usr/bin/env python3
"""Pools that are named by a group of images, and snapshots of all their images, as of one moment."""

import json
import os
import subprocess
import tempfile
import threading
import unittest

from rbd_store_test import CONF, HEXAD, OnImages, hexad, run

CRASH_WRITER = os.path.abspath(os.environ["CRASH_WRITER"])
SEED, ROUND = "7", "1"


class Writer:
    """Commits transactions until it is ended, and says of each when it begins and when it is durable."""

    def __init__(self, test, pool):
        self.ledger = os.path.join(test.top, "ledger")
        with open(self.ledger, "w", encoding="utf-8"):
            pass
        self.changed = threading.Condition()
        self.submitted = self.acknowledged = 0
        self.problem = ""
        self.process = subprocess.Popen(
            [CRASH_WRITER, "write", pool, SEED, ROUND, self.ledger, "16"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        test.addCleanup(self.end)

    def _read(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            with self.changed:
                if word == "s":
                    self.submitted = int(rest)
                elif word == "a":
                    self.acknowledged = max(self.acknowledged, int(rest.split()[0]))
                elif word == "e":
                    self.problem = rest
                self.changed.notify_all()
        with self.changed:
            self.problem = self.problem or "it has ended"
            self.changed.notify_all()

    def wait_for(self, acknowledged):
        with self.changed:
            self.changed.wait_for(lambda: self.problem or self.acknowledged >= acknowledged, 120)
            assert not self.problem, self.problem
            assert self.acknowledged >= acknowledged
            return self.acknowledged

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


class InGroup(OnImages):
    def setUp(self):
        super().setUp()
        self.group = f"group-{self.id()[-12:]}-{os.getpid()}"
        self.address = f"rbd:{self.pool_of_images}/{self.group}?conf={CONF}"

    def remove_images(self):
        # Each takes a second of the monitor's, alone or together.
        purges = [
            subprocess.Popen(
                ["rbd", "--conf", CONF, "--no-progress", "snap", "purge", name],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for name in self.names
        ]
        for purge in purges:
            purge.wait()
        group = f"{self.pool_of_images}/{self.group}"
        subprocess.run(["rbd", "--conf", CONF, "group", "rm", group], capture_output=True, check=False)
        super().remove_images()

    def at(self, snapshot):
        return f"rbd:{self.pool_of_images}/{self.group}@{snapshot}?conf={CONF}"

    def take(self, name, **more):
        done = hexad("snapshot-group", "create", "--json", "--group", self.group, self.pool, name, **more)
        return None if more.get("code") else json.loads(done.stdout)["address"]

    def listed(self):
        found = json.loads(hexad("snapshot-group", "ls", "--json", self.pool).stdout)["snapshots"]
        return [(one["name"], one["state"]) for one in found]

    def check(self, address, ledger, least, most):
        """What is there is what the first transactions make, one after the other, and nothing else."""
        done = run(CRASH_WRITER, "check", address, SEED, ROUND, ledger, str(least), str(most), "read")
        found = json.loads(done.stdout)
        self.assertEqual(found["problems"], [])
        fsck = json.loads(hexad("fsck", "--deep", "--json", "--device", address).stdout)
        self.assertEqual((fsck["errors"], fsck["complete"]), (0, True))
        return found["number"]

    def snapshots_under_load(self, count):
        writer = Writer(self, self.pool)
        taken = []
        for number in range(count):
            least = writer.wait_for(writer.acknowledged + 60)
            address = self.take(f"s{number}")
            self.assertEqual(address, self.at(f"s{number}"))
            taken.append((address, least, writer.submitted))
        writer.wait_for(writer.acknowledged + 60)
        for address, least, most in taken:
            self.check(address, writer.ledger, least, most)
        writer.wait_for(writer.acknowledged + 1)
        self.assertEqual(self.listed(), [(f"s{number}", "complete") for number in range(count)])
        return writer, taken


class Snapshots(InGroup):
    mkfs = ("--no-fast", "--profile", "4+0")

    def test_of_a_pool_that_is_written_has_what_a_crash_would_leave(self):
        writer, taken = self.snapshots_under_load(3)
        # The images themselves are the writer's.
        refused = hexad("cat", "--device", self.address, "--", "a", code=5)
        self.assertIn(b"is open for writing by the client at ", refused.stderr)
        self.assertIn(b"snapshot-group create", refused.stderr)
        hexad("snapshot-group", "rm", self.pool, "s0")
        hexad("snapshot-group", "rm", self.pool, "s0", code=1)
        self.assertEqual(self.listed(), [("s1", "complete"), ("s2", "complete")])
        gone = hexad("ls", "--device", taken[0][0], code=1)
        self.assertIn(b"has the snapshot s0", gone.stderr)
        writer.end()
        self.check(taken[1][0], writer.ledger, *taken[1][1:])

    def test_of_a_pool_that_nobody_has(self):
        hexad("put", self.pool, "a", "-", stdin=b"before")
        self.assertEqual(self.take("one"), self.at("one"))
        # The group is the pool, for writing, too.
        hexad("put", "--device", self.address, "--", "a", "-", stdin=b"after")
        self.assertEqual(hexad("cat", self.pool, "a").stdout, b"after")
        self.assertEqual(hexad("cat", "--device", self.at("one"), "--", "a").stdout, b"before")
        refused = hexad("put", "--device", self.at("one"), "--", "a", "-", stdin=b"x", code=7)
        self.assertIn(b"a snapshot cannot be written", refused.stderr)
        self.take("one", code=1)
        for bad in ("a/b", "a@b", "", "x" * 65):
            self.take(bad, code=2)
        # What the description names may be the group, too.
        with open(os.path.join(self.pool, "hexad.pool"), "w", encoding="utf-8") as file:
            file.write(f"hexad pool 1\ndevice {self.at('one')}\n")
        self.assertEqual(hexad("cat", self.pool, "a").stdout, b"before")

    def test_an_image_goes_before_a_group_of_its_name(self):
        self.group = self.names[0].split("/")[1]
        self.take("one", code=2)

    def test_one_that_is_not_of_all_images_is_told(self):
        self.take("one")
        for name in self.names[:2]:
            run("rbd", "--conf", CONF, "--no-progress", "snap", "rm", f"{name}@hexad.one")
        self.assertEqual(self.listed(), [("one", "incomplete")])
        hexad("ls", "--device", self.at("one"), code=4)
        self.take("one", code=1)
        hexad("snapshot-group", "rm", self.pool, "one")
        self.assertEqual(self.listed(), [])
        self.take("one")


class BesideAFastDirectory(InGroup):
    """What the writer has there is of later than the snapshot, and nobody else's."""

    def test_of_a_pool_that_is_written(self):
        self.snapshots_under_load(1)

    def rot_one_cell(self, value):
        """Of an object, in what the cluster keeps of an image."""
        rados = ("rados", "--conf", CONF, "-p", self.pool_of_images)
        for name in run(*rados, "ls").stdout.decode().split():
            if not name.startswith("rbd_data."):
                continue
            got = subprocess.run([*rados, "get", name, "-"], capture_output=True, timeout=120, check=False)
            if got.returncode != 0:  # of an image that another test has removed meanwhile
                continue
            data = got.stdout
            at = data.find(value[:4096])
            if at >= 0:
                run(*rados, "put", name, "-", stdin=data[:at] + bytes(4096) + data[at + 4096 :])
                return
        self.fail("the object is nowhere")

    def test_what_is_read_wrong_there_is_put_right_in_the_pool(self):
        value = os.urandom(300_000)
        hexad("put", self.pool, "a", "-", stdin=value)
        self.rot_one_cell(value)
        there = self.take("rotten")
        read = hexad("cat", "--device", there, "--", "a")
        self.assertEqual(read.stdout, value)
        self.assertIn(b"nothing was repaired: the pool is a snapshot. A scrub of the pool", read.stderr)
        self.assertNotIn(b"hexad scrub", read.stderr)
        hexad("fsck", "--deep", "--device", there, code=3)
        self.assertIn(b"1 cell was written again", hexad("cat", self.pool, "a").stderr)
        hexad("fsck", "--deep", "--device", self.take("sound"))


class OnFiles(unittest.TestCase):
    def test_a_pool_that_is_not_on_images_has_none(self):
        with tempfile.TemporaryDirectory(prefix="hexad-ceph-") as top:
            pool = os.path.join(top, "pool")
            files = [os.path.join(top, str(number)) for number in range(6)]
            hexad("mkfs", pool, "--device", *files, "--size", "64MiB")
            refused = hexad("snapshot-group", "create", pool, "one", code=2)
            self.assertIn(b"is no image of a Ceph cluster", refused.stderr)


if __name__ == "__main__":
    unittest.main()
