"""The benchmark beside other stores runs; its figures mean nothing here."""

import json
import pathlib
import subprocess
import sys

COMPARE = pathlib.Path(__file__).resolve().parents[1] / "benchmarks" / "compare.py"


def test_the_comparison_runs_and_says_what_it_measured(tmp_path):
    plots = tmp_path / "plots"
    command = [sys.executable, COMPARE, "--quick", "--folder", tmp_path, "--plots", plots]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for table in ("cached calls", "put_many 4 KiB, first", "put 64 KiB", "zarr write"):
        assert f"\n{table} (" in done.stdout
    results = json.loads((plots / "results.json").read_text())["rounds"]
    assert len(results["copies"]) == 4
    assert all(values == [0] for values in results["copies"].values())
    assert [path for path in tmp_path.iterdir() if path != plots] == []
