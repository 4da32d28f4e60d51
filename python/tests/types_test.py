"""What has another type than it should have is a TypeError that names it."""

import pathlib

import hexad
import pytest

WRONG = [1, 0, "w", "False", None, b"", 1.0]


@pytest.mark.parametrize("value", WRONG)
def test_a_word_in_place_of_true_or_false(value, pool, store, tmp_path):
    calls = {
        "read_only": lambda: hexad.open(pool, value),
        "force": lambda: hexad.format(tmp_path / "new", devices=6, force=value),
        "deep": lambda: store.fsck(deep=value),
        "repair": lambda: store.fsck(repair=value),
        "reverse": lambda: store.list(reverse=value),
        "exist_ok": lambda: store.create_collection("c", exist_ok=value),
        "recursive": lambda: store.remove_collection("default", recursive=value),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"{name}: True or False is wanted"):
            call()
    assert not (tmp_path / "new").exists()
    for call in (
        lambda: store.put("x", b"", durable=value),
        lambda: store.put_many({"x": b""}, durable=value),
        lambda: store.put_async("x", b"", durable=value),
        lambda: store.transaction(durable=value),
    ):
        with pytest.raises(TypeError, match="durable: True or False is wanted"):
            call()
    for call in (store.commit, store.commit_async):
        with pytest.raises(TypeError, match="a hexad.Transaction is wanted"):
            call(value)
    assert list(store) == []


@pytest.mark.parametrize("value", WRONG)
def test_a_word_in_place_of_true_or_false_of_the_two_doors(value, pool):
    fsspec = pytest.importorskip("fsspec")
    with pytest.raises(TypeError, match="read_only"):
        fsspec.filesystem("hexad", read_only=value, skip_instance_cache=True)
    zarr = pytest.importorskip("hexad.zarr")
    with pytest.raises(TypeError, match="read_only"):
        zarr.HexadStore(pool, read_only=value)


def test_what_numpy_calls_true_is_true(pool, store):
    numpy = pytest.importorskip("numpy")
    with hexad.open(pool, read_only=numpy.True_) as opened:
        assert opened.read_only is True
    with hexad.open(pool, read_only=numpy.False_) as opened:
        assert opened.read_only is False
    assert store.fsck(deep=numpy.bool_(True))["errors"] == 0
    store.put("x", b"1", durable=numpy.True_)


def test_how_many_devices_may_be_a_number_of_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    hexad.format(tmp_path / "p", devices=numpy.int64(6), size="64 MiB", preset="tiny")
    hexad.open(tmp_path / "p").close()


@pytest.mark.parametrize("hint", [5, b"immutable", [5], [b"immutable"], object()])
def test_a_hint_that_is_no_text(hint, store):
    with pytest.raises(TypeError, match="^hint: "):
        store.put("x", b"1", hint=hint)
    assert "x" not in store


def test_one_in_place_of_several(store):
    store.put("x", b"123")
    for value in (5, "x", b"x", None, 1.0):
        for call, words in (
            (store.get_many, "names: several are wanted, not "),
            (lambda v: store.get_ranges("x", v), "ranges: pairs are wanted, not "),
            (lambda v: store.omap_get_many("x", v), "keys: several are wanted, not "),
            (store.put_many, "items: a dict, or pairs of name and data, are wanted, not "),
        ):
            with pytest.raises(TypeError, match=f"^{words}{type(value).__name__}"):
                call(value)
    assert [entry.name for entry in store.iterate()] == ["x"]


@pytest.mark.parametrize("pair", [5, "ab", b"ab", None, (), ("a",), [0, 1, 2], {0: 1, 2: 3}])
def test_what_is_no_pair(store, pair):
    store.put("x", b"123")
    with pytest.raises(TypeError, match="^ranges: a pair of offset and length is wanted, not "):
        store.get_ranges("x", [(0, 1), pair])
    with pytest.raises(TypeError, match="^items: a pair of name and data is wanted, not "):
        store.put_many([("y", b"1"), pair])
    assert store.get_ranges("x", [[0, 1], (2, 1)]) == [b"1", b"3"]
    assert store.put_many([["y", b"2"]]) == 1 and store.get("y") == b"2"


def test_what_an_omap_takes(store):
    store.put("x", b"")
    store.omap_set("x", [("a", b"1")])
    assert dict(store.omap_items("x")) == {"a": b"1"}
    for wrong in (None, 5):
        for call in (store.omap_set, store.set_attrs):
            with pytest.raises(TypeError):
                call("x", wrong)


@pytest.mark.parametrize("call", ["scrub", "catch_up"])
def test_a_rate_that_is_none(store, call):
    for rate in ("fast", 1.5, True):
        with pytest.raises(TypeError, match="^rate: bytes per second are wanted, not "):
            getattr(store, call)(rate=rate)
    for rate in (0, -1, 2**70):
        with pytest.raises(hexad.InvalidArgumentError, match="rate"):
            getattr(store, call)(rate=rate)


def test_numbers_that_nothing_has(store):
    for size in (-1, 2**70):
        with pytest.raises(hexad.InvalidArgumentError, match="^object_size .* is out of range"):
            store.room_for(size)
    for call in (store.can_offline, store.clear_device_errors):
        for number in (-1, 2**70):
            with pytest.raises(hexad.InvalidArgumentError, match="^the number of a device "):
                call([number])
        with pytest.raises(TypeError, match="an integer is wanted, not str"):
            call(["0"])
    with pytest.raises(TypeError, match="^object_size: an integer is wanted, not str"):
        store.room_for("4096")


def test_the_prefix_of_a_mapping(store):
    for prefix in (5, b"a/", None):
        with pytest.raises(TypeError, match="^prefix: str is wanted"):
            store.mapping(prefix)


def test_arguments_are_looked_at_before_the_pool(tmp_path):
    with pytest.raises(TypeError, match="^wait: "):
        hexad.open(tmp_path / "none", wait="x")


def test_options_are_looked_at_before_the_pool(pool, tmp_path):
    for where in (tmp_path / "none", pool):
        with hexad.open(pool, read_only=True):  # of which other options are another error
            with pytest.raises(hexad.InvalidArgumentError, match="no option 'cache'"):
                hexad.open(where, cache=5)
            with pytest.raises(hexad.InvalidArgumentError, match='^cache_size: "huge" is not a size'):
                hexad.open(where, cache_size="huge")
            with pytest.raises(TypeError, match="cache_size"):
                hexad.open(where, cache_size=1.5)


@pytest.mark.parametrize("call", [hexad.open, hexad.inspect])
def test_a_directory_that_is_no_pool(call, tmp_path):
    for where in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match=r"is no pool.*hexad.format\(\) makes") as caught:
            call(where)
        assert isinstance(caught.value, hexad.NotFoundError) and caught.value.object == str(where)
        assert "devices=[...]" in caught.value.hint


def test_collections_and_prefixes_of_the_two_doors(pool):
    fsspec = pytest.importorskip("fsspec")
    zarr = pytest.importorskip("hexad.zarr")
    for value in (5, ["a"], 1.0):
        with pytest.raises(TypeError, match="^collection: "):
            fsspec.filesystem("hexad", collection=value, skip_instance_cache=True)
        with pytest.raises(TypeError, match="^collection: "):
            zarr.HexadStore(pool, collection=value)
        with pytest.raises(TypeError, match="^prefix: "):
            zarr.HexadStore(pool, value)
    shown = repr(zarr.HexadStore(pool, "run", read_only=True, collection="c"))
    assert shown == f"HexadStore('hexad://{pool}/run', collection='c', read_only=True)"


def test_everything_public_says_what_it_does():
    silent = [
        f"{kind.__name__}.{name}"
        for kind in (hexad.Store, hexad.StoreMapping, hexad.Transaction, hexad.Stat, hexad.Page)
        for name in dir(kind)
        if not name.startswith("_") and not getattr(kind, name).__doc__
    ]
    silent += [name for name in hexad.__all__ if not getattr(hexad, name).__doc__]
    assert silent == [] and len(set(hexad.__all__)) == len(hexad.__all__)


OPTIONS = {
    "size": [1.5, [], {}],
    "preset": [1, True, b"tiny".hex],
    "profile": [42, ["4+2"]],
    "codec": [1],
    "compression": [1, True],
    "checksum": [32],
    "devices": [None, 6.0, [1, 2], {1: 2}],
    "fast": [5, [None]],
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_another_type(option, tmp_path):
    for value in OPTIONS[option]:
        given = {"devices": 6, option: value}
        with pytest.raises(TypeError):
            hexad.format(tmp_path / "p", **given)
        assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("where", [None, 5, object(), {}, b"x"])
def test_a_store_of_zarr_on_something_else(where):
    zarr = pytest.importorskip("hexad.zarr")
    with pytest.raises(TypeError, match="store"):
        zarr.HexadStore(where)


def test_prefixes_as_the_stores_of_zarr_take_them(store):
    zarr = pytest.importorskip("hexad.zarr")
    for prefix in ("/run7", "run7/", "run7", pathlib.Path("run7"), pathlib.Path("/run7")):
        assert zarr.HexadStore(store, prefix) == zarr.HexadStore(store, "run7")
    assert zarr.HexadStore(store, None) == zarr.HexadStore(store)
    for wrong in (5, b"run7", ["run7"]):
        with pytest.raises(TypeError, match="prefix|PathLike"):
            zarr.HexadStore(store, wrong)
