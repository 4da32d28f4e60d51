"""Ctrl-C ends every call while no device answers, and leaves what goes on.

The calls are made in a process of their own, whose requests silence.cc holds back for as long as a
file is there. Nothing else would end them: the patience for devices is an hour.
"""

import os
import pathlib
import subprocess
import sys
import textwrap

import hexad
import pytest

HERE = pathlib.Path(__file__).parent

# What the scripts begin with. interrupted(call): makes the call, with all devices silent, and a
# SIGINT once one of them is waited for, or at once; the exception's notes.
PRELUDE = """
    import os, pathlib, signal, sys, threading
    import hexad

    pool, silence = sys.argv[1], pathlib.Path(os.environ["HEXAD_SILENCE"])
    met = pathlib.Path(f"{silence}.met")

    def answer():
        silence.unlink(missing_ok=True)
        met.unlink(missing_ok=True)

    def interrupted(call, devices_are_met=True, is_ready=met.exists):
        met.unlink(missing_ok=True)
        silence.touch()
        begun = threading.Event()

        def send():
            begun.wait()
            while devices_are_met and not is_ready():
                pass
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            begun.set()
            while True:  # what needs no device may be through before
                call()
        except KeyboardInterrupt as error:
            assert silence.exists()
            return "".join(getattr(error, "__notes__", ["it goes on by itself"]))
        finally:
            sender.join()
    def opened(**options):
        return hexad.open(pool, device_patience=3600, **options)

    # What was left holds the devices until it has come to its end.
    def opened_when_free():
        while True:
            try:
                return opened()
            except hexad.BusyError:
                pass
"""


@pytest.fixture(scope="module")
def preload(tmp_path_factory):
    library = tmp_path_factory.mktemp("silence") / "libsilence.so"
    compiler = os.environ.get("CXX", "g++").split()
    command = [*compiler, "-shared", "-fPIC", "-O1", str(HERE / "silence.cc"), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    return library


@pytest.fixture
def run(preload, tmp_path):
    """Runs a script with a pool whose metadata is on its devices alone."""
    pool = tmp_path / "pool"
    hexad.format(pool, devices=6, fast=[], size="96 MiB", preset="tiny")
    with hexad.open(pool) as store:
        store.put_many((f"old/{i}", b"%d" % i * 100) for i in range(1000))
        store.put("large", bytes(range(256)) * 32768)

    def run(script):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PRELUDE) + textwrap.dedent(script), str(pool)],
            env={
                **os.environ,
                "LD_PRELOAD": str(preload),
                "HEXAD_SILENCE": str(tmp_path / "silence"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.pool = pool
    return run


def test_a_commit_goes_on(run):
    run("""
        store = opened()
        note = interrupted(lambda: store.put("new", b"n"))
        assert "it goes on by itself" in note, note
        # What comes behind it waits as well.
        interrupted(lambda: store.put("newer", b"n"), devices_are_met=False)
        interrupted(store.sync, devices_are_met=False)
        answer()
        store.sync()
        assert store.get("new") == b"n" and store.get("newer") == b"n"
        store.put("more", b"m")
        store.close()
        with opened() as store:
            assert [store.get(name) for name in ("new", "newer", "more")] == [b"n", b"n", b"m"]
            assert store.fsck(deep=True)["errors"] == 0
    """)


READS = [
    "store.get('old/1')",
    "store.get('large')",
    "store.get_into('large', bytearray(1 << 20))",
    "store.get_view('large')",
    "store.get_ranges('large', [(0, 10), (1 << 20, 10)])",
    "store.get_many(['old/2', 'old/3'])",
    "store.checksum('large')",
    "store.open_reader('large').read(1 << 20)",
    "store.stat('old/4')",
    "store.exists('none')",
    "store.attributes('old/5')",
    "store.list('old/')",
    "list(store.iterate())",
    "store.extents('large')",
    "store.collection_usage()",
    "store.space()",
    "store.collections()",
]


def test_reads_end(run):
    """Each twice: as the first call that meets a silent device, and behind one that was left."""
    run(f"""
        store = opened(cache_size="1 MiB")
        for read in {READS!r}:
            call = eval(f"lambda: {{read}}")
            interrupted(call, devices_are_met=False)
            interrupted(call, devices_are_met=False)
            answer()
            call()
        store.put("new", b"n")
        assert store.damage() == []
        store.close()
    """)


CHANGES = [
    "store.put('big', os.urandom(8 << 20))",
    "store.put('bigger', os.urandom(40 << 20))",
    "store.put_many((f'many/{i}', b'x' * 100) for i in range(2000))",
    "store.remove_prefix('old/')",
    "store.remove('old/7')",
    "store.put('x', b'y', durable=False) + (store.checkpoint() or 0)",
    "store.fsck(deep=True)",
    "store.scrub()",
    "store.add_device(pool + '/more')",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_ends(run, change):
    run(f"""
        store = opened()
        interrupted(lambda: {change})
        interrupted(lambda: store.put("new", b"n"), devices_are_met=False)
        answer()
        store.put("newer", b"n")
        store.close()
        with opened() as store:
            assert store.get("newer") == b"n"
            assert store.fsck(deep=True)["errors"] == 0
    """)


def test_a_writer_and_its_end(run):
    run("""
        store = opened()
        writer = store.open_writer("written")
        interrupted(lambda: [writer.write(os.urandom(4 << 20)) for _ in range(20)])
        interrupted(writer.discard, devices_are_met=False)
        answer()
        assert "written" not in store
        writer = store.open_writer("other")
        writer.write(b"x" * 100)
        interrupted(writer.close)
        answer()
        store.sync()
        store.put("new", b"n")
        store.close()
    """)


def test_a_writer_that_is_published(run):
    run("""
        store = opened()
        for size in (100, 3 << 20):  # by a transaction; its last page first
            writer = store.open_writer("published")
            writer.write(os.urandom(size))
            def publish():
                with store.transaction() as transaction:
                    transaction.publish(writer)
                    transaction.put("beside", b"b")
            interrupted(publish)
            writer.discard()
            del writer
            answer()
            store.sync()
        store.put("new", b"n")
        store.close()
        with opened() as store:
            assert store.fsck(deep=True)["errors"] == 0
    """)


def test_small_appends(run):
    run("""
        store = opened()
        def write():
            with store.open_writer("written") as writer:
                for _ in range(400):
                    writer.write(os.urandom(10_000))
        interrupted(write)
        answer()
        store.put("new", b"n")
        store.close()
        with opened() as store:
            assert "written" not in store
            assert store.fsck(deep=True)["errors"] == 0
    """)


def test_commits_beside_checkpoints(run):
    """The devices fall silent while a checkpoint waits for them with the lock that commits go
    through: the main thread is stuck in a call that began before. SIGINT is sent when it looks so."""
    run("""
        store = opened()
        made, over = [0], threading.Event()

        def checkpoints():
            while not over.is_set():
                store.checkpoint()

        beside = threading.Thread(target=checkpoints)
        beside.start()

        def put():
            store.put("buffered", os.urandom(1000), durable=False)
            made[0] += 1

        def is_stuck():
            before = made[0]
            return met.exists() and not over.wait(0.2) and made[0] == before

        for _ in range(3):
            interrupted(put, is_ready=is_stuck)
            answer()
            store.sync()
        over.set()
        beside.join()
        store.close()
        with opened() as store:
            assert store.fsck(deep=True)["errors"] == 0
    """)


def test_opening_and_looking(run):
    run("""
        interrupted(opened)
        interrupted(lambda: hexad.inspect(pool))
        interrupted(lambda: hexad.holders(pool), devices_are_met=False)
        answer()
        store = opened_when_free()
        assert store.get("old/1") == b"1" * 100
        store.close()
    """)


def test_a_close_goes_on_and_the_pool_can_be_opened_again(run):
    run("""
        store = opened()
        store.put("new", b"n")
        note = interrupted(store.close)
        assert "it goes on by itself" in note, note
        assert store.closed
        try:
            opened()
            raise AssertionError("it was opened")
        except hexad.BusyError as error:
            assert "still closing" in str(error), error
        answer()
        store = opened_when_free()
        assert store.get("new") == b"n"
        store.close()
    """)


def test_a_process_ends_whatever_has_been_left(run):
    """While a device is silent: without another Ctrl-C, by its exit status, in silence."""
    run("""
        store = opened()
        interrupted(lambda: store.put("new", b"n"))
        interrupted(lambda: store.get("old/9"), devices_are_met=False)
        interrupted(store.close, devices_are_met=False)
        print("left", flush=True)
    """)
    (run.pool.parent / "silence").unlink()
    with hexad.open(run.pool) as store:
        assert store.fsck(deep=True)["errors"] == 0
