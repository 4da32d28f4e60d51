"""File objects: objects larger than memory, read and written piece by piece."""

from __future__ import annotations

import io
import os
import warnings
from typing import TYPE_CHECKING, Any

from . import _leaving, _process
from ._errors import NotStoredWarning

if TYPE_CHECKING:
    from . import _native
    from ._types import Data, Name, Stat


class Reader(io.RawIOBase):
    """One version of an object, whatever is written meanwhile. Store.open_reader() puts a buffer
    around it; this is its `raw`.
    """

    def __init__(self, native: _native.Reader, name: Name) -> None:
        self._native = native
        self._label = name if isinstance(name, str) else os.fsdecode(name)
        self._position = 0
        #: Of this version.
        self.stat: Stat = native.stat()

    def __repr__(self) -> str:
        if self.closed:
            return f"<hexad.Reader of {self._label!r}, closed>"
        return (
            f"<hexad.Reader of {self._label!r}, version {self.stat.version}, at {self._position} "
            f"of {self.stat.size} bytes>"
        )

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def attributes(self) -> dict[str, bytes]:
        """Those of this version."""
        return self._native.attributes()

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer as far as there is something; returns how many bytes."""
        self._check()
        count = self._native.readinto(buffer)
        self._position += count
        return count

    def read(self, size: int | None = -1) -> bytes:
        """`size` bytes, or what is left; at once to where they stay."""
        self._check()
        left = max(self.stat.size - self._position, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        data = self._native.read(wanted)
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check()
        if whence == io.SEEK_CUR:
            offset += self._position
        elif whence == io.SEEK_END:
            offset += self.stat.size
        elif whence != io.SEEK_SET:
            raise ValueError(f"whence {whence} is not 0, 1 or 2")
        if offset < 0:
            raise ValueError(f"offset {offset} lies before the beginning")
        self._native.seek(offset)
        self._position = offset
        return offset

    def tell(self) -> int:
        self._check()
        return self._position

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._native.end()

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


class Writer(io.BufferedIOBase):
    """An object that is written from start to end and becomes visible as a whole.

    close() publishes it; so does leaving a `with` block, unless by an exception, be it that of a text
    or buffer of io around this. A writer that is dropped, or discarded, leaves nothing; dropping it
    warns. Not seekable. Memory: the option stream_buffer.
    """

    def __init__(self, native: _native.Writer, name: Name) -> None:
        self._native = native
        self._label = name if isinstance(name, str) else os.fsdecode(name)
        self._process = os.getpid()
        self._opening = _leaving.Opening()
        self._size = 0
        self._spent = False
        #: LSN of the commit, after close().
        self.version: int | None = None
        _process.watch(self)

    def __repr__(self) -> str:
        if self.version is not None:
            state = f"published as version {self.version}"
        else:
            state = "closed, not published" if self.closed else "not published yet"
            if self._spent and not self.closed:
                state = "given to a transaction"
        return f"<hexad.Writer of {self._label!r}, {self._size} bytes, {state}>"

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        """While it is empty, as text encoders ask this before they put a byte order mark at the
        beginning. There is no seek().
        """
        return self._size == 0 and not self.closed

    def tell(self) -> int:
        return self._size

    def write(self, data: Data) -> int:
        """Appends all of it; blocks while the devices are behind.

        Errors: NoSpaceError, IoError, TooBigError (2^44 - 1 bytes). After one the writer is spent.
        """
        self._check()
        count = self._native.append(data)
        self._size += count
        return count

    def set_attr(self, attribute: Name, value: Data) -> None:
        """Becomes the object's together with the data."""
        self._check()
        self._native.set_attr(attribute, value)

    def close(self) -> None:
        """Publishes what was written: durable when this returns. Again: nothing."""
        if self.closed:
            return
        left = self._opening.left_by_an_exception()
        try:
            if not self._spent and not left:
                self.version = self._native.commit()
        finally:
            self._end()

    def discard(self) -> None:
        """Closes without publishing."""
        if not self.closed:
            self._end()

    def _end(self) -> None:
        self._spent = True
        try:
            self._native.end()
        finally:
            super().close()

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def _publish(self, changes: _native.Changes) -> None:
        self._check()
        self._spent = True
        changes.publish(self._native)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def drop(self) -> None:
        """Says that it was never closed, and discards it, unless it has been."""
        if self._spent or self.closed:
            return
        if self._process == os.getpid():  # else it is the parent's, which may still close it
            warnings.warn(
                f"{self._label} was not closed: nothing of it was stored, {self._size} bytes are lost",
                NotStoredWarning,
                stacklevel=3,
            )
        self.discard()

    def __del__(self) -> None:
        # io's own would close, that is, publish half an object.
        if hasattr(self, "_spent"):
            self.drop()
