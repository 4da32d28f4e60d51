"""Rules every module uses, so that one set of warnings holds everywhere.

    load("//tools/build:hexad.bzl", "hexad_library", "hexad_test")

    hexad_library(name = "result", hdrs = ["result.h"], srcs = ["result.cc"], deps = [":error"])
    hexad_test(name = "result_test", srcs = ["result_test.cc"], deps = [":result"])

Includes are written from the top of the tree: #include "base/result.h".
The language version, optimisation and sanitizers come from .bazelrc.
"""

load("//tools/build:computing.bzl", "tags_of")

WARNINGS = [
    "-Werror",
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wcast-align",
    "-Wvla",
    "-Wundef",

    # GCC 12 reports these about code that is right (std::string concatenation,
    # inlined memcpy) as soon as it optimises or instruments.
    "-Wno-restrict",
    "-Wno-array-bounds",
    "-Wno-stringop-overflow",
    "-Wno-stringop-overread",
    "-Wno-maybe-uninitialized",
    "-Wno-dangling-pointer",
]

# A number cut short is how a store loses data, so libraries may not narrow
# silently. Tests and tools may: they are full of small literals.
_LIBRARY_WARNINGS = WARNINGS + [
    "-Wconversion",
    "-Wno-sign-conversion",
]

# Test programs are half of what the sanitizers compile, and instrumenting the checks themselves for
# undefined behaviour would double that; what they link is instrumented. Catch's macros compile
# faster when they do not catch what an expression throws: it fails the case all the same.
TEST_COPTS = WARNINGS + [
    "-fno-sanitize=undefined",
    "-DCATCH_CONFIG_FAST_COMPILE",
]

# What a test program links is optimised as the configuration says; its own code is run once.
TEST_OPTIMISATION = select({
    "//tools/build:sanitizer": ["-O0"],
    "//conditions:default": ["-O1"],
})

# Line numbers are four fifths of a test program, and hundreds of those are written to disk at a time
# when tests wait for it. Sanitizers print them.
_TEST_LINKOPTS = select({
    "//tools/build:sanitizer": [],
    "//conditions:default": ["-Wl,--strip-debug"],
})

# Half the time of compiling a file went into the same few headers: precompiled.bzl.
def _precompiled(name, package = "tools/build"):
    return struct(
        copts = ["-Winvalid-pch", "-include", "%s/precompiled_%s.h" % (package, name)],
        deps = ["//%s:precompiled_%s" % (package, name)],
    )

_PRECOMPILED_TEST = _precompiled("test")

def _precompiled_for(deps):
    return _precompiled("program" if "//third_party:json" in deps else "library")

def hexad_library(name, deps = [], copts = [], precompiled = None, **kwargs):
    """A cc_library with our warnings.

    Where most files of a package include the same large header of it, a precompiled_header called
    precompiled_NAME in that package saves them that: precompiled = NAME.
    """
    kwargs.setdefault("visibility", ["//visibility:public"])
    # Of headers of ours: precompiled.bzl, `changes`.
    own = ["-fpch-deps"] if precompiled else []
    precompiled = _precompiled(precompiled, native.package_name()) if precompiled else _precompiled_for(deps)
    native.cc_library(
        name = name,
        copts = _LIBRARY_WARNINGS + precompiled.copts + own + copts,
        deps = deps + precompiled.deps,
        **kwargs
    )

def hexad_test_library(name, copts = [], **kwargs):
    """A cc_library that only tests and benchmarks may depend on."""
    kwargs.setdefault("visibility", ["//visibility:public"])
    native.cc_library(
        name = name,
        testonly = True,
        copts = TEST_COPTS + copts,
        **kwargs
    )

def hexad_test(name, deps = [], copts = [], linkopts = [], size = "small", tags = [], **kwargs):
    """A Catch2 test program; main() is Catch2's.

    Tags that tools/test_parts look at: `slow` (left out of the parts `unit` and
    `asan`), `concurrent` (also run under ThreadSanitizer), `crash` (run in that
    part only), `ceph` (likewise; it needs a cluster), `ceph-in-prove` (those of it that
    `./run prove` runs alone), `no-asan`, `asan-in-prove`
    (under AddressSanitizer in `./run prove` alone, since it takes long there).
    computing.bzl adds `computing`. Single cases tagged `[one-thread]` are left out
    under ThreadSanitizer.
    """
    native.cc_test(
        name = name,
        size = size,
        tags = tags_of(tags, deps),
        copts = TEST_COPTS + TEST_OPTIMISATION + _PRECOMPILED_TEST.copts + copts,
        linkopts = _TEST_LINKOPTS + linkopts,
        deps = deps + _PRECOMPILED_TEST.deps + ["//third_party:catch2_main"],
        **kwargs
    )

def hexad_binary(name, deps = [], copts = [], **kwargs):
    """A cc_binary with our warnings."""
    kwargs.setdefault("visibility", ["//visibility:public"])
    precompiled = _precompiled_for(deps)
    native.cc_binary(
        name = name,
        copts = WARNINGS + precompiled.copts + copts,
        deps = deps + precompiled.deps,
        **kwargs
    )

def hexad_benchmark(name, deps = [], copts = [], size = "small", tags = [], **kwargs):
    """A Google Benchmark program; main() is the library's.

    It is a test as well, tagged `bench`: there it runs every benchmark just
    long enough to see that it works. `./run bench` measures.
    """
    kwargs.setdefault("visibility", ["//visibility:public"])
    precompiled = _precompiled_for(deps)
    native.cc_test(
        name = name,
        size = size,
        copts = WARNINGS + precompiled.copts + copts,
        args = ["--benchmark_min_time=0.001"],
        tags = tags + ["bench"],
        deps = deps + precompiled.deps + ["//third_party:benchmark_main"],
        **kwargs
    )

def hexad_fuzz_test(name, deps = [], copts = [], corpus = [], runs = 4000, size = "medium", tags = [], **kwargs):
    """A fuzz target; `srcs` define LLVMFuzzerTestOneInput, and may define fuzz_seeds().

    Usually it is a test of `runs` inputs: `corpus` and the seeds of the target, cut and damaged, the
    same ones each time. With --config=fuzz it is a libFuzzer program that begins with them:
        bazel run --config=fuzz //tests/kv/log:log_scan_fuzz_test -- -max_total_time=60
    """
    files = ["$(location %s)" % label for label in corpus]
    native.cc_test(
        name = name,
        size = size,
        copts = WARNINGS + copts,
        args = select({
            "//tools/build:libfuzzer": ["-runs=10000"] + (
                ["-seed_inputs=" + ",".join(files)] if files else []
            ),
            "//conditions:default": ["--runs=%d" % runs] + files,
        }),
        data = corpus,
        linkopts = select({
            "//tools/build:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        tags = tags_of(tags, deps) + ["fuzz"],
        deps = deps + ["//tools/build:fuzz_seeds"] + select({
            "//tools/build:libfuzzer": ["//tools/build:fuzz_libfuzzer"],
            "//conditions:default": ["//tools/build:fuzz_main"],
        }),
        **kwargs
    )
