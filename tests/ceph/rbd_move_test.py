#!/usr/bin/env python3
"""A store that is moved from local files to images of a cluster, and back: one device after the other, or by export and import."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from rbd_store_test import CONF, hexad

DEVICES = 3
SIZE = ("--size", "128MiB")


class Moved(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="hexad-ceph-")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.pool = os.path.join(self.top, "pool")
        self.files = [os.path.join(self.top, f"disk{i}") for i in range(DEVICES)]
        self.images = [f"rbd:log/moved-{self.id()[-8:]}-{os.getpid()}-{i}?conf={CONF}" for i in range(DEVICES)]
        self.addCleanup(self.remove_images)
        self.content = {f"object/{size}": os.urandom(size) for size in (0, 1, 4096, 65537, (5 << 20) + 13)}
        hexad("mkfs", self.pool, *SIZE, "--profile", "2+1", "--device", *self.files)
        for name, data in self.content.items():
            hexad("put", self.pool, name, "-", stdin=data)

    def remove_images(self):
        for image in self.images:
            name = image.removeprefix("rbd:").partition("?")[0]
            subprocess.run(["rbd", "--conf", CONF, "--no-progress", "rm", name], capture_output=True, check=False)

    def all_is_there(self, pool):
        for name, data in self.content.items():
            self.assertEqual(hexad("cat", pool, name).stdout, data, name)
        found = json.loads(hexad("fsck", "--deep", "--json", pool).stdout)
        self.assertEqual((found["errors"], found["complete"], found["findings"]), (0, True, []))

    def devices(self):
        status = json.loads(hexad("status", "--json", self.pool).stdout)
        self.assertEqual((status["health"], status["faults_tolerated"]), ("ok", 1))
        return {device["path"]: device["id"] for device in status["devices"] if device["role"] == "data"}

    def replace_each(self, old, new):
        for number, (before, after) in enumerate(zip(old, new)):
            hexad("device", "replace", self.pool, str(self.devices()[before]), after)
            self.all_is_there(self.pool)
            self.assertEqual(set(self.devices()), {*new[: number + 1], *old[number + 1 :]})
            # It is written between two steps, too.
            self.content[f"written/{after}"] = os.urandom(100_000 + number)
            hexad("put", self.pool, f"written/{after}", "-", stdin=self.content[f"written/{after}"])
            self.all_is_there(self.pool)

    def test_one_device_after_the_other(self):
        self.replace_each(self.files, self.images)
        back = [file + "-back" for file in self.files]
        self.replace_each(self.images, back)
        # Nothing of it is on the cluster any more.
        self.remove_images()
        self.all_is_there(self.pool)

    def test_by_export_and_import(self):
        there, back = os.path.join(self.top, "there"), os.path.join(self.top, "back")
        hexad("mkfs", there, *SIZE, "--no-fast", "--profile", "1+0", "--device", self.images[0])
        for source, target in ((self.pool, there), (there, back)):
            if target == back:
                # A plain file cannot take an image's place where there is no parity.
                refused = hexad("device", "replace", there, "0", os.path.join(self.top, "plain"), code=2)
                self.assertIn(b"redundant", refused.stderr)
                self.all_is_there(there)
                hexad("mkfs", back, *SIZE, "--profile", "2+1", "--device", *(file + "-back" for file in self.files))
            files = os.path.join(self.top, "exported-to-" + os.path.basename(target))
            hexad("export", source, files)
            hexad("import", target, files)
            self.all_is_there(target)


if __name__ == "__main__":
    unittest.main()
