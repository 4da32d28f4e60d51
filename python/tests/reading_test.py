"""Views, ranges and buffers: what a read gives, and what is copied on its way."""

import os
import sys
import threading
import time

import hexad
import numpy as np
import pytest


def test_a_view_is_a_read_only_buffer_that_outlives_what_it_shows(store):
    store.put("w", np.arange(1000, dtype="f4"))
    view = store.get_view("w")
    array = np.frombuffer(view, "f4")
    store.put("w", b"")
    store.close()
    assert array[999] == 999
    assert view.readonly
    with pytest.raises(TypeError):
        view[0] = 1


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 16384, 16385, 300_000])
def test_what_the_cache_answers_is_what_a_device_has(store, size):
    data = os.urandom(size)
    store.put("a", data)
    store.checkpoint()
    for _ in range(3):  # the first one fills the cache
        assert store.get("a") == data
        assert store.get_many(["a", "a"]) == [data, data]
        assert store.get_range("a", 1, 2**63) == data[1:]
        assert store.get_range("a", size + 1, 5) == b""
        into = bytearray(b"-" * 50)
        count = min(50, max(size - 10, 0))
        assert store.get_into("a", into, 10) == count
        assert into == data[10:60] + b"-" * (50 - count)
        stat = store.stat("a")
        assert type(stat) is hexad.Stat and stat.size == size and stat.mtime_ns > 0
        assert stat == hexad.Stat(*stat) and stat._replace(size=1).size == 1
    view = store.get_view("a")
    assert view.readonly and view.nbytes == size
    store.put("a", b"other")
    assert store.get("a") == b"other"
    store.remove("a")
    assert not store.exists("a")
    store.close()
    assert view == data


def test_what_the_cache_answers_does_not_wait_for_other_threads(store):
    store.put("a", b"x" * 4096)
    store.checkpoint()
    store.get("a")
    into = bytearray(10)
    calls = [
        lambda: store.get("a"),
        lambda: store.get_view("a"),
        lambda: store.get_into("a", into),
        lambda: store.stat("a"),
        lambda: store.exists("a"),
    ]
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            sum(range(100))

    busy = threading.Thread(target=compute)
    before = sys.getswitchinterval()
    busy.start()
    sys.setswitchinterval(1)  # a thread that gives the lock away has it again so much later
    try:
        began = time.monotonic()
        for _ in range(20):
            for call in calls:
                call()
        assert time.monotonic() - began < 50
    finally:
        sys.setswitchinterval(before)
        stop.set()
        busy.join()


def copied(call):
    """Bytes of users that the package copies in it, besides what the engine does for itself."""
    before = hexad._native.copied_bytes()
    call()
    return hexad._native.copied_bytes() - before


@pytest.mark.parametrize("kind", [bytes, bytearray, np.frombuffer])
def test_nothing_is_copied_on_the_way_in_and_into_views(store, kind):
    data = kind(os.urandom(1 << 20))
    assert copied(lambda: store.put("a", data)) == 0
    assert copied(lambda: store.put_many([("b", data), ("c", data)])) == 0
    assert copied(lambda: store.put("large", memoryview(data).cast("B"))) == 0
    assert copied(lambda: store.get_view("a")) == 0
    assert copied(lambda: store.get("a")) == 0
    store.put("small", data[:4096])
    store.checkpoint()
    for _ in range(3):
        assert copied(lambda: store.get_view("small")) == 0
    assert copied(lambda: store.get_into("a", bytearray(1 << 20))) == 0
    assert copied(lambda: store.get_ranges("a", [(0, 1 << 19), (1 << 19, 1 << 19)])) == 0
    with store.transaction() as t:
        assert copied(lambda: t.put("d", data, borrow=True)) == 0
        assert copied(lambda: t.put("e", data)) == (0 if kind is bytes else 1 << 20)
    assert store.get_many("abcde"[i] for i in range(5)) == [bytes(data)] * 5


def test_a_borrowed_buffer_is_held_until_the_commit(store):
    data = bytearray(1000)
    with store.transaction() as t:
        t.put("a", data, borrow=True)
        with pytest.raises(BufferError):
            data.append(1)
    data.append(1)
    t = store.transaction()
    t.put("a", data, borrow=True)
    t.discard()
    data.append(1)
    with pytest.raises(hexad.ConflictError):
        with store.transaction() as t:
            t.put("a", data, borrow=True)
            t.expect_absent("a")
    data.append(1)


def test_get_into_fills_a_buffer(store):
    store.put("a", b"0123456789")
    buffer = bytearray(4)
    assert store.get_into("a", buffer, 8) == 2
    assert buffer == b"89\0\0"
    array = np.zeros(5, "u1")
    assert store.get_into("a", array) == 5
    assert bytes(array) == b"01234"
    with pytest.raises(TypeError, match="writable"):
        store.get_into("a", b"1234")


def test_ranges(store):
    data = os.urandom(50_000)
    store.put("a", data)
    ranges = [(0, 64), (4096, 64), (10, 0), (49_999, 100), (60_000, 5), (0, 1)]
    expected = [data[offset : offset + length] for offset, length in ranges]
    assert store.get_ranges("a", ranges) == expected
    assert store.get_ranges("a", iter(ranges)) == expected
    assert store.get_ranges("a", []) == []
    many = [(i % 50_000, 1) for i in range(100_000)]
    assert b"".join(store.get_ranges("a", many)) == data * 2


def test_of_ranges_only_what_is_there_counts(store):
    data = os.urandom(70 << 20)
    store.put("a", data)
    store.put("b", b"0123")
    everything, most = (0, (1 << 64) - 1), (5, 4 << 30)
    assert store.get_ranges("b", [everything, most, (3, 1), (1 << 63, 1 << 60)]) == [b"0123", b"", b"3", b""]
    whole, rest = store.get_ranges("a", [everything, most])
    assert whole == data and rest == data[5:]
    with pytest.raises(hexad.TooBigError):
        store.get_ranges("a", [everything] * 60)
    with pytest.raises(hexad.NotFoundError):
        store.get_ranges("none", [everything])
