"""The Python package on groups of images and their snapshots: run by the part `ceph`, with the package in .venv."""

import os
import subprocess
import tempfile
import unittest

import hexad

CONF = os.environ["HEXAD_CEPH_CONF"]
# Where an address says nothing of it, as those in URLs cannot: it has slashes.
os.environ["CEPH_CONF"] = CONF
HEXAD = os.path.abspath(os.environ["HEXAD"])


def rbd(*words):
    subprocess.run(["rbd", "--conf", CONF, "--no-progress", *words], capture_output=True, check=False)


class Group(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory(prefix="hexad-ceph-")
        self.addCleanup(self.top.cleanup)
        self.pool = os.path.join(self.top.name, "pool")
        self.group = f"python-{os.getpid()}"
        self.names = [f"log/{self.group}-{i}" for i in range(4)]
        self.addCleanup(self.remove)
        devices = [f"rbd:{name}?conf={CONF}" for name in self.names]
        hexad.format(self.pool, devices=devices, size="256 MiB", profile="4+0", fast=[])
        self.live = f"rbd:log/{self.group}?conf={CONF}"
        self.snapshot = f"rbd:log/{self.group}@one?conf={CONF}"

    def remove(self):
        for name in self.names:
            rbd("snap", "purge", name)
        rbd("group", "rm", f"log/{self.group}")
        for name in self.names:
            rbd("rm", name)

    def take(self):
        words = ["snapshot-group", "create", "--group", self.group, self.pool, "one"]
        subprocess.run([HEXAD, *words], check=True, timeout=100, stdout=subprocess.DEVNULL)

    def test_a_snapshot_is_read_while_this_process_writes_the_pool(self):
        with hexad.open(self.pool) as store:
            store.put("run7/a", b"before")
            self.put_array(store)
            self.take()
            store.put("run7/a", b"after")
            with hexad.open(self.snapshot, read_only=True) as old:
                self.assertEqual(old.get("run7/a"), b"before")
                with self.assertRaises(hexad.ReadOnlyError):
                    old.put("run7/a", b"x")
            with self.assertRaises(hexad.ReadOnlyError):
                hexad.open(self.snapshot)
            self.through_fsspec()
            self.through_zarr()
            self.through_urls()
            self.assertEqual(store.get("run7/a"), b"after")
        with hexad.open(devices=[self.live]) as store:
            self.assertEqual(store.get("run7/a"), b"after")

    def put_array(self, store):
        try:
            import zarr

            from hexad.zarr import HexadStore
        except ImportError:
            return
        zarr.create_array(HexadStore(store, "array"), shape=(3,), dtype="i4", chunks=(2,))[:] = [1, 2, 3]

    def through_fsspec(self):
        try:
            from hexad.fsspec import HexadFileSystem
        except ImportError:
            return
        fs = HexadFileSystem(devices=self.snapshot, read_only=True, skip_instance_cache=True)
        self.assertEqual(fs.cat("/run7/a"), b"before")
        self.assertEqual(fs.find("/run7"), ["/run7/a"])
        fs.close()

    def through_zarr(self):
        try:
            from hexad.zarr import HexadStore
        except ImportError:
            return
        import asyncio

        async def keys():
            return [key async for key in HexadStore(self.snapshot, "run7", read_only=True).list()]

        self.assertEqual(asyncio.run(keys()), ["a"])

    def through_urls(self):
        try:
            import fsspec
            import zarr

            from hexad.fsspec import HexadFileSystem
        except ImportError:
            return
        fsspec.register_implementation("hexad", HexadFileSystem, clobber=True)
        address = f"rbd:log/{self.group}@one?id=admin"
        with fsspec.open(f"hexad://{address}/run7/a", skip_instance_cache=True) as file:
            self.assertEqual(file.read(), b"before")
        with fsspec.open("hexad:///run7/a", devices=self.snapshot, read_only=True, skip_instance_cache=True) as file:
            self.assertEqual(file.read(), b"before")
        fs, path = fsspec.url_to_fs(f"hexad://{address}/run7", skip_instance_cache=True)
        self.assertEqual(fs.find(path), [f"{address}/run7/a"])
        self.assertEqual(fs.glob(f"hexad://{address}/run*/*"), [f"{address}/run7/a"])
        self.assertEqual(fs.ls(f"hexad://{address}", detail=False), [f"{address}/array", f"{address}/run7"])
        with self.assertRaises(hexad.ReadOnlyError):
            fs.pipe(f"hexad://{address}/run7/a", b"x")
        fs.close()
        for url, options in (
            (f"hexad://{address}/array", {}),
            ("hexad:///array", {"devices": self.snapshot, "read_only": True}),
        ):
            array = zarr.open_array(url, mode="r", storage_options={**options, "skip_instance_cache": True})
            self.assertEqual(array[:].tolist(), [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
