"""Store: one open store, for any number of threads and event loops."""

from __future__ import annotations

import asyncio
import io
import itertools
import os
import threading
import warnings
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Coroutine,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Sequence,
    Sized,
    Tuple,
    TypeVar,
    Union,
)

from . import _native, _process, _texts
from ._errors import ClosedError, ReadOnlyError
from ._files import Reader, Writer
from ._mapping import StoreMapping
from ._transaction import Transaction
from ._types import DEFAULT_COLLECTION, Entry, Page, Stat, hint_flags

if TYPE_CHECKING:
    from types import TracebackType

    from ._types import Data, Hint, Name, Progress

T = TypeVar("T")
# Within the class `list` is the method.
Ranges = Iterable[Tuple[int, int]]

_STREAM_FROM = 32 << 20  # bytes; put() writes larger objects piece by piece
_PIECE = 16 << 20  # bytes of such a put between two calls of its progress
_BATCH_BYTES = 8 << 20  # of one transaction of put_many()
_BATCH_OBJECTS = 1000
_REMOVE_AT_ONCE = 2000  # objects; a transaction takes 4096
# Up to here a commit is submitted on the event loop's thread: it neither computes nor waits long.
_SUBMIT_AT_ONCE = 256 << 10  # bytes, of one
_SUBMIT_IN_FLIGHT = 16 << 20  # bytes, of all together
_ALL = (1 << 44) - 1  # bytes; no object is larger
_READER_BUFFER = 1 << 20  # bytes
_RAISE: Any = object()


class _Closed:
    """What a closed Store has in place of the native one."""

    closed = True
    forked = False

    def __getattr__(self, name: str) -> Any:
        raise ClosedError("the store has been closed", "Open it again.")


class _OnlyReads:
    """The native store for a read-only Store whose process has it open for writing, too."""

    _WRITES = {"commit", "submit", "open_writer", "checkpoint"}

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getattr__(self, name: str) -> Any:
        if name in self._WRITES:
            raise ReadOnlyError("the store was opened read-only", "Open it for writing.")
        return getattr(self._native, name)


class Store:
    """An open store. hexad.open() and hexad.in_memory() make it.

    Any thread may use it, and everything that waits lets other threads run. Names are str or
    bytes, 1 to 1024 bytes of UTF-8; offsets, lengths and sizes are bytes. Every call takes
    `collection=`, the collection that the object is in. Errors are hexad.Error and its classes; all
    calls raise ClosedError after close() and ForkedError in a forked child; all reads may raise
    UnavailableError (too many devices lost) and IoError.

    After fork() only the parent can use it. Pickling works for stores that were opened read-only:
    where it is unpickled the pool is opened again.
    """

    def __init__(
        self,
        shared: _process.SharedStore,
        *,
        path: str | None,
        read_only: bool,
        reopen: Tuple[Any, ...] | None,
    ) -> None:
        self._shared = shared
        self._native: Any = shared.native
        if read_only and not shared.read_only:
            self._native = _OnlyReads(shared.native)
        self._reopen = reopen
        self._in_flight = 0  # bytes of asynchronous commits that were submitted at once
        self._in_flight_lock = threading.Lock()  # event loops of several threads
        #: The directory of the pool; None: in memory, or opened from its devices.
        self.path = path
        self.read_only = read_only

    def __repr__(self) -> str:
        where = "in memory" if self._reopen is None else repr(self.path)
        return f"<hexad store {where}{', closed' if self.closed else ''}>"

    # Life

    def close(self) -> None:
        """Waits for what is in flight, writes a checkpoint and lets go of the devices; again:
        nothing. When several Store objects of this process share the store, the last one does it.

        Errors: IoError (buffered commits may be lost; the message names them).
        """
        if isinstance(self._native, _Closed):
            return
        self._native = _Closed()
        _process.release(self._shared)

    @property
    def closed(self) -> bool:
        return bool(self._native.closed)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        native = getattr(self, "_native", None)
        if native is None or native.closed or native.forked:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
        # Without a checkpoint, when this was the last one: the next opening recovers.
        self._native = _Closed()
        with _process.lock():
            self._shared.users -= 1

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._reopen is None or not self.read_only:
            raise TypeError("only a store that was opened read-only can be pickled")
        from . import _open_again

        return _open_again, self._reopen

    # Reading

    def get(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> bytes:
        """The whole object. NotFoundError; TooBigError: over 4 GiB."""
        data: bytes = self._native.get(collection, name)
        return data

    def get_range(
        self, name: Name, offset: int, length: int, *, collection: Name = DEFAULT_COLLECTION
    ) -> bytes:
        """`length` bytes from `offset` on; fewer at the object's end, none behind it."""
        data: bytes = self._native.get_range(collection, name, offset, length)
        return data

    def get_ranges(
        self, name: Name, ranges: Ranges, *, collection: Name = DEFAULT_COLLECTION
    ) -> List[bytes]:
        """One bytes for each (offset, length), all of one version of the object. Any number, in any
        order. TooBigError: over 4 GiB together.
        """
        parts: List[bytes] = self._native.get_ranges(collection, name, list_of(ranges))
        return parts

    def get_into(
        self,
        name: Name,
        buffer: Data,
        offset: int = 0,
        *,
        collection: Name = DEFAULT_COLLECTION,
    ) -> int:
        """Reads into a writable buffer from `offset` on; returns how many bytes there were."""
        count: int = self._native.get_into(collection, name, offset, buffer)
        return count

    def get_view(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> memoryview:
        """The whole object as a read-only buffer: what the engine has read, not copied again. It
        lives as long as somebody looks at it; what is written later does not show in it.
        """
        return memoryview(self._native.get_view(collection, name))

    def get_many(
        self,
        names: Iterable[Name],
        *,
        default: Any = _RAISE,
        collection: Name = DEFAULT_COLLECTION,
        progress: Progress | None = None,
    ) -> List[Any]:
        """The objects in the order of the names, in one call. Each is of its own latest state.

        default: takes the place of those that are missing; without it they raise NotFoundError.
        """
        wanted = list_of(names)
        step = len(wanted) if progress is None else _BATCH_OBJECTS
        found: List[Any] = []
        for start in range(0, len(wanted), max(step, 1)):
            found += self._native.get_many(collection, wanted[start : start + step])
            if progress is not None:
                progress(len(found), len(wanted))
        for i, value in enumerate(found):
            if value is None and default is _RAISE:
                self._native.stat(collection, wanted[i])  # says what is missing
                found[i] = self.get(wanted[i], collection=collection)  # it has come meanwhile
            elif value is None:
                found[i] = default
        return found

    def exists(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> bool:
        """False also when the collection does not exist."""
        return bool(self._native.exists(collection, name))

    def __contains__(self, name: Name) -> bool:
        return self.exists(name)

    def stat(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> Stat:
        """Size, version, times. NotFoundError."""
        return Stat(*self._native.stat(collection, name))

    def extents(
        self,
        name: Name,
        offset: int = 0,
        length: int = _ALL,
        *,
        collection: Name = DEFAULT_COLLECTION,
    ) -> List[Tuple[int, int]]:
        """(offset, length) of the parts that hold data; the rest are holes, which read as zeros."""
        parts: List[Tuple[int, int]] = self._native.extents(collection, name, offset, length)
        return parts

    def checksum(
        self,
        name: Name,
        offset: int = 0,
        length: int = _ALL,
        *,
        type: str = "crc32c",
        collection: Name = DEFAULT_COLLECTION,
    ) -> Tuple[int, int]:
        """(checksum, bytes that it covers) of a range, read in bounded memory. type: crc32c, xxh3."""
        value, covered = self._native.checksum(collection, name, offset, length, type)
        return value, covered

    def attributes(
        self, name: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> Dict[str, bytes]:
        """NotFoundError: there is no such object."""
        attributes: Dict[str, bytes] = self._native.attributes(collection, name)
        return attributes

    def attribute(
        self, name: Name, attribute: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> bytes | None:
        """One of them. None: the object has none of that name. NotFoundError: no such object."""
        value: bytes | None = self._native.attribute(collection, name, attribute)
        return value

    # Listing

    def list(
        self,
        prefix: Name = "",
        *,
        after: Name = "",
        delimiter: Name = "",
        limit: int = 1000,
        reverse: bool = False,
        collection: Name = DEFAULT_COLLECTION,
    ) -> Page:
        """A page of names, bytewise in order, of one state.

        prefix: only names that begin with it. after: only those behind it, which need not exist.
        delimiter: names that contain it behind the prefix are rolled up into `prefixes`.
        limit: entries and prefixes together, at most 100,000. NotFoundError: the collection.
        """
        entries, prefixes, following = self._native.list(
            collection, prefix, after, delimiter, limit, reverse
        )
        return Page([Entry(*entry) for entry in entries], prefixes, following)

    def iterate(
        self,
        prefix: Name = "",
        *,
        after: Name = "",
        reverse: bool = False,
        collection: Name = DEFAULT_COLLECTION,
    ) -> Iterator[Entry]:
        """All objects below a prefix, page by page: what is written meanwhile may show or not."""
        following: Name | None = after
        while following is not None:
            page = self.list(prefix, after=following, reverse=reverse, collection=collection)
            yield from page
            following = page.next

    def __iter__(self) -> Iterator[str]:
        """All names of the default collection."""
        return (entry.name for entry in self.iterate())

    def mapping(
        self, prefix: str = "", *, collection: Name = DEFAULT_COLLECTION
    ) -> StoreMapping:
        """What lies below a prefix as a MutableMapping, from names without it to bytes."""
        return StoreMapping(self, prefix, collection)  # type: ignore[arg-type]

    # Writing. Each call is one durable commit unless it says otherwise, and returns its LSN.

    def transaction(
        self, *, collection: Name = DEFAULT_COLLECTION, durable: bool = True
    ) -> Transaction:
        """Begins one: `with store.transaction() as t`. collection: of its calls that name none.

        durable: False: the commit returns when everybody sees it; it is durable with the next
        durable commit or sync(), or some 10 ms later by itself. A crash before loses it.
        """
        return Transaction(self, collection, durable)

    def commit(self, transaction: Transaction) -> int:
        """Applies all of it or nothing, and returns the LSN.

        Errors: ConflictError (a guard), NotFoundError, AlreadyExistsError, NotEmptyError,
        InvalidArgumentError, TooBigError, NoSpaceError, IoError, ReadOnlyError: nothing was
        applied. OutcomeUnknownError: a device failed in the middle, and the store is read-only.
        """
        lsn: int = self._native.commit(transaction._take(), transaction._durable)
        transaction.version = lsn
        return lsn

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
        size = size_of(data)
        if size > self._stream_from():
            with self.open_writer(name, hint=hint, collection=collection) as writer:
                for piece in pieces_of(data, size if progress is None else _PIECE):
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

    def put_many(
        self,
        items: Union[Mapping[Name, Data], Iterable[Tuple[Name, Data]]],
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
        finally:
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
        return self._alone(collection, lambda t: t.set_attr(name, attribute, value))

    def set_attrs(
        self,
        name: Name,
        attributes: Mapping[Name, Data],
        *,
        collection: Name = DEFAULT_COLLECTION,
    ) -> int:
        return self._alone(collection, lambda t: t.set_attrs(name, attributes))

    def remove_attr(
        self, name: Name, attribute: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        return self._alone(collection, lambda t: t.remove_attr(name, attribute))

    # The omap: an ordered map of the object's own, beside its data

    def omap_get(
        self, name: Name, key: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> bytes | None:
        """None: the object has no such key. NotFoundError: there is no such object."""
        value: bytes | None = self._native.omap_get(collection, name, key)
        return value

    def omap_get_many(
        self, name: Name, keys: Iterable[Name], *, collection: Name = DEFAULT_COLLECTION
    ) -> Dict[str, bytes]:
        """Those of the keys that are there, of one state."""
        found: Dict[str, bytes] = self._native.omap_get_many(collection, name, list_of(keys))
        return found

    def omap_header(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> bytes:
        """Empty: there is none."""
        header: bytes = self._native.omap_header(collection, name)
        return header

    def omap_items(
        self,
        name: Name,
        *,
        after: Name = "",
        end: Name = "",
        collection: Name = DEFAULT_COLLECTION,
    ) -> Iterator[Tuple[str, bytes]]:
        """Keys behind `after` and before `end`, in order, with their values, page by page."""
        return self._omap(name, after, end, collection, True)

    def omap_keys(
        self,
        name: Name,
        *,
        after: Name = "",
        end: Name = "",
        collection: Name = DEFAULT_COLLECTION,
    ) -> Iterator[str]:
        """The keys alone."""
        return (key for key, _ in self._omap(name, after, end, collection, False))

    def _omap(
        self, name: Name, after: Name, end: Name, collection: Name, values: bool
    ) -> Iterator[Any]:
        while True:
            entries, after = self._native.omap_list(collection, name, after, end, 1000, values)
            yield from entries
            if not after:
                return

    def omap_set(
        self, name: Name, entries: Mapping[Name, Data], *, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        """NotFoundError: there is no such object."""
        return self._alone(collection, lambda t: t.omap_set(name, entries))

    def omap_remove(
        self, name: Name, *keys: Name, collection: Name = DEFAULT_COLLECTION
    ) -> int:
        return self._alone(collection, lambda t: t.omap_remove(name, *keys))

    # Streams

    def open_reader(
        self, name: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> io.BufferedReader:
        """A seekable binary file of one version of the object, in bounded memory. NotFoundError.
        Its `raw` (hexad.Reader) has `stat` and attributes().
        """
        return io.BufferedReader(Reader(self._native.open_reader(collection, name)), _READER_BUFFER)

    def open_writer(
        self, name: Name, *, hint: Hint = None, collection: Name = DEFAULT_COLLECTION
    ) -> Writer:
        """A binary file that becomes the object when it is closed; see hexad.Writer."""
        return Writer(self._native.open_writer(collection, name, hint_flags(hint)))

    # Collections

    def collections(self) -> List[Dict[str, Any]]:
        """By name: name, id, compression, quota_objects, quota_bytes, objects, bytes."""
        found: List[Dict[str, Any]] = self._native.collections()
        return found

    def collection(self, name: Name) -> Dict[str, Any]:
        """One of them. NotFoundError."""
        found: Dict[str, Any] = self._native.collection(name)
        return found

    def collection_usage(self, name: Name = DEFAULT_COLLECTION) -> Dict[str, int]:
        """objects, bytes, stored, extents, omap_entries, compressed_original, compressed: one pass
        over all its objects.
        """
        usage: Dict[str, int] = self._native.collection_usage(name)
        return usage

    def create_collection(
        self, name: Name, *, compression: str | None = None, exist_ok: bool = False
    ) -> int | None:
        """compression: its policy, such as "aggressive,zstd". AlreadyExistsError unless exist_ok,
        which then changes nothing and returns None.
        """
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

    # Asynchronous twins. A commit is answered by the engine and takes no thread; reads, and commits
    # that may have to wait first, use a few threads of the store.

    def commit_async(self, transaction: Transaction) -> Coroutine[Any, Any, int]:
        """commit(), awaited. What is not awaited one after the other may commit in any order; when
        the waiting is cancelled the commit goes on.
        """
        return self._commit_async(transaction, transaction.payload_bytes)

    def put_async(
        self,
        name: Name,
        data: Data,
        *,
        hint: Hint = None,
        collection: Name = DEFAULT_COLLECTION,
        durable: bool = True,
    ) -> Coroutine[Any, Any, int]:
        """put(), awaited. The data is taken at the call: it may be changed as soon as this returns,
        before it is awaited.
        """
        size = size_of(data)
        if size > self._stream_from():
            whole = data if type(data) is bytes else memoryview(data).tobytes()
            return self._in_worker(
                lambda: self.put(name, whole, hint=hint, collection=collection, durable=durable)
            )
        transaction = self.transaction(collection=collection, durable=durable)
        transaction.put(name, data, hint=hint)
        return self._commit_async(transaction, size)

    def remove_async(
        self, name: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> Coroutine[Any, Any, int]:
        """remove(), awaited."""
        transaction = self.transaction(collection=collection)
        transaction.remove(name)
        return self._commit_async(transaction, 0)

    async def get_async(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> bytes:
        """get(), awaited."""
        return await self._in_worker(lambda: self.get(name, collection=collection))

    async def get_range_async(
        self, name: Name, offset: int, length: int, *, collection: Name = DEFAULT_COLLECTION
    ) -> bytes:
        """get_range(), awaited."""
        return await self._in_worker(
            lambda: self.get_range(name, offset, length, collection=collection)
        )

    async def get_many_async(
        self,
        names: Iterable[Name],
        *,
        default: Any = _RAISE,
        collection: Name = DEFAULT_COLLECTION,
    ) -> List[Any]:
        """get_many(), awaited."""
        wanted = list_of(names)
        return await self._in_worker(
            lambda: self.get_many(wanted, default=default, collection=collection)
        )

    async def _in_worker(self, call: Callable[[], T]) -> T:
        if self.closed:
            raise ClosedError("the store has been closed", "Open it again.")
        self._shared.check_not_forked()
        return await asyncio.wrap_future(self._shared.executor().submit(call))

    async def _commit_async(self, transaction: Transaction, size: int) -> int:
        changes = transaction._take()
        self._shared.check_not_forked()
        completions = _process.completions()
        future = asyncio.get_running_loop().create_future()
        token = completions.expect(future, self._shared)

        def submit() -> None:
            self._native.submit(changes, transaction._durable, completions.native, token)

        at_once = (
            not transaction._reads
            and size <= _SUBMIT_AT_ONCE
            and self._in_flight + size <= _SUBMIT_IN_FLIGHT
        )
        if at_once:
            try:
                submit()
            except BaseException:
                completions.forget(token)
                raise
            with self._in_flight_lock:
                self._in_flight += size
            future.add_done_callback(lambda _: self._answered(size))
        else:
            await self._submit_in_worker(submit, completions, token)
        lsn: int = await future
        transaction.version = lsn
        return lsn

    async def _submit_in_worker(
        self, submit: Callable[[], None], completions: _process.Completions, token: int
    ) -> None:
        try:
            submitted = self._shared.executor().submit(submit)
        except BaseException:
            completions.forget(token)
            raise
        try:
            await asyncio.wrap_future(submitted)
        except asyncio.CancelledError:
            if submitted.cancelled():
                completions.forget(token)  # it will not begin any more
            raise
        except Exception:
            completions.forget(token)
            raise

    def _answered(self, size: int) -> None:
        with self._in_flight_lock:
            self._in_flight -= size

    # Care

    def sync(self) -> None:
        """Returns when every commit that began before is durable. IoError: buffered ones are lost."""
        self._native.sync()

    def checkpoint(self) -> None:
        """Writes a checkpoint now and trims the log."""
        self._native.checkpoint()

    def fsck(self, *, deep: bool = False, repair: bool = False) -> Dict[str, Any]:
        """errors (findings not repaired), findings[] of subject, problem, repaired;
        objects_checked, stripes_checked, bytes_checked.

        deep: reads every byte, checks every checksum and all parity.
        """
        report: Dict[str, Any] = self._native.fsck(deep, repair)
        return report

    def status(self) -> Dict[str, Any]:
        """health ("ok", "degraded", "unavailable"), faults_tolerated, devices[], notes[], ..."""
        status: Dict[str, Any] = self._native.status()
        return status

    def status_text(self) -> str:
        """status() and space() in a few lines, for people."""
        return _texts.status_text(self.status(), self.space())

    def explain(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> str:
        """How an object is stored, and why so, in a few lines, for people. NotFoundError."""
        stat = self.stat(name, collection=collection)
        return _texts.explain_text(self, text_of(name), text_of(collection), stat)

    def space(self) -> Dict[str, Any]:
        """Bytes: capacity, available, used, stored, allocated, metadata, per_device[], ..."""
        space: Dict[str, Any] = self._native.space()
        return space

    def counters(self, *, since_open: bool = False) -> Dict[str, int]:
        """By name, over the life of the store or since this opening. doc/counters.md"""
        pairs: Dict[str, Tuple[int, int]] = self._native.counters()
        return {name: pair[1 if since_open else 0] for name, pair in pairs.items()}

    def effective_options(self) -> Dict[str, Tuple[str, str]]:
        """Name to (value, where it came from: "default", "given", "label" or "computed")."""
        options: Dict[str, Tuple[str, str]] = self._native.effective_options()
        return options

    # Inside

    def _alone(self, collection: Name, build: Callable[[Transaction], None]) -> int:
        transaction = self.transaction(collection=collection)
        build(transaction)
        return self.commit(transaction)

    def _stream_from(self) -> int:
        limit = self._shared.max_transaction
        return _STREAM_FROM if limit is None else min(_STREAM_FROM, limit // 2)


def list_of(items: Iterable[T]) -> Sequence[T]:
    """A list; a single name in place of several is a mistake, not its letters."""
    if isinstance(items, (str, bytes)):
        raise TypeError(f"several are wanted, not {type(items).__name__}")
    return list(items)


def text_of(name: Name) -> str:
    return name if isinstance(name, str) else os.fsdecode(name)


def pieces_of(data: Data, step: int) -> Iterator[Data]:
    """`step` bytes each; one for all of a buffer whose items memoryview cannot take apart."""
    with memoryview(data) as view:
        try:
            flat = view.cast("B")
        except (TypeError, ValueError):
            yield data
            return
        with flat:
            for start in range(0, flat.nbytes, step):
                yield flat[start : start + step]


def size_of(data: Data) -> int:
    """Bytes; 0 for what is no buffer, which putting it refuses with a better message."""
    if type(data) is bytes:
        return len(data)
    try:
        with memoryview(data) as view:
            return view.nbytes
    except TypeError:
        return 0
