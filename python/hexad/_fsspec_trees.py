"""What hexad:// does with many paths at once: copies, moves, gets, puts.

fsspec has all this, too. Here a path that exists is never a pattern, and what cannot be done as it
was asked for is refused before anything has been done.
"""

# fsspec has no types.
# mypy: disable-error-code="import-untyped, misc"

from __future__ import annotations

import os
from glob import has_magic
from typing import TYPE_CHECKING, Any, cast

import fsspec.mapping
import fsspec.spec
from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.implementations.local import LocalFileSystem

from hexad import _fsspec_moves, _fsspec_plan, _native, _pool_path

if TYPE_CHECKING:
    from hexad.fsspec import HexadFileSystem


class Trees(fsspec.spec.AbstractFileSystem):
    """HexadFileSystem's calls on trees, patterns and lists."""

    def expand_path(
        self,
        path: Any,
        recursive: bool = False,
        maxdepth: int | None = None,
        assume_literal: bool = False,
        **kwargs: Any,
    ) -> list[str]:
        paths: Any = [path] if isinstance(path, (str, os.PathLike)) else path
        return list(_fsspec_plan.expand(self, paths, recursive, maxdepth, assume_literal))

    def glob(self, path: Any, maxdepth: int | None = None, **kwargs: Any) -> Any:
        """As fsspec has it; the directory of the pool is no pattern, whatever characters it has."""
        kwargs.setdefault("times", bool(kwargs.get("detail")))
        plain = self._strip_protocol(path)
        try:
            pool, pattern = _pool_path.split(plain)
        except FileNotFoundError:  # the pool is a pattern itself, or there is none
            pool, pattern = "", plain
        if not has_magic(pool):
            return super().glob(path, maxdepth=maxdepth, **kwargs)
        end = "/" if os.fspath(path).endswith("/") else ""
        found = _fsspec_plan.matches(self, pool, pattern + end, maxdepth)
        return found if kwargs.get("detail") else list(found)

    def copy(
        self,
        path1: Any,
        path2: Any,
        recursive: bool = False,
        maxdepth: int | None = None,
        on_error: str | None = None,
        **kwargs: Any,
    ) -> None:
        pairs, _ = _fsspec_plan.pairs(self, path1, self, path2, recursive, maxdepth)
        ignore = on_error == "ignore" or (on_error is None and recursive)
        for source, target in pairs:
            try:
                self.cp_file(source, target, **kwargs)
            except FileNotFoundError:  # it has gone meanwhile
                if not ignore:
                    raise

    def mv(
        self,
        path1: Any,
        path2: Any,
        recursive: bool = False,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Renames all of it in one commit where it stays within a pool (in several when it is more
        than the log takes at once, some ten thousand objects), and replaces what was there. To
        another pool it copies each object and then removes it, unless it has changed meanwhile.

        InvalidArgumentError: a directory would go into itself, or two objects to one place.
        IsADirectoryError: a directory, and not recursive. NotADirectoryError: in place of a file.
        """
        _fsspec_moves.move(cast("HexadFileSystem", self), path1, path2, recursive, maxdepth)

    def get(
        self,
        rpath: Any,
        lpath: Any,
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        local = LocalFileSystem()
        pairs, _ = _fsspec_plan.pairs(self, rpath, local, lpath, recursive, maxdepth)
        if isinstance(lpath, (str, os.PathLike)):
            top = local._strip_protocol(lpath)
            _fsspec_plan.check_contained(top, [target for _, target in pairs])
        callback.set_size(len(pairs))
        for source, target in callback.wrap(pairs):
            with callback.branched(source, target) as child:
                self.get_file(source, target, callback=child, **kwargs)

    def put(
        self,
        lpath: Any,
        rpath: Any,
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        maxdepth: int | None = None,
        **kwargs: Any,
    ) -> None:
        local = LocalFileSystem()
        pairs, _ = _fsspec_plan.pairs(local, lpath, self, rpath, recursive, maxdepth)
        callback.set_size(len(pairs))
        for source, target in callback.wrap(pairs):
            with callback.branched(source, target) as child:
                self.put_file(source, target, callback=child, **kwargs)

    def get_mapper(
        self,
        root: str = "",
        check: bool = False,
        create: bool = False,
        missing_exceptions: Any = None,
    ) -> Mapper:
        return Mapper(root, self, check, create, missing_exceptions)


class Mapper(fsspec.mapping.FSMap):
    """fsspec's mapping, whose keys are never patterns and whose values are never addresses."""

    def __getitem__(self, key: str, default: Any = None) -> Any:
        try:
            return self.fs.cat_file(self._key_to_str(key))
        except self.missing_exceptions as error:
            if default is not None:
                return default
            raise KeyError(key) from error

    def getitems(self, keys: Any, on_error: str = "raise") -> dict[str, Any]:
        """As fsspec has it: "omit" leaves out what cannot be read, "return" has the exceptions."""
        found: dict[str, Any] = {}
        for key in keys:
            try:
                found[key] = self.fs.cat_file(self._key_to_str(key))
            except Exception as error:  # pylint: disable=broad-exception-caught
                missing = isinstance(error, self.missing_exceptions)
                if on_error == "raise":
                    raise (KeyError(key) if missing else error) from error
                if on_error == "return":
                    found[key] = KeyError(key) if missing else error
        return found

    def __setitem__(self, key: str, value: Any) -> None:
        with _native.flat(value) as flat:
            super().__setitem__(key, flat)

    def setitems(self, values_dict: dict[str, Any]) -> None:
        for key, value in values_dict.items():
            self[key] = value

    def __delitem__(self, key: str) -> None:
        try:
            self.fs.rm_file(self._key_to_str(key))
        except OSError as error:
            raise KeyError(key) from error

    def delitems(self, keys: Any) -> None:
        for key in keys:
            del self[key]

    def clear(self) -> None:
        if self.fs.exists(self.root):
            super().clear()

    def __reduce__(self) -> Any:
        return Mapper, (self.root, self.fs, False, False, self.missing_exceptions)
