#!/usr/bin/env python3
"""hexad device can: whether devices may be taken away; and what is remembered of them."""

import contextlib
import os
import shutil
import subprocess

from cli_testing import HEXAD, PATIENCE, PoolTest, main


class DeviceTest(PoolTest):
    def small_pool(self, name, profile, count, *options):
        pool = self.path(name)
        devices = [os.path.join(self.folder, f"{name}{i}") for i in range(count)]
        self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB", "--profile", profile, *options)
        return pool, devices

    @contextlib.contextmanager
    def holder(self, pool):
        """A put that has the pool; it ends with the block."""
        with subprocess.Popen([HEXAD, "put", pool, "slow", "-"], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL) as process:
            # More than fits into a pipe: when this returns, the holder is reading.
            process.stdin.write(b"x" * (1 << 20))
            process.stdin.flush()
            yield process.pid
            process.stdin.close()
            self.assertEqual(process.wait(PATIENCE), 0)


class Can(DeviceTest):
    def can(self, code, pool, what, *ids):
        answer = self.expect(code, "device", "can", pool, what, *ids, "--json").json
        self.assertEqual(answer["allowed"], code == 0, answer)
        self.assertEqual(answer["question"], what)
        self.assertEqual(answer["devices"], [int(one) for one in ids])
        return answer

    def test_as_many_as_the_profile_survives(self):
        pool, devices = self.small_pool("pool", "4+2", 6)
        self.assertEqual(self.can(0, pool, "offline", "3")["faults_tolerated"], 1)
        self.assertEqual(self.can(0, pool, "offline", "0", "5")["faults_tolerated"], 0)
        answer = self.can(1, pool, "offline", "0", "3", "5")
        self.assertFalse(answer["readable"])
        self.assertIn("survives the loss of 2", answer["reason"])
        # What it says is so.
        for device in devices[0], devices[5]:
            os.rename(device, device + ".away")
        self.ok("put", pool, "a", "-", stdin=b"1")
        answer = self.can(1, pool, "offline", "1")
        self.assertIn("beside 2 that count as lost now", answer["reason"])
        self.assertIn(f"hexad doctor {pool}", answer["hint"])
        answer = self.can(0, pool, "offline", "0")
        self.assertIn("nothing changes", answer["reason"])
        for device in devices[0], devices[5]:
            os.rename(device + ".away", device)
        text = self.ok("device", "can", pool, "offline", "0").text
        self.assertTrue(text.startswith("yes: "), text)
        # Comes back with what it missed, and all is as it was. A put gives it that for two seconds only,
        # which may be too little for the disk.
        self.ok("put", pool, "b", "-", stdin=b"2")
        self.ok("device", "catch-up", pool)
        self.assertEqual(self.can(0, pool, "offline", "3")["faults_tolerated"], 1)

    def test_half_of_the_devices_of_a_closed_pool_may_be_read_alone(self):
        pool, devices = self.small_pool("half", "1+1", 2)
        self.ok("put", pool, "a", "-", stdin=b"1")
        answer = self.can(1, pool, "offline", "1")
        self.assertTrue(answer["readable"])
        self.assertFalse(answer["writable"])
        os.rename(devices[1], devices[1] + ".away")
        self.assertEqual(self.ok("get", pool, "a", "-").raw, b"1")
        self.fails(4, "put", pool, "a", "-", stdin=b"2")
        os.rename(devices[1] + ".away", devices[1])

    def test_the_fast_device(self):
        pool, _ = self.small_pool("fast", "2+1", 3)
        self.ok("put", pool, "a", "-", stdin=b"1")
        answer = self.can(0, pool, "offline", "3")
        self.assertEqual(answer["faults_tolerated"], 1)
        with self.holder(pool):
            answer = self.can(1, pool, "offline", "3")
            self.assertIn("SIGBUS", answer["reason"])
            self.assertIn("Close the pool first", answer["hint"])
        os.rename(os.path.join(pool, "fast"), self.path("elsewhere"))
        self.assertEqual(self.ok("get", pool, "a", "-").raw, b"1")
        self.ok("put", pool, "a", "-", stdin=b"2")
        self.assertEqual(self.ok("get", pool, "a", "-").raw, b"2")

    def test_the_process_that_has_the_pool_is_asked(self):
        pool, _ = self.small_pool("held", "4+2", 6)
        with self.holder(pool) as pid:
            status = self.ok("status", pool, "--json").json
            domains = [d["flush_domain"] for d in status["devices"] if d["role"] == "data"]
            mates = [i for i in range(6) if i != 3 and domains[i] == domains[3] >= 0]
            fast = domains[3] >= 0 and status["devices"][6]["flush_domain"] == domains[3]
            allowed = len(mates) < 2
            answer = self.can(0 if allowed else 1, pool, "offline", "3")
            self.assertEqual(answer["answered_by"]["pid"], pid)
            self.assertEqual(answer["together"], mates + [6] * fast)
            self.assertIn("has not been drained", self.can(1, pool, "remove", "3")["reason"])
            # Nobody answers: the last root says how it is.
            user = os.geteuid()
            shared = [os.path.join(one, f"hexad-{user}-{status['uuid']}")
                      for one in {f"/run/user/{user}", "/tmp", os.environ.get("XDG_RUNTIME_DIR", "/tmp")}]
            places = [one for one in [os.path.join(pool, "fast", "control"), *shared]
                      if os.path.isdir(one)]
            self.assertEqual(len(places), 2)
            for place in places:
                os.rename(place, place + ".not")
            try:
                text = self.ok("device", "can", pool, "offline", "3").text
                self.assertIn("the last root that it wrote", text)
                self.assertIn("one cache, and may fail together, is not known", text)
                self.assertIn("put", self.can(0, pool, "offline", "3")["in_use"])
            finally:
                for place in places:
                    os.rename(place + ".not", place)

    def test_what_has_to_be_done_before_a_device_is_removed_is_named(self):
        pool, devices = self.small_pool("remove", "2+1", 3)
        answer = self.can(1, pool, "remove", "1")
        self.assertIn("device 1 has not been drained", answer["reason"])
        self.assertEqual(answer["hint"],
                         f"hexad device drain {pool} 1 has that moved to the others.")
        answer = self.can(0, pool, "remove", "3")  # a fast one
        self.assertEqual(answer["reason"], "nothing is on device 3 that is not on others, too")
        self.assertIn(f"hexad device remove {pool} 3 does it", answer["hint"])
        os.remove(devices[1])
        answer = self.can(1, pool, "remove", "1")
        self.assertIn(f"hexad device drain {pool} 1 has what it held built again", answer["hint"])
        self.assertIn(f"hexad device replace {pool} 1 NEW puts a new device in its place",
                      answer["hint"])
        self.ok("device", "replace", pool, "1", devices[1] + ".new")

    def test_what_is_no_question(self):
        pool, devices = self.small_pool("none", "2+1", 3)
        self.fails(1, "device", "can", pool, "offline", "9")
        self.fails(2, "device", "can", pool, "offline", "one")
        self.fails(2, "device", "can", pool, "fly", "1")
        self.fails(2, "device", "can", pool, "offline")
        for device in devices[:2]:
            os.remove(device)
        self.fails(4, "device", "can", pool, "offline", "2")
        shutil.rmtree(pool)


class Remembered(DeviceTest):
    def row(self, pool, index):
        row = self.ok("device", "ls", pool, "--json").json["devices"][index]
        again = self.ok("status", pool, "--json").json["devices"][index]
        for key in "errors_total", "last_completion", "read_errors":
            self.assertEqual(row[key], again[key])
        return row

    def test_how_a_device_got_what_it_lacked(self):
        pool, devices = self.small_pool("filled", "2+1", 3)
        self.ok("put", pool, "a", "-", stdin=os.urandom(300_000))
        self.assertIsNone(self.row(pool, 1)["last_completion"])
        os.rename(devices[1], devices[1] + ".away")
        self.ok("put", pool, "b", "-", stdin=os.urandom(300_000))
        self.assertIsNone(self.row(pool, 1)["last_completion"])
        os.rename(devices[1] + ".away", devices[1])
        self.ok("device", "catch-up", pool)
        first = self.row(pool, 1)["last_completion"]
        self.assertEqual(first["kind"], "catch-up")
        self.assertGreater(first["bytes"], 100_000)
        self.assertGreaterEqual(first["ended"], first["began"])
        self.assertIsNone(self.row(pool, 0)["last_completion"])
        self.assertIn("catch-up complete 20", self.ok("device", "ls", pool).text)
        self.ok("put", pool, "c", "-", stdin=b"3")
        self.assertEqual(self.row(pool, 1)["last_completion"], first)
        # It is said until the next one.
        self.ok("device", "replace", pool, "1", devices[1] + ".new")
        last = self.row(pool, 1)["last_completion"]
        self.assertEqual(last["kind"], "replace")
        self.assertGreater(last["bytes_copied"], 100_000)
        self.assertIn("replace complete 20", self.ok("status", pool).text)

    def test_errors_are_added_up_until_they_are_forgotten(self):
        pool, devices = self.small_pool("errors", "2+1", 3)
        data = os.urandom(2 << 20)
        self.ok("put", pool, "a", "-", stdin=data)
        self.assertEqual(self.row(pool, 1)["errors_total"]["checksum_errors"], 0)
        with open(devices[1], "r+b") as device:
            content = device.read()
            at = content.find(data[1 << 19:][:64])  # some of it is on each of them
            places = [at] if at >= 0 else [i for i in (content.find(data[j:j + 64]) for j in
                                                       range(0, len(data), 4096)) if i >= 0]
            device.seek(places[0] + 10)
            device.write(b"rotten")
        self.expect(0, "scrub", pool)
        row = self.row(pool, 1)
        total = row["errors_total"]["checksum_errors"]
        self.assertGreater(total, 0)
        self.assertEqual(row["checksum_errors"], 0)
        self.assertRegex(self.ok("device", "ls", pool).text, f"since 20.* UTC {total} checksum error")
        advice = self.expect(3, "doctor", pool)
        self.assertIn(f"hexad device clear-errors {pool} 1", advice.text)
        self.ok("device", "clear-errors", pool, "0")
        self.assertEqual(self.row(pool, 1)["errors_total"]["checksum_errors"], total)
        with self.holder(pool):
            self.fails(1, "device", "clear-errors", pool, "1", "7")
            self.assertEqual(self.row(pool, 1)["errors_total"]["checksum_errors"], total)
            self.ok("device", "clear-errors", pool, "1")
        after = self.row(pool, 1)["errors_total"]
        self.assertEqual(after["checksum_errors"], 0)
        self.assertEqual(after["since"], 0)
        self.ok("doctor", pool)
        self.fails(1, "device", "clear-errors", pool, "7")
        self.fails(2, "device", "clear-errors", pool, "seven")
        with self.holder(pool) as pid:
            answer = self.ok("device", "clear-errors", pool, "--json").json
            self.assertEqual((answer["devices"], answer["answered_by"]["pid"]), ([], pid))


class Online(DeviceTest):
    def state(self, pool, number):
        return self.ok("device", "ls", pool, "--json").json["devices"][number]["state"]

    def test_by_the_process_that_has_the_pool(self):
        pool, devices = self.small_pool("back", "4+2", 6)
        self.ok("put", pool, "a", "-", stdin=b"1" * 100000)
        away = devices[2] + ".away"
        shutil.copy(devices[2], self.path("older"))
        os.rename(devices[2], away)
        self.ok("put", pool, "b", "-", stdin=b"2" * 100000)
        with self.holder(pool) as pid:
            self.assertEqual(self.state(pool, 2), "missing")
            # Not there yet; another one; an older image of it; one that is in use.
            self.fails(1, "device", "online", pool, "2", "--path", devices[2])
            answer = self.fails(5, "device", "online", pool, "2", "--path", devices[3])
            self.assertIn(devices[3], answer.error)
            answer = self.fails(1, "device", "online", pool, "3")
            self.assertIn("device 3", answer.error)
            self.fails(1, "device", "online", pool, "17")
            self.fails(2, "device", "online", pool, "two")
            # Where it is now, by a path of the one who asks.
            answer = self.ok("device", "online", pool, "2", "--path", away, "--json").json
            self.assertEqual(answer["answered_by"]["pid"], pid)
            self.assertEqual((answer["id"], answer["path"]), (2, away))
            # It is used, and gets what it lacks, which has an end of its own.
            self.assertNotEqual(answer["state"], "missing")
            self.ok("wait", pool, "--for", "rebuild", "--timeout", str(PATIENCE))
            self.assertEqual(self.state(pool, 2), "ok")
        # The description names the place.
        self.ok("fsck", pool, "--deep")
        for one in devices[0], devices[5]:
            os.rename(one, one + ".gone")
        for name, byte in (("a", b"1"), ("b", b"2")):
            self.assertEqual(self.ok("get", pool, name, "-").raw, byte * 100000)

    def test_an_older_image_is_refused(self):
        pool, devices = self.small_pool("old", "4+2", 6)
        self.ok("put", pool, "a", "-", stdin=b"1" * 100000)
        older = self.path("older")
        shutil.copy(devices[2], older)
        self.ok("put", pool, "b", "-", stdin=b"2" * 100000)
        os.rename(devices[2], devices[2] + ".away")
        self.ok("put", pool, "c", "-", stdin=b"3")
        with self.holder(pool):
            answer = self.fails(4, "device", "online", pool, "2", "--path", older)
            self.assertIn("stale", answer.error)
            self.assertEqual(self.state(pool, 2), "missing")

    def test_by_an_opening_where_nobody_has_it(self):
        pool, devices = self.small_pool("alone", "2+1", 3)
        self.ok("put", pool, "a", "-", stdin=b"1")
        os.rename(devices[1], devices[1] + ".away")
        self.ok("put", pool, "b", "-", stdin=b"2")
        self.fails(1, "device", "online", pool, "1", "--path", devices[1])
        os.rename(devices[1] + ".away", devices[1])
        answer = self.ok("device", "online", pool, "1", "--json").json
        self.assertNotEqual(answer["state"], "missing")
        self.assertNotIn("answered_by", answer)
        self.ok("device", "catch-up", pool)
        self.assertEqual(self.state(pool, 1), "ok")


if __name__ == "__main__":
    main()
