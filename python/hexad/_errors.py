"""The exceptions. All are an Error; each is also what Python calls such a thing elsewhere."""

from __future__ import annotations

import enum
import errno
import sys
import warnings
from typing import Any


class ErrorCode(str, enum.Enum):
    """What a caller may act on; the words of the command line."""

    NOT_FOUND = "not found"
    ALREADY_EXISTS = "already exists"
    NOT_EMPTY = "not empty"
    INVALID_ARGUMENT = "invalid argument"
    TOO_BIG = "too big"
    NO_SPACE = "no space"
    CONFLICT = "conflict"
    IO = "input/output error"
    CORRUPTION = "corruption"
    READ_ONLY = "read-only"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown outcome"
    UNSUPPORTED = "unsupported"
    FORKED = "used after fork"
    CLOSED = "closed"
    EXHAUSTED = "out of resources"
    FENCED = "shut out"


class Error(Exception):
    """Base of everything that hexad raises about stores.

    message: what failed, with its numbers and their units.
    hint: what to do next; may be empty.
    object: the name that the call was about, or None.
    """

    code: ErrorCode = ErrorCode.IO
    _errno: int = 0

    def __init__(self, message: str = "", hint: str = "", object: str | None = None) -> None:
        super().__init__(message, hint, object)
        self.message = message
        self.hint = hint
        self.object = object
        if isinstance(self, OSError):
            setattr(self, "errno", self._errno)
            setattr(self, "strerror", message)

    def __str__(self) -> str:
        text = f"{self.message} ({self.code.value})"
        return f"{text}. {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.hint, self.object)


class NotFoundError(Error, KeyError, FileNotFoundError):
    """There is no such object, collection or pool."""

    code = ErrorCode.NOT_FOUND
    _errno = errno.ENOENT


class AlreadyExistsError(Error, FileExistsError):
    """It exists already."""

    code = ErrorCode.ALREADY_EXISTS
    _errno = errno.EEXIST


class NotEmptyError(Error, OSError):
    """The collection still holds objects."""

    code = ErrorCode.NOT_EMPTY
    _errno = errno.ENOTEMPTY


class InvalidArgumentError(Error, ValueError):
    """The request can never succeed as it stands."""

    code = ErrorCode.INVALID_ARGUMENT


class TooBigError(Error, ValueError):
    """Over a limit that the message names."""

    code = ErrorCode.TOO_BIG


class NoSpaceError(Error, OSError):
    """No room on the devices, in the fast tier or in a quota."""

    code = ErrorCode.NO_SPACE
    _errno = errno.ENOSPC


class ConflictError(Error):
    """A guard of the transaction did not hold: nothing has been applied."""

    code = ErrorCode.CONFLICT


class IoError(Error, OSError):
    """A device failed."""

    code = ErrorCode.IO
    _errno = errno.EIO


class CorruptionError(Error, OSError):
    """Bytes do not match their checksum, or break the format."""

    code = ErrorCode.CORRUPTION
    _errno = errno.EBADMSG


class ReadOnlyError(Error, OSError):
    """Opened read-only, or turned read-only after a device error."""

    code = ErrorCode.READ_ONLY
    _errno = errno.EROFS


class BusyError(Error, OSError):
    """Another process, or a handle in this one, is in the way."""

    code = ErrorCode.BUSY
    _errno = errno.EBUSY


class UnavailableError(Error, OSError):
    """Too few devices."""

    code = ErrorCode.UNAVAILABLE
    _errno = errno.ENODEV


class OutcomeUnknownError(Error, OSError):
    """A device error left it open whether the commit is there."""

    code = ErrorCode.UNKNOWN
    _errno = errno.EIO


class UnsupportedError(Error, OSError):
    """The machine or this version cannot do it."""

    code = ErrorCode.UNSUPPORTED
    _errno = errno.ENOTSUP


class ForkedError(Error, RuntimeError):
    """The store was opened before os.fork(), and this is the child."""

    code = ErrorCode.FORKED


class ClosedError(Error, ValueError):
    """The store or the stream has been closed."""

    code = ErrorCode.CLOSED


class NotStoredWarning(ResourceWarning):
    """A file or writer was never closed, so nothing of it was stored. Shown unless a filter of the
    user's says otherwise: Python's own filters hide other ResourceWarnings.
    """


def _show(warnoptions: list[str]) -> None:
    """warnoptions: the user's, "action:message:category:module:line" each."""
    ours = {"", "Warning", "ResourceWarning", "hexad.NotStoredWarning"}
    if not any((option.split(":") + ["", ""])[2] in ours for option in warnoptions):
        warnings.simplefilter("always", NotStoredWarning)


_show(sys.warnoptions)


class ExhaustedError(Error, OSError):
    """This process or machine lacks memory, descriptors or the like just now; no device has failed."""

    code = ErrorCode.EXHAUSTED
    _errno = errno.ENOMEM


class FencedError(Error, OSError):
    """Another process has taken the devices over, and this one is shut out. What it had acknowledged
    is where the other process opens it; calls that were under way may or may not have happened.
    """

    code = ErrorCode.FENCED
    _errno = errno.ESHUTDOWN


class DeviceWarning(UserWarning):
    """A device has been lost, or keeps the store waiting."""


# By number: hexad::ErrorCode (base/error.h).
_CLASSES: dict[int, type[Error]] = {
    1: NotFoundError,
    2: AlreadyExistsError,
    3: NotEmptyError,
    4: InvalidArgumentError,
    5: TooBigError,
    6: NoSpaceError,
    7: ConflictError,
    8: IoError,
    9: CorruptionError,
    10: ReadOnlyError,
    11: BusyError,
    12: UnavailableError,
    13: OutcomeUnknownError,
    14: UnsupportedError,
    15: ForkedError,
    16: ClosedError,
    17: ExhaustedError,
    18: FencedError,
}


def make(code: int, message: str, hint: str, object: str | None) -> Error:
    """The exception of an engine's error; the extension module calls this."""
    return _CLASSES[code](message, hint, object)
