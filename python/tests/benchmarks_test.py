"""The benchmark beside other stores runs; its figures mean nothing here."""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

COMPARE = pathlib.Path(__file__).resolve().parents[1] / "benchmarks" / "compare.py"

# What is measured where it is installed.
WITH = {
    "obstore": [
        (table, "obstore")
        for table in ("put 4 KiB", "put_many 4 KiB, first", "parquet write", "parquet read, cold")
    ]
    + [("zarr write", "obstore"), ("zarr read, cold", "obstore")],
    "duckdb": [("DuckDB read, cold", row) for row in ("plain files", "hexad")],
}


def command(tmp_path, plots):
    return [sys.executable, COMPARE, "--quick", "--folder", tmp_path, "--plots", plots]


def test_the_comparison_runs_and_says_what_it_measured(tmp_path):
    plots = tmp_path / "plots"
    done = subprocess.run(command(tmp_path, plots), check=True, capture_output=True, text=True)
    page = (plots / "index.html").read_text()
    for table in ("cached calls", "put_many 4 KiB, first", "put 64 KiB", "zarr write"):
        assert f"\n{table} " in done.stdout
        assert f"<h2>{table}, " in page
    for module, rows in WITH.items():
        if importlib.util.find_spec(module) is not None:
            for table, row in rows:
                assert f"\n{table:<38} {row:<16} " in done.stdout
    saved = json.loads((plots / "results.json").read_text())
    results = saved["rounds"]
    assert len(results["copies"]) == 4
    assert all(values == [0] for values in results["copies"].values())
    assert set(results) == set(saved["units"])
    assert "ended" not in saved["settings"]
    assert [path for path in tmp_path.iterdir() if path != plots] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_measured_before_a_signal_is_kept(tmp_path, number):
    plots = tmp_path / "plots"
    with subprocess.Popen(command(tmp_path, plots), stdout=subprocess.PIPE, text=True) as running:
        lines = []
        for line in running.stdout:
            lines.append(line)
            if line.startswith("fsspec ") and number is not None:  # the third part of seven
                running.send_signal(number)
                number, sent = None, number
    assert running.returncode == 128 + sent
    assert sum(f"ended by {sent.name}" in line for line in lines) == 1
    saved = json.loads((plots / "results.json").read_text())
    assert sent.name in saved["settings"]["ended"]
    # Each row was printed once, and is in the file; what comes last was not measured.
    rows = [(table, row) for table, rows in saved["rounds"].items() for row in rows]
    assert ("copies", "get_view") in rows and not any(table == "put 4 MiB" for table, _ in rows)
    for table, row in rows:
        assert sum(line.startswith(f"{table:<38} {row:<16} ") for line in lines) == 1
    page = (plots / "index.html").read_text()
    assert sent.name in page and "<h2>copies, " in page
    assert [path for path in tmp_path.iterdir() if path != plots] == []


def test_a_row_is_shown_beside_the_plain_files_of_its_table(capsys):
    sys.path.insert(0, str(COMPARE.parent))
    try:
        from report import Report
    finally:
        sys.path.pop(0)
    report = Report(None, {})
    for value in (10, 30, 20):
        report.add("put", "operations/s", "plain files", value, 3)
        report.add("put", "operations/s", "hexad", 2 * value, 3)
    report.add("get", "us", "hexad", 5, 3)
    files, own = capsys.readouterr().out.splitlines()
    assert files.split() == "put plain files 20 operations/s [10 to 30]".split()
    assert own.split() == "put hexad 40 operations/s [20 to 60], 2.00 x plain files".split()
    report.close()
    assert capsys.readouterr().out.split() == "get hexad 5 us (only 1 of 3 values)".split()


def test_what_another_project_fails_at_is_left_out_and_said(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(COMPARE.parent)
    report = importlib.import_module("report").Report(tmp_path, {})
    for _ in range(2):
        report.add("read", "MiB/s", "hexad", 2, of=2)
        with report.failing("read", "another"):
            raise OSError("its <file> ends early")
    report.close()
    said = capsys.readouterr().out
    assert said.count("another          left out, OSError: its <file> ends early") == 1
    assert "left out, OSError: its &lt;file&gt;" in (tmp_path / "index.html").read_text()
    saved = json.loads((tmp_path / "results.json").read_text())
    assert saved["failed"] == {"read, another": "OSError: its <file> ends early"}
    assert saved["rounds"] == {"read": {"hexad": [2, 2]}}


FIO = """#!/usr/bin/env python3
import json
import os
print(json.dumps({"jobs": [{how: {"bw_bytes": 50_000_000} for how in ("read", "write")}]}))
"""


def test_drives_that_die_beside_fio(tmp_path, monkeypatch):
    """On files without a limit, with a stand-in for fio, which the tests do not need."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "fio").write_text(FIO)
    (tools / "fio").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    drives = [tmp_path / f"drive{number}" for number in range(7)]
    for drive in drives:
        drive.touch()
        os.truncate(drive, 128 << 20)
    program = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "devices" / "compare.py"
    words = ["--fill", "32", "--seconds", "1", "--dir", tmp_path, "--drives", *drives]
    done = subprocess.run(
        [sys.executable, "-B", program, *words], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(" | ")[0] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert len(rows) == 10 and "| rebuild" in rows and "| reads, one drive dead" in rows
    assert sorted(tmp_path.iterdir()) == sorted([*drives, tools])
