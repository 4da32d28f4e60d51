"""hexad:// on a pool that another process has: nothing there is taken for not there."""

import json
import subprocess
import sys

import pytest

fsspec = pytest.importorskip("fsspec")

# pylint: disable=wrong-import-position,redefined-outer-name
import hexad
from ecosystem_pools import temporary_pool

# What programs ask before they write, remove or synchronise, each as an expression.
QUESTIONS = [
    "fs.exists(f'{pool}/a/b')",
    "fs.lexists(f'{pool}/a/b')",
    "fs.isfile(f'{pool}/a/b')",
    "fs.isdir(f'{pool}/a')",
    "fs.ls(f'{pool}/a')",
    "list(fs.walk(pool))",
    "list(fs.walk(pool, maxdepth=1))",
    "fs.find(pool)",
    "fs.find(pool, maxdepth=1)",
    "fs.glob(f'{pool}/*')",
    "fs.glob(f'{pool}/a/b')",
    "fs.glob(f'{pool}/**/b')",
    "fs.du(pool)",
    "fs.du(pool, maxdepth=1)",
    "fs.expand_path(f'{pool}/a', recursive=True)",
    "fs.expand_path(f'{pool}/a/*')",
    "fs.cat(f'{pool}/a/*')",
    "fs.rm(f'{pool}/a/*')",
    "fs.rm(f'{pool}/a', recursive=True)",
    "fs.cp(f'{pool}/a/*', f'{pool}/c/')",
    "'b' in fsspec.get_mapper(f'hexad://{pool}/a')",
    "list(fsspec.get_mapper(f'hexad://{pool}/a'))",
    "fsspec.get_mapper(f'hexad://{pool}/a').get('b')",
    "'b' in fs.get_mapper(f'{pool}/a')",
    "list(fs.get_mapper(f'{pool}/a'))",
    "fsspec.open_files(f'hexad://{pool}/a/*')",
]
# A walk that was told to leave out what fails does so no more than that.
OWN_WISHES = {
    "list(fs.walk(pool, on_error=seen.append))": [],
    "len(seen)": 1,
}

CHILD = """
import json, sys
import fsspec, hexad
from hexad.fsspec import HexadFileSystem
fsspec.register_implementation("hexad", HexadFileSystem, clobber=True)
pool, questions = sys.argv[1], json.loads(sys.argv[2])
fs = fsspec.filesystem("hexad")
seen = []
answers = []
for question in questions:
    try:
        answers.append(eval(question))
    except hexad.BusyError:
        answers.append("busy")
json.dump(answers, sys.stdout)
"""


def ask(pool, questions):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, pool, json.dumps(questions)],
        stdout=subprocess.PIPE,
        check=True,
    )
    return dict(zip(questions, json.loads(done.stdout)))


@pytest.fixture(scope="module")
def pool():
    with temporary_pool() as path:
        yield path


def test_a_pool_that_is_in_use_is_not_an_empty_one(pool):
    with hexad.open(pool) as store:
        store.put("a/b", b"bytes")
        answers = ask(pool, QUESTIONS)
    assert answers == {question: "busy" for question in QUESTIONS}


def test_who_asks_a_walk_to_go_on_is_told_what_failed(pool):
    with hexad.open(pool):
        assert ask(pool, list(OWN_WISHES)) == OWN_WISHES


def test_names_that_nothing_can_have_are_nothing(pool):
    fs = fsspec.filesystem("hexad", skip_instance_cache=True)
    long = f"{pool}/" + "n" * 1100
    assert not fs.isfile(long) and not fs.isdir(long) and not fs.isfile("/nowhere/x")
    assert not list(fs.walk("/nowhere/x")) and not fs.glob("/nowhere/x/*")
    fs.close()
