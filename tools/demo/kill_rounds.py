#!/usr/bin/env python3
"""Kills a writing process again and again and compares what the store holds with the ledger of
what it had acknowledged. This process keeps the ledger; the writer is another one.

As a program, a campaign: kill_rounds.py HEXAD, the path of the command line, for 100 rounds by the
seed of HEXAD_SEED, on a new pool for every 20."""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

from command import Failed, Hexad  # noqa: E402

IN_FLIGHT = 8  # transactions
LEAST_ROUNDS = 20
LEAST_TORN = 5
MOST_ROUNDS = 100
OPEN_TIMEOUT = 60  # seconds
POOLS = 5  # of a campaign


class Writer:
    """One life of the writing process, and what it said."""

    def __init__(self, command):
        self.submitted = 0
        self.acknowledged = 0
        self.opened = threading.Event()
        self.error = None
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            words = line.split()
            if words[0] == "s":
                self.submitted = int(words[1])
            elif words[0] == "a":
                self.acknowledged = max(self.acknowledged, int(words[1]))
            elif words[0] == "open":
                self.opened.set()
            else:
                self.error = line.strip()
        self.opened.set()

    def kill(self):
        """SIGKILL. Lines already in the pipe count: they were said before."""
        self.process.kill()
        code = self.process.wait()
        self.reader.join()
        if code != -9:
            raise Failed(f"the writer ended by itself: {self.error or self.process.stderr.read()}")
        self.process.stderr.close()


class KillRounds:
    def __init__(self, crash_writer, pool, ledger, seed):
        self.crash_writer = crash_writer
        self.pool = pool
        self.ledger = ledger  # path of a file: ROUND FIRST LAST per line
        self.seed = seed
        self.random = random.Random(seed)
        open(ledger, "w").close()
        self.last = 0  # transactions that the store has after the last check
        self.rounds = 0
        self.counted = 0  # rounds that had commits in flight
        self.torn = 0  # ... of which recovery found one half written and took it back
        self.completed = 0  # ... and found none to take back, but one whose missing cells it wrote
        self.acknowledged = 0
        self.kept_unacknowledged = 0
        self.counters = {}

    def _command(self, mode, round_number, *more):
        return [self.crash_writer, mode, self.pool, str(self.seed), str(round_number), self.ledger,
                *map(str, more)]

    def check(self, round_number, least, most, leave=False):
        """Reopens the store and compares. Returns what the checker found."""
        command = self._command("check", round_number, least, most, *(["leave"] if leave else []))
        done = subprocess.run(command, capture_output=True, text=True)
        if not done.stdout.strip():
            raise Failed(f"round {round_number}: the store did not open again:\n{done.stderr}")
        found = json.loads(done.stdout)
        if done.returncode != 0:
            raise Failed(f"round {round_number}: " + "\n".join(found["problems"]) + done.stderr)
        return found

    def one(self):
        self.rounds += 1
        number = self.rounds
        writer = Writer(self._command("write", number, IN_FLIGHT))
        if number % 5 == 0:
            # At any moment of its life, opening and recovery included.
            time.sleep(self.random.uniform(0, 0.8))
        else:
            writer.opened.wait(OPEN_TIMEOUT)
            time.sleep(self.random.uniform(0.02, 0.5))
        writer.kill()
        submitted = max(writer.submitted, self.last)
        acknowledged = max(writer.acknowledged, self.last)
        found = self.check(number, acknowledged, submitted, leave=number % 2 == 0)
        self._note(found, submitted, acknowledged, number)

    def _note(self, found, submitted, acknowledged, number):
        counters = found["counters"]
        cut = counters["recovery_tail_cut"]
        healed = counters["recovery_log_copies_healed"] + counters["cells_healed"]
        if submitted > acknowledged:
            self.counted += 1
            if cut > 0:
                self.torn += 1
            elif healed > 0:
                self.completed += 1
        self.acknowledged += acknowledged - self.last
        self.kept_unacknowledged += found["number"] - acknowledged
        for name, value in counters.items():
            self.counters[name] = self.counters.get(name, 0) + value
        if found["number"] > self.last:
            with open(self.ledger, "a") as ledger:
                ledger.write(f"{number} {self.last + 1} {found['number']}\n")
        print(
            f"  round {number:3}: {submitted - self.last:4} submitted, "
            f"{acknowledged - self.last:4} acknowledged, {found['number'] - self.last:4} found"
            + (f"; {cut} taken back" if cut else "")
            + (f"; {healed} cells or log blocks completed" if healed else ""),
            flush=True,
        )
        self.last = found["number"]

    def run(self):
        while self.counted < LEAST_ROUNDS or self.torn < LEAST_TORN:
            if self.rounds == MOST_ROUNDS:
                raise Failed(
                    f"after {self.rounds} rounds only {self.torn} kills had cut a commit in two; "
                    f"{LEAST_TORN} are wanted. Try again on a machine with less or more load."
                )
            self.one()


def main():
    hexad = sys.argv[1]
    seed = int(os.environ.get("HEXAD_SEED") or 0)
    begin = time.monotonic()
    rounds = cut = acknowledged = violations = 0
    for number in range(POOLS):
        with tempfile.TemporaryDirectory(prefix="hexad-kill-") as top:
            pool = Hexad(hexad, os.path.join(top, "pool"))
            devices = [os.path.join(top, f"device{i}") for i in range(6)]
            fast = ["--fast", os.path.join(top, "fast")] if number % 2 == 0 else ["--no-fast"]
            pool.run("mkfs", "--device", *devices, "--size", "1GiB", *fast)
            kills = KillRounds(os.path.join(os.path.dirname(hexad), "demo", "crash_writer"),
                               pool.pool, os.path.join(top, "ledger"), seed * POOLS + number)
            try:
                for _ in range(LEAST_ROUNDS):
                    kills.one()
                pool.run("fsck", "--deep")
            except Failed as failed:
                print(f"pool {number}: {failed}", flush=True)
                violations += 1
            rounds += kills.rounds
            cut += kills.torn
            acknowledged += kills.acknowledged
    # As tests/crash/harness_line.h.
    print(f"name=demo-kills seed={seed} states={rounds} cut={cut} acknowledged={acknowledged} "
          f"violations={violations} secs={time.monotonic() - begin:.1f}", flush=True)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
