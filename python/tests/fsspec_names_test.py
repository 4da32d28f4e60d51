"""hexad:// shows and removes whatever names there are, with all that is known of them."""

import datetime
import os
import shutil

import hexad
import pytest

pytest.importorskip("fsspec")

# Names that a directory tree cannot have, each with the place where a listing shows it first.
ODD = {
    "a//b": "a",
    "a///b": "a",
    "/a": "",
    "//a": "",
    "a/../b": "a/..",
    "../b": "..",
    "..": "",
    "a/./b": "a/.",
    "a//b/c": "a//b",
    "a/b//c/d": "a/b//c",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_listed_walked_globbed_and_removed(name, roomy, fs):
    path = f"{roomy}/{name}"
    fs.pipe({path: b"1", f"{roomy}/a/b": b"2", f"{roomy}/b": b"3"})
    there = f"{roomy}/{ODD[name]}" if ODD[name] else roomy
    assert path in fs.ls(there, detail=False)
    for top in {roomy, there}:
        walked = [f"{root}/{file}" for root, _, files in fs.walk(top) for file in files]
        assert sorted(walked) == fs.find(top)
        assert walked.count(path) == 1
    assert path in fs.find(roomy, maxdepth=9)
    assert path in fs.glob(f"{roomy}/**")
    assert fs.glob(path[:-1] + "?") == [path]
    assert fs.glob(path) == [path]
    assert fs.info(path)["type"] == "file"
    fs.rm(path)
    assert fs.find(roomy) == [f"{roomy}/a/b", f"{roomy}/b"]


@pytest.mark.parametrize("name", ODD)
def test_a_tree_with_an_odd_name_goes_as_a_whole(name, roomy, fs):
    fs.pipe({f"{roomy}/t/{name}": b"1", f"{roomy}/t/a/b": b"2", f"{roomy}/u": b"3"})
    assert fs.du(f"{roomy}/t") == 2
    fs.cp(f"{roomy}/t", f"{roomy}/v", recursive=True)
    fs.mv(f"{roomy}/t", f"{roomy}/w", recursive=True)
    assert not fs.exists(f"{roomy}/t")
    for copy in ("v", "w"):
        assert fs.cat_file(f"{roomy}/{copy}/{name}") == b"1"
        fs.rm(f"{roomy}/{copy}", recursive=True)
    assert fs.find(roomy) == [f"{roomy}/u"]


def test_a_level_is_seen_whole_with_names_of_one_path(roomy, fs):
    """walk() without details must not take a//b for a/b."""
    fs.pipe({f"{roomy}/a/b": b"1", f"{roomy}/a//b": b"22"})
    ((root, directories, files),) = fs.walk(f"{roomy}/a", detail=True)
    assert (root, directories) == (f"{roomy}/a", {})
    assert {name: info["size"] for name, info in files.items()} == {"b": 1, "/b": 2}


@pytest.mark.parametrize("name", ["d/", "d//", "d///", "d//e/", "d/e//"])
def test_a_name_that_ends_in_slashes_is_a_directory_that_can_be_removed(name, roomy, fs):
    with hexad.open(roomy) as store:
        store.put(name, b"")
        assert fs.ls(roomy, detail=False) == [f"{roomy}/d"]
        assert fs.isdir(f"{roomy}/d/")
        assert fs.find(f"{roomy}/d") == []
        while fs.exists(f"{roomy}/d"):
            deepest = max(fs.find(f"{roomy}/d", withdirs=True), key=len)
            fs.rmdir(deepest)
        assert list(store) == []
        store.put(name, b"")
        fs.rm(f"{roomy}/d/", recursive=True)
        assert list(store) == []


def test_walk_leaves_out_what_its_user_takes_out(roomy, fs):
    fs.pipe({f"{roomy}/{name}": b"" for name in ("a/x", "b/x", "b/c/x")})
    seen = []
    for root, directories, _ in fs.walk(roomy, detail=True):
        directories.pop("a", None)
        seen.append(root)
    assert seen == [roomy, f"{roomy}/b", f"{roomy}/b/c"]
    assert [root for root, _, _ in fs.walk(roomy, maxdepth=1)] == [roomy]
    assert [r for r, _, _ in fs.walk(f"{roomy}/b", topdown=False)] == [f"{roomy}/b/c", f"{roomy}/b"]
    assert list(fs.walk(f"{roomy}/none")) == []
    with pytest.raises(FileNotFoundError):
        list(fs.walk(f"{roomy}/none", on_error="raise"))
    with pytest.raises(ValueError):
        list(fs.walk(roomy, maxdepth=0))


# What is known of them


def test_a_listing_has_what_info_has(roomy, fs):
    fs.pipe({f"{roomy}/d/a": b"1", f"{roomy}/d/b": b"22", f"{roomy}/d/e/f": b""})
    wanted = [fs.info(f"{roomy}/d/{name}") for name in "abe"]
    assert fs.ls(f"{roomy}/d") == wanted
    assert {"name", "size", "type", "mtime", "version"} == set(wanted[0])
    for found in (
        fs.find(f"{roomy}/d", detail=True),
        fs.find(f"{roomy}/d", detail=True, maxdepth=2),
        fs.glob(f"{roomy}/d/**", detail=True),
    ):
        assert found[f"{roomy}/d/b"] == wanted[1]
    ((_, _, files), _) = fs.walk(f"{roomy}/d", detail=True)
    assert files["a"] == wanted[0]


def test_the_times_of_an_object(roomy, fs):
    path = f"{roomy}/x"
    fs.pipe(path, b"1")
    first = fs.modified(path)
    assert first.tzinfo == datetime.timezone.utc
    assert fs.created(path) == first
    fs.pipe(path, b"2")
    assert fs.created(path) == fs.modified(path) > first
    for call in (fs.created, fs.modified):
        with pytest.raises(IsADirectoryError):
            call(roomy)
        with pytest.raises(FileNotFoundError):
            call(f"{roomy}/none")


# Directories


def test_mkdir_makes_parents_or_wants_them(roomy, fs):
    with pytest.raises(FileNotFoundError) as raised:
        fs.mkdir(f"{roomy}/a/b", create_parents=False)
    assert raised.value.filename == f"{roomy}/a"
    assert not fs.exists(f"{roomy}/a")
    fs.mkdir(f"{roomy}/a", create_parents=False)
    fs.mkdir(f"{roomy}/a/b", create_parents=False)
    fs.mkdir(f"{roomy}/c/d/e")
    assert fs.isdir(f"{roomy}/c/d")
    fs.pipe(f"{roomy}/file", b"")
    with pytest.raises(NotADirectoryError):
        fs.mkdir(f"{roomy}/file/x", create_parents=False)
    with pytest.raises(FileExistsError):
        fs.mkdir(f"{roomy}/file")


def test_pyarrow_empties_a_directory(roomy, fs):
    arrow = pytest.importorskip("pyarrow.fs")
    system = arrow.PyFileSystem(arrow.FSSpecHandler(fs))
    system.create_dir(f"{roomy}/d", recursive=False)
    fs.pipe({f"{roomy}/d/{name}": b"1" for name in ("a", "e/f", "e//g", "/h", "../i")})
    system.delete_dir_contents(f"{roomy}/d")
    assert fs.find(roomy, withdirs=True) == [roomy, f"{roomy}/d"]
    # What mkdir makes on the way stays, too, when what it was made for goes.
    system.create_dir(f"{roomy}/p/q/r")
    system.delete_dir_contents(f"{roomy}/p/q")
    with pytest.raises(FileNotFoundError):
        system.delete_dir(f"{roomy}/p/q/r")
    system.delete_dir(f"{roomy}/p/q")
    system.delete_dir(f"{roomy}/p")
    assert fs.find(roomy, withdirs=True) == [roomy, f"{roomy}/d"]
    system.delete_dir_contents(f"{roomy}/none", missing_dir_ok=True)
    with pytest.raises(FileNotFoundError):
        system.delete_dir_contents(f"{roomy}/none")
    fs.pipe(f"{roomy}/d/x", b"123")
    (info,) = system.get_file_info(arrow.FileSelector(f"{roomy}/d"))
    assert info.mtime is not None and info.size == 3


@pytest.mark.parametrize("path", [None, 5, b"x", ["x", 5]])
def test_a_path_of_another_type_is_a_type_error(path, roomy, fs):
    for call in (fs.info, fs.ls, fs.open, fs.cat_file, fs.rm, fs.exists, fs.mkdir):
        with pytest.raises(TypeError):
            call(path)


def test_a_path_object_is_a_path(roomy, fs, tmp_path):
    class Path(os.PathLike):
        def __fspath__(self):
            return f"{roomy}/x"

    fs.pipe_file(Path(), b"1")
    assert fs.cat_file(Path()) == b"1"
    fs.rm(Path())


def test_a_pool_made_where_another_was_is_the_one_that_is_used(tmp_path, fs):
    pool = tmp_path / "pool"

    def make():
        hexad.format(pool, devices=6, size="64 MiB", preset="tiny")

    make()
    fs.pipe(f"{pool}/old", b"1")
    reader = fs.open(f"{pool}/old")
    shutil.rmtree(pool)
    assert not fs.exists(f"{pool}/old")
    make()
    assert fs.find(pool) == []
    fs.pipe(f"{pool}/new", b"2")
    assert reader.read() == b"1"
    reader.close()
    fs.close()
    with hexad.open(pool) as store:
        assert list(store) == ["new"]


def test_a_pool_is_found_where_its_path_leads_now(tmp_path, fs):
    first, second = tmp_path / "first", tmp_path / "second"
    for pool in (first, second):
        hexad.format(pool, devices=6, size="64 MiB", preset="tiny")
        fs.pipe(f"{pool}/x", pool.name.encode())
    link = tmp_path / "link"
    link.symlink_to(first)
    assert fs.cat(f"{link}/x") == b"first"
    assert fs.cat(f"{link}/x") == b"first"
    link.unlink()
    link.symlink_to(second)
    assert fs.cat(f"{link}/x") == b"second"
    link.unlink()
    with pytest.raises(FileNotFoundError):
        fs.cat(f"{link}/x")
    (tmp_path / "plain").mkdir()
    with pytest.raises(FileNotFoundError):
        fs.cat(f"{tmp_path}/plain/x")
    assert fs.cat(f"{first}/x") == b"first"
    fs.close()
    assert fs.cat(f"{first}/x") == b"first"
