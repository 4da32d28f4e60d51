"""The calls of Store, one by one."""

import asyncio
import os
import threading
import time

import hexad
import numpy as np
import pytest


def test_what_is_put_comes_back(store):
    version = store.put("a", b"one")
    assert store.get("a") == b"one"
    assert store.stat("a").version == version
    assert store.stat("a").size == 3
    assert "a" in store and "b" not in store


@pytest.mark.parametrize("size", [0, 1, 16383, 16384, 16385, 100_000, 5_000_000])
def test_sizes_around_the_small_buffer(store, size):
    data = os.urandom(size)
    store.put("a", data)
    assert store.get("a") == data
    assert store.get_range("a", 0, size) == data
    assert store.get_range("a", 1, size) == data[1:]
    assert store.get_range("a", 0, 1 << 60) == data
    assert store.get_range("a", size, 10) == b""
    assert bytes(store.get_view("a")) == data


def test_a_large_put_is_streamed(store):
    data = os.urandom(1 << 20) * 40
    steps = []
    version = store.put(
        "large", data, hint="incompressible", progress=lambda *step: steps.append(step)
    )
    assert [done >> 20 for done, _ in steps] == [16, 32, 40] and steps[0][1] == 40 << 20
    assert store.stat("large").version == version
    assert store.get_view("large") == data


@pytest.mark.parametrize(
    "buffer",
    [
        bytearray(b"abcd"),
        memoryview(b"abcd"),
        np.frombuffer(b"abcd", "u2"),
        np.frombuffer(b"abcd", "u1").reshape(2, 2),
    ],
)
def test_any_contiguous_buffer(store, buffer):
    store.put("a", buffer)
    assert store.get("a") == b"abcd"


@pytest.mark.parametrize("dtype", ["c8", ">f4", "f2", "?", [("a", "i4"), ("b", ">u2")]])
@pytest.mark.parametrize("size", [100, 40_000_000])
def test_arrays_of_any_type(store, dtype, size):
    array = np.zeros(size // np.dtype(dtype).itemsize, dtype)
    array[1:2].view("u1")[:] = 1
    store.put("a", array)
    assert store.get_view("a") == array.tobytes()
    store.put("b", array, progress=lambda done, total: None)
    asyncio.run(store.put_async("c", array))
    store.put_many({"d": array})
    for name in "bcd":
        assert store.checksum(name) == store.checksum("a")


def test_put_many_and_get_many(store):
    items = {f"n{i:05}": os.urandom(i % 300) for i in range(2500)}
    steps = []
    assert store.put_many(items, progress=lambda *step: steps.append(step)) == 2500
    assert steps[-1] == (2500, 2500) and len(steps) > 1
    assert store.get_many(items) == list(items.values())
    assert store.get_many(["n00001", "none"], default=None) == [items["n00001"], None]
    with pytest.raises(hexad.NotFoundError) as caught:
        store.get_many(["n00001", "none"])
    assert caught.value.object == "none"
    assert store.put_many((("p", b"1"), ("q", b"2"))) == 2
    assert store.put_many([]) == 0
    assert store.put_many([("big", bytes(20 << 20)), ("small", b"")]) == 2
    assert store.stat("big").size == 20 << 20
    buffer = bytearray(1)

    def reused():
        for i in range(5):
            buffer[0] = i
            yield f"r{i}", buffer

    store.put_many(reused())
    assert store.get_many(f"r{i}" for i in range(5)) == [bytes([i]) for i in range(5)]
    with pytest.raises(hexad.InvalidArgumentError):
        store.put_many([("before", b"")] + [("x" * 1025, b"")])
    with pytest.raises(TypeError):
        store.put_many([("many", b"")] * 1000 + [("text", "text")])
    assert "many" in store and "before" not in store
    with pytest.raises(TypeError):
        store.get_many("n00001")


def test_listing(store):
    names = ["a", "b/1", "b/2", "b/c/3", "d"]
    store.put_many((name, name.encode()) for name in names)
    page = store.list()
    assert [entry.name for entry in page.entries] == names
    assert page.next is None and page.prefixes == []
    assert page.entries[1].size == 3
    page = store.list(delimiter="/")
    assert [entry.name for entry in page] == ["a", "d"] and page.prefixes == ["b/"]
    page = store.list(prefix="b/", delimiter="/")
    assert [entry.name for entry in page] == ["b/1", "b/2"] and page.prefixes == ["b/c/"]
    page = store.list(limit=2)
    assert len(page) == 2 and page.next
    assert [entry.name for entry in store.list(after=page.next)] == names[2:]
    assert [entry.name for entry in store.iterate(reverse=True)] == names[::-1]
    assert list(store) == names


def test_names_that_are_no_text_come_back_as_they_are(store):
    raw = b"\xff\xfe/\x00name"
    store.put(raw, b"x")
    (name,) = store
    assert store.get(name) == b"x" and os.fsencode(name) == raw
    store.put("ü/\N{SNOWMAN}", b"y")
    assert store.get("ü/\N{SNOWMAN}".encode()) == b"y"


def test_remove_and_remove_prefix(store):
    store.put_many((f"p/{i}", b"") for i in range(4500))
    store.put("q", b"")
    store.remove("p/0")
    store.remove("p/0")
    assert store.remove_prefix("p/") == 4499
    assert list(store) == ["q"]


def test_partial_writes_holes_and_checksums(store):
    store.write("a", 100_000, b"end")
    store.append("a", b"!")
    assert store.get_range("a", 99_998, 10) == b"\0\0end!"
    assert store.extents("a")[-1][0] + store.extents("a")[-1][1] == 100_004
    value, covered = store.checksum("a", 100_000, 100)
    assert covered == 4
    store.put("b", b"123456789")
    assert store.checksum("b") == (0xE3069283, 9)


def test_rename_and_clone(store):
    store.put("a", b"x")
    store.clone("a", "b")
    store.rename("a", "c")
    assert list(store) == ["b", "c"]
    with pytest.raises(hexad.AlreadyExistsError):
        store.rename("b", "c")
    store.clone_range("c", 0, 1, "d", 2)
    assert store.get("d") == b"\0\0x"
    with pytest.raises(hexad.InvalidArgumentError):
        store.clone_range("c", 0, 2, "d", 0)
    store.remove("d")
    store.create_collection("other")
    store.rename("b", "b", to_collection="other")
    assert store.get("b", collection="other") == b"x"


def test_attributes(store):
    store.put("a", b"")
    store.set_attr("a", "kind", b"f4")
    store.set_attrs("a", {"x": b"1", "y": bytearray(b"2")})
    store.remove_attr("a", "x")
    assert store.attributes("a") == {"kind": b"f4", "y": b"2"}
    assert store.attribute("a", "y") == b"2" and store.attribute("a", "x") is None
    with pytest.raises(KeyError):
        store.attribute("none", "y")
    with pytest.raises(KeyError):
        store.set_attr("none", "kind", b"")


def test_omaps(store):
    store.put("a", b"")
    entries = {f"k{i:04}": str(i).encode() for i in range(2500)}
    store.omap_set("a", entries)
    assert dict(store.omap_items("a")) == entries
    assert list(store.omap_keys("a", after="k2497")) == ["k2498", "k2499"]
    assert list(store.omap_keys("a", end="k0002")) == ["k0000", "k0001"]
    assert store.omap_get("a", "k0007") == b"7"
    assert store.omap_get("a", "none") is None
    assert store.omap_get_many("a", ["k0001", "none"]) == {"k0001": b"1"}
    store.omap_remove("a", "k0001", "none")
    assert store.omap_get("a", "k0001") is None
    with store.transaction() as t:
        t.omap_set_header("a", b"head")
        t.omap_remove_range("a", "k1000", "")
    assert store.omap_header("a") == b"head"
    assert len(list(store.omap_keys("a"))) == 999
    with store.transaction() as t:
        t.omap_clear("a")
    assert store.omap_header("a") == b"" and list(store.omap_items("a")) == []


def test_collections_policies_and_quotas(store):
    store.create_collection("logs", compression="force,zstd")
    assert store.create_collection("logs", exist_ok=True) is None
    with pytest.raises(hexad.AlreadyExistsError):
        store.create_collection("logs")
    assert "force" in store.collection("logs")["compression"]
    store.set_quota("logs", objects=1)
    store.put("a", b"a" * 50_000, collection="logs")
    with pytest.raises(hexad.NoSpaceError):
        store.put("b", b"b", collection="logs")
    assert store.stat("a", collection="logs").stored < 5000
    assert store.collection_usage("logs")["objects"] == 1
    assert [c["name"] for c in store.collections()] == ["default", "logs"]
    assert not store.exists("a") and store.exists("a", collection="logs")
    with pytest.raises(hexad.NotEmptyError):
        store.remove_collection("logs")
    store.remove_collection("logs", recursive=True)
    assert not store.exists("a", collection="logs")
    with pytest.raises(hexad.NotFoundError):
        store.list(collection="logs")


def test_user_bytes_are_sizes_and_stored_is_what_compression_leaves(store):
    store.create_collection("logs", compression="force,zstd")
    with store.transaction(collection="logs") as t:
        t.put("a", b"a" * 50_000)
        t.truncate("a", 150_000)  # what is behind the data is a hole
    store.checkpoint()
    space, stat, usage = store.space(breakdown=True), store.stat("a", collection="logs"), store.collection_usage("logs")
    assert space["user_bytes"] == stat.size == usage["bytes"] == 150_000
    assert space["compressed"] == stat.stored == usage["stored"] < 5000
    assert "stored" not in space
    assert "146.5 KiB in 1 object" in store.status_text()


def test_space_says_what_fits_and_who_holds_what_was_freed(store):
    empty = store.space(breakdown=True)
    assert empty["usable_for_mix"] is None and empty["available_for_mix"] is None
    assert 0 < empty["least"]["available"] <= empty["least"]["usable"] <= empty["capacity"]
    store.put("a", os.urandom(1 << 20))
    with store.open_reader("a"):
        store.remove("a")
        store.put("b", b"b" * 5000)
        store.sync()
        held = store.space(breakdown=True)
        (reader,) = held["readers"]
        assert reader["name"] == "a" and reader["held"] == held["held_by_readers"] >= 1 << 20
        assert abs(reader["opened"] / 1e9 - time.time()) < 3600
        assert 0 < held["available_for_mix"] <= held["usable_for_mix"]


def test_the_cache_is_given_another_size_while_the_store_is_open(store):
    def room():
        return store.status()["layers"][0]["room"]

    store.put("a", b"x" * 5000)
    store.set_cache_size(8 << 20)
    assert room() == 8 << 20 and store.effective_options()["cache_size"][0] == "8 MiB"
    assert store.get("a") == b"x" * 5000
    asyncio.run(store.set_cache_size_async(0))
    assert room() == 0 and store.get("a") == b"x" * 5000
    with pytest.raises(hexad.InvalidArgumentError):
        store.set_cache_size(5)
    assert asyncio.run(store.space_async(breakdown=True))["broken_down"]


def test_hints(store):
    store.put("a", b"x", hint=["immutable", "incompressible"])
    assert store.stat("a").hints == {"immutable", "incompressible"}
    with pytest.raises(ValueError, match="'soft' is not known"):
        store.put("a", b"x", hint="soft")
    with pytest.raises(hexad.InvalidArgumentError):
        store.put("a", b"x", hint="compressible,incompressible")


def test_sizes_are_changed_without_a_transaction(store):
    version = store.touch("a")
    assert store.get("a") == b"" and store.stat("a").version == version
    store.write("a", 0, b"0123456789")
    store.touch("a")
    assert store.truncate("a", 8) == store.stat("a").version
    store.zero("a", 2, 3)
    assert store.get("a") == b"01\0\0\x00567"
    store.zero("a", 7, 3)
    assert store.get("a") == b"01\0\0\x0056\0\0\0"
    store.truncate("a", 12)
    assert store.stat("a").size == 12
    store.truncate("missing", 5)
    store.create_collection("c")
    store.touch("b", collection="c")
    assert store.exists("b", collection="c") and not store.exists("b")
    with pytest.raises(hexad.InvalidArgumentError, match="size -1 is out of range"):
        store.truncate("a", -1)
    with pytest.raises(hexad.InvalidArgumentError, match="length -1 is out of range"):
        store.zero("a", 0, -1)


def test_reports_are_plain_dictionaries(store):
    store.put("a", b"x" * 10_000)
    status = store.status()
    assert status["health"] == "ok" and status["memory_only"] and len(status["devices"]) >= 6
    space = store.space()
    assert space["objects"] == 1 and space["user_bytes"] == 10_000 and not space["broken_down"]
    assert space["compressed"] is None and space["omap_bytes"] is None
    assert status["metadata_on"] == "index"
    names = [layer["name"] for layer in status["layers"]]
    assert names[:3] == ["records", "memtable", "index"] and len(names) == 8
    assert status["fill"]["hours_to_full"] is None
    assert status["fill"]["note"].startswith("not known yet")
    room = store.room_for(4096)
    assert room["object_size"] == 4096 and room["usable"] >= room["available"] > room["usable"] // 2
    assert room["usable"] % 4096 == 0
    with pytest.raises(hexad.InvalidArgumentError, match="there are none of that size"):
        store.room_for(0)
    assert any(store.counters().values()) and any(store.counters(since_open=True).values())
    assert store.effective_options()["cache_size"]
    store.sync()
    store.checkpoint()
    report = store.fsck(deep=True)
    assert report["errors"] == 0 and report["objects_checked"] == 1


def test_a_scrub_tells_how_far_it_is_and_goes_on_where_it_was_stopped(store):
    for i in range(12):
        store.put(f"a{i}", os.urandom(1_000_000))
    steps = []
    report = store.scrub(progress=lambda done, total: steps.append((done, total)))
    assert report["errors"] == 0 and report["findings"] == [] and report["next"] == ""
    assert report["bytes_checked"] >= 12 * 1_500_000 and report["stripes_checked"] >= 12
    assert steps == sorted(steps) and steps[-1][0] == report["bytes_checked"] <= steps[-1][1]
    checked, start, calls = 0, "", 0
    while calls == 0 or start:
        part = store.scrub(start=start, progress=lambda done, total: False)
        checked, start, calls = checked + part["stripes_checked"], part["next"], calls + 1
    assert checked == report["stripes_checked"] and calls > 2
    with pytest.raises(ZeroDivisionError):
        store.scrub(progress=lambda done, total: 1 // 0)
    with pytest.raises(hexad.InvalidArgumentError):
        store.scrub(start="somewhere")
    with pytest.raises(ValueError):
        store.scrub(rate=0)


def test_closing_a_store_ends_its_scrub(pool):
    store = hexad.open(pool)
    store.put("a", os.urandom(3_000_000))
    begun = threading.Event()
    ended = []

    def slowly():
        try:
            store.scrub(rate=1000, progress=lambda done, total: begun.set())
        except hexad.Error as error:
            ended.append(error)

    thread = threading.Thread(target=slowly)
    thread.start()
    assert begun.wait(60)
    store.close()
    thread.join(60)
    assert not thread.is_alive() and [type(one) for one in ended] == [hexad.ClosedError]


def test_texts_for_people(store, pool):
    store.put("a", b"x" * 100_000, hint="immutable")
    assert store.status_text().startswith("ok: survives the loss of 2 more devices\n")
    text = store.explain("a")
    assert text.startswith("a: 97.7 KiB, version ") and "hints: immutable" in text
    assert "4+2" in store.explain(b"a")
    with pytest.raises(KeyError):
        store.explain("none")
    os.remove(pool / "drive1")
    with hexad.open(pool) as degraded:
        assert degraded.status_text().startswith("degraded: survives the loss of 1 more device\n")
        assert "drive1: missing" in degraded.status_text()


def test_mapping(store):
    store.put("elsewhere", b"")
    mapping = store.mapping("m/")
    mapping["a"] = b"1"
    mapping.update({"b": b"2"}, c=b"3")
    assert dict(mapping) == {"a": b"1", "b": b"2", "c": b"3"}
    assert len(mapping) == 3 and "a" in mapping and "x" not in mapping and 7 not in mapping
    del mapping["a"]
    for call in (mapping.__getitem__, mapping.__delitem__):
        with pytest.raises(KeyError):
            call("a")
    assert mapping.get("a") is None and mapping.pop("b") == b"2"
    assert mapping.setdefault("d", b"4") == b"4"
    mapping.clear()
    assert list(store) == ["elsewhere"]
    with pytest.raises(TypeError):
        mapping[b"a"] = b""
