"""What is stored of a buffer is its values: addresses are refused, whoever is given them."""

import asyncio
import ctypes

import hexad
import pytest

np = pytest.importorskip("numpy")

OBJECTS = np.array(["one", 2, None], dtype=object)
ADDRESSES = {
    "objects": OBJECTS,
    "a view of objects": memoryview(OBJECTS),
    "records with an object": np.zeros(2, dtype=[("a:b", "i4"), ("o", object)]),
    "texts of any length": np.array(["a", "bc"], dtype=np.dtypes.StringDType()),
    "pointers": (ctypes.POINTER(ctypes.c_int) * 2)(),
    "untyped pointers": (ctypes.c_void_p * 2)(),
    "pointers to text": (ctypes.c_char_p * 2)(b"a", b"b"),
    "objects of ctypes": (ctypes.py_object * 2)(1, 2),
}
VALUES = {
    "floats": np.arange(3, dtype="f8"),
    "complex numbers": np.array([1 + 2j], dtype="c16"),
    "times": np.array(["2026-11-25"], dtype="M8[ns]"),
    "records": np.zeros(2, dtype=[("O", "i4"), ("P", "f8"), ("z", "S3")]),
    "texts of one length": np.array(["a", "bc"]),
    "booleans": np.array([True, False]),
    "a view": memoryview(b"abc"),
    "ctypes": (ctypes.c_int * 3)(1, 2, 3),
}

CALLS = {
    "put": lambda store, data: store.put("x", data),
    "put_many": lambda store, data: store.put_many({"x": data}),
    "put_many one by one": lambda store, data: store.put_many(iter([("x", data)])),
    "put_async": lambda store, data: asyncio.run(store.put_async("x", data)),
    "write": lambda store, data: store.write("x", 0, data),
    "append": lambda store, data: store.append("x", data),
    "mapping": lambda store, data: store.mapping().__setitem__("x", data),
    "mapping.update": lambda store, data: store.mapping().update(x=data),
    "writer": lambda store, data: store.open_writer("x").write(data),
}
OTHERS = {
    "attribute": lambda store, data: store.set_attr("there", "a", data),
    "attributes": lambda store, data: store.set_attrs("there", {"a": data}),
    "omap": lambda store, data: store.omap_set("there", {"a": data}),
    "writer's attribute": lambda store, data: store.open_writer("x").set_attr("a", data),
}


def borrowed(store, data):
    with store.transaction() as t:
        t.put("x", data, borrow=True)


@pytest.mark.filterwarnings("ignore::hexad.NotStoredWarning")
@pytest.mark.parametrize("what", ADDRESSES)
@pytest.mark.parametrize("call", [*CALLS, *OTHERS, "borrowed"])
def test_addresses_are_refused(call, what, store):
    store.put("there", b"")
    with pytest.raises(TypeError, match="addresses"):
        {**CALLS, **OTHERS, "borrowed": borrowed}[call](store, ADDRESSES[what])
    assert "x" not in store
    assert not store.attributes("there") and not dict(store.omap_items("there"))


def test_large_arrays_of_objects_are_refused(store):
    with pytest.raises(TypeError, match="addresses"):
        store.put("x", np.zeros(6 << 20, dtype=object))
    assert "x" not in store


@pytest.mark.parametrize("what", ADDRESSES)
def test_nothing_is_read_into_addresses(what, store):
    store.put("x", b"\xff" * 1000)
    into = ADDRESSES[what]
    with pytest.raises(TypeError, match="addresses"):
        store.get_into("x", into)
    with store.open_reader("x") as reader:
        with pytest.raises(TypeError, match="addresses"):
            reader.raw.readinto(into)


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("call", [c for c in CALLS if c != "writer"])
def test_values_are_stored_as_they_lie_in_memory(call, what, store):
    data = VALUES[what]
    wanted = data.tobytes() if hasattr(data, "tobytes") else bytes(data)
    if call != "put":
        store.put("x", b"")
    CALLS[call](store, data)
    assert store.get("x") == wanted


def test_what_has_many_dimensions_goes_in_pieces(store):
    data = np.random.default_rng(1).normal(size=(3, 1 << 20, 2)).astype("c8")
    seen = []
    store.put("x", data, progress=lambda done, _: seen.append(done))
    assert len(seen) == 3 and store.get("x") == data.tobytes()
    with pytest.raises(TypeError, match="contiguous"):
        store.put("y", data[:, ::2])


FILES = {
    "file.write": lambda fs, path, data: fs.open(path, "wb").write(data),
    "appending": lambda fs, path, data: fs.open(path, "ab").write(data),
    "compressed": lambda fs, path, data: fs.open(path, "wb", compression="gzip").write(data),
    "pipe": lambda fs, path, data: fs.pipe(path, data),
    "get_mapper": lambda fs, path, data: fs.get_mapper(path).__setitem__("x", data),
    "get_mapper.setitems": lambda fs, path, data: fs.get_mapper(path).setitems({"x": data}),
}


@pytest.mark.filterwarnings("ignore::hexad.NotStoredWarning")
@pytest.mark.parametrize("what", ADDRESSES)
@pytest.mark.parametrize("call", FILES)
def test_files_refuse_addresses(call, what, roomy, fs):
    with pytest.raises(TypeError, match="addresses"):
        FILES[call](fs, f"{roomy}/x", ADDRESSES[what])
    assert fs.find(roomy) == []


@pytest.mark.parametrize("what", ADDRESSES)
@pytest.mark.parametrize("size", [1000, 3 << 20])
def test_files_are_not_read_into_addresses(what, size, roomy, fs):
    fs.pipe(f"{roomy}/x", b"\xff" * size)
    with fs.open(f"{roomy}/x") as file:
        with pytest.raises(TypeError, match="addresses"):
            file.readinto(ADDRESSES[what])


def test_files_are_read_into_any_values(roomy, fs):
    fs.pipe(f"{roomy}/x", bytes(range(48)))
    for into in (np.zeros(2, "M8[ns]"), np.zeros((2, 1), "f8"), np.zeros(4, "i4"), bytearray(16)):
        with fs.open(f"{roomy}/x") as file:
            assert file.readinto(into) == 16
        assert getattr(into, "tobytes", lambda: bytes(into))() == bytes(range(16))
    with fs.open(f"{roomy}/x") as file:
        assert file.readinto(np.empty((0, 3))) == 0
        for wrong in (b"constant", np.zeros(4)[::2], "text"):
            with pytest.raises(TypeError):
                file.readinto(wrong)


@pytest.mark.parametrize("what", VALUES)
def test_files_take_values(what, roomy, fs):
    data = VALUES[what]
    wanted = data.tobytes() if hasattr(data, "tobytes") else bytes(data)
    fs.pipe(f"{roomy}/pipe", data)
    fs.get_mapper(roomy)["mapped"] = data
    for mode in ("wb", "ab"):
        with fs.open(f"{roomy}/{mode}", mode) as file:
            assert file.write(data) == len(wanted)
    for name in ("pipe", "mapped", "wb", "ab"):
        assert fs.cat(f"{roomy}/{name}") == wanted


def test_zarr_keeps_objects_as_values(store):
    zarr = pytest.importorskip("zarr")
    from hexad.zarr import HexadStore  # pylint: disable=import-outside-toplevel
    from zarr.core.buffer import cpu  # pylint: disable=import-outside-toplevel

    array = zarr.create_array(HexadStore(store), shape=3, dtype=str)
    array[:] = np.array(["one", "two", "three"], dtype=object)
    assert list(zarr.open_array(HexadStore(store))[:]) == ["one", "two", "three"]
    with pytest.raises((TypeError, ValueError)):
        zarr.create_array(HexadStore(store, "raw"), data=OBJECTS)

    class Addresses(cpu.Buffer):
        def as_buffer_like(self):
            return OBJECTS

    view = HexadStore(store)
    with pytest.raises(TypeError, match="addresses"):
        view.set_sync("k", Addresses.from_bytes(b""))
    with pytest.raises(TypeError, match="addresses"):
        asyncio.run(view.set("k", Addresses.from_bytes(b"")))
    assert "k" not in store


def test_the_warning_is_one_of_resources():
    assert issubclass(hexad.NotStoredWarning, ResourceWarning)
