"""What hexad:// finds where: listings, walks, sizes of trees.

A directory is what lies behind a slash in names. A name with nothing between two of its slashes, such
as a//b, would lie in a directory without a name: it is shown in the directory before that, as a//b,
so that all that there is can be listed, walked, globbed and removed.
"""

# fsspec has no types.
# mypy: disable-error-code="import-untyped, misc"

from __future__ import annotations

import datetime
import errno
import os
from typing import TYPE_CHECKING, Any, Iterator

import hexad
from hexad._fsspec_file import is_directory, not_found
from hexad._fsspec_trees import Trees
from hexad._types import MAX_NAME

Info = dict[str, Any]


class Listing(Trees):
    """HexadFileSystem's calls that look."""

    where: dict[str, Any]

    if TYPE_CHECKING:

        def locate(self, path: str) -> tuple[hexad.Store, str]: ...

    def info(self, path: str, **kwargs: Any) -> Info:
        path = self._strip_protocol(path)
        store, name = self.locate(path)
        if name:
            try:
                return file_info(path, store.stat(name, **self.where))
            except hexad.NotFoundError:
                pass
            if not self._is_directory(store, name):
                raise not_found(path)
        return directory_info(path)

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

    def modified(self, path: str) -> datetime.datetime:
        """When the object was changed last."""
        info = self.info(path)
        if info["type"] == "directory":
            raise is_directory(path)
        return datetime.datetime.fromtimestamp(info["mtime"], tz=datetime.timezone.utc)

    def created(self, path: str) -> datetime.datetime:
        """When the version that is there was made: modified(). A store keeps no other time."""
        return self.modified(path)

    def _pages(
        self, store: hexad.Store, prefix: str, delimiter: str = ""
    ) -> Iterator[hexad.Page]:
        after = ""
        while len(os.fsencode(prefix)) <= MAX_NAME:
            page = store.list(prefix=prefix, after=after, delimiter=delimiter, **self.where)
            yield page
            if not page.next:
                return
            after = page.next

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        found = self._level(path, times=detail)
        return found if detail else [info["name"] for info in found]

    def _level(self, path: str, times: bool) -> list[Info]:
        """The content of a directory, or the file. times: whether files have theirs, which costs a
        look at each.
        """
        path = self._strip_protocol(path)
        store, name = self.locate(path)
        base = path[: len(path) - len(name)].rstrip("/") + "/"  # what stands before every name
        found: list[Info] = []
        there = not name
        prefixes = [name + "/" if name else ""]
        while prefixes:
            prefix = prefixes.pop()
            for page in self._pages(store, prefix, delimiter="/"):
                there = there or bool(page.entries or page.prefixes)
                found += self._files(
                    store, base, [e for e in page.entries if e.name != prefix], times
                )
                for one in page.prefixes:
                    if one == prefix + "/":
                        prefixes.append(one)
                    else:
                        found.append(directory_info(base + one[:-1]))
        if not there:
            return [self.info(path)]
        return sorted(found, key=lambda info: str(info["name"]))

    def _files(
        self, store: hexad.Store, base: str, entries: list[hexad.Entry], times: bool
    ) -> list[Info]:
        """times: as info() has them, without those that have gone meanwhile."""
        found = []
        for entry in entries:
            path = base + entry.name
            if not times:
                found.append(_entry_info(path, entry))
                continue
            try:
                found.append(file_info(path, store.stat(entry.name, **self.where)))
            except hexad.NotFoundError:
                pass
        return found

    def walk(
        self,
        path: str,
        maxdepth: int | None = None,
        topdown: bool = True,
        on_error: Any = "omit",
        detail: bool = False,
        **kwargs: Any,
    ) -> Any:
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        path = self._strip_protocol(path)
        try:
            listing = self._level(path, times=kwargs.get("times", detail))
        except OSError as error:
            omitted = on_error == "omit" and isinstance(error, FileNotFoundError)
            if not (omitted or callable(on_error)):
                raise
            if callable(on_error):
                on_error(error)
            return
        directories: Any = {}
        files: Any = {}
        for info in listing:
            # Whatever stands behind the slash: names with nothing before it keep theirs.
            name = info["name"][len(path.rstrip("/")) :].removeprefix("/")
            (directories if info["type"] == "directory" else files)[name] = info
        below = {name: info["name"] for name, info in directories.items()}
        if not detail:
            directories, files = list(directories), list(files)
        if topdown:
            yield path, directories, files
        if maxdepth is None or maxdepth > 1:
            for name in directories:  # those that whoever looks has left
                yield from self.walk(
                    below[name],
                    None if maxdepth is None else maxdepth - 1,
                    topdown,
                    on_error,
                    detail,
                    **kwargs,
                )
        if not topdown:
            yield path, directories, files

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **kwargs: Any,
    ) -> Any:
        times = kwargs.pop("times", detail)
        if maxdepth is not None:  # level by level: what lies deeper is not looked at
            return super().find(
                path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, times=times, **kwargs
            )
        path = self._strip_protocol(path)
        try:
            store, name = self.locate(path)
        except FileNotFoundError:
            return {} if detail else []
        prefix = name + "/" if name else ""
        base = path[: len(path) - len(name)].rstrip("/") + "/"
        files: list[Info] = []
        directories: dict[str, Info] = {}
        there = not name
        for page in self._pages(store, prefix):
            there = there or bool(page.entries)
            entries = [e for e in page.entries if not e.name.endswith("/")]
            files += self._files(store, base, entries, times)
            for entry in page.entries if withdirs else ():
                _add_directories(directories, base + entry.name, len(base + prefix))
        found = {**directories, **{info["name"]: info for info in files}}
        if not there and self.isfile(path):
            found[path] = self.info(path)
        elif there and withdirs:
            found.setdefault(path, directory_info(path))
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
        found = self.find(path, maxdepth=maxdepth, withdirs=withdirs, detail=True, times=False)
        sizes = {name: info["size"] for name, info in found.items()}
        return sum(sizes.values()) if total else sizes


def file_info(path: str, stat: hexad.Stat) -> Info:
    return {
        "name": path,
        "size": stat.size,
        "type": "file",
        "version": stat.version,
        "mtime": stat.mtime,
    }


def directory_info(path: str) -> Info:
    return {"name": path, "size": 0, "type": "directory"}


def _entry_info(path: str, entry: hexad.Entry) -> Info:
    return {"name": path, "size": entry.size, "type": "file", "version": entry.version}


def _add_directories(directories: dict[str, Info], path: str, top: int) -> None:
    """Those that `path` is in or, ending in a slash, is; below its first `top` characters."""
    end = path.rfind("/")
    while end >= top and path[:end] not in directories:
        if path[end - 1] != "/":
            directories[path[:end]] = directory_info(path[:end])
        end = path.rfind("/", 0, end)
