"""What lies over a HexadFile: compression and text.

They say what happened: an exception in their `with` block, or nobody closing them, leaves nothing,
and closing them closes the file below. The codecs that fsspec takes do none of this.
"""

# fsspec has no types.
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import io
from typing import Any

import fsspec.compression

from hexad import _native
from hexad._fsspec_file import HexadFile


class CompressedFile(io.BufferedIOBase):
    """What is written goes to the file compressed; what is read comes from it decompressed."""

    def __init__(self, file: HexadFile, compression: str) -> None:
        self._file = file
        self._written = 0
        try:
            self._codec: Any = fsspec.compression.compr[compression](file, mode=file.mode[0])
        except BaseException:
            file.discard()
            raise
        file.lies_below(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._codec, name)

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    @property
    def mode(self) -> str:
        return str(self._file.mode)

    def readable(self) -> bool:
        return bool(self._file.readable())

    def writable(self) -> bool:
        return bool(self._file.writable())

    def seekable(self) -> bool:
        return bool(self._codec.seekable()) if self.readable() else self._written == 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check("readable")
        position: int = self._codec.seek(offset, whence)
        return position

    def tell(self) -> int:
        self._check()
        return self._written if self.writable() else int(self._codec.tell())

    def read(self, size: int | None = -1) -> bytes:
        self._check("readable")
        data: bytes = self._codec.read(-1 if size is None else size)
        return data

    def read1(self, size: int = -1) -> bytes:
        self._check("readable")
        data: bytes = getattr(self._codec, "read1", self._codec.read)(size)
        return data

    def readline(self, size: int | None = -1) -> bytes:
        self._check("readable")
        readline = getattr(self._codec, "readline", super().readline)
        line: bytes = readline(-1 if size is None else size)
        return line

    def write(self, data: Any) -> int:
        self._check("writable")
        with _native.flat(data) as flat:
            count = flat.nbytes
            try:
                self._codec.write(data if isinstance(data, bytes) else flat)
            except BaseException:
                self.discard()
                raise
        self._written += count
        return count

    def flush(self) -> None:
        """Nothing: half a compressed block is of use to nobody."""

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._codec.close()
        except BaseException:
            self._file.discard()
            raise
        self._file.close()

    def discard(self) -> None:
        """Forgets what was written and closes the file."""
        self._file.discard()
        _close_silently(self._codec)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and self.writable():
            self.discard()
        self.close()

    def drop(self) -> None:
        """Says that it was never closed."""
        self._file.drop()
        _close_silently(self._codec)

    def __del__(self) -> None:
        if getattr(self, "_codec", None) is not None and not self.closed:
            self.drop()

    def _check(self, wanted: str = "") -> None:
        """wanted: "readable", "writable" or nothing."""
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if wanted and not getattr(self, wanted)():
            raise io.UnsupportedOperation(f"{self._file.path} is open as {self.mode}: not {wanted}")


class TextFile(io.TextIOWrapper):
    """Text over a HexadFile or a CompressedFile."""

    def __init__(self, over: HexadFile | CompressedFile, **text: Any) -> None:
        self._over: HexadFile | CompressedFile | None = over  # None: detached
        try:
            super().__init__(over, **text)
        except BaseException:
            over.discard()
            raise

    def detach(self) -> Any:
        over = super().detach()
        self._over = None
        return over

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and self._over is not None and self._over.writable():
            self._over.discard()
        self.close()

    def __del__(self) -> None:
        # io's own would close, that is, publish as much of the text as there is.
        if self._over is not None and not self._over.closed:
            self._over.drop()


def _close_silently(codec: Any) -> None:
    """A codec over a file that takes nothing any more."""
    try:
        codec.close()
    except Exception:  # pylint: disable=broad-exception-caught
        pass


def wrapped(file: HexadFile, compression: str | None, text: dict[str, Any] | None) -> Any:
    """The file, or what lies over it. On an error the file is discarded."""
    over: Any = file if compression is None else CompressedFile(file, compression)
    if text is not None:
        over = TextFile(over, **text)
        file.lies_below(over)
    return over
