"""Which tests one build is enough for: tags_of(tags, deps).

A module that only computes does the same whether optimised or not; what its tests could miss is what
AddressSanitizer sees. So `./run test` builds and runs them there alone, and `./run prove` runs them as
shipped, too. Not those that are left out or make fewer runs under sanitizers: these stay in both.
"""

_MODULES = [
    "alloc",
    "base",
    "core/blob",
    "core/check",
    "core/clean",
    "core/job",
    "core/jobs",
    "core/membership",
    "core/metadata",
    "core/plan",
    "core/record",
    "core/runs",
    "core/space",
    "kv",
]

def tags_of(tags, deps):
    """The tags of a test program of this package, with `computing` where that holds."""
    if "//tests/base:thinned" in deps or "no-asan" in tags or "asan-in-prove" in tags:
        return tags
    package = native.package_name() + "/"
    for module in _MODULES:
        if package.startswith("tests/%s/" % module):
            return tags + ["computing"]
    return tags
