#!/usr/bin/env python3
"""A pool on a read-only file system: it is read as ever, and what would change it says why not."""

import os
import shutil
import subprocess
import unittest

from cli_testing import HEXAD, PATIENCE, Answer, PoolTest, main

# Mounts what is named before "--" read-only in a namespace of its own, and then becomes the rest.
READ_ONLY = """
while [ "$1" != -- ]; do
  mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 99
  shift
done
shift
exec "$@"
"""


def why_not(folder):
    """Nothing, or why no such mount can be made here."""
    if shutil.which("unshare") is None:
        return "there is no unshare(1)"
    file = os.path.join(folder, "tried")
    tried = subprocess.run(
        ["unshare", "-rm", "sh", "-c", READ_ONLY, "sh", folder, "--", "touch", file],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )
    if "Read-only file system" in tried.stderr:
        return ""
    return f"no read-only mount can be made in a namespace: {tried.stderr.strip() or tried.returncode}"


class ReadOnlyMounts(PoolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if reason := why_not(cls.top):
            raise unittest.SkipTest(reason)

    def setUp(self):
        super().setUp()
        self.ok("put", self.pool, "a", "-", stdin=b"one")
        self.ok("attr", "set", self.pool, "a", "colour", "red")
        self.tree = self.path("tree")
        os.mkdir(self.tree)
        with open(os.path.join(self.tree, "file"), "w", encoding="utf-8") as file:
            file.write("1")

    def on_read_only(self, paths, words):
        return Answer(subprocess.run(
            ["unshare", "-rm", "sh", "-c", READ_ONLY, "sh", *paths, "--", HEXAD, *words],
            input=b"two", capture_output=True, check=False, timeout=PATIENCE,
        ))

    def everything(self):
        return [self.pool, *self.devices]

    def images(self):
        found = {}
        for path in self.devices:
            with open(path, "rb") as file:
                found[path] = file.read()
        return found

    def changes(self):
        """All verbs that change a pool, and what they are given."""
        new = self.path("new")
        pool = self.pool
        return [
            ["put", pool, "b", "-"], ["put", pool, "a", "-"], ["rm", pool, "a"], ["rm", "-f", pool, "a"],
            ["mv", pool, "a", "b"], ["cp", pool, "a", "b"], ["import", pool, self.tree],
            ["attr", "set", pool, "a", "colour", "blue"], ["attr", "rm", pool, "a", "colour"],
            ["bucket", "create", pool, "other"], ["bucket", "rm", pool, "other"],
            ["bucket", "policy", pool, "default", "--compression", "force"],
            ["fsck", pool, "--repair"], ["scrub", pool], ["damage", "ack", pool, "--all"],
            ["device", "add", pool, new], ["device", "replace", pool, "0", new],
            ["device", "catch-up", pool], ["device", "drain", pool, "0"],
            ["device", "undrain", pool, "0"], ["device", "move", pool],
            ["device", "remove", pool, "0"], ["device", "online", pool, "0"],
            ["device", "clear-errors", pool], ["takeover", pool, "--yes"],
            ["bench", "run", pool], ["put", "--device", *self.devices, "--", "b", "-"],
        ]

    def reads(self):
        pool = self.pool
        return [
            ["get", pool, "a", "-"], ["cat", pool, "a"], ["stat", pool, "a"], ["checksum", pool, "a"],
            ["ls", pool], ["attr", "ls", pool, "a"], ["attr", "get", pool, "a", "colour"],
            ["bucket", "ls", pool], ["bucket", "stat", pool, "default"], ["bucket", "policy", pool, "default"],
            ["import", "--dry-run", pool, self.tree], ["export", pool, self.path("out")],
            ["df", pool], ["status", pool], ["doctor", pool], ["perf", "dump", pool],
            ["fsck", pool], ["fsck", pool, "--deep"], ["damage", "ls", pool], ["device", "ls", pool],
            ["device", "can", pool, "offline", "0"],
        ]

    def assert_says_so(self, answer, words):
        self.assertEqual(answer.code, 7, (words, answer.text, answer.error))
        self.assertIn("Read-only file system", answer.error, words)
        for misleading in ("mkfs", "label", "No such file", "not found", "Traceback"):
            self.assertNotIn(misleading, answer.error, words)

    def test_what_would_change_the_pool_says_that_it_is_on_a_read_only_file_system(self):
        before = self.images()
        for words in self.changes():
            with self.subTest(words=words):
                self.assert_says_so(self.on_read_only(self.everything(), words), words)
        self.assertTrue(before == self.images(), "something has been written")
        self.assertEqual(os.listdir(self.folder), ["tree"])  # and no new device is left
        self.assertEqual(self.ok("cat", self.pool, "a").raw, b"one")

    def test_what_only_reads_works_as_ever(self):
        before = self.images()
        for words in self.reads():
            with self.subTest(words=words):
                answer = self.on_read_only(self.everything(), words)
                self.assertEqual(answer.code, 0, (words, answer.text, answer.error))
        self.assertTrue(before == self.images(), "something has been written")

    def test_so_it_is_when_the_last_writer_was_killed(self):
        """Then an opening has the log to apply: in memory here."""
        with subprocess.Popen([HEXAD, "put", self.pool, "b", "-"], stdin=subprocess.PIPE) as writer:
            writer.stdin.write(bytes(4 << 20))  # far more than a pipe holds: it has been read
            writer.kill()
        answer = self.on_read_only(self.everything(), ["cat", self.pool, "a"])
        self.assertEqual((answer.code, answer.raw), (0, b"one"), answer.error)
        words = ["put", self.pool, "b", "-"]
        self.assert_says_so(self.on_read_only(self.everything(), words), words)

    def test_one_device_on_such_a_file_system_is_named(self):
        for path in (self.devices[0], self.devices[4]):
            words = ["put", self.pool, "b", "-"]
            answer = self.on_read_only([path], words)
            self.assert_says_so(answer, words)
            self.assertIn(path, answer.error)
            self.assertIn("--lose-unwritable-devices", answer.error)

    def test_a_place_for_what_is_written_is_named(self):
        folder = self.path("place")
        os.mkdir(folder)
        new = [f"{folder}/{i}" for i in range(6)]
        for words in (
            ["mkfs", folder + "/pool", "--size", "32MiB", "--device", *new],
            ["get", self.pool, "a", folder + "/a"],
            ["export", self.pool, folder + "/out"],
            ["bench", "scale", folder + "/scale", "--objects", "10"],
            ["device", "replace", self.pool, "0", folder + "/new"],
            ["device", "add", self.pool, folder + "/new"],
        ):
            with self.subTest(words=words):
                answer = self.on_read_only([folder], words)
                self.assert_says_so(answer, words)
                self.assertIn(folder, answer.error)
        self.assertEqual(os.listdir(folder), [])
        self.assertEqual(self.ok("status", self.pool, "--json").json["health"], "ok")


if __name__ == "__main__":
    main()
