"""Running the hexad command line and measuring it."""

import json
import subprocess
import time


class Failed(Exception):
    """The demonstration cannot go on; the text says why."""


class Hexad:
    def __init__(self, binary, pool):
        self.binary = binary
        self.pool = pool

    def run(self, verb, *arguments):
        """Runs one verb with --json; returns (its object, seconds). Anything but success ends the
        demonstration."""
        command = [self.binary, *verb.split(), self.pool, *map(str, arguments), "--json", "-q"]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.monotonic() - start
        if done.returncode != 0:
            raise Failed(
                f"{' '.join(command)}\nended with exit code {done.returncode}\n"
                f"{done.stdout[-4000:]}{done.stderr[-4000:]}"
            )
        return (json.loads(done.stdout) if done.stdout.strip() else {}), seconds

    def run_text(self, verb, *arguments):
        """Runs one verb and returns its exit code and what it printed, for people."""
        command = [self.binary, *verb.split(), self.pool, *map(str, arguments)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout
