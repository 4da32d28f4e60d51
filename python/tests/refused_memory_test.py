"""A process that may have no more memory: a call fails for it, and the store is used on."""

import signal
import subprocess
import sys
import textwrap

import hexad

SIZE = 150 << 20


def test_what_is_too_large_for_the_process_is_an_error_and_the_store_goes_on(tmp_path):
    pool = tmp_path / "pool"
    hexad.format(pool, devices=6, size="128 MiB", preset="tiny")
    with hexad.open(pool) as store:
        with store.open_writer("large") as writer:
            piece = bytes(1 << 20)
            for _ in range(SIZE >> 20):
                writer.write(piece)
        store.put("kept", b"as it was")
    script = """
        import resource, sys
        import hexad

        store = hexad.open(sys.argv[1])
        store.put("before", b"x")
        page = resource.getpagesize()
        has = int(open("/proc/self/statm").read().split()[0]) * page
        resource.setrlimit(resource.RLIMIT_AS, (has + (100 << 20), resource.RLIM_INFINITY))
        for read in (
            lambda: store.get("large"),
            lambda: store.get_view("large"),
            lambda: store.get_ranges("large", [(0, int(sys.argv[2]))]),
        ):
            try:
                read()
            except (MemoryError, hexad.ExhaustedError) as error:
                print(type(error).__name__)
        store.put("after", b"y")
        assert store.get("after") == b"y"
        assert sorted(store) == ["after", "before", "kept", "large"]
        store.close()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(pool), str(SIZE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 3, done.stdout
    with hexad.open(pool) as store:
        assert store.get("kept") == b"as it was"
        assert store.get("after") == b"y"


def test_a_bus_error_in_the_index_is_explained_on_request(tmp_path):
    """Some files of the fast tier are mapped; a medium that fails below them ends the process."""
    pool = tmp_path / "pool"
    hexad.format(pool, devices=6, fast=[tmp_path / "fast"], size="64 MiB", preset="tiny")
    script = """
        import ctypes, os, sys
        import hexad

        store = hexad.open(sys.argv[1], bus_errors="explain")
        store.put("kept", b"x")
        line = next(line for line in open("/proc/self/maps") if line.rstrip().endswith("data.mdb"))
        os.truncate(line[line.index("/") :].rstrip(), 0)
        ctypes.string_at(int(line.split("-")[0], 16), 1)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(pool)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGBUS
    assert "hexad: bus error (SIGBUS)" in done.stderr
    with hexad.open(pool) as store:
        assert store.get("kept") == b"x"
