"""Ctrl-C ends long calls between two of their steps, and leaves what they were about as it was."""

import shutil
import signal
import threading

import hexad
import pytest

HUGE = 4 << 40  # bytes; the checksum of so many zeros takes minutes


class Stop(Exception):
    """In place of KeyboardInterrupt, which would end pytest if it came too late."""


@pytest.fixture
def signal_comes():
    """A context in which a signal comes while the block runs, from its now() on."""

    def stop(*_):
        raise Stop

    old = signal.signal(signal.SIGUSR1, stop)
    main = threading.get_ident()

    class Coming:
        def __enter__(self):
            self.begun = threading.Event()
            self.thread = threading.Thread(target=self.send)
            self.thread.start()
            return self.begun.set

        def send(self):
            self.begun.wait()
            signal.pthread_kill(main, signal.SIGUSR1)

        def __exit__(self, kind, error, trace):
            self.thread.join()
            assert kind is Stop
            return True

    yield Coming
    signal.signal(signal.SIGUSR1, old)


def whenever(coming, call):
    """The signal may come before the call has begun, or between two of its steps: both end it."""
    for _ in range(5):
        with coming() as now:
            now()
            while True:
                call()


def test_a_checksum(store, signal_comes):
    store.put("huge", b"1")
    with store.transaction() as transaction:
        transaction.truncate("huge", HUGE)
    for kind in ("crc32c", "xxh3"):
        whenever(signal_comes, lambda: store.checksum("huge", type=kind))
    assert store.stat("huge").size == HUGE


def test_reading_into_a_buffer_and_by_a_reader(store, signal_comes):
    with store.transaction() as transaction:
        transaction.write("large", (1 << 30) - 1, b"1")
    buffer = bytearray(1 << 28)
    whenever(signal_comes, lambda: store.get_into("large", buffer))
    whenever(signal_comes, lambda: store.get_range("large", 0, 1 << 28))
    with store.open_reader("large") as reader:

        def read():
            reader.seek(0)
            reader.read(1 << 28)

        whenever(signal_comes, read)
        assert reader.seek((1 << 30) - 1) and reader.read() == b"1"


def test_a_large_put_leaves_the_old_object(signal_comes):
    data = bytes(1 << 26)
    with hexad.in_memory(capacity="4 GiB") as store:
        store.put("x", b"old")

        def put():
            store.put("x", data)
            store.put("x", b"old")

        whenever(signal_comes, put)
        assert store.get("x") in (b"old", data)  # never a part
        writer = store.open_writer("y")

        with signal_comes() as now:
            now()
            while True:
                writer.write(memoryview(data))
        writer.discard()
        assert "y" not in store


def test_ranges_and_views(signal_comes):
    with hexad.in_memory(capacity="1 GiB") as store:
        with store.transaction() as transaction:
            transaction.write("large", (1 << 30) - 1, b"1")
        ranges = [(0, 1 << 28), (1 << 29, 5), ((1 << 30) - 5, 10)]
        whenever(signal_comes, lambda: store.get_ranges("large", ranges))
        parts = store.get_ranges("large", ranges)
        assert [len(part) for part in parts] == [1 << 28, 5, 5]
        assert parts[2] == b"\0\0\0\0" + b"1"
        whenever(signal_comes, lambda: store.get_view("large"))
        view = store.get_view("large")
        assert view.readonly and len(view) == 1 << 30 and view[-1] == ord("1")


@pytest.fixture
def interrupt():
    """A call that is interrupted once it says that it has begun; that may come too late."""

    def stop(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGUSR1, stop)
    main = threading.get_ident()

    def interrupted(call, begun):
        over = threading.Event()

        def send():
            while not begun() and not over.is_set():
                pass
            signal.pthread_kill(main, signal.SIGUSR1)

        thread = threading.Thread(target=send)
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            try:
                call()
            finally:
                over.set()
                thread.join()

    yield interrupted
    signal.signal(signal.SIGUSR1, old)


# A thread may sleep for as long as a call takes.
TRIES = 20


def test_fsck(pool, interrupt):
    """It ends before it has read all, as the counters say, and the next one finds nothing wrong."""
    with hexad.open(pool) as store:

        def device_bytes():
            return store.counters()["device_read_bytes"]

        def ended_early():
            begun = device_bytes()
            interrupt(lambda: store.fsck(deep=True), lambda: device_bytes() > begun)
            return device_bytes() - begun < whole

        for i in range(100):
            store.put(f"large/{i}", bytes([i]) * (1 << 20), hint="incompressible")
        store.checkpoint()
        before = device_bytes()
        assert store.fsck(deep=True)["errors"] == 0
        whole = device_bytes() - before
        assert any(ended_early() for _ in range(TRIES))
        report = store.fsck(deep=True)
        assert report["errors"] == 0 and report["objects_checked"] == 100


def test_format_leaves_nothing(tmp_path, interrupt):
    """Of a pool with logs of some size: to write those takes the time."""
    path = tmp_path / "pool"

    def ended_early():
        shutil.rmtree(path, ignore_errors=True)
        interrupt(
            lambda: hexad.format(path, devices=6, size="64 MiB", log_size="48 MiB"),
            (path / "drive5").exists,
        )
        return not path.exists()

    assert any(ended_early() for _ in range(TRIES))
    shutil.rmtree(path, ignore_errors=True)
    hexad.format(path, devices=6, size="64 MiB")
    hexad.open(path).close()


def test_adding_a_device(tmp_path, interrupt):
    path, new = tmp_path / "pool", tmp_path / "new"
    # A log of many steps: what is written to memory first is there in no time.
    hexad.format(path, devices=6, size="512 MiB", log_size="192 MiB")
    with hexad.open(path) as store:
        store.put("x", b"1")

        def ended_early():
            added = len(store.status()["devices"])
            interrupt(lambda: store.add_device(new), new.exists)
            return len(store.status()["devices"]) == added

        for _ in range(TRIES):
            if ended_early():
                break
            # It came too late, and slabs may be on their way there by now.
            id = store.status()["devices"][-1]["id"]
            store.drain_device(id)
            store.move_slabs()
            store.remove_device(id)
            new.unlink()
        else:
            pytest.fail("it was never ended")
        assert not new.exists()
        with open(path / "hexad.pool", encoding="utf-8") as description:
            assert str(new) not in description.read()
        store.add_device(new)
        assert store.get("x") == b"1" and store.status()["health"] == "ok"


def test_the_checksum_of_pieces_is_that_of_the_whole(store):
    data = bytes(range(256)) * (300 << 10)  # more than one step of a read
    store.put("x", data)
    for kind in ("crc32c", "xxh3"):
        value, length = store.checksum("x", type=kind)
        assert length == len(data)
        store.put("part", data[5:70_000_005])
        assert store.checksum("x", 5, 70_000_000, type=kind) == store.checksum("part", type=kind)
    assert store.checksum("x", len(data) + 1, 5)[1] == 0
    assert store.get("x") == data
    assert store.get_range("x", 3, 1 << 40) == data[3:]
    into = bytearray(len(data))
    assert store.get_into("x", into, 7) == len(data) - 7
    assert into[: len(data) - 7] == data[7:]
    with store.open_reader("x") as reader:
        assert reader.read() == data
        assert reader.raw.readall() == b""
    with pytest.raises(hexad.NotFoundError):
        store.checksum("none")
