#!/usr/bin/env python3
"""Programs in each other's way: --wait, who has the pool, and how Ctrl-C and SIGTERM end a verb."""

import contextlib
import os
import signal
import subprocess

from cli_testing import HEXAD, PATIENCE, PoolTest, main

HUGE = 4 << 40  # bytes; the checksum of so many zeros takes minutes


class WaitingTest(PoolTest):
    @contextlib.contextmanager
    def writer(self):
        """A put that has the pool, and its pid; it ends with the block."""
        read_end, write_end = os.pipe()
        with subprocess.Popen([HEXAD, "put", self.pool, "slow", "-"], stdin=read_end,
                              stdout=subprocess.DEVNULL) as process:
            os.close(read_end)
            # More than fits into a pipe: when this returns, the writer is reading.
            os.write(write_end, b"x" * (1 << 20))
            try:
                yield process.pid
            finally:
                os.close(write_end)
                self.assertEqual(process.wait(PATIENCE), 0)

    def start(self, *words):
        return subprocess.Popen([HEXAD, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def has_a_device_open(self, process):
        """Until it has: it has begun then, and hears signals."""
        folder = f"/proc/{process.pid}/fd"
        while process.poll() is None:
            for name in os.listdir(folder):
                with contextlib.suppress(OSError):
                    if os.readlink(os.path.join(folder, name)) == os.path.realpath(self.devices[5]):
                        return
        self.fail(f"it has ended: {process.communicate()}")


class Busy(WaitingTest):
    READERS = (["fsck"], ["cat", "a"], ["checksum", "a"])
    WRITERS = (["put", "b", "-"], ["rm", "b"], ["fsck", "--repair"], ["bucket", "create", "c"])

    @staticmethod
    def command(words, pool):
        """With POOL behind the verb."""
        length = 2 if words[0] in ("perf", "bucket") else 1
        return [*words[:length], pool, *words[length:]]

    def test_it_says_which_process_has_the_pool_and_what_that_does(self):
        with self.writer() as pid:
            for words in self.READERS + self.WRITERS:
                error = self.fails(5, *self.command(words, self.pool)).error
                self.assertIn(f"is locked by process {pid} (", error)
                self.assertIn(f" ({os.path.basename(HEXAD)} put {self.pool[:30]}", error)
                self.assertIn("--wait SECONDS", error)

    @contextlib.contextmanager
    def no_socket(self):
        """Files stand where directories of the control socket would be."""
        uuid = self.ok("status", self.pool, "--json").json["uuid"]
        user = os.geteuid()
        runtime = [f"/run/user/{user}", "/tmp", os.environ.get("XDG_RUNTIME_DIR", "/tmp")]
        places = {os.path.join(one, f"hexad-{user}-{uuid}") for one in runtime if os.path.isdir(one)}
        places.add(os.path.join(self.pool, "fast", "control"))
        for place in places:
            with open(place, "wb"):
                pass
        try:
            yield
        finally:
            for place in places:
                os.unlink(place)

    def test_verbs_that_could_ask_say_who_has_it_and_what_would_help(self):
        with self.no_socket(), self.writer() as pid:
            for words in (["df"], ["ls"], ["stat", "a"], ["perf", "dump"], ["bucket", "ls"]):
                error = self.fails(5, *self.command(words, self.pool)).error
                self.assertIn(f"is locked by process {pid} (", error)
                self.assertIn("control=True", error)
                self.assertIn("--wait SECONDS", error)
            self.fails(1, "scrub", "status", self.pool)
            self.fails(5, "scrub", self.pool)

    def test_verbs_that_could_ask_wait_when_nobody_answers(self):
        self.ok("put", self.pool, "a", "-", stdin=b"1")
        for words in (["df"], ["stat", "a"], ["status"]):
            with self.no_socket(), self.writer():
                process = self.start(*self.command(words, self.pool), "--wait", str(PATIENCE))
                self.assertIn(b"hexad: waiting: ", process.stderr.readline())
                self.assertIsNone(process.poll())
            with process:
                _, error = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, (words, error))

    def test_status_and_device_ls_answer_from_the_last_root_and_name_the_writer(self):
        with self.no_socket(), self.writer() as pid:
            text = self.ok("status", self.pool).text
            self.assertIn("health  ok; survives the loss of 2 more devices", text)
            self.assertIn(f"is locked by process {pid} (", text)
            self.assertIn("this is what the last root that it wrote says", text)
            status = self.ok("status", self.pool, "--json").json
            self.assertIn(f"is locked by process {pid} (", status["in_use"])
            self.assertEqual([device["state"] for device in status["devices"]], ["ok"] * 7)
            devices = self.ok("device", "ls", self.pool, "--json").json["devices"]
            self.assertEqual([device["id"] for device in devices], list(range(7)))
            # What a device lacks since it left is known to that root, too.
            os.rename(self.devices[2], self.devices[2] + ".away")
            try:
                status = self.ok("status", self.pool, "--json").json
                self.assertEqual((status["health"], status["faults_tolerated"]), ("degraded", 1))
            finally:
                os.rename(self.devices[2] + ".away", self.devices[2])
        self.assertNotIn("in_use", self.ok("status", self.pool, "--json").json)

    def test_every_verb_with_a_pool_waits_when_it_is_told_to(self):
        self.ok("put", self.pool, "a", "-", stdin=b"1")
        for words in (*self.READERS, *self.WRITERS):
            with self.writer():
                process = self.start(*self.command(words, self.pool), "--wait", str(PATIENCE))
                self.assertIn(b"hexad: waiting: ", process.stderr.readline())
                self.assertIsNone(process.poll())
            with process:
                _, error = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, (words, error))

    def test_mkfs_waits_for_the_devices(self):
        words = ["mkfs", self.path("new"), "--device", *self.devices, "--force"]
        with self.writer():
            self.assertIn("--wait SECONDS", self.fails(5, *words).error)
            process = self.start(*words, "--wait", str(PATIENCE))
            self.assertIn(b"hexad: waiting: ", process.stderr.readline())
            self.assertIsNone(process.poll())
        with process:
            _, error = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, error)
        self.ok("ls", self.path("new"))
        self.ok("mkfs", self.pool, "--device", *self.devices, "--force")

    def test_it_does_not_wait_longer_than_that(self):
        with self.writer():
            answer = self.fails(5, "cat", self.pool, "a", "--wait", "0.2")
            self.assertIn("is locked by process", answer.error)
            self.assertNotIn("--wait", answer.error)
            for words in ("-1x", "soon", ""):
                self.fails(2, "ls", self.pool, "--wait=" + words)

    def test_a_signal_ends_the_waiting(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.writer(), self.start("cat", self.pool, "a", "--wait", "1000") as process:
                process.stderr.readline()
                process.send_signal(number)
                _, error = process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 130)
                self.assertIn(b"hexad: interrupted", error)


class Interrupted(WaitingTest):
    device_size = "256MiB"

    def setUp(self):
        super().setUp()
        path = self.path("huge")
        with open(path, "wb") as file:
            file.truncate(HUGE)
        self.ok("put", self.pool, "huge", path)

    def test_a_long_checksum_ends_between_two_pieces(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for words in ([], ["--type", "xxh3"], ["--range", "1GiB:"]):
                with self.start("checksum", self.pool, "huge", *words) as process:
                    self.has_a_device_open(process)
                    process.send_signal(number)
                    out, error = process.communicate(timeout=PATIENCE)
                self.assertEqual((process.returncode, out), (130, b""), error)
                self.assertIn(b"hexad: interrupted", error)

    def test_a_long_cat_ends_and_so_does_a_get(self):
        with self.start("cat", self.pool, "huge") as process:
            process.stdout.read(1 << 20)
            process.send_signal(signal.SIGTERM)
            process.stdout.read(1 << 20)
            while process.stdout.read(1 << 20):
                pass
            self.assertEqual(process.wait(PATIENCE), 130)

    def test_the_checksum_of_pieces_is_that_of_the_whole(self):
        data = os.urandom(9 << 20)
        self.ok("put", self.pool, "whole", "-", stdin=data)
        sums = {
            kind: self.ok("checksum", self.pool, "whole", "--type", kind, "--json").json
            for kind in ("crc32c", "xxh3")
        }
        for kind, digits in (("crc32c", 8), ("xxh3", 16)):
            self.assertEqual(len(sums[kind]["checksum"]), digits)
            self.assertEqual(sums[kind]["length"], len(data))
            self.ok("put", self.pool, "part", "-", stdin=data[5 << 20 : (5 << 20) + 4097])
            part = self.ok("checksum", self.pool, "part", "--type", kind, "--json").json
            same = self.ok("checksum", self.pool, "whole", "--type", kind, "--json", "--range",
                           "5MiB:4097").json
            self.assertEqual(part["checksum"], same["checksum"])
        behind = self.ok("checksum", self.pool, "whole", "--range", "1GiB:5", "--json").json
        self.assertEqual((behind["checksum"], behind["length"]), ("00000000", 0))


if __name__ == "__main__":
    main()
