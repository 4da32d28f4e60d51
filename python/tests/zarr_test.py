"""HexadStore beyond zarr's own tests: arrays, and what hexad alone promises."""

import concurrent.futures
import contextlib
import gc
import multiprocessing
import os
import pathlib
import pickle
import threading
import time

import pytest

zarr = pytest.importorskip("zarr")
numpy = pytest.importorskip("numpy")

# pylint: disable=wrong-import-position,redefined-outer-name
import hexad
from ecosystem_pools import make_pool, temporary_pool
from hexad.zarr import HexadStore
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import cpu
from zarr.core.buffer.core import default_buffer_prototype
from zarr.core.sync import _collect_aiterator, sync

PROTOTYPE = default_buffer_prototype()


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


@pytest.fixture
def store(pool):
    with hexad.open(pool) as store:
        yield store
        store.remove_prefix("")


def values(shape=(300, 200)):
    return numpy.random.default_rng(1).normal(size=shape).astype("f4")


def collected(iterator):
    return sorted(sync(_collect_aiterator(iterator)))


@pytest.mark.parametrize("zarr_format, shards", [(2, None), (3, None), (3, (100, 100))])
def test_arrays_come_back_as_they_were(zarr_format, shards, store):
    data = values()
    array = zarr.create_array(
        HexadStore(store, "run7"),
        name="weights",
        shape=data.shape,
        dtype=data.dtype,
        chunks=(50, 50),
        shards=shards,
        zarr_format=zarr_format,
    )
    array[:] = data
    array[10:20, 30] = 5
    data[10:20, 30] = 5
    found = zarr.open_array(HexadStore(store, "run7", read_only=True), path="weights", mode="r")
    numpy.testing.assert_array_equal(found[:], data)
    numpy.testing.assert_array_equal(found[120:130, ::7], data[120:130, ::7])
    assert all(e.name.startswith("run7/") for e in store.list().entries)


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_groups_have_attributes_members_and_consolidated_metadata(store):
    root = zarr.open_group(HexadStore(store), mode="w", attributes={"title": "run"})
    for i in range(5):
        root.create_group(f"g{i}").create_array("x", data=numpy.arange(i + 1))
    zarr.consolidate_metadata(root.store)
    found = zarr.open_consolidated(HexadStore(store, read_only=True), mode="r")
    assert found.attrs["title"] == "run"
    assert sorted(found.group_keys()) == [f"g{i}" for i in range(5)]
    numpy.testing.assert_array_equal(found["g3/x"][:], numpy.arange(4))
    del root["g3"]
    assert not store.list(prefix="g3/").entries
    assert store.list(prefix="g4/").entries


def test_stores_behind_two_prefixes_do_not_meet(store):
    zarr.create_array(HexadStore(store, "a"), data=numpy.arange(3))
    zarr.create_array(HexadStore(store, "a-b"), data=numpy.arange(4))
    sync(HexadStore(store, "a").clear())
    assert collected(HexadStore(store, "a").list()) == []
    assert zarr.open_array(HexadStore(store, "a-b"))[3] == 3


def test_a_store_given_by_path_opens_and_closes_the_pool(pool, store):
    store.put("before", b"1")
    by_path = HexadStore(pool)
    zarr.create_array(by_path, name="x", data=numpy.arange(3))
    by_path.close()
    assert store.exists("x/zarr.json")
    assert zarr.open_array(by_path, path="x")[2] == 2
    by_path.close()


def test_who_reads_goes_on_when_the_same_store_is_written(tmp_path):
    pool = make_pool(str(tmp_path))
    with hexad.open(pool) as made:
        made.put("x", b"1")
    writer = HexadStore(pool)
    reader = writer.with_read_only(True)
    busy = reader._store()  # as a thread has it in the middle of a call
    sync(writer.set("y", cpu.Buffer.from_bytes(b"2")))
    assert busy.get("x") == b"1" and busy.get("y") == b"2"
    assert reader.get_sync("y").to_bytes() == b"2"
    writer.close()
    assert busy.closed
    hexad.open(pool).close()


def test_a_store_that_was_given_open_stays_open(pool, store):
    given = HexadStore(store)
    given.close()
    store.put("x", b"1")
    assert given.get_sync("x").to_bytes() == b"1"
    assert given == HexadStore(pool)
    assert given != HexadStore(pool, "prefix")
    assert given != HexadStore(pool, read_only=True)
    assert given != HexadStore(pool, collection="other")


def test_pickling_keeps_pool_prefix_and_mode(store):
    for original in (HexadStore(store, "p"), HexadStore(store, "p/", read_only=True)):
        copy = pickle.loads(pickle.dumps(original))
        assert copy == original
        assert str(copy) == str(original)
        copy.close()


def test_a_store_in_memory_holds_arrays_but_is_not_pickled():
    with hexad.in_memory() as store, hexad.in_memory() as other:
        zarr.create_array(HexadStore(store), data=numpy.arange(10), chunks=3)
        numpy.testing.assert_array_equal(zarr.open_array(HexadStore(store))[:], numpy.arange(10))
        assert HexadStore(store) == HexadStore(store) != HexadStore(other)
        with pytest.raises(TypeError):
            pickle.dumps(HexadStore(store))


def test_a_store_that_nobody_has_any_more_lets_go_of_the_pool(tmp_path):
    path = make_pool(str(tmp_path))
    with hexad.open(path) as store:
        store.put("k", b"1")
    assert sync(HexadStore(path, read_only=True).exists("k"))
    # The thread that answered may hold what it has asked for a moment longer.
    while True:
        gc.collect()
        try:
            store = hexad.open(path)
            break
        except hexad.BusyError:  # as it is next to a reader
            time.sleep(0.01)
    with store:
        store.put("k", b"2")


def test_each_collection_has_keys_of_its_own(store):
    store.create_collection("other", exist_ok=True)
    sync(HexadStore(store, collection="other").set("k", cpu.Buffer.from_bytes(b"1")))
    assert not store.exists("k")
    assert store.get("k", collection="other") == b"1"
    view = HexadStore(store, collection="other")
    assert collected(view.list()) == ["k"]
    assert sync(view.get("k", PROTOTYPE)).to_bytes() == b"1"
    sync(view.set_if_not_exists("k", cpu.Buffer.from_bytes(b"22")))
    assert sync(view.getsize("k")) == 1
    sync(view.clear())
    assert collected(view.list()) == []


def test_only_one_of_many_sets_a_key_that_does_not_exist(store):
    writers = 8
    stores = [HexadStore(store, "race") for _ in range(writers)]

    def write(i):
        for key in range(20):
            sync(stores[i].set_if_not_exists(str(key), cpu.Buffer.from_bytes(bytes([i]))))
            seen.append((key, store.get(f"race/{key}")))

    seen = []
    with concurrent.futures.ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    for key in range(20):
        assert len({value for seen_key, value in seen if seen_key == key}) == 1


def test_a_key_may_be_larger_than_a_transaction(store):
    data = os.urandom(1 << 20) * 70
    view = HexadStore(store)
    sync(view.set("k", cpu.Buffer.from_bytes(data)))
    assert sync(view.get("k", PROTOTYPE)).to_bytes() == data
    sync(view.set_if_not_exists("k", cpu.Buffer.from_bytes(data[1:])))
    assert sync(view.getsize("k")) == len(data)
    sync(view.set_if_not_exists("new", cpu.Buffer.from_bytes(data[1:])))
    assert sync(view.getsize("new")) == len(data) - 1


def test_directories_of_an_import_are_no_keys(store):
    for name in ("d/", "d/x", "d/e/", "d/e/y", "d", "f/"):
        store.put(name, b"1")
    view = HexadStore(store)
    assert collected(view.list()) == ["d", "d/e/y", "d/x"]
    assert collected(view.list_dir("")) == ["d", "f"]
    assert collected(view.list_dir("d")) == ["e", "x"]


def test_listings_are_whole_whatever_their_length(store):
    store.put_many([(f"c/{i}/x", b"12") for i in range(2500)])
    view = HexadStore(store)
    assert len(collected(view.list_prefix("c/"))) == 2500
    assert len(collected(view.list_dir("c"))) == 2500
    assert sync(view.getsize_prefix("c")) == 5000


def test_nothing_is_there_by_names_that_nothing_can_have(store):
    longest = "d/" + "x" * 1022
    store.put("in/" + longest[3:], b"1")
    store.put(longest, b"12")
    for view in (HexadStore(store), HexadStore(store, prefix="in")):
        room = 1024 - len(view.prefix)
        assert sync(view.exists(longest[:room])) == (view.prefix == "")
        for name in (longest[: room - 1] + "é", "é" * 1000, longest + "x"):
            assert not sync(view.exists(name))
            assert collected(view.list_prefix(name)) == []
            assert collected(view.list_dir(name)) == []
            assert sync(view.getsize_prefix(name)) == 0
            sync(view.delete_dir(name))
    assert collected(HexadStore(store).list_prefix(longest)) == [longest]


def test_ranges_end_where_the_key_ends(store):
    data = os.urandom(100)
    store.put("k", data)
    view = HexadStore(store)
    wanted = [
        (RangeByteRequest(0, 10), data[:10]),
        (RangeByteRequest(90, 1000), data[90:]),
        (RangeByteRequest(200, 300), b""),
        (RangeByteRequest(5, 5), b""),
        (OffsetByteRequest(0), data),
        (OffsetByteRequest(99), data[99:]),
        (OffsetByteRequest(1000), b""),
        (SuffixByteRequest(1), data[99:]),
        (SuffixByteRequest(1000), data),
        (None, data),
    ]
    for request, expected in wanted:
        assert sync(view.get("k", PROTOTYPE, request)).to_bytes() == expected, request
        assert sync(view.get("missing", PROTOTYPE, request)) is None
    requests = [(key, request) for request, _ in wanted for key in ("k", "missing")]
    found = sync(view.get_partial_values(PROTOTYPE, requests))
    assert [value.to_bytes() for value in found[::2]] == [expected for _, expected in wanted]
    assert found[1::2] == [None] * len(wanted)


@pytest.fixture
def hops(monkeypatch):
    """What was handed to a thread: of the event loop's, and of a store's own."""
    submit = concurrent.futures.ThreadPoolExecutor.submit
    calls = []

    def counting(self, call, *args, **kwargs):
        calls.append(call)
        return submit(self, call, *args, **kwargs)

    monkeypatch.setattr(concurrent.futures.ThreadPoolExecutor, "submit", counting)
    return calls


def read_all(view, wanted):
    for key, request, expected in wanted:
        assert sync(view.get(key, PROTOTYPE, request)).to_bytes() == expected, request
        assert sync(view.exists(key))
        assert sync(view.getsize(key)) == len(view.get_sync(key).to_bytes())
    assert read_together(view, wanted) == [expected for _, _, expected in wanted]


def read_together(view, wanted):
    found = sync(view.get_partial_values(PROTOTYPE, [(key, request) for key, request, _ in wanted]))
    return [None if value is None else value.to_bytes() for value in found]


def test_what_the_cache_has_takes_no_thread(store, hops):
    data = os.urandom(2_500_000)
    store.put_many({"small": data[:100], "large": data})
    store.checkpoint()  # what is in the log alone is not kept in the cache
    view = HexadStore(store)
    wanted = [
        ("small", None, data[:100]),
        ("small", SuffixByteRequest(10), data[90:100]),
        ("small", OffsetByteRequest(90), data[90:100]),
        ("large", RangeByteRequest(2_400_000, 2_450_000), data[2_400_000:2_450_000]),
        ("large", SuffixByteRequest(1000), data[-1000:]),
        ("large", OffsetByteRequest(2_499_000), data[2_499_000:]),
    ]
    read_all(view, wanted)
    assert hops
    hops.clear()
    read_all(view, wanted)
    assert not hops


def test_ranges_of_a_shard_take_one_thread_and_then_none(pool, hops):
    shard = os.urandom(3_000_000)
    with hexad.open(pool) as store:
        store.put("shard", shard)
    ranges = [RangeByteRequest(i, i + 1000) for i in range(0, 3_000_000, 30_000)]
    wanted = [("shard", one, shard[one.start : one.end]) for one in ranges]
    wanted.append(("shard", SuffixByteRequest(1604), shard[-1604:]))
    expected = [value for _, _, value in wanted]
    with contextlib.closing(HexadStore(pool, read_only=True)) as view:
        sync(view._ensure_open())
        hops.clear()
        assert read_together(view, wanted) == expected
        assert len(hops) == 1
        assert read_together(view, wanted) == expected  # however far apart they are
        assert len(hops) == 1
    with hexad.open(pool) as again:
        again.put("shard", shard)
        again.checkpoint()
        view = HexadStore(again)
        sync(view._ensure_open())
        # It may be written: of a large object only what lies in one piece is of one version.
        near = [RangeByteRequest(i, i + 1000) for i in range(500_000, 520_000, 1000)]
        wanted = [("shard", one, shard[one.start : one.end]) for one in near]
        hops.clear()
        for _ in range(2):
            assert read_together(view, wanted) == [value for _, _, value in wanted]
            assert len(hops) == 1
        again.remove("shard")


def test_many_keys_take_few_threads_and_missing_ones_are_none(store, hops):
    many = {f"many/{i:03}": os.urandom(5000) for i in range(100)}
    store.put_many(many)
    store.checkpoint()
    view = HexadStore(store, "many")
    sync(view._ensure_open())
    wanted = [(key[5:], RangeByteRequest(10, 20), value[10:20]) for key, value in many.items()]
    wanted += [(key[5:], OffsetByteRequest(4990), value[4990:]) for key, value in many.items()]
    wanted.append(("none", None, None))
    hops.clear()
    assert read_together(view, wanted) == [expected for _, _, expected in wanted]
    assert 1 <= len(hops) <= 8
    hops.clear()
    assert read_together(view, wanted[:-1]) == [expected for _, _, expected in wanted[:-1]]
    assert not hops


def test_ranges_of_a_key_are_of_one_version_whatever_is_written(store):
    view = HexadStore(store)
    sizes = (40_000, 400_000, 1_500_000, 2_000_000)

    def value(i):
        return bytes([i % 251]) * sizes[i % len(sizes)]

    store.put("k", value(0))
    ended = threading.Event()

    def write():
        for i in range(1, 150):
            store.put("k", value(i))
        ended.set()

    requests = [RangeByteRequest(0, 10), OffsetByteRequest(30_000), SuffixByteRequest(10), None]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not ended.is_set() and not writing.done():
            # Also without the whole, which the cache does not tell at once.
            for some in (requests, requests[:3]):
                found = sync(view.get_partial_values(PROTOTYPE, [("k", one) for one in some]))
                parts = [part.to_bytes() for part in found]
                assert len({byte for part in parts for byte in (part[0], part[-1])}) == 1
                assert len(parts[1]) + 30_000 in sizes
                assert len(some) == 3 or len(parts[3]) == len(parts[1]) + 30_000
        writing.result()


def buffer(data):
    return cpu.Buffer.from_bytes(data)


def test_what_is_set_and_deleted_takes_no_thread(store, hops):
    view = HexadStore(store, "run")
    sync(view._ensure_open())
    hops.clear()
    sync(view.set("new", buffer(b"1" * 200_000)))
    sync(view.set("new", buffer(b"2")))  # over what the cache may not know
    store.get("run/new")
    sync(view.set("new", buffer(b"3")))
    sync(view.set_if_not_exists("other", buffer(b"4")))
    sync(view.set_if_not_exists("other", buffer(b"5")))
    sync(view.delete("other"))
    sync(view.delete("none"))
    assert not hops
    assert store.get("run/new") == b"3"
    assert not store.exists("run/other")


def test_a_long_value_takes_one_thread(store, hops):
    view = HexadStore(store)
    sync(view._ensure_open())
    for size in (300_000, 9 << 20):
        for _ in range(2):
            hops.clear()
            sync(view.set("k", buffer(b"x" * size)))
            assert len(hops) == 1
            assert store.stat("k").size == size


def test_an_imported_chunk_takes_a_thread_and_is_none_any_more(store, hops):
    view = HexadStore(store)
    sync(view._ensure_open())
    for known in (False, True):
        store.put("f", b"as imported")
        store.set_attrs("f", {"posix.type": b"file", "posix.mtime_ns": b"1", "mine": b"x"})
        if known:
            store.checkpoint()
            store.get("f")
        hops.clear()
        sync(view.set("f", buffer(b"other")))
        assert len(hops) == 1
        assert store.attributes("f") == {"mine": b"x"}
        assert store.get("f") == b"other"


def test_a_read_only_store_refuses_every_change(store):
    store.put("k", b"1")
    view = HexadStore(store, read_only=True)
    value = cpu.Buffer.from_bytes(b"2")
    changes = [
        lambda: sync(view.set("k", value)),
        lambda: sync(view.set_if_not_exists("new", value)),
        lambda: sync(view.delete("k")),
        lambda: sync(view.delete_dir("")),
        lambda: sync(view.clear()),
        lambda: view.set_sync("k", value),
        lambda: view.delete_sync("k"),
    ]
    for change in changes:
        with pytest.raises(ValueError, match="read-only"):
            change()
    assert store.get("k") == b"1"
    assert not store.exists("new")


def test_zarr_reads_urls_through_fsspec(pool, store):
    fsspec = pytest.importorskip("fsspec")
    from hexad.fsspec import HexadFileSystem  # pylint: disable=import-outside-toplevel

    fsspec.register_implementation("hexad", HexadFileSystem, clobber=True)
    zarr.create_array(HexadStore(store, "run7"), data=numpy.arange(10), chunks=3)
    found = zarr.open_array(f"hexad://{pool}/run7", mode="r")
    numpy.testing.assert_array_equal(found[:], numpy.arange(10))
    zarr.save_array(f"hexad://{pool}/run8", numpy.arange(5))
    numpy.testing.assert_array_equal(zarr.open_array(HexadStore(store, "run8"))[:], numpy.arange(5))


@pytest.mark.parametrize(
    "prefix", ["run7", "/run7", "run7/", "//run7//", pathlib.Path("run7"), pathlib.Path("/run7")]
)
def test_every_spelling_of_a_prefix_is_one_place(prefix, store):
    zarr.create_array(HexadStore(store, prefix), shape=(2,), dtype="i4")
    assert [e.name for e in store.list().entries] == ["run7/zarr.json"]
    assert HexadStore(store, prefix) == HexadStore(store, "run7")
    assert str(HexadStore(store, prefix)).endswith("/run7")
    assert HexadStore(store, "a//b").prefix == "a/b/"


def test_a_prefix_may_be_none_and_has_no_dots(store):
    assert HexadStore(store, None) == HexadStore(store) == HexadStore(store, "/")
    for prefix in ("..", "a/../b", "./a"):
        with pytest.raises(ValueError, match="between slashes"):
            HexadStore(store, prefix)
    for prefix in (7, b"a"):
        with pytest.raises(TypeError):
            HexadStore(store, prefix)


def read_one(array, queue):
    try:
        queue.put(int(array[7]))
    except Exception as error:  # pylint: disable=broad-exception-caught
        queue.put(repr(error))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("how", ["path", "open store", "url"])
def test_a_worker_process_reads_what_its_parent_has_read(how, method, tmp_path):
    path = make_pool(str(tmp_path))
    with hexad.open(path) as store:
        zarr.create_array(HexadStore(store, "z"), data=numpy.arange(10))
    given = hexad.open(path, read_only=True) if how == "open store" else None
    if how == "url":
        pytest.importorskip("fsspec")
        options = {"read_only": True}
        array = zarr.open_array(f"hexad://{path}/z", mode="r", storage_options=options)
    else:
        array = zarr.open_array(HexadStore(given or path, "z", read_only=True), mode="r")
    assert array[0] == 0
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=read_one, args=(array, queue))
    process.start()
    process.join()
    assert process.exitcode == 0 and queue.get() == 7
    assert array[8] == 8
    array.store.close()
    if given is not None:
        given.close()


def test_a_forked_worker_cannot_use_a_store_that_was_opened_for_writing(tmp_path):
    path = make_pool(str(tmp_path))
    with hexad.open(path) as store:
        array = zarr.create_array(HexadStore(store, "z"), data=numpy.arange(10))
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        process = context.Process(target=read_one, args=(array, queue))
        process.start()
        process.join()
        assert process.exitcode == 0 and "ForkedError" in queue.get()
        assert array[7] == 7


def test_names_that_look_like_patterns_are_literal(store):
    root = zarr.open_group(HexadStore(store), mode="w")
    for name in ("x[1]", "x1", "x*", "xy"):
        root.create_array(name, data=numpy.arange(3))
    del root["x[1]"]
    del root["x*"]
    assert sorted(root.array_keys()) == ["x1", "xy"]
    root.create_array("x?", data=numpy.arange(2), overwrite=True)
    assert sorted(root.array_keys()) == ["x1", "x?", "xy"]
    view = HexadStore(store)
    assert collected(view.list_prefix("x?/")) == ["x?/c/0", "x?/zarr.json"]
    assert collected(view.list_prefix("x")) == [e.name for e in store.list("x").entries]
    sync(view.delete_dir("x"))
    assert sorted(root.array_keys()) == ["x1", "x?", "xy"]
