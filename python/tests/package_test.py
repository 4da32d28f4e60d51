"""The installed package by itself."""

import pathlib
import subprocess
import sys

import hexad


def test_the_package_brings_its_libraries_along():
    package = pathlib.Path(hexad.__file__).parent
    module = next(package.glob("_native*.so"))
    listing = subprocess.run(["ldd", module], check=True, capture_output=True, text=True).stdout
    for library in ("libisal", "libJerasure", "libgf_complete"):
        (line,) = [line for line in listing.splitlines() if library in line]
        assert str(package / "_libs") in line


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
