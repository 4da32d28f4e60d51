"""Paths of objects: the directory of a pool, or the address of its images, a slash, and the name of an object in it."""

from __future__ import annotations

import errno
import os

DESCRIPTION = "hexad.pool"
ADDRESS = "rbd:"


def split(path: str) -> tuple[str, str]:
    """The pool's directory and the object's name, of an absolute path. Of rbd:POOL/GROUP/NAME it is
    rbd:POOL/GROUP and NAME, whatever @SNAPSHOT and ?KEY=VALUE follow the group: no slash is in them.

    The pool is the shortest leading directory that holds a pool description; the rest, whatever it
    is, is the name: it may have empty components, "." and "..", and is empty for the pool itself.
    FileNotFoundError: no leading directory does. Cost: one stat per component up to the pool.
    """
    if is_address(path):
        address = path.split("/", 2)
        if len(address) < 2 or not address[1]:
            raise FileNotFoundError(errno.ENOENT, "no group of images is named (rbd:POOL/GROUP)", path)
        return "/".join(address[:2]), "".join(address[2:])
    end = 0
    while end != -1:
        directory = path[:end] or "/"
        if os.path.isfile(os.path.join(directory, DESCRIPTION)):
            return directory, path[end + 1 :]
        if end == len(path):
            break
        end = path.find("/", end + 1)
        if end == -1:
            end = len(path)
    raise FileNotFoundError(errno.ENOENT, f"no leading directory holds a {DESCRIPTION}", path)


def is_address(path: str) -> bool:
    """Whether it leads to images of a cluster. A directory that is called so is named ./rbd:..."""
    return path.startswith(ADDRESS)


def is_snapshot(address: str) -> bool:
    """Whether it names a moment, which nobody writes."""
    return "@" in address.partition("?")[0]


def identity(directory: str) -> tuple[int, int, int] | None:
    """Which file the description in a directory is: device, inode, and the time of its last change, as a
    new file may get the inode of one that was removed; None: there is none.
    """
    try:
        found = os.stat(directory + "/" + DESCRIPTION)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns
