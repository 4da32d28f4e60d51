"""hexad:// of a pool that is named by its devices, as storage options or in the path.

A pool on a cluster is opened by tests/ceph/python_group_test.py."""

import pytest

fsspec = pytest.importorskip("fsspec")

# pylint: disable=wrong-import-position
import hexad
from hexad import _pool_path
from hexad.fsspec import HexadFileSystem

fsspec.register_implementation("hexad", HexadFileSystem, clobber=True)


@pytest.fixture(name="devices")
def _devices(tmp_path):
    devices = [str(tmp_path / f"device{i}") for i in range(6)]
    hexad.format(str(tmp_path / "pool"), devices=devices, size="64 MiB", preset="tiny")
    return devices


def test_the_root_is_the_pool(devices):
    fs = HexadFileSystem(devices=devices, skip_instance_cache=True)
    fs.pipe({"/run7/a": b"1", "/b": b"22"})
    assert fs.cat("/run7/a") == b"1"
    assert sorted(fs.ls("/", detail=False)) == ["/b", "/run7"]
    assert fs.find("/") == ["/b", "/run7/a"]
    assert fs.glob("/run7/*") == ["/run7/a"]
    assert fs.info("/run7")["type"] == "directory"
    fs.mv("/b", "/run7/b")
    fs.rm("/run7", recursive=True)
    assert fs.find("/") == []
    fs.close()


def test_urls_and_reading_only(devices):
    with hexad.open(devices=devices) as store:
        store.put("run7/a", b"1")
    options = {"devices": devices, "read_only": True, "skip_instance_cache": True}
    with fsspec.open("hexad:///run7/a", "rb", **options) as file:
        assert file.read() == b"1"
    fs = fsspec.filesystem("hexad", **options)
    with pytest.raises(hexad.ReadOnlyError):
        fs.pipe("/run7/a", b"2")
    fs.close()


@pytest.mark.parametrize(
    "path, pool, name",
    [
        ("rbd:log/store@monday/run7/a", "rbd:log/store@monday", "run7/a"),
        ("rbd:log/store?id=x&data_pool=y/a//b", "rbd:log/store?id=x&data_pool=y", "a//b"),
        ("rbd:log/store@monday/", "rbd:log/store@monday", ""),
        ("rbd:log/store", "rbd:log/store", ""),
    ],
)
def test_an_address_in_a_path(path, pool, name):
    assert _pool_path.split(HexadFileSystem._strip_protocol("hexad://" + path)) == (pool, name)


def test_an_address_without_a_group_and_a_directory_that_is_called_so(tmp_path, monkeypatch):
    fs = HexadFileSystem(skip_instance_cache=True)
    for path in ("rbd:log", "rbd:log/"):
        with pytest.raises(FileNotFoundError, match="no group of images is named"):
            fs.ls("hexad://" + path)
    monkeypatch.chdir(tmp_path)
    hexad.format("rbd:log/pool", devices=[f"d{i}" for i in range(6)], size="64 MiB", preset="tiny")
    fs.pipe("./rbd:log/pool/a", b"1")
    assert fs.cat("hexad://./rbd:log/pool/a") == b"1"
    fs.close()
