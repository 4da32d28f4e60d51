"""Libraries of Debian that a build uses when they are installed and does without when not."""

def _optional_library_impl(context):
    missing = [header for header in context.attr.headers if not context.path(header).exists]
    context.file("BUILD", """\
cc_library(
    name = "library",
    defines = {defines},
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
""".format(
        defines = repr([] if missing else [context.attr.define]),
        linkopts = repr([] if missing else context.attr.link),
    ))

# @NAME//:library. Whoever depends on it sees `define` when all `headers` (absolute paths) are
# there. What has been installed since the last look is found after `bazel sync --configure`.
optional_library = repository_rule(
    implementation = _optional_library_impl,
    attrs = {
        "define": attr.string(mandatory = True),
        "headers": attr.string_list(mandatory = True),
        "link": attr.string_list(mandatory = True),
    },
    configure = True,
    local = True,
)
