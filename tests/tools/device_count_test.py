#!/usr/bin/env python3
"""hexad device add, add-fast, drain, undrain, move, remove: pools that get one device more, and one less."""

import contextlib
import os
import shutil
import subprocess

from cli_testing import HEXAD, PATIENCE, PoolTest, hexad, main


class CountTest(PoolTest):
    def small_pool(self, profile="2+1", count=3):
        pool = self.path("pool")
        devices = [os.path.join(self.folder, f"d{i}") for i in range(count)]
        self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB", "--profile", profile)
        return pool, devices

    def fill(self, pool):
        """Objects that every device has a part of."""
        kept = {f"o{i}": os.urandom(300_000) for i in range(8)}
        for name, data in kept.items():
            self.ok("put", pool, name, "-", stdin=data)
        return kept

    def check(self, pool, kept):
        for name, data in kept.items():
            self.assertEqual(self.ok("get", pool, name, "-").raw, data)
        self.ok("fsck", pool, "--deep")

    def rows(self, pool):
        """The devices of the pool, by their numbers."""
        listed = self.ok("device", "ls", pool, "--json").json["devices"]
        return {one["id"]: one for one in listed if one["role"] == "data"}

    def named(self, pool):
        with open(os.path.join(pool, "hexad.pool"), encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(" ", 1) for line in file]
        return [os.path.normpath(os.path.join(pool, line[1])) for line in lines if line[0] == "device"]

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


class Description(CountTest):
    def test_a_path_that_is_no_device_of_the_pool_does_no_harm(self):
        """As a crash between naming a device and adding it leaves one."""
        pool, _ = self.small_pool()
        kept = self.fill(pool)
        stray = self.path("stray")
        with open(os.path.join(pool, "hexad.pool"), "a", encoding="utf-8") as file:
            file.write(f"device {stray}\n")
        for there in False, True:
            if there:
                with open(stray, "wb") as file:
                    file.truncate(64 << 20)
            status = self.ok("status", pool, "--json").json
            self.assertEqual((status["health"], status["faults_tolerated"]), ("ok", 1))
            self.ok("doctor", pool)
            kept["one more"] = b"1"
            self.assertNotIn("redundancy", self.ok("put", pool, "one more", "-", stdin=b"1").error)
            self.check(pool, kept)
        self.assertEqual(sorted(self.rows(pool)), [0, 1, 2])

    def test_what_is_not_added_is_not_named(self):
        pool, devices = self.small_pool()
        before = self.named(pool)
        other = self.path("other0")
        self.ok("mkfs", self.path("other"), "--device",
                *[self.path(f"other{i}") for i in range(3)], "--size", "64MiB", "--profile", "2+1")
        held = self.read(other)
        self.expect_refusal(pool, other)
        self.expect_refusal(pool, devices[1])
        self.assertEqual(self.named(pool), before)
        self.assertEqual(self.read(other), held)
        small = self.write("small", b"")
        os.truncate(small, 1 << 20)
        self.fails(6, "device", "add", pool, small)
        self.assertEqual(self.named(pool), before)
        with self.holder(pool):
            self.expect_refusal(pool, other)
            self.assertEqual(self.named(pool), before)

    def expect_refusal(self, pool, path):
        self.fails(1, "device", "add", pool, path)


class OneMore(CountTest):
    def test_a_device_is_added_and_used(self):
        pool, devices = self.small_pool()
        kept = self.fill(pool)
        new = self.path("new")
        answer = self.ok("device", "add", pool, new, "--json").json
        self.assertEqual((answer["id"], answer["path"], answer["state"]), (4, new, "ok"))
        self.assertGreater(answer["slabs"], 0)
        self.assertEqual(os.path.getsize(new), 64 << 20)
        self.assertEqual(self.named(pool), devices + [new])
        self.assertEqual(sorted(self.rows(pool)), [0, 1, 2, 4])
        # The next openings find it; it is missed like any other.
        self.check(pool, kept)
        moved = self.ok("device", "move", pool, "--json").json
        self.assertEqual((moved["slabs_left"], moved["problem"]), (0, None))
        kept.update(self.fill(pool))
        os.rename(new, new + ".away")
        status = self.ok("status", pool, "--json").json
        self.assertEqual((status["health"], status["faults_tolerated"]), ("degraded", 0))
        for name, data in kept.items():
            self.assertEqual(self.ok("get", pool, name, "-").raw, data)
        os.rename(new + ".away", new)
        self.check(pool, kept)
        self.fails(1, "device", "add", pool, new)
        self.assertEqual(self.named(pool), devices + [new])

    def test_by_a_path_of_the_one_who_asks(self):
        pool, devices = self.small_pool()
        self.ok("device", "add", pool, "near", cwd=self.folder)
        self.assertEqual(self.named(pool), devices + [self.path("near")])
        self.ok("put", pool, "a", "-", stdin=b"1")


class OneLess(CountTest):
    def test_a_device_is_drained_and_removed(self):
        pool, devices = self.small_pool(count=4)
        kept = self.fill(pool)
        before = self.rows(pool)[1]
        told = self.ok("device", "drain", pool, "1", "-n", "--json").json
        self.assertEqual((told["slabs_used"], told["faults_tolerated"]), (before["slabs_used"], 1))
        self.assertIn("would move", self.ok("device", "drain", pool, "1", "-n").text)
        self.assertEqual(self.rows(pool)[1]["state"], "ok")
        self.fails(4, "device", "remove", pool, "1")
        self.fails(2, "device", "drain", pool, "1", "--rate", "1MiB")

        answer = self.ok("device", "drain", pool, "1", "--until-empty", "--json").json
        self.assertEqual((answer["state"], answer["slabs_used"]), ("draining", 0))
        # How many it has moved itself is not certain: the background moves some, and an opening since
        # then may have made a zone ahead.
        self.assertEqual((answer["slabs_left"], answer["problem"]), (0, None))

        # Nothing is wrong.
        put = self.ok("put", pool, "more", "-", stdin=b"1" * 100_000)
        self.assertNotIn("redundancy", put.error)
        kept["more"] = b"1" * 100_000
        status = self.ok("status", pool)
        self.assertIn("survives the loss of 1 more device", status.text)
        for verb in "status", "df", "device ls":
            self.assertIn("is drained: nothing is left on it", self.ok(*verb.split(), pool).text)
        doctor = self.ok("doctor", pool)
        self.assertIn(f"hexad device remove {pool} 1", doctor.text)
        self.assertEqual(self.rows(pool)[1]["slabs_used"], 0)  # that put is on the others
        self.ok("wait", pool, "--for", "drain")
        self.assertTrue(self.ok("device", "can", pool, "remove", "1", "--json").json["allowed"])

        answer = self.ok("device", "remove", pool, "1", "--json").json
        self.assertEqual(answer, {"id": 1, "path": devices[1]})
        self.assertEqual(self.named(pool), [devices[0], *devices[2:]])
        self.assertEqual(sorted(self.rows(pool)), [0, 2, 3])
        self.fails(1, "device", "remove", pool, "1")
        os.remove(devices[1])
        self.check(pool, kept)
        self.assertEqual(self.ok("status", pool, "--json").json["health"], "ok")
        # Its number is not used again.
        self.assertNotIn(self.ok("device", "add", pool, devices[1], "--json").json["id"], (0, 1, 2, 3))
        self.check(pool, kept)

    def test_what_is_drained_later_and_what_stays(self):
        pool, _ = self.small_pool(count=4)
        kept = self.fill(pool)
        for _ in range(2):  # again: nothing
            answer = self.ok("device", "drain", pool, "2", "--json").json
            self.assertEqual(answer["state"], "draining")
        self.fails(2, "device", "drain", pool, "two")
        for _ in range(2):
            self.ok("device", "undrain", pool, "2")
            self.assertEqual(self.rows(pool)[2]["state"], "ok")
        self.ok("device", "drain", pool, "2")
        self.ok("device", "move", pool, "--rate", "1GiB")
        self.assertEqual(self.rows(pool)[2]["slabs_used"], 0)
        self.check(pool, kept)

    def test_what_cannot_go(self):
        pool, devices = self.small_pool()
        self.fails(6, "device", "drain", pool, "1")  # three are what 2+1 takes
        self.fails(1, "device", "drain", pool, "9")
        self.fails(2, "device", "drain", pool, "3")  # the fast one
        os.rename(devices[1], devices[1] + ".away")
        self.fails(6, "device", "drain", pool, "1")
        os.rename(devices[1] + ".away", devices[1])
        self.ok("device", "catch-up", pool)
        self.assertEqual(self.rows(pool)[1]["state"], "ok")


class Lost(CountTest):
    def test_what_a_lost_device_held_is_built_again_on_the_others(self):
        pool, devices = self.small_pool(count=5)
        kept = self.fill(pool)
        os.remove(devices[1])
        self.ok("put", pool, "later", "-", stdin=b"later")
        self.assertEqual(self.ok("status", pool, "--json").json["faults_tolerated"], 0)
        advice = hexad("doctor", pool).text
        self.assertIn(f"hexad device drain {pool} 1 has that built again there", advice)
        answer = self.ok("device", "drain", pool, "1", "--until-empty", "--json").json
        self.assertEqual((answer["state"], answer["slabs_used"]), ("missing", 0))
        rows = self.rows(pool)
        self.assertTrue(rows[1]["draining"])
        self.assertEqual({one["state"] for id, one in rows.items() if id != 1}, {"ok"})
        self.ok("device", "remove", pool, "1")
        status = self.ok("status", pool, "--json").json
        self.assertEqual((status["health"], status["faults_tolerated"]), ("ok", 1))
        self.check(pool, kept)
        # The oracle: none of the others is needed.
        for device in devices[:1] + devices[2:]:
            os.rename(device, device + ".away")
            for name, data in kept.items():
                self.assertEqual(self.ok("get", pool, name, "-").raw, data)
            os.rename(device + ".away", device)

    def test_the_process_that_has_the_pool_does_it(self):
        pool, devices = self.small_pool(count=5)
        kept = self.fill(pool)
        os.remove(devices[2])
        with self.holder(pool) as pid:
            answer = self.ok("device", "drain", pool, "2", "--until-empty", "--json").json
            self.assertEqual((answer["answered_by"]["pid"], answer["slabs_used"]), (pid, 0))
            self.ok("wait", pool, "--for", "rebuild,drain", "--timeout", str(PATIENCE))
            self.ok("device", "remove", pool, "2")
            self.assertEqual(self.ok("status", pool, "--json").json["faults_tolerated"], 1)
        self.check(pool, kept)


class InUse(CountTest):
    def test_the_process_that_has_the_pool_is_asked(self):
        pool, devices = self.small_pool(count=4)
        kept = self.fill(pool)
        new = self.path("new")
        with self.holder(pool) as pid:
            answer = self.ok("device", "add", pool, new, "--json").json
            self.assertEqual(answer["answered_by"]["pid"], pid)
            added = answer["id"]
            self.assertEqual(self.named(pool), devices + [new])
            answer = self.ok("device", "drain", pool, "0", "--json").json
            self.assertEqual(answer["answered_by"]["pid"], pid)
            self.assertEqual(answer["state"], "draining")
            self.fails(2, "device", "drain", pool, "0", "--until-empty", "--rate", "1MiB")
            self.ok("wait", pool, "--for", "drain", "--timeout", str(PATIENCE))
            answer = self.ok("device", "drain", pool, "0", "--until-empty", "--json").json
            self.assertEqual(answer["slabs_used"], 0)
            self.ok("device", "undrain", pool, "0")
            self.assertEqual(self.rows(pool)[0]["state"], "ok")
            self.fails(4, "device", "remove", pool, "1")
            self.ok("device", "drain", pool, "0", "--until-empty")
            self.ok("device", "remove", pool, "0")
            self.assertEqual(self.named(pool), devices[1:] + [new])
            self.assertEqual(sorted(self.rows(pool)), [1, 2, 3, added])
            self.fails(5, "device", "move", pool)
        os.remove(devices[0])
        self.check(pool, kept)

    def test_a_device_that_answers_is_replaced_by_the_process_that_has_the_pool(self):
        pool, devices = self.small_pool()
        kept = self.fill(pool)
        new = self.path("new")
        with self.holder(pool) as pid:
            self.fails(2, "device", "replace", pool, "1", new, "--rate", "1MiB")
            self.fails(1, "device", "replace", pool, "17", new)
            self.assertEqual(self.named(pool), devices)
            answer = self.ok("device", "replace", pool, "1", new, "--json").json
            self.assertEqual(answer["answered_by"]["pid"], pid)
            added = answer["id"]
            self.assertNotIn(added, (0, 1, 2))
            self.assertEqual((answer["path"], answer["state"]), (new, "ok"))
            self.assertEqual(sorted(self.rows(pool)), [0, 2, added])
            self.assertEqual(self.named(pool), [devices[0], devices[2], new])
        os.remove(devices[1])
        self.check(pool, kept)

    def test_a_fast_directory_is_replaced(self):
        pool = self.path("pool")
        devices = [os.path.join(self.folder, f"d{i}") for i in range(3)]
        fast = [self.path(f"fast{i}") for i in range(3)]
        self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB", "--profile", "2+1",
                "--fast", fast[0])
        kept = self.fill(pool)

        def log():
            return next(one for one in self.ok("device", "ls", pool, "--json").json["devices"]
                        if one["role"] == "log")
        number = str(log()["id"])
        self.ok("device", "replace", pool, number, fast[1])
        shutil.rmtree(fast[0])
        self.check(pool, kept)
        self.assertEqual((log()["path"], log()["state"]), (os.path.join(fast[1], "log"), "ok"))
        with self.holder(pool) as pid:
            answer = self.ok("device", "replace", pool, number, fast[2], "--json").json
            self.assertEqual(answer["answered_by"]["pid"], pid)
            self.assertEqual(log()["path"], os.path.join(fast[2], "log"))
        shutil.rmtree(fast[1])
        self.check(pool, kept)
        self.assertEqual(log()["state"], "ok")

    def test_a_lost_device_is_replaced_by_the_process_that_has_the_pool(self):
        pool, devices = self.small_pool()
        kept = self.fill(pool)
        os.rename(devices[1], devices[1] + ".away")
        new = self.path("new")
        with self.holder(pool) as pid:
            answer = self.ok("device", "replace", pool, "1", new, "--json").json
            self.assertEqual(answer["answered_by"]["pid"], pid)
            self.assertEqual((answer["id"], answer["path"]), (1, new))
            self.assertEqual(self.rows(pool)[1]["path"], new)
            self.assertEqual(self.named(pool), [devices[0], devices[2], new])
            self.ok("wait", pool, "--for", "rebuild", "--timeout", str(PATIENCE))
            self.assertEqual(self.rows(pool)[1]["state"], "ok")
        os.rename(devices[0], devices[0] + ".gone")
        for name, data in kept.items():
            self.assertEqual(self.ok("get", pool, name, "-").raw, data)


class FastDevices(CountTest):
    def fast(self, pool):
        """The fast devices, by their numbers, and the directories that the description names."""
        listed = self.ok("device", "ls", pool, "--json").json["devices"]
        rows = {one["id"]: one for one in listed if one["role"] == "log"}
        with open(os.path.join(pool, "hexad.pool"), encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(" ", 1) for line in file]
        names = [os.path.normpath(os.path.join(pool, line[1])) for line in lines
                 if line[0] == "fast"]
        return rows, names

    def test_a_fast_device_is_added_and_the_first_one_goes(self):
        pool, _ = self.small_pool()
        kept = self.fill(pool)
        first, second = os.path.join(pool, "fast"), self.path("optane/pool")
        answer = self.ok("device", "add-fast", pool, second + "/", "--json").json
        self.assertEqual((answer["id"], answer["path"], answer["state"], answer["slabs"]),
                         (4, second, "ok", 0))
        rows, names = self.fast(pool)
        self.assertEqual((sorted(rows), names), ([3, 4], [first, second]))
        status = self.ok("status", pool, "--json").json["devices"]
        self.assertTrue(all(one["holds_log"] for one in status if one["role"] == "log"))
        for same in first, second, first + "/", second + "//":
            self.fails(1, "device", "add-fast", pool, same)
            self.assertEqual(self.fast(pool)[1], [first, second])
        self.check(pool, kept)
        text = self.ok("device", "remove", pool, "3").text
        self.assertIn(f"{first} holds nothing that the pool needs, and may be removed now", text)
        shutil.rmtree(first)
        kept.update(self.fill(pool))
        self.check(pool, kept)
        rows, names = self.fast(pool)
        self.assertEqual((sorted(rows), names), ([4], [second]))
        self.assertTrue(os.path.exists(os.path.join(second, "index")))
        self.assertEqual(self.ok("status", pool, "--json").json["health"], "ok")

    def test_a_pool_without_one_gets_one_and_loses_it(self):
        pool = self.path("pool")
        devices = [self.path(f"d{i}") for i in range(3)]
        self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB", "--profile", "2+1",
                "--no-fast")
        kept = self.fill(pool)
        later = self.path("later")
        self.ok("device", "add-fast", pool, later)
        rows, names = self.fast(pool)
        self.assertEqual((sorted(rows), names), ([3], [later]))
        kept.update(self.fill(pool))
        self.check(pool, kept)
        self.ok("device", "can", pool, "remove", "3")
        self.ok("device", "remove", pool, "3")
        self.assertEqual(self.fast(pool), ({}, []))
        os.rename(later, later + ".not")
        self.check(pool, kept)
        status = self.ok("status", pool, "--json").json
        self.assertEqual((status["health"], status["faults_tolerated"]), ("ok", 1))
        self.assertIn("no fast directory", " ".join(status["notes"]))

    def test_a_removal_that_ended_before_its_last_step(self):
        """The root has no device there any more, and the description names its directory still."""
        pool, _ = self.small_pool()
        kept = self.fill(pool)
        first = os.path.join(pool, "fast")
        self.assertNotIn("index alone", self.ok("doctor", pool).text)
        self.fails(2, "device", "remove", pool, first)  # device 3 is there
        with open(os.path.join(pool, "hexad.pool"), encoding="utf-8") as file:
            before = file.read()
        self.ok("device", "remove", pool, "3")
        with open(os.path.join(pool, "hexad.pool"), "w", encoding="utf-8") as file:
            file.write(before)
        self.check(pool, kept)
        self.assertEqual(self.fast(pool), ({}, [first]))  # nobody takes it away who only looks
        told = self.ok("doctor", pool).text
        self.assertIn("the index alone is kept in", told)
        self.assertIn(f"hexad device remove {pool} {first}", told)
        with self.holder(pool):
            answer = self.ok("device", "remove", pool, first + "/", "--json").json
            self.assertEqual(answer["path"], first)
        self.assertEqual(self.fast(pool), ({}, []))
        shutil.rmtree(first)
        self.assertNotIn("index alone", self.ok("doctor", pool).text)
        kept.update(self.fill(pool))
        self.check(pool, kept)
        self.fails(2, "device", "remove", pool, first)

    def test_while_another_process_has_the_pool(self):
        pool, _ = self.small_pool()
        first, second = os.path.join(pool, "fast"), self.path("second")
        with self.holder(pool) as pid:
            self.assertEqual(
                self.ok("device", "add-fast", pool, second, "--json").json["id"], 4)
            self.assertIn("when the process that has the pool has closed it",
                          self.ok("device", "remove", pool, "3").text)
            rows, names = self.fast(pool)
            self.assertEqual((sorted(rows), names), ([4], [second]))
            # Who asks finds it, though its socket was in the directory that nobody names any more.
            answer = self.ok("status", pool, "--json").json
            self.assertEqual(answer["answered_by"]["pid"], pid)
            self.ok("device", "remove", pool, "4")
            self.assertEqual(self.fast(pool), ({}, []))
            self.assertEqual(self.ok("df", pool, "--json").json["answered_by"]["pid"], pid)
        shutil.rmtree(first)
        self.assertEqual(len(self.ok("get", pool, "slow", "-").raw), 1 << 20)
        self.check(pool, {})

    def test_a_description_that_leaves_it_to_the_labels(self):
        """It names all of them when one is added or removed."""
        for verb in "add-fast", "remove":
            with self.subTest(verb):
                folder = self.path(verb)
                os.mkdir(folder)
                pool = os.path.join(folder, "pool")
                fast = [os.path.join(folder, f"fast{i}") for i in range(2)]
                more = os.path.join(folder, "more")
                self.ok("mkfs", pool, "--device", *[os.path.join(folder, f"d{i}") for i in range(3)],
                        "--size", "64MiB", "--profile", "2+1", "--fast", *fast)
                with open(os.path.join(pool, "hexad.pool"), encoding="utf-8") as file:
                    lines = [line for line in file if not line.startswith("fast ")]
                with open(os.path.join(pool, "hexad.pool"), "w", encoding="utf-8") as file:
                    file.writelines(lines)
                kept = self.fill(pool)
                if verb == "add-fast":
                    self.ok("device", verb, pool, more)
                    expected = ([3, 4, 5], [*fast, more])
                else:
                    self.ok("device", verb, pool, "3")
                    shutil.rmtree(fast[0])
                    expected = ([4], fast[1:])
                rows, names = self.fast(pool)
                self.assertEqual((sorted(rows), names), expected)
                self.check(pool, kept)

    def test_a_directory_that_is_not_taken_is_not_named(self):
        pool, _ = self.small_pool()
        other = self.path("other")
        self.ok("mkfs", other, "--device", *[self.path(f"other{i}") for i in range(3)],
                "--size", "64MiB", "--profile", "2+1")
        before = self.fast(pool)
        self.fails(1, "device", "add-fast", pool, os.path.join(other, "fast"))
        self.assertIn("holds a hexad store",
                      self.fails(1, "device", "add", pool, self.path("other0")).error)
        self.assertEqual(self.fast(pool), before)
        self.assertEqual(self.ok("status", other, "--json").json["health"], "ok")


if __name__ == "__main__":
    main()
