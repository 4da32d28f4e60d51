#!/usr/bin/env python3
"""import and export that are killed, at moments all over their work, and then run once more; and
files that change while they are read.

The trees and the moments follow from seeds, as in tests/base/campaign.h: HEXAD_SEED picks others, and
with HEXAD_THOROUGH there are more of them. Seeds as arguments are tried in place of those."""

import os
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tree_testing as tree  # pylint: disable=wrong-import-position
from cli_testing import HEXAD, PATIENCE, Answer, PoolTest, main  # pylint: disable=wrong-import-position

FAULTS = os.path.abspath(os.environ.get("FAULTS", "tests/tools/libpreload_faults.so"))
RUNS = 12 if os.environ.get("HEXAD_THOROUGH") else 3  # trees of each test
CAMPAIGN = int(os.environ.get("HEXAD_SEED") or 0)
SEEDS = [int(word) for word in sys.argv[1:] if word.isdigit()] or [
    CAMPAIGN * 1_000_003 + run for run in range(1, RUNS + 1)]
KILLS = 4  # of each tree
KILLED = -9


def with_faults(*words, **faults):
    environment = {f"HEXAD_FAULT_{name.upper()}": str(value) for name, value in faults.items()}
    done = subprocess.run([HEXAD, *words], env={**os.environ, "LD_PRELOAD": FAULTS, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    return Answer(done)


class Faults(PoolTest):
    kills = 0  # of imports and exports, at moments that seeds have picked
    survived = 0  # and what came afterwards is as it should be
    start = time.monotonic()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        # As tests/crash/harness_line.h.
        print(f"name=backup-kills seed={CAMPAIGN} states={cls.kills} "
              f"violations={cls.kills - cls.survived} secs={time.monotonic() - cls.start:.1f}", flush=True)

    def setUp(self):
        super().setUp()
        self.ok("rm", self.pool, "--all")

    def calls_of(self, *words):
        """How many calls there are to be killed at."""
        answer = with_faults(*words, count=self.path("calls"))
        self.assertEqual(answer.code, 0, answer.error)
        with open(self.path("calls"), encoding="ascii") as file:
            return int(file.read())

    def moments(self, calls, seed):
        return sorted(random.Random(seed).sample(range(1, calls + 1), KILLS))

    def assert_same(self, expected, found, seed, moment):
        different = tree.differences(tree.describe(expected), tree.describe(found))
        self.assertEqual(different, "", f"seed {seed}, killed at call {moment}")

    def leftovers(self, top):
        return [name for _, _, files in os.walk(top) for name in files if name.startswith(".hexad-part")]

    def test_an_export_that_was_killed_goes_on_and_leaves_nothing(self):
        half_written = 0
        for seed in SEEDS:
            with self.subTest(seed=seed):
                half_written += self.kill_exports(seed)
        self.assertGreater(half_written, 0, "no kill was in the middle of a file")

    def kill_exports(self, seed):
        """Returns how many unfinished files the kills have left."""
        top = self.path(f"tree{seed}")
        tree.make_everything(top, random.Random(seed), terabyte=False)
        wanted = tree.describe(top)
        self.ok("rm", self.pool, "--all")
        self.ok("import", self.pool, top)
        calls = self.calls_of("export", self.pool, self.path(f"whole{seed}"))
        self.assertGreater(calls, 1000)
        half_written = 0
        for moment in self.moments(calls, seed):
            out = self.path(f"out{moment}")
            answer = with_faults("export", self.pool, out, kill_at=moment)
            self.assertEqual(answer.code, KILLED, moment)
            Faults.kills += 1
            half_written += len(self.leftovers(out))
            # What was there before the kill is whole.
            written = tree.describe(out)
            for name, entry in written.items():
                if b".hexad-part" not in name and entry["size"] is not None:
                    self.assertEqual(entry["content"], wanted[name]["content"], (name, moment))
            again = self.ok("export", self.pool, out, "--update", "--json").json
            self.assertEqual(again["failed"], 0)
            self.assertEqual(self.leftovers(out), [], moment)
            self.assert_same(top, out, seed, moment)
            Faults.survived += 1
            shutil.rmtree(out)
        shutil.rmtree(self.path(f"whole{seed}"))
        return half_written

    def test_a_killed_export_leaves_nothing_where_the_next_one_writes_no_such_file(self):
        os.makedirs(self.path("tree/d"))
        for name in ("a", "b"):
            self.write("tree/d/" + name, os.urandom(9 << 20))
        self.ok("import", self.pool, self.path("tree"))
        out = self.path("out")
        calls = self.calls_of("export", self.pool, self.path("whole"))
        moment = next(m for m in range(2, calls) if self.left_by_kill(out, m))
        self.ok("rm", self.pool, "d/a", "d/b")
        self.ok("put", self.pool, "d/c", "-", stdin=b"other")
        self.ok("export", self.pool, out)
        self.assertEqual(self.leftovers(out), [], moment)

    def left_by_kill(self, out, moment):
        with_faults("export", self.pool, out, kill_at=moment)
        return self.leftovers(out)

    def test_a_get_that_was_killed_leaves_nothing_behind_the_next_one(self):
        self.ok("put", self.pool, "a", self.write("a", os.urandom(9 << 20)))
        calls = self.calls_of("get", self.pool, "a", self.path("whole"))
        found = 0
        for moment in range(1, calls + 1):
            with_faults("get", self.pool, "a", self.path("out"), kill_at=moment)
            found += len(self.leftovers(self.folder))
            self.ok("get", self.pool, "a", self.path("out"))
            self.assertEqual(self.leftovers(self.folder), [], moment)
        self.assertGreater(found, 0)
        self.assertEqual(self.read(self.path("out")), self.read(self.path("a")))

    def test_an_import_that_was_killed_goes_on(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                self.kill_imports(seed)
        self.ok("fsck", self.pool, "--deep")

    def kill_imports(self, seed):
        old = self.path(f"old{seed}")
        tree.make_everything(old, random.Random(f"old {seed}"), terabyte=False)
        # Some times are given, and --update goes by them.
        for folder, folders, files in os.walk(os.fsencode(old)):
            for name in folders + files:
                path = os.path.join(folder, name)
                before = os.lstat(path).st_mtime_ns
                os.utime(path, ns=(0, before + 1), follow_symlinks=False)
        new = self.path(f"new{seed}")
        tree.make_everything(new, random.Random(f"new {seed}"), terabyte=False)
        os.makedirs(os.path.join(new, "only/new"))
        os.unlink(os.path.join(new, "comb"))
        os.makedirs(os.path.join(new, "comb/is a folder now"))
        self.ok("rm", self.pool, "--all")
        calls = self.calls_of("import", self.pool, new)
        self.assertGreater(calls, 300)
        for moment in self.moments(calls, seed):
            self.ok("rm", self.pool, "--all")
            self.ok("import", self.pool, old)
            answer = with_faults("import", self.pool, new, kill_at=moment)
            self.assertEqual(answer.code, KILLED, moment)
            Faults.kills += 1
            again = self.ok("import", self.pool, new, "--update", "--delete", "--json").json
            self.assertEqual(again["failed"], 0)
            out = self.path(f"out{moment}")
            self.ok("export", self.pool, out)
            self.assert_same(new, out, seed, moment)
            Faults.survived += 1
            shutil.rmtree(out)

    def test_where_two_names_are_one_no_object_takes_the_place_of_another(self):
        # As on a file system that does not tell upper case from lower case.
        for name, data in {"A": b"upper", "a": b"lower", "b": b"one", "B": b"one", "Dir/x": b"in Dir",
                           "dir/X": b"in dir", "dir/y": b"y"}.items():
            self.ok("put", self.pool, name, "-", stdin=data)
        os.makedirs(self.path("links"))
        self.write("links/L", b"linked")
        os.link(self.path("links/L"), self.path("links/l"))
        os.link(self.path("links/L"), self.path("links/other"))
        os.symlink("there", self.path("links/S"))
        os.symlink("elsewhere", self.path("links/s"))
        self.ok("import", self.pool, self.path("links"), "--prefix", "links/")
        out = self.path("out")
        second = ["a", "b", "dir/x", "links/l", "links/s"]
        for options in ([], ["--update"], ["--update"], []):
            answer = with_faults("export", self.pool, out, "--json", *options, fold=1)
            self.assertEqual(answer.code, 7, answer.error)
            problems = answer.json["problems"]
            # Of two names the one that comes first is there, and the other is told of, each time.
            self.assertEqual(sorted(p["name"].lower() for p in problems), second, options)
            self.assertEqual({p["kind"] for p in problems}, {"refused"})
            self.assertEqual({p["name"] for p in problems}, {"a", "b", "dir/X", "links/l", "links/s"})
            self.assertEqual(self.read(os.path.join(out, "A")), b"upper")
            self.assertEqual(self.read(os.path.join(out, "B")), b"one")
            self.assertEqual(self.read(os.path.join(out, "Dir/x")), b"in Dir")
            self.assertEqual(self.read(os.path.join(out, "Dir/y")), b"y")
            self.assertEqual(os.readlink(os.path.join(out, "links/S")), "there")
            self.assertTrue(os.path.samefile(os.path.join(out, "links/L"),
                                             os.path.join(out, "links/other")))
        # Where they are two, nothing is in the way.
        self.ok("export", self.pool, self.path("apart"))
        self.assertEqual(self.read(self.path("apart/a")), b"lower")

    def test_a_file_that_changes_while_it_is_read_is_read_again(self):
        os.makedirs(self.path("tree"))
        for name, size in {"small": 1000, "large": 9 << 20}.items():
            self.ok("rm", self.pool, "--all")
            changing = self.write("tree/" + name, b"A" * size)
            with self.subTest(name=name, changes=2):
                answer = with_faults("import", self.pool, self.path("tree"), "--json",
                                     change=changing, changes=2)
                self.assertEqual(answer.code, 0, answer.error)
                self.assertEqual(self.ok("cat", self.pool, name).raw, b"A" * (size - 1) + b"2")
            with self.subTest(name=name, changes="always"):
                with open(changing, "wb") as file:
                    file.write(b"B" * size)
                answer = with_faults("import", self.pool, self.path("tree"), "--json",
                                     change=changing, changes=1 << 30)
                self.assertEqual(answer.code, 7)
                problem = answer.json["problems"][0]
                self.assertEqual((problem["name"], problem["kind"]), (name, "failed"))
                self.assertIn("changed while it was read, 3 times", problem["why"])
                # What was there before is there still, and nothing of the mixture.
                self.assertEqual(self.ok("cat", self.pool, name).raw, b"A" * (size - 1) + b"2")
            with self.subTest(name=name, verb="put"):
                answer = with_faults("put", self.pool, name, changing, "--json", change=changing,
                                     changes=1 << 30)
                self.assertEqual(answer.code, 7)
                self.assertIn("changed while it was read", answer.json["error"]["message"])
                self.assertEqual(self.ok("cat", self.pool, name).raw, b"A" * (size - 1) + b"2")
            os.unlink(changing)


if __name__ == "__main__":
    main()
