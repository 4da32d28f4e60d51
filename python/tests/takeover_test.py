"""hexad.holders() and hexad.take_over(): of files nobody is shut out, and that is said."""

import os
import subprocess
import sys

import hexad
import pytest

HOLDER = """
import sys
import hexad

with hexad.open(sys.argv[1]) as store:
    store.put("a", b"1")
    print("open", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def pool(tmp_path):
    path = str(tmp_path / "pool")
    hexad.format(path, devices=[str(tmp_path / f"device{i}") for i in range(6)], size="64 MiB")
    return path


def test_nobody_has_a_pool_that_is_closed(pool):
    assert hexad.holders(pool) == []
    assert hexad.take_over(pool) == []
    with hexad.open(pool) as store:
        store.put("a", b"1")


def test_who_has_files_is_named_and_cannot_be_shut_out(pool):
    with subprocess.Popen(
        [sys.executable, "-P", "-c", HOLDER, pool], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        found = hexad.holders(pool)
        assert len(found) == 7  # and the log
        for entry in found:
            assert f"process {holder.pid}" in entry["who"]
            assert entry["can_be_shut_out"] is False
        with pytest.raises(hexad.BusyError, match="nobody has been shut out|End that process"):
            hexad.take_over(pool)
        holder.stdin.close()
        assert holder.wait(60) == 0
    assert hexad.holders(pool) == []
    with hexad.open(pool, read_only=True) as store:
        assert store.get("a") == b"1"


def test_devices_name_a_pool_as_well(pool, tmp_path):
    devices = [str(tmp_path / f"device{i}") for i in range(6)]
    assert hexad.holders(devices=devices) == []
    os.unlink(devices[0])  # what is not there is nobody's
    assert hexad.holders(devices=devices) == []


def test_the_error_of_who_is_shut_out():
    assert issubclass(hexad.FencedError, OSError)
    assert hexad.FencedError.code is hexad.ErrorCode.FENCED
