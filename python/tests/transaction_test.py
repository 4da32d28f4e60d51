"""Transactions: all or nothing, guards, and what they refuse."""

import hexad
import pytest


def test_a_writer_of_another_store_is_not_published(store):
    with hexad.in_memory() as other:
        writer = other.open_writer("a")
        writer.write(bytes(3_000_000))
        with pytest.raises(hexad.InvalidArgumentError, match="another store"):
            with store.transaction() as t:
                t.put("b", b"")
                t.publish(writer)
        assert list(store) == [] and list(other) == []
        late = other.open_writer("late")
        late.write(bytes(3_000_000))
        t = other.transaction()
        t.publish(late)
    del t  # after its store
    with pytest.raises(TypeError, match="^writer: a hexad.Writer is wanted, not NoneType"):
        store.transaction().publish(None)


def test_all_or_nothing(store):
    with store.transaction() as t:
        t.put("a", b"1")
        t.put("b", b"2")
        t.set_attr("a", "k", b"v")
    assert t.version == store.stat("a").version == store.stat("b").version
    with pytest.raises(hexad.NotFoundError):
        with store.transaction() as t:
            t.put("a", b"changed")
            t.rename("none", "c")
    assert store.get("a") == b"1"


def test_an_exception_drops_the_changes(store):
    with pytest.raises(ZeroDivisionError):
        with store.transaction() as t:
            t.put("a", b"1")
            1 / 0
    assert list(store) == []
    with pytest.raises(ValueError, match="committed or dropped"):
        t.put("a", b"1")
    with pytest.raises(ValueError, match="committed or dropped"):
        store.commit(t)


def test_every_change(store):
    store.create_collection("other")
    with store.transaction(collection="other", durable=False) as t:
        t.put("a", b"0123456789")
        t.write("a", 2, b"xx")
        t.append("a", b"end")
        t.zero("a", 4, 2)
        t.truncate("a", 12)
        t.touch("b")
        t.create("c")
        t.clone("a", "d")
        t.clone_range("a", 0, 2, "e", 3)
        t.set_hint("d", "immutable")
        t.rename("c", "c", to_collection="default")
        t.remove("b")
        t.set_attrs("a", {"x": b"1", "y": b"2"})
        t.remove_attr("a", "x")
        t.remove_attrs("d")
        t.put("f", b"", collection="default")
        assert len(t) == 16 and t.payload_bytes == 17
    store.sync()
    assert store.get("a", collection="other") == b"01xx\0\x006789en"
    assert store.get("e", collection="other") == b"\0\0\x0001"
    assert store.stat("d", collection="other").hints == {"immutable"}
    assert list(store) == ["c", "f"]
    with store.transaction(collection="other") as t:
        t.remove_range("a", "e")
    assert [entry.name for entry in store.iterate(collection="other")] == ["e"]


def test_guards(store):
    version = store.put("a", b"0123")
    with store.transaction() as t:
        t.set_attr("a", "k", b"v")
        t.omap_set("a", {"key": b"value"})
        t.expect_version("a", version)
        t.expect_absent("b")
        t.expect_exists("a")
    with store.transaction() as t:
        t.expect_attr("a", "k", b"v")
        t.expect_attr_absent("a", "l")
        t.expect_bytes("a", 1, b"12")
        t.expect_omap("a", "key", b"value")
        t.expect_omap_absent("a", "none")
    guards = [
        lambda t: t.expect_version("a", version),
        lambda t: t.expect_absent("a"),
        lambda t: t.expect_exists("b"),
        lambda t: t.expect_attr("a", "k", b"w"),
        lambda t: t.expect_attr_absent("a", "k"),
        lambda t: t.expect_bytes("a", 0, b"1"),
        lambda t: t.expect_omap("a", "key", b""),
        lambda t: t.expect_omap_absent("a", "key"),
    ]
    for guard in guards:
        with pytest.raises(hexad.ConflictError):
            with store.transaction() as t:
                t.remove("a")
                guard(t)
        assert "a" in store


def test_what_is_put_may_be_changed_before_the_commit(store):
    data = bytearray(b"before")
    t = store.transaction()
    t.put("a", data)
    data[:] = b"after!"
    t.commit()
    assert store.get("a") == b"before"


def test_too_much_for_a_transaction(pool):
    with hexad.open(pool, max_transaction="64 KiB") as store:
        with pytest.raises(hexad.TooBigError, match="64 KiB"):
            with store.transaction() as t:
                t.put("a", bytes(100_000))
        store.put("a", bytes(100_000))  # streamed
        assert store.stat("a").size == 100_000


def test_dropping_a_transaction_leaves_nothing(store):
    t = store.transaction()
    t.put("a", b"1")
    t.discard()
    assert list(store) == []
    assert "LSN None" in repr(t)
