"""The long calls about devices, awaited."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from typing import Any, Callable, Iterable, TypeVar

from ._devices import Devices
from ._errors import ClosedError

Progress = Callable[[int, int], object]
T = TypeVar("T")


class DevicesAsync(Devices):
    """Asynchronous twins of what may take hours. Each call has a thread of its own, so that reads do
    not wait for it. `progress` runs on the event loop. When the waiting is cancelled, the call stops as
    if its progress had returned False, and has ended when CancelledError is raised; cancelled once
    more, it ends by itself.
    """

    async def catch_up_async(
        self, *, rate: int | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        """catch_up(), awaited."""
        return await self._long(lambda steps: self.catch_up(rate=rate, progress=steps), progress)

    async def move_slabs_async(
        self, *, rate: int | None = None, progress: Progress | None = None
    ) -> dict[str, Any]:
        """move_slabs(), awaited."""
        return await self._long(lambda steps: self.move_slabs(rate=rate, progress=steps), progress)

    async def replace_device_async(
        self,
        id: int,
        path: str | os.PathLike[str],
        *,
        rate: int | None = None,
        progress: Progress | None = None,
    ) -> int:
        """replace_device(), awaited. Cancelled before the new one is a device of the store, nothing has
        changed; behind that, the same call goes on.
        """
        return await self._long(
            lambda steps: self.replace_device(id, path, rate=rate, progress=steps), progress
        )

    async def add_device_async(
        self, path: str | os.PathLike[str], *, failure_domain: str | None = None
    ) -> int:
        """add_device(), awaited. It has no steps: cancelled, it is waited for, and the store may have
        the device.
        """
        return await self._long(lambda _: self.add_device(path, failure_domain=failure_domain), None)

    async def add_fast_device_async(self, directory: str | os.PathLike[str]) -> int:
        """add_fast_device(), awaited. It has no steps: cancelled, it is waited for, and the store may
        have the device.
        """
        return await self._long(lambda _: self.add_fast_device(directory), None)

    async def remove_device_async(self, id: int) -> None:
        """remove_device(), awaited. It has no steps: cancelled, it is waited for, and the device may
        have gone.
        """
        await self._long(lambda _: self.remove_device(id), None)

    async def bring_back_device_async(self, id: int, path: str | os.PathLike[str] = "") -> None:
        """bring_back_device(), awaited. It has no steps: cancelled, it is waited for, and the device may
        be back.
        """
        await self._long(lambda _: self.bring_back_device(id, path), None)

    async def clear_device_errors_async(self, ids: Iterable[int] = ()) -> None:
        """clear_device_errors(), awaited."""
        listed = list(ids)
        await self._long(lambda _: self.clear_device_errors(listed), None)

    async def drain_device_async(self, id: int) -> None:
        """drain_device(), awaited."""
        await self._long(lambda _: self.drain_device(id), None)

    async def undrain_device_async(self, id: int) -> None:
        """undrain_device(), awaited."""
        await self._long(lambda _: self.undrain_device(id), None)

    async def _long(self, call: Callable[[Progress], T], progress: Progress | None) -> T:
        if self.closed:
            raise ClosedError("the store has been closed", "Open it again.")
        self._shared.check_not_forked()
        steps = _Steps(progress)
        ended = asyncio.wrap_future(_in_thread(lambda: call(steps)))
        try:
            await asyncio.wait([ended])
        except asyncio.CancelledError:
            steps.stop = True
            # What becomes of it nobody asks any more.
            ended.add_done_callback(lambda it: it.cancelled() or it.exception())
            await asyncio.wait([ended])
            raise
        if steps.error is not None:
            ended.exception()
            raise steps.error
        return ended.result()


def _in_thread(call: Callable[[], T]) -> concurrent.futures.Future[T]:
    """Of its own, for which nobody waits when the process ends: that closes the stores, which ends
    what goes on there.
    """
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # pylint: disable=broad-exception-caught
            future.set_exception(error)
        else:
            future.set_result(result)

    future.set_running_or_notify_cancel()  # so that nobody cancels it any more
    threading.Thread(target=run, name="hexad-devices", daemon=True).start()
    return future


class _Steps:
    """What a call in a thread is given as its progress: tells the event loop, and hears from it."""

    def __init__(self, progress: Progress | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._progress = progress
        self._latest = (0, 0)
        self._telling = False  # the loop will be there, and ask for the latest
        self.stop = False
        self.error: BaseException | None = None  # of progress

    def __call__(self, done: int, total: int) -> bool:
        if self._loop.is_closed():
            self.stop = True
        if self._progress is not None and not self.stop:
            self._latest = (done, total)
            if not self._telling:
                self._telling = True
                try:
                    self._loop.call_soon_threadsafe(
                        self._tell, self._progress, context=self._context
                    )
                except RuntimeError:  # closed just now
                    self.stop = True
        return not self.stop

    def _tell(self, progress: Progress) -> None:
        self._telling = False
        if self.stop:
            return
        try:
            self.stop = progress(*self._latest) is False
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.error, self.stop = error, True
