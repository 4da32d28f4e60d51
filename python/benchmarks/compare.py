#!/usr/bin/env python3
"""hexad beside lmdb, rocksdict, sqlite3, h5py and plain files, on one disk in one run.

    compare.py [--quick] [--folder DIR] [--plots DIR] [--only WORD]

Everything is durable when a call returns, and hexad alone survives the loss of two of its six
devices. In every table a round goes through all of them, one after the other; a figure is the
median of the rounds. Those that are not installed are left out.
"""

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
import time

import contestants
import hexad

# Of what no cache has, and then of what was read before.
READS = ("cold", "again", "a third time")
SIZES = {"4 KiB": 4 << 10, "64 KiB": 64 << 10, "1 MiB": 1 << 20, "4 MiB": 4 << 20}


class Bench:
    def __init__(self, options):
        self.folder = options.folder
        self.rounds = 1 if options.quick else 3
        self.volume = (4 << 20) if options.quick else (128 << 20)  # bytes of one measurement
        self.most = 16 if options.quick else 2000  # puts of one measurement
        self.many = 100 if options.quick else 20_000  # objects of one put_many
        self.results = {}  # table: {row: figure}
        self.units = {}

    def measure(self, table, unit, row, value):
        self.units[table] = unit
        self.results.setdefault(table, {}).setdefault(row, []).append(value)

    def within(self, kind, room, parent=None):
        """A fresh contestant in a folder of its own; None where it is not installed."""
        folder = tempfile.mkdtemp(dir=parent or self.folder)
        try:
            return folder, kind(folder, room)
        except ImportError:
            shutil.rmtree(folder)
            return None, None

    def objects(self):
        """put and get of one at a time, and put_many."""
        for size_name, size in SIZES.items():
            count = max(4, min(self.most, self.volume // size))
            # Incompressible, and other bytes at every place.
            source = os.urandom(size + count * 64)
            data = [source[i * 64 : i * 64 + size] for i in range(count)]
            order = list(range(count)) * 2
            random.Random(1).shuffle(order)
            for _ in range(self.rounds):
                for kind in contestants.ALL:
                    folder, one = self.within(kind, 3 * size * count)
                    if one is None:
                        continue
                    begin = time.perf_counter()
                    for i in range(count):
                        one.put(f"o{i}", data[i])
                    took = time.perf_counter() - begin
                    self.measure(f"put {size_name}", "operations/s", kind.name, count / took)
                    assert one.get("o1") == data[1]
                    for i in range(count):
                        one.get(f"o{i}")
                    begin = time.perf_counter()
                    for i in order:
                        one.get(f"o{i}")
                    took = time.perf_counter() - begin
                    self.measure(
                        f"get {size_name}, read before", "operations/s", kind.name,
                        len(order) / took,
                    )
                    one.close()
                    shutil.rmtree(folder)

    def many_objects(self):
        """put_many on the disk, and where no disk is waited for: on files in memory."""
        self.many_in(self.folder, "")
        if os.path.isdir("/dev/shm"):
            with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
                self.many_in(folder, ", in memory")

    def many_in(self, parent, where):
        size = 4 << 10
        source = os.urandom(size + self.many)
        pairs = [(f"o{i:06}", source[i : i + size]) for i in range(self.many)]
        for _ in range(self.rounds):
            for kind in contestants.ALL:
                folder, one = self.within(kind, 4 * size * self.many, parent)
                if one is None:
                    continue
                # The second time on what the first one has laid down; then, too, in space that has
                # been written before.
                for times in ("first", "again", "later", "later", "later"):
                    begin = time.perf_counter()
                    one.put_many(pairs)
                    took = time.perf_counter() - begin
                    self.measure(
                        f"put_many 4 KiB, {times}{where}", "objects/s", kind.name, self.many / took
                    )
                assert one.get(pairs[7][0]) == pairs[7][1]
                one.close()
                shutil.rmtree(folder)

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
                    call()
                    begin = time.perf_counter()
                    for _ in range(count):
                        call()
                    took = time.perf_counter() - begin
                    self.measure("cached calls", "ns", name, took / count * 1e9)

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
                self.measure("copies", "copies", name, copied / array.nbytes)

    def tables(self):
        """A parquet table by pyarrow: through hexad://, and to a file that is synced, which obstore reads,
        too.
        """
        try:
            import numpy
            import pyarrow
            import pyarrow.parquet
            from hexad.fsspec import HexadFileSystem
        except ImportError:
            return
        rows = self.volume // 16
        values = numpy.random.default_rng(1)
        table = pyarrow.table({c: values.standard_normal(rows) for c in ("a", "b")})

        def write(row, target, **how):
            begin = time.perf_counter()
            pyarrow.parquet.write_table(table, target, **how)
            if row == "plain files":
                target.flush()
                os.fsync(target.fileno())
            return table.nbytes / (time.perf_counter() - begin) / 2**20

        def read(row, open_source):
            for times in READS:
                begin = time.perf_counter()
                with open_source() as source:
                    assert pyarrow.parquet.read_table(source) == table
                took = time.perf_counter() - begin
                self.measure(f"parquet read, {times}", "MiB/s", row, table.nbytes / took / 2**20)

        for _ in range(self.rounds + 1):
            folder, one = self.within(contestants.Hexad, 8 * table.nbytes)
            one.close()
            pool = os.path.join(folder, "pool")
            fs = HexadFileSystem(skip_instance_cache=True)
            write("before", f"{pool}/t0", filesystem=fs)  # pays for preparing the pool
            self.measure("parquet write", "MiB/s", "hexad", write("hexad", f"{pool}/t1", filesystem=fs))
            fs.close()
            fs.exists(pool)  # opens it again
            read("hexad", lambda fs=fs, pool=pool: fs.open(f"{pool}/t1", "rb"))
            fs.close()
            path = os.path.join(folder, "file")
            for _ in range(2):
                with open(path, "wb") as file:
                    speed = write("plain files", file)
            self.measure("parquet write", "MiB/s", "plain files", speed)
            forget(path)
            read("plain files", lambda path=path: open(path, "rb"))
            forget(path)
            try:
                from obstore.fsspec import FsspecStore
            except ImportError:
                pass
            else:
                read("obstore", lambda path=path, fs=FsspecStore("file"): fs.open(path, "rb"))
            shutil.rmtree(folder)

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

        def report(what, begin):
            took = time.perf_counter() - begin
            self.measure(f"zarr {what[0]}", "MiB/s", what[1], data.nbytes / took / 2**20)

        def read(row, array):
            for times in READS:
                begin = time.perf_counter()
                assert (array[:] == data).all()
                report((f"read, {times}", row), begin)

        for _ in range(self.rounds):
            folder, one = self.within(contestants.Hexad, 8 * data.nbytes)
            write(HexadStore(one.store), "before")
            begin = time.perf_counter()
            write(HexadStore(one.store), "a")
            report(("write", "hexad"), begin)
            one.close()
            with hexad.open(os.path.join(folder, "pool")) as store:  # with nothing in its cache
                read("hexad", zarr.open_array(HexadStore(store), path="a", mode="r"))
            files = os.path.join(folder, "files")
            write(zarr.storage.LocalStore(files), "before")
            begin = time.perf_counter()
            array = write(zarr.storage.LocalStore(files), "a")
            for top, folders, names in os.walk(os.path.join(files, "a")):
                for name in [*names, "."]:
                    descriptor = os.open(os.path.join(top, name), os.O_RDONLY)
                    os.fsync(descriptor)
                    os.close(descriptor)
            report(("write", "plain files"), begin)
            forget(files)
            read("plain files", array)
            forget(files)
            self.arrays_in_obstore(files, read)
            shutil.rmtree(folder)

    def arrays_in_obstore(self, files, read):
        """The files that LocalStore has written, read by obstore."""
        try:
            import obstore
            import zarr
        except ImportError:
            return
        store = zarr.storage.ObjectStore(obstore.store.LocalStore(files), read_only=True)
        read("obstore", zarr.open_array(store, path="a", mode="r"))

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
            folder, one = self.within(contestants.Hexad, 10 * len(large))
            one.close()
            fs = HexadFileSystem(skip_instance_cache=True)
            pool = os.path.join(folder, "pool")
            store, _ = fs.locate(f"{pool}/before")

            def write(name, fs=fs, pool=pool):
                with fs.open(f"{pool}/{name}", "wb") as file:
                    file.write(large)

            # In turns, in one store, and not the first ones of it, which prepare it.
            for i in range(4):
                for row, call in (("put", store.put), ("hexad://", lambda n, _: write(n))):
                    begin = time.perf_counter()
                    call(f"{row[:3]}{i}", large)
                    took = time.perf_counter() - begin
                    if i:
                        self.measure("write of 100 MiB", "MiB/s", row, len(large) / took / 2**20)
            local = fsspec.filesystem("file")
            os.mkdir(os.path.join(folder, "files"))
            for name, system, top in (
                ("hexad", fs, pool), ("plain files", local, os.path.join(folder, "files"))
            ):
                for size, data in (("4 KiB", large[: 4 << 10]), ("64 KiB", large[: 64 << 10])):
                    path = f"{top}/{size}"
                    system.pipe_file(path, data)
                    calls = {
                        f"cat_file {size}": lambda p=path, s=system: s.cat_file(p),
                        f"open().read() {size}": lambda p=path, s=system: read(s, p),
                        f"info {size}": lambda p=path, s=system: s.info(p),
                    }
                    for what, call in calls.items():
                        call()
                        call()
                        begin = time.perf_counter()
                        for _ in range(count):
                            call()
                        took = time.perf_counter() - begin
                        self.measure(f"fsspec {what}", "us", name, took / count * 1e6)
            begin = time.perf_counter()
            for _ in range(count):
                fs.locate(f"{pool}/4 KiB")
            took = time.perf_counter() - begin
            self.measure("fsspec locate", "us", "hexad", took / count * 1e6)
            fs.close()
            shutil.rmtree(folder)

    def medians(self):
        return {
            table: {row: statistics.median(values) for row, values in rows.items()}
            for table, rows in self.results.items()
        }


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


def shown(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def print_tables(bench):
    for table, rows in bench.medians().items():
        print(f"\n{table} ({bench.units[table]})")
        reference = rows.get("plain files")
        for row, value in rows.items():
            beside = f"   {value / reference:6.2f} of plain files" if reference else ""
            print(f"  {row:<26} {shown(value):>12}{beside}")


def plot(bench, folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "results.json"), "w", encoding="utf-8") as file:
        json.dump({"units": bench.units, "rounds": bench.results}, file, indent=1)
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed", file=sys.stderr)
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot

    for table, rows in bench.medians().items():
        figure, axes = matplotlib.pyplot.subplots(figsize=(6, 0.6 + 0.4 * len(rows)))
        bars = axes.barh(
            list(rows), list(rows.values()),
            color=["#c44e52" if row == "hexad" else "#8c9eb5" for row in rows],
        )
        axes.bar_label(bars, [shown(value) for value in rows.values()], padding=3)
        axes.invert_yaxis()
        axes.margins(x=0.18)
        axes.set_title(table)
        axes.set_xlabel(bench.units[table])
        figure.tight_layout()
        name = table.replace(",", "").replace(" ", "-")
        figure.savefig(os.path.join(folder, f"{name}.png"), dpi=120)
        matplotlib.pyplot.close(figure)
    print(f"\nplots: {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="seconds; shows only that it works")
    parser.add_argument("--folder", help="where the stores are made; default: the temporary one")
    parser.add_argument("--plots", help="a folder for pictures and results.json")
    parser.add_argument("--only", help="a word: overhead, copies, many_objects, ...")
    options = parser.parse_args()
    bench = Bench(options)
    print(f"python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]}")
    parts = ("overhead", "copies", "file_calls", "many_objects", "tables", "arrays", "objects")
    for part in parts:
        if options.only in (None, part):
            getattr(bench, part)()
    print_tables(bench)
    if options.plots:
        plot(bench, options.plots)


if __name__ == "__main__":
    main()
