#!/usr/bin/env python3
"""Every verb under SIGINT and SIGTERM, in the middle of its work.

Which verbs there are the program says: one that the table does not have fails the test. The signal
comes with a request to a device (preload_signal.cc), not after some time. Time stands still from then
on, so that a verb ends by itself, between two of its steps, or is through; or the device does not
answer any more, and nothing but patience ends the verb.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from cli_testing import DEVICES, HEXAD, hexad, main

PRELOAD = os.path.abspath(os.environ["SIGNAL_AT"])
MIB = 1 << 20
FILES = 2500  # several pages of a listing, and of what is removed
SIGNALS = (signal.SIGINT, signal.SIGTERM)
DONE = "interrupted when it was done: nothing is missing"


class Long:
    """A verb that can last. `steps`: whether it consists of some, between which it can end. `points`:
    at which requests the signal comes; of those of a whole run if not given. `left`: what must not
    be there when it has not been through. `lacks`: a device may lack something then.
    """

    def __init__(self, *words, steps=True, prepare=None, writes=True, points=None, left=(), lacks=False):
        self.words = words
        self.steps = steps
        self.prepare = prepare
        self.writes = writes
        self.points = points
        self.left = left
        self.lacks = lacks


class Short:
    """A verb that looks at something, or makes one commit, and why that is so."""

    def __init__(self, why):
        self.why = why


LOOK = Short("looks at what an opening knows")
ONE = Short("one small commit, or a root")
ASKS = Short("asks the process that has the pool; control_test.py interrupts scrub and wait there")
CLUSTER = Short("a cluster's images; it has none here")


class Interrupted(unittest.TestCase):
    requests = {}  # of a whole run, by verb

    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.mkdtemp(prefix="hexad-signal-")
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = os.path.join(cls.top, "cache")
        cls.home = os.path.join(cls.top, "home")
        os.mkdir(cls.home)
        cls.file = os.path.join(cls.top, "file")
        with open(cls.file, "wb") as file:
            file.write(os.urandom(24 * MIB))
        cls.tree = os.path.join(cls.top, "tree")
        os.mkdir(cls.tree)
        for i in range(FILES):
            with open(os.path.join(cls.tree, f"{i:0200}"), "wb") as file:
                file.write(b"%d" % i)
        # Metadata is on the devices alone: a walk over it is made of requests.
        cls.make("mkfs", cls.pool(), "--device", *map(cls.device, range(DEVICES)), "--size", "96MiB",
                 "--no-fast", "--log-size", "16MiB")
        cls.make("put", cls.pool(), "big", cls.file)
        cls.make("import", cls.pool(), cls.tree, "--prefix", "tree/")
        cls.make("ec", "encode", "--profile", "4+2", cls.file, cls.at("chunks"))
        os.rename(cls.home, cls.home + ".made")

    @classmethod
    def pool(cls):
        return os.path.join(cls.home, "pool")

    @classmethod
    def device(cls, number):
        return os.path.join(cls.home, f"device{number}")

    @classmethod
    def at(cls, name):
        return os.path.join(cls.home, name)

    @classmethod
    def make(cls, *words):
        made = hexad(*words, "-q")
        if made.code != 0:
            raise AssertionError(f"{words}: {made.code}: {made.error}")

    # What has to be so before a verb runs.

    def a_device_lacks(self):
        os.rename(self.device(5), self.device(5) + ".away")
        self.make("put", self.pool(), "more", self.file)
        os.rename(self.device(5) + ".away", self.device(5))

    def a_device_more(self):
        self.make("device", "add", self.pool(), self.device(6))

    def a_device_is_drained(self):
        self.a_device_more()
        self.make("device", "drain", self.pool(), "2")

    def table(self):
        new = self.at("new")
        made = [self.at(f"new{i}") for i in range(DEVICES)]
        pool = self.pool()
        return {
            "mkfs": Long("mkfs", new, "--device", *made, "--size", "128MiB", "--log-size",
                         "48MiB", left=[new, *made]),
            "plan": Short("computes"),
            "status": LOOK,
            "doctor": LOOK,
            "put": Long("put", pool, "new", self.file),
            "get": Long("get", pool, "big", new, writes=False, left=[new]),
            "cat": Long("cat", pool, "big", writes=False),
            "stat": LOOK,
            "checksum": Long("checksum", pool, "big", writes=False),
            "attr ls": LOOK,
            "attr get": LOOK,
            "attr set": ONE,
            "attr rm": ONE,
            "ls": Long("ls", pool, "-l", writes=False),
            "rm": Long("rm", pool, "--prefix", "tree/"),
            # One transaction: nobody sees half of it.
            "mv": Long("mv", pool, "tree/", "forest/", steps=False),
            "cp": Long("cp", pool, "tree/", "forest/", steps=False),
            "import": Long("import", pool, self.tree, "--prefix", "new/"),
            "export": Long("export", pool, new, writes=False),
            "bucket create": ONE,
            "bucket rm": Long("bucket", "rm", pool, "default", "--recursive", steps=False),
            "bucket ls": LOOK,
            "bucket policy": ONE,
            "bucket stat": Long("bucket", "stat", pool, "default", steps=False, writes=False),
            "df": Long("df", pool, "--breakdown", steps=False, writes=False),
            "cache-size": ASKS,
            "fsck": Long("fsck", pool, "--deep", writes=False),
            "scrub start": ASKS,
            "scrub pause": ASKS,
            "scrub resume": ASKS,
            "scrub stop": ASKS,
            "scrub status": ASKS,
            "wait": ASKS,
            "scrub": Long("scrub", pool),
            "damage ls": LOOK,
            "damage ack": ONE,
            "device ls": LOOK,
            "device can": LOOK,
            "device catch-up": Long("device", "catch-up", pool, prepare=self.a_device_lacks,
                                    lacks=True),
            "device add": Long("device", "add", pool, self.device(6), left=[self.device(6)]),
            "device add-fast": Long("device", "add-fast", pool, new, left=[new]),
            "device drain": Long("device", "drain", pool, "2", "--until-empty",
                                 prepare=self.a_device_more),
            "device undrain": ONE,
            "device move": Long("device", "move", pool, prepare=self.a_device_is_drained),
            "device remove": ONE,
            "device online": ASKS,
            "device clear-errors": ONE,
            "device replace": Long("device", "replace", pool, "2", self.device(6), lacks=True),
            "takeover": Short("asks before it does anything, and shuts nobody out here"),
            "snapshot-group create": CLUSTER,
            "snapshot-group ls": CLUSTER,
            "snapshot-group rm": CLUSTER,
            "perf dump": LOOK,
            "bench run": Long("bench", "run", pool, "--rw", "put", "--bs", "64KiB", "--size", "32MiB",
                              "--runtime", "1000", points=(300, 600)),
            "bench scale": Long("bench", "scale", new, "--objects", "20000", "--no-fast"),
            "bench compare": Short("reads two small files"),
            "ec encode": Long("ec", "encode", "--profile", "4+2", self.file, new, writes=False),
            "ec decode": Long("ec", "decode", new, self.at("chunks"), writes=False, left=[new]),
        }

    def restore(self, case):
        shutil.rmtree(self.home, ignore_errors=True)
        subprocess.run(["cp", "-a", "--sparse=always", self.home + ".made", self.home], check=True)
        if case.prepare is not None:
            case.prepare()

    def run_with(self, case, **settings):
        """The answer, how many requests there were, and whether the signal was sent."""
        counted = os.path.join(self.top, "counted")
        if os.path.exists(counted):
            os.unlink(counted)
        environment = {f"HEXAD_SIGNAL{name}": str(value) for name, value in settings.items()}
        answer = hexad(*case.words, env=dict(os.environ, LD_PRELOAD=PRELOAD, HEXAD_SIGNAL_COUNT=counted,
                                             **environment))
        requests, sent = 0, False
        if os.path.exists(counted):  # not where it did not come to its end
            with open(counted, encoding="ascii") as file:
                requests, sent = map(int, file.read().split())
        return answer, requests, sent

    def requests_of(self, name, case):
        """How many requests a whole run makes, about."""
        if name not in self.requests:
            self.restore(case)
            answer, self.requests[name], _ = self.run_with(case)
            self.assertEqual(answer.code, 0, f"{name}: {answer.error}")
        return self.requests[name]

    def check_sound(self, case):
        """What there was is still there, and whole."""
        gone = "rm" in case.words and hexad("stat", self.pool(), "big").code == 1
        if case.writes and not gone:
            # After a crash the next opening for writing puts right what was being written.
            self.make("attr", "set", self.pool(), "big", "seen", "1")
        if case.lacks:
            self.make("device", "catch-up", self.pool())
        found = hexad("fsck", self.pool(), *(["--deep"] if case.writes else []), "--json")
        self.assertEqual(found.code, 0, found.text + found.error)
        if not gone:
            self.assertEqual(hexad("stat", self.pool(), "big", "--json").json["size"], 24 * MIB)

    def test_the_table_has_every_verb(self):
        names = re.findall(r"^  ([a-z][a-z -]*?)  +\S", hexad("--help").text, re.M)
        self.assertGreater(len(names), 50)
        self.assertEqual(sorted(names), sorted(self.table()))

    def test_it_ends_between_two_steps_or_is_through(self):
        for name, case in self.table().items():
            if not isinstance(case, Long):
                continue
            points = case.points or [self.requests_of(name, case) * part // 10 for part in (3, 5, 7)]
            ended = 0
            for i, point in enumerate(points):
                number = SIGNALS[i % 2]
                with self.subTest(verb=name, signal=number.name, request=point):
                    self.restore(case)
                    answer, _, sent = self.run_with(case, **{"": number.value, "_AT": point})
                    self.assertTrue(sent or answer.code == 0)
                    if not sent:
                        continue  # it needed fewer this time
                    self.assertEqual(answer.code, 130, answer.error)
                    self.assertIn("hexad: interrupted", answer.error)
                    self.assertNotIn("nothing cuts short", answer.error)
                    through = DONE in answer.error
                    ended += 0 if through else 1
                    for path in [] if through else case.left:
                        self.assertFalse(os.path.exists(path), path)
                    self.check_sound(case)
            with self.subTest(verb=name, ended=ended):
                self.assertGreaterEqual(ended, 1 if case.steps else 0)

    def test_fsck_says_what_it_has_found_so_far(self):
        for words, number in ((["--deep"], signal.SIGINT), (["--deep", "--repair"], signal.SIGTERM)):
            case = Long("fsck", self.pool(), "--json", *words, writes="--repair" in words)
            self.restore(case)
            whole, requests, _ = self.run_with(case)
            self.assertTrue(json.loads(whole.text)["complete"])
            with self.subTest(words=words, signal=number.name):
                self.restore(case)
                answer, _, sent = self.run_with(case, **{"": number.value, "_AT": requests // 2})
                self.assertTrue(sent)
                self.assertEqual(answer.code, 130, answer.error)
                report = json.loads(answer.text)
                self.assertEqual((report["complete"], report["errors"]), (False, 0))
                self.assertNotIn(DONE, answer.error)
                self.check_sound(case)
        self.assertTrue(json.loads(hexad("fsck", self.pool(), "--json").text)["complete"])

    def test_a_repair_that_is_cut_is_not_said_to_be_whole(self):
        """A verb that has read wrong bytes reads them again, when it is done, from a store that may write."""
        case = Long("checksum", self.pool(), "big")

        def rot():
            self.restore(case)
            with open(self.file, "rb") as file:
                cell = file.read()[:4096]
            for number in range(DEVICES):
                with open(self.device(number), "r+b") as device:
                    at = device.read().find(cell)
                    if at >= 0:
                        device.seek(at)
                        device.write(bytes(4096))
                        return
            self.fail("the object is nowhere")

        rot()
        whole, requests, _ = self.run_with(case)
        self.assertEqual(whole.code, 0, whole.error)
        self.assertIn("1 cell was written again", whole.error)
        self.restore(case)
        _, reading, _ = self.run_with(case)
        self.assertGreater(requests, reading)
        cut = 0
        for part in (2, 5, 8):
            point = reading + (requests - reading) * part // 10
            rot()
            answer, _, sent = self.run_with(case, **{"": signal.SIGINT.value, "_AT": point})
            if not sent:
                continue  # it needed fewer this time
            with self.subTest(request=point):
                self.assertEqual(answer.code, 130, answer.error)
                self.assertEqual(answer.text, whole.text)
                is_cut = f"what it had read wrong: hexad scrub {self.pool()} does that" in answer.error
                self.assertNotEqual(is_cut, DONE in answer.error, answer.error)
                cut += is_cut
                if is_cut:
                    self.make("scrub", self.pool())
                self.check_sound(case)
        self.assertGreater(cut, 0)

    def test_it_ends_while_a_device_does_not_answer(self):
        for name, case in self.table().items():
            if not isinstance(case, Long):
                continue
            point = case.points[0] if case.points else self.requests_of(name, case) // 2
            number = SIGNALS[len(name) % 2]
            with self.subTest(verb=name, signal=number.name, request=point):
                answer, sent = None, False
                while point > 0 and (answer is None or (answer.code == 0 and not sent)):
                    self.restore(case)
                    answer, _, sent = self.run_with(
                        case, **{"": number.value, "_AT": point, "_SILENT": 1})
                    point = point * 2 // 3  # should it have needed fewer this time
                self.assertEqual(answer.code, 130, answer.error)
                self.assertIn("hexad: interrupted\n", answer.error)
                said = "whether the last change was made shows" if case.writes else "Nothing was changed"
                if case.words[0] not in ("mkfs", "bench", "ec"):
                    self.assertIn(said, answer.error)
                self.check_sound(case)


if __name__ == "__main__":
    main()
