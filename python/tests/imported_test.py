"""Objects that `hexad import` has stored, changed and copied through file systems: what they remember
of the file that they were is true of what was imported, and of nothing else."""

import asyncio
import os

import hexad
import pytest
from ecosystem_pools import make_pool, temporary_pool

pytest.importorskip("fsspec")

# pylint: disable=wrong-import-position,redefined-outer-name
from hexad.fsspec import HexadFile, HexadFileSystem

FILE = {
    "posix.type": b"file",
    "posix.mode": b"4755",
    "posix.mtime_ns": b"1000000000",
    "posix.uid": b"0",
    "posix.link": b"group-1",
    "posix.xattr.security.capability": b"may do all",
    "posix.xattrs": b"1",
}
OTHERS = {"mine": b"of an application", "posixly": b"not one of those"}


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


@pytest.fixture
def fs(pool):
    fs = HexadFileSystem(skip_instance_cache=True)
    yield fs
    fs.close()


@pytest.fixture
def store(pool, fs):
    with hexad.open(pool) as store:
        with store.transaction() as transaction:
            transaction.put("f", b"as imported")
            transaction.remove_attrs("f")
            transaction.omap_clear("f")
            transaction.set_attrs("f", {**FILE, **OTHERS})
            transaction.omap_set("f", {"posix.xattr.user.long": b"v", "posix": b"of mine"})
        yield store


def write_in_transaction(fs, path):
    with fs.transaction:
        with fs.open(path, "wb") as file:
            file.write(b"other bytes")


def write_large(fs, path):
    with fs.open(path, "wb") as file:
        file.write(b"x" * (3 * HexadFile.DEFAULT_BLOCK_SIZE))


def append(fs, path):
    with fs.open(path, "ab") as file:
        file.write(b"more")


def put_file(fs, path):
    fs.put_file(__file__, path)


WRITES = {
    "pipe": lambda fs, path: fs.pipe(path, b"other bytes"),
    "pipe of much": lambda fs, path: fs.pipe(path, b"x" * (9 << 20)),
    "pipe, a mapping": lambda fs, path: fs.pipe({path: b"other bytes"}),
    "text": lambda fs, path: fs.write_text(path, "other bytes"),
    "a mapper": lambda fs, path: fs.get_mapper(path[:-2]).__setitem__("f", b"other bytes"),
    "touch": lambda fs, path: fs.touch(path),
    "open": write_large,
    "append": append,
    "in a transaction": write_in_transaction,
    "put": put_file,
}


def assert_is_no_file_of_then(store):
    assert store.attributes("f") == OTHERS
    assert dict(store.omap_items("f")) == {"posix": b"of mine"}


@pytest.mark.parametrize("way", WRITES)
def test_what_is_written_over_an_imported_file_has_not_its_time_nor_its_names(way, pool, fs, store):
    # An export --update goes by the time: with the old one it kept a local file of the same size.
    WRITES[way](fs, f"{pool}/f")
    assert_is_no_file_of_then(store)


@pytest.mark.parametrize("large", [False, True])
def test_what_zarr_sets_over_an_imported_chunk_has_not_its_time(large, store):
    pytest.importorskip("zarr")
    from hexad.zarr import HexadStore  # pylint: disable=import-outside-toplevel
    from zarr.core.buffer import default_buffer_prototype  # pylint: disable=import-outside-toplevel

    value = b"c" * ((9 << 20) if large else 11)
    buffer = default_buffer_prototype().buffer.from_bytes(value)
    asyncio.run(HexadStore(store).set("f", buffer))
    assert_is_no_file_of_then(store)
    assert store.get("f") == value


@pytest.mark.parametrize("recursive", [False, True])
def test_a_copy_of_one_name_of_a_file_is_a_file_of_its_own(recursive, pool, fs, store):
    # An export made it a hard link of the file: a change of one was one of the other.
    fs.cp(f"{pool}/f", f"{pool}/copy", recursive=recursive)
    expected = {k: v for k, v in {**FILE, **OTHERS}.items() if k != "posix.link"}
    assert store.attributes("copy") == expected
    assert store.attributes("f") == {**FILE, **OTHERS}
    assert store.get("copy") == b"as imported"


def test_so_is_one_in_another_pool_and_what_is_moved_stays_what_it_is(pool, fs, store, tmp_path):
    other = make_pool(os.fspath(tmp_path))
    fs.cp(f"{pool}/f", f"{other}/copy")
    fs.mv(f"{pool}/f", f"{other}/moved")
    with hexad.open(other) as there:
        assert "posix.link" not in there.attributes("copy")
        assert there.attributes("moved") == {**FILE, **OTHERS}
        assert dict(there.omap_items("moved")) == {"posix.xattr.user.long": b"v", "posix": b"of mine"}
    assert not store.exists("f")


def test_a_program_that_clones_takes_every_attribute_along(store):
    store.clone("f", "copy", to_collection="default")
    assert store.attributes("copy") == {**FILE, **OTHERS}
