"""open(control=True): other processes ask about a pool that this one has open."""

import glob
import json
import os
import signal
import socket
import subprocess
import sys

import hexad
import pytest

HOLDER = """
import os, sys, time
import hexad

with hexad.open(sys.argv[1], control=True) as store:
    store.put("a", b"1")
    child = 0
    if sys.argv[2] == "fork":
        child = os.fork()
        if child == 0:
            sys.stdin.read()
            os._exit(0)
    print(child, flush=True)
    sys.stdin.read()
"""


def ask(pool, what, **arguments):
    """The reply of whoever has the pool."""
    descriptor = os.open(os.path.join(pool, "fast", "control"), os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(600)
            connection.connect(f"/proc/self/fd/{descriptor}/socket")
            line = json.dumps({"hexad": 1, "ask": what, **arguments})
            connection.sendall(line.encode() + b"\n")
            with connection.makefile("rb") as answers:
                return json.loads(answers.readline())
    finally:
        os.close(descriptor)


def sockets(pool):
    return glob.glob(os.path.join(pool, "fast", "control", "*"))


def start(pool, how):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, pool, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    return holder, int(holder.stdout.readline())


def test_only_who_says_so_is_asked(pool):
    pool = os.fspath(pool)
    with hexad.open(pool) as store:
        store.put("a", b"1")
        assert sockets(pool) == []
    with hexad.open(pool, control=True) as store:
        assert any("control socket" in note for note in store.status()["notes"])
        reply = ask(pool, "status")
        assert reply["pid"] == os.getpid()
        assert reply["result"]["uuid"] == store.status()["uuid"]
        assert ask(pool, "space")["result"]["objects"] == 1
        store.put("b", b"2")
        listed = ask(pool, "list", collection="default")["result"]["entries"]
        assert [entry["name"] for entry in listed] == ["a", "b"]
        assert ask(pool, "look", collection="default", name="none")["error"]["code"] == "not found"
    assert sockets(pool) == []
    with pytest.raises(TypeError):
        hexad.open(pool, control=1)


def test_a_reader_has_none_until_it_becomes_a_writer(pool):
    pool = os.fspath(pool)
    with hexad.open(pool, read_only=True, control=True):
        assert sockets(pool) == []
        with hexad.open(pool):
            assert ask(pool, "hello")["pid"] == os.getpid()
    with hexad.open(pool), hexad.open(pool, control=True):
        assert ask(pool, "hello")["pid"] == os.getpid()


def test_another_process_is_asked_and_what_it_leaves_is_cleared(pool):
    pool = os.fspath(pool)
    holder, _ = start(pool, "alone")
    assert ask(pool, "status")["pid"] == holder.pid
    assert "python" in ask(pool, "status")["command"]
    with pytest.raises(hexad.BusyError):
        hexad.open(pool)
    holder.kill()
    holder.communicate()
    assert len(sockets(pool)) == 1
    with pytest.raises(OSError):
        ask(pool, "status")
    with hexad.open(pool, wait=60, control=True):
        assert ask(pool, "status")["pid"] == os.getpid()


def test_a_child_does_not_answer_for_a_parent_that_is_dead(pool):
    pool = os.fspath(pool)
    holder, child = start(pool, "fork")
    try:
        assert ask(pool, "status")["pid"] == holder.pid
        holder.kill()
        holder.wait()
        with pytest.raises(ConnectionRefusedError):
            ask(pool, "status")
    finally:
        os.kill(child, signal.SIGKILL)
        holder.communicate()
