#!/usr/bin/env python3
"""An object as a disk, from outside: stock nbdkit, stock clients, a real pool of six files.

    nbd_test.py PLUGIN HEXAD
"""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import nbd

PLUGIN = None
HEXAD = None

MIB = 1 << 20
SIZE = 24 * MIB
BLOCK = 4096


class Disk(unittest.TestCase):
    """Each test has a pool of its own, and a server that runs while it wants one."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="hexad-nbd-")  # short: a socket's path has 107 bytes
        self.addCleanup(shutil.rmtree, self.top)
        self.pool = os.path.join(self.top, "pool")
        self.devices = [os.path.join(self.top, f"device{i}") for i in range(6)]
        self.hexad("mkfs", self.pool, "--device", *self.devices, "--size", "64MiB")
        self.socket = None
        self.server = None
        self.addCleanup(self.kill)

    def hexad(self, *words):
        return subprocess.run([HEXAD, *words], check=True, stdout=subprocess.PIPE).stdout

    def serve(self, *parameters):
        self.socket = os.path.join(tempfile.mkdtemp(dir=self.top), "socket")
        command = ["nbdkit", "-f", "-U", self.socket, PLUGIN, f"pool={self.pool}", "object=disk"]
        # pylint: disable-next=consider-using-with
        self.server = subprocess.Popen([*command, *parameters])
        deadline = time.monotonic() + 600
        while True:
            try:
                self.connect().shutdown()  # answered when the store is open
                return
            except nbd.Error:
                self.assertIsNone(self.server.poll(), "nbdkit has ended")
                self.assertLess(time.monotonic(), deadline, "nbdkit does not start")
                time.sleep(0.01)

    def stop(self, how=signal.SIGTERM):
        self.server.send_signal(how)
        code = self.server.wait(timeout=600)
        self.server = None
        return code

    def kill(self):
        if self.server is not None:
            self.stop(signal.SIGKILL)

    def connect(self):
        client = nbd.NBD()
        client.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
        client.connect_unix(self.socket)
        return client

    def refused(self, *parameters):
        """What the server says that does not come up."""
        socket = os.path.join(tempfile.mkdtemp(dir=self.top), "socket")
        done = subprocess.run(
            ["nbdkit", "-f", "-U", socket, PLUGIN, *parameters],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def assert_holds(self, expected):
        client = self.connect()
        for offset in range(0, len(expected), MIB):
            part = client.pread(min(MIB, len(expected) - offset), offset)
            self.assertTrue(part == expected[offset : offset + MIB], f"differs in MiB {offset // MIB}")
        client.shutdown()

    def test_an_image_copied_in_comes_out_the_same(self):
        image = os.path.join(self.top, "image")
        back = os.path.join(self.top, "back")
        data = bytearray(random.Random(1).randbytes(SIZE))
        data[5 * MIB : 9 * MIB] = bytes(4 * MIB)
        with open(image, "wb") as file:
            file.write(data)
        self.serve(f"size={SIZE}")
        uri = f"nbd+unix:///?socket={self.socket}"
        subprocess.run(["nbdcopy", "--flush", image, uri], check=True)
        subprocess.run(["nbdcopy", uri, back], check=True)
        with open(back, "rb") as file:
            self.assertTrue(file.read() == data)
        self.assertEqual(self.stop(), 0)
        # It is an object like any other, and the store was closed.
        self.assertTrue(self.hexad("cat", self.pool, "disk") == data)

    def test_what_was_flushed_or_forced_survives_a_kill(self):
        chance = random.Random(2)
        expected = bytearray(SIZE)
        self.serve(f"size={SIZE}")
        for last in ("flushed", "forced") * 2:
            clients = [self.connect(), self.connect()]
            self.assertTrue(clients[0].can_multi_conn())
            for i in range(200):
                length = chance.choice([1, 511, BLOCK, 3 * BLOCK + 7, 100_000])
                offset = chance.randrange(SIZE - length)
                data = chance.randbytes(length)
                clients[i % 2].pwrite(data, offset)
                expected[offset : offset + length] = data
            if last == "flushed":
                clients[0].flush()  # for the writes of the other connection, too
            else:  # with everything before it
                data = chance.randbytes(2 * BLOCK)
                clients[1].pwrite(data, 5000, nbd.CMD_FLAG_FUA)
                expected[5000 : 5000 + len(data)] = data
            self.stop(signal.SIGKILL)
            self.serve()
            self.assert_holds(expected)

    def test_a_write_that_was_not_flushed_is_there_whole_or_not_at_all(self):
        self.serve(f"size={SIZE}")
        client = self.connect()
        client.pwrite(b"a" * SIZE, 0)
        client.flush()
        for i in range(SIZE // BLOCK // 8):
            client.pwrite(b"b" * (2 * BLOCK), i * 8 * BLOCK + 100)
        self.stop(signal.SIGKILL)
        self.serve()
        client = self.connect()
        newer = []
        for i in range(SIZE // BLOCK // 8):
            part = client.pread(8 * BLOCK, i * 8 * BLOCK)
            self.assertEqual(part[:100] + part[100 + 2 * BLOCK :], b"a" * (6 * BLOCK))
            self.assertIn(part[100 : 100 + 2 * BLOCK], (b"a" * (2 * BLOCK), b"b" * (2 * BLOCK)))
            newer.append(part[100:101] == b"b")
        self.assertEqual(newer, sorted(newer, reverse=True), "lost other writes than the last ones")

    def test_two_devices_may_be_lost(self):
        data = random.Random(3).randbytes(SIZE)
        self.serve(f"size={SIZE}")
        client = self.connect()
        client.pwrite(data, 0)
        client.shutdown()
        self.stop()
        for lost in (1, 4):
            os.unlink(self.devices[lost])
        self.serve()
        self.assert_holds(data)
        client = self.connect()
        client.pwrite(b"x" * BLOCK, 8 * BLOCK, nbd.CMD_FLAG_FUA)
        self.stop(signal.SIGKILL)
        self.serve()
        self.assert_holds(data[: 8 * BLOCK] + b"x" * BLOCK + data[9 * BLOCK :])

    def holes(self, client):
        found = []

        def add(_context, offset, entries, _error):
            for length, kind in zip(entries[::2], entries[1::2]):
                if kind & nbd.STATE_HOLE:
                    found.append((offset, length))
                offset += length

        client.block_status(SIZE, 0, add)
        return found

    def test_a_trimmed_range_is_a_hole_and_a_zeroed_one_where_it_may_be(self):
        self.serve(f"size={SIZE}")
        client = self.connect()
        self.assertEqual(self.holes(client), [(0, SIZE)])
        client.pwrite(b"a" * SIZE, 0)
        self.assertEqual(self.holes(client), [])
        client.trim(MIB, MIB)
        client.zero(MIB, 4 * MIB, nbd.CMD_FLAG_FUA | nbd.CMD_FLAG_FAST_ZERO)
        client.zero(MIB, 8 * MIB, nbd.CMD_FLAG_NO_HOLE)
        with self.assertRaises(nbd.Error) as raised:
            client.zero(MIB, 0, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FAST_ZERO)
        self.assertEqual(raised.exception.errnum, errno.EOPNOTSUPP)
        self.assertEqual(self.holes(client), [(MIB, MIB), (4 * MIB, MIB)])
        self.stop(signal.SIGKILL)
        self.serve()
        expected = bytearray(b"a" * SIZE)
        for zeroed in (1, 4):  # what was forced, and what came before it
            expected[zeroed * MIB : (zeroed + 1) * MIB] = bytes(MIB)
        part = self.connect().pread(8 * MIB, 0)
        self.assertTrue(part == expected[: 8 * MIB])

    def test_a_full_pool_says_no_space_and_takes_trims(self):
        self.serve("size=10G")
        client = self.connect()
        piece = random.Random(4).randbytes(16 * MIB)
        with self.assertRaises(nbd.Error) as raised:
            for i in range(64):
                client.pwrite(piece, i * len(piece))
        self.assertEqual(raised.exception.errnum, errno.ENOSPC)
        self.assertGreater(i, 4)
        self.assertTrue(client.pread(len(piece), (i - 1) * len(piece)) == piece)
        client.trim(i * len(piece), 0, nbd.CMD_FLAG_FUA)
        client.pwrite(piece, 0, nbd.CMD_FLAG_FUA)

    def test_what_cannot_be_served_is_said(self):
        here = f"pool={self.pool}"
        self.assertIn("object default/disk is not in the pool", self.refused(here, "object=disk"))
        self.assertIn("size=SIZE makes it", self.refused(here, "object=disk"))
        self.assertIn("nowhere", self.refused(here, "object=disk", "collection=nowhere", "size=1M"))
        self.assertIn("object=NAME", self.refused(here))
        self.assertIn("'drive'", self.refused(here, "drive=disk"))
        self.assertIn("hexad.pool", self.refused(f"pool={self.top}", "object=disk"))
        self.serve("size=1M")
        self.assertIn("busy", self.refused(here, "object=disk"))
        self.stop()
        self.assertIn(
            "has 1048576 bytes, not 2097152", self.refused(here, "object=disk", "size=2M")
        )
        for device in self.devices[:3]:
            os.unlink(device)
        self.assertIn("unavailable", self.refused(here, "object=disk"))


if __name__ == "__main__":
    PLUGIN, HEXAD = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main(verbosity=2)
