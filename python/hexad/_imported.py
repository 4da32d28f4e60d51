"""What `hexad import` has objects remember of the files that they were: doc/command_line.md names it.

It is true of the data that was imported. What is written over that data through a file system is
another file, and an export that gave it the old time would take it for the old file.
"""

from __future__ import annotations

from typing import Any

import hexad

TYPE = "posix.type"  # which every import writes
LINK = "posix.link"  # names of one file have the same text there
_OURS = "posix."
_IN_OMAP = "posix.xattrs"  # how many extended attributes are in the omap
_XATTRS = "posix.xattr.", "posix.xattr/"  # from and to, of their keys


def remembered(store: hexad.Store, name: str, where: dict[str, Any]) -> list[str]:
    """The attributes that say so; none: it is no imported object, or not there."""
    try:
        attributes = store.attributes(name, **where)
    except hexad.NotFoundError:
        return []
    return [attribute for attribute in attributes if attribute.startswith(_OURS)]


def forget(
    transaction: hexad.Transaction, store: hexad.Store, name: str, where: dict[str, Any]
) -> None:
    """Behind the call of the transaction that writes the object, which makes it where it is missing."""
    attributes = remembered(store, name, where)
    for attribute in attributes:
        transaction.remove_attr(name, attribute, **where)
    if _IN_OMAP in attributes:
        transaction.omap_remove_range(name, *_XATTRS, **where)
