"""Moves, copies and removals by hexad://: nothing is lost by where it goes or by what it is called."""

import os

import hexad
import pytest
from ecosystem_pools import make_pool
from hexad import _fsspec_moves

pytest.importorskip("fsspec")

# pylint: disable=wrong-import-position
from fsspec.implementations.local import LocalFileSystem

TREE = {"d/x1": b"1", "d/x2": b"2", "d/s/y": b"3"}


def contents(fs, pool):
    return {path[len(pool) + 1 :]: fs.cat_file(path) for path in fs.find(pool)}


def fill(fs, pool, tree):
    fs.pipe({f"{pool}/{name}": value for name, value in tree.items()})


def at(pool, path):
    """`path` with the pool before each of its names."""
    if isinstance(path, list):
        return [at(pool, p) for p in path]
    prefix, _, name = path.rpartition("://")
    return (f"{prefix}://" if prefix else "") + (f"{pool}/{name}" if name else pool)


# fs.mv() deleted one or all of the three files in each of these, without an error.
INTO_ITSELF = {
    "below itself": ("d", "d/sub", True),
    "into itself": ("d", "d/", True),
    "by its url below itself": ("hexad://d", "d/sub", True),
    "its content below itself": ("d/", "d/sub", True),
    "two that change places": (["d/x1", "d/x2"], ["d/x2", "d/x1"], False),
    "one after the other": (["d/x1", "d/x2"], ["d/x2", "d/x3"], False),
    "two to one place": (["d/x1", "d/x2"], ["e", "e"], False),
    "two of one name": (["d/x1", "f/x1"], "e/", False),
    "fewer targets than sources": (["d/x1", "d/x2"], ["e"], False),
    "the pool below itself": ("", "sub", True),
    "a pattern with a directory into that": ("d*", "d/s/", True),
}


@pytest.mark.parametrize("shape", INTO_ITSELF)
def test_a_move_that_would_lose_something_is_refused(shape, roomy, fs):
    source, target, recursive = INTO_ITSELF[shape]
    before = {**TREE, "f/x1": b"other"}
    fill(fs, roomy, before)
    with pytest.raises(ValueError):
        fs.mv(at(roomy, source), at(roomy, target), recursive=recursive)
    assert contents(fs, roomy) == before


ONTO_ITSELF = {
    "a file": ("d/x1", "d/x1", False),
    "a directory": ("d", "d", True),
    "by its url": ("hexad://d", "d", True),
    "its content": ("d/", "d", True),
    "a file into where it is": ("d/x1", "d", False),
    "a directory into where it is": ("d/s", "d", True),
    "a pattern into where it is": ("d/x*", "d/", False),
    "all into where it is": ("d/*", "d/", True),
    "a list into where it is": (["d/x1", "d/x2"], "d/", False),
    "the pool": ("", "", True),
}


@pytest.mark.parametrize("shape", ONTO_ITSELF)
def test_a_move_onto_itself_changes_nothing(shape, roomy, fs):
    source, target, recursive = ONTO_ITSELF[shape]
    fill(fs, roomy, TREE)
    fs.mv(at(roomy, source), at(roomy, target), recursive=recursive)
    assert contents(fs, roomy) == TREE


MOVES = {
    "a directory to a new name": ("d", "e", True, ["e/s/y", "e/x1", "e/x2"]),
    "a directory into one that is there": ("d", "t", True, ["t/d/s/y", "t/d/x1", "t/d/x2", "t/z"]),
    "its content into one that is there": ("d/", "t", True, ["t/s/y", "t/x1", "t/x2", "t/z"]),
    "a directory below a new one": ("d", "e/", True, ["e/d/s/y", "e/d/x1", "e/d/x2"]),
    "a pattern below it": ("d/*", "d/sub/", True, ["d/sub/s/y", "d/sub/x1", "d/sub/x2"]),
    "a pattern": ("d/x*", "e", False, ["d/s/y", "e/x1", "e/x2"]),
    "a pattern that matches one": ("d/?2", "e", False, ["d/s/y", "d/x1", "e/x2"]),
    "a list": (["d/x1", "d/s/y"], "e/", False, ["d/x2", "e/x1", "e/y"]),
    "a list with a directory": (["d/s", "d/x1"], "e/", True, ["d/x2", "e/s/y", "e/x1"]),
    "one by one": (["d/s", "d/x1"], ["p", "q"], True, ["d/x2", "p/y", "q"]),
    "a file over another": ("d/x1", "d/s/y", False, ["d/s/y", "d/x2"]),
}


@pytest.mark.parametrize("shape", MOVES)
def test_a_move_is_one_commit(shape, roomy, fs):
    source, target, recursive, wanted = MOVES[shape]
    tree = {**TREE, "t/z": b"there"} if target == "t" else TREE
    fill(fs, roomy, tree)
    fs.mv(at(roomy, source), at(roomy, target), recursive=recursive)
    found = contents(fs, roomy)
    changed = [name for name in found if tree.get(name) != found[name]]
    assert len({fs.info(f"{roomy}/{name}")["version"] for name in changed}) == 1
    assert sorted(found) == wanted
    kept = sorted(tree.values())
    if target == "d/s/y":
        kept.remove(b"3")  # it was replaced
    assert sorted(found.values()) == kept


def test_a_move_takes_attributes_empty_directories_and_odd_names_along(roomy, fs):
    with hexad.open(roomy) as store:
        for name in ("d/x", "d/empty/", "d//twice", "d/s//", "d"):
            store.put(name, name.encode())
        store.set_attr("d/x", "kind", b"odd")
        store.omap_set("d/x", {"key": b"value"})
        fs.mv(f"{roomy}/d/", f"{roomy}/e", recursive=True)
        assert list(store) == ["e", "e//twice", "e/empty/", "e/s//", "e/x"]
        assert store.attributes("e/x") == {"kind": b"odd"}
        assert dict(store.omap_items("e/x")) == {"key": b"value"}


def test_a_move_of_more_than_a_commit_takes_loses_nothing(roomy, fs, monkeypatch):
    monkeypatch.setattr(_fsspec_moves, "AT_ONCE", 7)
    names = [f"many/{i:04}" for i in range(50)]
    fill(fs, roomy, {name: name.encode() for name in names})
    fs.mv(f"{roomy}/many", f"{roomy}/moved", recursive=True)
    assert contents(fs, roomy) == {f"moved/{n[5:]}": n.encode() for n in names}


def test_a_large_tree_moves_at_once(roomy, fs):
    with hexad.open(roomy) as store:
        store.put_many([(f"many/{i:05}", b"x") for i in range(5000)])
        fs.mv(f"{roomy}/many", f"{roomy}/moved", recursive=True)
        moved = list(store.iterate("moved/"))
        assert len(moved) == 5000 and len({entry.version for entry in moved}) == 1
        assert not store.list("many/").entries


def test_a_move_says_what_is_missing_a_directory_or_in_the_way(roomy, fs):
    fill(fs, roomy, {**TREE, "file": b"f"})
    before = contents(fs, roomy)
    with pytest.raises(FileNotFoundError):
        fs.mv(f"{roomy}/none", f"{roomy}/e", recursive=True)
    with pytest.raises(FileNotFoundError):
        fs.mv([f"{roomy}/d/x1", f"{roomy}/none"], f"{roomy}/e/", recursive=True)
    with pytest.raises(FileNotFoundError):
        fs.mv(f"{roomy}/none*", f"{roomy}/e")
    for source, target in (("d", "e"), (["d"], ["e"]), (["d/x1", "d/s"], "e/")):
        with pytest.raises(IsADirectoryError):
            fs.mv(at(roomy, source), at(roomy, target))
    with pytest.raises(NotADirectoryError):
        fs.mv(f"{roomy}/d", f"{roomy}/file", recursive=True)
    with pytest.raises(IsADirectoryError):
        fs.mv([f"{roomy}/d/x1"], [roomy])
    assert contents(fs, roomy) == before


def test_what_changes_while_it_moves_to_another_pool_stays(tmp_path, roomy, fs, monkeypatch):
    other = make_pool(str(tmp_path))
    fill(fs, roomy, {"d/a": b"old", "d/b": b"b"})
    copied = _fsspec_moves.Copied

    def copy_and_change(source, name1, target, name2, where):
        copy = copied(source, name1, target, name2, where)
        if name1 == "d/a":
            source.put(name1, b"new")
        return copy

    monkeypatch.setattr(_fsspec_moves, "Copied", copy_and_change)
    with pytest.raises(hexad.ConflictError, match="changed since"):
        fs.mv(f"{roomy}/d", f"{other}/d", recursive=True)
    assert contents(fs, roomy) == {"d/a": b"new", "d/b": b"b"}
    assert contents(fs, other) == {"d/a": b"old"}


@pytest.mark.parametrize("call", ["mv", "cp"])
def test_directories_keep_their_attributes(call, tmp_path, roomy, fs):
    """As `hexad import` stores them: mode, owner and times."""
    other = make_pool(str(tmp_path))
    with hexad.open(roomy) as source, hexad.open(other) as target:
        for store, root in ((source, roomy), (target, other)):
            source.put_many({"d/": b"", "d/x": b"1"})
            source.set_attr("d/", "mode", b"0700")
            getattr(fs, call)(f"{roomy}/d", f"{root}/e", recursive=True)
            assert store.attributes("e/") == {"mode": b"0700"} and store.get("e/x") == b"1"
            assert source.exists("d/") == (call == "cp")


@pytest.mark.parametrize("call", ["mv", "cp"])
def test_attributes_go_to_another_pool_too(call, tmp_path, roomy, fs):
    other = make_pool(str(tmp_path))
    with hexad.open(roomy) as source, hexad.open(other) as target:
        source.put("x", b"data", hint="compressible")
        source.set_attr("x", "kind", b"odd")
        source.omap_set("x", {"key": b"value"})
        target.put("x", b"before")
        target.set_attr("x", "gone", b"")
        getattr(fs, call)(f"{roomy}/x", f"{other}/x")
        assert target.get("x") == b"data" and target.attributes("x") == {"kind": b"odd"}
        assert dict(target.omap_items("x")) == {"key": b"value"}
        assert target.stat("x").hints == {"compressible"}
        assert source.exists("x") == (call == "cp")


# Names that look like patterns


ODD = ("a[1].txt", "q?x", "s*r", "{a,b}", "[!x]", "**")
LOOKALIKES = ("a1.txt", "qzx", "star", "a", "y", "d1/f")
DIRECTORY = ("d[1]/f", "d[1]/s/g")


CALLS = {
    "rm": lambda fs, t, name: fs.rm(f"{t}/{name}"),
    "rm a list": lambda fs, t, name: fs.rm([f"{t}/{name}"]),
    "rm what ls found": lambda fs, t, name: fs.rm(
        [p for p in fs.ls(t, detail=False) if p == f"{t}/{name}"]
    ),
    "mv": lambda fs, t, name: fs.mv(f"{t}/{name}", f"{t}/new"),
    "mv into a directory": lambda fs, t, name: fs.mv(f"{t}/{name}", f"{t}/d1/"),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("call", CALLS)
def test_what_exists_is_no_pattern(call, name, roomy, fs, tmp_path):
    """As with the files of fsspec's local file system."""
    left = []
    for system, root in ((fs, roomy), (LocalFileSystem(auto_mkdir=True), str(tmp_path))):
        system.pipe({f"{root}/t/{n}": n.encode() for n in (*ODD, *LOOKALIKES, *DIRECTORY)})
        CALLS[call](system, f"{root}/t", name)
        left.append({p[len(root) :]: system.cat_file(p) for p in system.find(root)})
    assert left[0] == left[1]


@pytest.mark.parametrize("name", ODD)
def test_reading_and_copying_take_a_name_as_it_is(name, roomy, fs, tmp_path):
    tree = {f"t/{n}": n.encode() for n in (*ODD, *LOOKALIKES)}
    fill(fs, roomy, tree)
    path = f"{roomy}/t/{name}"
    assert fs.cat(path) == name.encode()
    assert fs.cat([path]) == {path: name.encode()}
    assert fs.expand_path(path) == [path]
    assert fs.du(path) == len(name) and fs.find(path) == [path]
    fs.cp(path, f"{roomy}/copy")
    assert fs.cat(f"{roomy}/copy") == name.encode()
    fs.get(path, str(tmp_path / "local"))
    assert (tmp_path / "local").read_bytes() == name.encode()
    (tmp_path / name).write_bytes(b"from a file")
    (tmp_path / "a1.txt").write_bytes(b"no")
    fs.put(str(tmp_path / name), f"{roomy}/put")
    assert fs.cat(f"{roomy}/put") == b"from a file"
    with fs.open(path) as file:
        assert file.read() == name.encode()


def test_a_directory_that_looks_like_a_pattern_is_meant_itself(roomy, fs, tmp_path):
    tree = {"d[1]/f": b"1", "d[1]/s/g": b"2", "d1/f": b"3"}
    fill(fs, roomy, tree)
    fs.cp(f"{roomy}/d[1]", f"{roomy}/c", recursive=True)
    fs.get(f"{roomy}/d[1]", str(tmp_path / "out"), recursive=True)
    assert (tmp_path / "out" / "s" / "g").read_bytes() == b"2"
    (tmp_path / "out[1]").mkdir()
    (tmp_path / "out[1]" / "h").write_bytes(b"4")
    fs.put(str(tmp_path / "out[1]"), f"{roomy}/p", recursive=True)
    fs.mv(f"{roomy}/d[1]", f"{roomy}/m", recursive=True)
    left = {"c/f": b"1", "c/s/g": b"2", "m/f": b"1", "m/s/g": b"2", "d1/f": b"3", "p/h": b"4"}
    assert contents(fs, roomy) == left
    fs.mv(f"{roomy}/m", f"{roomy}/d[1]", recursive=True)
    fs.rm(f"{roomy}/d[1]", recursive=True)
    assert fs.cat(f"{roomy}/d1/f") == b"3" and not fs.exists(f"{roomy}/d[1]")


def test_a_pattern_in_a_directory_that_looks_like_one_stays_in_it(roomy, fs, tmp_path):
    tree = {"d[1]/f": b"1", "d[1]/s/g": b"2", "d1/f": b"3", "d1/s/g": b"4", "[*]/e[?]/h": b"5"}
    fill(fs, roomy, tree)
    assert fs.expand_path(f"{roomy}/[*]/e[?]/*") == [f"{roomy}/[*]/e[?]/h"]
    assert fs.expand_path(f"{roomy}/d[12]/f") == [f"{roomy}/d1/f"]
    fs.cp(f"{roomy}/d[1]/*", f"{roomy}/c", recursive=True)
    fs.get(f"{roomy}/d[1]/*", str(tmp_path / "out[1]"), recursive=True)
    (tmp_path / "out1").mkdir()
    (tmp_path / "out1" / "f").write_bytes(b"no")
    fs.put(str(tmp_path / "out[1]" / "?"), f"{roomy}/p/")
    fs.rm(f"{roomy}/d[1]/?", recursive=True)
    left = {n: data for n, data in tree.items() if not n.startswith("d[1]")}
    assert contents(fs, roomy) == {**left, "c/f": b"1", "c/s/g": b"2", "p/f": b"1"}


@pytest.mark.parametrize("maxdepth", [None, 1])
@pytest.mark.parametrize(
    "pattern",
    ["*", "d/?1", "d/*/", "**", "d/**", "**/y", "*/s/*", "none/*", "d/x1", "[!d]*"],
)
def test_the_directory_of_a_pool_is_no_pattern(pattern, maxdepth, tmp_path, roomy, fs):
    """What matches is what matches in a pool whose directory looks like none."""
    pool = tmp_path / "a[1]*" / "pool"
    os.makedirs(pool.parent)
    hexad.format(pool, devices=6, size="64 MiB", preset="tiny")
    found = []
    for root in (roomy, str(pool)):
        fill(fs, root, {**TREE, "top": b"4", "e/s/y": b"5"})
        infos = fs.glob(f"{root}/{pattern}", maxdepth=maxdepth, detail=True)
        found.append({p[len(root) :]: info["type"] for p, info in infos.items()})
        assert fs.glob(f"{root}/{pattern}", maxdepth=maxdepth) == list(infos)
    assert found[0] == found[1]


def test_a_pattern_with_a_slash_at_its_end_takes_directories_alone(roomy, fs):
    fill(fs, roomy, {"data.txt": b"1", "dir/x": b"2", "done/y": b"3"})
    assert fs.expand_path(f"{roomy}/d*/") == [f"{roomy}/dir", f"{roomy}/done"]
    fs.rm(f"{roomy}/d*/", recursive=True)
    assert contents(fs, roomy) == {"data.txt": b"1"}


def test_a_mapping_never_takes_a_key_for_a_pattern(roomy, fs):
    mapper = fs.get_mapper(roomy)
    mapper["a1"] = b"1"
    with pytest.raises(KeyError):
        del mapper["a[1]"]
    with pytest.raises(KeyError):
        mapper["a?"]  # pylint: disable=pointless-statement
    mapper["a[1]"] = b"2"
    mapper.setitems({"b": b"3"})
    assert mapper.getitems(["a[1]", "b"]) == {"a[1]": b"2", "b": b"3"} and mapper.getitems([]) == {}
    for missing in ("a?", "*", "[b]", "none"):
        with pytest.raises(KeyError):
            mapper.getitems(["b", missing])
        assert mapper.getitems([missing, "b"], on_error="omit") == {"b": b"3"}
        found = mapper.getitems([missing, "b"], on_error="return")
        assert found["b"] == b"3" and isinstance(found[missing], KeyError)
    assert mapper.pop("a[1]") == b"2"
    assert dict(mapper) == {"a1": b"1", "b": b"3"}
    fs.get_mapper(f"{roomy}/a?").clear()
    assert dict(mapper) == {"a1": b"1", "b": b"3"}


# Trees that no local directory or other tree can hold


def test_getting_a_tree_never_leaves_the_directory(roomy, fs, tmp_path):
    with hexad.open(roomy) as store:
        store.put("d/../../../outside", b"x")
        store.put("d/fine", b"y")
    with pytest.raises(ValueError, match=r"outside of"):
        fs.get(f"{roomy}/d", str(tmp_path / "in" / "here"), recursive=True)
    assert not list(tmp_path.iterdir())
    fs.get_file(f"{roomy}/d/../../../outside", str(tmp_path / "given"))
    assert (tmp_path / "given").read_bytes() == b"x"


def test_two_objects_do_not_become_one_file(roomy, fs, tmp_path):
    with hexad.open(roomy) as store:
        store.put("d/a//b", b"1")
        store.put("d/a/b", b"2")
    with pytest.raises(ValueError, match="would both become"):
        fs.get(f"{roomy}/d", str(tmp_path / "out"), recursive=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("call", ["cp", "get", "put"])
def test_a_list_with_two_of_one_name_is_refused(call, roomy, fs, tmp_path):
    paths = [f"{roomy}/p/x", f"{roomy}/q/x"]
    fs.pipe({path: path.encode() for path in paths})
    target = {"cp": f"{roomy}/t/", "get": f"{tmp_path}/t/", "put": f"{roomy}/t/"}[call]
    if call == "put":
        fs.get(f"{roomy}/", str(tmp_path / "l"), recursive=True)
        paths = [str(tmp_path / "l" / name / "x") for name in "pq"]
    with pytest.raises(ValueError, match="would both become"):
        getattr(fs, call)(paths, target)
    assert not fs.exists(f"{roomy}/t") and not os.path.exists(f"{tmp_path}/t")


def test_a_copy_does_not_overwrite_what_it_still_has_to_read(roomy, fs):
    fill(fs, roomy, TREE)
    with pytest.raises(ValueError, match="to be copied or moved itself"):
        fs.cp([f"{roomy}/d/x1", f"{roomy}/d/x2"], [f"{roomy}/d/x2", f"{roomy}/d/x1"])
    fs.cp(f"{roomy}/d/x*", f"{roomy}/d/")
    assert contents(fs, roomy) == TREE


def test_directories_of_a_list_stay_together(roomy, fs, tmp_path):
    fill(fs, roomy, {"p/x": b"1", "q/x": b"2", "q/s/x": b"3"})
    fs.cp([f"{roomy}/p", f"{roomy}/q"], f"{roomy}/t", recursive=True)
    fs.get([f"{roomy}/p", f"{roomy}/q"], str(tmp_path / "t"), recursive=True)
    found = {p[len(roomy) + 3 :]: fs.cat_file(p) for p in fs.find(f"{roomy}/t")}
    assert found == {"p/x": b"1", "q/x": b"2", "q/s/x": b"3"}
    assert (tmp_path / "t" / "q" / "s" / "x").read_bytes() == b"3"


def test_removing_a_list_removes_all_of_it_or_nothing(roomy, fs):
    fill(fs, roomy, TREE)
    for recursive in (False, True):
        with pytest.raises(FileNotFoundError):
            fs.rm([f"{roomy}/d/x1", f"{roomy}/none"], recursive=recursive)
    assert contents(fs, roomy) == TREE
    fs.rm([])
    fs.rm([f"{roomy}/d/x1", f"{roomy}/d/x[2]"])
    assert contents(fs, roomy) == {"d/s/y": b"3"}
