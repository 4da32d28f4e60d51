"""mv() of hexad://: everything that goes from one place to another within a pool goes at once."""

# fsspec has no types.
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import hexad
from hexad import _fsspec_plan as plan
from hexad._fsspec_file import is_directory, not_found

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
        if fs._intrans and not sources.get(a) and not store1.exists(name1, **fs.where):
            raise not_found(a)  # now, as the renaming waits
        ends = _directories_at(fs, store1, name1) if sources.get(a) else [""]
        if store1 is store2:
            of_store = renames.setdefault(id(store1), (store1, {}))[1]
            of_store.update((name1 + end, name2 + end) for end in ends)
        else:
            copies.update(((a + end, name1 + end), (b + end, name2 + end)) for end in ends)
    if copies and fs._intrans:
        raise hexad.InvalidArgumentError(
            f"{next(iter(copies))[0]} would go to another pool, which no transaction takes along",
            "Copy it in the transaction, and remove it behind that.",
        )
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

    def rename(transaction: hexad.Transaction) -> None:
        for name1, name2 in names:
            transaction.remove(name2, **fs.where)
            transaction.rename(name1, name2, **fs.where)

    try:
        fs.change(store, names[0][1], rename)
    except hexad.TooBigError:
        if len(names) == 1:
            raise
        half = len(names) // 2
        _rename(fs, store, names[:half])
        _rename(fs, store, names[half:])


class Copied:
    """A copy that nobody sees yet, in a pool: data, attributes, hints and omap of an object of that
    pool or another. add_to() publishes it, in place of what is there. NotFoundError.

    without: an attribute that stays behind.
    """

    def __init__(
        self,
        source: hexad.Store,
        name1: str,
        target: hexad.Store,
        name2: str,
        where: dict[str, Any],
        without: str | None = None,
    ) -> None:
        self._name, self._where = name2, where
        with source.open_reader(name1, **where) as reader:
            raw: Any = reader.raw
            self.version: int = raw.stat.version
            self._attributes = {a: v for a, v in raw.attributes().items() if a != without}
            self._writer = target.open_writer(name2, hint=sorted(raw.stat.hints), **where)
            try:
                while data := reader.read(PIECE):
                    self._writer.write(data)
                self._header = source.omap_header(name1, **where)
                self._omap = dict(source.omap_items(name1, **where))
            except BaseException:
                self.discard()
                raise

    def add_to(self, transaction: hexad.Transaction) -> None:
        transaction.remove(self._name, **self._where)
        transaction.publish(self._writer)
        transaction.set_attrs(self._name, self._attributes, **self._where)
        if self._header:
            transaction.omap_set_header(self._name, self._header, **self._where)
        transaction.omap_set(self._name, self._omap, **self._where)

    def discard(self) -> None:
        self._writer.discard()


def _move_between_pools(fs: HexadFileSystem, a: str, b: str, name1: str, name2: str) -> None:
    """Removes what was copied and nothing newer."""
    store1, store2 = fs.locate(a)[0], fs.locate(b)[0]
    copied = Copied(store1, name1, store2, name2, fs.where)
    fs.change(store2, b, copied.add_to, copied.discard)
    try:
        with store1.transaction() as transaction:
            transaction.expect_version(name1, copied.version, **fs.where)
            transaction.remove(name1, **fs.where)
    except hexad.ConflictError as error:
        raise hexad.ConflictError(
            f"{a} has changed since it was copied to {b}: both are there now",
            "Compare them, and move it again.",
        ) from error
