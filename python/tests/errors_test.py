"""What is raised, and that every wrong argument gets a clear one."""

import pickle

import hexad
import numpy as np
import pytest


def test_an_error_is_what_python_calls_it_elsewhere(store):
    for kind in (hexad.NotFoundError, KeyError, FileNotFoundError, OSError, hexad.Error):
        with pytest.raises(kind):
            store.get("none")
    with pytest.raises(hexad.Error) as caught:
        store.get("none")
    error = caught.value
    assert error.code is hexad.ErrorCode.NOT_FOUND and error.code == "not found"
    assert error.object == "none" and "none" in str(error) and "(not found)" in str(error)
    assert error.errno == 2
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again.object == "none"


def test_the_words_of_the_codes():
    assert len({code.value for code in hexad.ErrorCode}) == len(hexad.ErrorCode) == 18
    classes = [kind for kind in hexad.Error.__subclasses__()]
    assert sorted(kind.code for kind in classes) == sorted(hexad.ErrorCode)
    for kind in classes:
        error = kind("message", "hint")
        assert str(error) == f"message ({kind.code.value}). hint"
        if isinstance(error, OSError):
            assert error.errno > 0


WRONG = [-1, -(2**63), 2**64, 10**100, -(10**5000)]


@pytest.mark.parametrize("number", WRONG, ids=["-1", "-2^63", "2^64", "10^100", "-10^5000"])
def test_integers_out_of_range(store, number):
    store.put("a", b"x")
    calls = [
        lambda: store.get_range("a", number, 1),
        lambda: store.get_range("a", 0, number),
        lambda: store.get_ranges("a", [(number, 1)]),
        lambda: store.get_into("a", bytearray(1), number),
        lambda: store.list(limit=number),
        lambda: store.write("a", number, b""),
        lambda: store.set_quota("default", bytes=number),
        lambda: store.transaction().truncate("a", number),
        lambda: store.transaction().zero("a", 0, number),
        lambda: store.transaction().expect_version("a", number),
        lambda: hexad.in_memory(capacity=number),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="out of range") as caught:
            call()
        assert isinstance(caught.value, hexad.Error) and len(str(caught.value)) < 200


def test_large_integers_within_the_range(store):
    store.put("a", b"x")
    assert store.get_range("a", 2**64 - 1, 2**64 - 1) == b""
    for offset in (2**44 - 1, 2**44, 2**63, 2**64 - 1):
        with pytest.raises(hexad.Error):
            store.write("a", offset, b"xx")
    with pytest.raises(hexad.Error):
        with store.transaction() as t:
            t.truncate("a", 2**60)
    assert store.get_ranges("a", [(0, 2**63), (0, 2**63)]) == [b"x", b"x"]  # what is there counts
    with store.transaction() as t:
        t.truncate("a", 2**44 - 1)
    with pytest.raises(hexad.TooBigError):
        store.get("a")
    with pytest.raises(hexad.TooBigError):
        store.get_ranges("a", [(0, 2**63), (0, 2**63)])
    assert store.get_range("a", 2**44 - 2, 10) == b"\0"


@pytest.mark.parametrize("name", [None, 7, 1.5, bytearray(b"a"), ["a"]])
def test_names_are_text_or_bytes(store, name):
    for call in (store.get, store.exists, store.stat, lambda n: store.put(n, b"")):
        with pytest.raises(TypeError, match="str or bytes"):
            call(name)


@pytest.mark.parametrize("name", ["", "x" * 1025, b""])
def test_names_of_no_or_too_many_bytes(store, name):
    with pytest.raises(hexad.InvalidArgumentError):
        store.put(name, b"")
    assert not store.exists(name)


def test_data_is_a_contiguous_buffer(store):
    for data in (None, 7, "text", ["a"], object()):
        with pytest.raises(TypeError, match="data"):
            store.put("a", data)
    with pytest.raises(TypeError, match="encode it"):
        store.put("a", "text")
    with pytest.raises(TypeError, match="contiguous"):
        store.put("a", np.arange(100)[::2])
    with pytest.raises((TypeError, ValueError)):
        released = memoryview(b"x")
        released.release()
        store.put("a", released)
    assert "a" not in store


def test_numbers_are_integers(store):
    store.put("a", b"x")
    for number in (1.0, "1", None):
        with pytest.raises(TypeError, match="integer"):
            store.get_range("a", number, 1)
    assert store.get_range("a", np.int64(0), np.uint8(1)) == b"x"


def test_a_number_that_raises_while_it_is_asked(store):
    class Mean:
        def __index__(self):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        store.get_range("a", Mean(), 1)


def test_wrong_ranges(store):
    store.put("a", b"x")
    for ranges in ([1], [(1,)], [("a", "b")], ["ab"], 7):
        with pytest.raises((TypeError, IndexError)):
            store.get_ranges("a", ranges)


def test_everything_after_close_says_so(store):
    store.put("a", b"x")
    writer = store.open_writer("w")
    reader = store.open_reader("a")
    transaction = store.transaction()
    transaction.put("b", b"")
    store.close()
    calls = [
        lambda: store.get("a"),
        lambda: store.put("a", b""),
        lambda: store.list(),
        lambda: store.status(),
        lambda: store.sync(),
        lambda: list(store),
        lambda: store.open_reader("a"),
        lambda: writer.write(b"x"),
        lambda: writer.close(),
        lambda: reader.read(1),
        lambda: transaction.commit(),
    ]
    for call in calls:
        with pytest.raises(hexad.ClosedError):
            call()
    assert store.closed
    store.close()
