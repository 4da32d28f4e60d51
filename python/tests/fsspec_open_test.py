"""Files of hexad://: what is closed is there, whatever lies over it; what is not is not, and is said."""

import contextlib
import gc
import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import warnings

import hexad
import pytest

fsspec = pytest.importorskip("fsspec")
np = pytest.importorskip("numpy")

# pylint: disable=wrong-import-position
from hexad.fsspec import HexadFile, HexadFileSystem

fsspec.register_implementation("hexad", HexadFileSystem, clobber=True)

CODECS = ["gzip", "bz2", "xz", "zip"]
LARGE = os.urandom(3 * HexadFile.DEFAULT_BLOCK_SIZE + 17)


@pytest.fixture(autouse=True)
def no_instances():
    yield
    for fs in HexadFileSystem._cache.values():  # pylint: disable=protected-access
        if isinstance(fs, HexadFileSystem):
            fs.close()
    HexadFileSystem.clear_instance_cache()


# Compression


@pytest.mark.parametrize("kind", CODECS)
@pytest.mark.parametrize("data", [b"", b"data", LARGE], ids=["empty", "small", "large"])
def test_what_is_written_compressed_is_there_when_it_is_closed(data, kind, roomy, fs):
    path = f"{roomy}/x"
    fs.pipe(path, b"old")
    with fs.open(path, "wb", compression=kind) as file:
        assert file.seekable() and file.tell() == 0
        for i in range(0, len(data), 300_000):
            assert file.write(data[i : i + 300_000]) == len(data[i : i + 300_000])
        assert file.tell() == len(data)
        assert fs.cat(path) == b"old"
    assert file.closed and fs.cat(path) != data
    with fsspec.open(f"hexad://{path}", "rb", compression=kind) as file:
        assert file.read() == data
    with fs.open(path, "rb", compression=kind) as file:
        assert file.read(3) + file.read() == data


@pytest.mark.parametrize("kind", CODECS)
def test_text_is_compressed_and_comes_back(kind, roomy, fs):
    text = "gr\u00fcn\nblau\n"
    with fs.open(f"{roomy}/x", "wt", compression=kind, encoding="utf-16", newline="\r\n") as file:
        file.write(text)
    with fs.open(f"{roomy}/x", "rt", compression=kind, encoding="utf-16") as file:
        assert list(file) == ["gr\u00fcn\n", "blau\n"]
    with fs.open(f"{roomy}/x", compression=kind) as file:
        assert file.read().decode("utf-16") == text.replace("\n", "\r\n")


def test_the_name_says_the_codec_if_asked(roomy, fs):
    for name, start in (("x.gz", b"\x1f\x8b"), ("x.bz2", b"BZh"), ("x.txt", b"data")):
        with fs.open(f"{roomy}/{name}", "wb", compression="infer") as file:
            file.write(b"data")
        assert fs.cat(f"{roomy}/{name}").startswith(start)
    with pytest.raises(ValueError, match="not supported"):
        fs.open(f"{roomy}/y", "wb", compression="none such")
    assert not fs.exists(f"{roomy}/y")


def test_compressed_appending_adds_a_member(roomy, fs):
    for piece in (b"one,", b"two"):
        with fs.open(f"{roomy}/x", "ab", compression="gzip") as file:
            file.write(piece)
    with fs.open(f"{roomy}/x", compression="gzip") as file:
        assert file.read() == b"one,two"


def test_a_transaction_takes_text_and_compressed_files(roomy, fs):
    with fs.transaction:
        with fs.open(f"{roomy}/a", "wb", compression="gzip") as file:
            file.write(LARGE)
        with fs.open(f"{roomy}/b", "w", compression="xz") as file:
            file.write("text")
        fs.open(f"{roomy}/c", "w").write("left open")  # the transaction closes it
        fs.open(f"{roomy}/d", "wb", compression="bz2").write(b"left open")
        assert fs.find(roomy) == []
    for name, kind, data in (
        ("a", "gzip", LARGE),
        ("b", "xz", b"text"),
        ("c", None, b"left open"),
        ("d", "bz2", b"left open"),
    ):
        with fs.open(f"{roomy}/{name}", compression=kind) as file:
            assert file.read() == data


def test_a_transaction_leaves_out_what_was_discarded_in_it(roomy, fs):
    with hexad.open(roomy) as store, fs.transaction:
        fs.pipe(f"{roomy}/a", b"1")
        for mode in ("x", "wb"):
            with pytest.raises(ZeroDivisionError):
                with fs.open(f"{roomy}/b", mode) as file:
                    file.write(b"half" if mode == "wb" else "half")
                    raise ZeroDivisionError
        store.put("b", b"theirs")
    assert fs.cat(f"{roomy}/a") == b"1" and fs.cat(f"{roomy}/b") == b"theirs"


# Exceptions


AROUND = {
    "contextlib.closing": contextlib.closing,
    "io.TextIOWrapper": io.TextIOWrapper,
    "io.BufferedWriter": io.BufferedWriter,
    "text in a stack": lambda file: contextlib.closing(io.TextIOWrapper(file)),
}


@pytest.mark.parametrize("around", AROUND)
def test_what_lies_around_a_file_and_closes_it_by_an_exception(around, roomy, fs):
    path = f"{roomy}/f"
    fs.pipe(path, b"old")
    data = "half" if "ext" in around.replace("context", "") else b"half"
    with pytest.raises(ZeroDivisionError):
        with AROUND[around](fs.open(path, "wb")) as file:
            file.write(data)
            raise ZeroDivisionError
    assert fs.cat(path) == b"old"
    with AROUND[around](fs.open(path, "wb")) as file:
        file.write(data)
    assert fs.cat(path) == b"half"
    try:
        file = AROUND[around](fs.open(path, "wb"))
        (file if hasattr(file, "write") else file.thing).write(data * 2)
        raise ZeroDivisionError
    except ZeroDivisionError:
        (file if hasattr(file, "close") else file.thing).close()
    assert fs.cat(path) == b"halfhalf"


class Log:
    """Writes down why its block ended, into a file that it has had open all the time."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self.file

    def __exit__(self, kind, error, trace):
        self.file.write(f" {kind.__name__}".encode())
        self.file.close()
        return True


def test_a_log_of_a_program_that_failed_is_stored(roomy, fs):
    with Log(fs.open(f"{roomy}/log", "wb")) as file:
        file.write(b"begun,")
        raise ZeroDivisionError
    assert fs.cat(f"{roomy}/log") == b"begun, ZeroDivisionError"


OPENINGS = {
    "fs.open": lambda fs, url, mode, **more: fs.open(url, mode, **more),
    "fsspec.open": lambda fs, url, mode, **more: fsspec.open(url, mode, **more),
}


@pytest.mark.parametrize("compression", [None, "gzip", "zip"])
@pytest.mark.parametrize("mode", ["wb", "wt"])
@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("size", [4, len(LARGE)])
def test_an_exception_leaves_what_was_there(opening, mode, compression, size, roomy, fs):
    path = f"{roomy}/f"
    fs.pipe(path, b"complete old contents")
    data = b"x" * size if mode == "wb" else "x" * size
    with pytest.raises(ZeroDivisionError):
        with OPENINGS[opening](fs, f"hexad://{path}", mode, compression=compression) as file:
            file.write(data)
            raise ZeroDivisionError
    gc.collect()
    assert fs.cat(path) == b"complete old contents"


@pytest.mark.parametrize("opening", OPENINGS)
def test_without_an_exception_of_its_own_it_is_published(opening, roomy, fs):
    path = f"{roomy}/f"
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:  # is being handled all the time
        with OPENINGS[opening](fs, f"hexad://{path}", "wb") as file:
            file.write(b"a report of it")
    assert fs.cat(path) == b"a report of it"
    file = OPENINGS[opening](fs, f"hexad://{path}", "wb")
    file = file.open() if opening == "fsspec.open" else file
    try:
        file.write(b"closed on purpose")
        raise ZeroDivisionError
    except ZeroDivisionError:
        file.close()
    assert fs.cat(path) == b"closed on purpose"


def test_a_cache_in_between_is_left_alone_too(roomy, fs, tmp_path):
    fs.pipe(f"{roomy}/x", b"old")
    cache = {"cache_storage": str(tmp_path)}
    with pytest.raises(ZeroDivisionError):
        with fsspec.open(f"simplecache::hexad://{roomy}/x", "wb", simplecache=cache) as file:
            file.write(b"half")
            raise ZeroDivisionError
    assert fs.cat(f"{roomy}/x") == b"old"
    with fsspec.open(f"simplecache::hexad://{roomy}/x", "wb", simplecache=cache) as file:
        file.write(b"whole")
    assert fs.cat(f"{roomy}/x") == b"whole"


def test_several_files_of_fsspec_are_left_alone_by_an_exception(roomy, fs):
    with pytest.raises(ZeroDivisionError):
        with fsspec.open_files(f"hexad://{roomy}/part*", "wb", num=3) as files:
            for file in files:
                file.write(b"half")
            raise ZeroDivisionError
    assert fs.find(roomy) == []


class Unwritable:
    def __str__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize("name", ["frame.csv", "frame.csv.gz"])
def test_pandas_that_fails_leaves_what_was_there(name, roomy, fs):
    pandas = pytest.importorskip("pandas")
    fs.pipe(f"{roomy}/{name}", b"old")
    frame = pandas.DataFrame({"a": [1] * 5000 + [Unwritable()]}, dtype=object)
    with pytest.raises(ZeroDivisionError):
        frame.to_csv(f"hexad://{roomy}/{name}", chunksize=10)
    gc.collect()
    assert fs.cat(f"{roomy}/{name}") == b"old"
    frame[:3].to_csv(f"hexad://{roomy}/{name}")
    assert len(pandas.read_csv(f"hexad://{roomy}/{name}")) == 3


def test_a_write_that_failed_is_not_published_afterwards(roomy, fs, monkeypatch):
    file = fs.open(f"{roomy}/x", "wb")
    file.write(LARGE)
    monkeypatch.setattr(file._writer, "write", lambda data: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        file.write(LARGE)
    file.close()
    assert not fs.exists(f"{roomy}/x")
    with pytest.raises(ValueError):
        file.write(b"more")


# Nobody closes it


NEVER_CLOSED = {
    "bytes": lambda fs, path: fs.open(path, "wb").write(b"data"),
    "many bytes": lambda fs, path: fs.open(path, "wb").write(LARGE),
    "exclusively": lambda fs, path: fs.open(path, "xb").write(b"data"),
    "text": lambda fs, path: fs.open(path, "w").write("text"),
    "compressed": lambda fs, path: fs.open(path, "wb", compression="gzip").write(b"data"),
    "compressed text": lambda fs, path: fs.open(path, "w", compression="bz2").write("text"),
    "by numpy": lambda fs, path: np.save(fs.open(path, "wb"), np.arange(10)),
    "by fsspec.open": lambda fs, path: fsspec.open(f"hexad://{path}", "wb").open().write(b"data"),
    "not committed": lambda fs, path: fs.open(path, "wb", autocommit=False).close(),
}


@pytest.mark.parametrize("how", NEVER_CLOSED)
def test_a_file_that_is_never_closed_says_so_by_name(how, roomy, fs):
    path = f"{roomy}/left"
    with pytest.warns(hexad.NotStoredWarning, match=rf"{path} was (not closed|closed but not)"):
        NEVER_CLOSED[how](fs, path)
        gc.collect()
    assert not fs.exists(path)


def test_appended_blocks_stay_and_the_rest_is_said_to_be_lost(roomy, fs):
    with pytest.warns(hexad.NotStoredWarning, match="the last 3 bytes"):
        file = fs.open(f"{roomy}/log", "ab")
        file.write(LARGE)
        file.write(b"end")
        del file
        gc.collect()
    assert fs.cat(f"{roomy}/log") == LARGE


def test_a_file_in_a_cycle_says_so_too(roomy, fs):
    with pytest.warns(hexad.NotStoredWarning, match="cycle"):
        file = fs.open(f"{roomy}/cycle", "w", compression="gzip")
        file.itself = file
        file.write("text")
        del file
        gc.collect()
    assert not fs.exists(f"{roomy}/cycle")


SCRIPT = """
    import sys, warnings, hexad, fsspec, numpy
    fs = fsspec.filesystem("hexad")
    file = fs.open(sys.argv[1] + "/x", "wb")
    file.write(b"12345")
    text = fs.open(sys.argv[1] + "/t", "w")
    text.write("text")
    writer = hexad.open(sys.argv[1]).open_writer("w")
    writer.write(b"1")
    {end}
"""


@pytest.mark.parametrize(
    "end", ["del file, text, writer", "pass", "sys.keep = [file, text, writer]"]
)
def test_python_as_it_comes_shows_it(end, roomy, fs):
    """Its own filters hide ResourceWarnings; this one is shown, at the latest at the end."""
    fs.close()
    script = textwrap.dedent(SCRIPT).format(end=end)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"}
    command = [sys.executable, "-c", script, roomy]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    for name in ("/x", "/t", "w"):
        assert f"{name} was not closed" in done.stderr
    assert "Traceback" not in done.stderr
    command[1:1] = ["-W", "ignore"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert "not closed" not in done.stderr
    assert fs.find(roomy) == []


def test_what_is_closed_or_only_read_says_nothing(roomy, fs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fs.open(f"{roomy}/x", "w", compression="gzip") as file:
            file.write("text")
        for options in ({}, {"compression": "gzip"}):
            file = fs.open(f"{roomy}/x", "rb", **options)
            file.read(1)
            del file
            gc.collect()
        file = fs.open(f"{roomy}/y", "w")
        file.discard() if hasattr(file, "discard") else file.detach().discard()
        del file
        gc.collect()


# autocommit=False


def test_without_autocommit_only_commit_publishes(roomy, fs):
    path = f"{roomy}/x"
    with fs.open(path, "wb", autocommit=False) as file:
        file.write(b"data")
    assert not fs.exists(path)
    file.commit()
    assert fs.cat(path) == b"data"
    with pytest.raises(ValueError, match="nothing to commit"):
        file.commit()
    file = fs.open(path, "wb", autocommit=False)
    file.write(LARGE)
    file.commit()  # closes it first
    assert fs.cat(path) == LARGE
    with fs.open(path, "wb", autocommit=False) as file:
        file.write(b"other")
    file.discard()
    with pytest.raises(ValueError, match="nothing to commit"):
        file.commit()
    with fs.transaction:  # has no part in it
        pass
    assert fs.cat(path) == LARGE


# Text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
@pytest.mark.parametrize("opening", OPENINGS)
def test_text_is_what_a_local_file_would_hold(opening, encoding, roomy, fs, tmp_path):
    local = tmp_path / "text"
    url = f"hexad://{roomy}/text"
    for mode in ("w", "a"):
        for newline in (None, "", "\r\n"):
            with open(local, mode, encoding=encoding, newline=newline) as file:
                file.write("gr\u00fcn\n")
            with OPENINGS[opening](fs, url, mode, encoding=encoding, newline=newline) as file:
                file.write("gr\u00fcn\n")
            assert fs.cat(url) == local.read_bytes()


def test_pandas_reads_what_it_wrote_in_any_encoding(roomy, fs):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1]})
    for code in ("utf-8-sig", "utf-16", "utf-32"):
        url = f"hexad://{roomy}/f.csv"
        frame.to_csv(url, index=False, encoding=code)
        assert pandas.read_csv(url, encoding=code).equals(frame)


def test_a_file_being_written_is_positioned_at_its_beginning_only(roomy, fs):
    with fs.open(f"{roomy}/x", "wb") as file:
        assert file.seekable() and file.tell() == 0
        file.write(b"1")
        assert not file.seekable() and file.tell() == 1
        with pytest.raises(OSError):
            file.seek(0)
    with fs.open(f"{roomy}/x", "ab") as file:
        assert file.seekable() and file.tell() == 1
        file.write(b"2")
        assert not file.seekable() and file.tell() == 2
    with pytest.raises(LookupError):
        fs.open(f"{roomy}/y", "w", encoding="none such")
    assert not fs.exists(f"{roomy}/y")


def test_archives_are_written_and_read(roomy, fs):
    """zipfile wants to seek back and finds out that it cannot."""
    with fs.open(f"{roomy}/x.npz", "wb") as file:
        np.savez(file, a=np.arange(10), b=np.zeros(300_000))
    with fs.open(f"{roomy}/x.npz") as file:
        found = np.load(file)
        assert found["a"][7] == 7 and found["b"].size == 300_000


@pytest.mark.parametrize("mode", ["r+b", "rb+", "+br", "w+b", "a+b", "x+", "r+"])
def test_a_mode_that_objects_do_not_have_is_refused_with_a_reason(mode, roomy, fs):
    fs.pipe(f"{roomy}/x", b"1")
    with pytest.raises(io.UnsupportedOperation, match="Store.write"):
        fs.open(f"{roomy}/x", mode)
    assert fs.cat(f"{roomy}/x") == b"1"


@pytest.mark.parametrize("mode", ["wbt", "q", "", "b", "rw", "rr", "rbb", "wU"])
def test_a_mode_that_is_none_is_refused_with_its_name(mode, roomy, fs):
    fs.pipe(f"{roomy}/x", b"1")
    with pytest.raises(ValueError, match=repr(mode)):
        fs.open(f"{roomy}/x", mode)
    with pytest.raises(TypeError, match="mode: str"):
        fs.open(f"{roomy}/x", mode.encode())
    assert fs.cat(f"{roomy}/x") == b"1"


def test_the_letters_of_a_mode_come_in_any_order(roomy, fs):
    for mode, data in (("bw", b"1"), ("wb", b"2"), ("tw", "3"), ("w", "4"), ("ba", b"5")):
        with fs.open(f"{roomy}/x", mode) as file:
            file.write(data)
    with fs.open(f"{roomy}/x", "br") as file:
        assert file.read() == b"45"
    with fs.open(f"{roomy}/x", "tr") as file:
        assert file.read() == "45"
    with pytest.raises(FileExistsError):
        fs.open(f"{roomy}/x", "bx")


@pytest.mark.parametrize("mode", ["wb", "xb", "ab", "w"])
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_a_file_that_is_written_says_that_it_cannot_be_read(mode, compression, roomy, fs):
    with fs.open(f"{roomy}/x", mode, compression=compression) as file:
        calls = [file.read, lambda: file.read(1), file.readline, file.readlines]
        calls += [lambda: next(iter(file))]
        if "b" in mode:
            calls += [lambda: file.readinto(bytearray(1))]
        for call in calls:
            with pytest.raises(io.UnsupportedOperation):
                call()
        file.write("" if mode == "w" else b"")


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_a_file_that_is_read_says_that_it_cannot_be_written(compression, roomy, fs):
    with fs.open(f"{roomy}/x", "wb", compression=compression) as file:
        file.write(b"1")
    with fs.open(f"{roomy}/x", "rb", compression=compression) as file:
        for call in (lambda: file.write(b"2"), lambda: file.writelines([b"2"]), file.truncate):
            with pytest.raises(io.UnsupportedOperation):
                call()
        assert file.read() == b"1"
    with fs.open(f"{roomy}/y", "wb", compression=compression) as file:
        file.write(b"1")
        with pytest.raises(io.UnsupportedOperation):
            file.seek(0)


def test_a_closed_file_says_that_it_is_closed(roomy, fs):
    for mode in ("wb", "rb"):
        with fs.open(f"{roomy}/x", mode) as file:
            pass
        for call in (file.read, lambda: file.write(b"2"), lambda: file.seek(0)):
            with pytest.raises(ValueError, match="closed"):
                call()


def test_lines_are_read_as_from_a_local_file(roomy, fs, tmp_path):
    for data in (b"", b"\n", b"one\ntwo\r\n\nthree", b"x" * 3000 + b"\nend\n"):
        fs.pipe(f"{roomy}/x", data)
        (tmp_path / "x").write_bytes(data)
        with fs.open(f"{roomy}/x", block_size=1000) as file, open(tmp_path / "x", "rb") as local:
            for size in (2, 0, 100, -1, None):
                assert file.readline(size) == local.readline(size) and file.tell() == local.tell()
            for hint in (None, -1, 0, 3, 100):
                assert file.seek(0) == local.seek(0)
                assert file.readlines(hint) == local.readlines(hint) and file.tell() == local.tell()
            assert file.seek(0, os.SEEK_END) == len(data) and file.readlines() == []


def test_exclusive_text(roomy, fs):
    with fs.open(f"{roomy}/x", "x") as file:
        file.write("1")
    with pytest.raises(FileExistsError):
        fs.open(f"{roomy}/x", "xt", compression="gzip")
    assert fs.read_text(f"{roomy}/x") == "1"


# Chains


def test_urls_chain(roomy, fs, tmp_path):
    fs.pipe(f"{roomy}/a[1]*", b"data")
    cache = {"cache_storage": str(tmp_path)}
    with fsspec.open(f"simplecache::hexad://{roomy}/a[1]*", simplecache=cache) as file:
        assert file.read() == b"data"
    with fs.open(f"{roomy}/x.zip", "wb", compression="zip") as file:
        file.write(b"zipped")
    with fsspec.open(f"zip://file::hexad://{roomy}/x.zip") as file:
        assert file.read() == b"zipped"
    below = fsspec.filesystem("dir", path=roomy, fs=fs)
    below.mv("a[1]*", "b")
    assert below.cat("b") == b"data" and below.ls("", detail=False) == ["b", "x.zip"]


# Forks


def test_an_open_file_is_read_on_in_a_forked_child(tmp_path):
    path = tmp_path / "pool"
    hexad.format(path, devices=6, size="64 MiB", preset="tiny")
    with hexad.open(path) as store:
        store.put("x", LARGE)
    fs = HexadFileSystem(read_only=True, skip_instance_cache=True)
    with fs.open(f"{path}/x", cache_type="none") as file:
        assert file.read(10) == LARGE[:10]
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        process = context.Process(target=lambda: queue.put(file.read(50)))
        process.start()
        assert queue.get() == LARGE[10:60]
        process.join()
        assert file.read(5) == LARGE[10:15]
    fs.close()


def test_a_small_file_is_read_on_in_a_forked_child(roomy, fs):
    fs.pipe(f"{roomy}/x", b"0123456789")
    fs.cat(f"{roomy}/x")
    with fs.open(f"{roomy}/x") as file:
        assert file.read(3) == b"012"
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        process = context.Process(target=lambda: queue.put(file.read(4)))
        process.start()
        assert queue.get() == b"3456"
        process.join()


@pytest.mark.parametrize("size", [0, 10, 5000, 64 << 10, (64 << 10) + 1, 300_000])
def test_what_the_cache_has_is_of_one_version_too(size, roomy, fs):
    old, new = os.urandom(size), os.urandom(size + 1)
    for _ in range(2):  # the second time it is known
        fs.pipe(f"{roomy}/x", old)
        fs.cat(f"{roomy}/x")
        with fs.open(f"{roomy}/x") as file:
            assert file.size == size
            assert file.read(3) == old[:3]
            fs.pipe(f"{roomy}/x", new)
            assert fs.cat(f"{roomy}/x") == new
            assert file.read() == old[3:]
            assert file.read() == b""
            into = bytearray(4)
            assert file.seek(1) == 1 and file.readinto(into) == len(old[1:5])
            assert bytes(into).startswith(old[1:5])
        with pytest.raises(ValueError):
            file.read()
    assert fs.tail(f"{roomy}/x", 2) == new[-2:]


def test_a_forked_child_neither_publishes_nor_loses_the_parents_file(roomy, fs):
    file = fs.open(f"{roomy}/x", "wb")
    file.write(LARGE)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                file.__del__()
            code = 0
        finally:
            os._exit(code)  # pylint: disable=protected-access
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    file.close()
    assert fs.cat(f"{roomy}/x") == LARGE


# Memory


MEASURE = """
    import resource, sys, fsspec, hexad
    kind, pool, size = sys.argv[1], sys.argv[2], int(sys.argv[3]) << 20
    fs = fsspec.filesystem("hexad"); store = hexad.open(pool)
    data = b"\\xaa" * size
    fs.pipe_file(pool + "/warm", data[: 32 << 20])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if kind == "put":
        store.put("x", data)
    elif kind == "pipe":
        fs.pipe_file(pool + "/x", data)
    else:
        with fs.open(pool + "/x", kind) as file:
            assert file.write(data) == size
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
    assert fs.info(pool + "/x")["size"] == size
    store.close(); fs.close()
"""


@pytest.mark.parametrize("kind", ["pipe", "wb", "xb", "ab"])
def test_one_large_write_is_not_copied(kind, tmp_path):
    """What it takes at most beside the data stays below a fraction of the data."""
    size = 256  # MiB
    hexad.format(tmp_path / "pool", devices=6, size="192 MiB")
    script = textwrap.dedent(MEASURE)
    done = subprocess.run(
        [sys.executable, "-c", script, kind, str(tmp_path / "pool"), str(size)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < size / 2


def test_a_pickled_reader_goes_on_where_it_was(roomy, fs):
    fs.pipe(f"{roomy}/x", b"0123456789")
    with fs.open(f"{roomy}/x") as file:
        file.seek(4)
        with pickle.loads(pickle.dumps(file)) as other:
            assert other.read() == b"456789"


def test_what_wraps_a_file_itself_has_to_close_it(roomy, fs):
    with io.TextIOWrapper(fs.open(f"{roomy}/x", "wb"), encoding="utf-16") as text:
        text.write("a")
    assert fs.cat(f"{roomy}/x") == "a".encode("utf-16")


def test_each_thread_may_seek(roomy):
    """A thread reads where it has gone to, wherever others go meanwhile; small files and large ones."""
    with contextlib.closing(HexadFileSystem(skip_instance_cache=True, each_thread_seeks=True)) as fs:
        for data in (b"0123456789" * 10, LARGE):
            fs.pipe(f"{roomy}/x", data)
            with fs.open(f"{roomy}/x") as file:
                assert file.read(3) == data[:3]
                file.seek(7)
                found = []

                def other(file=file, found=found):
                    found.append(file.tell())
                    file.seek(-5, os.SEEK_END)
                    found.append(file.read())

                thread = threading.Thread(target=other)
                thread.start()
                thread.join()
                assert found == [0, data[-5:]]
                assert file.read(20) == data[7:27]
                assert file.tell() == min(27, len(data))
        with fs.open(f"{roomy}/x", "wb") as file:
            file.write(b"written")
        assert fs.cat(f"{roomy}/x") == b"written"
    with pytest.raises(TypeError, match="each_thread_seeks"):
        HexadFileSystem(skip_instance_cache=True, each_thread_seeks=1)
