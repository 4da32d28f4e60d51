#!/usr/bin/env python3
"""hexad beside obstore, lmdb, rocksdict, sqlite3, h5py and plain files, on one disk in one run.

    compare.py [--quick] [--folder DIR] [--plots DIR] [--only WORD]

Everything is durable when a call returns, and hexad alone survives the loss of two of its six
devices. In every table a round goes through all of them, one after the other; a figure is the
median of the rounds. Those that are not installed are left out.

A row is printed as soon as it has all its rounds. Ctrl-C or SIGTERM ends it with what there is by
then: the rows so far, results.json, plots and a page.
"""

import argparse
import contextlib
import os
import platform
import random
import shutil
import signal
import sys
import tempfile
import time

import contestants
import hexad
from report import Report

# Of what no cache has, and then of what was read before.
READS = ("cold", "again", "a third time")
SIZES = {"4 KiB": 4 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20, "4 MiB": 4 << 20}


class Ended(BaseException):
    """By a signal."""


class Bench:
    def __init__(self, options, report):
        self.report = report
        self.folder = options.folder
        self.rounds = 1 if options.quick else 3
        self.volume = (4 << 20) if options.quick else (128 << 20)  # bytes of one measurement
        self.most = 16 if options.quick else 1000  # puts of one measurement
        self.many = 100 if options.quick else 20_000  # objects of one put_many

    def measure(self, table, unit, row, value, of=None):
        self.report.add(table, unit, row, value, of or self.rounds)

    @contextlib.contextmanager
    def place(self, parent=None):
        """A folder, gone behind it."""
        folder = tempfile.mkdtemp(dir=parent or self.folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    @contextlib.contextmanager
    def contestant(self, kind, room, parent=None):
        """A new one in a folder of its own; None where it is not installed."""
        with self.place(parent) as folder:
            one = None
            with contextlib.suppress(ImportError):
                one = kind(folder, room)
            try:
                yield one
            finally:
                if one is not None:
                    one.close()

    def objects(self):
        """put and get of one at a time."""
        for size_name, size in SIZES.items():
            count = max(4, min(self.most, self.volume // size))
            # Incompressible, and other bytes at every place.
            source = os.urandom(size + count * 64)
            data = [source[i * 64 : i * 64 + size] for i in range(count)]
            order = list(range(count)) * 2
            random.Random(1).shuffle(order)
            for _ in range(self.rounds):
                for kind in contestants.ALL:
                    with self.contestant(kind, 3 * size * count) as one:
                        if one is not None:
                            self.put_and_get(one, size_name, data, order)

    def put_and_get(self, one, size_name, data, order):
        begin = time.perf_counter()
        for i, value in enumerate(data):
            one.put(f"o{i}", value)
        took = time.perf_counter() - begin
        self.measure(f"put {size_name}", "operations/s", one.name, len(data) / took)
        assert one.get("o1") == data[1]
        for i in range(len(data)):
            one.get(f"o{i}")
        begin = time.perf_counter()
        for i in order:
            one.get(f"o{i}")
        took = time.perf_counter() - begin
        self.measure(
            f"get {size_name}, read before", "operations/s", one.name, len(order) / took
        )

    def many_objects(self):
        """put_many on the disk, and where no disk is waited for: on files in memory."""
        self.many_in(self.folder, "")
        if os.path.isdir("/dev/shm"):
            with self.place("/dev/shm") as folder:
                self.many_in(folder, ", in memory")

    def many_in(self, parent, where):
        size = 4 << 10
        source = os.urandom(size + self.many)
        pairs = [(f"o{i:06}", source[i : i + size]) for i in range(self.many)]
        for _ in range(self.rounds):
            for kind in contestants.ALL:
                some = pairs[: int(self.many * kind.share)]
                with self.contestant(kind, 4 * size * self.many, parent) as one:
                    if one is None:
                        continue
                    # The second time on what the first one has laid down; then, too, in space that
                    # has been written before.
                    for times, of in (("first", 1), ("again", 1), ("later", 3)):
                        for _ in range(of):
                            begin = time.perf_counter()
                            one.put_many(some)
                            took = time.perf_counter() - begin
                            self.measure(
                                f"put_many 4 KiB, {times}{where}", "objects/s", one.name,
                                len(some) / took, self.rounds * of,
                            )
                    assert one.get(some[7][0]) == some[7][1]

    def overhead(self):
        """What one call costs when nothing is to be done but looking it up."""
        count = 2000 if self.rounds == 1 else 200_000
        for _ in range(self.rounds):
            with hexad.in_memory(capacity="64 MiB") as store:
                store.put("a", b"x" * 100)
                into = bytearray(100)
                calls = {
                    "get of 100 bytes": lambda: store.get("a"),
                    "get_into of 100 bytes": lambda: store.get_into("a", into),
                    "get_view of 100 bytes": lambda: store.get_view("a"),
                    "exists": lambda: store.exists("a"),
                    "stat": lambda: store.stat("a"),
                    "get of a missing object": lambda: store.get_many(["b"], default=None),
                    "an empty Python call": lambda: None,
                }
                for name, call in calls.items():
                    self.measure("cached calls", "ns", name, time_of(call, count) * 1e9)

    def copies(self):
        """User bytes that the package copies, per byte, beyond what the engine does for itself."""
        import numpy

        array = numpy.arange(1 << 20, dtype="u1")
        with hexad.in_memory(capacity="64 MiB") as store:
            calls = {
                "put of an array": lambda: store.put("a", array),
                "put of bytes": lambda: store.put("b", array.tobytes()),
                "get_view": lambda: store.get_view("a"),
                "get of 1 MiB": lambda: store.get("a"),
            }
            for name, call in calls.items():
                before = hexad._native.copied_bytes()
                call()
                copied = hexad._native.copied_bytes() - before
                self.measure("copies", "copies of a byte", name, copied / array.nbytes, of=1)

    def tables(self):
        """A parquet table: written and read by pyarrow, read by DuckDB; through hexad://, through obstore to
        a file, and to a plain file. What is written is synced.
        """
        try:
            import numpy
            import pyarrow
            import pyarrow.parquet
            from hexad.fsspec import HexadFileSystem
        except ImportError:
            return
        obstore = obstore_files()
        rows = self.volume // 16
        values = numpy.random.default_rng(1)
        table = pyarrow.table({c: values.standard_normal(rows) for c in ("a", "b")})

        def write(row, open_target, path):
            for times in range(2):  # the first one pays for preparing the place
                begin = time.perf_counter()
                with open_target() as target:
                    pyarrow.parquet.write_table(table, target)
                if path is not None:
                    contestants.sync_file(path)
                took = time.perf_counter() - begin
            self.measure("parquet write", "MiB/s", row, table.nbytes / took / 2**20)

        def reads(what, row, call, make_cold):
            def whole():
                assert call() == table

            whole()
            make_cold()
            self.three_reads(what, row, table.nbytes, whole)

        def read(row, open_source, make_cold):
            def whole():
                with open_source() as source:
                    return pyarrow.parquet.read_table(source)

            reads("parquet", row, whole, make_cold)

        for _ in range(self.rounds):
            with self.place() as folder:
                path = os.path.join(folder, "file")
                write("plain files", lambda path=path: open(path, "wb"), path)
                cold = lambda path=path: forget(path)  # noqa: E731
                read("plain files", lambda path=path: open(path, "rb"), cold)
                self.duckdb_reads(reads, "plain files", None, path, cold)
                if obstore is not None:
                    other = path + "-obstore"
                    write("obstore", lambda path=other: obstore.open(path, "wb"), other)
                    cold = lambda path=other: forget(path)  # noqa: E731
                    read("obstore", lambda path=other: obstore.open(path, "rb"), cold)
                    with self.report.failing("DuckDB read", "obstore"):
                        self.duckdb_reads(reads, "obstore", obstore, f"file://{other}", cold)
                pool = contestants.make_pool(folder, 8 * table.nbytes)
                with contextlib.closing(HexadFileSystem(skip_instance_cache=True)) as fs:
                    path = f"{pool}/t"
                    write("hexad", lambda fs=fs, path=path: fs.open(path, "wb"), None)
                    again = lambda fs=fs, path=path: reopen(fs, path)  # noqa: E731
                    read("hexad", lambda fs=fs, path=path: fs.open(path, "rb"), again)
                # It reads one file in several threads.
                files = HexadFileSystem(skip_instance_cache=True, each_thread_seeks=True)
                with contextlib.closing(files) as fs:
                    again = lambda fs=fs, path=path: reopen(fs, path)  # noqa: E731
                    self.duckdb_reads(reads, "hexad", fs, f"hexad://{path}", again)

    def duckdb_reads(self, reads, row, system, url, make_cold):
        """By DuckDB's own reader of files, or through a file system of fsspec."""
        try:
            import duckdb
        except ImportError:
            return
        with duckdb.connect() as base:
            if system is not None:
                base.register_filesystem(system)
            # Else the second read is of DuckDB's own copy, whatever the file system.
            base.execute("set enable_external_file_cache = false")
            query = f"select * from read_parquet('{url}')"
            reads("DuckDB", row, lambda: base.sql(query).to_arrow_table(), make_cold)

    def three_reads(self, what, row, size, call, times=READS):
        """Of what nothing has in memory. The process has read as much before, so that most of the memory
        that it takes is not new: new memory costs more than the device where a hypervisor has to find
        it first.
        """
        for time_ in times:
            took = time_of(call, 1, warm=False)
            self.measure(f"{what} read, {time_}", "MiB/s", row, size / took / 2**20)

    def arrays(self):
        """A zarr array in chunks of 1 MiB, not compressed: in a pool, and in files, all synced."""
        try:
            import numpy
            import zarr
            from hexad.zarr import HexadStore
        except ImportError:
            return
        side = 512
        data = numpy.random.default_rng(1).integers(
            0, 2**32, (max(2, self.volume >> 20) * side, side), "u4"
        )

        def write(store, name):
            array = zarr.create_array(
                store, name=name, shape=data.shape, chunks=(side, side), dtype=data.dtype,
                compressors=None,
            )
            array[:] = data
            return array

        def report(row, begin):
            took = time.perf_counter() - begin
            self.measure("zarr write", "MiB/s", row, data.nbytes / took / 2**20)

        def check(array):
            assert (array[:] == data).all()

        def read(row, array, times=READS):
            self.three_reads("zarr", row, data.nbytes, lambda: check(array), times)

        def read_files(row, array, files):
            check(array)
            forget(files)
            read(row, array)

        def read_pool(row, pool, times=READS, **how):
            with hexad.open(pool, **how) as store:
                check(zarr.open_array(HexadStore(store), path="a", mode="r"))
            with hexad.open(pool, **how) as store:  # with nothing in its cache
                come_to_rest(store)
                read(row, zarr.open_array(HexadStore(store), path="a", mode="r"), times)

        for _ in range(self.rounds):
            with self.place() as folder:
                files = os.path.join(folder, "files")
                write(zarr.storage.LocalStore(files), "before")
                begin = time.perf_counter()
                array = write(zarr.storage.LocalStore(files), "a")
                sync_below(os.path.join(files, "a"))
                report("plain files", begin)
                read_files("plain files", array, files)
                self.arrays_in_obstore(files, os.path.join(folder, "obstore"), write, report, read_files)
                pool = contestants.make_pool(folder, 8 * data.nbytes)
                with hexad.open(pool) as store:
                    write(HexadStore(store), "before")
                    begin = time.perf_counter()
                    write(HexadStore(store), "a")
                    report("hexad", begin)
                read_pool("hexad", pool)
                # What is left when no cache is filled on the way.
                read_pool("hexad, no cache", pool, READS[:1], cache_size=0)

    def arrays_in_obstore(self, files, own, write, report, read_files):
        """Written into files of its own, and those that LocalStore has written, read."""
        try:
            import obstore
            import zarr
        except ImportError:
            return
        store = zarr.storage.ObjectStore(obstore.store.LocalStore(own, mkdir=True))
        write(store, "before")
        begin = time.perf_counter()
        write(store, "a")
        sync_below(os.path.join(own, "a"))
        report("obstore", begin)
        store = zarr.storage.ObjectStore(obstore.store.LocalStore(files), read_only=True)
        read_files("obstore", zarr.open_array(store, path="a", mode="r"), files)

    def file_calls(self):
        """Calls of fsspec, through hexad:// and for plain files, of what was read before; and one write of
        100 MiB beside put().
        """
        try:
            import fsspec
            from hexad.fsspec import HexadFileSystem
        except ImportError:
            return
        count = 20 if self.rounds == 1 else 5000
        large = os.urandom((4 << 20) if self.rounds == 1 else (100 << 20))
        for _ in range(self.rounds):
            with self.place() as folder:
                pool = contestants.make_pool(folder, 10 * len(large))
                files = os.path.join(folder, "files")
                os.mkdir(files)
                with contextlib.closing(HexadFileSystem(skip_instance_cache=True)) as fs:
                    self.large_writes(fs, pool, large)
                    self.calls_of("plain files", fsspec.filesystem("file"), files, large, count)
                    self.calls_of("hexad", fs, pool, large, count)
                    took = time_of(lambda fs=fs, path=f"{pool}/4 KiB": fs.locate(path), count)
                    self.measure("fsspec locate", "us", "hexad", took * 1e6)

    def large_writes(self, fs, pool, large):
        """In turns, in one store, and not the first ones of it, which prepare it."""
        store, _ = fs.locate(f"{pool}/before")

        def write(name):
            with fs.open(f"{pool}/{name}", "wb") as file:
                file.write(large)

        for i in range(4):
            calls = {
                "put": lambda i=i: store.put(f"put{i}", large),
                "hexad://": lambda i=i: write(f"url{i}"),
            }
            for row, call in calls.items():
                took = time_of(call, 1, warm=False)
                if i:
                    speed = len(large) / took / 2**20
                    self.measure("write of 100 MiB", "MiB/s", row, speed, 3 * self.rounds)

    def calls_of(self, row, system, top, large, count):
        for size, data in (("4 KiB", large[: 4 << 10]), ("64 KiB", large[: 64 << 10])):
            path = f"{top}/{size}"
            system.pipe_file(path, data)
            calls = {
                f"cat_file {size}": lambda p=path: system.cat_file(p),
                f"open().read() {size}": lambda p=path: read(system, p),
                f"info {size}": lambda p=path: system.info(p),
            }
            for what, call in calls.items():
                self.measure(f"fsspec {what}", "us", row, time_of(call, count) * 1e6)


def obstore_files():
    """obstore's file system of fsspec for plain files; None: it is not installed."""
    try:
        from obstore.fsspec import FsspecStore
    except ImportError:
        return None
    return FsspecStore("file")


def time_of(call, count, warm=True):
    """Seconds for each of `count` calls; after two that are not measured."""
    for _ in range(2 if warm else 0):
        call()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begin) / count


def reopen(fs, path):
    """Its pool, with nothing in its cache."""
    fs.close()
    store, _ = fs.locate(path)
    come_to_rest(store)


def come_to_rest(store):
    """Until nothing goes on beside what is measured: what has been written makes a pool prepare more
    space when it is opened.
    """
    calm = 0
    while calm < 3:
        time.sleep(0.02)
        calm = 0 if any(job["running"] for job in store.status()["jobs"]) else calm + 1


def sync_below(folder):
    for top, _, names in os.walk(folder):
        for name in [*names, "."]:
            contestants.sync_file(os.path.join(top, name))


def forget(path):
    """Takes a file, or those below a folder, out of the system's cache; they have been synced."""
    found = [os.path.join(top, name) for top, _, names in os.walk(path) for name in names]
    for one in found or [path]:
        descriptor = os.open(one, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def read(system, path):
    with system.open(path, "rb") as file:
        return file.read()


def end(number, _frame):
    """The first signal ends what is measured; the next one ends everything."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    raise Ended(number)


def load():
    return f"{os.getloadavg()[0]:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("overhead", "copies", "file_calls", "many_objects", "tables", "arrays", "objects")
    parser.add_argument("--quick", action="store_true", help="seconds; shows only that it works")
    parser.add_argument("--folder", help="where the stores are made; default: the temporary one")
    parser.add_argument("--plots", help="a folder for results.json, pictures and a page of them")
    parser.add_argument("--only", choices=parts, help="one part")
    parser.add_argument("--commit", default="not said", help="what is measured, for the page")
    options = parser.parse_args()
    settings = {
        "commit": options.commit,
        "began": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load when it began": load(),
    }
    print(", ".join(f"{name} {value}" for name, value in settings.items()), flush=True)
    report = Report(options.plots, settings)
    bench = Bench(options, report)
    began = time.monotonic()
    status = 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        for part in parts:
            if options.only in (None, part):
                getattr(bench, part)()
    except Ended as ended:
        name = signal.Signals(ended.args[0]).name
        settings["ended"] = f"by {name}; what was not measured by then is missing"
        print(f"ended by {name}; what was not measured by then is missing", flush=True)
        status = 128 + ended.args[0]
    settings["seconds"] = round(time.monotonic() - began)
    settings["load when it ended"] = load()
    report.close()
    print(f"{settings['seconds']} s, load {settings['load when it ended']}")
    sys.exit(status)


if __name__ == "__main__":
    main()
