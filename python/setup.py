"""Builds hexad._native: the engine by Bazel (tools/install), the binding by the C++ compiler.

Debian's libraries below the engine that are not on every machine are copied into the package.
HEXAD_PREFIX names a folder that tools/install has filled already; then Bazel is not run.
CXX names another compiler.
"""

import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent
NATIVE = HERE / "native"

FLAGS = [
    "-std=c++20",
    "-O2",
    "-march=x86-64-v2",
    "-mtune=generic",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffunction-sections",
    "-fdata-sections",
    "-DNDEBUG",
]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror", "-Wno-maybe-uninitialized"]
# nanobind's own sources.
NANOBIND_FLAGS = ["-fno-strict-aliasing", "-DNB_COMPACT_ASSERTIONS"]
# What every Linux with Python and a C++ runtime has.
EVERYWHERE = re.compile(
    r"^(linux-vdso|ld-linux.*|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz)\.so"
)


def run(command):
    print(shlex.join(map(str, command)), flush=True)
    subprocess.run([str(word) for word in command], check=True)


class BuildPython(build_py):
    def run(self):
        # What lies there from an earlier build may have gone from the tree since.
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildNative(build_ext):
    def build_extension(self, ext):
        target = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve()
        objects = pathlib.Path(self.build_temp).resolve()
        objects.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        prefix = self.engine()
        compiler = shlex.split(os.environ.get("CXX", "g++"))
        self.link(compiler, self.compile(compiler, prefix, objects), prefix, target)

    def engine(self):
        """A folder with the engine's headers and libhexad.a."""
        if given := os.environ.get("HEXAD_PREFIX"):
            return pathlib.Path(given).resolve()
        if shutil.which("bazel") is None:
            sys.exit(f"hexad: Bazel is missing; type {TOP / 'run'} setup, then try again")
        prefix = HERE / ".build" / "engine"
        run([TOP / "tools" / "install", "--prefix", prefix])
        return prefix

    def compile(self, compiler, prefix, objects):
        import nanobind

        base = pathlib.Path(nanobind.__file__).resolve().parent
        includes = ["-I", TOP, "-isystem", prefix / "include"]
        for folder in (
            base / "include",
            base / "ext" / "robin_map" / "include",
            sysconfig.get_path("include"),
        ):
            includes += ["-isystem", folder]
        jobs = [(base / "src" / "nb_combined.cpp", NANOBIND_FLAGS)]
        jobs += [(source, WARNINGS) for source in sorted(NATIVE.glob("*.cc"))]
        commands = [
            [*compiler, *FLAGS, *more, *includes, "-c", source, "-o", objects / f"{source.stem}.o"]
            for source, more in jobs
        ]
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(run, commands))
        return [command[-1] for command in commands]

    def link(self, compiler, objects, prefix, target):
        description = subprocess.run(
            ["pkg-config", "--static", "--libs", "hexad"],
            env={**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        # Debian's archives of these are position independent; the others' are not, or missing.
        static = {"-llz4": "-l:liblz4.a", "-luring": "-l:liburing.a", "-lxxhash": "-l:libxxhash.a"}
        libraries = [static.get(word, word) for word in description if word != "-lhexad"]
        run(
            [
                *compiler,
                "-shared",
                "-o",
                target,
                *objects,
                prefix / "lib" / "libhexad.a",
                *libraries,
                "-Wl,--exclude-libs,ALL",
                "-Wl,--gc-sections",
                "-Wl,--strip-debug",
                # The old kind of run path holds for what the libraries themselves need, too.
                "-Wl,--disable-new-dtags,-rpath,$ORIGIN/_libs",
            ]
        )
        bundle(target, target.parent / "_libs")


def bundle(module, folder):
    """Copies the libraries that the module needs and that are not everywhere."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    listing = subprocess.run(["ldd", module], check=True, capture_output=True, text=True).stdout
    for name, path in re.findall(r"^\s*(\S+) => (\S+)", listing, re.M):
        if path == "not":
            sys.exit(f"hexad: {name} is missing; type {TOP / 'run'} setup, then try again")
        if not EVERYWHERE.match(name):
            print(f"bundling {path}", flush=True)
            shutil.copyfile(path, folder / name)


(HERE / ".build").mkdir(exist_ok=True)
setup(
    ext_modules=[Extension("hexad._native", sources=[])],
    cmdclass={"build_py": BuildPython, "build_ext": BuildNative},
)
