"""Whether a file is closed because an exception leaves the `with` block of what lies around it.

Some of what lies around files just closes them, and does not say why. Closing publishes, so this looks
at who calls.
"""

from __future__ import annotations

import contextlib
import opcode
import sys
import types

# The instruction that calls __exit__() with an exception; None where Python has another one.
_LEAVES_A_BLOCK = opcode.opmap.get("WITH_EXCEPT_START")

#: The code of what ends such a block and passes nothing on, and the variable that has the exception.
EXITS: dict[types.CodeType, str] = {contextlib.closing.__exit__.__code__: "exc_info"}
#: Modules that close what they have opened themselves, by an exception too.
CLOSERS: set[str] = set()
#: Modules that copy what was written in the block when it ends.
COPIERS: set[str] = set()


class Opening:
    """Remembers the moment when a file was opened."""

    def __init__(self) -> None:
        self._amid: BaseException | None = sys.exc_info()[1]

    def left_by_an_exception(self) -> bool:
        """For close() to ask, once, directly: whether the exception that is being handled leaves the
        block around the file, be that of an fsspec.OpenFile, of contextlib.closing() or of a buffer
        or text of io. What was opened while that exception was handled, such as a report of it, is
        another matter, unless it is a copy of what was written in that block. So is a block of
        anybody else, whose end may write why it ended.
        """
        error, amid = sys.exc_info()[1], self._amid
        self._amid = None  # with all that its traceback refers to
        if error is None:
            return False
        frame: types.FrameType | None = sys._getframe(2)  # pylint: disable=protected-access
        if frame is not None and frame.f_code.co_code[frame.f_lasti] == _LEAVES_A_BLOCK:
            return error is not amid  # by io, which has no frame of its own
        while frame is not None:
            module = frame.f_globals.get("__name__")
            if module in COPIERS:
                amid = None
            if frame.f_code in EXITS:
                given = frame.f_locals.get(EXITS[frame.f_code], ())
                return any(given) and error is not amid
            if module in CLOSERS:
                return error is not amid
            frame = frame.f_back
        return False
