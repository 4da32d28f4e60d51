"""fsspec's own tests of a filesystem, over hexad://."""

import os

import pytest

pytest.importorskip("fsspec")

# pylint: disable=wrong-import-position,redefined-outer-name
from ecosystem_pools import temporary_pool
from fsspec.tests import abstract
from hexad.fsspec import HexadFileSystem


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


class Fixtures(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self, pool):
        fs = HexadFileSystem(skip_instance_cache=True)
        yield fs
        fs.rm(pool, recursive=True)
        fs.close()

    @pytest.fixture
    def fs_path(self, pool):
        return pool

    @pytest.fixture
    def fs_join(self):
        return os.path.join

    @pytest.fixture
    def supports_empty_directories(self):
        return True


class TestCopy(abstract.AbstractCopyTests, Fixtures):
    pass


class TestGet(abstract.AbstractGetTests, Fixtures):
    pass


class TestPut(abstract.AbstractPutTests, Fixtures):
    pass


class TestOpen(abstract.AbstractOpenTests, Fixtures):
    pass


class TestPipe(abstract.AbstractPipeTests, Fixtures):
    pass
