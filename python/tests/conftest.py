"""Stores for the tests."""

import hexad
import pytest
from ecosystem_pools import temporary_pool


@pytest.fixture
def store():
    """In memory."""
    with hexad.in_memory(capacity="256 MiB") as made:
        yield made


@pytest.fixture
def pool(tmp_path):
    """The directory of a small pool on files."""
    path = tmp_path / "pool"
    hexad.format(path, devices=6, size="64 MiB", preset="tiny")
    return path


@pytest.fixture(scope="module")
def roomy():
    """The directory of a pool that the tests of one file share."""
    with temporary_pool() as path:
        yield path


@pytest.fixture
def fs(roomy):
    """hexad:// on it; empty again afterwards."""
    pytest.importorskip("fsspec")
    from hexad.fsspec import HexadFileSystem  # pylint: disable=import-outside-toplevel

    fs = HexadFileSystem(skip_instance_cache=True)
    yield fs
    fs.rm(roomy, recursive=True)
    fs.close()
