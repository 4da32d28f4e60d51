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
    with pytest.raises(TypeError):
        store.put("x", b"", durable=value)
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


def test_how_many_devices_may_be_a_number_of_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    hexad.format(tmp_path / "p", devices=numpy.int64(6), size="64 MiB", preset="tiny")
    hexad.open(tmp_path / "p").close()


@pytest.mark.parametrize("hint", [5, b"immutable", [5], [b"immutable"], object()])
def test_a_hint_that_is_no_text(hint, store):
    with pytest.raises(TypeError):
        store.put("x", b"1", hint=hint)
    assert "x" not in store


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
