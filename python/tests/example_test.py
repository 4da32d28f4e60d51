"""The example program and the documents' own code, run as a reader would."""

import pathlib
import re
import signal
import subprocess
import sys

import hexad
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TRAINING = TOP / "examples" / "python" / "training.py"


def train(pool, steps):
    """The lines that it prints."""
    command = [sys.executable, TRAINING, pool, "--steps", str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def train_and_kill(pool, lines):
    """Ends it by kill -9 once it has printed so many lines, of a run that has no end of its own to
    reach before; returns the last step it called durable. What it does at that moment is as the
    machine has it: mostly writing a checkpoint.
    """
    command = [sys.executable, TRAINING, pool, "--steps", "1000000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        seen = [running.stdout.readline() for _ in range(lines)]
        running.send_signal(signal.SIGKILL)
        seen += running.stdout.readlines()
    assert running.returncode == -signal.SIGKILL
    found = [re.fullmatch(r"from step (\d+)|step (\d+) is durable", line.strip()) for line in seen]
    return max(int(step[1] or step[2]) for step in found if step)


def test_a_run_that_is_killed_ends_as_one_that_is_not(tmp_path):
    pool = tmp_path / "killed"
    durable = 0
    for lines in (1, 2, 3, 2, 3):
        reached = train_and_kill(pool, lines)
        assert reached >= durable
        durable = reached
    for lost in (1, 4):
        (pool / f"drive{lost}").unlink()
    # Of a run as long as the killed ones came, and some steps more.
    steps = durable + 5
    rest = train(pool, steps)
    begun = int(rest[0].split()[-1])
    # What was called durable is there; the commit that the kill met may be, too.
    assert durable <= begun <= durable + 1
    whole = train(tmp_path / "whole", steps)
    assert whole[:2] == ["from step 0", "step 1 is durable"]
    assert rest[-1] == whole[-1]
    with hexad.open(pool) as store:
        names = [entry.name for entry in store.iterate()]
        # Of each of the last two checkpoints all parts, of the others none.
        assert len(names) == 2 * 3 + 1
        assert store.fsck(deep=True)["errors"] == 0


def test_an_error_of_the_example_is_one_line(tmp_path):
    (tmp_path / "pool").write_text("a file in the way")
    command = [sys.executable, TRAINING, tmp_path / "pool" / "x"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch("training: .*\n", done.stderr)


def code_of(document):
    return re.findall(r"^```python\n(.*?)^```", (TOP / "doc" / document).read_text(), re.M | re.S)


@pytest.mark.parametrize("document", ["python.md"])
def test_the_code_of_the_document(document, tmp_path):
    """Every block, one after the other."""
    blocks = code_of(document)
    assert len(blocks) >= 5
    program = tmp_path / "document.py"
    program.write_text("\n".join(blocks))
    subprocess.run([sys.executable, "-W", "error", program], check=True, cwd=tmp_path)
