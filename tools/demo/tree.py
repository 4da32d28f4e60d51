"""The input: a real tree of files, what is in it, and whether two copies of it are equal."""

import hashlib
import os
import stat

# What export restores for everybody: set-user-id and set-group-id need --set-id.
PERMISSIONS = 0o1777

WANTED_BYTES = 1_000_000_000
WANTED_FILES = 20_000
MOST_BYTES = 1_500_000_000
# A larger directory is offered piece by piece.
LARGEST_PIECE = 700_000_000


def measure(path):
    """(bytes, files) of the regular files below, on this file system only."""
    total = files = 0
    device = os.lstat(path).st_dev
    stack = [path]
    while stack:
        for entry in os.scandir(stack.pop()):
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode):
                total += info.st_size
                files += 1
            elif stat.S_ISDIR(info.st_mode) and info.st_dev == device:
                stack.append(entry.path)
    return total, files


def pieces(path):
    """Directories at and below `path` with (bytes, files), none too large, in a fixed order."""
    size = measure(path)
    if size[0] <= LARGEST_PIECE:
        yield path, size
        return
    for folder in folders_in(path):
        yield from pieces(folder)


def folders_in(path):
    return sorted(e.path for e in os.scandir(path) if e.is_dir(follow_symlinks=False))


def choose(root):
    """A part of the tree at `root` that is large enough and not too large: directories, bytes,
    files. Looks at no more of it than needed."""
    chosen, total, files = [], 0, 0
    # Text, programs and compressed files first: a real mixture, whatever else is installed.
    first = [os.path.join(root, name) for name in ("share", "include", "bin")]
    folders = folders_in(root)
    folders = [path for path in first if path in folders] + [p for p in folders if p not in first]
    for folder in folders:
        for path, (size, count) in pieces(folder):
            if total >= WANTED_BYTES and files >= WANTED_FILES:
                return chosen, total, files
            if count > 0 and total + size <= MOST_BYTES:
                chosen.append(path)
                total += size
                files += count
    return chosen, total, files


def hash_file(path):
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def describe(path, info):
    """What has to be equal in both copies of one entry."""
    mode, mtime = info.st_mode & PERMISSIONS, info.st_mtime_ns
    if stat.S_ISREG(info.st_mode):
        return ("file", mode, mtime, info.st_size, hash_file(path))
    if stat.S_ISDIR(info.st_mode):
        return ("directory", mode, mtime)
    if stat.S_ISLNK(info.st_mode):
        return ("link", mtime, os.readlink(path))
    return None  # devices, sockets, pipes: import skips them


def manifest(root, prefix=""):
    """Path (with `prefix` before it) -> description, of everything below `root`; and what could
    not be read."""
    entries, unreadable = {}, []

    def walk(folder, relative):
        for entry in os.scandir(folder):
            name = f"{relative}{entry.name}"
            info = entry.stat(follow_symlinks=False)
            try:
                description = describe(entry.path, info)
                if description is not None:
                    entries[prefix + name] = description
                if stat.S_ISDIR(info.st_mode):
                    walk(entry.path, name + "/")
            except OSError as error:
                unreadable.append(f"{entry.path}: {error.strerror}")

    walk(root, "")
    return entries, unreadable


FIELDS = {
    "file": ("kind", "mode", "mtime", "size", "sha256"),
    "directory": ("kind", "mode", "mtime"),
    "link": ("kind", "mtime", "target"),
}


def differences(wanted, found):
    """One line per entry that is missing, extra, or not equal."""
    lines = []
    for name in sorted(wanted.keys() | found.keys()):
        if name not in found:
            lines.append(f"{name}: missing")
        elif name not in wanted:
            lines.append(f"{name}: should not be there")
        elif wanted[name] != found[name]:
            fields = [
                field
                for field, a, b in zip(FIELDS[wanted[name][0]], wanted[name], found[name])
                if a != b
            ]
            lines.append(f"{name}: differs in {', '.join(fields)}")
    return lines
