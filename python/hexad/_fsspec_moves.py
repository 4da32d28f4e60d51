"""mv() of hexad://: everything that goes from one place to another within a pool goes at once."""

# fsspec has no types.
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import hexad
from hexad import _fsspec_plan as plan
from hexad._fsspec_file import is_directory

if TYPE_CHECKING:
    from hexad.fsspec import HexadFileSystem

AT_ONCE = 50_000  # objects that one commit renames; the log may take fewer
PIECE = 4 << 20  # bytes that are copied at once

Renames = list[tuple[str, str]]  # names of objects


def move(
    fs: HexadFileSystem, path1: Any, path2: Any, recursive: bool, maxdepth: int | None
) -> None:
    """See HexadFileSystem.mv()."""
    if not isinstance(path2, (list, tuple)):
        source, target = fs._strip_protocol(path1), fs._strip_protocol(path2)
        if source == target and not os.fspath(path2).endswith("/") and fs.exists(source):
            return  # as rename() of POSIX has it
    pairs, sources = _planned(fs, path1, path2, recursive, maxdepth)
    _check(fs, pairs, sources)
    renames: dict[int, tuple[hexad.Store, dict[str, str]]] = {}
    copies: dict[tuple[str, str], tuple[str, str]] = {}
    for a, b in pairs:
        (store1, name1), (store2, name2) = fs.locate(a), fs.locate(b)
        if a == b or not name1:
            continue
        if not name2:
            raise is_directory(b)
        ends = _directories_at(fs, store1, name1) if sources.get(a) else [""]
        if store1 is store2:
            of_store = renames.setdefault(id(store1), (store1, {}))[1]
            of_store.update((name1 + end, name2 + end) for end in ends)
        else:
            copies.update(((a + end, name1 + end), (b + end, name2 + end)) for end in ends)
    for store, names in renames.values():
        in_order = sorted(names.items())
        for i in range(0, len(in_order), AT_ONCE):
            _rename(fs, store, in_order[i : i + AT_ONCE])
    for (a, name1), (b, name2) in copies.items():
        _move_between_pools(fs, a, b, name1, name2)


def _directories_at(fs: HexadFileSystem, store: hexad.Store, name: str) -> list[str]:
    """What follows the name in those of the objects that directories are there: "/" of one that was
    made by itself; names with nothing between two slashes have more.
    """
    ends = ["/"] if store.exists(name + "/", **fs.where) else []
    for entry in store.iterate(name + "//", **fs.where):
        if entry.name.endswith("/"):
            ends.append(entry.name[len(name) :])
    return ends


def _planned(
    fs: HexadFileSystem, path1: Any, path2: Any, recursive: bool, maxdepth: int | None
) -> tuple[plan.Pairs, plan.Paths]:
    pairs, sources = plan.pairs(fs, path1, fs, path2, recursive, maxdepth)
    if isinstance(path2, (list, tuple)) and recursive:
        roots, pairs, sources = pairs, [], {}
        for a, b in roots:
            below = plan.expand(fs, [a], True, maxdepth, literal=True)
            pairs += [(p, b + p[len(a) :]) for p in below if p not in sources]
            sources.update(below)
        plan.check(pairs, sources, same=True)
    directories = [a for a, directory in sources.items() if directory]
    if not pairs or (directories and not recursive):
        path = (directories or [fs._strip_protocol(path1)])[0]
        raise IsADirectoryError(
            errno.EISDIR, "a directory is moved with recursive=True only", path
        )
    return pairs, sources


def _check(fs: HexadFileSystem, pairs: plan.Pairs, sources: plan.Paths) -> None:
    for a, b in pairs:
        if not sources.get(a):
            continue
        if a != b and (b + "/").startswith(a.rstrip("/") + "/"):
            raise hexad.InvalidArgumentError(
                f"{a} cannot be moved into itself, to {b}", "Give a target outside of it."
            )
        if a != b and fs.isfile(b):
            raise NotADirectoryError(errno.ENOTDIR, "a directory cannot replace a file", b)


def _rename(fs: HexadFileSystem, store: hexad.Store, names: Renames) -> None:
    """In one commit; in several only where they are more than the log takes at once."""
    try:
        with store.transaction() as transaction:
            for name1, name2 in names:
                transaction.remove(name2, **fs.where)
                transaction.rename(name1, name2, **fs.where)
    except hexad.TooBigError:
        if len(names) == 1:
            raise
        half = len(names) // 2
        _rename(fs, store, names[:half])
        _rename(fs, store, names[half:])


def copy_object(
    source: hexad.Store,
    name1: str,
    target: hexad.Store,
    name2: str,
    where: dict[str, Any],
    without: str | None = None,
) -> int:
    """Copies data, attributes, hints and omap, from one pool to another or within one, and replaces
    what was there, in one commit. Returns the version that was copied. NotFoundError.

    without: an attribute that stays behind.
    """
    with source.open_reader(name1, **where) as reader:
        raw: Any = reader.raw
        hint = sorted(raw.stat.hints)
        with target.open_writer(name2, hint=hint, **where) as writer:
            while data := reader.read(PIECE):
                writer.write(data)
            with target.transaction() as transaction:
                transaction.remove(name2, **where)
                transaction.publish(writer)
                attributes = raw.attributes()
                transaction.set_attrs(
                    name2, {a: v for a, v in attributes.items() if a != without}, **where
                )
                header = source.omap_header(name1, **where)
                if header:
                    transaction.omap_set_header(name2, header, **where)
                transaction.omap_set(name2, dict(source.omap_items(name1, **where)), **where)
        version: int = raw.stat.version
        return version


def _move_between_pools(fs: HexadFileSystem, a: str, b: str, name1: str, name2: str) -> None:
    """Removes what was copied and nothing newer."""
    store1, store2 = fs.locate(a)[0], fs.locate(b)[0]
    version = copy_object(store1, name1, store2, name2, fs.where)
    try:
        with store1.transaction() as transaction:
            transaction.expect_version(name1, version, **fs.where)
            transaction.remove(name1, **fs.where)
    except hexad.ConflictError as error:
        raise hexad.ConflictError(
            f"{a} has changed since it was copied to {b}: both are there now",
            "Compare them, and move it again.",
        ) from error
