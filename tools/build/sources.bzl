"""The sources that a program is made of: for tests that read what it says.

    load("//tools/build:sources.bzl", "sources_of")

    sources_of(name = "hexad_sources", deps = ["//tools:hexad"])
"""

_Sources = provider(fields = ["files"])

def _of_target(target, ctx):
    own = [
        file
        for attribute in ["srcs", "hdrs"]
        for file in getattr(ctx.rule.files, attribute, [])
        if file.is_source and not file.path.startswith("external/")
    ]
    below = [
        dep[_Sources].files
        for dep in getattr(ctx.rule.attr, "deps", [])
        if _Sources in dep
    ]
    return [_Sources(files = depset(own, transitive = below))]

_collect = aspect(implementation = _of_target, attr_aspects = ["deps"])

def _sources_of(ctx):
    files = depset(transitive = [dep[_Sources].files for dep in ctx.attr.deps])
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(transitive_files = files))]

sources_of = rule(
    implementation = _sources_of,
    attrs = {"deps": attr.label_list(aspects = [_collect])},
)
