"""Values that go in and out of a store."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import (
    Any,
    Callable,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    TypeVar,
    Union,
)

from ._errors import InvalidArgumentError

T = TypeVar("T")

# A str stands for its UTF-8 bytes. Bytes that are no UTF-8 come back as lone surrogates, as
# os.fsdecode() gives them, and are understood like that.
Name = Union[str, bytes]

# Anything with the buffer protocol, contiguous: bytes, bytearray, memoryview, numpy arrays, mmap.
Data = Any

# By name. One who has a dict of str gives that, which is no Mapping[Name, Data].
NamedData = Union[Mapping[str, Data], Mapping[bytes, Data], Mapping[Name, Data]]

# One of the words, several with commas between, or several in a list.
Hint = Union[None, str, Iterable[str]]

# Called with how much is done and how much there is, or None where nobody knows.
Progress = Callable[[int, Optional[int]], None]

MAX_NAME = 1024  # bytes
DEFAULT_COLLECTION = "default"

HINTS = (
    "compressible",
    "incompressible",
    "sequential-read",
    "random-read",
    "sequential-write",
    "random-write",
    "append-only",
    "immutable",
    "short-lived",
    "long-lived",
)


def hint_flags(hint: Hint) -> int:
    """The flags of a hint. InvalidArgumentError: an unknown word."""
    if hint is None:
        return 0
    if isinstance(hint, bytes):
        raise TypeError("hint: str or several of them are wanted, not bytes")
    words = hint.split(",") if isinstance(hint, str) else list_of(hint, "hint: words")
    flags = 0
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"hint: str is wanted, not {type(word).__name__}")
        word = word.strip().replace("_", "-")
        if not word:
            continue
        if word not in HINTS:
            raise InvalidArgumentError(
                f"hint {word!r} is not known", f"The hints are: {', '.join(HINTS)}."
            )
        flags |= 1 << HINTS.index(word)
    return flags


def list_of(items: Iterable[T], wanted: str) -> Sequence[T]:
    """A list; a single text in place of several is a mistake, not its letters. TypeError: `wanted`
    says what is wanted in its place.
    """
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        raise TypeError(f"{wanted} are wanted, not {type(items).__name__}")
    return list(items)


def collection_of(value: Any) -> Any:
    """A name, or None for the default collection. TypeError: anything else."""
    if value is not None and not isinstance(value, (str, bytes)):
        raise TypeError(f"collection: str or bytes are wanted, not {type(value).__name__}")
    return value


def rate_of(value: Any) -> int:
    """Bytes per second; 0 for None, which is no limit. TypeError, InvalidArgumentError."""
    if value is None:
        return 0
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"rate: bytes per second are wanted, not {type(value).__name__}")
    found = operator.index(value)
    if found <= 0:
        raise InvalidArgumentError(
            f"rate: {value} bytes per second are none", "Leave it out, or None: no limit."
        )
    return found


def seconds(value: Any, name: str) -> float:
    """A time to wait; TypeError, ValueError."""
    if isinstance(value, (bool, str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name}: a number of seconds is wanted, not {type(value).__name__}")
    found = float(value)
    if not found >= 0:
        raise ValueError(f"{name}: {value} is no time to wait: 0 seconds or more are wanted")
    return found


def boolean(value: Any, what: str) -> bool:
    """Of True, False or what numpy has in their place. TypeError: 1, "no" and all else."""
    if isinstance(value, bool):
        return value
    if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"{what}: True or False is wanted, not {value!r:.40} ({type(value).__name__})")


class Stat(NamedTuple):
    """What is known about an object without reading it."""

    size: int  #: bytes
    version: int  #: LSN of the transaction that changed it last; for expect_version()
    mtime_ns: int  #: nanoseconds since 1970
    stored: int  #: bytes after compression, before coding
    extents: int  #: how many
    hint_flags: int
    placement: str  #: "none", "inline", "log", "pack", "stripe" or "list"

    @property
    def mtime(self) -> float:
        """Seconds since 1970, as os.stat() gives them."""
        return self.mtime_ns / 1e9

    @property
    def hints(self) -> frozenset[str]:
        """The words of HINTS that it has."""
        return frozenset(word for bit, word in enumerate(HINTS) if self.hint_flags >> bit & 1)


class Entry(NamedTuple):
    """An object in a listing."""

    name: str
    size: int  #: bytes
    version: int  #: LSN of the transaction that changed it last


@dataclass(frozen=True)
class Page:
    """A page of a listing, of one state. Iterating it gives the entries."""

    entries: List[Entry]  #: objects, in order
    prefixes: List[str]  #: common prefixes, in order; only with a delimiter
    next: Optional[str]  #: `after` of the next page; None: this was the last

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
