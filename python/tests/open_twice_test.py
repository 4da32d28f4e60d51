"""A pool that is opened several times in one process, for reading and for writing."""

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import hexad
import pytest


def test_a_writer_beside_a_reader_and_the_other_way_round(pool):
    with hexad.open(pool, read_only=True) as reader:
        assert list(reader) == []
        with hexad.open(pool) as writer:
            writer.put("a", b"1")
            assert reader.get("a") == b"1"
            with pytest.raises(hexad.ReadOnlyError):
                reader.put("b", b"2")
            with hexad.open(pool, read_only=True) as another:
                assert another.get("a") == b"1"
            assert reader.read_only and not writer.read_only
        assert reader.get("a") == b"1"
        with hexad.open(pool) as writer:
            writer.put("a", b"2")
        assert reader.get("a") == b"2"
    with hexad.open(pool, read_only=True) as reader:
        with pytest.raises(hexad.ReadOnlyError):
            reader.put("a", b"3")


def test_what_has_been_closed_stays_closed(pool):
    first = hexad.open(pool, read_only=True)
    second = hexad.open(pool, read_only=True)
    first.close()
    with hexad.open(pool):
        with pytest.raises(hexad.ClosedError):
            first.get("a")
        second.close()
        assert second.closed
    hexad.open(pool).close()


def test_a_file_that_is_read_keeps_its_version_and_the_writer_waits(pool):
    with hexad.open(pool) as writer:
        writer.put("a", b"1" * 3_000_000)
    with hexad.open(pool, read_only=True) as reader:
        with reader.open_reader("a") as file:
            assert file.read(1) == b"1"
            with pytest.raises(hexad.BusyError, match="with 1 file of it"):
                hexad.open(pool)
            assert file.read() == b"1" * 2_999_999
            assert reader.exists("a")
        with hexad.open(pool) as writer:
            writer.put("a", b"2")
        view = reader.get_view("a")
    assert bytes(view) == b"2"


HOLD = """
import sys
import hexad
with hexad.open(sys.argv[1], read_only=True):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_reader_reads_on_when_another_process_reads_too(pool):
    with hexad.open(pool) as writer:
        writer.put("a", b"1")
    command = [sys.executable, "-c", HOLD, str(pool)]
    with hexad.open(pool, read_only=True) as reader:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout.readline() == b"open\n"
            with pytest.raises(hexad.BusyError, match=f"locked by process {other.pid}"):
                hexad.open(pool)
            assert reader.get("a") == b"1"
            with pytest.raises(hexad.ReadOnlyError):
                reader.put("a", b"2")
            other.stdin.close()
        with hexad.open(pool) as writer:
            writer.put("a", b"2")
        assert reader.get("a") == b"2"


def test_calls_of_other_threads_go_on_across_the_change(pool):
    with hexad.open(pool) as writer:
        writer.put("a", b"1")
    failed = []
    stop = threading.Event()
    with hexad.open(pool, read_only=True) as reader:

        def read():
            while not stop.is_set():
                try:
                    assert reader.get("a") in (b"1", b"2")
                    assert reader.list().entries
                except BaseException as error:  # pylint: disable=broad-exception-caught
                    failed.append(error)
                    return

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        with hexad.open(pool) as writer:
            writer.put("a", b"2")
            stop.set()
            for thread in threads:
                thread.join()
    assert not failed


def test_the_doors_share_a_pool_in_any_order(pool):
    fsspec = pytest.importorskip("fsspec")
    reading = fsspec.filesystem("hexad", read_only=True, skip_instance_cache=True)
    writing = fsspec.filesystem("hexad", skip_instance_cache=True)
    assert reading.ls(str(pool)) == []
    writing.pipe(f"{pool}/a", b"1")
    assert reading.cat(f"{pool}/a") == b"1"
    with pytest.raises(hexad.ReadOnlyError):
        reading.pipe(f"{pool}/b", b"1")
    for system in (reading, writing):
        system.close()


def test_a_call_that_was_looked_up_before_the_change_is_made_after_it(pool):
    with hexad.open(pool) as writer:
        writer.put("a", b"1")
    with hexad.open(pool, read_only=True) as reader:
        # What a thread has in its hands that is stopped just before it calls.
        get = reader._native.get  # pylint: disable=protected-access
        listing = reader._native.list  # pylint: disable=protected-access
        with hexad.open(pool) as writer:
            writer.put("a", b"2")
            assert get("default", "a") == b"2"
            assert len(listing("default", "", "", "", 10, False)[0]) == 1


def test_a_long_call_goes_on_and_the_writer_waits_for_it(pool):
    with hexad.open(pool) as writer:
        writer.put("hole", b"1")
        with writer.transaction() as transaction:
            transaction.truncate("hole", 8 << 30)
        expected = writer.checksum("hole")
    with hexad.open(pool, read_only=True) as reader:
        with ThreadPoolExecutor(1) as executor:
            sum_of = executor.submit(reader.checksum, "hole")
            with hexad.open(pool) as writer:
                writer.put("hole", b"2")
            # Of the object as it was, whether it began before the writer or after it.
            assert sum_of.result() in (expected, reader.checksum("hole"))


def test_ctrl_c_ends_the_waiting_for_a_long_call(pool):
    class Stop(Exception):
        """In place of KeyboardInterrupt."""

    def stop(*_):
        raise Stop

    with hexad.open(pool) as writer:
        writer.put("hole", b"1")
        with writer.transaction() as transaction:
            transaction.truncate("hole", 8 << 40)
    reader = hexad.open(pool, read_only=True)
    old = signal.signal(signal.SIGUSR1, stop)
    main, begun = threading.get_ident(), threading.Event()

    def send():
        begun.wait()
        signal.pthread_kill(main, signal.SIGUSR1)

    with ThreadPoolExecutor(2) as executor:
        executor.submit(send)
        summing = executor.submit(reader.checksum, "hole")  # takes minutes
        try:
            with pytest.raises(Stop):
                begun.set()
                while True:  # the signal may come between two tries
                    hexad.open(pool).close()
            assert reader.exists("hole")
        finally:
            signal.signal(signal.SIGUSR1, old)
            reader.close()  # ends the checksum
        with pytest.raises(hexad.ClosedError):
            summing.result()


def test_a_scrub_of_a_reader_ends_when_the_store_is_opened_for_writing(pool):
    with hexad.open(pool) as writer:
        for i in range(40):
            writer.put(f"{i:02}", bytes(300_000))
    with hexad.open(pool, read_only=True) as reader, ThreadPoolExecutor(1) as executor:
        opening = []

        def progress(*_):
            if not opening:
                opening.append(executor.submit(hexad.open, pool))
            # Calls of the scrub's own thread do not wait for the opening, which waits for the scrub.
            assert reader.exists("39")

        try:
            reader.scrub(progress=progress)
        except hexad.ClosedError as error:
            assert "opened for writing" in str(error)
        with opening[0].result() as writer:
            writer.put("a", b"1")
            assert reader.get("a") == b"1"


def test_a_reader_does_not_write_by_any_call(pool):
    with hexad.open(pool, read_only=True) as reader, hexad.open(pool):
        for write in (
            lambda: reader.put("a", b"1"),
            lambda: reader.open_writer("a"),
            reader.checkpoint,
            reader.catch_up,
            lambda: reader.fsck(repair=True),
        ):
            with pytest.raises(hexad.ReadOnlyError):
                write()
        assert reader.fsck()["errors"] == 0


def test_open_waits_for_another_process(pool):
    command = [sys.executable, "-c", HOLD.replace(", read_only=True", ""), str(pool)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(hexad.BusyError):
            hexad.open(pool, wait=0.01)
        threading.Timer(0.2, other.stdin.close).start()
        with hexad.open(pool, wait=600) as store:
            store.put("a", b"1")
    for wrong in (True, "1", None):
        with pytest.raises(TypeError):
            hexad.open(pool, wait=wrong)
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError):
            hexad.open(pool, wait=wrong)
