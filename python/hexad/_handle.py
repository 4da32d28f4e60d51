"""The life of an open store in this process: closing, forking, pickling."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from . import _process
from ._errors import ClosedError, ReadOnlyError

if TYPE_CHECKING:
    from typing_extensions import Self


class _Closed:
    """What a closed Store has in place of the native one."""

    closed = True
    forked = False

    def __getattr__(self, name: str) -> Any:
        raise ClosedError("the store has been closed", "Open it again.")


class _OnlyReads:
    """The native store for a read-only Store, whose process may have it open for writing, too, now or
    later.
    """

    _WRITES = {
        "commit", "submit", "open_writer", "checkpoint", "catch_up", "bring_back_device",
        "clear_device_errors", "add_device", "add_fast_device", "drain_device", "undrain_device", "remove_device",
        "replace_device", "move_slabs",
    }

    def __init__(self, native: Any) -> None:
        self._native = native

    def __getattr__(self, name: str) -> Any:
        if name in self._WRITES:
            raise ReadOnlyError("the store was opened read-only", "Open it for writing.")
        value = getattr(self._native, name)
        if callable(value):
            setattr(self, name, value)  # the next time it is found at once
        return value

    def fsck(self, deep: bool, repair: bool) -> Any:
        if repair:
            raise ReadOnlyError("the store was opened read-only", "Open it for writing.")
        return self._native.fsck(deep, repair)


class Handle:
    """One user of a store that may have several in this process; what Store stands on."""

    def __init__(
        self,
        shared: _process.SharedStore,
        *,
        path: str | None,
        read_only: bool,
        reopen: tuple[Any, ...] | None,
    ) -> None:
        self._shared = shared
        self._native: Any = _OnlyReads(shared.native) if read_only else shared.native
        self._reopen = reopen
        #: The directory of the pool; None: in memory, or opened from its devices.
        self.path = path
        self.read_only = read_only

    def __repr__(self) -> str:
        where = "in memory" if self._reopen is None else repr(self.path)
        return f"<hexad store {where}{', closed' if self.closed else ''}>"

    def close(self) -> None:
        """Waits for what is in flight, writes a checkpoint and lets go of the devices; again:
        nothing. When several Store objects of this process share the store, the last one does it.

        Errors: IoError (buffered commits may be lost; the message names them).
        """
        with _process.lock():  # of several threads that close it, one does
            if isinstance(self._native, _Closed):
                return
            self._native = _Closed()
            _process.release(self._shared)

    @property
    def closed(self) -> bool:
        """close() has been called."""
        return bool(self._native.closed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        native = getattr(self, "_native", None)
        if native is None or native.closed or native.forked:
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
        # Without a checkpoint, when this was the last one: the next opening recovers.
        self._native = _Closed()
        with _process.lock():
            self._shared.users -= 1

    def __reduce__(self) -> tuple[Any, ...]:
        if self._reopen is None or not self.read_only:
            raise TypeError("only a store that was opened read-only can be pickled")
        from . import _open_again

        return _open_again, self._reopen
