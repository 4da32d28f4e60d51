"""Trees with every kind of file that Linux has, and descriptions of them that show every difference."""

import errno
import hashlib
import os
import socket
import stat
import struct

ROOT = os.geteuid() == 0
BLOCK = 4096


def acl(extra_user, permissions=6):
    """An access control list as the kernel takes it: the usual ones, and one more user."""
    none = 0xFFFFFFFF
    entries = [(1, 7, none), (2, permissions, extra_user), (4, 5, none), (16, 7, none), (32, 0, none)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


CAPABILITY = struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0)  # cap_net_bind_service


def segments(path):
    """What of a file holds data."""
    found = []
    fd = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        at = 0
        while at < size:
            try:
                at = os.lseek(fd, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    break
                raise
            end = os.lseek(fd, at, os.SEEK_HOLE)
            found.append((at, end - at))
            at = end
    finally:
        os.close(fd)
    return found


def content(path):
    """A checksum of the blocks that are not zero, and where they are: a sparse file of any size costs
    what it holds, and where its holes begin is not part of it."""
    total = hashlib.sha256()
    zeros = bytes(BLOCK)
    with open(path, "rb") as file:
        for offset, length in segments(path):
            at = offset - offset % BLOCK
            while at < offset + length:
                file.seek(at)
                piece = file.read(min(256 * BLOCK, offset + length - at))
                for i in range(0, len(piece), BLOCK):
                    block = piece[i : i + BLOCK]
                    if block != zeros[: len(block)]:
                        total.update(b"%d:" % (at + i) + block)
                at += 256 * BLOCK
    return total.hexdigest()


def xattrs(path):
    return {
        name: os.getxattr(path, name, follow_symlinks=False)
        for name in os.listxattr(path, follow_symlinks=False)
    }


def describe(top, owner=ROOT, skip=(stat.S_ISFIFO, stat.S_ISSOCK, stat.S_ISCHR, stat.S_ISBLK)):
    """Everything below `top`: by path, what an import and an export have to bring back."""
    found = {}
    links = {}
    top = os.fsencode(top)
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, top)
            info = os.lstat(path)
            if any(kind(info.st_mode) for kind in skip):
                continue
            link = stat.S_ISLNK(info.st_mode)
            regular = stat.S_ISREG(info.st_mode)
            found[key] = {
                "type": stat.S_IFMT(info.st_mode),
                "mode": None if link else stat.S_IMODE(info.st_mode),
                "owner": (info.st_uid, info.st_gid) if owner else None,
                "mtime": info.st_mtime_ns,
                "size": info.st_size if regular else None,
                "content": os.readlink(path) if link else content(path) if regular else None,
                "xattrs": xattrs(path),
            }
            if not stat.S_ISDIR(info.st_mode):
                links.setdefault((info.st_dev, info.st_ino), set()).add(key)
    for names in links.values():
        for name in names:
            found[name]["links"] = sorted(names)
    return found


def differences(expected, found):
    """As text, empty when there are none."""
    lines = []
    for name in sorted(set(expected) | set(found)):
        if name not in found:
            lines.append(f"{name!r} is missing")
        elif name not in expected:
            lines.append(f"{name!r} is there")
        else:
            for key, value in expected[name].items():
                if found[name][key] != value:
                    lines.append(f"{name!r}: {key} is {found[name][key]!r}, not {value!r}")
    return "\n".join(lines[:40])


def allocation_differences(expected, found):
    """Files that take more or less of the disk than they did, by more than a block."""
    lines = []
    for folder, _, files in os.walk(os.fsencode(expected)):
        for name in files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            if not stat.S_ISREG(info.st_mode):
                continue
            other = os.path.join(os.fsencode(found), os.path.relpath(path, os.fsencode(expected)))
            now = os.lstat(other).st_blocks
            if abs(now - info.st_blocks) * 512 > BLOCK:
                lines.append(f"{path!r}: {now} blocks of 512 bytes, not {info.st_blocks}")
    return "\n".join(lines)


def write_sparse(path, size, pieces):
    with open(path, "wb") as file:
        for offset, data in pieces:
            file.seek(offset)
            file.write(data)
        file.truncate(size)


def make_everything(top, rng, terabyte=True, root=ROOT):
    """Returns the names of what import leaves out: devices, sockets and pipes."""
    os.makedirs(os.path.join(top, "deep/er/still"))
    os.makedirs(os.path.join(top, "empty/inner"))
    place = lambda *name: os.path.join(top, *name)  # pylint: disable=unnecessary-lambda-assignment

    def put(name, data):
        with open(place(name), "wb") as file:
            file.write(data)

    for name, size in {"zero": 0, "one": 1, "deep/er/small": 300, "edge": 4 << 20,
                       "edge+1": (4 << 20) + 1, "deep/large": (9 << 20) + 5}.items():
        put(name, rng.randbytes(size))
    for i in range(300):
        put(f"deep/er/still/many{i}", rng.randbytes(rng.randrange(2000)))
    put(b"caf\xe9 \\ \x07".decode("utf-8", "surrogateescape"), b"a name that is no text")
    put("x" * 255, b"a long name")

    # Holes: at the start, in the middle, at the end, nothing else, and like a comb.
    write_sparse(place("hole-first"), 3 << 20, [(2 << 20, b"x" * 5000)])
    write_sparse(place("hole-last"), 30 << 20, [(0, b"x")])
    write_sparse(place("hole-only"), 20 << 20, [])
    write_sparse(place("hole-small"), 1 << 16, [(8192, b"y" * 4096)])
    write_sparse(place("hole-odd-end"), (1 << 20) + 17, [(1 << 19, b"z" * 100)])
    write_sparse(place("comb"), 6 << 20, [(i * 8192, rng.randbytes(4096)) for i in range(700)])
    write_sparse(place("large-holes"), 100 << 20,
                 [(i * (10 << 20) + 4096, rng.randbytes(700_000)) for i in range(9)])
    if terabyte:
        write_sparse(place("terabyte"), 1 << 40,
                     [(0, b"begin"), (1 << 39, rng.randbytes(100_000)), ((1 << 40) - 3, b"end")])

    # Several names of one file, in several folders; of an empty one, of a sparse one, of a link.
    os.link(place("one"), place("deep/er/one again"))
    os.link(place("one"), place("and one more"))
    os.link(place("zero"), place("deep/zero"))
    os.link(place("large-holes"), place("deep/large-holes"))
    os.symlink("deep/er", place("link"))
    os.symlink("/nowhere/at all", place("deep/dangling"))
    os.link(place("link"), place("deep/link again"), follow_symlinks=False)

    # What lies beside the bytes.
    os.setxattr(place("one"), "user.note", b"one\0binary\xff")
    os.setxattr(place("one"), "user.empty", b"")
    os.setxattr(place("edge+1"), "user.long", b"l" * 2000)
    os.setxattr(place("empty"), "user.folder", b"of a directory")
    os.setxattr(place("deep/large"), "system.posix_acl_access", acl(1234))
    os.setxattr(place("deep"), "system.posix_acl_default", acl(4321, 5))
    os.chmod(place("deep/large"), 0o640)
    if root:
        os.setxattr(place("edge"), "security.capability", CAPABILITY)
        os.setxattr(place("edge"), "trusted.secret", b"for root")
        os.setxattr(place("link"), "trusted.of-the-link", b"1", follow_symlinks=False)
        for i, name in enumerate(["one", "edge", "deep/er/small", "empty/inner", "link"]):
            os.chown(place(name), 1000 + i, 2000 + i, follow_symlinks=False)
        # chown takes it away
        os.setxattr(place("edge"), "security.capability", CAPABILITY)

    for name, mode in {"one": 0o604, "zero": 0o400, "edge": 0o751, "deep/er/small": 0o4755,
                       "deep/er/still/many1": 0o2711, "empty/inner": 0o1777, "empty": 0o2750,
                       "deep/er/still": 0o555}.items():
        os.chmod(place(name), mode)

    times = {"one": -7_000000001, "edge": 2**33 * 10**9 + 1, "deep/large": 13569465600 * 10**9 + 7,
             "zero": 1234567890_123456789, "link": 1000000001_000000002}
    for name, when in times.items():
        os.utime(place(name), ns=(5, when), follow_symlinks=False)
    os.mkfifo(place("pipe"))
    # The name of a socket has some hundred bytes at most, so its folder is named by a descriptor.
    folder = os.open(place("deep/er"), os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{folder}/socket")
    finally:
        os.close(folder)
    left_out = {"pipe", "deep/er/socket"}
    if root:
        os.mknod(place("null"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.mknod(place("deep/disk"), 0o600 | stat.S_IFBLK, os.makedev(7, 200))
        left_out |= {"null", "deep/disk"}
    for i, name in enumerate(["deep/er/still", "deep/er", "empty/inner", "empty", "deep"]):
        os.utime(place(name), ns=(5, (1111111111 + i) * 10**9 + i + 1))
    return left_out
