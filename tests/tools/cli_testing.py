"""What the command line's tests share: a pool of six small files, and the program."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HEXAD = os.path.abspath(os.environ.get("HEXAD", "tools/hexad"))
DEVICES = 6
PATIENCE = 600  # seconds: only what hangs takes so long, on whatever machine


class Answer:
    def __init__(self, done):
        self.code = done.returncode
        self.raw = done.stdout
        self.error = done.stderr.decode("utf-8", "backslashreplace")

    @property
    def text(self):
        return self.raw.decode("utf-8", "backslashreplace")

    @property
    def json(self):
        return json.loads(self.raw)


def hexad(*words, stdin=b"", timeout=PATIENCE, **kwargs):
    done = subprocess.run(
        [HEXAD, *words],
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=timeout,
        check=False,
        **kwargs,
    )
    return Answer(done)


class PoolTest(unittest.TestCase):
    """Each class gets a pool of its own; each test a folder of its own."""

    device_size = "64MiB"
    mkfs_options = []

    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.mkdtemp(prefix="hexad-cli-")
        cls.pool = os.path.join(cls.top, "pool")
        cls.devices = [os.path.join(cls.top, f"device{i}") for i in range(DEVICES)]
        cls.addClassCleanup(shutil.rmtree, cls.top, ignore_errors=True)
        os.environ["XDG_CACHE_HOME"] = os.path.join(cls.top, "cache")  # not the user's own
        made = hexad("mkfs", cls.pool, "--device", *cls.devices, "--size", cls.device_size,
                     *cls.mkfs_options)
        if made.code != 0:
            raise AssertionError(f"mkfs: {made.code}: {made.error}")

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.top)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def expect(self, code, *words, **kwargs):
        answer = hexad(*words, **kwargs)
        self.assertEqual(answer.code, code, f"{words}: {answer.text}\n{answer.error}")
        self.assertNotIn("Traceback", answer.error)
        return answer

    def ok(self, *words, **kwargs):
        return self.expect(0, *words, **kwargs)

    def fails(self, code, *words, **kwargs):
        """An error says what failed, on standard error, and with --json as an object."""
        answer = self.expect(code, *words, **kwargs)
        self.assertIn("hexad: ", answer.error)
        return answer


def main():
    unittest.main(argv=[sys.argv[0]], verbosity=2)
