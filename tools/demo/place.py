"""Where the demonstration may work: a directory on a disk with room, removed at exit."""

import os
import shutil
import tempfile

from command import Failed

MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs", "devtmpfs"}


def file_system(path):
    """The type of the file system that `path` is on."""
    path = os.path.realpath(path)
    best, kind = "", "unknown"
    with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
        for line in mounts:
            _, point, this_kind = line.split()[:3]
            point = point.encode().decode("unicode_escape")  # spaces are \040
            inside = path == point or path.startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(best):
                best, kind = point, this_kind
    return kind


def choose(needed, given=None):
    """A new directory below `given`, or below the first place on a disk with `needed` bytes
    free; and the type of its file system."""
    places = [given] if given else [os.environ.get("TMPDIR"), "/var/tmp", "/tmp", os.getcwd()]
    refused = []
    for place in places:
        if not place or not os.path.isdir(place) or not os.access(place, os.W_OK):
            continue
        kind = file_system(place)
        free = shutil.disk_usage(place).free
        if kind in MEMORY_FILE_SYSTEMS:
            refused.append(f"{place} is in memory ({kind})")
        elif free < needed:
            refused.append(f"{place} has {free / 1e9:.1f} GB free")
        else:
            return tempfile.mkdtemp(prefix="hexad-demo-", dir=place), kind
    raise Failed(
        f"the demonstration needs {needed / 1e9:.1f} GB on a disk: {'; '.join(refused)}.\n"
        "Name a directory with room: ./run demo --dir DIRECTORY"
    )
