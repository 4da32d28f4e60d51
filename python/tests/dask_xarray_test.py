"""Dask and xarray on a pool, as they are."""

import pytest

fsspec = pytest.importorskip("fsspec")
zarr = pytest.importorskip("zarr")
dask = pytest.importorskip("dask")
xarray = pytest.importorskip("xarray")

# pylint: disable=wrong-import-position,redefined-outer-name
import dask.array
import dask.bag
import hexad
import numpy
from ecosystem_pools import temporary_pool
from hexad.fsspec import HexadFileSystem
from hexad.zarr import HexadStore

fsspec.register_implementation("hexad", HexadFileSystem, clobber=True)


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


@pytest.fixture
def store(pool):
    with hexad.open(pool) as store:
        yield store
        store.remove_prefix("")
    HexadFileSystem.clear_instance_cache()


def dataset():
    return xarray.Dataset(
        {"temperature": (("time", "place"), numpy.arange(600.0).reshape(30, 20))},
        coords={"time": numpy.arange(30), "place": numpy.arange(20)},
        attrs={"unit": "K"},
    )


def test_xarray_writes_and_reads_a_store(store):
    dataset().to_zarr(HexadStore(store, "weather"), consolidated=False)
    found = xarray.open_zarr(HexadStore(store, "weather", read_only=True), consolidated=False)
    xarray.testing.assert_identical(found.load(), dataset())


def test_xarray_appends_to_a_store(store):
    dataset().to_zarr(HexadStore(store, "weather"), consolidated=False)
    more = dataset().assign_coords(time=numpy.arange(30, 60))
    more.to_zarr(HexadStore(store, "weather"), append_dim="time", consolidated=False)
    found = xarray.open_zarr(HexadStore(store, "weather"), consolidated=False)
    assert found.sizes["time"] == 60
    assert float(found.temperature.sel(time=59, place=19)) == 599


def test_xarray_reads_and_writes_urls(pool, store):
    dataset().to_zarr(f"hexad://{pool}/weather", consolidated=False)
    found = xarray.open_zarr(f"hexad://{pool}/weather", consolidated=False)
    xarray.testing.assert_identical(found.load(), dataset())
    assert store.exists("weather/zarr.json")


def test_dask_writes_and_reads_arrays_on_threads(store):
    data = dask.array.arange(100_000, chunks=10_000).reshape(100, 1000)
    zarr_array = zarr.create_array(
        HexadStore(store, "a"), shape=data.shape, chunks=data.chunksize, dtype=data.dtype
    )
    data.store(zarr_array, lock=False)
    found = dask.array.from_zarr(zarr.open_array(HexadStore(store, "a", read_only=True)))
    assert int(found.sum().compute(scheduler="threads")) == sum(range(100_000))


def test_dask_reads_and_writes_text_by_url(pool, store):
    bag = dask.bag.from_sequence([f"line {i}" for i in range(100)], npartitions=4)
    with dask.config.set(scheduler="threads"):
        bag.to_textfiles(f"hexad://{pool}/text/*.txt")
        names = [entry.name for entry in store.iterate("text/")]
        assert names == ["text/"] + [f"text/{i}.txt" for i in range(4)]
        found = dask.bag.read_text(f"hexad://{pool}/text/*.txt").map(str.strip).compute()
    assert found == [f"line {i}" for i in range(100)]
