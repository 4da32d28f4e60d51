"""hexad:// for fsspec: the objects of a pool as files.

    fsspec.open("hexad:///data/pool/run7/weights.bin")
    pandas.read_parquet("hexad:///data/pool/tables/a.parquet")
    fsspec.filesystem("hexad", read_only=True).ls("/data/pool/run7")

In hexad://P the pool is the shortest leading directory of P that holds a pool description
(hexad.pool); the rest is the name of the object, byte for byte. A P without a leading slash begins
at the current directory.

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

import datetime
import errno
import io
import os
import threading
import weakref
from typing import Any, Callable, Iterator, TypeVar

import fsspec.core
import fsspec.utils
from fsspec.callbacks import DEFAULT_CALLBACK

import hexad
from hexad import _fsspec_moves, _fsspec_plan, _imported, _native, _pool_path
from hexad._fsspec_file import HexadFile, Transaction, already_there, is_directory, not_found
from hexad._fsspec_trees import Trees
from hexad._fsspec_wrapped import wrapped

__all__ = ["HexadFile", "HexadFileSystem"]

Info = dict[str, Any]
T = TypeVar("T")

MAX_NAME = 1024  # bytes
MAX_PUT = 8 << 20  # bytes; more goes through a writer, as a transaction holds what it writes
BATCH = 1000  # objects that one transaction removes


def _close_all(stores: dict[tuple[int, str], hexad.Store]) -> None:
    for (process, _), store in list(stores.items()):
        if process == os.getpid():
            store.close()
    stores.clear()


class HexadFileSystem(Trees):
    """Any number of pools. Each is opened when it is first used, and closed by close() or at exit.

    read_only: opens pools so that other processes may do the same at the same time; worker
    processes that are forked then open them again by themselves.
    collection: where in the pools the objects are; None: in the default one.
    """

    protocol = "hexad"
    root_marker = "/"
    blocksize = 4 << 20  # bytes at once when files are copied out and in
    transaction_type = Transaction

    def __init__(
        self, read_only: bool = False, collection: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.read_only = read_only
        self.where: dict[str, Any] = {} if collection is None else {"collection": collection}
        # By process, as a fork opens its own, and another thread may hold the parent's lock; the
        # stores also by the pool's real path.
        self._locks: dict[int, threading.Lock] = {}
        self._stores: dict[tuple[int, str], hexad.Store] = {}
        self._finalizer = weakref.finalize(self, _close_all, self._stores)

    def _opening(self) -> threading.Lock:
        return self._locks.setdefault(os.getpid(), threading.Lock())

    def close(self) -> None:
        """Closes the pools; one that is used again is opened again."""
        with self._opening():
            _close_all(self._stores)

    # Paths

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(p) for p in path]
        path = fsspec.utils.stringify_path(path)
        path = path.removeprefix("hexad://").removeprefix("hexad::")
        if not path.startswith("/"):
            path = os.path.join(os.getcwd(), path)
        return path.rstrip("/") or "/"

    def locate(self, path: str) -> tuple[hexad.Store, str]:
        """The open store of the path's pool, and the object's name in it."""
        directory, name = _pool_path.split(self._strip_protocol(path))
        key = os.getpid(), os.path.realpath(directory)
        with self._opening():
            store = self._stores.get(key)
            if store is None:
                store = hexad.open(directory, read_only=self.read_only)
                self._stores[key] = store
        return store, name

    # Looking

    def info(self, path: str, **kwargs: Any) -> Info:
        path = self._strip_protocol(path)
        store, name = self.locate(path)
        if name:
            try:
                stat = store.stat(name, **self.where)
            except hexad.NotFoundError:
                pass
            else:
                return {
                    "name": path,
                    "size": stat.size,
                    "type": "file",
                    "version": stat.version,
                    "mtime": stat.mtime,
                }
            if not self._is_directory(store, name):
                raise not_found(path)
        return _directory_info(path)

    def _is_directory(self, store: hexad.Store, name: str) -> bool:
        if len(os.fsencode(name)) >= MAX_NAME:
            return False  # no name is longer than that and a slash
        page = store.list(prefix=name + "/", limit=1, **self.where)
        return bool(page.entries)

    def exists(self, path: str, **kwargs: Any) -> bool:
        try:
            self.info(path)
        except FileNotFoundError:
            return False
        return True

    # What cannot be told, of a pool that is in use or does not answer, is no "no": these two and
    # walk(), and with it glob() and whatever looks level by level, raise it.

    def isfile(self, path: str) -> bool:
        return self._has_type(path, "file")

    def isdir(self, path: str) -> bool:
        return self._has_type(path, "directory")

    def _has_type(self, path: str, wanted: str) -> bool:
        try:
            return bool(self.info(path)["type"] == wanted)
        except (FileNotFoundError, hexad.InvalidArgumentError):  # nothing has a name like that
            return False

    def walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: Any = "omit",
        **kwargs: Any,
    ) -> Any:
        if on_error == "omit":
            on_error = _raise_unless_not_found
        return super().walk(path, maxdepth=maxdepth, topdown=topdown, on_error=on_error, **kwargs)

    def modified(self, path: str) -> datetime.datetime:
        info = self.info(path)
        if info["type"] == "directory":
            raise is_directory(path)
        return datetime.datetime.fromtimestamp(info["mtime"], tz=datetime.timezone.utc)

    def _pages(
        self, store: hexad.Store, prefix: str, delimiter: str = ""
    ) -> Iterator[hexad.Page]:
        after = ""
        while True:
            page = store.list(prefix=prefix, after=after, delimiter=delimiter, **self.where)
            yield page
            if not page.next:
                return
            after = page.next

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        path = self._strip_protocol(path)
        store, name = self.locate(path)
        prefix = name + "/" if name else ""
        base = path[: len(path) - len(name)].rstrip("/") + "/"  # what stands before every name
        found: list[Info] = []
        there = not name
        if len(os.fsencode(prefix)) <= MAX_NAME:
            for page in self._pages(store, prefix, delimiter="/"):
                there = there or bool(page.entries or page.prefixes)
                found += [_file_info(base, e) for e in page.entries if e.name != prefix]
                # A name with nothing between two slashes is in no directory that has a path.
                found += [
                    _directory_info(base + p[:-1]) for p in page.prefixes if p != prefix + "/"
                ]
        if not there:
            found = [self.info(path)]
        found.sort(key=lambda info: info["name"])
        return found if detail else [info["name"] for info in found]

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **kwargs: Any,
    ) -> Any:
        if maxdepth is not None:  # level by level: what lies deeper is not looked at
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **kwargs)
        path = self._strip_protocol(path)
        try:
            store, name = self.locate(path)
        except FileNotFoundError:
            return {} if detail else []
        prefix = name + "/" if name else ""
        base = path[: len(path) - len(name)].rstrip("/") + "/"
        files: dict[str, Info] = {}
        directories: dict[str, Info] = {}
        there = not name
        if len(os.fsencode(prefix)) <= MAX_NAME:
            for page in self._pages(store, prefix):
                for entry in page.entries:
                    there = True
                    if not entry.name.endswith("/"):
                        files[base + entry.name] = _file_info(base, entry)
                    if withdirs:
                        _add_directories(directories, base + entry.name, len(base + prefix))
        if not there and self.isfile(path):
            files[path] = self.info(path)
        elif there and withdirs:
            directories[path] = _directory_info(path)
        found = {**directories, **files}
        names = sorted(found)
        return {name: found[name] for name in names} if detail else names

    def du(
        self,
        path: str,
        total: bool = True,
        maxdepth: int | None = None,
        withdirs: bool = False,
        **kwargs: Any,
    ) -> Any:
        found = self.find(path, maxdepth=maxdepth, withdirs=withdirs, detail=True)
        sizes = {name: info["size"] for name, info in found.items()}
        return sum(sizes.values()) if total else sizes

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
        if "b" not in mode:
            mode = mode.replace("t", "") + "b"
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
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
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
        with store.transaction() as transaction:  # writing nothing creates, and no more
            transaction.write(name, 0, b"", **self.where)

    def mkdir(self, path: str, create_parents: bool = True, **kwargs: Any) -> None:
        store, name = self.locate(path)
        if self.exists(path):
            raise already_there(path)
        store.put(name + "/", b"", **self.where)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        if exist_ok and self.isdir(path):
            return
        self.mkdir(path)

    def rmdir(self, path: str) -> None:
        if self.ls(path, detail=False):
            if self.isfile(path):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        store, name = self.locate(path)
        if name:
            self._remove(store, [name + "/"])

    # Changing

    def _remove(self, store: hexad.Store, names: list[str]) -> None:
        for i in range(0, len(names), BATCH):
            with store.transaction() as transaction:
                for name in names[i : i + BATCH]:
                    transaction.remove(name, **self.where)

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
        if name:
            self._remove(store, [name])
        if not name or self._is_directory(store, name):
            store.remove_prefix(name + "/" if name else "", **self.where)

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
                try:
                    with source.transaction() as transaction:
                        transaction.clone(name1, name2, **self.where)
                        transaction.remove_attr(name2, _imported.LINK, **self.where)
                    return
                except hexad.TooBigError:
                    pass
            _fsspec_moves.copy_object(
                source, name1, target, name2, self.where, without=_imported.LINK
            )
        except hexad.NotFoundError as error:
            raise not_found(path1) from error


def _directory_info(path: str) -> Info:
    return {"name": path, "size": 0, "type": "directory"}


def _file_info(base: str, entry: hexad.Entry) -> Info:
    return {"name": base + entry.name, "size": entry.size, "type": "file"}


def _add_directories(directories: dict[str, Info], path: str, top: int) -> None:
    """Those that `path` is in or, ending in a slash, is; below its first `top` characters."""
    end = path.rfind("/")
    while end >= top and path[:end] not in directories:
        if path[end - 1] != "/":
            directories[path[:end]] = _directory_info(path[:end])
        end = path.rfind("/", 0, end)


def _raise_unless_not_found(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _attempt(on_error: str, call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:  # pylint: disable=broad-exception-caught
        if on_error != "return":
            raise
        return error
