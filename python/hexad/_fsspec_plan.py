"""Which paths a call of a file system means, and where each of them goes.

What exists under the name that was given is meant by it, whatever characters it has; only a name
that does not exist is looked at as a pattern. fsspec does it the other way round: there an object
named a[1].txt cannot be reached, and removing it removes a1.txt.
"""

# fsspec has no types.
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import re
from glob import escape, has_magic
from typing import Any, Iterable

import fsspec.utils

import hexad

Paths = dict[str, bool]  # whether each is a directory, in order
Pairs = list[tuple[str, str]]  # source and target


def expand(
    fs: Any,
    paths: Iterable[Any],
    recursive: bool = False,
    maxdepth: int | None = None,
    literal: bool = False,
) -> Paths:
    """What the paths and patterns stand for; recursive: with what lies below, `maxdepth` levels.

    literal: nothing is a pattern. A missing path that is none stands for itself, unless recursive. A
    pattern that ends in a slash stands for directories alone.
    FileNotFoundError: nothing is there.
    """
    if maxdepth is not None and maxdepth < 1:
        raise ValueError("maxdepth must be at least 1")
    found: Paths = {}
    given = list(paths)
    for path_given in given:
        path = _stripped(fs, path_given)
        kind = _kind(fs, path)
        if kind is None and has_magic(path) and not literal:
            end = "/" if os.fspath(path_given).endswith("/") else ""
            there = _existing(fs, path)
            if there:
                infos = matches(fs, there, path[len(there) + 1 :] + end, maxdepth)
            else:
                infos = fs.glob(path + end, maxdepth=maxdepth, detail=True)
            found.update((p, info["type"] == "directory") for p, info in infos.items())
            if recursive and infos and (maxdepth is None or maxdepth > 1):
                deeper = None if maxdepth is None else maxdepth - 1
                found.update(expand(fs, infos, True, deeper, literal=True))
        elif recursive and kind is not None:
            below = fs.find(path, maxdepth=maxdepth, withdirs=True, detail=True)
            found.update((p, info["type"] == "directory") for p, info in below.items())
            found[path] = kind == "directory"
        elif not recursive:
            found[path] = kind == "directory"
    if not found:
        raise FileNotFoundError(", ".join(map(os.fspath, given)))
    return dict(sorted(found.items()))


def pairs(
    source: Any,
    path1: Any,
    target: Any,
    path2: Any,
    recursive: bool = False,
    maxdepth: int | None = None,
) -> tuple[Pairs, Paths]:
    """What goes where when path1 is copied to path2, as fsspec's guide to copying says it; and the
    sources, with which of them are directories.

    A directory goes into one that exists, or whose name ends in a slash, and else becomes it; with a
    slash at its own end its content goes. Not recursive: directories stay away. The directories of
    a list keep what lies below them together. Two lists: each to the one in its place, as they are.

    ValueError: two sources have one target, or what is written would be read afterwards.
    """
    if isinstance(path2, (list, tuple)):
        if not isinstance(path1, (list, tuple)) or len(path1) != len(path2):
            raise ValueError("as many targets as sources are wanted, in two lists")
        sources = {_stripped(source, p): source.isdir(p) for p in path1}
        planned = [(_stripped(source, a), _stripped(target, b)) for a, b in zip(path1, path2)]
    elif isinstance(path1, (list, tuple, set)):
        planned, sources = _pairs_of_several(source, path1, target, path2, recursive, maxdepth)
    else:
        planned, sources = _pairs_of_one(source, path1, target, path2, recursive, maxdepth)
    check(planned, sources, same=source is target)
    return planned, sources


def _pairs_of_one(
    source: Any, path1: Any, target: Any, path2: Any, recursive: bool, maxdepth: int | None
) -> tuple[Pairs, Paths]:
    start = _stripped(source, path1)
    kind = _kind(source, start)
    pattern = kind is None and has_magic(start)
    sources = expand(source, [path1], recursive, maxdepth, literal=not pattern)
    if not recursive or maxdepth is not None:
        sources = {p: directory for p, directory in sources.items() if not directory}
        if not sources:
            return [], sources
    if pattern:
        into = len(sources) == 1
    else:
        content = kind == "directory" and os.fspath(path1).endswith("/")
        into = is_directory(target, path2) and not content
    base = _common(list(sources))
    if into:
        base = base.rpartition("/")[0]
    to = _stripped(target, path2).rstrip("/")
    return [(p, to + p[len(base) :]) for p in sources], sources


def _pairs_of_several(
    source: Any,
    paths: Iterable[Any],
    target: Any,
    path2: Any,
    recursive: bool,
    maxdepth: int | None,
) -> tuple[Pairs, Paths]:
    to = _stripped(target, path2).rstrip("/")
    planned: Pairs = []
    sources: Paths = {}
    for root, directory in expand(source, paths).items():
        below = expand(source, [root], True, maxdepth, literal=True) if recursive else {}
        below = below or {root: directory}
        start = root.rpartition("/")[0]
        planned += [(p, to + p[len(start) :]) for p in below if p not in sources]
        sources.update(below)
    return planned, sources


def check(planned: Pairs, sources: Paths, same: bool) -> None:
    """That carrying it out in any order does the same. same: sources and targets have one file
    system."""
    files = {a for a, directory in sources.items() if not directory}
    seen: dict[str, str] = {}
    for a, b in planned:
        if sources.get(a) or not isinstance(b, str):
            continue
        b = os.path.normpath(b) if not same else b
        if seen.setdefault(b, a) != a:
            raise hexad.InvalidArgumentError(
                f"{seen[b]} and {a} would both become {b}",
                "Copy or move them into different directories, one after the other.",
            )
        if same and a != b and b in files:
            raise hexad.InvalidArgumentError(
                f"{a} would replace {b}, which is to be copied or moved itself",
                "Take one after the other, by a name between where two change places.",
            )


def check_contained(directory: str, targets: Iterable[str]) -> None:
    """That no local target lies outside of it: names of objects may have ".." between slashes."""
    top = os.path.normpath(directory)
    for path in targets:
        place = os.path.normpath(path)
        if place != top and not place.startswith(top.rstrip("/") + "/"):
            raise hexad.InvalidArgumentError(
                f"{path} lies outside of {directory}: the object's name has '..' in it",
                "Give each such object a local name of its own: get_file(object, local).",
            )


def is_directory(fs: Any, path: Any) -> bool:
    """Whether what is copied there goes into it."""
    return os.fspath(path).endswith("/") or bool(fs.isdir(path))


def _stripped(fs: Any, path: Any) -> Any:
    return fs._strip_protocol(path) if isinstance(path, (str, os.PathLike)) else path


def _kind(fs: Any, path: str) -> str | None:
    """ "file" or "directory"; None: there is nothing."""
    try:
        kind: str = fs.info(path)["type"]
    except (FileNotFoundError, NotADirectoryError):
        return None
    return kind


def matches(fs: Any, top: str, pattern: str, maxdepth: int | None) -> dict[str, Any]:
    """What fs.glob() finds, with details, were the directory `top` not taken for a part of the pattern,
    which begins below it.
    """
    only_directories = pattern.endswith("/")
    parts = pattern.rstrip("/").split("/")
    count = 0
    while count < len(parts) and not has_magic(parts[count]):
        count += 1
    if count == len(parts):
        path = "/".join([top, *parts])
        return {path: fs.info(path)} if fs.exists(path) else {}
    depth: int | None = len(parts) - count
    if "**" in parts:
        stars = len(parts) - parts.index("**")
        depth = None if maxdepth is None else len(parts) - count - stars + maxdepth
    start = "/".join([top, *parts[:count]])
    found = fs.find(start, maxdepth=depth, withdirs=True, detail=True)
    wanted = re.compile(fsspec.utils.glob_translate(f"{escape(top)}/{pattern}"))
    slashed = only_directories or parts[-1] == "**"
    return {
        path: info
        for path, info in sorted(found.items())
        if wanted.match(path + "/" if slashed and info["type"] == "directory" else path)
    }


def _existing(fs: Any, path: str) -> str:
    """The longest leading directory that exists although it looks like a pattern; empty: none does."""
    end = path.rfind("/")
    while end > 0 and has_magic(path[:end]):
        if fs.exists(path[:end]):
            return path[:end]
        end = path.rfind("/", 0, end)
    return ""


def _common(paths: Iterable[str]) -> str:
    """The longest leading directory, or path, that all have."""
    parts = [path.split("/") for path in paths]
    first, last = min(parts), max(parts)  # all others lie between
    count = 0
    while count < min(len(first), len(last)) and first[count] == last[count]:
        count += 1
    return "/".join(first[:count])
