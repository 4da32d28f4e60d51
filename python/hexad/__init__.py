"""hexad: an erasure-coded object store inside your process.

    import hexad

    hexad.format("pool", devices=[f"/mnt/disk{i}/hexad" for i in range(6)], size="100 GiB")
    with hexad.open("pool") as store:
        store.put("run7/meta.json", b"{}")
        with store.transaction() as t:            # all of it, durably, or nothing
            t.put("run7/weights", array, hint="incompressible")
            t.put("latest", b"run7")
        weights = numpy.frombuffer(store.get_view("run7/weights"), "f4")

Sizes and offsets are bytes; names are str or bytes. doc/python.md has more.
"""

from __future__ import annotations

import operator
import os
import time
import warnings
from typing import Any, Sequence, Union

from . import _native, _process
from ._errors import (
    AlreadyExistsError,
    BusyError,
    ClosedError,
    ConflictError,
    CorruptionError,
    DeviceWarning,
    Error,
    ErrorCode,
    ExhaustedError,
    FencedError,
    ForkedError,
    InvalidArgumentError,
    IoError,
    NoSpaceError,
    NotEmptyError,
    NotFoundError,
    NotStoredWarning,
    OutcomeUnknownError,
    ReadOnlyError,
    TooBigError,
    UnavailableError,
    UnsupportedError,
)
from ._files import Reader, Writer
from ._mapping import StoreMapping
from ._store import Store
from ._transaction import Transaction
from ._types import HINTS, Entry, Page, Stat, boolean, seconds

__version__ = "0.1.0"

__all__ = [
    "HINTS",
    "AlreadyExistsError",
    "BusyError",
    "ClosedError",
    "ConflictError",
    "CorruptionError",
    "DeviceWarning",
    "Entry",
    "Error",
    "ErrorCode",
    "ExhaustedError",
    "FencedError",
    "ForkedError",
    "InvalidArgumentError",
    "IoError",
    "NoSpaceError",
    "NotEmptyError",
    "NotFoundError",
    "NotStoredWarning",
    "OutcomeUnknownError",
    "Page",
    "ReadOnlyError",
    "Reader",
    "Stat",
    "Store",
    "StoreMapping",
    "TooBigError",
    "Transaction",
    "UnavailableError",
    "UnsupportedError",
    "Writer",
    "format",
    "holders",
    "in_memory",
    "inspect",
    "mkfs",
    "open",
    "take_over",
]

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Size = Union[int, str]  # bytes, or text such as "1.5 GiB"

_DESCRIPTION = "hexad.pool"
_ASK_AGAIN = 0.1  # seconds between two tries of open(wait=...)


def format(
    path: Path,
    *,
    devices: Union[int, Sequence[Path]],
    failure_domains: Sequence[str] | None = None,
    fast: Sequence[Path] | None = None,
    size: Size | None = None,
    preset: str | None = None,
    profile: str | None = None,
    codec: str | None = None,
    min_alloc: Size | None = None,
    checksum: str | None = None,
    checksum_block: Size | None = None,
    compression: str | None = None,
    log_size: Size | None = None,
    slab_size: Size | None = None,
    redundant_devices: bool = False,
    force: bool = False,
) -> None:
    """Makes a new store, and the directory `path` with its description (hexad.pool).

    devices: files, block devices or images of a Ceph cluster ("rbd:POOL/IMAGE"), k+m or more; a
    number: so many files in `path`, for tries.
    failure_domains: for each of the devices, in order, the name of what it shares with some of the
    others and fails with (an enclosure, a controller): a stripe is spread so that the loss of a whole
    domain is survived.
    fast: directories on the fastest device, made where missing; None: one in `path`; (): none, so
    that log and metadata are on the data devices alone.
    size: of files that do not exist yet (1 GiB). preset: "nvme", "hdd" or "tiny": defaults of the
    rest. profile: data and parity cells ("4+2"). codec: "isa-vandermonde", ... min_alloc: unit of
    allocation (4 KiB, or what the devices write whole). checksum: "crc32c" or "xxh3", over checksum_block (16 KiB). compression: of
    the collection "default", such as "aggressive,zstd". log_size: of each copy of the log.
    redundant_devices: says that each device is redundant itself (a RAID array, an EBS volume, a zvol,
    an RBD image), which profiles without parity ("4+0") rely on.
    force: overwrites an existing pool, or other data on the devices.

    Ctrl-C ends it and leaves nothing that it has made, unless it overwrites something by then.

    Errors: AlreadyExistsError (a pool or foreign data), InvalidArgumentError (all that is wrong, one
    per line), BusyError, NoSpaceError, IoError; OSError: the directory cannot be made. No device is
    changed then unless it was IoError.
    """
    force = boolean(force, "force")
    redundant_devices = boolean(redundant_devices, "redundant_devices")
    directory = os.path.abspath(os.fsdecode(path))
    description = os.path.join(directory, _DESCRIPTION)
    if os.path.exists(description) and not force:
        raise AlreadyExistsError(
            f"{description}: here is a pool already",
            "Choose another directory, or overwrite everything in it with force=True.",
            directory,
        )
    if hasattr(devices, "__index__"):
        paths = [os.path.join(directory, f"drive{i}") for i in range(operator.index(devices))]
    else:
        paths = _absolute(devices)
    given: dict[str, Any] = {
        "devices": paths,
        "failure_domains": None if failure_domains is None else list(failure_domains),
        "fast": [os.path.join(directory, "fast")] if fast is None else _absolute(fast),
        "size": size,
        "preset": preset,
        "profile": profile,
        "codec": codec,
        "min_alloc": min_alloc,
        "checksum": checksum,
        "checksum_block": checksum_block,
        "compression": compression,
        "log_size": log_size,
        "slab_size": slab_size,
        "redundant_devices": redundant_devices,
        "force": force,
    }
    made = _make_directories(directory)
    try:
        _native.format(given, directory)
    except BaseException:
        for one in made:
            try:
                os.rmdir(one)
            except OSError:
                break
        raise


mkfs = format


def open(
    path: Path | None = None,
    read_only: bool = False,
    *,
    devices: Sequence[Path] | None = None,
    fast: Sequence[Path] = (),
    wait: float = 0,
    replace: tuple[int, Path] | None = None,
    control: bool = False,
    **options: Any,
) -> Store:
    """Opens a pool that format() or `hexad mkfs` made; never creates one.

    path: the directory with its description. devices: in its place, when that is lost: all that
    there are; fast: directories of the fast tier, with them. An RBD group of images may stand for its
    images, as path or as the only device: "rbd:POOL/GROUP", or "rbd:POOL/GROUP@SNAPSHOT" for reading
    what `hexad snapshot-group create` has made.
    read_only: nothing is written anywhere. Other processes may read at the same time, none write.
    wait: seconds to wait while another process has it; then BusyError.
    replace: (id, path): puts the device at `path` in the place of the one whose number is its `id` in
    status()["devices"]. It must have room for what zones use of that; what does not exist becomes a
    file. In the place of a lost one it counts as lost until it has what that had, which it gets in the background, or by
    catch_up(). One that still answers is copied first, while open() waits. The description names the
    new one from then on; whoever gives `devices` names it there, the next time.
    control: other processes of the same user, and root's, may ask about the pool while it is open
    for writing, as `hexad status` and `hexad df` do (doc/control.md). status()["notes"] says where
    the socket is, or why there is none.
    options: memtable_size, max_transaction, max_in_flight, stream_buffer, cache_size (bytes, or text
    such as "64 MiB"), log_durability ("full", "fast", "data-first"), flush_sharing ("where-safe",
    "never"), unwritable_devices ("refuse"; "lose": devices that are there and cannot be written
    leave the pool), split_risk ("refuse"; "take": write with half of the devices although
    nothing tells what became of the others), bus_errors ("leave"; "explain": when a failing medium
    below the fast tier ends the process by SIGBUS, a line on standard error says so), catch_up
    ("background"; "asked": devices that come back get what they missed only by catch_up()), returns
    ("by-themselves"; "when-asked": devices that have left while the store is open are taken in again
    only by bring_back_device()),
    hedged_reads ("off"; "budgeted": where a device takes longer than for 995 of 1,000 reads, others
    are asked, too, for at most one read in 50; "always": with every read),
    device_patience (seconds after which commits go on without a device that does not answer, 1 to
    3600; 0: they wait for it), drain_lost_after (seconds, 10 or more, after which what a lost device held
    is built again on the others, where these are as many as the profile needs and have room; 0:
    only by drain_device()), preset.
    doc/python.md

    A pool that is open in this process already is shared; every Store is closed by itself.
    Errors: NotFoundError, BusyError (another process has it), UnavailableError (too few devices: the
    message lists each and why), CorruptionError, InvalidArgumentError, IoError, ReadOnlyError and
    ExhaustedError (a device cannot be written just now; nothing has changed). With `replace` also
    NotFoundError (no such device), InvalidArgumentError (it comes back by itself, or lacks something
    yet; or this process has the pool open), AlreadyExistsError (`path` holds something else),
    NoSpaceError (too small).
    Devices that the pool goes on without from now on are told by a DeviceWarning.
    """
    read_only = boolean(read_only, "read_only")
    control = boolean(control, "control")
    if (path is None) == (devices is None):
        raise InvalidArgumentError("give either the directory of a pool or its devices")
    until = time.monotonic() + seconds(wait, "wait")
    new = None if replace is None else _replacement(replace)
    if path is not None and _process.is_image(os.fsdecode(path)):
        devices, path = [path], None
    where = None if path is None else os.path.abspath(os.fsdecode(path))
    options = {name: value for name, value in options.items() if value is not None}
    _native.check_options(options)
    found, fast_found = _paths_of(path, devices, fast)
    while True:
        try:
            if new is None:
                shared = _process.open_shared(found, fast_found, read_only, options)
            else:
                shared = _open_replacing(where, found, fast_found, new, read_only, options)
            break
        except BusyError:
            left = until - time.monotonic()
            if left <= 0:
                raise
        time.sleep(min(left, _ASK_AGAIN))
    if control:
        shared.serve_control()
    store = Store(
        shared,
        path=where,
        read_only=read_only,
        reopen=(where, None if where else found, None if where else fast_found, options),
    )
    try:
        for text in [] if read_only else store.status()["warnings"]:
            warnings.warn(text, DeviceWarning, stacklevel=2)
    except DeviceWarning:  # the caller has made errors of them
        store.close()
        raise
    return store


def _replacement(replace: tuple[int, Path]) -> tuple[int, str]:
    try:
        device, path = replace
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            "replace is a pair: the number of the lost device, and the path of the new one"
        ) from None
    return device, _process.absolute(os.fsdecode(path))


def _open_replacing(
    where: str | None,
    found: list[str],
    fast: list[str],
    new: tuple[int, str],
    read_only: bool,
    options: dict[str, Any],
) -> _process.SharedStore:
    """open() with a new device, which the description names as soon as it is a member: left out
    there it would look lost the next time.
    """
    device, path = new
    known: list[dict[str, Any]] = _native.inspect(found, fast)["devices"]
    _tell_ids(known)
    old = {one["path"] for one in known if one["id"] == device and one["role"] == "data"}
    after = [path if one in old else one for one in found]
    if path not in after:
        after.append(path)
    shared = _process.open_replacing(found, fast, after, device, path, read_only, options)
    if where is not None and after != found:
        try:
            _native.write_pool(where, after, fast)
        except Error:
            _process.release(shared)
            raise
    return shared


def in_memory(
    *,
    profile: str | None = None,
    codec: str | None = None,
    capacity: Size | None = None,
    compression: str | None = None,
    **options: Any,
) -> Store:
    """A new store without any disk, gone when it is closed: for tests, and for caches. Calls and
    errors are those of a store on devices.

    profile, codec, compression: as format() takes them. capacity: bytes of users that there is room
    for at least (1 GiB); memory is taken when it is written. options: those of open().
    """
    given = {
        "profile": profile,
        "codec": codec,
        "capacity": capacity,
        "compression": compression,
    }
    native = _native.in_memory(given, options)
    return Store(
        _process.add_in_memory(native, options), path=None, read_only=False, reopen=None
    )


def inspect(
    path: Path | None = None,
    *,
    devices: Sequence[Path] | None = None,
    fast: Sequence[Path] = (),
) -> dict[str, Any]:
    """What can be said of a pool without opening it, as Store.status() says it; writes nothing."""
    status: dict[str, Any] = _native.inspect(*_paths_of(path, devices, fast))
    _tell_ids(status["devices"])
    return status


def holders(
    path: Path | None = None,
    *,
    devices: Sequence[Path] | None = None,
    fast: Sequence[Path] = (),
) -> list[dict[str, Any]]:
    """The devices of a pool that some process has open for writing, on whatever machine: `path`, `who`
    (for people) and `can_be_shut_out` of each. Files and disks are opened for a moment for that.
    """
    return _native.holders(*_paths_of(path, devices, fast))


def take_over(
    path: Path | None = None,
    *,
    devices: Sequence[Path] | None = None,
    fast: Sequence[Path] = (),
) -> list[dict[str, Any]]:
    """Shuts every process that has devices of the pool open for writing out of them, on whatever machine
    it runs, and returns which those were, as holders() does. open() then recovers the store as after a
    crash: all that they had acknowledged as durable is there. They get FencedError, or
    OutcomeUnknownError for commits that were under way.

    Errors: BusyError (a process of this machine has a file or disk open, and only its end frees that;
    nobody has been shut out), UnavailableError (a cluster does not answer; some may have been).
    """
    return _native.take_over(*_paths_of(path, devices, fast))


def _paths_of(
    path: Path | None, devices: Sequence[Path] | None, fast: Sequence[Path]
) -> tuple[list[str], list[str]]:
    """Devices and fast directories of a pool that is named by its directory, or by them: of a group of
    images these.
    """
    if path is not None and _process.is_image(os.fsdecode(path)):
        devices, path = [path], None
    if path is not None:
        found, fast_found = _read_pool(os.path.abspath(os.fsdecode(path)))
    else:
        found, fast_found = _absolute(devices or ()), _absolute(fast)
    if len(found) == 1 and _process.is_image(found[0]):
        return _native.expand_group(found, fast_found)
    return found, fast_found


def _read_pool(directory: str) -> tuple[list[str], list[str]]:
    """Devices and fast directories, by the description."""
    try:
        return _native.read_pool(directory)
    except NotFoundError as error:
        raise NotFoundError(
            f"{directory} is no pool: there is no {_DESCRIPTION} in it",
            "hexad.format() makes a pool. If only the description is lost, name every device of it: "
            "devices=[...].",
            directory,
        ) from error


def _tell_ids(devices: list[dict[str, Any]]) -> None:
    """Gives those that could not be asked the ids that they must have, as `hexad status` does; None
    where that is not known.
    """
    unknown = [device["size"] == 0 and device["id"] == 0 for device in devices]
    in_order = all(unknown[i] or device["id"] == i for i, device in enumerate(devices))
    for i, device in enumerate(devices):
        if unknown[i]:
            device["id"] = i if in_order else None


def _open_again(
    path: str | None,
    devices: list[str] | None,
    fast: list[str] | None,
    options: dict[str, Any],
) -> Store:
    """What a pickled Store becomes."""
    return open(path, True, devices=devices, fast=fast or (), **options)


def _absolute(paths: Sequence[Path]) -> list[str]:
    if isinstance(paths, (str, bytes)):
        raise InvalidArgumentError("paths: several are wanted, in a list, not one")
    return [_process.absolute(os.fsdecode(path)) for path in paths]


def _make_directories(path: str) -> list[str]:
    """Makes it and its parents where missing; returns those that it made, innermost first."""
    made = []
    while not os.path.isdir(path):
        made.append(path)
        path = os.path.dirname(path)
    for one in reversed(made):
        os.mkdir(one)
    return made
