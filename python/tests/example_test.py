"""The example program and the documents' own code, run as a reader would."""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


def test_the_training_example(tmp_path):
    command = [sys.executable, TOP / "examples" / "python" / "training.py", tmp_path / "pool"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert re.fullmatch(
        r"three checkpoints are durable as of LSN \d+\n"
        r"without two drives: survives the loss of 0 more\n"
        r"epoch 2: 500000 weights of 1\.0\n"
        r"1000 samples\n",
        done.stdout,
    )
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 1 and "here is a pool already" in again.stderr


def test_the_code_of_the_document(tmp_path):
    """Every block of doc/python.md, one after the other."""
    text = (TOP / "doc" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) >= 5
    program = tmp_path / "document.py"
    program.write_text("\n".join(blocks))
    subprocess.run([sys.executable, "-W", "error", program], check=True, cwd=tmp_path)
