"""The programs of the guide's section on worker processes, with every way to start a process."""

import importlib.util
import os
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
PRINTED = ["1770.0\n1770.0", "True", "True", "1770.0", "True", "True", "1770.0"]

# PyTorch itself where it is installed.
STAND_IN = pathlib.Path(__file__).with_name("stand_in")
PATHS = [] if importlib.util.find_spec("torch") else [str(STAND_IN)]
METHODS = ["fork", "spawn", "forkserver"]


def run(file):
    paths = os.pathsep.join(PATHS + os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", file],
        env={**os.environ, "PYTHONPATH": paths.strip(os.pathsep)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture
def filled(pool):
    with hexad.open(pool) as store:
        group = zarr.open_group(HexadStore(store, "run7"), mode="w")
        weights = numpy.arange(60.0).reshape(12, 5)
        group.create_array("weights", data=weights, chunks=(3, 5))
    return pool


def test_the_guide_has_these_programs():
    assert len(PROGRAMS) == len(PRINTED)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("number", range(len(PRINTED)))
def test_a_program_of_the_guide(number, method, filled, tmp_path):
    program = PROGRAMS[number]
    if "dask" in program:
        pytest.importorskip("dask")
    assert "/data/pool" in program and '"spawn"' in program
    file = tmp_path / "program.py"
    file.write_text(program.replace("/data/pool", str(filled)).replace('"spawn"', f'"{method}"'))
    done = run(file)
    assert (done.returncode, done.stdout) == (0, PRINTED[number] + "\n"), done.stderr
    with hexad.open(filled):  # nobody has kept it
        pass


LOADER = """
import torch.utils.data
import hexad
import zarr
from hexad.zarr import HexadStore

class Rows(torch.utils.data.Dataset):
    def __init__(self, array):
        self.array = array

    def __len__(self):
        return self.array.shape[0]

    def __getitem__(self, i):
        if i == 7:
            raise ValueError("no such row")
        return self.array[i]

class Endless(torch.utils.data.IterableDataset):
    def __init__(self, array):
        self.array = array

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        while True:
            yield self.array[info.id]

def loader(rows):
    return torch.utils.data.DataLoader(rows, num_workers=2, multiprocessing_context="{method}")

if __name__ == "__main__":
    store = HexadStore("{pool}", "run7", read_only=True)
    array = zarr.open_array(store, path="weights", mode="r")
"""


@pytest.mark.parametrize("method", METHODS)
def test_a_loop_over_a_loader_may_end_early_or_by_an_error(method, filled, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        LOADER.format(pool=filled, method=method)
        + """
    for number, batch in enumerate(loader(Endless(array))):
        if number == 5:
            print(float(batch.sum()))
            break
    try:
        for batch in loader(Rows(array)):
            pass
    except Exception as error:
        print("no such row" in str(error))
    print(float(array[3].sum()))                      # here it is open as before
"""
    )
    done = run(file)
    # Of the sixth batch: the second worker's row.
    assert (done.returncode, done.stdout) == (0, "35.0\nTrue\n85.0\n"), done.stderr
    with hexad.open(filled):
        pass


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_of_a_loader_says_why_it_cannot_use_a_store_that_is_open(method, filled, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        LOADER.format(pool=filled, method=method)
        + """
    store.close()
    with hexad.open("{pool}") as writable:
        array = zarr.open_array(HexadStore(writable, "run7"), path="weights", mode="r")
        try:
            for batch in loader(Rows(array)):
                pass
        except Exception as error:
            print("ForkedError" in str(error), "is locked by process" in str(error))
""".replace("{pool}", str(filled))
    )
    done = run(file)
    expected = "True False\n" if method == "fork" else "False True\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stderr


@pytest.mark.parametrize("method", METHODS)
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
        [sys.executable, file], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "is locked by process" in done.stdout and "program.py" in done.stdout
