#!/usr/bin/env python3
"""Verbs that take devices in and out, or give them what they lack, killed at moments all over their work.

Whatever the moment: all objects are there as they were, the same verb goes on, and then the pool has all its
redundancy, which two devices that are taken away show. The moments are parts of the time that the verb takes
here, and follow from seeds, as in tests/base/campaign.h: HEXAD_SEED picks others, and with HEXAD_THOROUGH there
are 20 of each verb."""

import filecmp
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import HEXAD, PATIENCE, hexad, main  # pylint: disable=wrong-import-position

KILLS = 20 if os.environ.get("HEXAD_THOROUGH") else 2  # of each verb
CAMPAIGN = int(os.environ.get("HEXAD_SEED") or 0)
SIZES = (0, 1, 500, 4096, 70_000, 300_000, 1_000_001, 3 << 20)  # of objects
PROFILE_LOSSES = 2


class Pool:
    """A pool of files in a folder of its own, with some objects, and what they are."""

    def __init__(self, test, top, devices=6):
        self.test = test
        self.top = top
        self.path = os.path.join(top, "pool")
        self.devices = [os.path.join(top, f"device{i}") for i in range(devices)]
        self.new = os.path.join(top, "new")
        self.tree = os.path.join(top, "tree")
        test.ok("mkfs", self.path, "--device", *self.devices, "--size", "64MiB", "--preset", "tiny")
        self.put("a")

    def put(self, folder):
        """Objects more."""
        os.makedirs(os.path.join(self.tree, folder))
        for size in SIZES:
            with open(os.path.join(self.tree, folder, str(size)), "wb") as file:
                file.write(os.urandom(size))
        self.test.ok("import", self.path, os.path.join(self.tree, folder), "--prefix", folder + "/")

    def rows(self, role="data"):
        """Of the data devices, by number; or of the fast ones."""
        rows = self.test.ok("device", "ls", self.path, "--json").json["devices"]
        return {row["id"]: row for row in rows if row["role"] == role}

    def fast(self):
        """The numbers of the fast devices."""
        return set(self.rows("log"))

    def paths(self):
        return [row["path"] for row in self.rows().values()]

    def check_objects(self, where):
        out = tempfile.mkdtemp(dir=self.top)
        self.test.ok("export", self.path, out, "--no-repair")
        for folder in os.listdir(self.tree):
            names = os.listdir(os.path.join(self.tree, folder))
            same, _, _ = filecmp.cmpfiles(os.path.join(self.tree, folder), os.path.join(out, folder),
                                          names, shallow=False)
            self.test.assertEqual(sorted(same), sorted(names), where)
        shutil.rmtree(out)

    def check_redundancy(self, where, chance):
        self.test.assertEqual(hexad("fsck", self.path, "--deep").code, 0, where)
        status = self.test.ok("status", self.path, "--json").json
        self.test.assertEqual((status["health"], status["faults_tolerated"]), ("ok", PROFILE_LOSSES),
                              where)
        lost = chance.sample(sorted(self.paths()), PROFILE_LOSSES)
        for path in lost:
            os.rename(path, path + ".lost")
        self.check_objects(f"{where}, without {lost}")


class Verb:
    """One that is killed: what is there before, and how one goes on; each has words() of its own."""

    devices = 6

    def prepare(self, pool):
        pass

    def finish(self, pool):
        """After a kill, or none."""
        pool.test.ok(*self.words(pool))


class Replace(Verb):
    """One that answers: what it has is copied."""

    def words(self, pool):
        return "device", "replace", pool.path, "1", pool.new

    def finish(self, pool):
        # Killed between the root without the old one and that with the new one, it has left.
        if pool.rows()[1]["state"] in ("away", "behind"):
            pool.test.ok("device", "catch-up", pool.path)
        if pool.rows()[1]["path"] != pool.new:
            super().finish(pool)
        pool.test.assertEqual(pool.rows()[1]["path"], pool.new)


class ReplaceLost(Replace):
    def prepare(self, pool):
        os.remove(pool.devices[1])


class Add(Verb):
    def words(self, pool):
        return "device", "add", pool.path, pool.new

    def finish(self, pool):
        if pool.new not in pool.paths():
            super().finish(pool)
        pool.test.assertEqual(len(pool.paths()), 7)


class Move(Verb):
    def prepare(self, pool):
        pool.test.ok("device", "add", pool.path, pool.new)

    def words(self, pool):
        return "device", "move", pool.path


class Drain(Verb):
    devices = 7

    def words(self, pool):
        return "device", "drain", pool.path, "1", "--until-empty"

    def finish(self, pool):
        super().finish(pool)
        pool.test.ok("device", "remove", pool.path, "1")


class Remove(Verb):
    devices = 7

    def prepare(self, pool):
        pool.test.ok("device", "drain", pool.path, "1", "--until-empty")

    def words(self, pool):
        return "device", "remove", pool.path, "1"

    def finish(self, pool):
        if 1 in pool.rows():
            super().finish(pool)
        pool.test.assertNotIn(1, pool.rows())


class AddFast(Verb):
    def words(self, pool):
        return "device", "add-fast", pool.path, pool.new

    def finish(self, pool):
        if len(pool.fast()) < 2:
            super().finish(pool)
        pool.test.assertEqual([row["state"] for row in pool.rows("log").values()], ["ok"] * 2)


class RemoveFast(Verb):
    def words(self, pool):
        return "device", "remove", pool.path, "6"

    def finish(self, pool):
        if pool.fast():
            super().finish(pool)
        pool.test.assertEqual(pool.fast(), set())


class CatchUp(Verb):
    def prepare(self, pool):
        os.rename(pool.devices[1], pool.devices[1] + ".away")
        pool.put("b")
        os.rename(pool.devices[1] + ".away", pool.devices[1])

    def words(self, pool):
        return "device", "catch-up", pool.path


class Scrub(Verb):
    """Of a device that is rotten in places, from behind its labels on."""

    def prepare(self, pool):
        with open(pool.devices[1], "r+b") as device:
            for at in range(1 << 20, 60 << 20, 123_457):
                device.seek(at)
                old = device.read(1)
                if old != b"\0":
                    device.seek(at)
                    device.write(bytes([old[0] ^ 1]))

    def words(self, pool):
        return "scrub", pool.path


class Repair(Scrub):
    def words(self, pool):
        return "fsck", pool.path, "--deep", "--repair"


class Kills(unittest.TestCase):
    kills = 0
    violations = 0
    start = time.monotonic()

    @classmethod
    def tearDownClass(cls):
        # As tests/crash/harness_line.h.
        print(f"name=device-kills seed={CAMPAIGN} states={cls.kills} violations={cls.violations} "
              f"secs={time.monotonic() - cls.start:.1f}", flush=True)

    def ok(self, *words):
        answer = hexad(*words)
        self.assertEqual(answer.code, 0, f"{words}: {answer.text}\n{answer.error}")
        return answer

    def once(self, verb, chance, part, whole):
        """Kills it after part of the time that it takes whole; nothing: not at all. That time, and whether
        the kill came before the end."""
        with tempfile.TemporaryDirectory(prefix="hexad-kill-") as top:
            pool = Pool(self, top, verb.devices)
            verb.prepare(pool)
            begin = time.monotonic()
            with subprocess.Popen([HEXAD, *verb.words(pool)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                try:
                    process.wait(PATIENCE if part is None else part * whole)
                except subprocess.TimeoutExpired:
                    process.kill()
                killed = process.wait() < 0
            took = time.monotonic() - begin
            where = f"{type(verb).__name__}, killed after {part} of {whole} s"
            if part is None:
                self.assertEqual(process.returncode, 0, where)
            pool.check_objects(where)
            verb.finish(pool)
            pool.check_objects(where)
            pool.check_redundancy(where, chance)
            return took, killed

    def kill(self, verb):
        name = type(verb).__name__
        whole, _ = self.once(verb, random.Random(name), None, 0)
        early = 0
        for run in range(KILLS):
            chance = random.Random(f"{name} {CAMPAIGN} {run}")
            Kills.violations += 1
            early += self.once(verb, chance, chance.random(), whole)[1]
            Kills.violations -= 1
            Kills.kills += 1
        print(f"{name}: {early} of {KILLS} were killed before they had ended", flush=True)

    def test_replace_a_lost_device(self):
        self.kill(ReplaceLost())

    def test_replace_a_device_that_answers(self):
        self.kill(Replace())

    def test_add(self):
        self.kill(Add())

    def test_move(self):
        self.kill(Move())

    def test_drain(self):
        self.kill(Drain())

    def test_remove(self):
        self.kill(Remove())

    def test_add_a_fast_device(self):
        self.kill(AddFast())

    def test_remove_a_fast_device(self):
        self.kill(RemoveFast())

    def test_catch_up(self):
        self.kill(CatchUp())

    def test_scrub(self):
        self.kill(Scrub())

    def test_repair(self):
        self.kill(Repair())


if __name__ == "__main__":
    main()
