"""A pool that is opened several times in one process, for reading and for writing."""

import subprocess
import sys
import threading

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
