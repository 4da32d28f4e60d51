#!/usr/bin/env python3
"""A writer is killed, stopped, or left alive, and another one takes its pool over, round after round.

The pool lies on images of a Ceph cluster and has no parity. Each round starts a process that writes it from
several threads and notes in a ledger what it was told was durable (ledger_writer.cc). At some moment it is
killed, or stopped with SIGSTOP, or nothing happens to it; then another process takes the pool over, at times
by the command line. One that was stopped goes on before the next one writes, or while it does. What is looked at:

* all that any of them was ever told is there with its bytes, and every object is what one of them wrote;
* nothing that failed is there, nor anything of which one that was shut out did not know, once somebody has looked;
* whoever was shut out, and is alive, is told so (`shut out`) by each later commit;
* the store has no damage (fsck --deep, in each process that opens it).

HEXAD_SEED picks moments and ways, HEXAD_ROUNDS how many rounds (3; with HEXAD_THOROUGH 40). HEXAD_CEPH_CONF is the
cluster; without it one is started. HEXAD_SECONDS ends it earlier. HEXAD_PROFILE is the pool's (4+0), of four images;
HEXAD_DATA_POOL an erasure-coded pool for their data (data, of tools/ceph/cluster.py), whose names are in `meta` then."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import ledger  # pylint: disable=wrong-import-position

SEED = int(os.environ.get("HEXAD_SEED") or 0)
ROUNDS = int(os.environ.get("HEXAD_ROUNDS") or (40 if os.environ.get("HEXAD_THOROUGH") else 3))
SECONDS = float(os.environ.get("HEXAD_SECONDS") or 1e9)
PROFILE = os.environ.get("HEXAD_PROFILE") or "4+0"
DATA_POOL = os.environ.get("HEXAD_DATA_POOL") or ""
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# Of six rounds.
WAYS = ("killed", "killed", "killed", "killed", "stopped", "live")
SHUT_OUT = 5


class Campaign:
    def __init__(self, pool, chance):
        self.pool = pool
        self.chance = chance
        self.counts = {"killed": 0, "stopped": 0, "live": 0}
        self.violations = []

    def wait_for_load(self):
        """Some commits, and then some moment."""
        before = self.pool.acknowledged()
        more = self.chance.choice((1, 5, 20, 60, 150))
        ledger.wait_until(lambda: self.pool.acknowledged() >= before + more, what="load")
        threading.Event().wait(self.chance.random() * self.chance.choice((0.001, 0.05, 0.3)))

    def say(self, writer, what):
        self.violations.append(f"round {self.pool.round}: {what}: {writer.lines[-20:]} {writer.errors[-500:]}")
        print(self.violations[-1], flush=True)

    def take_over(self):
        """Returns the next writer, which has looked at all."""
        if self.chance.random() < 0.2:
            self.pool.hexad("takeover", "--yes", "--device", *self.pool.devices)
            how = "open"
        else:
            how = "take-over"
        return self.pool.start(how)

    def is_open(self, writer):
        """Whether it has found nothing wrong."""
        line = writer.wait_for("open", "failed")
        if line != "open" or writer.said("problem"):
            self.say(writer, "what was found is not what was promised")
            return False
        return True

    def ends_shut_out(self, writer):
        """One that is alive: each thread of it has tried again."""
        code = writer.finish()
        later = writer.said("error")
        refused = [line for line in later if line.startswith("error shut-out")]
        others = [line for line in later if not line.startswith(("error shut-out", "error unknown-outcome"))]
        if code != SHUT_OUT or writer.said("problem") or others or not refused:
            self.say(writer, f"it was shut out and ended with {code}")

    def run(self):
        end = time.monotonic() + SECONDS
        ways = list(WAYS) if ROUNDS >= len(WAYS) else ["killed", "stopped", "live"]
        writer = self.pool.start()
        opened = self.is_open(writer)
        for number in range(ROUNDS):
            if not opened or self.violations or time.monotonic() > end:
                break
            way = ways[number % len(ways)]
            self.wait_for_load()
            if way == "killed":
                writer.send(signal.SIGKILL)
                writer.kill()
            elif way == "stopped":
                ledger.stop(writer.process.pid)
            early = self.chance.random() < 0.5
            following = self.take_over()
            if way == "stopped" and early:
                # Shut out, and perhaps not yet followed.
                following.wait_for("taken", "checked")
                writer.send(signal.SIGCONT)
            opened = self.is_open(following)
            if way == "stopped" and not early:
                self.wait_for_load()
                writer.send(signal.SIGCONT)
            if way != "killed":
                if writer.wait_for("ended") is None:
                    self.say(writer, "it ended without a word")
                self.ends_shut_out(writer)
            self.counts[way] += 1
            writer = following
        if writer.finish() != 0:
            self.say(writer, "the last one")
        if not self.violations:
            self.pool.check()


def main():
    top = tempfile.mkdtemp(prefix="hexad-takeover-")
    cluster = os.path.join(ROOT, "tools", "ceph", "cluster.py")
    conf = os.environ.get("HEXAD_CEPH_CONF")
    own = conf is None
    started = time.monotonic()
    campaign = None
    if own and subprocess.run([os.path.join(ROOT, "tools", "setup", "ceph.sh")], check=False).returncode != 0:
        print("take-over: skipped: Debian's packages of Ceph cannot be installed here")
        print(f"name=take-over seed={SEED} states=0 skipped=1 violations=0")
        return 0
    try:
        if own:
            conf = subprocess.run(
                [cluster, "start", os.path.join(top, "c")], stdout=subprocess.PIPE, text=True, check=True
            ).stdout.strip()
        name = f"takeover-{SEED}-{os.getpid()}"
        pool = ledger.Pool(
            conf, top, name, profile=PROFILE, names_pool="meta" if DATA_POOL else "log", data_pool=DATA_POOL
        )
        campaign = Campaign(pool, random.Random(SEED))
        try:
            campaign.run()
        except AssertionError as failed:
            campaign.violations.append(str(failed))
            print(f"round {pool.round}: {failed}", flush=True)
        acknowledged = pool.acknowledged()
        pool.remove()
    finally:
        if own:
            subprocess.run([cluster, "stop", os.path.join(top, "c")], check=False)
        if campaign is not None and not campaign.violations:
            shutil.rmtree(top, ignore_errors=True)
    counts = " ".join(f"{way}={count}" for way, count in campaign.counts.items())
    # As tests/crash/harness_line.h.
    print(f"name=take-over seed={SEED} states={sum(campaign.counts.values())} {counts} commits={acknowledged} "
          f"violations={len(campaign.violations)} secs={time.monotonic() - started:.1f}", flush=True)
    return 1 if campaign.violations else 0


if __name__ == "__main__":
    sys.exit(main())
