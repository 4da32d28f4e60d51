#!/usr/bin/env python3
"""Verbs that ask the process that has the pool, over its control socket."""

import contextlib
import glob
import json
import os
import pty
import signal
import socket
import subprocess

from cli_testing import HEXAD, PATIENCE, PoolTest, hexad, main


class ControlTest(PoolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fast = os.path.join(cls.pool, "fast")

    @contextlib.contextmanager
    def holder(self, pool=None, kill=False):
        """A put that has the pool, and its pid; it ends with the block."""
        read_end, write_end = os.pipe()
        with subprocess.Popen([HEXAD, "put", pool or self.pool, "slow", "-"], stdin=read_end,
                              stdout=subprocess.DEVNULL) as process:
            os.close(read_end)
            # More than fits into a pipe: when this returns, the holder is reading.
            os.write(write_end, b"x" * (1 << 20))
            try:
                yield process.pid
            finally:
                if kill:
                    process.kill()
                os.close(write_end)
                self.assertEqual(process.wait(PATIENCE), -signal.SIGKILL if kill else 0)

    def sockets(self):
        return glob.glob(os.path.join(self.fast, "control", "*"))


class Answers(ControlTest):
    def setUp(self):
        super().setUp()
        for name in ("a/1", "a/2", "b"):
            self.ok("put", self.pool, name, "-", stdin=name.encode())

    def test_what_is_printed_is_what_the_pool_itself_gives(self):
        verbs = (["ls"], ["ls", "a/", "-l"], ["ls", "-d", "/"], ["stat", "b"], ["bucket", "ls"],
                 ["bucket", "ls", "-l"], ["stat", "b", "--extents"])
        for words in verbs:
            length = 2 if words[0] == "bucket" else 1
            command = [*words[:length], self.pool, *words[length:]]
            alone = self.ok(*command).raw
            alone_json = self.ok(*command, "--json").json
            self.assertNotIn("answered_by", alone_json)
            with self.holder() as pid:
                answer = self.ok(*command)
                self.assertEqual(answer.raw, alone)
                self.assertIn(f"answered by process {pid} (", answer.error)
                self.assertIn("has had the pool open since 20", answer.error)
                self.assertEqual(self.ok(*command, "-q").error, "")
                asked = self.ok(*command, "--json").json
            by = asked.pop("answered_by")
            self.assertEqual(by["pid"], pid)
            self.assertIn("put", by["command"])
            self.assertGreaterEqual(by["opened"], by["running_since"])
            self.assertEqual(asked, alone_json)
            self.ok("rm", self.pool, "slow")

    def test_state_and_space_are_those_of_now(self):
        before = self.ok("df", self.pool, "--json").json
        with self.holder() as pid:
            status = self.ok("status", self.pool, "--json").json
            self.assertEqual(status["answered_by"]["pid"], pid)
            self.assertEqual(status["health"], "ok")
            self.assertGreater(status["log_size"], 0)
            self.assertFalse(status["read_only"])
            self.assertNotIn("in_use", status)
            self.assertIn("checkpoint", [job["name"] for job in status["jobs"]])
            space = self.ok("df", self.pool, "--json").json
            self.assertEqual(set(space), set(before) | {"answered_by"})
            self.assertEqual(space["objects"], before["objects"])
            self.assertEqual(space["capacity"], before["capacity"])
            self.assertIn("available", self.ok("df", self.pool).text)
            counters = self.ok("perf", "dump", self.pool, "--json").json
            self.assertIn("reads", counters["counters"])
            devices = self.ok("device", "ls", self.pool, "--json").json["devices"]
            self.assertEqual([device["id"] for device in devices], list(range(7)))
            self.assertEqual([device["state"] for device in devices], ["ok"] * 7)
            self.assertIn("advice", self.ok("doctor", self.pool, "--json").json)

    def test_what_is_not_there_is_an_error_as_ever(self):
        with self.holder():
            self.fails(1, "stat", self.pool, "none")
            self.fails(1, "ls", self.pool, "--collection", "none")

    def test_a_device_that_leaves_meanwhile_is_shown(self):
        with self.holder():
            os.rename(self.devices[2], self.devices[2] + ".away")
            try:
                # The process has it open still, so nothing is lost.
                self.assertEqual(self.ok("status", self.pool, "--json").json["health"], "ok")
            finally:
                os.rename(self.devices[2] + ".away", self.devices[2])

    def test_the_pool_is_found_by_links_and_by_devices(self):
        os.symlink(self.pool, self.path("link"))
        os.symlink(self.top, self.path("top"))
        devices = [os.path.join(self.path("top"), os.path.basename(one)) for one in self.devices]
        with self.holder() as pid:
            for words in ([self.path("link")], ["--device", *self.devices, "--json"],
                          ["--device", *devices[::-1], "--json"]):
                answer = self.ok("status", *words, "--json" if words[-1] != "--json" else "-q")
                self.assertEqual(answer.json["answered_by"]["pid"], pid)

    def test_two_pools_do_not_answer_for_each_other(self):
        other = self.path("other")
        devices = [self.path(f"other{i}") for i in range(6)]
        self.ok("mkfs", other, "--device", *devices, "--size", "64MiB")
        with self.holder() as one, self.holder(other) as two:
            for pool, pid in ((self.pool, one), (other, two)):
                self.assertEqual(self.ok("ls", pool, "--json").json["answered_by"]["pid"], pid)

    def test_a_pool_in_a_folder_with_a_long_name(self):
        folder = self.top
        for letter in "abcd":
            folder = os.path.join(folder, letter * 50)
        os.makedirs(folder)
        pool = os.path.join(folder, "pool")
        devices = [os.path.join(folder, f"d{i}") for i in range(6)]
        self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB")
        with self.holder(pool) as pid:
            self.assertEqual(self.ok("ls", pool, "--json").json["answered_by"]["pid"], pid)

    def test_what_a_process_that_was_killed_has_left_is_cleared_by_the_next(self):
        with self.holder(kill=True):
            self.assertEqual(len(self.sockets()), 1)
        self.assertEqual(len(self.sockets()), 1)
        # Nobody answers there, so the pool is opened; reading changes nothing.
        self.assertNotIn("answered_by", self.ok("ls", self.pool, "--json", "--wait", "60").json)
        self.assertEqual(len(self.sockets()), 1)
        with self.holder() as pid:
            self.assertEqual(self.ok("ls", self.pool, "--json").json["answered_by"]["pid"], pid)
        self.assertEqual(self.sockets(), [])

    def test_silent_clients_cost_the_others_some_seconds_at_most(self):
        with self.holder() as pid, contextlib.ExitStack() as silent:
            for _ in range(8):
                one = silent.enter_context(socket.socket(socket.AF_UNIX))
                descriptor = os.open(os.path.join(self.fast, "control"), os.O_RDONLY)
                silent.callback(os.close, descriptor)
                one.connect(f"/proc/self/fd/{descriptor}/socket")
                one.send(b'{"hexad":1,')
            self.assertEqual(self.ok("status", self.pool, "--json").json["answered_by"]["pid"], pid)

    def test_the_protocol_is_one_line_for_one_line(self):
        with self.holder() as pid, socket.socket(socket.AF_UNIX) as one:
            descriptor = os.open(os.path.join(self.fast, "control"), os.O_RDONLY)
            one.connect(f"/proc/self/fd/{descriptor}/socket")
            os.close(descriptor)
            one.send(b'{"hexad": 1, "ask": "list", "collection": "default", "prefix": "a/"}\n')
            with one.makefile("rb") as answers:
                reply = json.loads(answers.readline())
                self.assertEqual(answers.read(), b"")
        self.assertEqual((reply["hexad"], reply["pid"]), (1, pid))
        self.assertEqual([entry["name"] for entry in reply["result"]["entries"]], ["a/1", "a/2"])


class Scrubs(ControlTest):
    device_size = "128MiB"

    def setUp(self):
        super().setUp()
        self.ok("put", self.pool, "much", "-", stdin=os.urandom(40 << 20))

    def test_a_scrub_of_the_holder_is_started_watched_and_stopped(self):
        with self.holder() as pid:
            self.assertIn("no scrub has been asked for", self.ok("scrub", "status", self.pool).text)
            self.fails(1, "scrub", "stop", self.pool)
            started = self.ok("scrub", "start", self.pool, "--rate", "1KiB", "--json").json
            self.assertTrue(started["running"])
            self.assertEqual(started["answered_by"]["pid"], pid)
            self.fails(1, "scrub", "start", self.pool)
            self.fails(1, "scrub", self.pool)
            jobs = self.ok("status", self.pool, "--json").json["jobs"]
            self.assertIn(True, [job["running"] for job in jobs if job["name"] == "scrub"])
            error = self.fails(5, "wait", self.pool, "--for", "scrub", "--timeout", "0.3").error
            self.assertIn("a scrub is at", error)
            self.ok("wait", self.pool, "--for", "rebuild", "--timeout", "0.3")
            stopped = self.ok("scrub", "stop", self.pool, "--json").json
            self.assertFalse(stopped["running"])
            self.ok("wait", self.pool)
            self.assertFalse(self.ok("scrub", "status", self.pool, "--json").json["running"])

    def test_scrub_has_the_holder_scrub_and_waits_for_it(self):
        with self.holder() as pid:
            report = self.ok("scrub", self.pool, "--json").json
            self.assertEqual((report["errors"], report["next"]), (0, None))
            self.assertGreater(report["bytes_checked"], 40 << 20)
            self.assertEqual(report["answered_by"]["pid"], pid)

    def test_a_signal_stops_the_scrub_that_is_waited_for(self):
        with self.holder():
            command = [HEXAD, "scrub", self.pool, "--rate", "1KiB"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
                while not hexad("scrub", "status", self.pool, "--json").json["running"]:
                    pass
                one.send_signal(signal.SIGINT)
                one.communicate(timeout=PATIENCE)
                self.assertEqual(one.returncode, 130)
            self.ok("wait", self.pool, "--for", "scrub", "--timeout", str(PATIENCE))

    def test_damage_is_found_and_put_right_by_the_holder(self):
        size = os.path.getsize(self.devices[1])
        with self.holder():
            with open(self.devices[1], "r+b") as device:
                for at in range(size // 4, 3 * size // 4, 1 << 20):
                    device.seek(at)
                    device.write(b"rotten" * 100)
            report = self.ok("scrub", self.pool, "--json").json
            self.assertGreater(report["repaired"], 0)
            self.assertEqual(report["errors"], 0)
        self.assertEqual(self.ok("fsck", self.pool, "--deep", "--json").json["errors"], 0)

    def test_a_scrub_is_paused_and_goes_on(self):
        with self.holder():
            self.fails(1, "scrub", "pause", self.pool)
            self.fails(1, "scrub", "resume", self.pool)
            self.ok("scrub", "start", self.pool, "--rate", "1KiB")
            paused = self.ok("scrub", "pause", self.pool, "--json").json
            self.assertEqual((paused["running"], paused["paused"]), (False, True))
            self.assertIsNotNone(paused["next"])
            shown = self.ok("scrub", "status", self.pool).text
            self.assertIn("paused: 0 errors", shown)
            self.assertIn(f"to go on: hexad scrub resume {self.pool}", shown)
            self.fails(1, "scrub", "start", self.pool)
            error = self.fails(5, "wait", self.pool, "--for", "scrub", "--timeout", "0.3").error
            self.assertIn("a scrub is paused at", error)
            resumed = self.ok("scrub", "resume", self.pool, "--rate", "100GiB", "--json").json
            self.assertFalse(resumed["paused"])
            self.ok("wait", self.pool, "--for", "scrub")
            through = self.ok("scrub", "status", self.pool, "--json").json
            self.assertEqual((through["next"], through["failure"], through["errors"]),
                             (None, None, 0))
            self.assertGreater(through["bytes_checked"], 40 << 20)
            # One that is paused can be ended as well.
            self.ok("scrub", "start", self.pool, "--rate", "1KiB")
            self.ok("scrub", "pause", self.pool)
            stopped = self.ok("scrub", "stop", self.pool, "--json").json
            self.assertEqual((stopped["running"], stopped["paused"]), (False, False))
            self.ok("wait", self.pool, "--for", "scrub")

    @contextlib.contextmanager
    def slow_scrub(self):
        """A scrub of the holder that somebody watches, and that takes longer than any test."""
        command = [HEXAD, "scrub", self.pool, "--rate", "1KiB"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
            # Not by status, which opens a pool that nobody has yet.
            text = ""
            while "running: " not in text and "scrubs by itself" not in text:
                text = hexad("scrub", "status", self.pool).text
            yield one

    def test_a_scrub_that_somebody_else_stops_is_not_through(self):
        with self.holder(), self.slow_scrub() as one:
            self.ok("scrub", "stop", self.pool)
            output, _ = one.communicate(timeout=PATIENCE)
            self.assertEqual(one.returncode, 4)
            self.assertIn(b"somebody has stopped it", output)

    def test_who_watches_a_scrub_hears_that_the_pool_is_gone(self):
        with contextlib.ExitStack() as watching:
            with self.holder(kill=True):
                one = watching.enter_context(self.slow_scrub())
            _, error = one.communicate(timeout=PATIENCE)
            self.assertEqual(one.returncode, 5)
            self.assertIn(b"To go on where it was: hexad scrub", error)

    def test_a_scrub_by_the_process_that_has_the_pool_is_seen(self):
        with self.slow_scrub() as one:
            self.assertIn("the process scrubs by itself",
                          self.ok("scrub", "status", self.pool).text)
            self.fails(5, "wait", self.pool, "--for", "scrub", "--timeout", "0.3")
            self.fails(1, "scrub", "stop", self.pool)
            one.send_signal(signal.SIGINT)
            one.communicate(timeout=PATIENCE)
            self.assertEqual(one.returncode, 130)

    def test_a_wait_shows_on_a_terminal_how_far_it_is_and_ends_with_a_signal(self):
        with self.holder():
            self.ok("scrub", "start", self.pool, "--rate", "1KiB")
            self.ok("scrub", "pause", self.pool)
            for number in (signal.SIGINT, signal.SIGTERM):
                shown = b""
                terminal, its_end = pty.openpty()
                with subprocess.Popen([HEXAD, "wait", self.pool], stderr=its_end) as one:
                    os.close(its_end)
                    while b"wait [" not in shown:
                        shown += os.read(terminal, 4096)
                    one.send_signal(number)
                    with contextlib.suppress(OSError):  # nobody writes there any more
                        while True:
                            shown += os.read(terminal, 4096)
                    self.assertEqual(one.wait(PATIENCE), 130)
                os.close(terminal)
                self.assertIn(b"hexad: interrupted", shown)
            self.ok("scrub", "stop", self.pool)

    def test_a_wait_outlives_the_process_that_was_asked(self):
        with self.holder():
            self.ok("scrub", "start", self.pool, "--rate", "1KiB")
            waiting = subprocess.Popen([HEXAD, "wait", self.pool], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            self.addCleanup(waiting.communicate)
            while waiting.stderr.readline().find(b"answered by") < 0:
                pass
        self.assertEqual(waiting.wait(PATIENCE), 0)

    def test_a_wait_outlives_one_that_says_who_it_is_and_no_more(self):
        place = os.path.join(self.fast, "control", "socket")
        with self.holder(), socket.socket(socket.AF_UNIX) as stand_in:
            os.rename(place, place + ".away")
            try:
                stand_in.bind(place)
                stand_in.listen()
                stand_in.settimeout(PATIENCE)
                waiting = subprocess.Popen([HEXAD, "wait", self.pool], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
                self.addCleanup(waiting.communicate)
                with stand_in.accept()[0] as one, socket.socket(socket.AF_UNIX) as real:
                    real.connect(place + ".away")
                    real.send(one.makefile("rb").readline())
                    one.send(real.makefile("rb").readline())
                # Who is closing the pool answers nothing, however often it is asked.
                for _ in range(6):
                    stand_in.accept()[0].close()
            finally:
                os.rename(place + ".away", place)
        self.assertEqual(waiting.wait(PATIENCE), 0)

    def test_clean_is_what_lacks_nothing(self):
        self.ok("wait", self.pool, "--for", "clean")
        with self.holder():
            self.ok("wait", self.pool, "--for", "clean,scrub")
        os.rename(self.devices[2], self.devices[2] + ".away")
        try:
            with self.holder():
                error = self.fails(4, "wait", self.pool, "--for", "clean").error
                self.assertIn("is missing, which no waiting mends", error)
                self.ok("wait", self.pool, "--for", "rebuild")
        finally:
            os.rename(self.devices[2] + ".away", self.devices[2])
        error = self.fails(4, "wait", self.pool, "--for", "clean").error
        self.assertIn("is away", error)
        self.ok("device", "catch-up", self.pool)
        self.ok("wait", self.pool, "--for", "clean")
        with open(self.devices[1], "r+b") as device:  # its label at the head
            device.seek(1 << 20)
            device.write(b"\0" * (192 << 10))
        error = self.fails(3, "wait", self.pool, "--for", "clean").error
        self.assertIn("device 1:", error)
        self.ok("scrub", self.pool)
        self.ok("wait", self.pool, "--for", "clean")

    def test_what_cannot_be_put_right_is_not_clean(self):
        pool = self.path("broken")
        devices = [self.path(f"broken{i}") for i in range(6)]
        self.ok("mkfs", pool, "--device", *devices, "--size", "128MiB")
        self.ok("put", pool, "much", "-", stdin=os.urandom(40 << 20))
        size = os.path.getsize(devices[0])
        with self.holder(pool, kill=True):
            for path in devices[:3]:
                with open(path, "r+b") as device:
                    for at in range(size // 4, 3 * size // 4, 1 << 18):
                        device.seek(at)
                        device.write(b"rotten" * 1000)
            self.ok("wait", pool, "--for", "clean")  # nobody knows of it
            self.expect(3, "scrub", pool)
            error = self.fails(3, "wait", pool, "--for", "clean").error
            self.assertIn("could not be put right", error)

    def test_nothing_is_waited_for_in_a_pool_that_nobody_has(self):
        self.ok("wait", self.pool)
        self.fails(2, "wait", self.pool, "--for", "rain")
        for verb in ("pause", "resume", "stop", "status"):
            self.fails(1, "scrub", verb, self.pool)
        error = self.fails(1, "scrub", "start", self.pool).error
        self.assertIn("no process that has the pool answers", error)


if __name__ == "__main__":
    main()
