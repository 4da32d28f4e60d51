"""Objects as file objects."""

import contextlib
import gc
import io
import os
import pickle
import warnings

import hexad
import pytest


def test_readers_and_writers_say_what_they_are(store):
    writer = store.open_writer("a")
    writer.write(b"123")
    assert repr(writer) == "<hexad.Writer of 'a', 3 bytes, not published yet>"
    writer.close()
    version = store.stat("a").version
    assert repr(writer) == f"<hexad.Writer of 'a', 3 bytes, published as version {version}>"
    with store.transaction() as t:
        other = store.open_writer(b"b")
        t.publish(other)
        assert repr(other) == "<hexad.Writer of 'b', 0 bytes, given to a transaction>"
    gone = store.open_writer("c")
    gone.discard()
    assert repr(gone) == "<hexad.Writer of 'c', 0 bytes, closed, not published>"
    file = store.open_reader("a")
    reader = file.raw
    assert reader.read(2) == b"12"
    assert repr(reader) == f"<hexad.Reader of 'a', version {version}, at 2 of 3 bytes>"
    reader.close()
    assert repr(reader) == "<hexad.Reader of 'a', closed>"


def test_reading(store):
    data = os.urandom(3_000_000)
    store.put("a", data)
    store.set_attr("a", "k", b"v")
    with store.open_reader("a") as file:
        assert file.read(10) == data[:10]
        assert file.seek(-10, io.SEEK_END) == 2_999_990
        assert file.read() == data[-10:]
        assert file.seek(5) == 5 and file.seek(5, io.SEEK_CUR) == 10 and file.tell() == 10
        assert file.read(7) == data[10:17]
        assert file.seek(10**7) == 10**7 and file.read() == b""
        with pytest.raises((ValueError, OSError)):
            file.seek(-1)
        with pytest.raises(ValueError):
            file.raw.seek(0, 7)
        assert file.raw.stat.size == 3_000_000 and file.raw.attributes() == {"k": b"v"}
        assert file.readable() and file.seekable() and not file.writable()
        raw = file.raw
        assert raw.seek(10) == 10 and raw.read(7) == data[10:17] and raw.tell() == 17
        assert raw.read(0) == b"" and raw.read(10**18) == data[17:] and raw.read(5) == b""
        raw.seek(2_000_000)
        assert raw.read() == data[2_000_000:] and raw.readall() == b"" and raw.read(None) == b""
    with pytest.raises(ValueError):
        file.read()
    with pytest.raises(ValueError):
        raw.read(1)
    with pytest.raises(FileNotFoundError):
        store.open_reader("none")


def test_a_reader_keeps_its_version(store):
    store.put("a", b"old" * 100_000)
    with store.open_reader("a") as file:
        store.put("a", b"new")
        store.checkpoint()
        assert file.read() == b"old" * 100_000


def test_writing(store):
    with store.open_writer("a", hint="incompressible") as file:
        for _ in range(10):
            assert file.write(b"x" * 100_000) == 100_000
        file.set_attr("k", b"v")
        assert file.tell() == 1_000_000 and file.writable() and not file.seekable()
        assert "a" not in store
    assert file.version == store.stat("a").version
    assert store.get("a") == b"x" * 1_000_000 and store.attributes("a") == {"k": b"v"}
    file.close()
    with pytest.raises(ValueError):
        file.write(b"")


def test_standard_tools_write_through_it(store):
    with store.open_writer("p") as file:
        pickle.dump({"a": [1, 2]}, file)
    with store.open_reader("p") as file:
        assert pickle.load(file) == {"a": [1, 2]}
    with io.TextIOWrapper(store.open_writer("t"), "utf-8") as text:
        text.write("zwölf\n")
    assert store.get("t") == "zwölf\n".encode()


def test_an_exception_leaves_nothing(store):
    with pytest.raises(ZeroDivisionError):
        with store.open_writer("a") as file:
            file.write(b"x" * 100_000)
            1 / 0
    assert "a" not in store and file.closed
    file = store.open_writer("a")
    file.write(b"x")
    file.discard()
    assert "a" not in store


def test_text_over_a_writer_has_its_byte_order_mark(store):
    with io.TextIOWrapper(store.open_writer("a"), encoding="utf-16") as text:
        text.write("x")
    assert store.get("a") == "x".encode("utf-16")
    with store.open_writer("b") as file:
        assert file.seekable()
        with pytest.raises(OSError):
            file.seek(0)
        file.write(b"x")
        assert not file.seekable()


def test_what_lies_around_a_writer_and_closes_it_by_an_exception(store):
    store.put("a", b"old")
    for around in (io.TextIOWrapper, contextlib.closing):
        with pytest.raises(ZeroDivisionError):
            with around(store.open_writer("a")) as file:
                file.write("half" if around is io.TextIOWrapper else b"half")
                raise ZeroDivisionError
        assert store.get("a") == b"old"
    file = store.open_writer("a")
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        file.write(b"on purpose")
        file.close()
    assert store.get("a") == b"on purpose"


def test_a_dropped_writer_leaves_nothing_and_warns(store):
    file = store.open_writer("a")
    file.write(b"x")
    with pytest.warns(hexad.NotStoredWarning, match="a was not closed: nothing of it was stored"):
        del file
        gc.collect()
    assert "a" not in store


def test_publishing_with_other_changes(store):
    writer = store.open_writer("a")
    writer.write(b"x" * 200_000)
    with store.transaction() as t:
        t.publish(writer)
        t.put("latest", b"a")
    assert store.stat("a").version == store.stat("latest").version
    writer.close()
    with pytest.raises(hexad.Error):
        with store.transaction() as t:
            other = store.open_writer("b")
            t.publish(other)
            t.expect_absent("a")
    other.close()
    assert "b" not in store


def test_streams_end_with_their_store():
    store = hexad.in_memory()
    store.put("a", b"x" * 100_000)
    writer = store.open_writer("b")
    writer.write(b"x")
    reader = store.open_reader("a")
    store.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del store, writer, reader
        gc.collect()
