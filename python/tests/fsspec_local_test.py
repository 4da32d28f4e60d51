"""hexad:// beside fsspec's local file system: the same tree, the same calls, the same answers, with names
that are patterns, prefixes of each other, or no text."""

import os

import pytest
from ecosystem_pools import temporary_pool

pytest.importorskip("fsspec")

# pylint: disable=wrong-import-position,redefined-outer-name
from fsspec.implementations.local import LocalFileSystem
from hexad.fsspec import HexadFileSystem

NAMES = [
    *["a", "ab", "abc", "a b", "caf\u00e9", "cafe\u0301", "-x", "x" * 255, "[1]", "1", "*", "?", "q?"],
    *["\n", "{a,b}", "~", "#h", "%20", "..a", "...", "a..", "dir/x", "dir/sub/y", "dir2/x", "dir./z"],
]
DEPTHS = [None, 1, 2, 3]
PATTERNS = ["*", "**", "a*", "[1]", "?", "dir*/*", "dir/**", "**/x", "{a,b}", "dir/", "nothing*", "t/../t/*"]


def named(kind, values, call):
    return {f"{kind} {value!r}": (lambda fs, top, v=value: call(fs, top, v)) for value in values}


CALLS = {
    **named("find", DEPTHS, lambda fs, t, d: sorted(fs.find(t, maxdepth=d))),
    **named("find with directories", DEPTHS, lambda fs, t, d: sorted(fs.find(t, d, withdirs=True))),
    **named("walk", DEPTHS, lambda fs, t, d: sorted(map(in_order, fs.walk(t, maxdepth=d)))),
    **named("du", DEPTHS, lambda fs, t, d: (fs.du(t, maxdepth=d), fs.du(t, False, maxdepth=d))),
    **named("glob", PATTERNS, lambda fs, t, pattern: sorted(fs.glob(f"{t}/{pattern}"))),
    **named("cat", ["raise", "return", "omit"], lambda fs, t, e: fs.cat([t + "/a", t + "/none"], on_error=e)),
    "cat a directory": lambda fs, t: fs.cat(t + "/dir"),
    "cat below": lambda fs, t: fs.cat(t + "/dir", recursive=True),
    "cat ranges": lambda fs, t: fs.cat_ranges([t + "/abc", t + "/none", t + "/abc"], [0, 0, 1], [2, 1, None]),
    "cat from the end": lambda fs, t: (fs.cat_file(t + "/abc", start=-2), fs.cat_file(t + "/abc", end=-1)),
    "cat behind the end": lambda fs, t: fs.cat_file(t + "/abc", start=1, end=100),
    "head and tail": lambda fs, t: (fs.head(t + "/abc", 2), fs.tail(t + "/abc", 2)),
    "walk nothing": lambda fs, t: list(fs.walk(t + "/none")),
    "find nothing": lambda fs, t: fs.find(t + "/none"),
    "find one": lambda fs, t: fs.find(t + "/a"),
    "ls nothing": lambda fs, t: fs.ls(t + "/none"),
    "ls one": lambda fs, t: fs.ls(t + "/a", detail=False),
    "kinds": lambda fs, t: [(fs.isdir(t + p), fs.isfile(t + p)) for p in ("", "/", "/a", "/dir", "/none")],
    "sizes": lambda fs, t: (fs.size(t + "/abc"), fs.sizes([t + "/a", t + "/abc"])),
    "rm nothing": lambda fs, t: fs.rm(t + "/none"),
    "rm_file of a directory": lambda fs, t: fs.rm_file(t + "/dir"),
    "rmdir of what is not empty": lambda fs, t: fs.rmdir(t + "/dir"),
    "mkdir of what is there": lambda fs, t: fs.mkdir(t + "/dir"),
    "makedirs over a file": lambda fs, t: fs.makedirs(t + "/a"),
    "makedirs": lambda fs, t: (fs.makedirs(t + "/m/n"), fs.isdir(t + "/m/n"), fs.ls(t + "/m", False)),
    "mv into a directory": lambda fs, t: (fs.mv(t + "/ab", t + "/dir"), sorted(fs.find(t))),
    "cp of a directory": lambda fs, t: (fs.cp(t + "/dir", t + "/new", recursive=True), sorted(fs.find(t))),
    "rm of a directory": lambda fs, t: (fs.rm(t + "/dir", recursive=True), sorted(fs.find(t))),
    "touch": lambda fs, t: (fs.touch(t + "/tt"), fs.cat(t + "/tt")),
}


def in_order(step):
    path, directories, files = step
    return path, sorted(directories), sorted(files)


def plain(value, top):
    """Without where the tree is, and errors by their kind."""
    if isinstance(value, BaseException):
        return type(value).__name__
    if isinstance(value, dict):
        return {plain(k, top): plain(v, top) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, top) for v in value]
    return value.replace(top, "TOP") if isinstance(value, str) else value


def answer(call, fs, top):
    try:
        return plain(call(fs, top), top)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return plain(error, top)


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


@pytest.mark.parametrize("call", CALLS)
def test_it_answers_as_local_files_do(call, pool, tmp_path):
    fs = HexadFileSystem(skip_instance_cache=True)
    for name in NAMES:
        fs.pipe_file(f"{pool}/t/{name}", name.encode())
        path = tmp_path / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    try:
        expected = answer(CALLS[call], LocalFileSystem(), os.fspath(tmp_path / "t"))
        assert answer(CALLS[call], fs, f"{pool}/t") == expected
    finally:
        fs.rm(pool, recursive=True)
        fs.close()
