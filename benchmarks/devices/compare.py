#!/usr/bin/env python3
"""Scrubs, rebuilds and reads without a device, beside what fio does to the same drives.

    compare.py [--drives PATH...] [--mbps N] [--fill MIB] [--seconds N] [--dir FOLDER] [--commit NAME]

Seven drives: six are a pool 4+2, the last takes the place of one that is lost. All that is on them is
overwritten. Without --drives each is a loop device over memory that the kernel holds to --mbps MB/s of reads
and as much of writes (the throttle of control groups; root alone), as six disks of a box have a limit each,
and one disk under six files has not. The load, objects of 256 KiB, is in this process, on four threads.
"""

import argparse
import contextlib
import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import warnings

import hexad

MIB = 1 << 20
OBJECT = 256 << 10
SMALL = 4096
POOL = 6  # drives of it
THREADS = 4
GROUP = "hexad-bench"


def die(words):
    sys.exit(f"bench devices: {words}")


def run(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        die(f"{words[0]} is not installed")
    if done.returncode != 0:
        die(f"this did not work: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Throttle:
    """Holds this process and what it starts to so many bytes per second and device, by control groups of either
    version."""

    OLD = "/sys/fs/cgroup/blkio"

    def __init__(self, rate):
        self.rate = rate
        self.folder = os.path.join(self.OLD if os.path.isdir(self.OLD) else "/sys/fs/cgroup", GROUP)

    def __enter__(self):
        try:
            self.before = self.group()
            if not self.folder.startswith(self.OLD):
                self.write("/sys/fs/cgroup/cgroup.subtree_control", "+io")
            os.makedirs(self.folder, exist_ok=True)
            self.write(os.path.join(self.folder, "cgroup.procs"), str(os.getpid()))
        except OSError as error:
            with contextlib.suppress(OSError):
                os.rmdir(self.folder)
            die(f"no throttle: {error}; give seven --drives of your own")
        return self

    def __exit__(self, *_):
        self.write(os.path.join(self.before, "cgroup.procs"), str(os.getpid()))
        os.rmdir(self.folder)

    def group(self):
        """The folder of the group that this process is in."""
        with open("/proc/self/cgroup", encoding="ascii") as file:
            for line in file:
                _, controllers, path = line.strip().split(":", 2)
                if "blkio" in controllers.split(",") or not controllers:
                    return os.path.dirname(self.folder) + path
        return os.path.dirname(self.folder)

    def hold(self, path):
        device = os.stat(path).st_rdev
        number = f"{os.major(device)}:{os.minor(device)}"
        if self.folder.startswith(self.OLD):
            for what in "read", "write":
                self.write(os.path.join(self.folder, f"blkio.throttle.{what}_bps_device"),
                           f"{number} {self.rate}")
        else:
            self.write(os.path.join(self.folder, "io.max"),
                       f"{number} rbps={self.rate} wbps={self.rate}")

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)


@contextlib.contextmanager
def loops(throttle, folder, size):
    """Loop devices over files in memory."""
    made = []
    try:
        for number in range(POOL + 1):
            path = os.path.join(folder, f"drive{number}")
            with open(path, "wb") as file:
                file.truncate(size)
            made.append(run("losetup", "--show", "-f", path).strip())
            throttle.hold(made[-1])
        yield made
    finally:
        for path in made:
            run("losetup", "-d", path)


def wipe(path):
    """What a new drive is: nothing of a pool."""
    with open(path, "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        for at in 0, size - 4 * MIB:
            file.seek(at)
            file.write(bytes(4 * MIB))
        os.fsync(file)


def fio(how, drives, seconds):
    """MB/s of all of them together, in requests of 256 KiB, which the kernel does not split, 8 in flight on each."""
    words = ["fio", "--output-format=json", "--bs=256K", "--direct=1", "--ioengine=io_uring", "--iodepth=8",
             "--time_based", f"--runtime={seconds}", f"--rw={how}", "--group_reporting"]
    for number, drive in enumerate(drives):
        words += [f"--name=job{number}", f"--filename={drive}"]
    return json.loads(run(*words))["jobs"][0][how]["bw_bytes"] / 1e6


class Load:
    """What users do meanwhile. `put`: overwrites; else reads. Of random objects, each on its own."""

    def __init__(self, store, count, put):
        self.store, self.count, self.put = store, count, put
        self.over = threading.Event()
        self.done = 0
        self.problem = None
        self.lock = threading.Lock()

    def work(self, seed):
        chance = random.Random(seed)
        payload = chance.randbytes(OBJECT)
        try:
            while not self.over.is_set():
                name = f"o{chance.randrange(self.count)}"
                if self.put:
                    self.store.put(name, payload)
                else:
                    self.store.get(name)
                with self.lock:
                    self.done += OBJECT
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.problem = error
            self.over.set()

    def __enter__(self):
        self.threads = [threading.Thread(target=self.work, args=(seed,)) for seed in range(THREADS)]
        self.began = time.monotonic()
        for thread in self.threads:
            thread.start()
        return self

    def restart(self):
        """Counts from now on."""
        with self.lock:
            self.began, self.done = time.monotonic(), 0

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.rate = self.done / 1e6 / (time.monotonic() - self.began)
        if self.problem is not None:
            die(f"a load has failed: {self.problem}")


class PacedScrub:
    """One after the other, so that there is always one."""

    def __init__(self, store, rate):
        self.store, self.rate = store, rate
        self.over = threading.Event()
        self.problem = None
        self.thread = threading.Thread(target=self.work)

    def work(self):
        try:
            while not self.over.is_set():
                self.store.scrub(rate=self.rate, progress=lambda *_: not self.over.is_set())
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.problem = error

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        if self.problem is not None:
            die(f"a scrub has failed: {self.problem}")


def load_rate(store, count, put, seconds):
    """MB/s."""
    with Load(store, count, put) as load:
        time.sleep(seconds)
    return load.rate


class Bench:
    def __init__(self, options, drives, folder):
        self.options = options
        self.drives = drives[:POOL]
        self.spare = drives[POOL]
        self.fast = os.path.join(folder, "fast")
        self.pool = os.path.join(folder, "pool")
        self.count = options.fill * MIB // OBJECT
        self.rows = []

    def row(self, what, figure, beside, other, goal):
        ratio = figure / other
        self.rows.append((what, f"{figure:,.0f} MB/s", beside, f"{other:,.0f} MB/s", f"{ratio:.2f}", goal))
        print(f"{what}: {figure:,.0f} MB/s, {beside}: {other:,.0f} MB/s, {ratio:.2f}", flush=True)

    def open(self, drives, catch_up="asked", **options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hexad.DeviceWarning)  # some are lost, as is meant
            return hexad.open(devices=drives, fast=[self.fast], cache_size=0, catch_up=catch_up,
                              returns="when-asked", **options)

    def measure(self):
        seconds = self.options.seconds
        write = fio("write", [self.spare], 2 * seconds)
        read = fio("read", self.drives, 2 * seconds)
        print(f"fio writes the new drive: {write:,.0f} MB/s; reads the six: {read:,.0f} MB/s", flush=True)
        for drive in self.drives + [self.spare]:
            wipe(drive)
        hexad.format(self.pool, devices=self.drives, fast=[self.fast], profile="4+2", force=True)
        with self.open(self.drives) as store:
            self.fill(store)
            self.scrubs(store, read)
            healthy = load_rate(store, self.count, False, seconds)
        with self.open(self.drives[1:], read_only=True) as store:
            self.row("reads, one drive dead", load_rate(store, self.count, False, seconds),
                     "with all", healthy, ">= 0.55")
        self.catch_up(seconds)
        self.rebuild(write)
        self.rebuild_beside_puts(seconds)
        with self.open(self.drives) as store:
            if store.fsck(deep=True)["errors"] or store.status()["faults_tolerated"] != 2:
                die("the pool is not whole at the end")

    def fill(self, store):
        payload = random.Random(1).randbytes(OBJECT)
        for number in range(0, self.count, 16):
            with store.transaction() as t:
                for one in range(number, min(number + 16, self.count)):
                    t.put(f"o{one}", payload)
        for number in range(0, 4000, 100):
            with store.transaction() as t:
                for one in range(number, number + 100):
                    t.put(f"s{one}", payload[one:one + SMALL])
        store.checkpoint()

    def scrubs(self, store, read):
        began = time.monotonic()
        report = store.scrub()
        self.row("scrub", report["bytes_checked"] / 1e6 / (time.monotonic() - began),
                 "fio reads the six drives", read, ">= 0.8")
        pace = int(read * 1e6 / 20)
        alone, beside = [], []
        for _ in range(3):  # by turns
            alone.append(load_rate(store, self.count, True, self.options.seconds))
            with PacedScrub(store, pace):
                beside.append(load_rate(store, self.count, True, self.options.seconds))
        self.puts = statistics.median(alone)
        self.row(f"puts beside a scrub at {pace / 1e6:.0f} MB/s", statistics.median(beside),
                 "puts alone", self.puts, ">= 0.9")

    def catch_up(self, seconds):
        """Of a drive that was away for so long, with the same load."""
        for away in seconds, 4 * seconds:
            with self.open(self.drives[:5]) as store:
                load_rate(store, self.count, True, away)
            with self.open(self.drives) as store:
                began = time.monotonic()
                report = store.catch_up()
                took = time.monotonic() - began
                lacked = report["bytes_total"] / 1e6
                words = (f"catch-up after {away} s away: {lacked:,.0f} MB in {took:.1f} s, "
                         f"{lacked / took:,.0f} MB/s")
                print(words, flush=True)
                self.rows.append((f"catch-up after {away} s away", f"{lacked / took:,.0f} MB/s",
                                  f"it lacked {lacked:,.0f} MB", f"{took:.1f} s", "", "as what changed"))

    def lose(self, number, catch_up):
        """That drive is lost for good, and comes back as a new one: the spare is to take its place."""
        lost = self.drives[number]
        store = self.open([one for one in self.drives if one != lost], catch_up)
        new, self.spare = self.spare, lost
        self.drives[number] = new
        wipe(lost)
        return store, new

    @staticmethod
    def missing(store):
        return sum(one["missing_bytes"] for one in store.status()["devices"])

    def take_place(self, store, number, new):
        """Seconds until the new one is used, and the bytes that it lacks then."""
        began = time.monotonic()
        store.replace_device(number, new)
        return time.monotonic() - began, self.missing(store)

    def rebuild(self, write):
        """As fast as it can, by the call that waits for it; then in the background, idle."""
        for number, how in (1, "asked"), (3, "background"):
            store, new = self.lose(number, how)
            with store:
                ready, lacks = self.take_place(store, number, new)
                began = time.monotonic()
                if how == "asked":
                    store.catch_up()
                else:
                    self.wait_until_whole(store)
                took = time.monotonic() - began
            print(f"the new drive was made ready in {ready:.1f} s", flush=True)
            what = "rebuild" if how == "asked" else "rebuild in the background, idle"
            self.row(what, lacks / 1e6 / took, "fio writes the new drive", write, ">= 0.7")

    def wait_until_whole(self, store, load=None):
        end = time.monotonic() + 600
        while self.missing(store) > 0:
            if load is not None and load.over.is_set():
                break  # its __exit__ says why
            if time.monotonic() > end:
                die(f"{self.missing(store)} bytes are missing still: {store.status()['notes']}")
            time.sleep(0.05)

    def rebuild_beside_puts(self, seconds):
        """In the background, as the store does it by itself."""
        store, new = self.lose(2, "background")
        with store:
            without = load_rate(store, self.count, True, seconds)
            with Load(store, self.count, True) as load:
                _, lacks = self.take_place(store, 2, new)
                load.restart()
                began = time.monotonic()
                self.wait_until_whole(store, load)
                took = time.monotonic() - began
        self.row("puts beside a rebuild", load.rate, "puts alone, with that drive lost", without,
                 ">= 0.5")
        words = f"{lacks / 1e6 / took:,.0f} MB/s"
        print(f"rebuild beside puts: {words}", flush=True)
        self.rows.append(("rebuild beside puts", words, f"{lacks / 1e6:,.0f} MB", f"{took:.1f} s", "", ""))

    def table(self):
        lines = ["| | | beside | | ratio | goal |", "|---|---|---|---|---|---|"]
        return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in self.rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--drives", nargs=POOL + 1, metavar="PATH", help="seven, which are overwritten")
    parser.add_argument("--mbps", type=int, default=60, help="of each drive, without --drives; 60")
    parser.add_argument("--fill", type=int, default=1536, metavar="MIB", help="of objects; 1536")
    parser.add_argument("--seconds", type=int, default=6, help="of each load; 6")
    parser.add_argument("--dir", default="/dev/shm", help="for what is made; /dev/shm")
    parser.add_argument("--commit", default="", help="named in the table")
    options = parser.parse_args()
    folder = os.path.join(options.dir, f"hexad-bench-devices-{os.getpid()}")
    os.makedirs(folder)
    with contextlib.ExitStack() as stack:
        stack.callback(run, "rm", "-rf", folder)
        drives = options.drives
        if drives is None:
            throttle = stack.enter_context(Throttle(options.mbps * 1_000_000))
            drives = stack.enter_context(loops(throttle, folder, (options.fill // 2 + 512) * MIB))
        bench = Bench(options, drives, folder)
        bench.measure()
        today = datetime.date.today().isoformat()
        print(f"\n{today}, {options.commit}, load average {os.getloadavg()[0]:.1f}\n\n{bench.table()}")


if __name__ == "__main__":
    main()
