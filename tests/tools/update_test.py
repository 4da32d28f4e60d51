"""import and export with --update: what is left as it is was not changed, whatever its time says."""

import os
import signal
import subprocess

import cli_testing
from cli_testing import HEXAD, PoolTest

SIZE = 9  # bytes
LONG_AGO = (1_500_000_000_000_000_000, 1_500_000_000_000_000_000)


class Update(PoolTest):
    def setUp(self):
        super().setUp()
        self.ok("rm", self.pool, "--all", "--force")
        os.makedirs(self.path("tree"))
        self.environment = dict(os.environ, XDG_CACHE_HOME=self.path("cache"))

    def put_file(self, name, data):
        """All have one size and one time."""
        path = self.write("tree/" + name, data)
        os.utime(path, ns=LONG_AGO)
        return path

    def take_in(self, *options):
        return self.ok("import", self.pool, self.path("tree"), "--update", "--json", *options).json

    def give_out(self, *options):
        return self.ok("export", self.pool, self.path("out"), "--json", *options,
                       env=self.environment).json

    def versions(self):
        return self.ok("ls", self.pool, "-l").text

    def content(self, name):
        return self.ok("cat", self.pool, name).raw

    def put_keeping_attributes(self, name, data):
        """As a program does that writes the bytes and knows nothing of the attributes."""
        time = self.ok("attr", "get", self.pool, name, "posix.mtime_ns").text
        self.ok("put", self.pool, name, "-", stdin=data)
        self.ok("attr", "set", self.pool, name, "posix.mtime_ns", time)

    def test_a_file_of_the_same_size_and_time_that_took_the_name_is_stored(self):
        for name in ("renamed over", "written over", "written and chmod", "same"):
            self.put_file(name, b"as it was")
        self.take_in()
        os.rename(self.put_file("another", b"different"), self.path("tree/renamed over"))
        self.put_file("written over", b"different")
        os.chmod(self.put_file("written and chmod", b"different"), 0o600)
        planned = self.ok("import", self.pool, self.path("tree"), "--update", "--dry-run").text
        self.assertEqual(sorted(line for line in planned.splitlines() if line.startswith("store ")),
                         ["store renamed over", "store written and chmod", "store written over"])
        done = self.take_in()
        self.assertEqual((done["files"], done["unchanged"]), (3, 1))
        for name in ("renamed over", "written over", "written and chmod"):
            self.assertEqual(self.content(name), b"different")
        self.assertEqual(self.content("same"), b"as it was")
        before = self.versions()
        self.assertEqual(self.take_in()["unchanged"], 4)
        self.assertEqual(self.versions(), before)

    def test_links_of_the_same_length_and_time_are_stored(self):
        def link(target):
            path = self.path("tree/link")
            if os.path.lexists(path):
                os.unlink(path)
            os.symlink(target, path)
            os.utime(path, ns=LONG_AGO, follow_symlinks=False)
        link("target a")
        self.take_in()
        link("target b")
        self.assertEqual(self.take_in()["symlinks"], 1)
        self.assertEqual(self.content("link"), b"target b")
        link("target b")
        self.assertEqual(self.take_in()["unchanged"], 1)

    def test_every_name_of_a_file_that_was_replaced_is_stored(self):
        os.link(self.put_file("a", b"as it was"), self.path("tree/b"))
        self.take_in()
        other = self.put_file("other", b"different")
        for name in ("a", "b"):
            os.unlink(self.path("tree/" + name))
            os.link(other, self.path("tree/" + name))
        os.unlink(other)
        os.utime(self.path("tree/a"), ns=LONG_AGO)
        self.take_in()
        self.assertEqual((self.content("a"), self.content("b")), (b"different", b"different"))
        self.give_out()
        self.assertTrue(os.path.samefile(self.path("out/a"), self.path("out/b")))

    def test_what_has_only_another_mode_or_place_is_not_stored_again(self):
        path = self.put_file("a", b"as it was")
        self.take_in()
        os.chmod(path, 0o600)
        done = self.take_in()
        self.assertEqual((done["files"], done["bytes"]), (1, 0))
        os.chmod(path, 0o640)
        os.chmod(path, 0o600)
        self.assertEqual(self.take_in()["unchanged"], 1)
        before = self.versions()
        self.assertEqual(self.take_in()["unchanged"], 1)
        self.assertEqual(self.versions(), before)
        # A copy of the tree has other files in it, with the same bytes.
        os.rename(self.path("tree"), self.path("old"))
        subprocess.run(["cp", "-a", self.path("old"), self.path("tree")], check=True)
        done = self.take_in()
        self.assertEqual((done["files"], done["unchanged"]), (0, 1))

    def test_an_object_that_changed_is_written_whatever_was_done_to_the_local_file(self):
        names = ("chmod", "touch", "copied", "linked", "nothing")
        for name in names:
            self.put_file(name, b"as it was")
        self.take_in()
        self.give_out()
        for name in names:
            self.put_keeping_attributes(name, b"different")
        out = lambda name: os.path.join(self.path("out"), name)  # pylint: disable=unnecessary-lambda-assignment
        # All of it later than the objects, and none of it shows in size and time.
        os.chmod(out("chmod"), 0o600)
        os.utime(out("touch"), ns=LONG_AGO)
        subprocess.run(["cp", "-a", out("copied"), out("copy")], check=True)
        os.rename(out("copy"), out("copied"))
        os.link(out("linked"), self.path("elsewhere"))
        planned = self.ok("export", self.pool, self.path("out"), "--update", "-n",
                          env=self.environment).text
        self.assertEqual(planned.count("write "), len(names))
        self.assertEqual(self.give_out("--update")["files"], len(names))
        for name in names:
            self.assertEqual(self.read(out(name)), b"different")
        again = self.give_out("--update")
        self.assertEqual((again["files"], again["unchanged"]), (0, len(names)))

    def test_a_local_file_that_changed_is_written_although_its_time_was_set_back(self):
        self.put_file("a", b"as it was")
        self.take_in()
        self.give_out()
        path = self.path("out/a")
        with open(path, "r+b") as file:
            file.write(b"different")
        os.utime(path, ns=LONG_AGO)
        self.assertEqual(self.give_out("--update")["files"], 1)
        self.assertEqual(self.read(path), b"as it was")

    def test_without_the_record_of_an_export_bytes_are_compared(self):
        self.put_file("a", b"as it was")
        self.take_in()
        self.give_out()
        [record] = os.listdir(self.path("cache/hexad/exports"))
        inode = os.stat(self.path("out/a")).st_ino
        for environment in (self.environment, dict(self.environment, XDG_CACHE_HOME="")):
            environment.pop("HOME", None)
            kept = self.ok("export", self.pool, self.path("out"), "--update", "--json",
                           env=environment).json
            self.assertEqual((kept["files"], kept["unchanged"]), (0, 1))
        # A record that says nothing of use, and a place where none can be.
        place = self.path("cache/hexad/exports/" + record)
        for damaged in (b"", b"\0" * 5000, b"hexad export record 1\n", b"hexad export record 2\nx\n",
                        self.read(place)[:-4]):
            with open(place, "wb") as file:
                file.write(damaged)
            self.assertEqual(self.give_out("--update")["unchanged"], 1)
        os.rename(self.path("cache"), self.path("moved"))
        self.write("cache", b"a file")
        self.assertEqual(self.give_out("--update")["unchanged"], 1)
        self.put_keeping_attributes("a", b"different")
        self.assertEqual(self.give_out("--update")["files"], 1)
        self.assertEqual(self.read(self.path("out/a")), b"different")
        self.assertNotEqual(os.stat(self.path("out/a")).st_ino, inode)

    def test_a_dry_run_names_the_links_that_an_export_writes(self):
        os.symlink("a", self.path("tree/same"))
        os.symlink("b", self.path("tree/other"))
        self.put_file("file", b"as it was")
        self.take_in()
        self.give_out()
        os.unlink(self.path("out/other"))
        os.symlink("c", self.path("out/other"))
        os.link(self.path("out/file"), self.path("more"))  # which would change with it
        planned = self.ok("export", self.pool, self.path("out"), "--update", "--dry-run",
                          env=self.environment).text
        self.assertEqual([line for line in planned.splitlines() if line.startswith("write ")],
                         ["write file", "write other"])
        done = self.give_out("--update")
        self.assertEqual((done["files"], done["symlinks"], done["unchanged"]), (1, 1, 1))

    def writes(self, *options):
        """What a dry run says, which is what the export behind it does."""
        planned = self.ok("export", self.pool, self.path("out"), "--update", "-n",
                          env=self.environment).text
        told = [line[6:] for line in planned.splitlines() if line.startswith("write ")]
        before = {name: os.lstat(self.path("out/" + name)).st_ino
                  for name in os.listdir(self.path("out"))}
        done = self.give_out("--update", *options)
        after = {name: os.lstat(self.path("out/" + name)).st_ino
                 for name in os.listdir(self.path("out"))}
        self.assertEqual(told, sorted(name for name in after if before.get(name) != after[name]))
        self.assertEqual(done["files"], len(told))
        return told

    def test_a_dry_run_names_the_names_of_a_file_that_an_export_links(self):
        self.put_file("a", b"as it was")
        for name in "bc":
            os.link(self.path("tree/a"), self.path("tree/" + name))
        self.take_in()
        self.give_out()
        self.assertEqual(self.writes(), [])
        # Of the same bytes and time, and no name of the file any more.
        subprocess.run(["cp", "-p", self.path("out/b"), self.path("out/copy")], check=True)
        os.rename(self.path("out/copy"), self.path("out/b"))
        self.assertEqual(self.writes(), ["b"])
        # All names go with the first one.
        subprocess.run(["cp", "-p", self.path("out/a"), self.path("out/copy")], check=True)
        os.rename(self.path("out/copy"), self.path("out/a"))
        self.assertEqual(self.writes(), ["b", "c"])
        # One name after the other gets other bytes, by a program that leaves the link.
        link = self.ok("attr", "get", self.pool, "a", "posix.link").text
        for name, told in ("a", ["a", "b"]), ("b", ["b"]):
            self.put_keeping_attributes(name, b"different")
            self.ok("attr", "set", self.pool, name, "posix.link", link)
            self.assertEqual(self.writes(), told)
        self.assertTrue(os.path.samefile(self.path("out/a"), self.path("out/b")))
        self.assertEqual(self.read(self.path("out/c")), b"as it was")

    def test_a_dry_run_knows_which_name_of_a_local_file_is_its_last(self):
        for name in "xy":
            self.put_file(name, b"as it was")
        self.take_in()
        self.give_out()
        os.unlink(self.path("out/y"))
        os.link(self.path("out/x"), self.path("out/y"))
        self.assertEqual(self.writes(), ["x"])
        self.assertEqual(self.writes(), [])

    def test_names_of_every_shape_are_in_the_record(self):
        names = ["a", "a b", " a", "a ", "new\nline", "back\\slash", "\\n", "n", "dot.", "\t", "ü"]
        for name in names:
            self.put_file(name, name.encode().ljust(SIZE, b"."))
        self.take_in()
        self.give_out()
        # Objects that have other bytes by now; the record says so of each, by its own name.
        for name in names:
            self.put_keeping_attributes(name, b"different")
        self.assertEqual(self.give_out("--update")["files"], len(names))
        for name in names:
            self.assertEqual(self.read(os.path.join(self.path("out"), name)), b"different")

    def test_an_export_that_was_stopped_leaves_what_it_has_noted(self):
        for i in range(300):
            self.put_file(f"{i:03}", b"as it was")
        self.take_in()
        process = subprocess.Popen([HEXAD, "export", self.pool, self.path("out")],
                                   env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        process.send_signal(signal.SIGTERM)
        process.wait()
        for _ in range(2):
            done = self.give_out("--update")
            self.assertEqual(done["files"] + done["unchanged"], 300)
        self.assertEqual(done["unchanged"], 300)
        left = os.listdir(self.path("cache/hexad/exports"))
        self.assertEqual(len(left), 1, left)


if __name__ == "__main__":
    cli_testing.main()
