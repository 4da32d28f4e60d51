"""What this process has open, and the thread that fetches the answers of asynchronous commits.

Before the interpreter ends, everything is closed. A forked child begins with nothing.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import threading
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Iterable, Protocol

from . import _native
from ._errors import BusyError, ForkedError, InvalidArgumentError

if TYPE_CHECKING:
    _Answers = list[tuple[asyncio.Future[int], int | None, Exception | None]]

# Threads per store for asynchronous reads, and for commits that may have to wait.
_WORKERS = 8


class Completions:
    """Answers of commits, on their way from the engine's threads to event loops.

    One daemon thread for all stores and loops, so that the engine never waits for the GIL.
    """

    def __init__(self) -> None:
        self.native = _native.Completions()
        self._tokens = itertools.count(1)
        self._waiting: dict[
            int, tuple[asyncio.AbstractEventLoop, asyncio.Future[int], SharedStore, int]
        ] = {}
        self._thread = threading.Thread(target=self._run, name="hexad-completions", daemon=True)
        self._thread.start()

    def expect(self, future: asyncio.Future[int], store: SharedStore, in_flight: int) -> int:
        """A token; the store stays open in memory until the answer is there.

        in_flight: bytes that count as the store's until then, whatever becomes of the event loop.
        """
        token = next(self._tokens)
        store.add_in_flight(in_flight)
        self._waiting[token] = (future.get_loop(), future, store, in_flight)
        return token

    def forget(self, token: int) -> None:
        """Of a commit that nobody waits for: one that never began, or whose call was interrupted. That
        is answered all the same, or has been.
        """
        self._take(token)

    def _take(self, token: int) -> tuple[asyncio.AbstractEventLoop, asyncio.Future[int]] | None:
        expected = self._waiting.pop(token, None)
        if expected is None:
            return None
        loop, future, store, in_flight = expected
        store.add_in_flight(-in_flight)
        return loop, future

    def stop(self) -> None:
        self.native.stop()
        self._thread.join()

    def _run(self) -> None:
        while self._deliver(self.native.wait()):
            pass

    def _deliver(self, batch: list[tuple[int, int | None, Exception | None]]) -> bool:
        answers: dict[asyncio.AbstractEventLoop, _Answers] = {}
        for token, lsn, error in batch:
            expected = self._take(token)
            if expected is None:
                continue
            loop, future = expected
            answers.setdefault(loop, []).append((future, lsn, error))
        for loop, of_loop in answers.items():
            try:
                loop.call_soon_threadsafe(_settle, of_loop)
            except RuntimeError:
                pass  # the loop is closed, so nobody waits any more
        return bool(batch)


def _settle(answers: _Answers) -> None:
    for future, lsn, error in answers:
        if future.done():
            continue  # cancelled: the commit went on without anybody to tell
        if error is not None:
            future.set_exception(error)
        else:
            assert lsn is not None
            future.set_result(lsn)


class SharedStore:
    """An open store with the number of Store objects that use it."""

    def __init__(
        self,
        native: _native.Store,
        key: frozenset[str] | None,
        read_only: bool,
        options: dict[str, Any],
    ) -> None:
        self.native = native
        self.key = key  # None: in memory
        self.read_only = read_only
        self.options = options
        self.control = False  # other processes may ask about it while it is open for writing
        self.files: dict[str, tuple[int, int, int]] = {}  # what its devices were when it was opened
        self.users = 1
        self.closes = False  # Ctrl-C has ended a close() that goes on
        # Bytes of one transaction; None: the engine's default.
        limit = options.get("max_transaction")
        self.max_transaction = _native.parse_size(limit) if isinstance(limit, str) else limit
        # Bytes of asynchronous commits that were submitted at once and not answered yet.
        self.in_flight = 0
        self._in_flight_lock = threading.Lock()  # event loops of several threads
        self._executor: ThreadPoolExecutor | None = None

    def become_writable(self, devices: list[str], fast: list[str]) -> None:
        """Lets go of the devices and opens them for writing. It waits for the calls of other threads that
        have begun, and those that come meanwhile wait for it. On an error it reads on, if it can.

        BusyError: a file of it is open here, or it is open in another process.
        """
        self.native.become_writable(
            devices,
            fast,
            {**self.options, "read_only": False},
            {**self.options, "read_only": True},
        )
        self.read_only = False
        if self.control:
            self.native.serve_control()

    def serve_control(self) -> None:
        """From now on. Where there cannot be a socket, status() has a note of why."""
        self.control = True
        if not self.read_only:
            self.native.serve_control()

    def add_in_flight(self, size: int) -> None:
        with self._in_flight_lock:
            self.in_flight += size

    def executor(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(_WORKERS, thread_name_prefix="hexad-worker")
        return self._executor

    def check_not_forked(self) -> None:
        if self.native.forked:
            raise ForkedError(
                "the store was opened before fork(), and this is the child",
                "Open stores in the process that uses them; let multiprocessing spawn, not fork.",
            )

    def close(self) -> None:
        if self._executor is not None and not self.native.forked:
            self._executor.shutdown(wait=False)
        try:
            self.native.close()
        except BaseException:
            self.closes = _native.goes_on()
            raise


class Unfinished(Protocol):
    """What is stored only when it is closed."""

    def drop(self) -> None:
        """Warns and lets go, unless it has been closed."""


class _Process:
    def __init__(self) -> None:
        # Held while a store is opened and closed. Finalizers may come in between in this thread.
        self.lock = threading.RLock()
        self.by_key: weakref.WeakValueDictionary[frozenset[str], SharedStore] = (
            weakref.WeakValueDictionary()
        )
        self.stores: weakref.WeakSet[SharedStore] = weakref.WeakSet()
        # What is being written, by id().
        self.unfinished: weakref.WeakValueDictionary[int, Unfinished] = (
            weakref.WeakValueDictionary()
        )
        self.completions: Completions | None = None


_process = _Process()


def lock() -> threading.RLock:
    """Held while stores are opened and closed."""
    return _process.lock


def completions() -> Completions:
    """This process's; begins with the first asynchronous commit."""
    with _process.lock:
        if _process.completions is None:
            _process.completions = Completions()
        return _process.completions


def watch(unfinished: Unfinished) -> None:
    """Has it dropped at the end of the interpreter, when it may be too late for its finalizer."""
    _process.unfinished[id(unfinished)] = unfinished


def is_image(device: str) -> bool:
    """Whether it names an image of a Ceph cluster, or a group of them."""
    return device.startswith("rbd:")


def is_address(device: str) -> bool:
    """Whether it names no file, but an image, or a disk that is not this machine's alone."""
    return device.startswith(("rbd:", "reserved:"))


def absolute(device: str) -> str:
    """The same device from any directory."""
    return device if is_address(device) else os.path.abspath(device)


def _identity(devices: list[str]) -> frozenset[str]:
    """The devices' real paths."""
    folders: dict[str, str] = {}
    paths = set()
    for device in devices:
        if is_address(device):
            paths.add(device)
            continue
        folder, name = os.path.split(device)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        path = os.path.join(folders[folder], name)
        paths.add(os.path.realpath(path) if os.path.islink(path) else path)
    return frozenset(paths)


def _files(paths: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    """Which files or devices there are: device, inode, and number of a block device."""
    found = {}
    for path in paths:
        try:
            info = os.stat(path)
        except OSError:
            continue
        found[path] = info.st_dev, info.st_ino, info.st_rdev
    return found


def is_another(shared: SharedStore, devices: list[str]) -> bool:
    """Whether another pool lies at the paths by now, while the open one has been removed or moved: then
    none of its devices is there any more.
    """
    now = _files(_identity(devices))
    return bool(now and shared.files) and not now.items() & shared.files.items()


def _with_devices_of(key: frozenset[str]) -> SharedStore | None:
    """The open store that some of the devices are those of, although the description has others by now:
    another process may have had one added, or replaced.
    """
    now = _files(key).items()
    for shared in list(_process.stores):
        if shared.key is not None and not shared.native.closed and now & shared.files.items():
            _process.by_key[key] = shared
            return shared
    return None


def open_shared(
    devices: list[str], fast: list[str], read_only: bool, options: dict[str, Any]
) -> SharedStore:
    """The store on these devices: the one that is open already, or a new one."""
    key = _identity(devices)
    with _process.lock:
        shared = _process.by_key.get(key) or _with_devices_of(key)
        if shared is not None and shared.closes and not shared.native.closed:
            raise BusyError(
                f"{devices[0]}: this process is still closing the store, which was interrupted while it "
                "waited for a device",
                "Try again when the device answers or is given up (device_patience), or end the process.",
            )
        if shared is not None and not shared.native.closed and not is_another(shared, devices):
            if options and options != shared.options:
                raise InvalidArgumentError(
                    f"{devices[0]}: the store is open in this process already, with other options",
                    "Close it first, or leave the options out.",
                )
            if shared.read_only and not read_only:
                shared.become_writable(devices, fast)
            shared.users += 1
            return shared
        native = _native.open(devices, fast, {**options, "read_only": read_only})
        return _add(SharedStore(native, key, read_only, options))


def has_devices(shared: SharedStore, devices: list[str]) -> None:
    """The open store has these devices from now on, and is found by them, too."""
    key = _identity(devices)
    with _process.lock:
        shared.files.update(_files(key))
        _process.by_key[key] = shared


def open_replacing(
    devices: list[str],
    fast: list[str],
    after: list[str],
    device: int,
    path: str,
    read_only: bool,
    options: dict[str, Any],
) -> SharedStore:
    """The store with a new device at `path` in the place of the one of that number; `after`: its
    devices then.
    """
    key = _identity(after)
    with _process.lock:
        for one in (_identity(devices), key):
            shared = _process.by_key.get(one)
            if shared is not None and not shared.native.closed:
                raise InvalidArgumentError(
                    f"{devices[0]}: the store is open in this process already, and a device is "
                    "replaced by an opening",
                    "Close it first.",
                )
        native = _native.open_replacing(
            devices, fast, {**options, "read_only": read_only}, device, path
        )
        return _add(SharedStore(native, key, read_only, options))


def add_in_memory(native: _native.Store, options: dict[str, Any]) -> SharedStore:
    with _process.lock:
        return _add(SharedStore(native, None, False, options))


def _add(shared: SharedStore) -> SharedStore:
    if shared.key is not None:
        shared.files = _files(shared.key)
        _process.by_key[shared.key] = shared
    _process.stores.add(shared)
    return shared


def release(shared: SharedStore) -> None:
    """One user fewer; the last one closes the store."""
    if shared.native.forked:
        return
    with _process.lock:
        shared.users -= 1
        if shared.users == 0:
            shared.close()


def _at_exit() -> None:
    for unfinished in list(_process.unfinished.values()):
        unfinished.drop()
    for shared in list(_process.stores):
        try:
            if not shared.closes:
                shared.close()
        except BaseException:  # Ctrl-C, too, which leaves this one
            traceback.print_exc()
    if _process.completions is not None:
        _process.completions.stop()
    _native.stay_away()


def _after_fork() -> None:
    global _process
    # Not let go of: what it holds belongs to threads that are not here.
    _forgotten.append(_process)
    _process = _Process()


_forgotten: list[_Process] = []
os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
