"""The types that the package declares are those that it has."""

import pathlib
import subprocess
import sys

import hexad
import pytest

PACKAGE = pathlib.Path(hexad.__file__).parent


def mypy(*arguments, cwd):
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_is_checked_strictly(tmp_path):
    assert (PACKAGE / "py.typed").exists()
    (tmp_path / "program.py").write_text(
        """\
import hexad

async def main() -> int:
    with hexad.in_memory(capacity="1 GiB") as store:
        with store.transaction() as t:
            t.put("a", b"x", hint="compressible")
            values: dict[str, bytes] = {"x": b"1"}
            t.set_attrs("a", values)
            t.omap_set("a", values)
        store.put_many(values)
        store.set_attrs("a", values)
        store.omap_set("a", values)
        data: bytes = await store.get_async("a")
        names: list[str] = [entry.name for entry in store.list(prefix="a").entries]
        mapping = store.mapping("run/")
        mapping["x"] = data
        try:
            store.get("b")
        except hexad.NotFoundError as error:
            assert error.code is hexad.ErrorCode.NOT_FOUND
        return len(names) + (await store.put_async("c", memoryview(data)))
"""
    )
    mypy("mypy", "--strict", "program.py", cwd=tmp_path)


def test_the_stub_of_the_extension_module_names_what_it_has():
    native = hexad._native
    declared = {}
    for line in (PACKAGE / "_native.pyi").read_text().splitlines():
        if line.startswith("class "):
            current = declared.setdefault(line[6:-1], set())
        elif line.startswith("def "):
            declared[line[4 : line.index("(")]] = None
        elif line.startswith("    def "):
            current.add(line[8 : line.index("(")])
    there = {name for name in vars(native) if not name.startswith("_")}
    assert there == set(declared)
    for name, members in declared.items():
        if members is not None:
            found = {m for m in vars(getattr(native, name)) if not m.startswith("_")}
            assert found == {m for m in members if not m.startswith("_")}, name


def test_everything_public_is_documented():
    for name in hexad.__all__:
        assert getattr(hexad, name).__doc__ or name == "HINTS", name
