"""Store: one open store, for any number of threads and event loops."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Coroutine, Iterable

from . import _texts
from ._devices_async import DevicesAsync
from ._mapping import StoreMapping
from ._reading import RAISE
from ._types import DEFAULT_COLLECTION, boolean, list_of, rate_of
from ._writing import size_of

if TYPE_CHECKING:
    from ._types import Data, Hint, Name


class Store(DevicesAsync):
    """An open store. hexad.open() and hexad.in_memory() make it.

    Any thread may use it, and everything that waits lets other threads run. Names are str or
    bytes, 1 to 1024 bytes of UTF-8; offsets, lengths and sizes are bytes. Every call takes
    `collection=`, the collection that the object is in. Errors are hexad.Error and its classes; all
    calls raise ClosedError after close() and ForkedError in a forked child; all reads may raise
    UnavailableError (too many devices lost) and IoError.

    After fork() only the parent can use it. Pickling works for stores that were opened read-only:
    where it is unpickled the pool is opened again.
    """

    def mapping(
        self, prefix: str = "", *, collection: Name = DEFAULT_COLLECTION
    ) -> StoreMapping:
        """What lies below a prefix as a MutableMapping, from names without it to bytes."""
        if not isinstance(prefix, str):
            raise TypeError(f"prefix: str is wanted, not {type(prefix).__name__}")
        return StoreMapping(self, prefix, collection)  # type: ignore[arg-type]

    # Asynchronous twins. A commit is answered by the engine and takes no thread; reads, and commits
    # that may have to wait first, use a few threads of the store.

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
        """get(), awaited. What the read cache has is returned at once, as by get_range_async()."""
        data = self.cached(name, collection=collection)
        if data is not None:
            return data
        return await self._in_worker(lambda: self.get(name, collection=collection))

    async def get_range_async(
        self, name: Name, offset: int, length: int, *, collection: Name = DEFAULT_COLLECTION
    ) -> bytes:
        """get_range(), awaited."""
        data = self.cached(name, offset, length, collection=collection)
        if data is not None:
            return data
        return await self._in_worker(
            lambda: self.get_range(name, offset, length, collection=collection)
        )

    async def get_many_async(
        self,
        names: Iterable[Name],
        *,
        default: Any = RAISE,
        collection: Name = DEFAULT_COLLECTION,
    ) -> list[Any]:
        """get_many(), awaited."""
        wanted = list_of(names, "names: several")
        return await self._in_worker(
            lambda: self.get_many(wanted, default=default, collection=collection)
        )

    # Care

    def sync(self) -> None:
        """Returns when every commit that began before is durable. IoError: buffered ones are lost."""
        self._native.sync()

    def checkpoint(self) -> None:
        """Writes a checkpoint now and trims the log."""
        self._native.checkpoint()

    def fsck(self, *, deep: bool = False, repair: bool = False) -> dict[str, Any]:
        """errors (findings not repaired), findings[] of subject, problem, repaired;
        objects_checked, stripes_checked, bytes_checked, bad_header_slots (copies of labels and
        roots that were damaged or out of date), torn_cells (deep, of a store that is open for reading:
        cells of the last commits that a crash has left, and that the next opening for writing writes
        again, where it is no snapshot; no errors).

        deep: reads every byte, checks every checksum and all parity. repair: puts right what can be.
        ClosedError when the store is closed, or opened for writing, meanwhile.
        """
        deep, repair = boolean(deep, "deep"), boolean(repair, "repair")
        report: dict[str, Any] = self._native.fsck(deep, repair)
        return report

    def scrub(
        self,
        *,
        rate: int | None = None,
        start: str = "",
        progress: Callable[[int, int], object] | None = None,
    ) -> dict[str, Any]:
        """Reads every cell of every stripe, parity too, and writes back what is damaged, while
        everything else goes on. errors (findings not repaired), findings[] of subject, problem,
        repaired; stripes_checked, bytes_checked, bad_header_slots (as fsck; at the end of a pass);
        next: what `start` takes, "" when all is checked.
        A store that is open for reading only is only looked at.

        rate: bytes read per second at most. progress: counts bytes, ten times a second at least;
        when it returns False, the scrub stops there. ClosedError: closed meanwhile.
        """
        report: dict[str, Any] = self._native.scrub(rate_of(rate), start, progress)
        return report

    async def scrub_async(
        self,
        *,
        rate: int | None = None,
        start: str = "",
        progress: Callable[[int, int], object] | None = None,
    ) -> dict[str, Any]:
        """scrub(), awaited, in a thread of its own."""
        return await self._long(
            lambda steps: self.scrub(rate=rate, start=start, progress=steps), progress
        )

    def damage(self) -> list[dict[str, Any]]:
        """The ranges of objects that cannot be read, as reads and scrubs have found, also in earlier
        openings: dicts of collection, name, omap_key (None: of the data), offset, length, first_seen
        (ns since 1970), problem, acknowledged. While there are any: one pass over all objects.
        """
        found: list[dict[str, Any]] = self._native.damage()
        return found

    def acknowledge_damage(
        self, names: Iterable[Name] | None = None, *, collection: Name = DEFAULT_COLLECTION
    ) -> list[dict[str, Any]]:
        """Says that the damage of these objects, or all that there is, is known: status()["health"]
        does not count it any more. What this was news of, as damage(), clones too. NotFoundError:
        no damage is known of one of them, and nothing was acknowledged.
        """
        listed = None if names is None else list_of(names, "names")
        known: list[dict[str, Any]] = self._native.acknowledge_damage(collection, listed)
        return known

    def status(self) -> dict[str, Any]:
        """health ("ok", "degraded", "damaged", "unavailable"), faults_tolerated, damaged_blobs
        (stored pieces that damage() is about and nobody has acknowledged), devices[] (id, path, state,
        slabs (parts of a data device that may hold something), slabs_used, ..., and what went wrong with each since this opening: read_errors, write_errors,
        flush_errors, checksum_errors, timeouts; errors_total: the same with those of earlier
        openings, and `since`, nanoseconds since 1970; last_completion: how it was last given what it
        lacked, kind ("catch-up", "rebuild", "replace"), epoch, lsn, cells, bytes, bytes_copied,
        began, ended, or None),
        warnings[] (what somebody should look at), notes[], jobs[] (background work: name,
        purpose, running, seconds, steps, done of total unit, problem of the last try), metadata_on
        ("index", "fast blocks", "runs"), layers[] (name, in_use, bytes, room, hits, misses, timed,
        timed_ns: where reads look, one after the other, and what each has answered since this
        opening; LayerStatus in core/api/types.h), fill (available, observed_seconds,
        bytes_per_hour, hours_to_full or None, note: how long free space lasts), ..."""
        status: dict[str, Any] = self._native.status()
        return status

    def status_text(self) -> str:
        """status() and space() in a few lines, for people."""
        return _texts.status_text(self.status(), self.space())

    def explain(self, name: Name, *, collection: Name = DEFAULT_COLLECTION) -> str:
        """How an object is stored, and why so, in a few lines, for people. NotFoundError."""
        stat = self.stat(name, collection=collection)
        return _texts.explain_text(self, text_of(name), text_of(collection), stat)

    def space(self, *, breakdown: bool = False) -> dict[str, Any]:
        """Bytes: capacity, available, user_bytes (the sizes of all objects), allocated, used,
        least (as room_for(), of the size there is least room for), dead, held_by_readers and
        readers[] (collection, name, opened in nanoseconds since 1970, held), metadata,
        per_device[], ... (SpaceUsage in core/api/types.h). A step for each collection.

        With `breakdown`, one pass over all objects: also omap_bytes, compressed_original,
        compressed, compressed_allocated, usable_for_mix and available_for_mix (of objects of the
        sizes that there are; None without any), and in dead what no object shows of stripes of its
        own. These are None without it.
        """
        space: dict[str, Any] = self._native.space(bool(breakdown))
        return space

    async def space_async(self, *, breakdown: bool = False) -> dict[str, Any]:
        """space(), awaited."""
        return await self._long(lambda _: self.space(breakdown=breakdown), None)

    def set_cache_size(self, size: int) -> None:
        """As open(cache_size=...), bytes, from now on until the store is closed. More takes effect
        at once; of less, what is asked for the least goes, while reads go on. InvalidArgumentError
        """
        self._native.set_cache_size(size)

    async def set_cache_size_async(self, size: int) -> None:
        """set_cache_size(), awaited."""
        await self._long(lambda _: self.set_cache_size(size), None)

    def room_for(self, object_size: int) -> dict[str, int]:
        """How much there is room for of objects of that many bytes: object_size, usable (bytes of
        them that the store holds), available (how many more it takes now). InvalidArgumentError
        """
        room: dict[str, int] = self._native.room_for(object_size)
        return room

    def counters(self, *, since_open: bool = False) -> dict[str, int]:
        """By name, over the life of the store or since this opening. doc/counters.md"""
        pairs: dict[str, tuple[int, int]] = self._native.counters()
        return {name: pair[1 if since_open else 0] for name, pair in pairs.items()}

    def effective_options(self) -> dict[str, tuple[str, str]]:
        """Name to (value, where it came from: "default", "given", "label" or "computed")."""
        options: dict[str, tuple[str, str]] = self._native.effective_options()
        return options


def text_of(name: Name) -> str:
    return name if isinstance(name, str) else os.fsdecode(name)
