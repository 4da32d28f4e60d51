"""A collection, or what lies below a prefix of it, as a dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, MutableMapping

from ._errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from ._store import Store
    from ._types import Data


class StoreMapping(MutableMapping[str, Any]):
    """Names below a prefix, without it, to bytes. Values may be set to any buffer.

    Every change is a durable commit of its own; update() takes few for many. Iteration is in
    bytewise order and sees what others change meanwhile, page by page. len() lists all names.
    """

    def __init__(self, store: Store, prefix: str, collection: str) -> None:
        self._store = store
        self._prefix = prefix
        self._collection = collection

    def __repr__(self) -> str:
        return f"<hexad mapping of {self._collection!r} below {self._prefix!r}>"

    def _name(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(f"key: str is wanted, not {type(key).__name__}")
        return self._prefix + key

    def __getitem__(self, key: str) -> bytes:
        try:
            return self._store.get(self._name(key), collection=self._collection)
        except NotFoundError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: Data) -> None:
        self._store.put(self._name(key), value, collection=self._collection)

    def __delitem__(self, key: str) -> None:
        name = self._name(key)
        try:
            with self._store.transaction(collection=self._collection) as transaction:
                transaction.expect_exists(name)
                transaction.remove(name)
        except ConflictError:
            raise KeyError(key) from None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._store.exists(
            self._prefix + key, collection=self._collection
        )

    def __iter__(self) -> Iterator[str]:
        for entry in self._store.iterate(self._prefix, collection=self._collection):
            yield entry.name[len(self._prefix) :]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def clear(self) -> None:
        """Store.remove_prefix(), in few commits."""
        self._store.remove_prefix(self._prefix, collection=self._collection)

    def update(  # type: ignore[override]
        self, other: Mapping[str, Data] | Iterable[tuple[str, Data]] = (), /, **more: Data
    ) -> None:
        """put_many(): in few commits, each of them whole or not at all."""
        pairs = list(other.items() if isinstance(other, Mapping) else other)
        pairs += more.items()
        self._store.put_many(
            [(self._name(key), value) for key, value in pairs], collection=self._collection
        )
