"""Files of hexad://."""

# fsspec has no types.
# mypy: disable-error-code="import-untyped, misc"

from __future__ import annotations

import errno
import io
import os
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Callable

import fsspec.caching
import fsspec.core
import fsspec.spec

import hexad
from hexad import _imported, _leaving, _native, _process

if TYPE_CHECKING:
    from hexad.fsspec import HexadFileSystem


def not_found(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def already_there(path: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)


def is_directory(path: str) -> IsADirectoryError:
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def mode_of(mode: str) -> tuple[str, bool]:
    """The mode of the file below, such as "rb", and whether text lies over it.

    As open() of Python takes it: letters in any order, text unless there is a "b".
    """
    if mode == "rb":
        return mode, False
    if not isinstance(mode, str):
        raise TypeError(f"mode: str is wanted, not {type(mode).__name__}")
    letters = set(mode)
    if len(letters) != len(mode) or letters - set("rwxabt+") or {"b", "t"} <= letters:
        raise ValueError(f"mode {mode!r} is not known")
    kinds = letters & set("rwxa")
    if len(kinds) != 1:
        raise ValueError(f"mode {mode!r}: one of r, w, x and a is wanted")
    if "+" in letters:
        raise io.UnsupportedOperation(
            f"mode {mode!r}: a file is read or written, not both; hexad.Store.write() changes objects "
            "in the middle"
        )
    return kinds.pop() + "b", "b" not in letters


class HexadFile(fsspec.spec.AbstractBufferedFile):
    """An object as a file, for reading ("rb") or writing ("wb", "xb", "ab").

    A file for reading shows one version of the object: what is written meanwhile does not show.

    A file for writing shows nothing to others before it is closed, and then all of it at once. One
    that is left by an exception, or never closed, leaves nothing; the latter warns. "xb" finds out
    twice whether the object exists: when it is opened, and again, atomically, when it is closed.
    "ab" is the exception to all this: every block goes to the end of the object by itself.

    With autocommit=False, outside of a transaction, closing publishes nothing: commit() does, or
    discard() forgets it.
    """

    DEFAULT_BLOCK_SIZE = 1 << 20  # bytes; of the read-ahead, and of what is written as one put
    SMALL = 64 << 10  # bytes; larger files of a transaction are not held in memory until its end
    PIECE = 8 << 20  # bytes that one commit appends

    buffer: io.BytesIO
    offset: Any
    _uncommitted = False  # closed, and neither published nor discarded

    def __init__(
        self,
        fs: HexadFileSystem,
        path: str,
        mode: str = "rb",
        size: int | None = None,
        **kwargs: Any,
    ) -> None:
        self._reader: Any = None
        self._reading = threading.Lock()
        self._process = os.getpid()
        self._writer: hexad.Writer | None = None  # of a file that has become larger than a block
        self._pending: list[Any] = []  # blocks that the next commit() writes
        self._is_wrapped = False
        self._outer: Callable[[], Any] = lambda: None  # what compresses or encodes for this file
        self._closed = True  # should this function fail
        if mode not in {"rb", "wb", "xb", "ab"}:
            raise ValueError(f"mode: rb, wb, xb or ab is wanted, not {mode!r}")
        if mode != "rb":
            fs.check_writable(path)
        self._store, self._name = fs.locate(path)
        if not self._name:
            raise is_directory(path)
        if mode == "rb":
            whole = self._whole_if_small(fs)
            # Buffered once is enough.
            self._reader = fs.open_reader(path).detach() if whole is None else whole
            size = self._reader.seek(0, os.SEEK_END)
        elif mode == "xb" and fs.isfile(path):
            raise already_there(path)
        self._opening = _leaving.Opening()
        super().__init__(fs, path, mode, size=size, **kwargs)
        if mode != "rb":
            _process.watch(self)
        if mode == "ab" and fs.isfile(path):
            self.loc = self._store.stat(self._name, **fs.where).size
        self._begins = self.loc

    # Reading

    def _whole_if_small(self, fs: HexadFileSystem) -> io.BytesIO | None:
        """A small object that the read cache knows, as it is now: cheaper than keeping its version."""
        where = fs.where
        size = self._store.cached_size(self._name, **where)
        if size is None or size > self.SMALL:
            return None
        try:
            data = self._store.get_range(self._name, 0, self.SMALL + 1, **where)
        except hexad.Error:
            return None  # whoever reads is told
        return io.BytesIO(data) if len(data) <= self.SMALL else None

    def _fetch_range(self, start: int, end: int) -> bytes:
        self._be_of_this_process()
        with self._reading:  # some caches read ahead on a thread of their own
            self._reader.seek(start)
            return self._reader.read(end - start) or b""

    def _be_of_this_process(self) -> None:
        """In a forked child, which cannot use what the parent has opened, opens it again."""
        if self._process == os.getpid():
            return
        self._reading = threading.Lock()
        if isinstance(self._reader, io.BytesIO):
            self._process = os.getpid()
            return
        version = self._reader.stat.version
        reader: Any = self.fs.open_reader(self.path).detach()
        if reader.stat.version != version:
            reader.close()
            raise OSError(errno.ESTALE, "changed since the parent process opened it", self.path)
        self._reader, self._process = reader, os.getpid()

    def read(self, length: int | None = -1) -> bytes:
        self._check_readable()
        left = max((self.size or 0) - self.loc, 0)
        wanted = left if length is None or length < 0 else min(length, left)
        if isinstance(self._reader, io.BytesIO):  # of any process
            if wanted == self.size:
                data = self._reader.getvalue()  # no copy
            else:
                with self._reader.getbuffer() as whole:
                    data = bytes(whole[self.loc : self.loc + wanted])
            self.loc += wanted
            return data
        if wanted < self.blocksize:
            return bytes(super().read(length))
        if not isinstance(self.cache, fsspec.caching.ReadAheadCache):
            return bytes(super().read(wanted))
        # What is read in large pieces is not read ahead, nor copied through the cache.
        data = self._fetch_range(self.loc, self.loc + wanted)
        self.loc += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        self._check_readable()
        with _native.flat_to_fill(buffer) as whole:
            wanted = min(whole.nbytes, max((self.size or 0) - self.loc, 0))
            if wanted < self.blocksize:
                return int(super().readinto(whole))
            self._be_of_this_process()
            count = 0
            with self._reading:  # at once to where it is wanted
                self._reader.seek(self.loc)
                while count < wanted and (more := self._reader.readinto(whole[count:wanted])):
                    count += more
            self.loc += count
            return count

    def _check_readable(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if self.mode != "rb":
            raise io.UnsupportedOperation(f"{self.path} is open for writing: it cannot be read")

    def readline(self, size: int | None = -1) -> bytes:
        self._check_readable()
        if size is None or size < 0:
            return bytes(super().readline())
        begin = self.loc
        line = bytes(super().readline())[:size]
        self.loc = begin + len(line)
        return line

    def readlines(self, hint: int | None = -1) -> list[bytes]:
        self._check_readable()
        if hint is None or hint <= 0:
            return [line for line in super().readlines() if line]
        lines: list[bytes] = []
        while hint > 0 and (line := self.readline()):
            lines.append(line)
            hint -= len(line)
        return lines

    def seek(self, loc: int, whence: int = io.SEEK_SET) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed file.")
        if self.mode != "rb":
            raise io.UnsupportedOperation(f"{self.path} is open for writing: it has no seek()")
        return int(super().seek(loc, whence))

    # Writing

    def seekable(self) -> bool:
        """While nothing has been written, tell() says where that will go: text encoders ask this before
        they put a byte order mark at the beginning. seek() works in files for reading only.
        """
        return bool(super().seekable()) or (self.writable() and self.loc == self._begins)

    def flush(self, force: bool = False) -> None:
        if not self._is_left_to_a_codec():
            super().flush(force)

    def _is_left_to_a_codec(self) -> bool:
        """Whether all that comes now is how a codec ends, over a file that has been discarded."""
        return self._is_wrapped and self.closed

    def write(self, data: Any) -> int:
        if self.closed and not self._is_wrapped:
            raise ValueError("I/O operation on closed file.")
        if not self.closed and self.mode == "rb":
            raise io.UnsupportedOperation(f"{self.path} is open for reading: it cannot be written")
        with _native.flat(data) as flat:
            if self._is_left_to_a_codec():
                return flat.nbytes
            try:
                if flat.nbytes < self.blocksize or not self.writable() or self.forced:
                    return int(super().write(flat))
                self._write_large(flat)
            except (OSError, hexad.Error):
                self.discard()  # what is missing in the middle is not to be published
                raise
            return flat.nbytes

    def _write_large(self, data: memoryview) -> None:
        """Not through the buffer."""
        if self.offset is None:
            self.offset = 0
            self._initiate_upload()
        if self.buffer.tell():
            self._upload_chunk()
            self.offset += self.buffer.tell()
            self.buffer = io.BytesIO()
        self._store_block(data)
        self.loc += data.nbytes
        self.offset += data.nbytes

    def _initiate_upload(self) -> None:
        largest = self.DEFAULT_BLOCK_SIZE if self.autocommit else self.SMALL
        more = not self.forced or self.buffer.tell() > largest
        if self.mode != "ab" and more:
            self._writer = self._store.open_writer(self._name, **self.fs.where)

    def _upload_chunk(self, final: bool = False) -> None:
        with self.buffer.getbuffer() as block:
            self._store_block(block)
        if final and self.autocommit and self.mode != "ab":
            self.commit()

    def _store_block(self, block: memoryview) -> None:
        if self._writer is not None:
            self._writer.write(block)
        elif self.mode == "ab" and self.autocommit:
            for i in range(0, block.nbytes or 1, self.PIECE):  # no bytes make the object, too
                with block[i : i + self.PIECE] as piece:
                    self._pending = [piece]
                    commit_together([self])
        else:
            self._pending.append(bytes(block))

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
        if self._writer is not None or self._pending:
            _imported.forget(transaction, self._store, self._name, self.fs.where)

    # Ending

    def lies_below(self, outer: Any) -> None:
        """Names what compresses or encodes for this file: it is to be closed first."""
        self._outer = weakref.ref(outer)
        self._is_wrapped = True

    def keep_outer(self) -> None:
        """Holds it, as a transaction closes what nobody has closed."""
        outer = self._outer()
        self._outer = lambda: outer

    def close_outermost(self) -> None:
        outer = self._outer()
        (self if outer is None else outer).close()
        self._outer = lambda: None

    def commit(self) -> None:
        """Publishes what was written: for files with autocommit=False."""
        if not (self.closed or self.forced):
            self.close_outermost()
        if self.closed and not self._uncommitted:
            raise ValueError(f"{self.path}: there is nothing to commit: published, or discarded")
        commit_together([self])

    def committed(self) -> None:
        """What was written is in the store: there is nothing left to commit or to take back."""
        self._writer = None
        self._pending = []
        self._uncommitted = False

    def discard(self) -> None:
        """Forgets what was written and closes the file."""
        writer, self._writer = self._writer, None
        self._pending = []
        self._uncommitted = False
        self._outer = lambda: None
        self.closed = True
        if writer is not None:
            writer.discard()
        if self._reader is not None:
            self._reader.close()

    def close(self) -> None:
        if self.closed:
            return
        if self.mode != "rb" and self._opening.left_by_an_exception():
            self.discard()
            return
        try:
            super().close()
            self._uncommitted = bool(self._writer is not None or self._pending)
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

    def drop(self) -> None:
        """Says that nobody closed or committed it, and discards it, unless somebody has."""
        if self.closed and not self._uncommitted:
            return
        if self.mode == "rb":
            self.close()
            return
        if self._process == os.getpid():  # else it is the parent's, which may still close it
            warnings.warn(self._lost(), hexad.NotStoredWarning, stacklevel=3)
        self.discard()

    def _lost(self) -> str:
        if self._uncommitted:
            return f"{self.path} was closed but not committed: nothing of it was stored"
        if self.mode == "ab":
            return (
                f"{self.path} was not closed: the last {self.buffer.tell()} bytes appended to it "
                "were not stored; close it, or use it in a with block"
            )
        return (
            f"{self.path} was not closed: nothing of it was stored; close it, or use it in a with "
            "block"
        )

    def __del__(self) -> None:
        self.drop()

    @property
    def store(self) -> hexad.Store:
        return self._store

    @property
    def name_in_pool(self) -> str:
        return self._name

    @property
    def uncommitted(self) -> bool:
        """It was closed, and has not been published or discarded."""
        return self._uncommitted


# What closes a file without saying why.
_leaving.EXITS[fsspec.core.OpenFile.__exit__.__code__] = "args"
_leaving.CLOSERS.add("pandas.io.common")
_leaving.COPIERS.add("fsspec.implementations.cached")


def commit_together(files: list[Any]) -> None:
    """Publishes files of one store, and steps of _fsspec_transaction, in one transaction: all of them,
    or none.

    FileExistsError: one that was opened with "x" exists by now, or another of them makes it before.
    """
    made = set[str]()
    try:
        with files[0].store.transaction() as transaction:
            for file in files:
                if isinstance(file, HexadFile):
                    if file.mode == "xb" and file.name_in_pool in made:
                        raise already_there(file.path)
                    made.add(file.name_in_pool)
                file.add_to(transaction)
    except hexad.ConflictError as error:
        exclusive = [file for file in files if file.mode == "xb"]
        if not exclusive:
            raise
        there = [file.path for file in exclusive if file.fs.isfile(file.path)]
        raise already_there(there[0] if there else exclusive[0].path) from error
    for file in files:
        file.committed()


class EachThreadsFile(HexadFile):
    """One for reading, with a position for each thread.

    A library that calls seek() and then read() in several threads, without a lock around the two, reads
    with any other file what another thread has gone to. Nothing is read ahead, nor kept by the file.
    """

    def __init__(self, fs: HexadFileSystem, path: str, **kwargs: Any) -> None:
        self._positions = threading.local()
        super().__init__(fs, path, "rb", **{**kwargs, "cache_type": "none"})

    @property
    def loc(self) -> int:
        return getattr(self._positions, "loc", 0)

    @loc.setter
    def loc(self, position: int) -> None:
        self._positions.loc = position
