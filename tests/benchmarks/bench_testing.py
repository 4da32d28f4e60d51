"""What the tests of programs that print tables share: a folder to measure in, a quick run, and what
holds for every row."""

import json
import os
import subprocess
import sys
import tempfile
import unittest


class ProgramTest(unittest.TestCase):
    PROGRAM = None  # main() sets it
    QUICKLY = ()    # options beside --quick

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR", "/var/tmp"))
        self.addCleanup(folder.cleanup)
        self.work = os.path.join(folder.name, "work")
        self.json = os.path.join(folder.name, "figures.json")
        os.mkdir(self.work)

    def run_quickly(self, *arguments, **more):
        return subprocess.run(
            [self.PROGRAM, "--dir", self.work, "--quick", *self.QUICKLY, *arguments],
            capture_output=True,
            text=True,
            timeout=1500,
            check=False,
            **more,
        )

    def measure(self, *arguments, **more):
        """A run that succeeds and leaves nothing; what it printed, its settings, its rows by id."""
        result = self.run_quickly("--json", self.json, "--commit", "0123abc", *arguments, **more)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.work), [])
        with open(self.json, encoding="utf-8") as figures:
            figures = json.load(figures)
        self.assertEqual(figures["settings"]["commit"], "0123abc")
        rows = {row["id"]: row for row in figures["rows"]}
        self.assertEqual(len(rows), len(figures["rows"]))
        for row in rows.values():
            with self.subTest(row["id"]):
                self.assertGreater(row["value"], 0)
                self.assertIn("| " + row["what"] + " |", result.stdout)
        return result, figures["settings"], rows

    def refuse_a_row_that_is_not_there(self):
        result = self.run_quickly("--only=no_such_row")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no row 'no_such_row'", result.stderr)


def main():
    ProgramTest.PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
