"""What changes a store, each call by itself."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Iterable, Iterator, Mapping, Sized

from . import _native
from ._commits import Commits
from ._files import Writer
from ._reading import Reading
from ._types import DEFAULT_COLLECTION, boolean, hint_flags

if TYPE_CHECKING:
    from ._types import Data, Hint, Name, NamedData, Progress

_STREAM_FROM = 32 << 20  # bytes; put() writes larger objects piece by piece
_PIECE = 16 << 20  # bytes of such a put between two calls of its progress
_BATCH_BYTES = 8 << 20  # of one transaction of put_many()
_BATCH_OBJECTS = 1000
_REMOVE_AT_ONCE = 2000  # objects; a transaction takes 4096


class Writing(Reading, Commits):
    """The calls of a store that change it. Each is one durable commit unless it says otherwise, and
    returns its LSN.
    """

    def put(
        self,
        name: Name,
        data: Data,
        *,
        hint: Hint = None,
        collection: Name = DEFAULT_COLLECTION,
        durable: bool = True,
        progress: Progress | None = None,
    ) -> int:
        """Replaces the object's data; creates it. Of any size: above 32 MiB piece by piece, visible
        at the end as a whole all the same. The data is not copied before the engine codes it: other
        threads leave it alone until this returns.

        progress: counts bytes.
        """
        durable = boolean(durable, "durable")
        size = size_of(data)
        if size > self._stream_from():
            with self.open_writer(name, hint=hint, collection=collection) as writer:
                for piece in pieces_of(data, _PIECE):  # Ctrl-C ends it between two of them
                    writer.write(piece)
                    if progress is not None:
                        progress(writer.tell(), size)
            assert writer.version is not None
            return writer.version
        changes = _native.Changes()
        changes.put(collection, name, data, hint_flags(hint), True)
        lsn: int = self._native.commit(changes, durable)
        if progress is not None:
            progress(size, size)
        return lsn

    def open_writer(
        self, name: Name, *, hint: Hint = None, collection: Name = DEFAULT_COLLECTION
    ) -> Writer:
        """A binary file that becomes the object when it is closed; see hexad.Writer."""
        return Writer(self._native.open_writer(collection, name, hint_flags(hint)), name)

    def put_many(
        self,
        items: NamedData | Iterable[tuple[Name, Data]],
        *,
        hint: Hint = None,
        collection: Name = DEFAULT_COLLECTION,
        durable: bool = True,
        progress: Progress | None = None,
    ) -> int:
        """Puts many objects, in order, in transactions of some 8 MiB or 1000 objects; returns how
        many, when all are durable. Each transaction is all or nothing, the whole is not: an error
        or a crash leaves some of the transactions, from the first one on. For all or nothing take
        transaction().

        progress: counts what everybody sees.
        """
        if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
            raise TypeError(
                f"items: a dict, or pairs of name and data, are wanted, not {type(items).__name__}"
            )
        durable = boolean(durable, "durable")
        pairs = iter(items.items() if isinstance(items, Mapping) else items)
        total = len(items) if isinstance(items, Sized) else None
        # Whoever makes the pairs one by one may use one buffer for all of them.
        borrow = isinstance(items, (dict, list, tuple))
        step = _BATCH_OBJECTS if borrow else 1
        flags = hint_flags(hint)
        most = min(_BATCH_BYTES, self._stream_from())
        changes = _native.Changes()
        done = 0

        def commit() -> None:
            nonlocal changes, done
            count = changes.size
            # In order, and durable as soon as what comes after it is.
            self._native.commit(changes, False)
            changes = _native.Changes()
            done += count
            if progress is not None:
                progress(done, total)

        try:
            while some := list(itertools.islice(pairs, step)):
                at = changes.put_some(collection, some, 0, flags, borrow, most)
                while at < len(some):
                    if changes.size:
                        commit()
                    else:
                        self.put(*some[at], hint=hint, collection=collection, durable=False)
                        done += 1
                        at += 1
                    at = changes.put_some(collection, some, at, flags, borrow, most)
                if changes.size >= _BATCH_OBJECTS:
                    commit()
            if changes.size:
                commit()
        except Exception:  # not Ctrl-C, which waits for nothing
            if durable and done:
                self._native.sync()
            raise
        if durable and done:
            self._native.sync()
        return done

    def write(
        self, name: Name, offset: int, data: Data, *, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        """Transaction.write() alone."""
        return self._alone(collection, lambda t: t.write(name, offset, data))

    def append(self, name: Name, data: Data, *, collection: Name = DEFAULT_COLLECTION) -> int:
        """Transaction.append() alone."""
        return self._alone(collection, lambda t: t.append(name, data))

    def truncate(
        self, name: Name, size: int, *, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        """Transaction.truncate() alone."""
        return self._alone(collection, lambda t: t.truncate(name, size))

    def zero(
        self, name: Name, offset: int, length: int, *, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        """Transaction.zero() alone."""
        return self._alone(collection, lambda t: t.zero(name, offset, length))

    def touch(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> int:
        """Transaction.touch() alone."""
        return self._alone(collection, lambda t: t.touch(name))

    def remove(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> int:
        """A missing object is tolerated."""
        return self._alone(collection, lambda t: t.remove(name))

    def remove_prefix(
        self,
        prefix: Name,
        *,
        collection: Name = DEFAULT_COLLECTION,
        progress: Progress | None = None,
    ) -> int:
        """Removes all objects whose names begin with it, in transactions of 2000, and returns how
        many there were. What others put there meanwhile may go or stay.
        """
        done = 0
        while True:
            page = self.list(prefix, limit=_REMOVE_AT_ONCE, collection=collection)
            if not page.entries:
                return done
            with self.transaction(collection=collection) as transaction:
                for entry in page:
                    transaction.remove(entry.name)
            done += len(page)
            if progress is not None:
                progress(done, None)

    def rename(
        self,
        name: Name,
        to: Name,
        *,
        collection: Name = DEFAULT_COLLECTION,
        to_collection: Name | None = None,
    ) -> int:
        """NotFoundError; AlreadyExistsError: `to` is there."""
        return self._alone(collection, lambda t: t.rename(name, to, to_collection=to_collection))

    def clone(
        self,
        name: Name,
        to: Name,
        *,
        collection: Name = DEFAULT_COLLECTION,
        to_collection: Name | None = None,
    ) -> int:
        """An object like it, sharing what is stored until one of them changes. Replaces `to`."""
        return self._alone(collection, lambda t: t.clone(name, to, to_collection=to_collection))

    def clone_range(
        self,
        name: Name,
        offset: int,
        length: int,
        to: Name,
        to_offset: int,
        *,
        collection: Name = DEFAULT_COLLECTION,
        to_collection: Name | None = None,
    ) -> int:
        """Transaction.clone_range() alone."""
        return self._alone(
            collection,
            lambda t: t.clone_range(
                name, offset, length, to, to_offset, to_collection=to_collection
            ),
        )

    def set_attr(
        self, name: Name, attribute: Name, value: Data, *, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        """Transaction.set_attr() alone."""
        return self._alone(collection, lambda t: t.set_attr(name, attribute, value))

    def set_attrs(
        self,
        name: Name,
        attributes: NamedData,
        *,
        collection: Name = DEFAULT_COLLECTION,
    ) -> int:
        """Transaction.set_attrs() alone."""
        return self._alone(collection, lambda t: t.set_attrs(name, attributes))

    def remove_attr(
        self, name: Name, attribute: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        """Transaction.remove_attr() alone."""
        return self._alone(collection, lambda t: t.remove_attr(name, attribute))

    def omap_set(
        self, name: Name, entries: NamedData, *, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        """NotFoundError: there is no such object."""
        return self._alone(collection, lambda t: t.omap_set(name, entries))

    def omap_remove(
        self, name: Name, *keys: Name, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        """Missing keys are tolerated. NotFoundError: there is no such object."""
        return self._alone(collection, lambda t: t.omap_remove(name, *keys))

    # Collections

    def create_collection(
        self, name: Name, *, compression: str | None = None, exist_ok: bool = False
    ) -> int | None:
        """compression: its policy, such as "aggressive,zstd". AlreadyExistsError unless exist_ok,
        which then changes nothing and returns None.
        """
        exist_ok = boolean(exist_ok, "exist_ok")
        with self.transaction() as transaction:
            transaction.create_collection(name)
            if compression is not None:
                transaction.set_policy(name, compression)
            try:
                return transaction.commit()
            except FileExistsError:
                if not exist_ok:
                    raise
                return None

    def remove_collection(self, name: Name, *, recursive: bool = False) -> int:
        """NotEmptyError while it holds objects, unless recursive."""
        return self._alone(name, lambda t: t.remove_collection(name, recursive=recursive))

    def set_policy(self, collection: Name, compression: str) -> int:
        """How what is written from now on is compressed: "none", "aggressive,zstd,level=3", ..."""
        return self._alone(collection, lambda t: t.set_policy(collection, compression))

    def set_quota(self, collection: Name, *, objects: int = 0, bytes: int = 0) -> int:
        """The most that it may hold; 0: as much as fits. Beyond: NoSpaceError."""
        return self._alone(
            collection, lambda t: t.set_quota(collection, objects=objects, bytes=bytes)
        )

    # Inside

    def _stream_from(self) -> int:
        limit = self._shared.max_transaction
        return _STREAM_FROM if limit is None else min(_STREAM_FROM, limit // 2)


def pieces_of(data: Data, step: int) -> Iterator[Data]:
    """`step` bytes each."""
    with _native.flat(data) as flat:
        for start in range(0, flat.nbytes, step):
            with flat[start : start + step] as piece:
                yield piece


def size_of(data: Data) -> int:
    """Bytes. TypeError: no buffer, or one of addresses."""
    if type(data) is bytes:
        return len(data)
    with _native.flat(data) as flat:
        return flat.nbytes
