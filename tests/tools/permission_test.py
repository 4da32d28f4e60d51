#!/usr/bin/env python3
"""What a user may not do is said in the system's words, and what stands there is not called missing."""

import os
import shutil
import subprocess

from cli_testing import HEXAD, PATIENCE, Answer, PoolTest, main

NOBODY = 65534


class Permissions(PoolTest):
    def as_nobody(self, *words):
        """Root may do everything: then it is done as somebody else."""
        program = os.path.join(self.top, "hexad")
        if not os.path.exists(program):
            shutil.copy(HEXAD, program)
            os.chmod(program, 0o755)
        user = {} if os.geteuid() != 0 else {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return Answer(subprocess.run([program, *words], input=b"", capture_output=True,
                                     check=False, cwd="/", timeout=PATIENCE, **user))

    def setUp(self):
        super().setUp()
        os.chmod(self.top, 0o755)
        for path in (self.pool, os.path.join(self.pool, "fast")):
            if os.path.isdir(path):
                os.chmod(path, 0o755)
        os.chmod(os.path.join(self.pool, "hexad.pool"), 0o644)

    def test_devices_that_may_not_be_read(self):
        self.ok("put", self.pool, "a", "-", stdin=b"1")
        for mode in (0o000, 0o200):
            for device in self.devices:
                os.chmod(device, mode)
            for words in (["status"], ["ls"], ["get", "a", "-"], ["put", "b", "-"], ["fsck"], ["df"]):
                answer = self.as_nobody(words[0], self.pool, *words[1:])
                self.assertEqual(answer.code, 2, (words, answer.error))
                self.assertIn("Permission denied", answer.error, words)
                self.assertIn("Run as a user who may read", answer.error, words)
                self.assertNotIn("mkfs", answer.error, words)
                self.assertNotIn("label", answer.error, words)
        for device in self.devices:
            os.chmod(device, 0o600)
        self.assertEqual(self.ok("cat", self.pool, "a").raw, b"1")

    def test_devices_that_are_not_there_are_another_matter(self):
        folder = self.path("empty")
        answer = self.fails(1, "ls", "--device", *[f"{folder}/{i}" for i in range(6)], "--")
        self.assertIn("readable label", answer.error)


if __name__ == "__main__":
    main()
