"""What a store is asked for: objects, their parts, names, collections."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List

from ._errors import TooBigError
from ._files import Reader
from ._handle import Handle
from ._types import DEFAULT_COLLECTION, Entry, Page, boolean, list_of

if TYPE_CHECKING:
    from ._types import Data, Name, Progress, Stat

Ranges = Iterable[tuple[int, int]]

RAISE: Any = object()  # instead of a default

_GET_AT_ONCE = 1000  # objects between two calls of a progress, and two looks for Ctrl-C
_ALL = (1 << 44) - 1  # bytes; no object is larger
_MOST_AT_ONCE = 4 << 30  # bytes that one call returns
_READER_BUFFER = 1 << 20  # bytes


# Within the class `list` is the method, so what it returns is a List.
class Reading(Handle):
    """The calls of a store that change nothing."""

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

    def cached(
        self,
        name: Name,
        offset: int = 0,
        length: int = _ALL,
        *,
        collection: Name = DEFAULT_COLLECTION,
    ) -> bytes | None:
        """What get_range() would return, when the read cache has it and it is no more than 256 KiB; else
        None, which says nothing about the object. Never waits.
        """
        data: bytes | None = self._native.get_if_cached(collection, name, offset, length)
        return data

    def cached_size(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> int | None:
        """The object's size, when the read cache knows it; else None. Never waits."""
        size: int | None = self._native.size_if_cached(collection, name)
        return size

    def get_ranges(
        self, name: Name, ranges: Ranges, *, collection: Name = DEFAULT_COLLECTION
    ) -> List[bytes]:
        """One bytes for each (offset, length), all of one version of the object. Any number, in any
        order; fewer bytes at the object's end. TooBigError: there are over 4 GiB together.
        """
        wanted = list_of(ranges, "ranges: pairs")
        try:
            parts: List[bytes] = self._native.get_ranges(collection, name, wanted)
        except TooBigError:  # what is asked for; there may be less
            with self.open_reader(name, collection=collection) as reader:
                size = reader.raw.stat.size  # type: ignore[attr-defined]
                there = [(min(o, size), max(0, min(n, size - o))) for o, n in wanted]
                if sum(length for _, length in there) > _MOST_AT_ONCE:
                    raise
                parts = [_read(reader, offset, length) for offset, length in there]
        return parts

    def cached_ranges(
        self, name: Name, ranges: Ranges, *, collection: Name = DEFAULT_COLLECTION
    ) -> List[bytes] | None:
        """What get_ranges() would return, when the read cache has it and it is no more than 256 KiB;
        else None, which says nothing about the object. Never waits. While the store is open for
        writing, of an object of more than 1 MiB what lies between the ranges has to be there, too.
        """
        wanted = list_of(ranges, "ranges: pairs")
        unchanging = self._shared.read_only
        parts: List[bytes] | None = self._native.get_ranges_if_cached(
            collection, name, wanted, unchanging
        )
        if unchanging and not self._shared.read_only:
            return None  # it has been opened for writing meanwhile, and may have changed
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
        """The whole object as a read-only buffer: what the engine has read or keeps in its cache, not
        copied again. It lives as long as somebody looks at it; what is written later does not show
        in it.
        """
        view: memoryview = self._native.get_view(collection, name)
        return view

    def get_many(
        self,
        names: Iterable[Name],
        *,
        default: Any = RAISE,
        collection: Name = DEFAULT_COLLECTION,
        progress: Progress | None = None,
    ) -> List[Any]:
        """The objects in the order of the names, in one call. Each is of its own latest state.

        default: takes the place of those that are missing; without it they raise NotFoundError.
        """
        wanted = list_of(names, "names: several")
        found: List[Any] = []
        for start in range(0, len(wanted), _GET_AT_ONCE):
            found += self._native.get_many(collection, wanted[start : start + _GET_AT_ONCE])
            if progress is not None:
                progress(len(found), len(wanted))
        for i, value in enumerate(found):
            if value is None and default is RAISE:
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
        stat: Stat = self._native.stat(collection, name)
        return stat

    def extents(
        self,
        name: Name,
        offset: int = 0,
        length: int = _ALL,
        *,
        collection: Name = DEFAULT_COLLECTION,
    ) -> List[tuple[int, int]]:
        """(offset, length) of the parts that hold data; the rest are holes, which read as zeros."""
        parts: List[tuple[int, int]] = self._native.extents(collection, name, offset, length)
        return parts

    def checksum(
        self,
        name: Name,
        offset: int = 0,
        length: int = _ALL,
        *,
        type: str = "crc32c",
        collection: Name = DEFAULT_COLLECTION,
    ) -> tuple[int, int]:
        """(checksum, bytes that it covers) of a range, read in bounded memory. type: crc32c, xxh3."""
        value, covered = self._native.checksum(collection, name, offset, length, type)
        return value, covered

    def attributes(
        self, name: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> dict[str, bytes]:
        """NotFoundError: there is no such object."""
        attributes: dict[str, bytes] = self._native.attributes(collection, name)
        return attributes

    def attribute(
        self, name: Name, attribute: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> bytes | None:
        """One of them. None: the object has none of that name. NotFoundError: no such object."""
        value: bytes | None = self._native.attribute(collection, name, attribute)
        return value

    def open_reader(
        self, name: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> io.BufferedReader:
        """A seekable binary file of one version of the object, in bounded memory. NotFoundError.
        Its `raw` (hexad.Reader) has `stat` and attributes().
        """
        reader = Reader(self._native.open_reader(collection, name), name)
        return io.BufferedReader(reader, _READER_BUFFER)

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
        reverse = boolean(reverse, "reverse")
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

    # The omap: an ordered map of the object's own, beside its data

    def omap_get(
        self, name: Name, key: Name, *, collection: Name = DEFAULT_COLLECTION
    ) -> bytes | None:
        """None: the object has no such key. NotFoundError: there is no such object."""
        value: bytes | None = self._native.omap_get(collection, name, key)
        return value

    def omap_get_many(
        self, name: Name, keys: Iterable[Name], *, collection: Name = DEFAULT_COLLECTION
    ) -> dict[str, bytes]:
        """Those of the keys that are there, of one state."""
        wanted = list_of(keys, "keys: several")
        found: dict[str, bytes] = self._native.omap_get_many(collection, name, wanted)
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
    ) -> Iterator[tuple[str, bytes]]:
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

    # Collections

    def collections(self) -> List[dict[str, Any]]:
        """By name: name, id, compression, quota_objects, quota_bytes, objects, bytes."""
        found: List[dict[str, Any]] = self._native.collections()
        return found

    def collection(self, name: Name) -> dict[str, Any]:
        """One of them. NotFoundError."""
        found: dict[str, Any] = self._native.collection(name)
        return found

    def collection_usage(self, name: Name = DEFAULT_COLLECTION) -> dict[str, int]:
        """objects, bytes, stored, extents, omap_entries, compressed_original, compressed: one pass
        over all its objects.
        """
        usage: dict[str, int] = self._native.collection_usage(name)
        return usage


def _read(reader: io.BufferedReader, offset: int, length: int) -> bytes:
    reader.seek(offset)
    return reader.read(length)
