"""The installed package by itself."""

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys

import hexad
import pytest

PACKAGE = pathlib.Path(hexad.__file__).parent
# What Debian has no static form of that could go into a module.
BROUGHT = ("libisal", "libJerasure", "libgf_complete")

# An auditor of the dynamic linker for which no folder outside the package has those libraries, nor
# the others that the package brings along.
HIDE = r"""
#define _GNU_SOURCE
#include <link.h>
#include <string.h>

unsigned int la_version(unsigned int version) { return version; }

char* la_objsearch(const char* name, uintptr_t* cookie, unsigned int flag) {
  static const char* const hidden[] = {HIDDEN};
  const char* base = strrchr(name, '/');
  (void)cookie;
  (void)flag;
  if (base == NULL || strstr(name, "/hexad/_libs/") != NULL) return (char*)name;
  for (unsigned i = 0; i < sizeof hidden / sizeof *hidden; ++i) {
    if (strcmp(base + 1, hidden[i]) == 0) return NULL;
  }
  return (char*)name;
}
"""

USE = """
import hexad
with hexad.in_memory(profile="4+2", codec="{codec}", compression="force,{algorithm}") as store:
    store.put("a", b"x" * 1_000_000)
    assert store.get("a") == b"x" * 1_000_000
    print(hexad.__file__)
"""


def test_the_package_brings_its_libraries_along():
    module = next(PACKAGE.glob("_native*.so"))
    listing = subprocess.run(["ldd", module], check=True, capture_output=True, text=True).stdout
    for library in BROUGHT:
        (line,) = [line for line in listing.splitlines() if library in line]
        assert str(PACKAGE / "_libs") in line


@pytest.fixture(scope="module")
def auditor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("auditor")
    names = ", ".join(f'"{path.name}"' for path in (PACKAGE / "_libs").iterdir())
    (folder / "hide.c").write_text(HIDE.replace("HIDDEN", names))
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", folder / "hide.so", folder / "hide.c"], check=True
    )
    return folder / "hide.so"


def use(auditor, folder, codec="isa-vandermonde", algorithm="zstd"):
    script = f"import sys; sys.path.insert(0, {str(folder)!r})\n" + USE.format(
        codec=codec, algorithm=algorithm
    )
    return subprocess.run(
        [sys.executable, "-c", script],
        env={"LD_AUDIT": str(auditor), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "codec, algorithm",
    [("isa-vandermonde", "zstd"), ("jerasure:reed_sol_van", "snappy"), ("isa-cauchy", "lz4")],
)
def test_it_works_where_those_libraries_are_hidden(auditor, tmp_path, codec, algorithm):
    shutil.copytree(PACKAGE, tmp_path / "hexad")
    done = use(auditor, tmp_path, codec, algorithm)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "hexad" / "__init__.py")


def test_without_its_libraries_it_does_not_find_any(auditor, tmp_path):
    """So the test above hides what it says it hides."""
    shutil.copytree(PACKAGE, tmp_path / "hexad")
    shutil.rmtree(tmp_path / "hexad" / "_libs")
    done = use(auditor, tmp_path)
    assert done.returncode != 0
    assert "ImportError" in done.stderr and "cannot open shared object file" in done.stderr


def test_the_metadata_has_what_an_index_shows():
    try:
        about = importlib.metadata.metadata("hexad")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("hexad is not installed, only importable")
    assert about["License-Expression"] == "BSD-3-Clause"
    assert about["Description-Content-Type"] == "text/markdown"
    # Where importlib_metadata has been imported, it answers, and has the text elsewhere.
    assert "hexad[fsspec]" in (about.get_payload() or about["Description"])
    assert set(about.get_all("Provides-Extra")) == {"fsspec", "zarr"}
    wanted = about.get_all("Requires-Dist")
    for extra in ("fsspec", "zarr"):
        assert [w for w in wanted if w.startswith(f"{extra}>=") and f"extra == \"{extra}\"" in w]
    assert len(wanted) == 2  # nothing without an extra
    files = [str(file) for file in importlib.metadata.files("hexad")]
    assert [file for file in files if file.endswith("licenses/LICENSE")]


def test_importing_takes_nothing_but_the_standard_library():
    script = """
import sys
before = set(sys.modules)
import hexad
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(*sorted(new - set(sys.stdlib_module_names) - {"hexad"}))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() in ("", "nanobind")


def test_nothing_of_the_build_lies_in_it():
    suffixes = {path.suffix for path in PACKAGE.rglob("*") if path.is_file()}
    assert suffixes <= {".py", ".pyc", ".pyi", ".so", ".typed", ".0", ".1", ".2"}


def test_its_tag_says_which_systems_it_runs_on():
    try:
        wheel = importlib.metadata.distribution("hexad").read_text("WHEEL")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("hexad is not installed, only importable")
    assert re.search(r"^Tag: cp3\d+-cp3\d+t?-manylinux_2_\d+_x86_64$", wheel, re.M)
