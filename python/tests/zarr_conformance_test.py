"""zarr's own tests of a store, over HexadStore: by path, behind a prefix, and on an open store."""

import inspect

import pytest

pytest.importorskip("zarr")
pytest_asyncio = pytest.importorskip("pytest_asyncio")

# pylint: disable=wrong-import-position,redefined-outer-name
import hexad
from ecosystem_pools import temporary_pool
from hexad.zarr import HexadStore
from zarr.core.buffer import cpu
from zarr.testing.store import StoreTests

for _name, _test in vars(StoreTests).items():
    if _name.startswith("test_") and inspect.iscoroutinefunction(_test):
        pytest.mark.asyncio(_test)


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


class Tracked(HexadStore):
    """zarr's tests leave stores open; these are closed after each."""

    made = []

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.made.append(self)


class Suite(StoreTests):
    store_cls = Tracked
    buffer_cls = cpu.Buffer
    prefix = ""

    async def set(self, store, key, value):
        with hexad.open(self.path) as pool:
            pool.put(self.name(key), value.to_bytes())

    async def get(self, store, key):
        with hexad.open(self.path) as pool:
            return self.buffer_cls.from_bytes(pool.get(self.name(key)))

    def name(self, key):
        return f"{self.prefix}/{key}" if self.prefix else key

    @pytest.fixture(autouse=True)
    def empty(self, pool):
        type(self).path = pool
        yield
        while Tracked.made:
            Tracked.made.pop().close()
        with hexad.open(pool) as store:
            store.remove_prefix("")

    @pytest.fixture
    def store_kwargs(self, pool):
        return {"store": pool, "prefix": self.prefix}

    @pytest_asyncio.fixture
    async def store(self, open_kwargs):
        return await self.store_cls.open(**open_kwargs)

    @pytest_asyncio.fixture
    async def store_not_open(self, store_kwargs):
        return self.store_cls(**store_kwargs)

    def test_store_repr(self, store):
        end = f"/{self.prefix}" if self.prefix else ""
        assert repr(store) == f"HexadStore('hexad://{self.path}{end}')"

    def test_store_supports_writes(self, store):
        assert store.supports_writes

    def test_store_supports_listing(self, store):
        assert store.supports_listing


class TestByPath(Suite):
    pass


class TestBehindPrefix(Suite):
    prefix = "some/where"


class TestOpenStore(Suite):
    @pytest.fixture
    def store_kwargs(self, pool):
        with hexad.open(pool) as store:
            yield {"store": store, "prefix": self.prefix}
