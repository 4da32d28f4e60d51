#!/usr/bin/env python3
"""A whole store on images of a Ceph cluster, by the command line: made, written, closed, opened, checked."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

CONF = os.environ["HEXAD_CEPH_CONF"]
HEXAD = os.path.abspath(os.environ["HEXAD"])


def run(*words, stdin=b"", code=0, environment=None):
    done = subprocess.run(
        words,
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode != code:
        raise AssertionError(
            f"{words}: {done.returncode}: {done.stdout[-2000:]!r} {done.stderr.decode(errors='replace')[-2000:]}"
        )
    return done


def hexad(*words, **more):
    return run(HEXAD, *words, **more)


class OnImages(unittest.TestCase):
    """Six images, data and parity 4+2; the fast tier is a local directory."""

    keys = ""
    pool_of_images = "log"
    mkfs = ()

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="hexad-ceph-")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.pool = os.path.join(self.top, "pool")
        self.names = [f"{self.pool_of_images}/{self.id()[-20:]}-{os.getpid()}-{i}" for i in range(6)]
        self.images = [f"rbd:{name}?conf={CONF}{self.keys}" for name in self.names]
        self.addCleanup(self.remove_images)
        hexad("mkfs", self.pool, "--device", *self.images, "--size", "256MiB", *self.mkfs)

    def remove_images(self):
        for name in self.names:
            subprocess.run(["rbd", "--conf", CONF, "--no-progress", "rm", name], capture_output=True, check=False)

    def status(self):
        return json.loads(hexad("status", "--json", self.pool).stdout)

    def start_writer(self):
        """A process that writes until it is ended, and has the pool by now."""
        bench = ("bench", "run", self.pool, "--bs", "64KiB", "--runtime", "60", "--wait", "60")
        writer = subprocess.Popen([HEXAD, *bench], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(writer.stderr.close)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        while not self.has_pool(writer):
            self.assertIsNone(writer.poll())
        return writer

    def has_pool(self, writer):
        # From when it has opened it, it is the one that answers; whoever asks earlier is told other things.
        said = subprocess.run([HEXAD, "status", "--json", self.pool], capture_output=True, check=False).stdout
        return b'"answered_by":' in said and json.loads(said)["answered_by"]["pid"] == writer.pid

    def goes_on(self):
        hexad("put", self.pool, "a", "-", stdin=b"x")
        self.assertEqual(hexad("cat", self.pool, "a").stdout, b"x")
        self.assertEqual(json.loads(hexad("fsck", "--json", self.pool).stdout)["errors"], 0)
        self.assertEqual(self.status()["health"], "ok")


class Store(OnImages):
    def test_what_was_put_is_there_after_it_was_closed_and_fsck_finds_nothing(self):
        content = {f"object/{size}": os.urandom(size) for size in (0, 1, 4096, 65537, 4 << 20, (9 << 20) + 13)}
        for name, data in content.items():
            hexad("put", self.pool, name, "-", stdin=data)
        for name, data in content.items():
            self.assertEqual(hexad("cat", self.pool, name).stdout, data, name)
        hexad("rm", self.pool, "object/1")
        found = json.loads(hexad("fsck", "--deep", "--json", self.pool).stdout)
        self.assertEqual((found["errors"], found["complete"]), (0, True))
        status = self.status()
        self.assertEqual(status["health"], "ok")
        data = [device for device in status["devices"] if device["role"] == "data"]
        self.assertEqual([device["path"] for device in data], self.images)
        with open(os.path.join(self.pool, "hexad.pool"), encoding="utf-8") as file:
            self.assertIn(f"device {self.images[0]}\n", file.read())

    def test_it_opens_from_the_addresses_alone_in_any_order_and_another_directory(self):
        hexad("put", self.pool, "a", "-", stdin=b"bytes")
        os.chdir(self.top)
        fast = os.path.join(self.pool, "fast")
        words = ("--device", *reversed(self.images), "--fast", fast)
        self.assertEqual(hexad("cat", "a", *words).stdout, b"bytes")

    def test_two_images_that_are_gone_are_told_and_what_was_put_is_there(self):
        data = os.urandom(3 << 20)
        hexad("put", self.pool, "a", "-", stdin=data)
        for name in self.names[:2]:
            run("rbd", "--conf", CONF, "--no-progress", "rm", name)
        self.assertEqual(hexad("cat", self.pool, "a").stdout, data)
        self.assertEqual(self.status()["faults_tolerated"], 0)

    def test_who_is_killed_amid_writing_is_followed_by_the_next(self):
        writer = self.start_writer()
        hexad("put", self.pool, "a", "-", stdin=b"x", code=5)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        self.goes_on()  # when the cluster has missed it

    def test_a_writer_that_is_shut_out_of_one_image_ends_and_is_followed_by_the_next(self):
        writer = self.start_writer()
        (lock,) = json.loads(run("rbd", "--conf", CONF, "lock", "ls", self.names[0], "--format", "json").stdout)
        run("rbd", "--conf", CONF, "lock", "rm", self.names[0], lock["id"], lock["locker"])
        said = writer.communicate(timeout=120)[1]
        self.assertNotEqual(writer.returncode, 0)
        self.assertIn(b"another process has taken the device over", said)
        self.goes_on()


class TakenOver(OnImages):
    """Without parity of hexad's own: images are redundant themselves. Without a fast directory, too, which
    another machine would not have."""

    mkfs = ("--no-fast", "--profile", "4+0")

    def holders(self):
        return json.loads(hexad("takeover", "-n", "--json", self.pool).stdout)["holders"]

    def has_pool(self, writer):
        return len(self.holders()) == 6

    def take_over(self, holders):
        listed = self.holders()
        self.assertEqual(len(listed), holders)
        for entry in listed:
            self.assertTrue(entry["can_be_shut_out"])
            self.assertIn("the client at ", entry["who"])
        hexad("takeover", self.pool, code=2)  # nobody is there to be asked
        done = json.loads(hexad("takeover", "--yes", "--json", self.pool).stdout)
        self.assertEqual(len(done["holders"]), holders)
        self.assertGreater(done["last_lsn"], 0)
        self.goes_on()

    def ends(self, writer):
        said = writer.communicate(timeout=120)[1]
        self.assertIn(writer.returncode, (5, 7), said)
        self.assertIn(b"another process has taken the device over", said)
        # Nothing that it did later has reached the pool.
        self.goes_on()

    def test_from_one_that_writes(self):
        writer = self.start_writer()
        self.take_over(6)
        self.ends(writer)

    def test_from_one_that_was_stopped_and_goes_on_later(self):
        writer = self.start_writer()
        writer.send_signal(signal.SIGSTOP)
        self.take_over(6)
        writer.send_signal(signal.SIGCONT)
        self.ends(writer)

    def test_from_one_that_is_dead_without_waiting_for_the_cluster_to_miss_it(self):
        writer = self.start_writer()
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        self.take_over(6)

    def test_images_need_no_word_to_have_no_parity(self):
        status = self.status()
        self.assertEqual((status["parity_cells"], status["faults_tolerated"]), (0, 0))


class StoreOnErasureCodedImages(OnImages):
    keys = "&data_pool=data"
    pool_of_images = "meta"
    mkfs = ("--no-fast",)

    def test_what_was_put_is_there(self):
        data = os.urandom(1 << 20)
        hexad("put", self.pool, "a", "-", stdin=data)
        self.assertEqual(hexad("cat", self.pool, "a").stdout, data)
        self.assertEqual(json.loads(hexad("fsck", "--deep", "--json", self.pool).stdout)["errors"], 0)


class Addresses(unittest.TestCase):
    def test_what_is_wrong_with_one_is_said(self):
        top = tempfile.mkdtemp(prefix="hexad-ceph-")
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        pool = os.path.join(top, "pool")
        bad = [f"rbd:log/x{i}?colour=red" for i in range(6)]
        done = hexad("mkfs", pool, "--device", *bad, code=2)
        self.assertIn(b"'colour=red' is none of conf=, id= and data_pool=", done.stderr)
        self.assertFalse(os.path.exists(pool))


if __name__ == "__main__":
    unittest.main()
