"""Pools for the tests of hexad.fsspec and hexad.zarr."""

import contextlib
import os
import shutil
import tempfile

import hexad

# Those tests make many thousand small commits and ask nothing of a disk, so where there is a file
# system in memory with this much room they use it.
IN_MEMORY = "/dev/shm"
ROOM = 4 << 30  # bytes


def make_pool(directory):
    """A new pool of six small files below `directory`; returns the pool's path."""
    pool = os.path.join(directory, "pool")
    hexad.format(pool, devices=6, size="256 MiB")
    return pool


@contextlib.contextmanager
def temporary_pool():
    """One that is removed afterwards."""
    roomy = os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free >= ROOM
    with tempfile.TemporaryDirectory(
        prefix="hexad-", dir=IN_MEMORY if roomy else None
    ) as directory:
        yield make_pool(directory)
