"""Files of hexad://, and the transactions that publish several of them at once."""

# fsspec has no types.
# mypy: disable-error-code="import-untyped, misc"

from __future__ import annotations

import errno
import io
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any

import fsspec.caching
import fsspec.spec
import fsspec.transaction

import hexad

if TYPE_CHECKING:
    from hexad.fsspec import HexadFileSystem


def not_found(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def already_there(path: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


def is_directory(path: str) -> IsADirectoryError:
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


class HexadFile(fsspec.spec.AbstractBufferedFile):
    """An object as a file, for reading ("rb") or writing ("wb", "xb", "ab").

    A file for reading shows one version of the object: what is written meanwhile does not show.

    A file for writing shows nothing to others before it is closed, and then all of it at once. One
    that is left by an exception, or never closed, leaves nothing. "xb" finds out twice whether the
    object exists: when it is opened, and again, atomically, when it is closed. "ab" is the
    exception to all this: every block goes to the end of the object by itself.
    """

    DEFAULT_BLOCK_SIZE = 1 << 20  # bytes; of the read-ahead, and of what is written as one put
    SMALL = 64 << 10  # bytes; larger files of a transaction are not held in memory until its end
    PIECE = 8 << 20  # bytes that one commit appends

    def __init__(
        self,
        fs: HexadFileSystem,
        path: str,
        mode: str = "rb",
        size: int | None = None,
        **kwargs: Any,
    ) -> None:
        self._reader: io.RawIOBase | None = None
        self._reading = threading.Lock()
        self._writer: hexad.Writer | None = None  # of a file that has become larger than a block
        self._pending: list[bytes] = []  # blocks that the next commit() writes
        self._closed = True  # should this function fail
        if mode not in {"rb", "wb", "xb", "ab"}:
            raise ValueError(f"a file is opened as rb, wb, xb or ab, not as {mode}")
        self._store, self._name = fs.locate(path)
        if not self._name:
            raise is_directory(path)
        if mode == "rb":
            self._reader = fs.open_reader(path).detach()  # buffered once is enough
            size = self._reader.seek(0, os.SEEK_END)
        elif mode == "xb" and fs.isfile(path):
            raise already_there(path)
        super().__init__(fs, path, mode, size=size, **kwargs)

    def _fetch_range(self, start: int, end: int) -> bytes:
        assert self._reader is not None
        with self._reading:  # some caches read ahead on a thread of their own
            self._reader.seek(start)
            return self._reader.read(end - start) or b""

    def read(self, length: int | None = -1) -> bytes:
        left = max((self.size or 0) - self.loc, 0)
        wanted = left if length is None or length < 0 else min(length, left)
        if self.closed or self.mode != "rb" or wanted < self.blocksize:
            return bytes(super().read(length))
        if not isinstance(self.cache, fsspec.caching.ReadAheadCache):
            return bytes(super().read(wanted))
        # What is read in large pieces is not read ahead, nor copied through the cache.
        data = self._fetch_range(self.loc, self.loc + wanted)
        self.loc += len(data)
        return data

    def write(self, data: Any) -> int:
        writing = self._writer is not None and not (self.closed or self.forced)
        if writing and not self.buffer.tell():
            with memoryview(data) as view:
                large = view.nbytes >= self.blocksize
            if large:  # not through the buffer
                assert self._writer is not None
                count = self._writer.write(data)
                self.loc += count
                self.offset += count
                return count
        written: int = super().write(data)
        return written

    def _initiate_upload(self) -> None:
        largest = self.DEFAULT_BLOCK_SIZE if self.autocommit else self.SMALL
        more = not self.forced or self.buffer.tell() > largest
        if self.mode != "ab" and more:
            self._writer = self._store.open_writer(self._name, **self.fs.where)

    def _upload_chunk(self, final: bool = False) -> None:
        if self.mode == "ab" and self.autocommit:
            block = self.buffer.getvalue()
            for i in range(0, len(block) or 1, self.PIECE):  # no bytes make the object, too
                self._pending = [block[i : i + self.PIECE]]
                self.commit()
            return
        if self._writer is not None:
            with self.buffer.getbuffer() as block:
                self._writer.write(block)
        else:
            self._pending.append(self.buffer.getvalue())
        if final and self.autocommit:
            self.commit()

    def add_to(self, transaction: hexad.Transaction) -> None:
        """Adds what the file has written to a transaction of its store."""
        if self.mode == "xb":
            transaction.expect_absent(self._name, **self.fs.where)
        if self._writer is not None:
            transaction.publish(self._writer)
        for block in self._pending:
            if self.mode == "ab":
                transaction.append(self._name, block, **self.fs.where)
            else:
                transaction.put(self._name, block, **self.fs.where)

    def commit(self) -> None:
        commit_together([self])

    def discard(self) -> None:
        """Forgets what was written and closes the file."""
        writer, self._writer = self._writer, None
        self._pending = []
        self.closed = True
        if writer is not None:
            writer.discard()

    def close(self) -> None:
        if self.closed:
            return
        try:
            super().close()
        except BaseException:
            self.discard()
            raise
        finally:
            if self._reader is not None:
                self._reader.close()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and self.mode != "rb":
            self.discard()
        self.close()

    def __del__(self) -> None:
        if self.closed:
            return
        if self.mode == "rb":
            self.close()
        else:
            warnings.warn(f"{self.path} was not closed: not written", ResourceWarning, stacklevel=2)
            self.discard()

    @property
    def store(self) -> hexad.Store:
        return self._store

    def committed(self) -> None:
        """What was written is in the store: there is nothing left to commit or to take back."""
        self._writer = None
        self._pending = []


class TextFile(io.TextIOWrapper):
    """Text over a HexadFile: an exception in its `with` block leaves nothing, here too."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and isinstance(self.buffer, HexadFile) and self.buffer.mode != "rb":
            self.buffer.discard()
        self.close()


def commit_together(files: list[HexadFile]) -> None:
    """Publishes files of one store in one transaction: all of them, or none.

    FileExistsError: one that was opened with "x" exists by now.
    """
    try:
        with files[0].store.transaction() as transaction:
            for file in files:
                file.add_to(transaction)
    except hexad.ConflictError as error:
        there = [file.path for file in files if file.mode == "xb" and file.fs.isfile(file.path)]
        raise already_there(there[0] if there else files[0].path) from error
    for file in files:
        file.committed()


class Transaction(fsspec.transaction.Transaction):
    """`with fs.transaction:` publishes the files written in it when it ends, or none of them.

    Those of one pool become visible and durable together; of several pools, pool by pool.
    """

    def complete(self, commit: bool = True) -> None:
        files = list(self.files)
        self.files.clear()
        try:
            if commit:
                for file in files:
                    file.close()
                by_store: dict[int, list[HexadFile]] = {}
                for file in files:
                    by_store.setdefault(id(file.store), []).append(file)
                for group in by_store.values():
                    commit_together(group)
        finally:
            for file in files:
                file.discard()  # of what was committed nothing is left to discard
            self.fs._intrans = False  # pylint: disable=protected-access
