"""Transaction: changes to any objects of any collections, applied as a whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _native
from ._errors import InvalidArgumentError
from ._files import Writer
from ._types import boolean, hint_flags

if TYPE_CHECKING:
    from ._commits import Commits
    from ._types import Data, Hint, Name, NamedData


class Transaction:
    """An ordered list of changes; later ones see earlier ones. Store.transaction() begins one.

        with store.transaction() as t:
            t.put("run7/weights", array, hint="incompressible")
            t.expect_version("run7/latest", version)
        t.version                                  # LSN of the commit

    Leaving the block commits, and raises when nothing was applied; leaving it by an exception drops
    everything. `async with` commits without blocking the event loop. Or call store.commit(t).

    What is passed as `bytes` is not copied; every other buffer is, at the call, so it may be changed
    at once, unless put() is told to borrow it. All of it stays in memory until the commit: at most
    max_transaction (64 MiB by default), else TooBigError; larger objects come with
    Store.open_writer() and publish().

    Bad arguments such as names of more than 1024 bytes, or offsets of 2^44 and more, are reported by
    the commit (InvalidArgumentError), numbers below zero at once. One thread at a time.
    """

    def __init__(self, store: Commits, collection: Name, durable: bool) -> None:
        self._store = store
        self._collection = collection
        self._durable = boolean(durable, "durable")
        self._native = _native.Changes()
        # Whether submitting it may have to read first.
        self._reads = False
        #: LSN, once it has been committed.
        self.version: int | None = None

    def __repr__(self) -> str:
        if self._native.spent:
            return f"<hexad transaction, LSN {self.version}>"
        return f"<hexad transaction of {self._native.size} changes>"

    def __len__(self) -> int:
        """How many changes and guards there are."""
        return self._native.size

    @property
    def payload_bytes(self) -> int:
        """Bytes held until the commit."""
        return self._native.payload_bytes

    def commit(self) -> int:
        """As Store.commit()."""
        return self._store.commit(self)

    def discard(self) -> None:
        """Drops all changes."""
        self._native.drop()

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.discard()
        elif not self._native.spent:
            self._store.commit(self)

    async def __aenter__(self) -> Transaction:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.discard()
        elif not self._native.spent:
            await self._store.commit_async(self)

    def _in(self, collection: Name | None) -> Name:
        return self._collection if collection is None else collection

    # Data

    def put(
        self,
        name: Name,
        data: Data,
        *,
        hint: Hint = None,
        borrow: bool = False,
        collection: Name | None = None,
    ) -> None:
        """Replaces the object's data; creates it. Attributes and omap stay. A hint becomes the
        object's.

        borrow: the buffer is not copied: leave it unchanged until the commit has been answered.
        """
        self._native.put(self._in(collection), name, data, hint_flags(hint), borrow)

    def write(
        self,
        name: Name,
        offset: int,
        data: Data,
        *,
        hint: Hint = None,
        collection: Name | None = None,
    ) -> None:
        """Writes from `offset` (bytes) on; creates. A gap behind the old end reads as zeros; no
        data: creates the object and leaves its size.
        """
        self._reads = True
        self._native.write(self._in(collection), name, offset, data, hint_flags(hint))

    def append(
        self, name: Name, data: Data, *, hint: Hint = None, collection: Name | None = None
    ) -> None:
        """Writes behind the end, wherever that is at the commit; creates."""
        self._reads = True
        self._native.append(self._in(collection), name, data, hint_flags(hint))

    def zero(
        self, name: Name, offset: int, length: int, *, collection: Name | None = None
    ) -> None:
        """The bytes read as zeros and take no space. Extends the object; creates."""
        self._reads = True
        self._native.zero(self._in(collection), name, offset, length)

    def truncate(self, name: Name, size: int, *, collection: Name | None = None) -> None:
        """Cuts to `size` bytes, or extends with a hole. A missing object is tolerated."""
        self._reads = True
        self._native.truncate(self._in(collection), name, size)

    # Objects

    def touch(self, name: Name, *, collection: Name | None = None) -> None:
        """Creates a missing object, leaves an existing one as it is."""
        self._native.touch(self._in(collection), name)

    def create(self, name: Name, *, collection: Name | None = None) -> None:
        """AlreadyExistsError if it is there."""
        self._native.create(self._in(collection), name)

    def publish(self, writer: Writer) -> None:
        """Makes what the writer has written the whole data of its object, and closes the writer,
        whatever the outcome. InvalidArgumentError of the commit: the writer is of another store.
        """
        if not isinstance(writer, Writer):
            raise TypeError(f"writer: a hexad.Writer is wanted, not {type(writer).__name__}")
        writer._publish(self._native)

    def remove(self, name: Name, *, collection: Name | None = None) -> None:
        """A missing object is tolerated."""
        self._native.remove(self._in(collection), name)

    def remove_range(self, first: Name, end: Name, *, collection: Name | None = None) -> None:
        """Removes the objects of [first, end), bytewise; empty: from the first, to the last.

        TooBigError: more than 4096 objects in one transaction.
        """
        self._native.remove_range(self._in(collection), first, end)

    def rename(
        self,
        name: Name,
        to: Name,
        *,
        collection: Name | None = None,
        to_collection: Name | None = None,
    ) -> None:
        """Keeps all parts of the object. NotFoundError; AlreadyExistsError: `to` is there.

        to_collection: None: the same one.
        """
        inside = self._in(collection)
        self._native.rename(inside, name, inside if to_collection is None else to_collection, to)

    def clone(
        self,
        name: Name,
        to: Name,
        *,
        collection: Name | None = None,
        to_collection: Name | None = None,
    ) -> None:
        """Makes `to` an object like `name`: data, attributes, hints, omap; replaces what was there.
        Nothing is copied: both share what is stored until one of them changes.

        What an object shows in very many pieces is copied first, beside other commits.

        NotFoundError; InvalidArgumentError: onto itself; ConflictError: the object changes faster
        than that; TooBigError: this transaction has made it, with more than 4096 MiB that hold data.
        """
        inside = self._in(collection)
        self._native.clone(inside, name, inside if to_collection is None else to_collection, to)

    def clone_range(
        self,
        name: Name,
        offset: int,
        length: int,
        to: Name,
        to_offset: int,
        *,
        collection: Name | None = None,
        to_collection: Name | None = None,
    ) -> None:
        """The same for `length` bytes of the data from `offset` on, holes included: `to` shows them
        from `to_offset` on, and its other parts stay. Creates `to`, extends it.

        NotFoundError; InvalidArgumentError: the range ends behind the object, or overlaps itself;
        TooBigError: more than 4096 MiB that hold data, in all such calls of the transaction, of an
        object that it has made, or into one that shows more than that elsewhere. The error says how
        many bytes fit; clone the rest with other transactions.
        """
        self._reads = True
        inside = self._in(collection)
        target = inside if to_collection is None else to_collection
        self._native.clone_range(inside, name, offset, length, target, to, to_offset)

    def set_hint(self, name: Name, hint: Hint, *, collection: Name | None = None) -> None:
        """From now on these are the object's hints; None takes all away."""
        self._native.set_hint(self._in(collection), name, hint_flags(hint))

    # Attributes

    def set_attr(
        self, name: Name, attribute: Name, value: Data, *, collection: Name | None = None
    ) -> None:
        """NotFoundError: the object is missing. All of an object: at most 64 KiB."""
        self.set_attrs(name, {attribute: value}, collection=collection)

    def set_attrs(
        self, name: Name, attributes: NamedData, *, collection: Name | None = None
    ) -> None:
        """Several; those not named stay."""
        self._native.set_attrs(self._in(collection), name, dict(attributes))

    def remove_attr(
        self, name: Name, attribute: Name, *, collection: Name | None = None
    ) -> None:
        """NotFoundError: the object is missing; a missing attribute is tolerated."""
        self._native.remove_attr(self._in(collection), name, attribute)

    def remove_attrs(self, name: Name, *, collection: Name | None = None) -> None:
        """All of them. A missing object is tolerated."""
        self._native.remove_attrs(self._in(collection), name)

    # The omap: an ordered map of the object's own, beside its data

    def omap_set(
        self,
        name: Name,
        entries: NamedData,
        *,
        hint: Hint = None,
        collection: Name | None = None,
    ) -> None:
        """Sets keys of 1 to 1024 bytes to values of up to 64 MiB. NotFoundError: the object."""
        inside, flags = self._in(collection), hint_flags(hint)
        for key, value in dict(entries).items():
            self._native.omap_set(inside, name, key, value, flags)

    def omap_remove(self, name: Name, *keys: Name, collection: Name | None = None) -> None:
        """Missing keys are tolerated."""
        for key in keys:
            self._native.omap_remove(self._in(collection), name, key)

    def omap_remove_range(
        self, name: Name, first: Name, end: Name, *, collection: Name | None = None
    ) -> None:
        """Every key of [first, end); an empty `end`: to the last. At most 4096."""
        self._native.omap_remove_range(self._in(collection), name, first, end)

    def omap_clear(self, name: Name, *, collection: Name | None = None) -> None:
        """All keys and the header, at no cost to speak of."""
        self._native.omap_clear(self._in(collection), name)

    def omap_set_header(
        self, name: Name, header: Data, *, collection: Name | None = None
    ) -> None:
        """A value of its own beside the keys; empty takes it away."""
        self._native.omap_set_header(self._in(collection), name, header)

    # Collections

    def create_collection(self, collection: Name) -> None:
        """AlreadyExistsError if it is there."""
        self._native.create_collection(collection)

    def remove_collection(self, collection: Name, *, recursive: bool = False) -> None:
        """NotEmptyError while it holds objects, unless recursive: then they go with it at once."""
        self._native.remove_collection(collection, boolean(recursive, "recursive"))

    def set_policy(self, collection: Name, compression: str) -> None:
        """How later transactions compress, such as "aggressive,zstd,level=3"."""
        self._native.set_policy(collection, compression)

    def set_quota(self, collection: Name, *, objects: int = 0, bytes: int = 0) -> None:
        """The most that it may hold; 0: as much as fits."""
        self._native.set_quota(collection, objects, bytes)

    # Guards: evaluated before all changes; one that does not hold raises ConflictError at the commit

    def expect_absent(self, name: Name, *, collection: Name | None = None) -> None:
        """There is no object of this name."""
        self._native.expect_absent(self._in(collection), name)

    def expect_exists(self, name: Name, *, collection: Name | None = None) -> None:
        """There is one, of whatever version."""
        self._native.expect_exists(self._in(collection), name)

    def expect_version(
        self, name: Name, version: int, *, collection: Name | None = None
    ) -> None:
        """It was last changed by the transaction of this LSN (Stat.version)."""
        self._native.expect_version(self._in(collection), name, version)

    def expect_attr(
        self, name: Name, attribute: Name, value: Data, *, collection: Name | None = None
    ) -> None:
        """The attribute is there and has exactly this value."""
        self._native.expect_attr(self._in(collection), name, attribute, value)

    def expect_attr_absent(
        self, name: Name, attribute: Name, *, collection: Name | None = None
    ) -> None:
        """The object is there, the attribute is not."""
        self._native.expect_attr_absent(self._in(collection), name, attribute)

    def expect_bytes(
        self, name: Name, offset: int, data: Data, *, collection: Name | None = None
    ) -> None:
        """The object shows exactly these bytes from `offset` on."""
        self._reads = True
        self._native.expect_bytes(self._in(collection), name, offset, data)

    def expect_omap(
        self, name: Name, key: Name, value: Data, *, collection: Name | None = None
    ) -> None:
        """The omap has the key with exactly this value."""
        self._reads = True
        self._native.expect_omap(self._in(collection), name, key, value)

    def expect_omap_absent(
        self, name: Name, key: Name, *, collection: Name | None = None
    ) -> None:
        """The object is there, the key is not."""
        self._native.expect_omap_absent(self._in(collection), name, key)

    def _take(self) -> _native.Changes:
        if self._native.spent:
            raise InvalidArgumentError(
                "the transaction has been committed or dropped", "Begin another one."
            )
        return self._native
