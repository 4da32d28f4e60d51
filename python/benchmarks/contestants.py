"""Stores of bytes by name, all on files of one folder, all durable when a call returns.

`share`: of what others put with put_many(), so much is enough to know the rate of one that is slow.
"""

import contextlib
import os
import sqlite3

import hexad

DRIVES = 6


def make_pool(folder, room):
    """The directory of a new one for about `room` bytes: 4+2 over six files, log on three."""
    pool = os.path.join(folder, "pool")
    hexad.format(pool, devices=DRIVES, size=max(room * 3 // 4, 256 << 20))
    return pool


class Hexad:
    """A new pool."""

    name = "hexad"
    share = 1.0

    def __init__(self, folder, room):
        self.store = hexad.open(make_pool(folder, room))
        self.put = self.store.put
        self.put_many = self.store.put_many
        self.get = self.store.get
        self.close = self.store.close


class Files:
    """A file for each, renamed into place. Its directory is synced, too."""

    name = "plain files"
    share = 0.1

    def __init__(self, folder, room):
        self.folder = folder
        self.directory = os.open(folder, os.O_RDONLY)

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path + ".new", "wb", buffering=0) as file:
            file.write(data)
            os.fsync(file.fileno())
        os.rename(path + ".new", path)

    def put(self, name, data):
        self.write(name, data)
        os.fsync(self.directory)

    def put_many(self, pairs):
        for name, data in pairs:
            self.write(name, data)
        os.fsync(self.directory)

    def get(self, name):
        with open(os.path.join(self.folder, name), "rb", buffering=0) as file:
            return file.read()

    def close(self):
        os.close(self.directory)


class Obstore(Files):
    """Its LocalStore: the same. It syncs nothing, so that is done here."""

    name = "obstore"

    def __init__(self, folder, room):
        import obstore

        super().__init__(folder, room)
        self.store = obstore.store.LocalStore(folder)

    def write(self, name, data):
        self.store.put(name, data)
        sync_file(os.path.join(self.folder, name))

    def get(self, name):
        return self.store.get(name).bytes().to_bytes()


def sync_file(path):
    """Or folder."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


class Sqlite:
    """Write-ahead log, synchronous=FULL."""

    name = "sqlite3"
    share = 1.0

    def __init__(self, folder, room):
        self.base = sqlite3.connect(os.path.join(folder, "base"), isolation_level=None)
        self.base.execute("pragma journal_mode=wal")
        self.base.execute("pragma synchronous=full")
        self.base.execute("create table objects (name text primary key, data blob) without rowid")

    def put(self, name, data):
        self.base.execute("replace into objects values (?, ?)", (name, data))

    def put_many(self, pairs):
        self.base.execute("begin")
        self.base.executemany("replace into objects values (?, ?)", pairs)
        self.base.execute("commit")

    def get(self, name):
        return self.base.execute("select data from objects where name = ?", (name,)).fetchone()[0]

    def close(self):
        self.base.close()


class Lmdb:
    name = "lmdb"
    share = 1.0

    def __init__(self, folder, room):
        import lmdb

        self.environment = lmdb.open(os.path.join(folder, "base"), map_size=4 * room + (64 << 20))

    def put(self, name, data):
        with self.environment.begin(write=True) as transaction:
            transaction.put(name.encode(), data)

    def put_many(self, pairs):
        with self.environment.begin(write=True) as transaction:
            for name, data in pairs:
                transaction.put(name.encode(), data)

    def get(self, name):
        with self.environment.begin() as transaction:
            return transaction.get(name.encode())

    def close(self):
        self.environment.close()


class Rocks:
    """Every write synced."""

    name = "rocksdict"
    share = 1.0

    def __init__(self, folder, room):
        import rocksdict

        self.rocksdict = rocksdict
        self.base = rocksdict.Rdict(
            os.path.join(folder, "base"), rocksdict.Options(raw_mode=True)
        )
        self.synced = rocksdict.WriteOptions()
        self.synced.sync = True
        self.base.set_write_options(self.synced)

    def put(self, name, data):
        self.base[name.encode()] = data

    def put_many(self, pairs):
        batch = self.rocksdict.WriteBatch(raw_mode=True)
        for name, data in pairs:
            batch.put(name.encode(), data)
        self.base.write(batch, self.synced)

    def get(self, name):
        return self.base[name.encode()]

    def close(self):
        self.base.close()


class H5:
    """A data set for each; flushed and synced. A crash in the middle may take the whole file."""

    name = "h5py"
    share = 0.25

    def __init__(self, folder, room):
        import h5py
        import numpy

        self.numpy = numpy
        path = os.path.join(folder, "base")
        self.file = h5py.File(path, "w")
        self.descriptor = os.open(path, os.O_RDONLY)

    def write(self, name, data):
        with contextlib.suppress(KeyError):
            del self.file[name]
        self.file.create_dataset(name, data=self.numpy.frombuffer(data, "u1"))

    def put(self, name, data):
        self.put_many([(name, data)])

    def put_many(self, pairs):
        for name, data in pairs:
            self.write(name, data)
        self.file.flush()
        os.fsync(self.descriptor)

    def get(self, name):
        return self.file[name][:].tobytes()

    def close(self):
        self.file.close()
        os.close(self.descriptor)


# In the order of a round: files come first, beside which all others are set.
ALL = [Files, Hexad, Obstore, Sqlite, Lmdb, Rocks, H5]
