"""hexad:// beyond fsspec's own tests: which pool a path means, and all or nothing."""

import importlib.metadata
import io
import os
import pickle
import subprocess
import sys

import pytest

fsspec = pytest.importorskip("fsspec")

# pylint: disable=wrong-import-position,redefined-outer-name
import hexad
from ecosystem_pools import make_pool, temporary_pool
from hexad.fsspec import HexadFile, HexadFileSystem

fsspec.register_implementation("hexad", HexadFileSystem, clobber=True)

LARGE = os.urandom(3 * HexadFile.DEFAULT_BLOCK_SIZE + 17)


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


@pytest.fixture
def fs(pool):
    fs = HexadFileSystem(skip_instance_cache=True)
    yield fs
    fs.rm(pool, recursive=True)
    fs.close()


@pytest.fixture
def store(pool, fs):  # the file system has it open, and lets go later
    with hexad.open(pool) as store:
        yield store


# Reading


@pytest.mark.parametrize("cache", ["readahead", "none", "bytes", "all"])
def test_pieces_small_and_large_read_in_any_order(pool, fs, cache):
    fs.pipe_file(f"{pool}/large", LARGE)
    block = HexadFile.DEFAULT_BLOCK_SIZE
    with fs.open(f"{pool}/large", "rb", cache_type=cache) as file:
        for start in (0, 5, block - 1, 2 * block, len(LARGE) - 3, len(LARGE), len(LARGE) + 9):
            for length in (0, 1, block - 1, block, block + 1, 2 * block, 10 * block, -1):
                assert file.seek(start) == start
                wanted = LARGE[start:] if length < 0 else LARGE[start : start + length]
                assert file.read(length) == wanted
                assert file.tell() == start + len(wanted)
                after = start + len(wanted)
                assert file.read(3) == LARGE[after : after + 3]
        file.seek(7)
        assert file.read(None) == LARGE[7:]
        for length in (5, block, 3 * block + 50):
            into = bytearray(length)
            file.seek(11)
            assert file.readinto(into) == len(LARGE[11 : 11 + length])
            assert into.rstrip(b"\0") == LARGE[11 : 11 + length].rstrip(b"\0")
            assert file.read(3) == LARGE[11 + length : 14 + length]
    with pytest.raises(ValueError):
        file.read(block)


# Paths


def test_a_url_names_the_pool_and_the_object(pool, fs):
    with fsspec.open(f"hexad://{pool}/run7/weights", "wb") as file:
        file.write(b"numbers")
    assert fs.cat(f"hexad://{pool}/run7/weights") == b"numbers"
    assert fs.unstrip_protocol(f"{pool}/x") == f"hexad://{pool}/x"
    HexadFileSystem.clear_instance_cache()


def test_the_package_registers_the_protocol():
    try:
        entries = importlib.metadata.distribution("hexad").entry_points
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("hexad is not installed, only importable")
    found = [e.value for e in entries if (e.group, e.name) == ("fsspec.specs", "hexad")]
    assert found == ["hexad.fsspec:HexadFileSystem"]


def test_the_pool_is_the_shortest_leading_directory_with_a_description(pool, fs, store):
    inner = os.path.join(pool, "inner")
    os.makedirs(inner)
    with open(os.path.join(inner, "hexad.pool"), "w", encoding="utf-8") as description:
        description.write("hexad pool 1\n")
    try:
        fs.pipe(f"{inner}/object", b"x")
        assert store.get("inner/object") == b"x"
    finally:
        os.remove(os.path.join(inner, "hexad.pool"))
        os.rmdir(inner)


def test_a_directory_named_as_a_description_is_none(tmp_path, fs):
    (tmp_path / "hexad.pool").mkdir()
    with pytest.raises(FileNotFoundError):
        fs.ls(str(tmp_path))


def test_relative_paths_begin_at_the_current_directory(pool, fs, store, monkeypatch):
    monkeypatch.chdir(os.path.dirname(pool))
    fs.pipe("hexad://pool/a", b"1")
    assert store.get("a") == b"1"
    monkeypatch.chdir(pool)
    assert fs.cat("a") == b"1"


@pytest.mark.parametrize("name", ["a//b", "/a", "a/../b", "./a", " ", "\u00e4/\U0001f600"])
def test_names_are_taken_as_they_are(name, pool, fs, store):
    fs.pipe(f"{pool}/{name}", b"x")
    assert [e.name for e in store.list().entries] == [name]
    assert fs.cat(f"{pool}/{name}") == b"x"
    assert fs.find(pool) == [f"{pool}/{name}"]
    fs.rm(f"{pool}/{name}")
    assert not store.exists(name)


def test_without_a_pool_nothing_is_there(tmp_path, fs):
    path = str(tmp_path / "x")
    assert not fs.exists(path)
    assert fs.find(path) == []
    for call in (fs.cat, fs.ls, fs.info, fs.rm):
        with pytest.raises(FileNotFoundError):
            call(path)
    with pytest.raises(FileNotFoundError):
        fs.pipe(path, b"x")


def test_the_pool_itself_is_a_directory(pool, fs):
    assert fs.ls(pool) == []
    assert fs.isdir(pool)
    writes = [lambda path: fs.pipe(path, b""), lambda path: fs.open(path, "wb")]
    for call in [fs.cat, fs.open, *writes]:
        with pytest.raises(IsADirectoryError):
            call(pool)


# Directories


def test_an_object_and_a_directory_may_have_one_name(pool, fs):
    fs.pipe({f"{pool}/a": b"1", f"{pool}/a/b": b"22", f"{pool}/a-c": b""})
    assert fs.info(f"{pool}/a")["type"] == "file"
    assert fs.ls(f"{pool}/a", detail=False) == [f"{pool}/a/b"]
    assert fs.find(pool) == [f"{pool}/a", f"{pool}/a-c", f"{pool}/a/b"]
    assert fs.du(pool) == 3
    fs.rm(f"{pool}/a", recursive=True)
    assert fs.find(pool) == [f"{pool}/a-c"]


def test_find_with_directories_is_what_walking_finds(pool, fs):
    names = ["a", "b/c/d", "b/c/e", "b/f", "g/h", "i"]
    fs.pipe({f"{pool}/{name}": name.encode() for name in names})
    fs.mkdir(f"{pool}/empty")
    walked = [pool]
    for top, directories, files in fs.walk(pool):
        walked += [f"{top}/{name}" for name in directories + files]
    assert fs.find(pool, withdirs=True) == sorted(walked)
    assert fs.find(f"{pool}/b", withdirs=True, maxdepth=1) == [
        f"{pool}/b",
        f"{pool}/b/c",
        f"{pool}/b/f",
    ]
    assert fs.glob(f"{pool}/**/d") == [f"{pool}/b/c/d"]


def test_an_empty_directory_is_an_object_that_ends_in_a_slash(pool, fs, store):
    fs.mkdir(f"{pool}/empty")
    assert [e.name for e in store.list().entries] == ["empty/"]
    assert fs.isdir(f"{pool}/empty")
    assert fs.ls(f"{pool}/empty") == []
    assert fs.ls(pool, detail=False) == [f"{pool}/empty"]
    assert fs.find(pool) == []
    with pytest.raises(FileExistsError):
        fs.mkdir(f"{pool}/empty")
    fs.makedirs(f"{pool}/empty", exist_ok=True)
    fs.pipe(f"{pool}/empty/x", b"")
    with pytest.raises(OSError, match="not empty"):
        fs.rmdir(f"{pool}/empty")
    fs.rm(f"{pool}/empty/x")
    fs.rmdir(f"{pool}/empty")
    assert not fs.exists(f"{pool}/empty")


def test_listings_are_whole_whatever_their_length(pool, fs, store):
    store.put_many([(f"many/{i:04}/x", b"x") for i in range(2500)])
    assert len(fs.ls(f"{pool}/many")) == 2500
    assert len(fs.find(f"{pool}/many")) == 2500


def test_removing_says_what_is_missing_or_a_directory(pool, fs):
    fs.pipe(f"{pool}/a/b", b"")
    with pytest.raises(FileNotFoundError):
        fs.rm(f"{pool}/missing")
    with pytest.raises(FileNotFoundError):
        fs.rm(f"{pool}/missing", recursive=True)
    with pytest.raises(IsADirectoryError):
        fs.rm(f"{pool}/a")
    with pytest.raises(IsADirectoryError):
        fs.rm_file(f"{pool}/a")
    assert fs.find(pool) == [f"{pool}/a/b"]


def test_patterns_remove_what_they_match(pool, fs):
    fs.pipe({f"{pool}/{name}": b"" for name in ("a1", "a2", "b1", "a3/x")})
    fs.rm(f"{pool}/a?", recursive=True)
    assert fs.find(pool) == [f"{pool}/b1"]


def test_each_collection_has_files_of_its_own(pool, fs, store):
    store.create_collection("other", exist_ok=True)
    other = HexadFileSystem(collection="other", skip_instance_cache=True)
    with other.transaction:
        other.pipe({f"{pool}/d/a": b"1", f"{pool}/d/b": LARGE})
    other.cp(f"{pool}/d/a", f"{pool}/d/c")
    other.mv(f"{pool}/d/a", f"{pool}/d/e")
    with other.open(f"{pool}/d/c", "ab") as file:
        file.write(b"2")
    assert other.cat(f"{pool}/d/c") == b"12"
    assert other.cat_ranges([f"{pool}/d/b"], 1, 3) == [LARGE[1:3]]
    assert other.ls(f"{pool}/d", detail=False) == [f"{pool}/d/{name}" for name in "bce"]
    assert fs.find(pool) == []
    other.rm(pool, recursive=True)
    assert other.find(pool) == []
    other.close()


# Reading


def test_ranges_count_from_either_end(pool, fs):
    data = bytes(range(100))
    path = f"{pool}/data"
    fs.pipe(path, data)
    bounds = [None, 0, 1, 50, 99, 100, 200, -1, -99, -100, -200]
    for start in bounds:
        for end in bounds:
            assert fs.cat_file(path, start, end) == data[start:end], (start, end)


def test_many_ranges_are_read_together(pool, fs):
    fs.pipe({f"{pool}/a": b"0123456789", f"{pool}/b": b"abcdef"})
    a, b, missing = f"{pool}/a", f"{pool}/b", f"{pool}/missing"
    found = fs.cat_ranges([a, b, a, a, missing, b], [0, 1, 8, -2, 0, None], [2, 3, 20, None, 1, 2])
    assert found[:4] + found[5:] == [b"01", b"bc", b"89", b"89", b"ab"]
    assert isinstance(found[4], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges([missing], 0, 1, on_error="raise")
    numpy = pytest.importorskip("numpy")
    assert fs.cat_ranges([a, a], numpy.array([0, 8]), (2, 1 << 63)) == [b"01", b"89"]


def test_an_open_file_shows_one_version(pool, fs):
    path = f"{pool}/changing"
    fs.pipe(path, LARGE)
    with fs.open(path, cache_type="none") as file:
        assert file.read(10) == LARGE[:10]
        fs.pipe(path, b"short")
        file.seek(-10, os.SEEK_END)
        assert file.read() == LARGE[-10:]
    assert fs.cat(path) == b"short"


def test_info_has_version_and_time(pool, fs):
    path = f"{pool}/x"
    fs.pipe(path, b"1")
    first, key = fs.info(path), fs.ukey(path)
    fs.pipe(path, b"2")
    assert fs.info(path)["version"] > first["version"]
    assert fs.ukey(path) != key
    assert fs.modified(path).timestamp() == pytest.approx(
        fs.info(path)["mtime"], rel=0, abs=1e-3
    )
    assert fs.modified(path).year >= 2020
    with pytest.raises(IsADirectoryError):
        fs.modified(pool)


def test_an_open_file_and_its_file_system_survive_pickling(pool, fs):
    fs.pipe(f"{pool}/x", b"0123456789")
    with fs.open(f"{pool}/x") as file:
        file.seek(4)
        with pickle.loads(pickle.dumps(file)) as other:
            assert other.read() == b"456789"
    other.fs.close()
    HexadFileSystem.clear_instance_cache()


# Writing


@pytest.mark.parametrize("data", [b"", b"small", LARGE], ids=["empty", "small", "large"])
def test_nothing_shows_before_a_file_is_closed(data, pool, fs):
    path = f"{pool}/x"
    with fs.open(path, "wb") as file:
        for i in range(0, len(data), 100_000):
            file.write(data[i : i + 100_000])
        assert not fs.exists(path)
    assert fs.cat(path) == data
    with fs.open(path) as file:
        assert file.read() == data


@pytest.mark.parametrize("block_size", [1, 10, 1 << 30])
def test_any_block_size_writes_and_reads_the_same(block_size, pool, fs):
    path = f"{pool}/x"
    data = os.urandom(3000)
    for mode in ("wb", "ab"):
        with fs.open(path, mode, block_size=block_size) as file:
            for i in range(0, 3000, 700):
                file.write(data[i : i + 700])
    with fs.open(path, block_size=block_size) as file:
        assert file.read(1500) + file.read() == 2 * data


def test_what_no_transaction_holds_is_written_all_the_same(pool, fs):
    data = bytes(70 << 20)
    fs.pipe(f"{pool}/pipe", data)
    with fs.transaction:
        for i in range(3):
            fs.pipe(f"{pool}/together{i}", data[: 30 << 20])
    with fs.open(f"{pool}/append", "ab") as file:
        file.write(data)
    sizes = fs.du(pool, total=False)
    assert sorted(size >> 20 for size in sizes.values()) == [30, 30, 30, 70, 70]


def test_a_mode_that_objects_do_not_have_is_refused(pool, fs):
    fs.pipe(f"{pool}/x", b"1")
    for mode in ("r+b", "w+b", "a+b"):
        with pytest.raises(io.UnsupportedOperation, match="not both"):
            fs.open(f"{pool}/x", mode)


@pytest.mark.parametrize("data", [b"small", LARGE], ids=["small", "large"])
@pytest.mark.parametrize("mode", ["wb", "xb"])
def test_an_exception_leaves_the_object_as_it_was(mode, data, pool, fs):
    path = f"{pool}/x"
    with pytest.raises(ZeroDivisionError):
        with fs.open(path, mode) as file:
            file.write(data)
            raise ZeroDivisionError
    assert not fs.exists(path)


def test_an_exception_leaves_nothing_of_a_text_file_either(pool, fs):
    path = f"{pool}/text"
    with pytest.raises(ZeroDivisionError):
        with fs.open(path, "w", encoding="utf-8") as file:
            file.write("half a line")
            raise ZeroDivisionError
    assert not fs.exists(path)
    with fs.open(path, "w", encoding="utf-8") as file:
        file.write("gr\u00fcn\n")
    with fs.open(path, "r", encoding="utf-8") as file:
        assert list(file) == ["gr\u00fcn\n"]


def test_a_file_that_is_never_closed_leaves_nothing(pool, fs):
    file = fs.open(f"{pool}/x", "wb")
    file.write(LARGE)
    with pytest.warns(ResourceWarning, match="not closed"):
        file.__del__()
    assert not fs.exists(f"{pool}/x")


@pytest.mark.parametrize("data", [b"mine", LARGE], ids=["small", "large"])
def test_exclusive_creation_loses_against_whoever_was_first(data, pool, fs, store):
    path = f"{pool}/x"
    file = fs.open(path, "xb")
    file.write(data)
    store.put("x", b"theirs")
    with pytest.raises(FileExistsError):
        file.close()
    assert fs.cat(path) == b"theirs"
    with pytest.raises(FileExistsError):
        fs.pipe(path, b"mine", mode="create")


def test_appending_goes_on_where_the_object_ends(pool, fs):
    path = f"{pool}/log"
    for piece in (b"", b"one,", LARGE, b"two"):
        with fs.open(path, "ab") as file:
            file.write(piece)
    assert fs.cat(path) == b"one," + LARGE + b"two"


def test_touching_without_truncating_keeps_the_data(pool, fs):
    path = f"{pool}/x"
    fs.touch(path, truncate=False)
    assert fs.cat(path) == b""
    fs.pipe(path, b"data")
    fs.touch(path, truncate=False)
    assert fs.cat(path) == b"data"
    fs.touch(path)
    assert fs.cat(path) == b""


def test_files_come_in_and_go_out(tmp_path, pool, fs):
    source = tmp_path / "source"
    (source / "empty").mkdir(parents=True)
    (source / "sub").mkdir()
    (source / "sub" / "large").write_bytes(LARGE)
    (source / "small").write_bytes(b"x")
    fs.put(str(source), f"{pool}/tree", recursive=True)
    fs.get(f"{pool}/tree", str(tmp_path / "back"), recursive=True)
    assert (tmp_path / "back" / "empty").is_dir()
    assert (tmp_path / "back" / "sub" / "large").read_bytes() == LARGE
    assert (tmp_path / "back" / "small").read_bytes() == b"x"


# Several at once


def test_a_transaction_publishes_all_its_files_at_its_end(pool, fs):
    fs.pipe(f"{pool}/log", b"one,")
    with fs.transaction:
        fs.pipe(f"{pool}/a", b"small")
        with fs.open(f"{pool}/b", "wb") as file:
            file.write(LARGE)
        with fs.open(f"{pool}/log", "ab") as file:
            file.write(b"two")
        assert fs.find(pool) == [f"{pool}/log"]
    assert fs.cat([f"{pool}/a", f"{pool}/b", f"{pool}/log"]) == {
        f"{pool}/a": b"small",
        f"{pool}/b": LARGE,
        f"{pool}/log": b"one,two",
    }
    fs.pipe(f"{pool}/c", b"at once")
    assert fs.exists(f"{pool}/c")


def test_a_transaction_left_by_an_exception_publishes_nothing(pool, fs):
    with pytest.raises(ZeroDivisionError):
        with fs.transaction:
            fs.pipe(f"{pool}/a", b"small")
            fs.pipe(f"{pool}/b", LARGE)
            raise ZeroDivisionError
    assert fs.find(pool) == []
    fs.pipe(f"{pool}/c", b"at once")
    assert fs.exists(f"{pool}/c")


def test_a_transaction_with_one_conflict_publishes_nothing(pool, fs, store):
    with pytest.raises(FileExistsError, match="x"):
        with fs.transaction:
            fs.pipe(f"{pool}/a", b"1")
            fs.pipe(f"{pool}/x", b"2", mode="create")
            store.put("x", b"theirs")
    assert fs.cat(f"{pool}/x") == b"theirs"
    assert fs.find(pool) == [f"{pool}/x"]


# Copying and moving


def test_moving_replaces_what_was_there(pool, fs):
    fs.pipe({f"{pool}/new": b"new", f"{pool}/old": b"old", f"{pool}/d/x": b""})
    fs.mv(f"{pool}/new", f"{pool}/old")
    assert fs.cat(f"{pool}/old") == b"new"
    assert not fs.exists(f"{pool}/new")
    fs.mv(f"{pool}/old", f"{pool}/d")
    assert fs.cat(f"{pool}/d/old") == b"new"
    fs.mv(f"{pool}/d", f"{pool}/e", recursive=True)
    assert fs.find(pool) == [f"{pool}/e/old", f"{pool}/e/x"]
    with pytest.raises(FileNotFoundError):
        fs.mv(f"{pool}/missing", f"{pool}/x")
    fs.mv(f"{pool}/e/x", f"{pool}/e/x")
    assert fs.exists(f"{pool}/e/x")


def test_copying_onto_itself_changes_nothing(pool, fs):
    fs.pipe(f"{pool}/a", b"1")
    fs.cp_file(f"{pool}/a", f"{pool}/a")
    assert fs.cat(f"{pool}/a") == b"1"
    with pytest.raises(FileNotFoundError):
        fs.cp(f"{pool}/missing", f"{pool}/b")


def test_objects_go_from_one_pool_to_another(tmp_path, pool, fs):
    other = make_pool(str(tmp_path))
    fs.pipe({f"{pool}/t/a": LARGE, f"{pool}/t/b": b"1"})
    fs.cp(f"{pool}/t", f"{other}/t", recursive=True)
    assert fs.cat(f"{other}/t/a") == LARGE
    fs.mv(f"{pool}/t/b", f"{other}/b")
    assert fs.cat(f"{other}/b") == b"1"
    assert not fs.exists(f"{pool}/t/b")


# Opening


def test_a_read_only_file_system_reads_and_refuses_the_rest(tmp_path):
    path = make_pool(str(tmp_path))
    with hexad.open(path) as store:
        store.put("x", b"1")
    fs = HexadFileSystem(read_only=True, skip_instance_cache=True)
    assert fs.cat(f"{path}/x") == b"1"
    with pytest.raises(hexad.Error):
        fs.pipe(f"{path}/x", b"2")
    with pytest.raises(hexad.Error):
        fs.rm(f"{path}/x")
    for mode in ("wb", "xt", "ab"):  # not by the time that all has been computed
        with pytest.raises(hexad.ReadOnlyError):
            fs.open(f"{path}/y", mode)
    with fs.transaction:
        with pytest.raises(hexad.ReadOnlyError):
            fs.rm(f"{path}/x")
    assert fs.cat(f"{path}/x") == b"1"
    fs.close()


def test_a_forked_reader_opens_the_pool_itself(tmp_path):
    path = make_pool(str(tmp_path))
    with hexad.open(path) as store:
        store.put("x", b"1")
    fs = HexadFileSystem(read_only=True, skip_instance_cache=True)
    assert fs.cat(f"{path}/x") == b"1"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if fs.cat(f"{path}/x") == b"1" else 2
        finally:
            os._exit(code)  # pylint: disable=protected-access
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    fs.close()


def test_closing_lets_others_in_and_the_next_use_opens_again(pool, fs):
    fs.pipe(f"{pool}/x", b"1")
    fs.close()
    assert fs.cat(f"{pool}/x") == b"1"


def test_importing_hexad_needs_no_fsspec():
    program = "import hexad, sys; assert not {'fsspec', 'zarr', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
