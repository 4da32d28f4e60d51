#!/usr/bin/env python3
"""200,000 small files in 400 folders, in and out, and once more when a few have changed."""

import os
import random
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import PATIENCE, PoolTest, main  # pylint: disable=wrong-import-position

FOLDERS = 400
FILES = 500


def each_file(top):
    for folder in range(FOLDERS):
        for file in range(FILES):
            yield os.path.join(top, f"d{folder:03}", f"f{file:03}")


def listing(top):
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            info = os.stat(path)
            with open(path, "rb") as file:
                found[os.path.relpath(path, top)] = (info.st_mtime_ns, info.st_mode, file.read())
    return found


class ManyFiles(PoolTest):
    device_size = "256MiB"

    def test_200_000_small_files_go_in_and_come_back(self):
        rng = random.Random(3)
        top = self.path("tree")
        for folder in range(FOLDERS):
            os.makedirs(os.path.join(top, f"d{folder:03}"))
        for path in each_file(top):
            with open(path, "wb") as file:
                file.write(rng.randbytes(rng.randrange(600)))
        seconds = {}

        def timed(what, *words):
            began = time.monotonic()
            answer = self.ok(*words, timeout=10 * PATIENCE)
            seconds[what] = round(time.monotonic() - began, 1)
            return answer.json

        stored = timed("import", "import", self.pool, top, "--json")
        self.assertEqual(stored["files"], FOLDERS * FILES)
        written = timed("export", "export", self.pool, self.path("out"), "--json")
        self.assertEqual(written["files"], FOLDERS * FILES)
        self.assertEqual(listing(self.path("out")), listing(top))
        changed = rng.sample(list(each_file(top)), 50)
        for path in changed:
            with open(path, "ab") as file:
                file.write(b"more")
        shutil.rmtree(os.path.join(top, "d007"))
        stored = timed("update", "import", self.pool, top, "--json", "--update", "--delete")
        left = [path for path in changed if "/d007/" not in path]
        self.assertEqual((stored["files"], stored["deleted"]), (len(left), FILES + 1))
        written = timed("update back", "export", self.pool, self.path("out"), "--json", "--update",
                        "--delete")
        self.assertEqual((written["files"], written["deleted"]), (len(left), 1))
        self.assertEqual(listing(self.path("out")), listing(top))
        print("seconds:", seconds)


if __name__ == "__main__":
    main()
