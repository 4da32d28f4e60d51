#!/usr/bin/env python3
"""import and export from outside: trees go in and come back, and nothing leaves its directory."""

import os
import shutil
import socket
import stat
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import PoolTest, main  # pylint: disable=wrong-import-position

ROOT = os.geteuid() == 0
LONGEST = (1 << 44) - 1  # bytes of an object


def describe(top):
    """Everything below `top`: type, mode, time and content."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(top)):
        for name in folders + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            content = None
            if stat.S_ISLNK(info.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            mode = 0 if stat.S_ISLNK(info.st_mode) else stat.S_IMODE(info.st_mode)
            key = os.path.relpath(path, os.fsencode(top))
            found[key] = (stat.S_IFMT(info.st_mode), mode, info.st_mtime_ns, content)
    return found


class Trees(PoolTest):
    def make_tree(self):
        top = self.path("tree")
        os.makedirs(os.path.join(top, "a/b/c"))
        os.makedirs(os.path.join(top, "empty/inner"))
        os.makedirs(os.path.join(top, "closed"))
        contents = {"one": b"1", "zero": b"", "a/two": b"22" * 5000, "a/b/c/three": os.urandom(70000),
                    "big": os.urandom((9 << 20) + 5), "edge": os.urandom(4 << 20), "closed/x": b"x"}
        for name, data in contents.items():
            with open(os.path.join(top, name), "wb") as file:
                file.write(data)
        with open(os.path.join(os.fsencode(top), b"caf\xe9 \\ \x07"), "wb") as file:
            file.write(b"not utf-8")
        for i in range(600):
            with open(os.path.join(top, f"a/many{i}"), "wb") as file:
                file.write(os.urandom(i))
        os.link(os.path.join(top, "one"), os.path.join(top, "hard"))
        os.symlink("a/two", os.path.join(top, "link"))
        os.symlink("/etc", os.path.join(top, "absolute"))
        os.symlink("nowhere", os.path.join(top, "a/dangling"))
        os.chmod(os.path.join(top, "one"), 0o604)
        os.chmod(os.path.join(top, "zero"), 0o400)
        os.chmod(os.path.join(top, "a/two"), 0o755)
        os.chmod(os.path.join(top, "empty/inner"), 0o700)
        os.chmod(os.path.join(top, "closed"), 0o555)
        os.utime(os.path.join(top, "one"), ns=(5, 1234567890_123456789))
        os.utime(os.path.join(top, "a/two"), ns=(5, -7_000000001))
        os.utime(os.path.join(top, "link"), ns=(5, 1000000001_000000002), follow_symlinks=False)
        for name in ("empty/inner", "empty", "a/b/c", "a/b", "a", "closed"):
            os.utime(os.path.join(top, name), ns=(5, 1111111111_000000000 + len(name)))
        return top

    def test_a_tree_comes_back_as_it_was(self):
        top = self.make_tree()
        report = self.ok("import", self.pool, top, "--prefix", "back/", "--json").json
        self.assertEqual((report["symlinks"], report["directories"]), (3, 6))
        self.assertEqual(report["files"], 609)
        self.assertEqual((report["skipped"], report["refused"], report["failed"]), (0, 0, 0))
        out = self.path("out")
        exported = self.ok("export", self.pool, out, "--prefix", "back/", "--json").json
        for key in ("files", "symlinks", "directories", "bytes"):
            self.assertEqual(exported[key], report[key], key)
        self.assertEqual(describe(os.path.join(out, "back")), describe(top))
        # Once more over what is there: files, links and directories are replaced.
        os.unlink(os.path.join(out, "back/one"))
        os.symlink("/etc/passwd", os.path.join(out, "back/one"))
        self.ok("export", self.pool, out, "--prefix", "back/")
        self.assertEqual(describe(os.path.join(out, "back")), describe(top))
        self.ok("fsck", self.pool, "--deep")

    def test_import_replaces_what_was_a_link(self):
        top = self.path("tree")
        os.makedirs(top)
        os.symlink("target", os.path.join(top, "changing"))
        self.ok("import", self.pool, top, "--prefix", "change/")
        self.assertEqual(self.ok("cat", self.pool, "change/changing").raw, b"target")
        os.unlink(os.path.join(top, "changing"))
        self.write("tree/changing", b"now a file")
        self.ok("import", self.pool, top, "--prefix", "change/")
        self.ok("export", self.pool, self.path("out"), "--prefix", "change/")
        self.assertEqual(describe(self.path("out/change")), describe(top))

    def test_put_over_an_imported_link_makes_a_file(self):
        os.makedirs(self.path("tree"))
        os.symlink("target", self.path("tree/link"))
        self.ok("import", self.pool, self.path("tree"), "--prefix", "over/")
        self.ok("put", self.pool, "over/link", "-", stdin=b"data")
        self.ok("export", self.pool, self.path("out"), "--prefix", "over/")
        self.assertFalse(os.path.islink(self.path("out/over/link")))
        self.assertEqual(self.read(self.path("out/over/link")), b"data")

    def test_special_files_are_skipped_counted_and_named(self):
        top = self.path("tree")
        os.makedirs(top)
        os.mkfifo(os.path.join(top, "pipe"))
        with socket.socket(socket.AF_UNIX) as listener:
            here = os.getcwd()
            os.chdir(top)
            listener.bind("socket")
            os.chdir(here)
        self.write("tree/file", b"kept")
        answer = self.ok("import", self.pool, top, "--prefix", "special/", "--json")
        self.assertEqual((answer.json["skipped"], answer.json["files"]), (2, 1))
        self.assertEqual({p["name"] for p in answer.json["problems"]}, {"pipe", "socket"})
        self.assertIn("pipe", answer.error)
        self.assertEqual(self.ok("import", self.pool, top, "-q").error, "")

    def test_unreadable_files_are_counted_and_the_rest_goes_on(self):
        top = self.path("tree")
        os.makedirs(os.path.join(top, "x" * 250, "y" * 250, "z" * 250, "w" * 250))
        deep = os.path.join(top, "x" * 250, "y" * 250, "z" * 250, "w" * 250)
        with open(os.path.join(deep, "v" * 100), "wb") as file:
            file.write(b"the name is too long")
        self.write("tree/readable", b"kept")
        answer = self.fails(7, "import", self.pool, top, "--prefix", "unreadable/", "--json")
        self.assertEqual(answer.json["refused"], 1)
        self.ok("stat", self.pool, "unreadable/readable")
        if not ROOT:
            os.chmod(self.write("tree/secret", b"x"), 0)
            answer = self.fails(7, "import", self.pool, top, "--json")
            self.assertEqual(answer.json["failed"], 1)

    def test_a_file_that_is_too_long_for_an_object_is_refused_and_the_rest_goes_on(self):
        shared = "/dev/shm"  # the disk may hold no file of that size
        if not os.path.isdir(shared):
            self.skipTest(f"no {shared}")
        top = tempfile.mkdtemp(prefix="hexad-cli-", dir=shared)
        self.addCleanup(shutil.rmtree, top)
        for name in ("a", "z"):
            with open(os.path.join(top, name), "wb") as file:
                file.write(b"kept")
        with open(os.path.join(top, "holes"), "wb") as file:
            file.truncate(LONGEST + 1)
        with open(os.path.join(top, "more"), "wb") as file:
            file.write(os.urandom(5 << 20))
            file.truncate(20 << 40)
        options = ["--prefix", "long/", "--json"]
        planned = self.fails(7, "import", self.pool, top, *options, "--dry-run").json
        done = self.fails(7, "import", self.pool, top, *options)
        for report in (planned, done.json):
            self.assertEqual((report["files"], report["refused"]), (2, 2))
        self.assertIn(f"more: the file has {20 << 40} bytes", done.error)
        self.assertEqual(self.ok("ls", self.pool, "long/").text, "long/a\nlong/z\n")

    def test_an_object_that_is_too_long_for_the_file_system_is_named_with_the_reason(self):
        shared = "/dev/shm"
        try:
            os.truncate(self.write("probe", b""), LONGEST)
            self.skipTest("this disk holds files of any size")
        except OSError:
            pass
        if not os.path.isdir(shared):
            self.skipTest(f"no {shared}")
        top = tempfile.mkdtemp(prefix="hexad-cli-", dir=shared)
        self.addCleanup(shutil.rmtree, top)
        with open(os.path.join(top, "holes"), "wb") as file:
            file.truncate(LONGEST)
        self.ok("import", self.pool, top, "--prefix", "holes/")
        got = self.fails(7, "get", self.pool, "holes/holes", self.path("file"))
        given_out = self.fails(7, "export", self.pool, self.path("out"), "--prefix", "holes/", "--json")
        self.assertEqual(given_out.json["failed"], 1)
        for answer in (got, given_out):
            self.assertIn("File too large", answer.error)

    def test_import_of_something_else_than_a_directory(self):
        self.fails(1, "import", self.pool, self.path("missing"))
        self.fails(7, "import", self.pool, self.write("file", b"x"))

    def test_import_leaves_the_pool_itself_out(self):
        inner = self.path("tree/pool")
        devices = [self.path(f"tree/d{i}") for i in range(6)]
        os.makedirs(self.path("tree"))
        self.ok("mkfs", inner, "--device", *devices, "--size", "64MiB")
        self.write("tree/file", b"kept")
        report = self.ok("import", inner, self.path("tree"), "--json").json
        self.assertEqual(report["skipped"], 7)
        self.assertEqual(report["files"], 2)  # file, hexad.pool

    def test_names_that_would_leave_the_directory_are_refused(self):
        bad = ["../up", "/absolute", "a//b", "a/../../b", "..", ".", "a/./b", "a/..", "x" * 300,
               "//"]
        for name in bad + ["fine"]:
            self.ok("put", self.pool, "--collection", "default", "--", name, "-", stdin=b"evil")
        answer = self.fails(7, "export", self.pool, self.path("deep/out"), "--json")
        refused = {p["name"] for p in answer.json["problems"] if p["kind"] == "refused"}
        self.assertEqual(refused & set(bad), set(bad))
        # What the hint says works for each of them.
        for problem in (p for p in answer.json["problems"] if p["name"] in bad):
            self.assertEqual(problem["hint"], f"Read it by itself: hexad get {self.pool} NAME FILE")
            self.ok("get", self.pool, "--", problem["name"], self.path("by itself"))
            self.assertEqual(self.read(self.path("by itself")), b"evil")
        self.assertEqual(answer.error.count("hint: Read it by itself"), 1)
        self.assertTrue(os.path.exists(self.path("deep/out/fine")))
        self.assertFalse(os.path.exists(self.path("deep/up")))
        self.assertFalse(os.path.exists(self.path("b")))
        self.ok("rm", self.pool, "--", *bad, "fine")

    def test_links_are_never_followed_on_the_way_out(self):
        outside = self.path("outside")
        os.makedirs(outside)
        tree = self.path("tree")
        os.makedirs(tree)
        os.symlink(outside, os.path.join(tree, "link"))
        self.ok("import", self.pool, tree, "--prefix", "escape/")
        self.ok("put", self.pool, "escape/link/file", "-", stdin=b"evil")
        self.ok("put", self.pool, "escape/placed/file", "-", stdin=b"evil")
        os.makedirs(self.path("out/escape"))
        os.symlink(outside, self.path("out/escape/placed"))
        answer = self.fails(7, "export", self.pool, self.path("out"), "--prefix", "escape/", "--json")
        self.assertEqual(answer.json["refused"], 2)
        self.assertEqual(os.listdir(outside), [])
        # A link where a file belongs is replaced, not written through.
        victim = self.write("victim", b"untouched")
        self.ok("put", self.pool, "replaced/file", "-", stdin=b"new")
        os.makedirs(self.path("out/replaced"))
        os.symlink(victim, self.path("out/replaced/file"))
        self.ok("export", self.pool, self.path("out"), "--prefix", "replaced/")
        self.assertEqual(self.read(victim), b"untouched")
        self.assertEqual(self.read(self.path("out/replaced/file")), b"new")

    def test_set_id_bits_need_their_owner_or_a_word(self):
        os.makedirs(self.path("tree"))
        os.chmod(self.write("tree/program", b"#!"), 0o4755)
        self.ok("import", self.pool, self.path("tree"), "--prefix", "set-id/")

        def mode():
            return stat.S_IMODE(os.stat(self.path("out/set-id/program")).st_mode)

        # The owner comes back, or is the same: so do they.
        self.ok("export", self.pool, self.path("out"), "--prefix", "set-id/")
        self.assertEqual(mode(), 0o4755)
        # An object that does not say whose file it was.
        self.ok("attr", "rm", self.pool, "set-id/program", "posix.uid")
        answer = self.ok("export", self.pool, self.path("out"), "--prefix", "set-id/")
        self.assertEqual(mode(), 0o755)
        self.assertIn("1 without set-id bits", answer.text)
        self.ok("export", self.pool, self.path("out"), "--prefix", "set-id/", "--set-id")
        self.assertEqual(mode(), 0o4755)


if __name__ == "__main__":
    main()
