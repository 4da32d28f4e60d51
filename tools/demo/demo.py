#!/usr/bin/env python3
"""The store at work on real input, in one go:

  1  a pool on six file-backed devices, with a fast tier
  2  a real tree of files goes in, compressed
  3  a process that commits is killed at random moments; after each kill the pool is opened again
     and compared with a ledger of what had been acknowledged
  4  two of the six device files are deleted
  5  everything is read back and compared with the originals, byte for byte

Exit code 0 only if every comparison holds. Called by ./run demo with the path of the command line;
the writing process lies beside it in demo/crash_writer.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True

import place  # noqa: E402
import report  # noqa: E402
import tree  # noqa: E402
from command import Failed, Hexad  # noqa: E402
from kill_rounds import KillRounds  # noqa: E402

DEVICES = 6
LOST_DEVICES = 2
GIB = 1 << 30
STEP = 256 << 20  # device sizes are multiples of this
# What one small file takes on the devices: one unit of 4 KiB on each of the six.
SMALL_FILE = 6 * 4096
LEDGER_SPACE = GIB  # raw bytes for the transactions of the kill rounds
SLACK = GIB  # log, index, file system


def device_size(size, files):
    """Bytes of each device, so that everything fits even if nothing compresses."""
    raw = size * 3 // 2 + files * SMALL_FILE + LEDGER_SPACE
    return max(GIB, -(-raw * 11 // 10 // DEVICES // STEP) * STEP)


class Demo:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.start = time.monotonic()
        self.facts = {}

    def say(self, text):
        print(f"[{time.monotonic() - self.start:5.1f} s] {text}", flush=True)

    def prepare(self):
        source = os.path.abspath(self.options.source)
        self.folders, size, files = tree.choose(source)
        if not self.folders:
            raise Failed(f"{source}: no files in it; name another tree with --source")
        self.device_size = device_size(size, files)
        needed = DEVICES * self.device_size + size * 11 // 10 + files * 4096 + SLACK
        self.directory, kind = place.choose(needed, self.options.dir)
        self.say(f"working in {self.directory} ({kind}), removed at the end")
        if size < tree.WANTED_BYTES or files < tree.WANTED_FILES:
            self.say(f"{source} is small: all there is will be used")
        self.say(f"reading and hashing {files} files, {size / 1e6:.0f} MB, below {source}")
        self.wanted = {}
        for folder in self.folders:
            entries, unreadable = tree.manifest(folder, self.prefix(folder))
            if unreadable:
                raise Failed("cannot be read:\n  " + "\n  ".join(unreadable[:10]))
            self.wanted.update(entries)
        kinds = [entry[0] for entry in self.wanted.values()]
        self.facts.update(
            source=source,
            files=kinds.count("file"),
            links=kinds.count("link"),
            directories=kinds.count("directory"),
            bytes=sum(entry[3] for entry in self.wanted.values() if entry[0] == "file"),
        )

    @staticmethod
    def prefix(folder):
        return folder.lstrip("/") + "/"

    def format(self):
        pool = os.path.join(self.directory, "pool")
        self.devices = [os.path.join(self.directory, f"device{i}") for i in range(DEVICES)]
        self.hexad = Hexad(self.options.hexad, pool)
        _, seconds = self.hexad.run(
            "mkfs",
            *(word for device in self.devices for word in ("--device", device)),
            *("--size", self.device_size),
            *("--fast", os.path.join(self.directory, "fast")),
            *("--compression", "aggressive", "--algorithm", "zstd"),
        )
        self.say(
            f"pool made: six devices of {self.device_size / GIB:.2f} GiB, 4+2, "
            f"zstd aggressive ({seconds:.1f} s)"
        )

    def import_tree(self):
        self.facts["import_s"] = 0
        stored = left_out = 0
        for folder in self.folders:
            done, seconds = self.hexad.run("import", folder, "--prefix", self.prefix(folder))
            self.facts["import_s"] += seconds
            stored += done["files"]
            left_out += done["skipped"] + done["refused"] + done["failed"]
        self.facts["import_left_out"] = left_out
        self.facts["space"], _ = self.hexad.run("df", "--breakdown")
        self.facts["counters"] = self.hexad.run("perf dump")[0]["counters"]
        self.say(
            f"imported {stored} files: "
            f"{report.rate(self.facts['bytes'], self.facts['import_s'])}, durable"
        )

    def kill_writers(self):
        self.say(
            "killing a writer with eight transactions in flight; its device files behave as drives "
            f"of uneven speed (seed {self.options.seed})"
        )
        print(
            "  taken back: found in the log without all of their data, or behind such a one; "
            "none was acknowledged\n"
            "  completed: written by recovery, for commits with enough cells to prove them"
        )
        self.kills = self.facts["kills"] = KillRounds(
            os.path.join(os.path.dirname(self.options.hexad), "demo", "crash_writer"),
            self.hexad.pool,
            os.path.join(self.directory, "ledger"),
            self.options.seed,
        )
        self.kills.run()
        self.say(
            f"{self.kills.rounds} kills, {self.kills.torn} of them cut a commit in two; "
            "the store was whole after each"
        )
        found, seconds = self.hexad.run("fsck")
        self.facts["fsck_errors"] = found["errors"]
        self.say(f"fsck: {found['errors']} errors ({seconds:.1f} s)")

    def lose_devices(self):
        lost = sorted(self.random.sample(self.devices, LOST_DEVICES))
        for device in lost:
            os.unlink(device)
        self.say("deleted " + " and ".join(os.path.basename(device) for device in lost))
        status, _ = self.hexad.run("status")
        if status["health"] != "degraded" or status["faults_tolerated"] != 0:
            raise Failed(f"status says {status['health']} with two devices gone")

    def read_back(self):
        target = os.path.join(self.directory, "out")
        done, self.facts["export_s"] = self.hexad.run("export", target)
        self.facts["export_left_out"] = done["skipped"] + done["refused"] + done["failed"]
        self.say(f"exported: {report.rate(self.facts['bytes'], self.facts['export_s'])}; comparing")
        found = {}
        for folder in self.folders:
            prefix = self.prefix(folder)
            entries, _ = tree.manifest(os.path.join(target, prefix), prefix)
            found.update(entries)
        self.facts["compared"] = len(found)
        self.facts["differences"] = tree.differences(self.wanted, found)
        # The ledger's objects too; this opens for writing and goes on without the two devices.
        last = self.kills.last
        ledger = self.kills.check(self.kills.rounds + 1, last, last)
        self.facts["degraded"] = ledger["counters"]
        self.facts["degraded_objects"] = ledger["objects"]

    def run(self):
        self.prepare()
        self.format()
        self.import_tree()
        self.kill_writers()
        self.lose_devices()
        self.read_back()
        print("\n" + report.table(list(report.rows(self.facts))) + "\n", flush=True)
        for line in self.facts["differences"][:20]:
            print(f"DIFFERENT: {line}")
        good = not self.facts["differences"] and self.facts["fsck_errors"] == 0
        if self.facts["compared"] != len(self.wanted):
            good = False
        self.say("every comparison holds" if good else "FAILED: see the lines above")
        return 0 if good else 1

    def clean_up(self):
        if hasattr(self, "directory") and not self.options.keep:
            shutil.rmtree(self.directory, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(prog="./run demo", description="The store at work.")
    parser.add_argument("hexad", help="path of the command line; ./run fills it in")
    parser.add_argument("--source", default="/usr", help="the tree to store [/usr]")
    parser.add_argument("--dir", help="where to work; needs about 12 GB on a disk [/var/tmp]")
    parser.add_argument("--seed", type=int, default=None, help="repeats the choice of moments")
    parser.add_argument("--keep", action="store_true", help="leave the pool behind")
    options = parser.parse_args()
    options.hexad = os.path.abspath(options.hexad)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 32)
    # An interrupted demonstration cleans up too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    demo = Demo(options)
    try:
        return demo.run()
    except Failed as failure:
        demo.say(f"FAILED: {failure}")
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        demo.clean_up()


if __name__ == "__main__":
    sys.exit(main())
