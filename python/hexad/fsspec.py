"""hexad:// for fsspec: the objects of a pool as files.

    fsspec.open("hexad:///data/pool/run7/weights.bin")
    pandas.read_parquet("hexad:///data/pool/tables/a.parquet")
    fsspec.filesystem("hexad", read_only=True).ls("/data/pool/run7")

In hexad://P the pool is the shortest leading directory of P that holds a pool description
(hexad.pool); the rest is the name of the object, byte for byte. A P without a leading slash begins
at the current directory, unless it begins with the address of a pool on a cluster, as
rbd:POOL/GROUP@SNAPSHOT: then the rest is the name, too.

Directories are what the slashes in names make them: "a" is one as long as any name begins with
"a/". Nobody need make them. mkdir() makes an empty one that stays: an object named "a/", as
`hexad import` does. Where an object has the name of a directory, info() shows the object, ls() the
directory.

Writing is all or nothing (see HexadFile); `with fs.transaction:` makes it so for any number of
files. cp() within a pool shares what is stored instead of copying it, mv() is one commit. A name that
exists is never a pattern.
"""

# fsspec has no types.
# mypy: disable-error-code="import-untyped, misc"

from __future__ import annotations

import errno
import io
import os
import threading
import weakref
from typing import Any, Callable, Iterable, Iterator, Sequence, TypeVar

import fsspec.core
import fsspec.utils
from fsspec.callbacks import DEFAULT_CALLBACK

import hexad
from hexad import _fsspec_moves, _fsspec_plan, _imported, _native, _pool_path
from hexad._fsspec_file import (
    EachThreadsFile,
    HexadFile,
    already_there,
    is_directory,
    mode_of,
    not_found,
)
from hexad._fsspec_listing import Listing
from hexad._fsspec_transaction import Step, Transaction
from hexad._fsspec_wrapped import wrapped
from hexad._types import boolean, collection_of

__all__ = ["HexadFile", "HexadFileSystem"]

T = TypeVar("T")

MAX_PUT = 8 << 20  # bytes; more goes through a writer, as a transaction holds what it writes
BATCH = 1000  # objects that one transaction removes


# The process, the pool's real path, and which file its description was.
_Key = tuple[int, str, tuple[int, int, int] | None]


def _close_all(stores: dict[_Key, hexad.Store]) -> None:
    for (process, *_), store in list(stores.items()):
        if process == os.getpid():
            store.close()
    stores.clear()


class HexadFileSystem(Listing):
    """Any number of pools. Each is opened when it is first used, and closed by close() or at exit.

    read_only: opens pools so that other processes may do the same at the same time; worker
    processes that are forked then open them again by themselves.
    collection: where in the pools the objects are; None: in the default one.
    devices, fast: the devices of one pool, as open() takes them, or the address of a group of images.
    Then "/" is that pool, and the path of an object is a slash and its name.
    each_thread_seeks: files that are open for reading have a position for each thread, 0 at first. For
    libraries that seek and read one file in several threads at a time, as DuckDB does.
    """

    protocol = "hexad"
    root_marker = "/"
    blocksize = 4 << 20  # bytes at once when files are copied out and in
    transaction_type = Transaction

    def __init__(
        self,
        read_only: bool = False,
        collection: str | None = None,
        devices: str | Sequence[str] | None = None,
        fast: Sequence[str] = (),
        each_thread_seeks: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.each_thread_seeks = boolean(each_thread_seeks, "each_thread_seeks")
        self.devices = [devices] if isinstance(devices, str) else devices
        self.fast = fast
        self.read_only = boolean(read_only, "read_only")
        name = collection_of(collection)
        self.where: dict[str, Any] = {} if name is None else {"collection": name}
        # By process, as a fork opens its own, and another thread may hold the parent's lock.
        self._locks: dict[int, threading.Lock] = {}
        # Those of pools that are elsewhere by now, too: files of them may be open.
        self._stores: dict[_Key, hexad.Store] = {}
        # By the directory as paths name it.
        self._known: dict[str, tuple[_Key, hexad.Store]] = {}
        self._finalizer = weakref.finalize(self, _close_all, self._stores)

    def _opening(self) -> threading.Lock:
        return self._locks.setdefault(os.getpid(), threading.Lock())

    def close(self) -> None:
        """Closes the pools; one that is used again is opened again."""
        with self._opening():
            self._known.clear()
            _close_all(self._stores)

    # Paths

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if type(path) is str and path.startswith("/") and not path.endswith("/"):
            return path  # as most are: there is nothing to strip
        if isinstance(path, list):
            return [cls._strip_protocol(p) for p in path]
        path = fsspec.utils.stringify_path(path)
        if not isinstance(path, str):
            raise TypeError(f"path: str or os.PathLike is wanted, not {type(path).__name__}")
        path = path.removeprefix("hexad://").removeprefix("hexad::")
        if not path.startswith("/") and not _pool_path.is_address(path):
            path = os.path.join(os.getcwd(), path)
        return path.rstrip("/") or "/"

    def locate(self, path: str) -> tuple[hexad.Store, str]:
        """The open store of the path's pool, and the object's name in it."""
        path = self._strip_protocol(path)
        if self.devices is not None:
            return self._only_pool(self.devices), path[1:]
        known = self._locate_again(path)
        if known is not None:
            return known
        directory, name = _pool_path.split(path)
        if _pool_path.is_address(directory):
            return self._pool_of_images(directory), name
        key = os.getpid(), os.path.realpath(directory), _pool_path.identity(directory)
        with self._opening():
            store = self._stores.get(key)
            if store is None:
                store = hexad.open(directory, read_only=self.read_only)
                self._stores[key] = store
            self._known[directory] = key, store
        return store, name

    def _only_pool(self, devices: Sequence[str]) -> hexad.Store:
        key = os.getpid(), "", None
        with self._opening():
            store = self._stores.get(key)
            if store is None:
                store = hexad.open(devices=devices, fast=self.fast, read_only=self.read_only)
                self._stores[key] = store
        return store

    def _pool_of_images(self, address: str) -> hexad.Store:
        key = os.getpid(), address, None
        with self._opening():
            store = self._stores.get(key)
            if store is None:
                read_only = self.read_only or _pool_path.is_snapshot(address)
                store = hexad.open(address, read_only=read_only)
                self._stores[key] = store
        return store

    def _locate_again(self, path: str) -> tuple[hexad.Store, str] | None:
        """locate() of a pool that has been used, when its description still is where it was. A pool that
        is made later in a directory above it is found when this one has been closed.
        """
        if not self._known:
            return None
        end = 0
        while end != len(path):
            end = path.find("/", end + 1)
            if end == -1:
                end = len(path)
            known = self._known.get(path[:end] or "/")
            if known is not None:
                (process, _, identity), store = known
                if process != os.getpid() or identity is None:
                    return None
                if _pool_path.identity(path[:end]) != identity:
                    return None
                return store, path[end + 1 :]
        return None

    # Reading

    def open_reader(self, path: str) -> io.BufferedReader:
        """A file object of one version of the object."""
        store, name = self.locate(path)
        return self._read(path, store.open_reader, name)

    def _read(self, path: str, call: Callable[..., T], name: str, *arguments: Any) -> T:
        if not name:
            raise is_directory(path)
        try:
            return call(name, *arguments, **self.where)
        except hexad.NotFoundError as error:
            if self.isdir(path):
                raise is_directory(path) from error
            raise not_found(path) from error

    def open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        cache_options: dict[str, Any] | None = None,
        compression: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """A HexadFile, or text or a codec over one. Use it in a `with` block: an exception in there
        leaves nothing of it. What is never closed is not stored, and hexad.NotStoredWarning says so.
        """
        path = self._strip_protocol(path)
        text: dict[str, Any] | None = None
        mode, is_text = mode_of(mode)
        if is_text:
            text = {k: kwargs.pop(k) for k in ("encoding", "errors", "newline") if k in kwargs}
        compression = fsspec.core.get_compression(path, compression)
        autocommit = kwargs.pop("autocommit", not self._intrans)
        file = self._open(
            path,
            mode,
            block_size=block_size,
            autocommit=autocommit,
            cache_options=cache_options,
            **kwargs,
        )
        over = wrapped(file, compression, text)
        if self._intrans and not autocommit and mode != "rb":
            file.keep_outer()
            self.transaction.files.append(file)
        return over

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> HexadFile:
        if mode == "rb" and self.each_thread_seeks:
            return EachThreadsFile(self, path, **kwargs)
        return HexadFile(self, path, mode, **kwargs)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any
    ) -> bytes:
        store, name = self.locate(path)
        start = 0 if start is None else start
        if start == 0 and end is None:
            return self._read(path, store.get, name)
        if start >= 0 and end is not None and end >= 0:
            return self._read(path, store.get_range, name, start, max(0, end - start))
        with self._read(path, store.open_reader, name) as reader:  # one version's size and bytes
            start, end, _ = slice(start, end).indices(reader.seek(0, os.SEEK_END))
            reader.seek(start)
            return reader.read(max(0, end - start))

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[Any]:
        """As fsspec has it; the ranges of one object are read together, of one version.

        max_gap changes nothing: the store reads what lies close by at once.
        """
        if not isinstance(paths, list):
            raise TypeError("paths must be a list")
        starts, ends = _bounds(starts, len(paths)), _bounds(ends, len(paths))
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise ValueError("as many starts and ends as paths")
        out: list[Any] = [None] * len(paths)
        together: dict[str, list[tuple[int, tuple[int, int]]]] = {}
        for i, (path, start, end) in enumerate(zip(paths, starts, ends)):
            start = 0 if start is None else start
            if end is not None and 0 <= start <= end:
                together.setdefault(path, []).append((i, (start, end - start)))
            else:
                out[i] = _attempt(on_error, self.cat_file, path, start, end)
        for path, wanted in together.items():
            parts = _attempt(on_error, self._cat_ranges_of, path, [r for _, r in wanted])
            for n, (i, _) in enumerate(wanted):
                out[i] = parts if isinstance(parts, Exception) else parts[n]
        return out

    def _cat_ranges_of(self, path: str, ranges: list[tuple[int, int]]) -> list[bytes]:
        store, name = self.locate(path)
        return self._read(path, store.get_ranges, name, ranges)

    # Writing

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **kwargs: Any) -> None:
        with _native.flat(value) as flat:
            if self._intrans or mode != "overwrite" or flat.nbytes > MAX_PUT:
                with self.open(path, "xb" if mode == "create" else "wb") as file:
                    file.write(flat)
                return
        store, name = self.locate(path)
        if not name:
            raise is_directory(path)
        if _imported.remembered(store, name, self.where):
            with store.transaction() as transaction:
                transaction.put(name, value, **self.where)
                _imported.forget(transaction, store, name, self.where)
            return
        store.put(name, value, **self.where)

    def put_file(
        self,
        lpath: str,
        rpath: str,
        callback: Any = DEFAULT_CALLBACK,
        mode: str = "overwrite",
        **kwargs: Any,
    ) -> None:
        if os.path.isdir(lpath):
            self.makedirs(rpath, exist_ok=True)
            return
        with open(lpath, "rb") as source:
            callback.set_size(os.fstat(source.fileno()).st_size)
            with self.open(rpath, "xb" if mode == "create" else "wb", **kwargs) as target:
                while data := source.read(self.blocksize):
                    target.write(data)
                    callback.relative_update(len(data))

    def touch(self, path: str, truncate: bool = True, **kwargs: Any) -> None:
        if truncate:
            self.pipe_file(path, b"")
            return
        store, name = self.locate(path)
        if not name:
            raise is_directory(path)
        # Writing nothing creates, and no more.
        self.change(store, path, lambda t: t.write(name, 0, b"", **self.where))

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        """Makes a directory that stays while it is empty, and those that it is in where they are missing;
        without create_parents they must be there.
        """
        store, name = self.locate(path)
        if self.exists(path):
            raise already_there(path)
        parent = self._strip_protocol(path).rpartition("/")[0]
        if not create_parents and "/" in name and not self.isdir(parent):
            if self.isfile(parent):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), parent)
            raise not_found(parent)
        made = [name, *self._missing_parents(store, name)]

        def add(transaction: hexad.Transaction) -> None:
            for one in made:
                transaction.put(one + "/", b"", **self.where)

        self.change(store, path, add)

    def _missing_parents(self, store: hexad.Store, name: str) -> Iterator[str]:
        parent = name.rpartition("/")[0]
        while parent and not self._is_directory(store, parent):
            if not parent.endswith("/"):  # of a//b there is a alone
                yield parent
            parent = parent.rpartition("/")[0]

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        if exist_ok and self.isdir(path):
            return
        self.mkdir(path)

    def rmdir(self, path: str) -> None:
        if self._level(path, times=False):
            if self.isfile(path):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        store, name = self.locate(path)
        if name:  # what is left are names that end in slashes
            self._remove(store, [e.name for e in store.iterate(name + "/", **self.where)])

    # Changing

    def check_writable(self, path: str) -> None:
        """Now, as nothing might be written before somebody has worked for long. ReadOnlyError"""
        if self.read_only:
            raise hexad.ReadOnlyError(
                f"{path}: the file system was made with read_only=True", "Make one without it."
            )

    def change(
        self,
        store: hexad.Store,
        path: str,
        add: Callable[[hexad.Transaction], None],
        drop: Callable[[], None] = lambda: None,
    ) -> None:
        """Makes a change now, or has it wait for the end of `with fs.transaction`; see Step."""
        if self._intrans:
            self.check_writable(path)
            self.transaction.files.append(Step(store, path, add, drop))
            return
        try:
            with store.transaction() as transaction:
                add(transaction)
        except BaseException:
            drop()
            raise

    def _remove(self, store: hexad.Store, names: list[str]) -> None:
        step = len(names) if self._intrans else BATCH
        for i in range(0, len(names), step or 1):
            some = names[i : i + step]

            def remove(transaction: hexad.Transaction, some: list[str] = some) -> None:
                for name in some:
                    transaction.remove(name, **self.where)

            self.change(store, some[0], remove)

    def rm_file(self, path: str) -> None:
        if self.info(path)["type"] == "directory":
            raise is_directory(path)
        store, name = self.locate(path)
        self._remove(store, [name])

    _rm = rm_file

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Removes what is there under each path, or what the path matches where there is nothing.
        recursive: directories, too; without maxdepth each with all below it, object or not.
        """
        paths = list(path) if isinstance(path, (list, tuple, set)) else [path]
        if not paths:
            return
        whole = recursive and maxdepth is None
        found = _fsspec_plan.expand(self, paths, recursive and not whole, maxdepth)
        for p, directory in found.items():
            if directory and not recursive:
                raise is_directory(p)
            if not directory and not self.exists(p):
                raise not_found(p)
        by_store: dict[int, tuple[hexad.Store, list[str]]] = {}
        for p, directory in found.items():
            if whole:
                self._rm_tree(p)
                continue
            store, name = self.locate(p)
            names = by_store.setdefault(id(store), (store, []))[1]
            if name:
                names.append(name + "/" if directory else name)
        for store, names in by_store.values():
            self._remove(store, names)

    def _rm_tree(self, path: str) -> None:
        store, name = self.locate(path)
        prefix = name + "/" if name else ""
        if self._intrans:  # what is there now goes then
            below = [e.name for page in self._pages(store, prefix) for e in page]
            self._remove(store, ([name] if name else []) + below)
            return
        if name:
            self._remove(store, [name])
        if not name or self._is_directory(store, name):
            store.remove_prefix(prefix, **self.where)

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """A clone: no data is copied, unless to another pool or where the clone is too large. A copy of
        one name of an imported file with several (hard links) is a file of its own.
        """
        (source, name1), (target, name2) = self.locate(path1), self.locate(path2)
        if self.isdir(path1):
            if not name1 or not name2 or not source.exists(name1 + "/", **self.where):
                return
            name1, name2 = name1 + "/", name2 + "/"  # with its attributes, as `hexad import` has them
        if not name1 or not name2:
            raise is_directory(path1 if not name1 else path2)
        if source is target and name1 == name2:
            return
        try:
            if source is target:

                def clone(transaction: hexad.Transaction) -> None:
                    transaction.clone(name1, name2, **self.where)
                    transaction.remove_attr(name2, _imported.LINK, **self.where)

                source.stat(name1, **self.where)
                try:
                    self.change(source, path2, clone)
                    return
                except hexad.TooBigError:
                    pass
            copied = _fsspec_moves.Copied(
                source, name1, target, name2, self.where, without=_imported.LINK
            )
            self.change(target, path2, copied.add_to, copied.discard)
        except hexad.NotFoundError as error:
            raise not_found(path1) from error


def _bounds(given: Any, count: int) -> list[Any]:
    """One for each path: of one for all, a list or the like, or an array."""
    if hasattr(given, "tolist"):
        given = given.tolist()  # Python's own numbers, which have no end
    return list(given) if isinstance(given, Iterable) else [given] * count


def _attempt(on_error: str, call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:  # pylint: disable=broad-exception-caught
        if on_error != "return":
            raise
        return error
