"""What a store says of itself and of an object, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._types import Stat

if TYPE_CHECKING:
    from ._store import Store

# Where an object's data is (Stat.placement).
_PLACES = {
    "none": "there is no data",
    "inline": "the data is in its metadata, which is coded like all metadata",
    "log": "the data is in the log, in copies, until a checkpoint packs it",
    "pack": "the data shares a stripe with other small objects, or may",
    "stripe": "the data has a stripe of its own",
    "list": "the data has several stripes",
}


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def size_text(bytes: int) -> str:
    """"1.5 MiB"; below 10 KiB the number itself."""
    if bytes < 10 << 10:
        return _count(bytes, "byte")
    size = float(bytes)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"


_ERRORS = {
    "read_errors": "read error",
    "write_errors": "write error",
    "flush_errors": "flush error",
    "checksum_errors": "checksum error",
    "timeouts": "timeout",
}


def errors_text(device: dict[str, Any]) -> str:
    """What has gone wrong with a device of Store.status(): "3 read errors, 1 timeout"; or ""."""
    return ", ".join(_count(device[key], one) for key, one in _ERRORS.items() if device[key])


def status_text(status: dict[str, Any], space: dict[str, Any]) -> str:
    """Of Store.status() and Store.space(): health, room, what is wrong with which device."""
    more = status["faults_tolerated"]
    lines = [
        f"{status['health']}: survives the loss of {_count(more, 'more device')}",
        f"{size_text(space['user_bytes'])} in {_count(space['objects'], 'object')}; room for "
        f"{size_text(space['available'])} of {size_text(space['capacity'])}",
    ]
    fill = status["fill"]
    if fill["hours_to_full"] is not None:
        lines.append(f"full in {fill['hours_to_full']:.1f} hours, {fill['note']}")
    if status["redundant_devices"]:
        lines.append("the devices are said to be redundant themselves")
    if status["read_only"]:
        why = status["read_only_reason"]
        lines.append(f"read-only: {why}" if why else "read-only")
    for device in status["devices"]:
        errors = errors_text(device)
        if device["state"] != "ok" or errors:
            details = [device["detail"]] if device["detail"] else []
            details += [f"since this opening: {errors}"] if errors else []
            detail = f": {'; '.join(details)}" if details else ""
            lines.append(f"device {device['id']} {device['path']}: {device['state']}{detail}")
    lines += [f"warning: {warning}" for warning in status["warnings"]]
    lines += [f"note: {note}" for note in status["notes"]]
    return "\n".join(lines)


def explain_text(store: Store, name: str, collection: str, stat: Stat) -> str:
    """How an object is stored, and why so."""
    options = store.effective_options()
    about = store.collection(collection)
    lines = [f"{name}: {size_text(stat.size)}, version {stat.version}"]
    place = _PLACES.get(stat.placement, stat.placement)
    parts = f", in {stat.extents} extents" if stat.extents > 1 else ""
    lines.append(f"{place}{parts}")
    if stat.stored < stat.size:
        saved = f"{size_text(stat.stored)} of {size_text(stat.size)} are stored"
        lines.append(f"{saved}: the rest is compressed away, or holes")
    elif stat.size:
        lines.append("stored as it is, not compressed")
    hints = ", ".join(sorted(stat.hints)) or "none"
    lines.append(f"collection {collection}: compression {about['compression']}; hints: {hints}")
    lines.append(
        f"profile {options['profile'][0]}, {options['codec'][0]}; survives the loss of "
        f"{_count(store.status()['faults_tolerated'], 'more device')}"
    )
    return "\n".join(lines)
