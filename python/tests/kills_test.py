"""A process that uses a pool is killed, again and again: what was promised is there, whole.

Random transactions by several threads, each on objects of its own, durable or not, on random pools. Each
round kills the process at some moment, at times others too that only open the pool, check it or take a
checkpoint. Then a copy without two devices and perhaps the fast tier, and the pool itself, hold for each
thread what its transactions up to one of them leave, the last durable one or a later one.

HEXAD_SEED and HEXAD_KILLS, how many pools, make it a campaign. As a program, the process to be killed:

    kills_test.py use|open POOL SEED
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import hexad
import pytest

CAMPAIGN = int(os.environ.get("HEXAD_SEED") or 0)
POOLS = int(os.environ.get("HEXAD_KILLS") or 4)
KILLS = 4  # of each pool
NAMES = 6  # of each thread
ALL = ("put", "put", "write", "write", "write", "append", "truncate", "zero", "remove", "rename",
       "clone", "clone_range")  # fmt: skip


class World:
    """What one pool is like, and who uses it."""

    def __init__(self, seed):
        chance = random.Random(f"world {seed}")
        self.threads = chance.choice([1, 2, 4])
        self.durable = chance.choice([0.0, 0.05, 0.3, 1.0])
        self.large = chance.choice([80_000, 300_000, 1_500_000])
        self.limit = chance.choice([200_000, 1_000_000, 3_000_000])
        self.kinds = chance.choice([ALL, ALL, ("put", "write"), ("write",), ("put", "remove")])
        small = chance.random() < 0.2
        self.devices = 4 if small else 6
        self.pool = {
            "devices": self.devices,
            "profile": "2+2" if small else "4+2",
            "size": chance.choice(["24 MiB", "32 MiB", "64 MiB", "128 MiB"]),
            "min_alloc": chance.choice([4096, 4096, 16384, 65536]),
            "compression": chance.choice(["none", "none", "aggressive,zstd", "force,snappy"]),
            "log_size": chance.choice(["1 MiB", "2 MiB", "16 MiB"]),
        }
        self.options = {}
        if chance.random() < 0.3:
            self.options["memtable_size"] = "256 KiB"
        if chance.random() < 0.3:
            self.options["log_durability"] = chance.choice(["fast", "data-first"])

    def data(self, chance, size):
        return bytes([chance.randrange(256)]) * size if chance.random() < 0.3 else chance.randbytes(size)

    def size(self, chance):
        return chance.randrange(1, chance.choice([3_000, 3_000, 70_000, 70_000, self.large]))

    def op(self, chance, prefix, objects):
        """One random op, as name and arguments of Transaction's; nothing: it would be refused."""
        kind = chance.choice(self.kinds)
        name, to = (f"{prefix}/{chance.randrange(NAMES)}" for _ in range(2))
        old = objects.get(name)
        if kind == "put":
            return kind, name, self.data(chance, self.size(chance))
        if kind == "write":
            data = self.data(chance, chance.choice([1, 511, 4096, 8192, 30_000]))
            offset = chance.randrange(max(1, min(len(old or b"") + 5_000, self.limit - len(data))))
            return kind, name, offset // 4096 * 4096 if chance.random() < 0.5 else offset, data
        if kind == "append":
            data = self.data(chance, self.size(chance) // 4 + 1)
            return None if len(old or b"") + len(data) > self.limit else (kind, name, data)
        if old is None:
            return None
        if kind == "truncate":
            return kind, name, chance.randrange(len(old) + 3_000)
        if kind == "remove":
            return kind, name
        if kind == "rename":
            return None if to in objects else (kind, name, to)
        if kind == "clone":
            return None if to == name else (kind, name, to)
        if not old or to == name:
            return None
        offset = chance.randrange(len(old))
        length = chance.randrange(1, len(old) - offset + 1)
        if kind == "zero":
            return kind, name, offset, length
        at = chance.randrange(50_000)
        return None if at + length > self.limit else (kind, name, offset, length, to, at)

    def transactions(self, seed, prefix, objects):
        """Endless: its ops, the objects after it, whether it is durable."""
        chance = random.Random(f"{seed} {prefix}")
        while True:
            after, ops = dict(objects), []
            for _ in range(chance.choice([1, 1, 1, 2, 5])):
                op = self.op(chance, prefix, after)
                if op is not None:
                    ops.append(op)
                    apply(op, after)
            durable = chance.random() < self.durable
            if ops and (yield ops, after, durable):
                objects = after


def apply(op, objects):
    """The naive reading of a call of Transaction's."""
    kind, name, *rest = op
    old = objects.get(name, b"")
    if kind == "put":
        objects[name] = rest[0]
    elif kind == "write":
        offset, data = rest
        objects[name] = old.ljust(offset, b"\0")[:offset] + data + old[offset + len(data) :]
    elif kind == "append":
        objects[name] = old + rest[0]
    elif kind == "truncate":
        objects[name] = old[: rest[0]].ljust(rest[0], b"\0")
    elif kind == "zero":
        offset, length = rest
        objects[name] = old[:offset] + bytes(length) + old[offset + length :]
    elif kind == "remove":
        del objects[name]
    elif kind == "rename":
        objects[rest[0]] = objects.pop(name)
    elif kind == "clone":
        objects[rest[0]] = old
    else:
        offset, length, to, at = rest
        there = objects.get(to, b"").ljust(at, b"\0")
        objects[to] = there[:at] + old[offset : offset + length] + there[at + length :]


def read(store, threads):
    """The objects of each thread."""
    found = [{} for _ in range(threads)]
    for entry in store.iterate():
        found[int(entry.name.partition("/")[0])][entry.name] = store.get(entry.name)
    return found


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def use(path, seed, world):
    """Until killed. Says what was answered: thread, number, and d: durable, b: buffered, r: refused."""
    store = hexad.open(path, **world.options)
    say("open")

    def work(thread, objects):
        chance = random.Random(f"calls {seed} {thread}")
        transactions = world.transactions(seed, str(thread), objects)
        number, (ops, _, durable) = 0, next(transactions)
        while True:
            try:
                with store.transaction(durable=durable) as t:
                    for kind, *arguments in ops:
                        getattr(t, kind)(*arguments)
                say(thread, number, "d" if durable else "b")
                taken = True
            except hexad.NoSpaceError:
                say(thread, number, "r")
                taken = False
            if chance.random() < 0.01:
                store.sync()
                say(thread, number, "d")
            if chance.random() < 0.003:
                store.checkpoint()
            number, (ops, _, durable) = number + 1, transactions.send(taken)

    everything = read(store, world.threads)
    threads = [threading.Thread(target=work, args=one) for one in enumerate(everything)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def only_open(path, world):
    """What a process may do that is killed soon."""
    say("begins")
    chance = random.Random()  # not of the seed: the moment of the kill is not, either
    store = hexad.open(path, **world.options)
    chance.choice([store.checkpoint, store.scrub, store.sync])()
    if chance.random() < 0.5:
        store.close()
    signal.pause()


def run(mode, path, seed):
    # pylint: disable-next=consider-using-with
    return subprocess.Popen(
        [sys.executable, __file__, mode, path, seed], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def kill(process, seconds):
    """What it has said until then."""
    said = []
    reader = threading.Thread(target=lambda: said.append(process.stdout.read()))
    reader.start()
    time.sleep(seconds)
    process.kill()
    process.wait()
    reader.join()
    complaint = process.stderr.read().decode()
    process.stdout.close()
    process.stderr.close()
    assert "Error" not in complaint, complaint
    return said[0].decode().splitlines()


def answers_of(lines):
    """Of each thread: {number: answer}, and the last number that is promised."""
    answers, promised = {}, {}
    for line in lines:
        words = line.split()
        if len(words) != 3:
            continue
        thread, number, answer = int(words[0]), int(words[1]), words[2]
        answers.setdefault(thread, {}).setdefault(number, answer)
        if answer == "d":
            promised[thread] = number
    return answers, promised


def check(world, seed, before, lines, found):
    """That `found` is what transactions up to one leave that is promised, or a later one."""
    answers, promised = answers_of(lines)
    for thread, objects in enumerate(before):
        mine = answers.get(thread, {})
        least = promised.get(thread, -1)
        matches = least < 0 and found[thread] == objects
        transactions = world.transactions(seed, str(thread), objects)
        _, after, _ = next(transactions)
        for number in range(max(mine, default=-1) + 2):  # the last one was not answered
            refused = mine.get(number) == "r"
            objects = objects if refused else after
            matches = matches or (number >= least and found[thread] == objects)
            _, after, _ = transactions.send(not refused)
        assert matches, f"thread {thread}: {sorted(found[thread])} after {len(mine)} answers, {least} promised"


@pytest.fixture(scope="module", name="kills")
def fixture_kills(request):
    """Counts them, for a campaign."""
    begin = time.monotonic()
    failed = request.session.testsfailed
    counted = [0]
    yield counted
    print(
        f"\nname=store-kills seed={CAMPAIGN} states={counted[0]} "
        f"violations={request.session.testsfailed - failed} secs={time.monotonic() - begin:.1f}"
    )


@pytest.mark.parametrize("pool", range(POOLS))
def test_what_was_promised_survives_kills(tmp_path, kills, pool):
    seed = f"{CAMPAIGN}.{pool}"
    world = World(seed)
    chance = random.Random(f"kills {seed}")
    path = str(tmp_path / "pool")
    hexad.format(path, **world.pool)
    drives = sorted(name for name in os.listdir(path) if name.startswith("drive"))
    assert len(drives) == world.devices
    before = [{} for _ in range(world.threads)]
    for number in range(KILLS):
        this = f"{seed}.{number}"
        process = run("use", path, this)
        assert process.stdout.readline() == b"open\n", process.stderr.read().decode()
        lines = kill(process, chance.random() * chance.choice([0.05, 0.2, 0.5, 1.0]))
        for _ in range(chance.choice([0, 0, 1, 3])):
            process = run("open", path, this)
            process.stdout.readline()
            kill(process, chance.random() * 0.06)

        copy = str(tmp_path / "copy")
        shutil.copytree(path, copy)
        left = sorted(set(drives) - set(chance.sample(drives, 2)))
        if world.options.get("log_durability") != "fast" and chance.random() < 0.5:
            shutil.rmtree(os.path.join(copy, "fast"))
        # Half of the devices are not enough where they are as many as may be lost.
        if world.devices == 6:
            devices = [os.path.join(copy, drive) for drive in left]
            with pytest.warns(hexad.DeviceWarning):
                store = hexad.open(devices=devices, fast=[os.path.join(copy, "fast")])
            with store:
                check(world, this, before, lines, read(store, world.threads))
        shutil.rmtree(copy)

        with hexad.open(path) as store:
            assert store.fsck(deep=True)["findings"] == []
            found = read(store, world.threads)
        check(world, this, before, lines, found)
        before = found
        kills[0] += 1


if __name__ == "__main__":
    if sys.argv[1] == "use":
        use(sys.argv[2], sys.argv[3], World(sys.argv[3].rpartition(".")[0]))
    else:
        only_open(sys.argv[2], World(sys.argv[3].rpartition(".")[0]))
