"""The programs of the guide's section on worker processes, with every way to start a process."""

import pathlib
import re
import subprocess
import sys

import hexad
import pytest

numpy = pytest.importorskip("numpy")
zarr = pytest.importorskip("zarr")
pytest.importorskip("fsspec")

# pylint: disable=wrong-import-position
from hexad.zarr import HexadStore

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "doc" / "python_ecosystem.md"
SECTION = re.search(r"^## Worker processes$(.*?)^## ", GUIDE.read_text(), re.M | re.S)[1]
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", SECTION, re.M | re.S)
# What each prints.
PRINTED = ["1770.0", "True", "True", "1770.0"]


@pytest.fixture
def filled(pool):
    with hexad.open(pool) as store:
        group = zarr.open_group(HexadStore(store, "run7"), mode="w")
        weights = numpy.arange(60.0).reshape(12, 5)
        group.create_array("weights", data=weights, chunks=(3, 5))
    return pool


def test_the_guide_has_these_programs():
    assert len(PROGRAMS) == len(PRINTED)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("number", range(len(PRINTED)))
def test_a_program_of_the_guide(number, method, filled, tmp_path):
    program = PROGRAMS[number]
    if "dask" in program:
        pytest.importorskip("dask")
    assert "/data/pool" in program and '"spawn"' in program
    file = tmp_path / "program.py"
    file.write_text(program.replace("/data/pool", str(filled)).replace('"spawn"', f'"{method}"'))
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", file],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, PRINTED[number] + "\n"), done.stderr
    with hexad.open(filled):  # nobody has kept it
        pass


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_worker_that_would_write_is_told_what_to_do(method, filled, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        f"""
import multiprocessing
import hexad

def write(pool):
    try:
        hexad.open(pool).put("x", b"1")
    except hexad.BusyError as error:
        return str(error)

if __name__ == "__main__":
    with hexad.open({str(filled)!r}):
        with multiprocessing.get_context("{method}").Pool(1) as workers:
            print(workers.apply(write, [{str(filled)!r}]))
"""
    )
    done = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "is locked by process" in done.stdout and "program.py" in done.stdout
