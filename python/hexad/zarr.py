"""HexadStore: zarr arrays and groups in a pool.

    store = hexad.zarr.HexadStore("/data/pool", prefix="run7")
    group = zarr.open_group(store, mode="a")

A key is the object of that name behind the prefix. Each key is set whole or not at all, and
set_if_not_exists() is atomic. Keys that end in a slash, such as those of the directories that
`hexad import` stores, are not shown: zarr has no such keys.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, List, Union

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer
from zarr.core.buffer.core import default_buffer_prototype

import hexad
from hexad import _imported, _process
from hexad._commits import SUBMIT_AT_ONCE
from hexad._types import MAX_NAME, boolean, collection_of

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import BufferPrototype

__all__ = ["HexadStore"]

AnyStore = Union[hexad.Store, str, "os.PathLike[str]"]

_ALL = (1 << 44) - 1  # bytes; no object is larger
_TRIES = 4  # to read the end of an object that grows and shrinks meanwhile
_THREADS = 8  # at most, for the keys of one call
MAX_PUT = 8 << 20  # bytes; more goes through a writer, as a transaction holds what it writes


class _Pool:
    """The pool behind one HexadStore and those made from it by with_read_only().

    One that was given open stays open. One that was given as a path is opened when it is first
    used, for reading only as long as nobody wants to write, and closed when nobody is left. What was
    opened for reading stays until then, as other threads may be at it.

    A forked child opens one anew that was given as a path, or open for reading only: what the parent
    has opened is of no use there.
    """

    def __init__(self, store: AnyStore) -> None:
        self._process = os.getpid()
        # By process: another thread may hold the parent's when it forks.
        self._locks: dict[int, threading.Lock] = {}
        self._before: List[hexad.Store] = []  # what was open for reading only
        self.path: str | None  # None: the store has none
        self._store: hexad.Store | None
        if isinstance(store, (str, os.PathLike)):
            self.borrowed = False
            self.path = _process.absolute(os.fspath(store))
            self._store = None
        else:
            self.borrowed = True
            self.path = None if store.path is None else os.path.abspath(store.path)
            self._store = store
        self._writable = False

    def __del__(self) -> None:
        self.close()

    def identity(self) -> str | int:
        return self.path or id(self._store)

    def open(self, read_only: bool) -> hexad.Store:
        """The store. Blocks while it is being opened."""
        with self._lock():
            self._forget_the_parents()
            is_enough = self.borrowed or self._writable or read_only
            if self._store is None or not is_enough:
                assert self.path is not None
                store = hexad.open(self.path, read_only=read_only)
                if self._store is not None:
                    self._before.append(self._store)
                self._store = store
                self._writable = not read_only
            return self._store

    def close(self) -> None:
        with self._lock():
            if not self.borrowed:
                self._close()

    def _lock(self) -> threading.Lock:
        return self._locks.setdefault(os.getpid(), threading.Lock())

    def _forget_the_parents(self) -> None:
        if self._process == os.getpid():
            return
        self._process = os.getpid()
        if self.path is None or (self.borrowed and self._store and not self._store.read_only):
            return  # its calls raise ForkedError, which says what to do
        self.borrowed = self._writable = False
        self._store = None
        self._before = []

    def _close(self) -> None:
        stores, self._before = self._before, []
        if self._store is not None:
            stores.append(self._store)
            self._store = None
        for store in stores:
            store.close()


class HexadStore(Store):
    """The objects of a pool whose names begin with `prefix` and a slash.

    store: an open hexad.Store, which stays the caller's to close; or the directory of a pool, which
    is opened when it is first used, and closed by close().
    prefix: empty, or None: all objects. As zarr does it with paths, slashes at its ends are dropped,
    and of several in a row all but one, so that no two spellings are two places.
    read_only: refuses changes. A directory is opened read-only then, so that other processes may do
    the same at the same time.
    collection: where in the pool the objects are; None: in the default one.

    Two are equal if pool, prefix, collection and read_only are. Pickling keeps the path of the
    pool, not the open store: where it is unpickled, the pool is opened again.
    """

    supports_writes = True
    supports_deletes = True
    supports_listing = True

    def __init__(
        self,
        store: AnyStore | _Pool,
        prefix: str | os.PathLike[str] | None = "",
        *,
        read_only: bool = False,
        collection: str | None = None,
    ) -> None:
        super().__init__(read_only=boolean(read_only, "read_only"))
        if not isinstance(store, (str, os.PathLike, hexad.Store, _Pool)):
            raise TypeError(
                f"store: a hexad.Store or the path of a pool is wanted, not {type(store).__name__}"
            )
        self._pool = store if isinstance(store, _Pool) else _Pool(store)
        self.prefix = _normal(prefix)
        self.collection = collection_of(collection)
        self._where: dict[str, Any] = {} if collection is None else {"collection": collection}

    def with_read_only(self, read_only: bool = False) -> HexadStore:
        return type(self)(self._pool, self.prefix, read_only=read_only, collection=self.collection)

    def _identity(self) -> tuple[Any, ...]:
        return self._pool.identity(), self.prefix, self.collection, self.read_only

    def __eq__(self, other: object) -> bool:
        # pylint: disable=protected-access
        return isinstance(other, type(self)) and self._identity() == other._identity()

    def __str__(self) -> str:
        return f"hexad://{self._pool.path or '(no path)'}/{self.prefix}".rstrip("/")

    def __repr__(self) -> str:
        more = "" if self.collection is None else f", collection={self.collection!r}"
        return f"HexadStore('{self}'{more}{', read_only=True' if self.read_only else ''})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._pool.path is None:
            raise TypeError("a store without a path, such as one in memory, cannot be pickled")
        return _unpickle, (type(self), *self._identity())

    async def _open(self) -> None:
        await asyncio.to_thread(self._pool.open, self.read_only)
        await super()._open()

    def close(self) -> None:
        self._pool.close()
        super().close()

    def _store(self) -> hexad.Store:
        store = self._pool.open(self.read_only)
        self._is_open = True
        return store

    async def _store_async(self) -> hexad.Store:
        return await asyncio.to_thread(self._store) if not self._is_open else self._store()

    # Reading

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        prototype = prototype or default_buffer_prototype()
        store = await self._store_async()
        name = self.prefix + key
        try:
            data = self._cached(store, name, byte_range)
            if data is None and byte_range is None:
                data = await store.get_async(name, **self._where)
            elif data is None:
                data = await asyncio.to_thread(self._read, name, byte_range)
        except hexad.NotFoundError:
            return None
        return prototype.buffer.from_bytes(data)

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        prototype = prototype or default_buffer_prototype()
        try:
            return prototype.buffer.from_bytes(self._read(self.prefix + key, byte_range))
        except hexad.NotFoundError:
            return None

    def _cached(
        self, store: hexad.Store, name: str, byte_range: ByteRequest | None
    ) -> bytes | None:
        """What the read cache has of it; None: not all."""
        if isinstance(byte_range, SuffixByteRequest):
            size = store.cached_size(name, **self._where)
            if size is None:
                return None
            data = store.cached(name, *_end_of(size, byte_range), **self._where)
            return data if data is not None and _is_end(data, size, byte_range) else None
        return store.cached(name, *_place_of(byte_range), **self._where)

    def _read(self, name: str, byte_range: ByteRequest | None) -> bytes:
        store = self._store()
        if byte_range is None:
            return store.get(name, **self._where)
        if not isinstance(byte_range, SuffixByteRequest):
            return store.get_range(name, *_place_of(byte_range), **self._where)
        for _ in range(_TRIES):
            size = store.cached_size(name, **self._where)
            if size is None:
                size = store.stat(name, **self._where).size
            data = store.get_range(name, *_end_of(size, byte_range), **self._where)
            if _is_end(data, size, byte_range):
                return data
        with store.open_reader(name, **self._where) as reader:  # one version's size and bytes
            reader.seek(_end_of(reader.seek(0, os.SEEK_END), byte_range)[0])
            return reader.read()

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> List[Buffer | None]:
        """The ranges of one key are read together, of one version, by one call. What the read cache has
        takes no thread; the other keys are shared out among a few.
        """
        wanted = list(key_ranges)
        by_key: dict[str, List[int]] = {}
        for i, (key, _) in enumerate(wanted):
            by_key.setdefault(key, []).append(i)
        values: List[Buffer | None] = [None] * len(wanted)

        def fill(key: str, parts: List[bytes] | None) -> None:
            for i, part in zip(by_key[key], parts or ()):
                values[i] = prototype.buffer.from_bytes(part)

        def requests_of(key: str) -> List[ByteRequest | None]:
            return [wanted[i][1] for i in by_key[key]]

        store = await self._store_async()
        left = []
        for key in by_key:
            cached = self._cached_parts(store, self.prefix + key, requests_of(key))
            if cached is None:
                left.append(key)
            else:
                fill(key, cached)

        def read(keys: List[str]) -> List[List[bytes] | None]:
            return [self._read_parts(self.prefix + key, requests_of(key)) for key in keys]

        shares = [left[i::_THREADS] for i in range(min(_THREADS, len(left)))]
        for keys, found in zip(
            shares, await asyncio.gather(*(asyncio.to_thread(read, keys) for keys in shares))
        ):
            for key, parts in zip(keys, found):
                fill(key, parts)
        return values

    def _cached_parts(
        self, store: hexad.Store, name: str, requests: List[ByteRequest | None]
    ) -> List[bytes] | None:
        """What the read cache has of them; None: not all."""
        if len(requests) == 1:
            data = self._cached(store, name, requests[0])
            return None if data is None else [data]
        size = store.cached_size(name, **self._where)
        if size is None:
            return None
        places = [_inside(size, request) for request in requests]
        parts = store.cached_ranges(name, places, **self._where)
        if parts is None or not all(_is_of(size, *one) for one in zip(requests, parts)):
            return None
        return parts

    def _read_parts(
        self, name: str, requests: List[ByteRequest | None]
    ) -> List[bytes] | None:
        """None: there is no such object."""
        try:
            if len(requests) == 1:
                return [self._read(name, requests[0])]
            return self._read_together(name, requests)
        except hexad.NotFoundError:
            return None

    def _read_together(self, name: str, requests: List[ByteRequest | None]) -> List[bytes]:
        store = self._store()
        if all(isinstance(request, RangeByteRequest) for request in requests):
            return store.get_ranges(name, map(_place_of, requests), **self._where)
        for _ in range(_TRIES):
            size = store.stat(name, **self._where).size
            places = [_inside(size, request) for request in requests]
            parts = store.get_ranges(name, places, **self._where)
            if all(_is_of(size, *one) for one in zip(requests, parts)):
                return parts
        with store.open_reader(name, **self._where) as reader:  # one version's size and bytes
            size = reader.seek(0, os.SEEK_END)
            parts = []
            for request in requests:
                offset, length = _inside(size, request)
                reader.seek(offset)
                parts.append(reader.read(length))
            return parts

    def _may_be_there(self, key: str) -> bool:
        """Nothing has a longer name, or one that begins with more."""
        return len(os.fsencode(self.prefix + key)) <= MAX_NAME

    async def exists(self, key: str) -> bool:
        if not self._may_be_there(key):
            return False
        if self._knows(key) is not None:
            return True
        return await asyncio.to_thread(
            lambda: self._store().exists(self.prefix + key, **self._where)
        )

    def _knows(self, key: str) -> int | None:
        """The size of what the read cache knows."""
        if not self._is_open:
            return None
        return self._store().cached_size(self.prefix + key, **self._where)

    async def getsize(self, key: str) -> int:
        size = self._knows(key)
        if size is not None:
            return size
        try:
            stat = await asyncio.to_thread(
                lambda: self._store().stat(self.prefix + key, **self._where)
            )
        except hexad.NotFoundError as error:
            raise FileNotFoundError(key) from error
        return stat.size

    async def getsize_prefix(self, prefix: str) -> int:
        prefix = prefix.rstrip("/") + "/" if prefix.rstrip("/") else ""
        return sum([e.size async for page in self._pages(prefix) for e in page.entries])

    # Listing

    async def _pages(self, prefix: str, delimiter: str = "") -> AsyncIterator[hexad.Page]:
        after = ""
        while self._may_be_there(prefix):
            page = await asyncio.to_thread(self._page, prefix, delimiter, after)
            yield page
            if not page.next:
                return
            after = page.next

    def _page(self, prefix: str, delimiter: str, after: str) -> hexad.Page:
        return self._store().list(
            prefix=self.prefix + prefix, after=after, delimiter=delimiter, **self._where
        )

    async def list(self) -> AsyncIterator[str]:
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        async for page in self._pages(prefix):
            for entry in page.entries:
                if not entry.name.endswith("/"):
                    yield entry.name[len(self.prefix) :]

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        prefix = prefix.rstrip("/") + "/" if prefix.rstrip("/") else ""
        start = len(self.prefix) + len(prefix)
        seen = set[str]()  # a key may have the name of a directory
        async for page in self._pages(prefix, delimiter="/"):
            names = [entry.name for entry in page.entries] + list(page.prefixes)
            for name in names:
                child = name[start:].rstrip("/")
                if child and child not in seen:
                    seen.add(child)
                    yield child

    # Writing

    async def set(self, key: str, value: Buffer) -> None:
        data = self._to_write(value)
        store = await self._store_async()
        name = self.prefix + key
        if data.nbytes > MAX_PUT:
            await asyncio.to_thread(self._write, name, data)
        elif data.nbytes > SUBMIT_AT_ONCE or not await self._set_at_once(store, name, data):

            def build(transaction: hexad.Transaction) -> None:
                transaction.put(name, data, **self._where)
                _imported.forget(transaction, store, name, self._where)

            # pylint: disable-next=protected-access
            await store._commit_async(store.transaction(), data.nbytes, build)

    async def _set_at_once(self, store: hexad.Store, name: str, data: memoryview) -> bool:
        """Without a thread, which would have to look whether the object is an imported one: guards of the
        commit see that. False: it is one, or it comes and goes.
        """
        is_known = store.cached_size(name, **self._where) is not None
        for is_there in (is_known, not is_known):
            transaction = store.transaction()
            if is_there:
                transaction.expect_attr_absent(name, _imported.TYPE, **self._where)
            else:
                transaction.expect_absent(name, **self._where)
            transaction.put(name, data, **self._where)
            try:
                await store.commit_async(transaction)
                return True
            except hexad.ConflictError:
                pass
        return False

    def set_sync(self, key: str, value: Buffer) -> None:
        self._write(self.prefix + key, self._to_write(value))

    def _to_write(self, value: Buffer) -> memoryview:
        self._check_writable()
        if not isinstance(value, Buffer):
            raise TypeError(f"HexadStore.set(): not a Buffer but {type(value).__name__}")
        return memoryview(value.as_buffer_like())

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        data = self._to_write(value)
        name = self.prefix + key
        store = await self._store_async()
        with contextlib.suppress(hexad.ConflictError):
            if data.nbytes > MAX_PUT:
                await asyncio.to_thread(self._write, name, data, only_if_absent=True)
                return
            transaction = store.transaction()
            transaction.expect_absent(name, **self._where)
            transaction.put(name, data, **self._where)
            await store.commit_async(transaction)

    def _write(self, name: str, data: memoryview, only_if_absent: bool = False) -> None:
        store = self._store()
        writer = None
        try:
            with store.transaction() as transaction:
                if only_if_absent:
                    transaction.expect_absent(name, **self._where)
                if data.nbytes <= MAX_PUT:
                    transaction.put(name, data, **self._where)
                else:
                    writer = store.open_writer(name, **self._where)
                    writer.write(data)
                    transaction.publish(writer)
                _imported.forget(transaction, store, name, self._where)
        except BaseException:
            if writer is not None:
                writer.discard()
            raise

    async def delete(self, key: str) -> None:
        self._check_writable()
        store = await self._store_async()
        await store.remove_async(self.prefix + key, **self._where)  # which tolerates a missing one

    def delete_sync(self, key: str) -> None:
        self._check_writable()
        with self._store().transaction() as transaction:  # which tolerates a missing object
            transaction.remove(self.prefix + key, **self._where)

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        prefix = prefix.rstrip("/") + "/" if prefix.rstrip("/") else ""
        if not self._may_be_there(prefix):
            return
        await asyncio.to_thread(
            lambda: self._store().remove_prefix(self.prefix + prefix, **self._where)
        )


def _place_of(byte_range: ByteRequest | None) -> tuple[int, int]:
    """Offset and length of what is counted from the beginning."""
    if byte_range is None:
        return 0, _ALL
    if isinstance(byte_range, RangeByteRequest):
        return byte_range.start, max(0, byte_range.end - byte_range.start)
    if isinstance(byte_range, OffsetByteRequest):
        return byte_range.offset, _ALL
    raise ValueError(f"Unexpected byte_range, got {byte_range}.")


def _inside(size: int, byte_range: ByteRequest | None) -> tuple[int, int]:
    """Offset and length in an object of a size; a byte behind the end belongs to what reaches it, which
    shows whether the object still has that size.
    """
    if isinstance(byte_range, SuffixByteRequest):
        return _end_of(size, byte_range)
    offset, length = _place_of(byte_range)
    return offset, min(length, max(0, size - offset) + 1)


def _is_of(size: int, byte_range: ByteRequest | None, data: bytes) -> bool:
    """Whether what was read of _inside() shows an object of that size, as far as it matters."""
    if isinstance(byte_range, SuffixByteRequest):
        return _is_end(data, size, byte_range)
    length = _inside(size, byte_range)[1]
    return len(data) < length or length == _place_of(byte_range)[1]


def _end_of(size: int, byte_range: SuffixByteRequest) -> tuple[int, int]:
    """Offset and length of the end of an object of a size, and a byte behind it: whether there is one
    shows whether the object still has that size.
    """
    length = min(size, byte_range.suffix)
    return size - length, length + 1


def _is_end(data: bytes, size: int, byte_range: SuffixByteRequest) -> bool:
    return len(data) == min(size, byte_range.suffix)


def _normal(prefix: str | os.PathLike[str] | None) -> str:
    """With one slash between its parts and one at its end; "" for none of them."""
    text = "" if prefix is None else prefix
    if isinstance(text, os.PathLike):
        text = os.fspath(text)
    if not isinstance(text, str):
        raise TypeError(f"prefix: str or os.PathLike is wanted, not {type(text).__name__}")
    parts = [part for part in text.split("/") if part]
    if "." in parts or ".." in parts:
        raise ValueError(f"prefix {text!r} has '.' or '..' between slashes, as no key of zarr has")
    return "".join(part + "/" for part in parts)


def _unpickle(
    kind: type[HexadStore], path: str, prefix: str, collection: str | None, read_only: bool
) -> HexadStore:
    return kind(path, prefix, read_only=read_only, collection=collection)
