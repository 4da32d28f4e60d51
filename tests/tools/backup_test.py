#!/usr/bin/env python3
"""import and export as a backup: what is kept of a tree with every kind of file, as root and as a
user; again and again over what is there; and what is said where something cannot be kept."""

import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tree_testing as tree  # pylint: disable=wrong-import-position
from cli_testing import HEXAD, PoolTest, main  # pylint: disable=wrong-import-position

NOBODY = 65534


def names_of(problems, kind):
    return {problem["name"] for problem in problems if problem["kind"] == kind}


class Backup(PoolTest):
    def setUp(self):
        super().setUp()
        self.ok("rm", self.pool, "--all")

    def tree(self, **kwargs):
        top = self.path("tree")
        self.left_out = tree.make_everything(top, random.Random(7), **kwargs)
        return top

    def assert_same(self, expected, found):
        self.assertEqual(tree.differences(tree.describe(expected), tree.describe(found)), "")
        self.assertEqual(tree.allocation_differences(expected, found), "")

    def test_a_tree_with_every_kind_of_file_comes_back_as_it_was(self):
        top = self.tree()
        stored = self.ok("import", self.pool, top, "--json").json
        self.assertEqual(names_of(stored["problems"], "skipped"), self.left_out)
        self.assertEqual((stored["refused"], stored["failed"], stored["incomplete"]), (0, 0, 0))
        self.assertEqual(stored["links"], 5)
        written = self.ok("export", self.pool, self.path("out"), "--json").json
        self.assert_same(top, self.path("out"))
        for key in ("files", "directories", "symlinks", "links", "bytes"):
            self.assertEqual(written[key], stored[key], key)
        self.assertEqual(written["problems"], [])
        # The pool holds the data and not the holes, and each name is an object to read.
        self.assertLess(self.ok("df", self.pool, "--json").json["allocated"], 60 << 20)
        self.assertEqual(self.ok("cat", self.pool, "deep/er/one again").raw,
                         self.ok("cat", self.pool, "one").raw)
        self.assertEqual(self.ok("get", self.pool, "terabyte", "-", "--offset", str((1 << 40) - 3)).raw,
                         b"end")
        self.ok("fsck", self.pool, "--deep")
        # Once more over what is there, changed and unchanged: all of it is written again.
        for name in ("one", "deep/large", "hole-first"):
            with open(os.path.join(self.path("out"), name), "r+b") as file:
                file.write(b"something else")
        os.setxattr(self.path("out/hole-only"), "user.extra", b"1")
        self.ok("export", self.pool, self.path("out"))
        self.assert_same(top, self.path("out"))

    def test_update_stores_and_writes_what_differs_and_nothing_else(self):
        top = self.tree()
        first = self.ok("import", self.pool, top, "--update", "--json").json
        before = self.ok("ls", self.pool, "-l").raw  # with versions
        second = self.ok("import", self.pool, top, "--update", "--json").json
        self.assertEqual((second["files"], second["directories"], second["symlinks"]), (0, 0, 0))
        self.assertEqual(second["unchanged"],
                         first["files"] + first["directories"] + first["symlinks"])
        self.assertEqual(self.ok("ls", self.pool, "-l").raw, before)
        out = self.path("out")
        self.ok("export", self.pool, out)
        again = self.ok("export", self.pool, out, "--update", "--json").json
        self.assertEqual((again["files"], again["symlinks"], again["bytes"]), (0, 0, 0))
        self.assertEqual(again["unchanged"], first["files"] + first["symlinks"])
        self.assert_same(top, out)

        # Content, mode, attributes, links and times change, each somewhere.
        place = lambda name: os.path.join(top, name)  # pylint: disable=unnecessary-lambda-assignment
        with open(place("deep/er/small"), "ab") as file:
            file.write(b"more")
        os.chmod(place("edge+1"), 0o611)
        os.setxattr(place("hole-only"), "user.new", b"1")
        os.removexattr(place("one"), "user.note")
        os.unlink(place("deep/zero"))
        with open(place("deep/zero"), "wb"):
            pass
        os.link(place("comb"), place("comb again"))
        os.utime(place("hole-last"), ns=(1, 2))
        os.unlink(place("deep/dangling"))
        os.symlink("elsewhere", place("deep/dangling"))
        third = self.ok("import", self.pool, top, "--update", "--json").json
        # Those above, the names that share their files, and the folders they are in.
        self.assertLess(third["files"], 20)
        self.ok("export", self.pool, out, "--update")
        self.assert_same(top, out)
        # Exported elsewhere from nothing it is the same.
        self.ok("export", self.pool, self.path("fresh"))
        self.assert_same(top, self.path("fresh"))

    def test_files_and_directories_take_each_others_place(self):
        os.makedirs(self.path("old/a"))
        os.makedirs(self.path("new/b"))
        for name, text in {"old/a/x": b"1", "old/a/y": b"2", "old/b": b"3", "new/a": b"4",
                           "new/b/z": b"5", "old/a.txt": b"6", "new/a.txt": b"7"}.items():
            self.write(name, text)
        self.ok("import", self.pool, self.path("old"))
        report = self.ok("import", self.pool, self.path("new"), "--json").json
        self.assertEqual(report["deleted"], 4)  # a/, a/x, a/y, b
        self.ok("export", self.pool, self.path("out"))
        self.assert_same(self.path("new"), self.path("out"))
        # On the way out, what is in the way goes with --delete and not without.
        self.ok("import", self.pool, self.path("old"))
        answer = self.fails(7, "export", self.pool, self.path("out"), "--json")
        self.assertEqual(names_of(answer.json["problems"], "refused"), {"a/", "a/x", "a/y", "b"})
        self.ok("export", self.pool, self.path("out"), "--delete")
        self.assert_same(self.path("old"), self.path("out"))

    def test_delete_removes_what_is_not_there_any_more_and_nothing_else(self):
        top = self.path("tree")
        os.makedirs(os.path.join(top, "kept"))
        os.makedirs(os.path.join(top, "gone/inner"))
        for name in ("a", "gone/x", "gone/inner/y", "kept/z", "socket"):
            self.write("tree/" + name, b"x")
        self.ok("put", self.pool, "pa", "-", stdin=b"beside")
        self.ok("put", self.pool, "q/outside", "-", stdin=b"outside")
        self.ok("import", self.pool, top, "--prefix", "p/")
        self.ok("put", self.pool, "p/odd//name", "-", stdin=b"from elsewhere")
        shutil.rmtree(os.path.join(top, "gone"))
        os.unlink(os.path.join(top, "socket"))
        os.mkfifo(os.path.join(top, "socket"))
        without = self.ok("import", self.pool, top, "--prefix", "p/", "--json").json
        self.assertEqual(without["deleted"], 0)
        planned = self.ok("import", self.pool, top, "--prefix", "p/", "--delete", "-n", "--json").json
        self.ok("stat", self.pool, "p/gone/x")
        report = self.ok("import", self.pool, top, "--prefix", "p/", "--delete", "--json").json
        self.assertEqual((report["deleted"], planned["deleted"]), (6, 6))
        left = {entry["name"] for entry in self.ok("ls", self.pool, "--json").json["entries"]}
        self.assertEqual(left, {"pa", "q/outside", "p/a", "p/kept/", "p/kept/z"})
        # An empty directory is more likely one that is not mounted.
        os.makedirs(self.path("empty"))
        answer = self.fails(2, "import", self.pool, self.path("empty"), "--prefix", "p/", "--delete")
        self.assertIn("empty", answer.error)
        self.ok("stat", self.pool, "p/a")

        out = self.path("out")
        self.ok("export", self.pool, out)
        os.makedirs(os.path.join(out, "p2"))
        os.makedirs(os.path.join(out, "p/extra/deep"))
        for name in ("p/extra/deep/x", "p/more", "p2/kept", "unrelated"):
            with open(os.path.join(out, name), "wb"):
                pass
        os.symlink("/etc", os.path.join(out, "p/kept/etc"))
        planned = self.ok("export", self.pool, out, "--prefix", "p/", "--delete", "--dry-run")
        self.assertEqual([line for line in planned.text.splitlines() if line.startswith("delete")],
                         ["delete p/extra/", "delete p/kept/etc", "delete p/more"])
        self.assertTrue(os.path.exists(os.path.join(out, "p/more")))
        report = self.ok("export", self.pool, out, "--prefix", "p/", "--delete", "--json").json
        self.assertEqual(report["deleted"], 3)
        self.assertEqual(sorted(os.listdir(os.path.join(out, "p"))), ["a", "kept"])
        self.assertEqual(os.listdir(os.path.join(out, "p/kept")), ["z"])
        self.assertTrue(os.path.exists(os.path.join(out, "p2/kept")))
        self.assertTrue(os.path.exists(os.path.join(out, "unrelated")))
        self.assertTrue(os.path.exists("/etc/passwd"))
        self.fails(2, "export", self.pool, out, "--prefix", "none/", "--delete")

    def test_delete_leaves_the_pool_itself_alone(self):
        inner = self.path("out/pool")
        devices = [self.path(f"out/disks/d{i}") for i in range(6)]
        os.makedirs(self.path("out/disks"))
        self.ok("mkfs", inner, "--device", *devices, "--size", "64MiB")
        self.ok("put", inner, "a", "-", stdin=b"1")
        self.write("out/extra", b"x")
        self.ok("export", inner, self.path("out"), "--delete")
        self.assertFalse(os.path.exists(self.path("out/extra")))
        self.assertEqual(self.ok("cat", inner, "a").raw, b"1")

    def test_a_dry_run_changes_nothing_and_tells_what_would_be_done(self):
        top = self.path("tree")
        os.makedirs(os.path.join(top, "d"))
        self.write("tree/d/a", b"1")
        os.symlink("a", self.path("tree/d/l"))
        os.link(self.path("tree/d/a"), self.path("tree/d/b"))
        before = [self.read(path) for path in self.devices]
        answer = self.ok("import", self.pool, top, "--dry-run")
        self.assertEqual(answer.text.splitlines()[:4], ["store d/", "store d/a", "link d/b",
                                                        "store d/l"])
        self.assertIn("would have imported 2 files", answer.text)
        self.assertEqual([self.read(path) for path in self.devices], before)
        self.ok("import", self.pool, top)
        answer = self.ok("export", self.pool, self.path("out"), "--dry-run")
        self.assertIn("write d/a\n", answer.text)
        self.assertFalse(os.path.exists(self.path("out")))
        self.ok("export", self.pool, self.path("out"))
        with open(self.path("out/d/a"), "ab") as file:
            file.write(b"longer")
        described = tree.describe(self.path("out"))
        answer = self.ok("export", self.pool, self.path("out"), "--dry-run", "--update")
        self.assertIn("write d/a\n", answer.text)
        self.assertEqual(tree.differences(described, tree.describe(self.path("out"))), "")

    def mounted(self, name, options):
        """A file system in memory there, or the test is skipped."""
        os.makedirs(self.path(name), exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", self.path(name)],
                              stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", self.path(name)], check=True)

    def test_other_file_systems_stay_out_where_the_user_says_so(self):
        self.mounted("tree/mounted", "size=1m")
        os.makedirs(self.path("tree/plain"))
        for name in ("tree/mounted/in", "tree/plain/out"):
            self.write(name, b"x")
        os.utime(self.path("tree/mounted"), (7, 7))
        report = self.ok("import", self.pool, self.path("tree"), "-x", "--json").json
        self.assertEqual((report["files"], report["directories"]), (1, 2))
        self.assertEqual(names_of(report["problems"], "skipped"), {"mounted"})
        self.ok("export", self.pool, self.path("out"))
        self.assertEqual(os.listdir(self.path("out/mounted")), [])
        self.assertEqual(os.stat(self.path("out/mounted")).st_mtime, 7)
        self.assertEqual(self.ok("import", self.pool, self.path("tree"), "--json").json["files"], 2)
        # What was stored of it is not taken for gone.
        report = self.ok("import", self.pool, self.path("tree"), "-x", "--delete", "--json").json
        self.assertEqual(report["deleted"], 0)
        self.ok("stat", self.pool, "mounted/in")

    def test_an_export_goes_on_where_the_full_file_system_has_room_again(self):
        self.mounted("small", "size=2m")
        os.makedirs(self.path("tree"))
        for i in range(9):
            self.write(f"tree/f{i}", os.urandom(400_000))
        self.write("tree/large", os.urandom(5 << 20))
        self.ok("import", self.pool, self.path("tree"))
        for options in ((), ("--update",)):
            answer = self.fails(6, "export", self.pool, self.path("small"), *options)
            self.assertIn("No space left", answer.error)
            self.assertIn("with --update the next one goes on there", answer.error)
            names = sorted(os.listdir(self.path("small")))
            self.assertEqual(names, [f"f{i}" for i in range(len(names))])
            for name in names:
                self.assertEqual(self.read(self.path("small/" + name)),
                                 self.read(self.path("tree/" + name)))
        subprocess.run(["mount", "-o", "remount,size=20m", self.path("small")], check=True)
        report = self.ok("export", self.pool, self.path("small"), "--update", "--json").json
        self.assertEqual((report["files"], report["unchanged"]), (10 - len(names), len(names)))
        self.assert_same(self.path("tree"), self.path("small"))

    def test_what_never_began_did_not_end_early(self):
        for words in (("import", self.pool, self.path("missing")),
                      ("export", self.pool, self.path("out"), "--prefix", "none/", "--delete")):
            answer = self.expect(1 if words[0] == "import" else 2, *words)
            self.assertIn("hexad: ", answer.error)
            self.assertNotIn("ended early", answer.error)

    def test_names_of_every_shape_come_back_and_patterns_mean_nothing(self):
        names = ["a[1].txt", "a1.txt", "*", "?", "**", "-rf", "--help", "a\nb", "\x01", "a", "ab", "abc",
                 "a.", "...", ".x", "caf\u00e9", "cafe\u0301", " ", "  x ", "x" * 255, "a\\b", "'q'",
                 "$(id)", "~", "%41", "a;b", "#", "\udcff", "\u202e"]
        os.makedirs(self.path("tree/d[1]/..b"))
        os.makedirs(self.path("tree/-d"))
        for folder in ("", "d[1]/", "d[1]/..b/", "-d/"):
            for name in names:
                self.write("tree/" + folder + name, ascii(folder + name).encode())
        self.ok("import", self.pool, self.path("tree"), "--prefix=-p/")
        self.ok("export", self.pool, self.path("out"), "--prefix=-p/")
        self.assert_same(self.path("tree"), self.path("out/-p"))
        for name in names:
            self.ok("get", self.pool, "--", "-p/" + name, self.path("got"))
            self.assertEqual(self.read(self.path("got")), ascii(name).encode())
        self.assertEqual(self.ok("rm", self.pool, "--json", "--", "-p/*").json["removed"], 1)
        # Where no path can be made of a name nothing is written, inside or outside.
        for prefix in ("/abs/", "../up/", "a//b/", "./", "a/../../up/"):
            self.ok("rm", self.pool, "--all")
            self.ok("import", self.pool, self.path("tree/-d"), "--prefix", prefix)
            answer = self.expect(7, "export", self.pool, self.path("none"), "--json")
            self.assertEqual(answer.json["refused"], len(names))
            self.assertEqual(os.listdir(self.path("none")), [])
            self.assertFalse(os.path.exists(self.path("up")))

    def test_a_pool_is_not_stored_in_itself_by_whatever_name(self):
        inner = self.path("tree/pool")
        devices = [self.path(f"tree/disks/d{i}") for i in range(6)]
        os.makedirs(self.path("tree/disks"))
        self.ok("mkfs", inner, "--device", *devices, "--size", "64MiB")
        os.link(devices[0], self.path("tree/another name"))
        os.symlink(devices[1], self.path("tree/a link"))
        os.symlink(self.path("tree"), self.path("tree way"))
        report = self.ok("import", inner, self.path("tree way"), "--json").json
        skipped = {f"disks/d{i}" for i in range(6)} | {"another name", "pool/fast"}
        self.assertEqual(names_of(report["problems"], "skipped"), skipped)
        self.assertEqual(self.ok("ls", inner).text.splitlines(),
                         ["a link", "disks/", "pool/", "pool/hexad.pool"])

    def test_times_that_64_bits_of_nanoseconds_cannot_hold(self):
        # ext4 ends in 2446 and begins in 1901; memory file systems hold any.
        for base in (self.folder, "/dev/shm"):
            if not os.path.isdir(base):
                continue
            with tempfile.TemporaryDirectory(dir=base) as place:
                top = os.path.join(place, "tree")
                os.makedirs(os.path.join(top, "folder"))
                with open(os.path.join(top, "file"), "wb"):
                    pass
                os.symlink("x", os.path.join(top, "link"))
                for when in (-10**10, 9223372037, 13569465600, 2**36, -(2**40)):
                    for name in ("file", "link", "folder"):
                        os.utime(os.path.join(top, name), ns=(0, when * 10**9 + 5),
                                 follow_symlinks=False)
                    self.ok("import", self.pool, top)
                    self.ok("export", self.pool, os.path.join(place, "out"))
                    self.assert_same(top, os.path.join(place, "out"))

    def test_a_time_that_the_file_system_cannot_hold_is_named(self):
        if not os.path.isdir("/dev/shm"):
            self.skipTest("no file system with any times")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
            with open(os.path.join(place, "file"), "wb") as file:
                file.write(b"data")
            os.utime(os.path.join(place, "file"), (2**45, 2**45))
            if os.stat(os.path.join(place, "file")).st_mtime != 2**45:
                self.skipTest("no file system with any times")
            self.ok("import", self.pool, place)
        probe = self.write("probe", b"")
        os.utime(probe, (2**45, 2**45))
        if os.stat(probe).st_mtime == 2**45:
            self.skipTest("every file system here holds any time")
        answer = self.fails(7, "export", self.pool, self.path("out"), "--json")
        self.assertEqual(names_of(answer.json["problems"], "incomplete"), {"file"})
        self.assertIn(str(2**45), answer.error)
        self.assertEqual(self.read(self.path("out/file")), b"data")

    def test_without_xattrs_neither_way_has_any(self):
        os.makedirs(self.path("tree"))
        os.setxattr(self.write("tree/file", b"x"), "user.note", b"1")
        self.ok("import", self.pool, self.path("tree"), "--no-xattrs", "--prefix", "in/")
        self.ok("import", self.pool, self.path("tree"), "--prefix", "both/")
        self.ok("export", self.pool, self.path("out"), "--prefix", "in/")
        self.ok("export", self.pool, self.path("out"), "--prefix", "both/", "--no-xattrs")
        self.assertEqual(os.listxattr(self.path("out/in/file")), [])
        self.assertEqual(os.listxattr(self.path("out/both/file")), [])
        self.ok("export", self.pool, self.path("out"), "--prefix", "both/")
        self.assertEqual(os.getxattr(self.path("out/both/file"), "user.note"), b"1")
        # An object that is no file any more forgets them.
        self.ok("put", self.pool, "both/file", "-", stdin=b"new")
        self.assertEqual(self.ok("attr", "ls", self.pool, "both/file").text, "")

    def test_members_of_a_link_group_that_have_become_different_are_written_apart(self):
        os.makedirs(self.path("tree"))
        os.link(self.write("tree/a", b"same"), self.path("tree/b"))
        os.link(self.path("tree/a"), self.path("tree/c"))
        self.ok("import", self.pool, self.path("tree"))
        group = self.ok("attr", "get", self.pool, "a", "posix.link").raw
        self.assertEqual(self.ok("attr", "get", self.pool, "c", "posix.link").raw, group)
        self.put_keeping_attributes("b", b"diff")
        self.ok("cp", self.pool, "a", "copy")
        self.ok("export", self.pool, self.path("out"))
        self.assertFalse(os.path.samefile(self.path("out/a"), self.path("out/copy")))
        self.assertEqual(self.read(self.path("out/b")), b"diff")
        self.assertEqual(self.read(self.path("out/a")), b"same")
        self.assertTrue(os.path.samefile(self.path("out/a"), self.path("out/c")))

    def put_keeping_attributes(self, name, data):
        """As a program does that writes the bytes and knows nothing of the attributes."""
        remembered = {key: self.ok("attr", "get", self.pool, name, key).raw.decode()
                      for key in self.ok("attr", "ls", self.pool, name).text.split()}
        self.ok("put", self.pool, name, "-", stdin=data)
        for key, value in remembered.items():
            self.ok("attr", "set", self.pool, name, key, value)

    def test_update_does_not_take_an_object_that_has_changed_for_the_file_that_it_was(self):
        # It has the size and the time of the local file, and other bytes.
        os.makedirs(self.path("tree"))
        for name, data in {"a": b"as it was", "large": b"x" * (5 << 20)}.items():
            self.write("tree/" + name, data)
        self.ok("import", self.pool, self.path("tree"))
        out = self.path("out")
        self.ok("export", self.pool, out)
        kept = self.ok("export", self.pool, out, "--update", "--json").json
        self.assertEqual((kept["files"], kept["unchanged"]), (0, 2))
        self.put_keeping_attributes("a", b"different")
        self.put_keeping_attributes("large", b"x" * (5 << 20))
        planned = self.ok("export", self.pool, out, "--update", "--dry-run")
        self.assertIn("write a\n", planned.text)
        self.assertNotIn("write large", planned.text)
        inode = os.stat(self.path("out/large")).st_ino
        written = self.ok("export", self.pool, out, "--update", "--json").json
        self.assertEqual((written["files"], written["unchanged"]), (1, 1))
        self.assertEqual(self.read(self.path("out/a")), b"different")
        # What shows the same bytes is not written again.
        self.assertEqual(os.stat(self.path("out/large")).st_ino, inode)

    def test_what_a_killed_export_has_left_is_not_stored(self):
        os.makedirs(self.path("tree"))
        self.write("tree/.hexad-part-0123456789abcdef", b"half of something")
        self.write("tree/.hexad-part-notes", b"the user's own")
        report = self.ok("import", self.pool, self.path("tree"), "--json").json
        self.assertEqual((report["files"], report["skipped"]), (1, 1))
        self.ok("stat", self.pool, ".hexad-part-notes")

    def test_get_and_put_keep_holes_too(self):
        self.write("plain", b"x" * 5000)
        tree.write_sparse(self.path("sparse"), 300 << 20, [(100 << 20, b"y" * 10000)])
        tree.write_sparse(self.path("small"), 300000, [(100000, b"y" * 1000)])
        tree.write_sparse(self.path("hole"), 100000, [])
        for name in ("plain", "sparse", "small", "hole"):
            self.ok("put", self.pool, name, self.path(name))
            self.ok("get", self.pool, name, self.path("out-" + name))
            here = os.stat(self.path(name))
            there = os.stat(self.path("out-" + name))
            self.assertEqual(there.st_size, here.st_size)
            self.assertLessEqual(abs(there.st_blocks - here.st_blocks), 8, name)
            self.assertEqual(tree.content(self.path("out-" + name)), tree.content(self.path(name)))
        # To a pipe the zeros are written.
        self.assertEqual(self.ok("cat", self.pool, "small").raw, self.read(self.path("small")))
        self.ok("get", self.pool, "sparse", self.path("part"), "--range", "99MiB:4MiB", "--range",
                "200MiB:50MiB")
        self.assertEqual(os.stat(self.path("part")).st_size, 54 << 20)
        self.assertLess(os.stat(self.path("part")).st_blocks * 512, 64 << 10)
        with open(self.path("part"), "rb") as file:
            file.seek(1 << 20)
            self.assertEqual(file.read(10001), b"y" * 10000 + b"\0")

    def test_as_a_user_everything_that_is_his_comes_back(self):
        """A user without rights of root: his own files whole, and what he may not do is said."""
        if not tree.ROOT:
            self.skipTest("the other tests ran as a user already")
        place = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, place)
        os.chmod(place, 0o777)
        program = os.path.join(place, "hexad")
        shutil.copy(HEXAD, program)

        def as_nobody(*words, code=0):
            done = subprocess.run(words, cwd=place, user=NOBODY, group=NOBODY, extra_groups=[],
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr.decode("utf-8", "replace"))
            return done

        pool = os.path.join(place, "pool")
        devices = [os.path.join(place, f"d{i}") for i in range(6)]
        as_nobody(program, "mkfs", pool, "--device", *devices, "--size", "64MiB")
        top = os.path.join(place, "tree")
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                tree.make_everything(top, random.Random(8), terabyte=False, root=False)
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        as_nobody(program, "import", pool, top)
        as_nobody(program, "export", pool, os.path.join(place, "out"))
        self.assertEqual(tree.differences(tree.describe(top), tree.describe(os.path.join(place, "out"))),
                         "")
        as_nobody(program, "export", pool, os.path.join(place, "out"), "--update")
        self.assertEqual(tree.differences(tree.describe(top), tree.describe(os.path.join(place, "out"))),
                         "")
        # What root has stored of others: the data is his to have, owner and capabilities are not.
        theirs = os.path.join(place, "theirs")
        os.makedirs(theirs)
        for name in ("secret", "program"):
            with open(os.path.join(theirs, name), "wb") as file:
                file.write(b"data")
        os.chmod(os.path.join(theirs, "secret"), 0)
        os.chmod(os.path.join(theirs, "program"), 0o4755)
        os.setxattr(os.path.join(theirs, "program"), "security.capability", tree.CAPABILITY)
        done = as_nobody(program, "import", pool, theirs, "--prefix", "theirs/", "--json", code=7)
        self.assertIn(b"secret", done.stderr)
        self.ok("import", pool, theirs, "--prefix", "theirs/")
        shut = os.path.join(place, "shut")
        modes = {"none": 0, "listed": 0o444, "entered": 0o111, "read": 0o555, "written": 0o333}
        for name, mode in modes.items():
            os.makedirs(os.path.join(shut, name, "below"))
            with open(os.path.join(shut, name, "below/file"), "wb") as file:
                file.write(b"data")
            os.chmod(os.path.join(shut, name, "below"), mode)
            os.chmod(os.path.join(shut, name), mode)
        self.ok("import", pool, shut, "--prefix", "shut/")
        for folder, _, files in os.walk(pool):
            for name in [folder] + [os.path.join(folder, file) for file in files]:
                os.chown(name, NOBODY, NOBODY)
        done = as_nobody(program, "export", pool, os.path.join(place, "out2"), "--prefix", "theirs/",
                         code=7)
        self.assertIn(b"security.capability", done.stderr)
        self.assertIn(b"2 with another owner; 1 without set-id bits", done.stdout)
        info = os.stat(os.path.join(place, "out2/theirs/program"))
        self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode)), (NOBODY, 0o755))
        # Folders that he may not enter, read or write any more do not keep him from going on.
        for options in ([], ["--update"], []):
            as_nobody(program, "export", pool, os.path.join(place, "out3"), "--prefix", "shut/",
                      *options)
            for name, mode in modes.items():
                path = os.path.join(place, "out3/shut", name)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode)
                self.assertEqual(stat.S_IMODE(os.stat(os.path.join(path, "below")).st_mode), mode)
                self.assertEqual(self.read(os.path.join(path, "below/file")), b"data")

    def test_owners_of_root_may_be_left_as_they_are(self):
        if not tree.ROOT:
            self.skipTest("needs root")
        os.makedirs(self.path("tree"))
        os.chown(self.write("tree/file", b"x"), 1234, 2345)
        os.chmod(self.path("tree/file"), 0o4755)
        self.ok("import", self.pool, self.path("tree"))
        answer = self.ok("export", self.pool, self.path("out"), "--no-owner", "--json")
        info = os.stat(self.path("out/file"))
        self.assertEqual((info.st_uid, stat.S_IMODE(info.st_mode)), (0, 0o755))
        self.assertEqual((answer.json["without_set_id"], answer.json["other_owner"]), (1, 0))
        self.ok("export", self.pool, self.path("out"))
        info = os.stat(self.path("out/file"))
        self.assertEqual((info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)), (1234, 2345, 0o4755))


if __name__ == "__main__":
    main()
