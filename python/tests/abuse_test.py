"""What nobody should do and somebody will: the process stays whole, the data too."""

import asyncio
import concurrent.futures
import gc
import itertools
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading

import hexad
import numpy as np
import pytest


def run_python(script, *arguments):
    """Output of a script in an interpreter of its own, which has to end by itself and well."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def on_threads(count, work):
    """work(0), work(1), ... at the same time; what one of them raises is raised here."""
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        list(threads.map(work, range(count)))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_last_reference_goes_in_the_middle_of_commits():
    async def main():
        for _ in range(20):
            store = hexad.in_memory(capacity="64 MiB")
            tasks = [asyncio.ensure_future(store.put_async(f"n{i}", b"x")) for i in range(20)]
            await asyncio.sleep(0)
            del store
            gc.collect()
            await asyncio.gather(*tasks)

    asyncio.run(main())
    gc.collect()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_store_that_is_dropped_can_be_opened_again(pool):
    store = hexad.open(pool)
    store.put("a", b"x")
    del store
    gc.collect()
    with hexad.open(pool) as store:
        assert store.get("a") == b"x"


def test_dropping_an_open_store_warns():
    store = hexad.in_memory()
    with pytest.warns(ResourceWarning, match="unclosed"):
        del store
        gc.collect()


def test_the_interpreter_ends_with_work_pending(pool):
    script = """
        import asyncio, sys, threading, hexad
        store = hexad.open(sys.argv[1])
        async def main():
            for i in range(500):
                asyncio.ensure_future(store.put_async(f"n{i}", b"x" * 1000))
            await asyncio.sleep(0)
        asyncio.run(main())
        def forever():
            while True:
                try:
                    for i in range(100):
                        store.put(f"t{i}", b"y" * 10000)
                except hexad.ClosedError:
                    return
        for _ in range(4):
            threading.Thread(target=forever, daemon=True).start()
        store.put("last", b"z")
        print("end")
    """
    for _ in range(5):
        out, err = run_python(script, pool)
        assert out == "end\n" and "Traceback" not in err and "Fatal" not in err
        with hexad.open(pool) as store:
            assert store.get("last") == b"z"
            assert store.fsck(deep=True)["errors"] == 0


def test_the_interpreter_ends_with_everything_open(pool):
    script = """
        import sys, hexad
        store = hexad.open(sys.argv[1])
        store.put("a", b"x")
        writer = store.open_writer("w"); writer.write(b"x")
        reader = store.open_reader("a")
        transaction = store.transaction(); transaction.put("b", b"x")
        view = store.get_view("a")
        names = iter(store)
        sys.keep = [store, writer, reader, transaction, view, names]
    """
    out, err = run_python(script, pool)
    assert "Traceback" not in err
    with hexad.open(pool) as store:
        assert list(store) == ["a"]


def test_an_exit_by_an_exception(pool):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, hexad; s = hexad.open(sys.argv[1]); s.put('a', b'x'); raise SystemExit(7)",
            str(pool),
        ],
    )
    assert done.returncode == 7
    with hexad.open(pool) as store:
        assert store.get("a") == b"x"


def in_child(call):
    """Whether call() is true in a forked child, which ends without Python's farewell."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if call() else 1)
        except BaseException:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def raises_forked(call):
    try:
        call()
    except hexad.ForkedError as error:
        return isinstance(error, RuntimeError)
    return False


def test_a_forked_child_is_refused(store):
    store.put("a", b"x")
    reader, writer = store.open_reader("a"), store.open_writer("w")
    transaction = store.transaction()
    transaction.put("b", b"x")
    calls = [
        lambda: store.get("a"),
        lambda: store.put("a", b""),
        lambda: store.list(),
        lambda: reader.read(1),
        lambda: writer.write(b"x"),
        lambda: transaction.commit(),
        lambda: asyncio.run(store.put_async("a", b"")),
        lambda: asyncio.run(store.get_async("a")),
        lambda: asyncio.run(store.remove_async("a")),
    ]
    for call in calls:
        assert in_child(lambda: raises_forked(call))
    writer.discard()
    assert store.get("a") == b"x"


def test_a_forked_child_can_close_drop_and_open(pool):
    store = hexad.open(pool)
    store.put("a", b"x")

    def close_and_drop():
        nonlocal store
        store.close()
        store = None
        gc.collect()
        with hexad.in_memory(capacity="64 MiB") as own:
            asyncio.run(own.put_async("a", b"y"))
            return own.get("a") == b"y"

    def open_again():
        try:
            hexad.open(pool)
        except hexad.BusyError:
            return True
        return False

    assert in_child(close_and_drop)
    assert in_child(open_again)
    assert store.get("a") == b"x"
    store.close()


def test_closing_gives_the_locks_up_however_long_children_live(pool):
    store = hexad.open(pool)
    store.put("a", b"x")
    workers = multiprocessing.get_context("fork").Pool(2)
    try:
        store.close()
        with hexad.open(pool) as again:
            assert again.get("a") == b"x"
        with hexad.open(pool, read_only=True) as again:
            assert again.get("a") == b"x"
    finally:
        workers.terminate()
        workers.join()


def test_a_fork_while_other_threads_are_at_work(store):
    stop = threading.Event()

    def work(number):
        while not stop.is_set():
            store.put(f"t{number}", os.urandom(5000))
            store.get(f"t{number}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_child(lambda: raises_forked(lambda: store.get("t0")))
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def ordinary_exit(path):
    return hexad.open(path, read_only=True).get("a")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes_open_the_pool_for_themselves(pool, method):
    with hexad.open(pool) as store:
        store.put("a", b"x")
    with multiprocessing.get_context(method).Pool(2) as workers:
        assert workers.map(ordinary_exit, [pool] * 8) == [b"x"] * 8


def test_threads_at_everything(store):
    store.put("shared", b"\0" * 50_000)
    start = threading.Barrier(8)

    def work(number):
        start.wait()
        for i in range(60):
            store.put("shared", bytes([number]) * 50_000)
            seen = store.get("shared")
            assert len(seen) == 50_000 and len(set(seen)) == 1
            first, second = store.get_ranges("shared", [(0, 1), (49_999, 1)])
            assert first == second
            store.put(f"{number}/{i}", b"x" * i)
            assert len(store.list(prefix=f"{number}/", limit=1000)) == i + 1
            if i % 20 == 0:
                store.checkpoint()
                store.status(), store.space(), store.counters()

    on_threads(8, work)
    assert store.fsck(deep=True)["errors"] == 0


def test_closing_while_others_are_at_work():
    for _ in range(10):
        store = hexad.in_memory(capacity="64 MiB")
        problems = []

        def work(number):
            try:
                while True:
                    store.put(f"t{number}", b"x" * 3000)
                    with store.open_reader(f"t{number}") as file:
                        file.read()
                    list(store)
            except hexad.ClosedError:
                pass
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        closers = [threading.Thread(target=store.close) for _ in range(3)]
        for thread in closers:
            thread.start()
        for thread in threads + closers:
            thread.join()
        assert not problems


def test_several_threads_that_close_a_store_close_it_once(pool):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with hexad.open(pool) as another:
            for _ in range(300):
                store = hexad.open(pool)
                start = threading.Barrier(4)
                on_threads(4, lambda _: (start.wait(), store.close()))
            another.put("a", b"x")
            assert another.get("a") == b"x"
    finally:
        sys.setswitchinterval(interval)


def test_a_transaction_and_a_stream_between_threads(store):
    writer = store.open_writer("w")
    transaction = store.transaction()

    def work(number):
        for i in range(100):
            writer.write(b"x" * 100)
            transaction.put(f"{number}/{i}", b"y")

    on_threads(4, work)
    writer.close()
    transaction.commit()
    assert store.stat("w").size == 40_000
    assert len(store.list(limit=1000)) == 401


def test_many_opens(pool):
    for i in range(15):
        with hexad.open(pool) as store:
            store.put("a", b"%d" % i)
    # 10^5 of a pool that is open, many of them at once.
    with hexad.open(pool):
        for _ in range(100):
            many = [hexad.open(pool) for _ in range(1000)]
            assert many[0].get("a") == many[-1].get("a") == b"14"
            for store in many:
                store.close()
    stores = [hexad.in_memory(capacity="16 MiB") for _ in range(20)]
    for number, store in enumerate(stores):
        store.put("a", b"%d" % number)
    assert [store.get("a") for store in stores] == [b"%d" % number for number in range(20)]
    for store in stores:
        store.close()


def test_many_readers_and_views(store):
    """10^5 of each, a thousand at once."""
    store.put("a", b"x" * 100)
    for _ in range(100):
        readers = [store.open_reader("a") for _ in range(1000)]
        views = [store.get_view("a") for _ in range(1000)]
        assert readers[0].read() == readers[-1].read() == views[-1] == b"x" * 100


def test_opening_from_many_threads(pool):
    def work(number):
        for i in range(10):
            with hexad.open(pool) as store:
                store.put(f"{number}", b"%d" % i)
                assert store.get(f"{number}") == b"%d" % i

    on_threads(6, work)


def test_a_progress_callback_that_raises(store):
    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        store.put_many(((f"n{i}", b"") for i in range(3000)), progress=stop)
    assert len(store.list(limit=5000)) == 1000
    with pytest.raises(RuntimeError, match="enough"):
        store.remove_prefix("n", progress=stop)
    assert list(store) == []


def put_while_it_changes(store, data, change, *, collection="default"):
    """Puts the buffer `data` again and again while change(i) is called in another thread; what is
    stored is then a mixture, but an intact one.
    """
    stop = threading.Event()

    def work():
        for i in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            change(i)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for i in range(60):
            store.put(f"a{i % 7}", data, collection=collection)
            pairs = [(f"b{i % 7}", data), (f"c{i % 7}", data)]
            store.put_many(pairs, collection=collection)
    finally:
        stop.set()
        thread.join()
    for entry in store.iterate(collection=collection):
        assert len(store.get(entry.name, collection=collection)) == len(data)
    assert store.fsck(deep=True)["errors"] == 0


@pytest.mark.parametrize("size", [100, 5000, 40_000, 300_000, 3_000_000])
def test_a_buffer_that_changes_while_it_is_put(store, size):
    data = np.zeros(size, "u1")

    def change(i):
        data[:] = i % 256

    put_while_it_changes(store, data, change)


@pytest.mark.parametrize("size", [5000, 40_000, 300_000, 3_000_000])
@pytest.mark.parametrize("algorithm", ["lz4", "snappy", "zstd"])
@pytest.mark.parametrize("mode", ["aggressive", "force"])
def test_a_buffer_that_changes_while_it_is_compressed(store, mode, algorithm, size):
    """Every byte is an old or a new one of its place, not one that a compressor took from elsewhere."""
    store.create_collection("c", compression=f"{mode},{algorithm}")
    random = np.random.default_rng(1)
    states = []
    for period in (300, 700):  # a pattern, and noise here and there
        state = np.resize(random.integers(0, 256, period, "u1"), size)
        for begin in random.integers(0, size, size // 2000):
            some = state[begin : begin + 500]
            some[:] = random.integers(0, 256, len(some), "u1")
        states.append(state)
    data = states[0].copy()

    def change(i):
        data[:] = states[i % 2]

    put_while_it_changes(store, data, change, collection="c")
    for entry in store.iterate(collection="c"):
        found = np.frombuffer(store.get_view(entry.name, collection="c"), "u1")
        assert np.all((found == states[0]) | (found == states[1])), entry.name
    usage = store.collection_usage("c")
    assert 0 < usage["compressed"] < usage["compressed_original"]


def test_a_buffer_that_changes_its_size_meanwhile(store):
    """It cannot while it is being put, so its bytes stay where they are read from."""
    small, large = 1 << 20, 3 << 20  # bytes; each change moves the buffer
    data = bytearray(small)
    stop = threading.Event()

    def resize():
        while not stop.is_set():
            try:
                # One step at a time: any of them may be refused.
                if len(data) == small:
                    data.extend(bytes(large - small))
                else:
                    del data[small:]
            except BufferError:
                pass  # exported at this moment

    thread = threading.Thread(target=resize)
    thread.start()
    try:
        for _ in range(50):
            store.put("a", data)
            found = store.get("a")
            assert len(found) in (small, large) and found == bytes(len(found))
    finally:
        stop.set()
        thread.join()
    data.append(1)
