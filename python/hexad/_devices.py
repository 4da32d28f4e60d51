"""The devices of an open store: what they lack, one more, one less."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable

from . import _native, _process
from ._errors import ClosedError, InvalidArgumentError
from ._types import rate_of
from ._writing import Writing


class Devices(Writing):
    def catch_up(
        self,
        *,
        rate: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> dict[str, Any]:
        """Gives devices that have come back what was written while they were away, while
        everything else goes on. bytes_missing (0: they lack nothing any more), bytes_total (when it
        began), findings[] of subject, problem, repaired: what could not be given back.

        rate: bytes read per second at most. progress: counts bytes given back; when it returns
        False, it stops there.
        """
        report: dict[str, Any] = self._native.catch_up(rate_of(rate), progress)
        return report

    def can_offline(self, ids: Iterable[int]) -> dict[str, Any]:
        """Whether devices may be taken away now, all of them at once, with the store readable and
        writable meanwhile: allowed, reason, hint, readable, writable, faults_tolerated (how many more
        may be lost meanwhile), together (devices that count as taken away with them). ids: those of
        status()["devices"]. NotFoundError"""
        answer: dict[str, Any] = self._native.can_offline(list(ids))
        return answer

    def bring_back_device(self, id: int, path: str | os.PathLike[str] = "") -> None:
        """Takes a device in again that has left the store while it is open, or was not there when it
        was opened. path: where it is now; else where it was. What was written without it, it gets in
        the background, or by catch_up(). NotFoundError, AlreadyExistsError (it is in use),
        UnavailableError (it still owes answers from before; it has lost writes), InvalidArgumentError
        (another device), BusyError, ReadOnlyError: the store is as it was, and it may be tried again.
        """
        self._native.bring_back_device(id, os.fspath(path))

    def clear_device_errors(self, ids: Iterable[int] = ()) -> None:
        """Forgets the errors of devices that were counted so far, errors_total of status(); of all
        devices where none are named. Durable when it returns. NotFoundError, ReadOnlyError"""
        self._native.clear_device_errors(list(ids))

    def add_device(
        self, path: str | os.PathLike[str], *, failure_domain: str | None = None
    ) -> int:
        """Takes a device into the store that it has not had, one more than before; its number. What is
        not there becomes a file, of the size of the largest data device. The description of the pool
        names it; whoever gives `devices` to open() names it there, the next time. What is on others
        moves to it in the background, or by move_slabs(). Durable when it returns; Ctrl-C ends it
        before, and the store is as it was.

        failure_domain: what it shares with others and fails with, as format() names it, or a new one;
        needed where the store has some.

        AlreadyExistsError (`path` holds something else, or is a device of the store), NoSpaceError
        (too small), InvalidArgumentError (its blocks are too large; failure_domain), TooBigError (too
        many devices),
        BusyError, ReadOnlyError, IoError: the store is as it was. UnsupportedError: in memory.
        """
        add = self._native.add_device
        self._check_place()
        where = _process.absolute(os.fsdecode(path))
        # While it is no device of the store, it does no harm there; missing, it would look lost.
        named = self._describe(lambda devices: [*devices, where])
        try:
            id: int = add(where, failure_domain or "")
        except BaseException:  # Ctrl-C, too
            if not _native.goes_on():
                self._take_back(where, named)
            raise
        self._note_devices()
        return id

    def add_fast_device(self, directory: str | os.PathLike[str]) -> int:
        """Takes a fast device into the store, one more than before; its number. `directory` is on it,
        and is made if it is missing. It gets a copy of the log at once, and the index at the next
        opening, where it is the only one. The description of the pool names it; whoever gives `fast`
        to open() names it there, the next time. Durable when it returns; Ctrl-C ends it before, and the
        store is as it was.

        AlreadyExistsError (`directory` has the log or the index of another pool, or is that of a device
        of the store), NoSpaceError, InvalidArgumentError (its blocks are too large), TooBigError (too
        many devices), BusyError, ReadOnlyError, IoError: the store is as it was. UnsupportedError: in
        memory.
        """
        add = self._native.add_fast_device
        self._check_place()
        where = _process.absolute(os.fsdecode(directory))
        named = self._describe_fast(lambda fast: [*fast, where])
        try:
            id: int = add(where)
        except BaseException:  # Ctrl-C, too
            if not _native.goes_on():
                self._take_back_fast(where, named)
            raise
        return id

    def replace_device(
        self,
        id: int,
        path: str | os.PathLike[str],
        *,
        rate: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> int:
        """Takes a new device in for one that is lost, has failed or is to go, while everything else
        goes on; the number of the new one. What is not there becomes a file. The description of the
        pool names it; whoever gives `devices` to open() names it there, the next time.

        One that is not in use gives its number to the new one, which may be smaller, as far as what
        lies there has room; it gets all of that in the background, or by catch_up(), and counts as lost
        until then. For one that still answers the new one gets a number of its own; what lies on the
        old one moves to the others, and it is removed: then this returns, and at no time there is less
        redundancy than before. What ends that early leaves a device more and one that is draining: the
        same call goes on, undrain_device() takes it back. For a fast device `path` is another
        directory, which is made if it is missing; it gets the log now, and the index when the pool is
        opened again.

        rate: bytes copied per second at most. progress: counts bytes moved; when it returns False, it
        stops there (ClosedError), and before the new one is a device of the store nothing has changed.
        It must not call add_device(), drain_device() and their like.

        NotFoundError, InvalidArgumentError (it lacks something yet), AlreadyExistsError (`path`
        holds something else, or is a device of the store), NoSpaceError (too small),
        UnavailableError (too many others are lost; something cannot be moved), BusyError,
        ReadOnlyError, IoError. UnsupportedError: in memory.
        """
        replace = self._native.replace_device
        self._check_place()
        where = _process.absolute(os.fsdecode(path))
        fast = [one["path"] for one in self._fast() if one["id"] == id]
        if fast:
            before = os.path.dirname(fast[0])
            named = self._describe_fast(lambda now: [*now, where])
            try:
                replaced: int = replace(id, where, rate_of(rate), progress)
            except BaseException:  # Ctrl-C, too
                if not _native.goes_on():
                    self._take_back_fast(where, named)
                raise
            if before != where:
                self._describe_fast(lambda now: self._in_place(now, before, where))
            return replaced
        old = self._only_path_of(id)
        # While it is no device of the store, it does no harm there; missing, it would look lost.
        named = self._describe(lambda devices: [*devices, where])
        try:
            by: int = replace(id, where, rate_of(rate), progress)
        except BaseException:  # Ctrl-C, too
            if not _native.goes_on():
                self._take_back(where, named)
            raise
        if old and old != where:
            self._describe(lambda devices: [one for one in devices if one != old])
        self._note_devices()
        return by

    def drain_device(self, id: int) -> None:
        """From now on nothing more is put on the device, and what lies there moves to others, in the
        background or by move_slabs(): status()["devices"] says how many slabs_used are left. It serves
        until remove_device(). Of one that is lost, what lay there is built again on the others, in
        the background or by catch_up(). Durable when it returns; again: nothing.

        NotFoundError, InvalidArgumentError (no data device), NoSpaceError (the others have no room,
        or would be too few), ReadOnlyError.
        """
        self._native.drain_device(id)

    def undrain_device(self, id: int) -> None:
        """Ends that: what still lies on the device stays, and it is used like the others. Durable when
        it returns; again: nothing. NotFoundError, ReadOnlyError
        """
        self._native.undrain_device(id)

    def remove_device(self, id: int) -> None:
        """The device, which has been drained, or is a fast one, is no device of the store any more, and
        is wiped where it is there; its number is never used again. The description of the pool names it
        no more. An index on a fast device serves until the store is closed: leave its directory there
        so long. Durable when it returns.

        NotFoundError, UnavailableError (something is left on it, or too few others are in use),
        NoSpaceError (too few would be left), ReadOnlyError.
        """
        remove = self._native.remove_device
        self._check_place()
        path = self._only_path_of(id)
        directory = self._fast_directory_of(id)
        remove(id)
        if directory:
            self._describe_fast(lambda fast: [one for one in fast if one != directory])
        if path:
            self._describe(lambda devices: [one for one in devices if one != path])
        self._note_devices()

    def move_slabs(
        self,
        *,
        rate: int | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> dict[str, Any]:
        """Moves slabs from devices that are drained, and from full devices to empty ones, while
        everything else goes on, until nothing is left to be moved, or as far as it comes. slabs_moved,
        slabs_left, bytes_moved (bytes that were copied), problem (why some are left; "": none are, or
        it was stopped). The store does the same by itself, more slowly.

        rate: bytes copied per second at most. progress: counts slabs; when it returns False, it stops
        there. ReadOnlyError
        """
        report: dict[str, Any] = self._native.move_slabs(rate_of(rate), progress)
        return report

    def _check_place(self) -> None:
        """That the description which is going to change is that of this store."""
        if self.path is None:
            return
        devices, _ = _native.read_pool(self.path)
        if _process.is_another(self._shared, devices):
            raise InvalidArgumentError(
                f"{self.path} holds another pool by now: the one that is open was removed or moved",
                "Close it; if it was moved, open it where it is.",
            )

    def _take_back(self, path: str, named: bool) -> None:
        """The description names the device no more, unless it has become one of the store, which what
        failed behind that does not undo.
        """
        try:
            member = self._has_device_at(path)
        except ClosedError:  # meanwhile; a file that was made and is none is gone
            if os.path.exists(path):
                return  # the description names it, which does no harm
            member = False
        if member:
            self._note_devices()
        elif named:
            self._describe(lambda devices: [one for one in devices if one != path])

    def _describe(self, change: Callable[[list[str]], list[str]]) -> bool:
        """The description of the pool has other devices from then on. False: it had those already, or
        there is none.
        """
        if self.path is None:
            return False
        with _process.lock():
            devices, fast = _native.read_pool(self.path)
            after = list(dict.fromkeys(change(devices)))
            if after == devices:
                return False
            _native.write_pool(self.path, after, fast)
            return True

    def _describe_fast(self, change: Callable[[list[str]], list[str]]) -> bool:
        """The description of the pool has other fast directories from then on. False: it had those
        already, or there is none. Where it names none, the labels do: then it begins with those.
        """
        if self.path is None:
            return False
        with _process.lock():
            devices, fast = _native.read_pool(self.path)
            names = fast or [os.path.dirname(one["path"]) for one in self._fast() if one["path"]]
            after = list(dict.fromkeys(change(names)))
            if after == fast:
                return False
            _native.write_pool(self.path, devices, after)
            return True

    @staticmethod
    def _in_place(names: list[str], old: str, new: str) -> list[str]:
        """With the new one, which is among them, where the old one was; first, where nobody knows that."""
        others = [one for one in names if one != new]
        if old not in others:
            return [new, *others]
        return [new if one == old else one for one in others]

    def _take_back_fast(self, directory: str, named: bool) -> None:
        """As _take_back()."""
        try:
            member = any(os.path.dirname(one["path"]) == directory for one in self._fast())
        except ClosedError:  # the description names it, which does no harm
            return
        if named and not member:
            self._describe_fast(lambda fast: [one for one in fast if one != directory])

    def _fast(self) -> list[dict[str, Any]]:
        return [one for one in self._members() if one["role"] == "log"]

    def _fast_directory_of(self, id: int) -> str:
        """Of a fast device; "": it is none, or nobody knows, as _only_path_of() has it."""
        return os.path.dirname(self._only_path_of(id, "log"))

    def _members(self) -> list[dict[str, Any]]:
        devices: list[dict[str, Any]] = self._native.status()["devices"]
        return [one for one in devices if one["role"]]

    def _has_device_at(self, path: str) -> bool:
        return any(one["path"] == path for one in self._members())

    def _only_path_of(self, id: int, role: str = "data") -> str:
        """Where the device is; "": that is not known. What is not there is shown at one of the paths
        where nothing is: its own if it is alone.
        """
        away = 0
        path = ""
        for one in self._native.status()["devices"]:
            absent = one["state"] in ("missing", "unreadable")
            away += absent
            if one["id"] == id and one["role"] == role:
                path, own = one["path"], not absent
        return path if path and (own or away == 1) else ""

    def _note_devices(self) -> None:
        """This process finds the store that it has open by the devices that it has now, too."""
        if self.path is not None:
            devices, _ = _native.read_pool(self.path)
        else:
            devices = [one["path"] for one in self._members() if one["role"] == "data"]
        if self._shared.key is not None and all(devices):
            _process.has_devices(self._shared, devices)
