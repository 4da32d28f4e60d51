#!/usr/bin/python3
"""Stock fio on an object that nbdkit serves as a disk, and on a file of the same disk.

    compare.py --hexad PROGRAM --plugin PLUGIN [--seconds N] [--repetitions N] [--size MIB]
               [--dir FOLDER] [--only WORD] [--commit NAME]

Eight patterns, on both by turns: the command line of fio is the same but for engine and place.
The object is on a pool of six files, 4+2, without a read cache, the file is read and written with
O_DIRECT; both hold random bytes throughout before the first pattern. What hexad wrote to its
devices is what the kernel has sent to disks for the server by the time of a flush after the
pattern; what a later checkpoint writes counts where it happens.
"""

import argparse
import contextlib
import datetime
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from patterns import PATTERNS, figures, table

try:
    import nbd
except ImportError:
    sys.exit("bench nbd: the package python3-libnbd is missing, or this is not Debian's Python")

MIB = 1 << 20


def die(words):
    sys.exit(f"bench nbd: {words}")


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        die(f"this did not work: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """nbdkit with the plugin over a new pool; ends with the `with` block."""

    def __init__(self, options, folder):
        self.size = options.size * MIB
        pool = os.path.join(folder, "pool")
        devices = [os.path.join(folder, f"device{i}") for i in range(6)]
        # What is overwritten takes new space before the old comes back: room for four times the
        # object, and never less than what a small pool needs.
        device = max(256, options.size)
        run(options.hexad, "mkfs", pool, "--device", *devices, "--size", f"{device}MiB")
        self.socket = os.path.join(folder, "socket")
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["nbdkit", "-f", "-t", "128", "-U", self.socket, options.plugin]
            + [f"pool={pool}", "object=disk", f"size={self.size}", "cache-size=0"]
        )
        while True:
            try:
                self.flush()  # answered when the store is open
                return
            except nbd.Error:
                if self.process.poll() is not None:
                    die("nbdkit has ended")
                time.sleep(0.01)

    def place(self):
        return ["--ioengine=nbd", f"--uri=nbd+unix:///?socket={self.socket}"]

    def flush(self):
        client = nbd.NBD()
        client.connect_unix(self.socket)
        client.flush()
        client.shutdown()

    def written(self):
        """Bytes that the kernel has sent to disks for it, or None where that is not said."""
        with contextlib.suppress(OSError):
            with open(f"/proc/{self.process.pid}/io", encoding="ascii") as lines:
                return dict(line.split(": ") for line in lines)["write_bytes"]
        return None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class File:
    def __init__(self, options, folder):
        self.size = options.size * MIB
        self.path = os.path.join(folder, "file")

    def place(self):
        return ["--ioengine=libaio", f"--filename={self.path}", f"--size={self.size}"]


def fio(place, arguments):
    return figures(run("fio", "--direct=1", "--group_reporting", "--output-format=json",
                       *arguments, *place))


def fill(place):
    fio(place, ["--name=fill", "--rw=write", "--bs=1m", "--iodepth=8", "--refill_buffers",
                "--end_fsync=1"])


def measure(server, file, pattern, options):
    name, what, arguments = pattern
    command = [f"--name={name}", "--time_based", f"--runtime={options.seconds}", *arguments]
    hexad, beside, user, device = [], [], 0, 0
    for _ in range(options.repetitions):
        server.flush()
        before = server.written()
        operations, rate, count = fio(server.place(), command)
        server.flush()
        after = server.written()
        hexad.append((operations, rate))
        if "write" in name:
            user += count
        device = None if None in (before, after, device) else device + int(after) - int(before)
        beside.append(fio(file.place(), command)[:2])
        print(f"{what}: {rate / 1e6:.1f} MB/s, the file {beside[-1][1] / 1e6:.1f} MB/s",
              file=sys.stderr)

    def median(runs):
        return tuple(statistics.median(column) for column in zip(*runs))

    return {"what": what, "arguments": arguments, "hexad": median(hexad), "file": median(beside),
            "user": user, "device": device}


def arguments_of_command_line():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--hexad", required=True, help="the command line")
    parser.add_argument("--plugin", required=True, help="hexad_nbd.so")
    parser.add_argument("--seconds", type=int, default=3, help="of each run; 60 there (3)")
    parser.add_argument("--repetitions", type=int, default=1, help="by turns; the median counts (1)")
    parser.add_argument("--size", type=int, default=512, help="of object and file, MiB (512)")
    parser.add_argument("--dir", default=".", help="where pool and file are made (.)")
    parser.add_argument("--only", default="", help="patterns whose name contains this")
    parser.add_argument("--commit", default="not said", help="what was built, for the heading")
    return parser.parse_args()


def main():
    options = arguments_of_command_line()
    options.plugin = os.path.abspath(options.plugin)
    for program in ("fio", "nbdkit"):
        if shutil.which(program) is None:
            die(f"there is no {program}, and nothing is measured; apt-get install {program}")
    if "nbd" not in run("fio", "--enghelp").split():
        die("this fio was built without its engine nbd; Debian's has it")
    wanted = [one for one in PATTERNS if options.only in one[0]]
    if not wanted:
        die(f"no pattern has '{options.only}' in its name: {', '.join(one[0] for one in PATTERNS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench nbd: interrupted"))
    folder = tempfile.mkdtemp(prefix="hexad-nbd-", dir=options.dir)
    try:
        file = File(options, folder)
        fill(file.place())
        server = Server(options, folder)
        try:
            fill(server.place())
            rows = [measure(server, file, pattern, options) for pattern in wanted]
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
    print(f"{run('fio', '--version').strip()} and {run('nbdkit', '--version').strip()}, "
          f"{options.size} MiB, {options.seconds} s a run, {options.repetitions} of each by turns; "
          f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end, "
          f"{datetime.date.today()}, commit {options.commit}\n")
    print(table(rows))


if __name__ == "__main__":
    main()
