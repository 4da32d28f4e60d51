"""`with fs.transaction` of hexad://: all that is changed in it happens at its end, or none of it."""

import hexad
import pytest
from ecosystem_pools import make_pool

pytest.importorskip("fsspec")

BEFORE = {"a": b"1", "d/x": b"2", "d/y": b"3", "e/z": b"4"}


def contents(fs, pool):
    return {path[len(pool) + 1 :]: fs.cat_file(path) for path in fs.find(pool)}


def fill(fs, pool):
    fs.pipe({f"{pool}/{name}": value for name, value in BEFORE.items()})


def without(*names):
    return {name: value for name, value in BEFORE.items() if name not in names}


# What is done in the block, and what is there behind it.
CHANGES = {
    "rm": (lambda fs, p: fs.rm(f"{p}/a"), without("a")),
    "rm of a list": (lambda fs, p: fs.rm([f"{p}/a", f"{p}/d/x"]), without("a", "d/x")),
    "rm of a pattern": (lambda fs, p: fs.rm(f"{p}/d/*"), without("d/x", "d/y")),
    "rm of a tree": (lambda fs, p: fs.rm(f"{p}/d", recursive=True), without("d/x", "d/y")),
    "rm of a level": (
        lambda fs, p: fs.rm(f"{p}/d", recursive=True, maxdepth=1),
        without("d/x", "d/y"),
    ),
    "rm of all": (lambda fs, p: fs.rm(p, recursive=True), {}),
    "rm_file": (lambda fs, p: fs.rm_file(f"{p}/a"), without("a")),
    "mv": (lambda fs, p: fs.mv(f"{p}/a", f"{p}/b"), {**without("a"), "b": b"1"}),
    "mv in place of another": (
        lambda fs, p: fs.mv(f"{p}/a", f"{p}/d/x"),
        {**without("a"), "d/x": b"1"},
    ),
    "mv of a tree": (
        lambda fs, p: fs.mv(f"{p}/d", f"{p}/f", recursive=True),
        {**without("d/x", "d/y"), "f/x": b"2", "f/y": b"3"},
    ),
    "cp": (lambda fs, p: fs.cp(f"{p}/a", f"{p}/b"), {**BEFORE, "b": b"1"}),
    "cp of a tree": (
        lambda fs, p: fs.cp(f"{p}/d", f"{p}/f", recursive=True),
        {**BEFORE, "f/x": b"2", "f/y": b"3"},
    ),
    "touch": (lambda fs, p: fs.touch(f"{p}/a"), {**BEFORE, "a": b""}),
    "touch that keeps": (
        lambda fs, p: [fs.touch(f"{p}/{name}", truncate=False) for name in "an"],
        {**BEFORE, "n": b""},
    ),
    "a mapper": (lambda fs, p: fs.get_mapper(p).pop("d/x"), without("d/x")),
    "a tree in place of another": (
        lambda fs, p: (fs.rm(f"{p}/d", recursive=True), fs.pipe(f"{p}/d/n", b"9")),
        {**without("d/x", "d/y"), "d/n": b"9"},
    ),
    "a file that goes again": (
        lambda fs, p: (fs.pipe(f"{p}/d/x", b"9"), fs.rm(f"{p}/d/x")),
        without("d/x"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_waits_for_the_end_of_the_transaction(change, roomy, fs):
    act, wanted = CHANGES[change]
    fill(fs, roomy)
    with hexad.open(roomy) as store:
        first = list(store.iterate())  # with versions; the store itself may commit meanwhile
        with fs.transaction:
            act(fs, roomy)
            assert contents(fs, roomy) == BEFORE
            assert list(store.iterate()) == first
        assert contents(fs, roomy) == wanted


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_a_transaction_that_fails_has_not_been(change, roomy, fs):
    act, _ = CHANGES[change]
    fill(fs, roomy)
    with pytest.raises(ZeroDivisionError):
        with fs.transaction:
            act(fs, roomy)
            raise ZeroDivisionError
    assert contents(fs, roomy) == BEFORE


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_goes_with_the_files_of_its_transaction(change, roomy, fs):
    """One of them cannot be published, so the change is not made either."""
    act, _ = CHANGES[change]
    fill(fs, roomy)
    with hexad.open(roomy) as store, pytest.raises(FileExistsError):
        with fs.transaction:
            act(fs, roomy)
            with fs.open(f"{roomy}/new", "xb") as file:
                file.write(b"1")
            store.put("new", b"of another")
    assert contents(fs, roomy) == {**BEFORE, "new": b"of another"}


def test_directories_are_made_and_removed_at_the_end(roomy, fs):
    fs.mkdir(f"{roomy}/old")
    with fs.transaction:
        fs.mkdir(f"{roomy}/new")
        fs.makedirs(f"{roomy}/more/below")
        fs.rmdir(f"{roomy}/old")
        assert fs.find(roomy, withdirs=True) == [roomy, f"{roomy}/old"]
    there = ["more", "more/below", "new"]
    assert fs.find(roomy, withdirs=True) == [roomy, *(f"{roomy}/{name}" for name in there)]


def test_a_block_in_a_block_belongs_to_that(roomy, fs):
    fill(fs, roomy)
    with hexad.open(roomy) as store:
        with fs.transaction:
            first = list(store.iterate())
            fs.pipe(f"{roomy}/one", b"1")
            with fs.transaction:
                fs.rm(f"{roomy}/a")
            with pytest.raises(ZeroDivisionError):
                with fs.transaction:
                    fs.rm(f"{roomy}/d", recursive=True)
                    with fs.open(f"{roomy}/two", "wb") as file:
                        file.write(b"2")
                    raise ZeroDivisionError
            fs.pipe(f"{roomy}/three", b"3")
            assert contents(fs, roomy) == BEFORE
            assert list(store.iterate()) == first
        assert contents(fs, roomy) == {**without("a"), "one": b"1", "three": b"3"}
    with pytest.raises(ZeroDivisionError):
        with fs.transaction:
            with fs.transaction:
                fs.rm(f"{roomy}/one")
            raise ZeroDivisionError
    fs.start_transaction()
    with fs.transaction:
        fs.pipe(f"{roomy}/one", b"9")
    assert fs.cat(f"{roomy}/one") == b"1"
    fs.end_transaction()
    assert fs.cat(f"{roomy}/one") == b"9"


def test_what_cannot_be_done_is_said_at_once(roomy, fs):
    fill(fs, roomy)
    with fs.transaction:
        for call in (fs.rm, fs.rm_file):
            with pytest.raises(FileNotFoundError):
                call(f"{roomy}/none")
        for call in (fs.mv, fs.cp, fs.cp_file):
            with pytest.raises(FileNotFoundError):
                call(f"{roomy}/none", f"{roomy}/b")
        fs.pipe(f"{roomy}/new", b"")
        with pytest.raises(FileNotFoundError):  # nobody sees it yet
            fs.mv(f"{roomy}/new", f"{roomy}/newer")
    assert contents(fs, roomy) == {**BEFORE, "new": b""}


@pytest.mark.parametrize("first", ["wb", "xb"])
def test_exclusive_creation_in_a_transaction_loses_against_the_same_transaction(first, roomy, fs):
    with pytest.raises(FileExistsError, match="/new"):
        with fs.transaction:
            for mode in (first, "xb"):
                with fs.open(f"{roomy}/new", mode) as file:
                    file.write(mode.encode())
            fs.pipe(f"{roomy}/other", b"")
    assert fs.find(roomy) == []


def test_a_copy_to_another_pool_waits_and_a_move_is_refused(tmp_path, roomy, fs):
    other = make_pool(str(tmp_path))
    fill(fs, roomy)
    with fs.transaction:
        fs.cp(f"{roomy}/a", f"{other}/b")
        with pytest.raises(hexad.InvalidArgumentError, match="another pool"):
            fs.mv(f"{roomy}/a", f"{other}/c")
        assert contents(fs, other) == {}
    assert contents(fs, other) == {"b": b"1"}
    with pytest.raises(ZeroDivisionError):
        with fs.transaction:
            fs.cp(f"{roomy}/d", f"{other}/d", recursive=True)
            raise ZeroDivisionError
    assert contents(fs, other) == {"b": b"1"}
    assert contents(fs, roomy) == BEFORE


def test_a_tree_that_no_transaction_takes_stays_whole(roomy, fs):
    """Or goes whole: not half of it."""
    with hexad.open(roomy) as store:
        store.put_many({f"many/{i:06}": b"" for i in range(70_000)})
        try:
            with fs.transaction:
                fs.rm(f"{roomy}/many", recursive=True)
        except hexad.TooBigError:
            assert len(fs.find(f"{roomy}/many")) == 70_000
        else:
            assert not fs.exists(f"{roomy}/many")
