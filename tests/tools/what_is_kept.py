#!/usr/bin/env python3
"""What hexad, cp, rsync, tar and restic keep of a tree with every kind of file: where the table comes
from that is in doc/command_line.md, "import and export". Run by hand, as root, on a file system with extended
attributes, ACLs and holes (ext4):

    HEXAD=.bazel/opt/bin/tools/hexad tests/tools/what_is_kept.py [DIRECTORY]

Needs rsync, restic, tar, and chattr of e2fsprogs; what is missing is left out. It takes a minute and 3
GiB in DIRECTORY, or where temporary files go.
"""

import array
import fcntl
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

import tree_testing as tree  # pylint: disable=wrong-import-position

HEXAD = os.path.abspath(os.environ.get("HEXAD", "tools/hexad"))
RESTIC = {**os.environ, "RESTIC_PASSWORD": "x", "RESTIC_CACHE_DIR": "/nonexistent"}
CHANGING = 48 << 20  # bytes of the file that changes


def run(*words, **kwargs):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **kwargs)


class Tool:
    """How a tree goes through it: steps that are run one after the other."""

    def __init__(self, name, program, steps, prepare=lambda place: None):
        self.name = name
        self.program = program
        self.steps = steps
        self.prepare = prepare

    def through(self, source, place):
        """Returns the exit codes and the last words of all steps."""
        said = []
        for words in self.steps(source, place):
            done = run(*words, env=RESTIC)
            lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
            said.append((done.returncode, lines[-1][:100] if lines else ""))
        return said


def make_pool(place):
    devices = [os.path.join(place, f"d{i}") for i in range(6)]
    run(HEXAD, "mkfs", os.path.join(place, "pool"), "--device", *devices, "--size", "256MiB")


def make_repository(place):
    run("restic", "init", "-r", os.path.join(place, "repo"), env=RESTIC)


def hexad(source, place):
    return [(HEXAD, "import", "-q", place + "/pool", source),
            (HEXAD, "export", "-q", place + "/pool", place + "/out")]


def tar(*options):
    return lambda source, place: [
        ("tar", *options, "-cf", place + "/tar", "-C", source, "."),
        ("mkdir", "-p", place + "/out"),
        ("tar", *options, "-xpf", place + "/tar", "-C", place + "/out")]


def restic(source, place):
    return [("sh", "-c", f"cd '{source}' && restic -q backup -r '{place}/repo' --host x ."),
            ("restic", "-q", "restore", "-r", place + "/repo", "latest", "--target", place + "/out")]


FULL_TAR = ("--format=posix", "--sparse", "--xattrs", "--xattrs-include=*", "--acls", "--numeric-owner")
TOOLS = [
    Tool("hexad", HEXAD, hexad, make_pool),
    Tool("cp -a", "cp", lambda source, place: [("cp", "-aT", source, place + "/out")]),
    Tool("rsync -aHAXS", "rsync",
         lambda source, place: [("rsync", "-aHAXS", source + "/", place + "/out/")]),
    Tool("tar", "tar", tar()),
    Tool("tar, all options", "tar", tar(*FULL_TAR)),
    Tool("restic", "restic", restic, make_repository),
]


def flags(path):
    """Those of chattr."""
    fd = os.open(path, os.O_RDONLY)
    try:
        found = array.array("l", [0])
        fcntl.ioctl(fd, 0x80086601, found)  # FS_IOC_GETFLAGS
        return found[0]
    finally:
        os.close(fd)


def add_special(top):
    """What make_everything() lacks, since hexad does not keep it."""
    with open(os.path.join(top, "allocated"), "wb") as file:
        file.write(b"x" * 5000)
        os.posix_fallocate(file.fileno(), 0, 1 << 20)
        file.truncate(1 << 20)
    with open(os.path.join(top, "flagged"), "wb"):
        pass
    run("chattr", "+d", os.path.join(top, "flagged"))
    with open(os.path.join(top, "zeros"), "wb") as file:
        file.write(bytes(1 << 20))


def accessed(top):
    return os.stat(os.path.join(top, "one")).st_atime_ns


def kept(top, out, atime):
    """By row of the table, whether all of it came back, and else an example. `atime`: what accessed()
    said before, as whoever reads a file changes it."""
    came_back = accessed(out) == atime
    skip = ()
    expected, found = tree.describe(top, skip=skip), tree.describe(out, skip=skip)
    rows = {}

    def row(name, wrong):
        wrong = sorted(wrong)
        rows[name] = "yes" if not wrong else f"NO: {len(wrong)}, as {os.fsdecode(wrong[0])!r:.40}"

    special = {n for n, e in expected.items() if e["size"] is None and e["content"] is None
               and not 0o040000 == e["type"]}
    both = {n for n in expected if n in found and n not in special}
    links = {n for n, e in expected.items() if e["type"] == 0o120000}

    def differ(key, among=None):
        return {n for n in both & (among if among is not None else both)
                if expected[n][key] != found[n][key]}

    row("there, with its bytes", ({n for n in expected if n not in found} - special)
        | differ("content") | differ("size"))
    full = set()
    for name in both:
        here = os.lstat(os.path.join(os.fsencode(top), name))
        there = os.lstat(os.path.join(os.fsencode(out), name))
        if expected[name]["size"] is None or name in (b"allocated",):
            continue
        if there.st_blocks > here.st_blocks + 8:
            full.add(name)
    row("holes are holes", full)
    zeros = os.stat(os.path.join(out, "zeros"))
    rows["zeros that were written are no holes"] = "yes" if zeros.st_blocks >= 2048 else "NO"
    row("hard links", {n for n in both if "links" in expected[n]
                       and expected[n]["links"] != found[n].get("links")
                       and len(expected[n]["links"]) > 1})
    row("symbolic links: time, owner", differ("mtime", links) | differ("owner", links))
    row("mode", differ("mode"))
    row("owner", differ("owner"))
    row("modification time", differ("mtime", both - links))
    rows["access time"] = "yes" if came_back else "NO"
    row("extended attributes, ACLs", differ("xattrs"))
    row("devices, sockets, pipes", {n for n in special if n not in found})
    here = os.lstat(os.path.join(top, "allocated")).st_blocks
    there = os.lstat(os.path.join(out, "allocated")).st_blocks
    rows["allocated space"] = "yes" if here == there else f"NO: {there} blocks, not {here}"
    rows["flags"] = "yes" if flags(os.path.join(top, "flagged")) == flags(
        os.path.join(out, "flagged")) else "NO"
    return rows


def changing(tool, place):
    """Whether a file that is written all over again and again is stored as it was at one time."""
    source = os.path.join(place, "source")
    os.makedirs(source)
    path = os.path.join(source, "file")
    with open(path, "wb") as file:
        file.write(bytes([0]) * CHANGING)
    stop = threading.Event()

    def change():
        value = 0
        with open(path, "r+b") as file:
            while not stop.is_set():
                value = value % 255 + 1
                file.seek(0)
                for _ in range(CHANGING >> 20):
                    file.write(bytes([value]) * (1 << 20))
                    file.flush()

    writer = threading.Thread(target=change)
    writer.start()
    try:
        said = tool.through(source, place)
    finally:
        stop.set()
        writer.join()
    out = os.path.join(place, "out/file")
    codes = [code for code, _ in said]
    if not os.path.exists(out):
        return f"not stored; codes {codes}"
    with open(out, "rb") as file:
        values = set(file.read())
    return f"{'a mixture' if len(values) > 1 else 'one state'}; codes {codes}"


def killed(tool, place, top):
    """What the last step leaves when it is killed, and what is left after it has run once more."""
    *before, last = tool.steps(top, place)
    for words in before:
        run(*words, env=RESTIC)
    began = time.monotonic()
    run(*last, env=RESTIC)
    whole = time.monotonic() - began
    wanted = {os.path.relpath(os.path.join(f, n), top) for f, d, ns in os.walk(top) for n in d + ns}
    half, extra = set(), set()
    for attempt in range(12):
        shutil.rmtree(place + "/out")
        if last[0] == "tar":
            os.mkdir(place + "/out")
        child = subprocess.Popen(last, env=RESTIC, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True)
        time.sleep(whole * (attempt + 1) / 14)
        os.killpg(child.pid, signal.SIGKILL)  # rsync is three processes
        child.wait()
        for folder, _, names in os.walk(place + "/out"):
            for name in names:
                path = os.path.join(folder, name)
                relative = os.path.relpath(path, place + "/out")
                if relative in wanted and os.path.isfile(path) and not os.path.islink(path) and (
                        os.path.getsize(path) != os.path.getsize(os.path.join(top, relative))
                        or tree.content(path) != tree.content(os.path.join(top, relative))):
                    half.add(relative)
        run(*last, env=RESTIC)
        extra |= {os.path.relpath(os.path.join(f, n), place + "/out")
                  for f, _, ns in os.walk(place + "/out") for n in ns} - wanted
    return (f"half a file under its name: {sorted(half)[:2] or 'none'}; left behind the next run: "
            f"{sorted(extra)[:2] or 'none'}")


def main():
    base = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=base) as top:
        source = os.path.join(top, "tree")
        tree.make_everything(source, random.Random(1), terabyte=False)
        add_special(source)
        large = os.path.join(top, "large")
        os.makedirs(large)
        for i in range(20):
            with open(os.path.join(large, f"file{i}"), "wb") as file:
                file.write(random.Random(i).randbytes(8 << 20))
        for tool in TOOLS:
            if shutil.which(tool.program) is None:
                print(f"== {tool.name}: not installed")
                continue
            print(f"== {tool.name}", flush=True)
            for what in ("kept", "changing", "killed"):
                with tempfile.TemporaryDirectory(dir=top) as place:
                    tool.prepare(place)
                    if what == "kept":
                        atime = accessed(source)
                        for step, (code, words) in enumerate(tool.through(source, place)):
                            print(f"   step {step + 1}: code {code} {words}")
                        for row, answer in kept(source, place + "/out", atime).items():
                            print(f"   {row}: {answer}")
                    elif what == "changing":
                        print(f"   a file that changes: {changing(tool, place)}")
                    else:
                        print(f"   killed: {killed(tool, place, large)}", flush=True)


if __name__ == "__main__":
    main()
