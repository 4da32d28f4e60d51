"""The comparison that ./run demo rests on: it has to see every kind of difference."""

import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, "tools/demo")

import place
import tree


def build(root):
    os.makedirs(os.path.join(root, "folder", "empty"))
    with open(os.path.join(root, "folder", "file"), "w") as file:
        file.write("some text")
    os.chmod(os.path.join(root, "folder", "file"), 0o640)
    os.symlink("folder/file", os.path.join(root, "link"))


class Compare(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.one = os.path.join(self.directory, "one")
        self.two = os.path.join(self.directory, "two")
        build(self.one)
        shutil.copytree(self.one, self.two, symlinks=True)
        self.wanted, unreadable = tree.manifest(self.one)
        self.assertEqual(unreadable, [])

    def differences(self):
        return tree.differences(self.wanted, tree.manifest(self.two)[0])

    def path(self, name):
        return os.path.join(self.two, name)

    def restore_time(self, name):
        stamp = os.lstat(os.path.join(self.one, name)).st_mtime_ns
        os.utime(self.path(name), ns=(stamp, stamp), follow_symlinks=False)

    def test_a_faithful_copy_has_no_differences(self):
        self.assertEqual(self.differences(), [])
        self.assertEqual(
            sorted(self.wanted), ["folder", "folder/empty", "folder/file", "link"]
        )

    def test_one_changed_byte_is_seen_even_with_size_and_time_as_before(self):
        with open(self.path("folder/file"), "w") as file:
            file.write("some test")
        self.restore_time("folder/file")
        self.assertEqual(self.differences(), ["folder/file: differs in sha256"])

    def test_mode_and_time_count(self):
        os.chmod(self.path("folder/file"), 0o600)
        os.utime(self.path("folder/empty"), ns=(1, 1))
        self.assertEqual(
            self.differences(),
            ["folder/empty: differs in mtime", "folder/file: differs in mode"],
        )

    def test_a_link_to_somewhere_else_is_seen(self):
        os.unlink(self.path("link"))
        os.symlink("folder/empty", self.path("link"))
        self.restore_time("link")
        self.restore_time("folder")
        self.assertEqual(self.differences(), ["link: differs in target"])

    def test_missing_and_extra_entries_are_seen(self):
        os.rmdir(self.path("folder/empty"))
        open(self.path("folder/new"), "w").close()
        self.restore_time("folder")
        self.assertEqual(
            self.differences(),
            ["folder/empty: missing", "folder/new: should not be there"],
        )

    def test_a_file_in_place_of_a_link_is_seen(self):
        os.unlink(self.path("link"))
        open(self.path("link"), "w").close()
        self.assertIn("link: differs in kind", self.differences()[0])


class Choose(unittest.TestCase):
    def test_a_small_tree_is_taken_whole_folder_by_folder(self):
        with tempfile.TemporaryDirectory() as root:
            build(root)
            folders, size, files = tree.choose(root)
            self.assertEqual(folders, [os.path.join(root, "folder")])
            self.assertEqual((size, files), (9, 1))

    def test_folders_without_files_are_left_out(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "empty"))
            self.assertEqual(tree.choose(root), ([], 0, 0))


class Place(unittest.TestCase):
    def test_more_than_there_is_is_refused_with_the_numbers(self):
        with self.assertRaisesRegex(Exception, "GB free|in memory"):
            place.choose(1 << 60, tempfile.gettempdir())

    def test_memory_is_not_a_disk(self):
        if place.file_system("/dev/shm") != "tmpfs":
            self.skipTest("/dev/shm is no tmpfs here")
        with self.assertRaisesRegex(Exception, "in memory"):
            place.choose(1, "/dev/shm")


if __name__ == "__main__":
    unittest.main()
