#!/usr/bin/env python3
"""A store on images of a Ceph cluster, beside images and objects of the same cluster without it.

    compare.py --hexad PROGRAM --cluster PROGRAM [--conf FILE] [--seconds N] [--repetitions N]
               [--objects N] [--osds N] [--dir FOLDER] [--only WORD] [--commit NAME]

Starts a cluster of its own on files in FOLDER (tools/ceph/cluster.py), and takes it away; or takes
the one of FILE, which has been started by that program. Each row runs both by turns. The store has four images, no parity of its own (1+0) and no fast directory;
its images are in a replicated pool (two copies), or have their data in an erasure-coded one (2+1).
Images beside it are written by fio with librbd's cache off, as hexad has them, so that an answered
write is durable; objects by `rados bench`, one each.
"""

import argparse
import contextlib
import datetime
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from rows import ROWS, table

KIB = 1 << 10
MIB = 1 << 20
IMAGES = 4
IMAGE_SIZE = "4GiB"


def die(words):
    sys.exit(f"bench ceph: {words}")


def flushed_write_us(job):
    """Microseconds of a write and the flush behind it, of a job of fio with --lat_percentiles: the sum of both medians."""
    medians = [job[what]["lat_ns"]["percentile"]["50.000000"] for what in ("write", "sync")]
    return sum(medians) / 1e3


class Cluster:
    """That of options.conf, or one of its own until the `with` block ends."""

    def __init__(self, options, folder):
        self.program = options.cluster
        self.osds = options.osds
        self.is_ours = options.conf is None
        self.directory = os.path.join(folder, "c") if self.is_ours else os.path.dirname(options.conf)
        # With librbd's cache off.
        self.conf = os.path.join(folder, "ceph.conf")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("CEPH_")}
        self.environment["CEPH_CONF"] = self.conf

    def __enter__(self):
        if self.is_ours:
            self.run(self.program, "start", self.directory, "--osds", str(self.osds))
        with open(os.path.join(self.directory, "ceph.conf"), encoding="utf-8") as theirs:
            text = theirs.read()
        with open(self.conf, "w", encoding="utf-8") as conf:
            conf.write(text + "\n[client]\nrbd cache = false\n")
        return self

    def __exit__(self, *_):
        if self.is_ours:
            self.run(self.program, "stop", self.directory)

    def run(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=self.environment)
        if done.returncode != 0:
            die(f"this did not work: {' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def allocated(self):
        """Bytes that all OSDs together have allocated."""
        total = 0
        for socket in glob.glob(os.path.join(glob.escape(self.directory), "run", "osd.*.asok")):
            total += json.loads(self.run("ceph", "daemon", socket, "perf", "dump", "bluestore"))["bluestore"][
                "bluestore_allocated"
            ]
        return total


class Store:
    """A pool on new images; `ec`: their data is erasure-coded."""

    def __init__(self, cluster, hexad, folder, ec):
        self.cluster = cluster
        self.hexad = hexad
        self.pool = os.path.join(folder, "pool-ec" if ec else "pool-log")
        more = "&data_pool=data" if ec else ""
        self.images = [f"{'meta' if ec else 'log'}/hexad-{os.getpid()}-{i}" for i in range(IMAGES)]
        places = [f"rbd:{image}?conf={cluster.conf}{more}" for image in self.images]
        cluster.run(
            hexad, "mkfs", self.pool, "--no-fast", "--profile", "1+0", "--size", IMAGE_SIZE,
            "--device", *places,
        )

    def remove(self):
        for image in self.images:
            self.cluster.run("rbd", "--no-progress", "rm", image)
        shutil.rmtree(self.pool, ignore_errors=True)

    def bench(self, *options):
        return json.loads(self.cluster.run(self.hexad, "bench", "run", self.pool, "--json", "--wait", "60", *options))

    def put(self, size, depth, seconds, objects, batch=1):
        """What `bench run` says of durable puts, `batch` in a transaction."""
        return self.bench(
            "--rw", "put", "--bs", str(size), "--iodepth", str(depth), "--objects", str(objects),
            "--runtime", str(seconds), "--compressible", "0", "--batch", str(batch),
        )

    def take_over(self):
        """Seconds from the beginning of a take-over from a process that writes until a put was durable after it."""
        busy = subprocess.Popen(  # pylint: disable=consider-using-with
            [self.hexad, "bench", "run", self.pool, "--bs", "64KiB", "--runtime", "3600", "--wait", "60"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.cluster.environment,
        )
        try:
            while not self.is_writing():
                if busy.poll() is not None:
                    die("the process that writes has ended")
            began = time.monotonic()
            self.cluster.run(self.hexad, "takeover", "--yes", self.pool)
            self.cluster.run(self.hexad, "put", self.pool, "first", self.cluster.conf)
            return time.monotonic() - began
        finally:
            busy.kill()
            busy.wait()

    def is_writing(self):
        said = subprocess.run(
            [self.hexad, "takeover", "-n", "--json", self.pool], capture_output=True, check=False,
            env=self.cluster.environment,
        )
        holders = json.loads(said.stdout).get("holders", []) if said.returncode == 0 else []
        return len(holders) == IMAGES


class Image:
    """One without a store, for fio."""

    def __init__(self, cluster, ec):
        self.cluster = cluster
        self.pool = "meta" if ec else "log"
        self.more = ("--data-pool", "data") if ec else ()
        self.image = f"plain-{os.getpid()}"
        self.name = f"{self.pool}/{self.image}"
        cluster.run(
            "rbd", "--no-progress", "create", "--size", IMAGE_SIZE.removesuffix("iB"), "--image-feature", "exclusive-lock",
            *self.more, self.name,
        )

    def remove(self):
        self.cluster.run("rbd", "--no-progress", "rm", self.name)

    def fio(self, seconds, *options):
        said = self.cluster.run(
            "fio", "--name=plain", "--ioengine=rbd", "--clientname=admin", f"--pool={self.pool}", f"--rbdname={self.image}",
            "--time_based", f"--runtime={seconds}", "--refill_buffers", "--output-format=json", *options,
        )
        job = json.loads(said[said.index("{") :])["jobs"][0]
        if job["error"] != 0:
            die(f"fio's job ended with error {job['error']}")
        return job


class Objects:
    """Objects of the cluster itself, by `rados bench`."""

    def __init__(self, cluster, ec):
        self.cluster = cluster
        self.pool = "data" if ec else "log"

    def put(self, size, depth, seconds):
        """(objects/s, how many)."""
        said = self.cluster.run(
            "rados", "--pool", self.pool, "bench", str(seconds), "write", "-b", str(size), "-t", str(depth),
            "--no-cleanup", "--run-name", "plain",
        )
        count = int(re.search(r"Total writes made:\s+(\d+)", said)[1])
        took = float(re.search(r"Total time run:\s+([\d.]+)", said)[1])
        return count / took, count

    def remove(self):
        self.cluster.run("rados", "--pool", self.pool, "cleanup", "--run-name", "plain")


class Bench:
    """The rows; each returns (hexad's figure, that of what is beside it)."""

    def __init__(self, cluster, options, folder):
        self.cluster = cluster
        self.options = options
        self.folder = folder

    @contextlib.contextmanager
    def both(self, beside, ec):
        store = Store(self.cluster, self.options.hexad, self.folder, ec)
        other = beside(self.cluster, ec)
        try:
            yield store, other
        finally:
            other.remove()
            store.remove()

    def by_turns(self, one, two):
        ours, theirs = [], []
        for _ in range(self.options.repetitions):
            ours.append(one())
            theirs.append(two())
        return statistics.median(ours), statistics.median(theirs)

    def lone(self, ec):
        """Microseconds of a durable put of 4 KiB by one caller; of a write of 4 KiB and a flush: medians."""
        seconds = self.options.seconds
        with self.both(Image, ec) as (store, image):
            return self.by_turns(
                lambda: store.put(4 * KIB, 1, seconds, 1_000_000)["latency_us"]["p50"],
                lambda: flushed_write_us(
                    image.fio(
                        seconds, "--rw=randwrite", "--bs=4k", "--iodepth=1", "--fsync=1", "--lat_percentiles=1"
                    )
                ),
            )

    def many(self, ec):
        """Durable puts of 4 KiB, 64 in flight, per second."""
        seconds = self.options.seconds
        with self.both(Objects, ec) as (store, objects):
            return self.by_turns(
                lambda: store.put(4 * KIB, 64, seconds, 1_000_000)["ops_per_s"],
                lambda: objects.put(4 * KIB, 64, seconds)[0],
            )

    def batches(self, ec):
        """Durable puts of 4 KiB, 64 in a transaction and 64 of these in flight, per second."""
        seconds = self.options.seconds
        with self.both(Objects, ec) as (store, objects):
            return self.by_turns(
                lambda: store.put(4 * KIB, 64, seconds, 100_000, batch=64)["ops_per_s"],
                lambda: objects.put(4 * KIB, 64, seconds)[0],
            )

    def large(self, ec):
        """Bytes per second of 4 MiB puts, 16 in flight; of writes in order of 4 MiB."""
        seconds = self.options.seconds
        with self.both(Image, ec) as (store, image):
            return self.by_turns(
                lambda: store.put(4 * MIB, 16, seconds, 300)["bytes_per_s"],
                lambda: image.fio(seconds, "--rw=write", "--bs=4m", "--iodepth=16")["write"]["bw_bytes"],
            )

    def space(self, ec):
        """Bytes that the OSDs have allocated for each object of 4 KiB."""
        objects = self.options.objects
        with self.both(Objects, ec) as (store, plain):
            before = self.cluster.allocated()
            names = os.path.join(self.folder, "names")
            os.mkdir(names)
            for number in range(objects):
                with open(os.path.join(names, str(number)), "wb") as file:
                    file.write(os.urandom(4 * KIB))
            self.cluster.run(self.options.hexad, "import", "-q", store.pool, names)
            shutil.rmtree(names)
            ours = (self.cluster.allocated() - before) / objects
            before = self.cluster.allocated()
            count = plain.put(4 * KIB, 64, self.options.seconds)[1]
            return ours, (self.cluster.allocated() - before) / count

    def take_over(self, ec):
        """Seconds until a put is durable after a take-over from a process that writes."""
        store = Store(self.cluster, self.options.hexad, self.folder, ec)
        try:
            return statistics.median(store.take_over() for _ in range(self.options.repetitions)), None
        finally:
            store.remove()


def arguments_of_command_line():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--hexad", required=True, help="the command line")
    parser.add_argument("--cluster", required=True, help="tools/ceph/cluster.py")
    parser.add_argument("--conf", help="of a cluster that this program has started")
    parser.add_argument("--seconds", type=int, default=5, help="of each run (5)")
    parser.add_argument("--repetitions", type=int, default=3, help="by turns; the median counts (3)")
    parser.add_argument("--objects", type=int, default=50_000, help="of the rows about space (50,000)")
    parser.add_argument("--osds", type=int, default=3, help="how many (3)")
    parser.add_argument("--dir", default="/tmp", help="where the cluster is made, a short path (/tmp)")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--commit", default="not said", help="what was built, for the heading")
    return parser.parse_args()


def main():
    options = arguments_of_command_line()
    options.hexad = os.path.abspath(options.hexad)
    options.cluster = os.path.abspath(options.cluster)
    options.conf = options.conf and os.path.abspath(options.conf)
    for program, package in (("fio", "fio"), ("rados", "ceph-common"), ("ceph-osd", "ceph-osd"), ("ceph-mon", "ceph-mon")):
        if shutil.which(program) is None:
            die(f"there is no {program}, and nothing is measured; apt-get install {package}")
    wanted = [row for row in ROWS if options.only in row.name]
    if not wanted:
        die(f"no row has '{options.only}' in its name: {', '.join(row.name for row in ROWS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench ceph: interrupted"))
    folder = tempfile.mkdtemp(prefix="hexad-cb-", dir=options.dir)
    results = []
    try:
        with Cluster(options, folder) as cluster:
            bench = Bench(cluster, options, folder)
            for row in wanted:
                ours, theirs = getattr(bench, row.measure)(row.ec)
                print(f"{row.what}: {row.text(ours)}, beside it {row.text(theirs)}", file=sys.stderr)
                results.append((row, ours, theirs))
            version = cluster.run("ceph", "--version").split()[2]
            osds = len(cluster.run("ceph", "osd", "ls").split())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"Ceph {version}, {osds} OSDs on files, {options.seconds} s a run, {options.repetitions} of each by "
        f"turns; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end, "
        f"{datetime.date.today()}, commit {options.commit}\n"
    )
    print(table(results))


if __name__ == "__main__":
    main()
