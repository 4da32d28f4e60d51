"""Rules for what tools/install lays down.

    load("//tools/packaging:archive.bzl", "header_files", "static_archive")

    static_archive(name = "libhexad.a", deps = ["//core:hexad"])
    header_files(name = "headers", deps = ["//core:hexad"])
"""

def _static_archive_impl(ctx):
    archives = []
    for dep in ctx.attr.deps:
        for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list():
            for library in linker_input.libraries:
                archive = library.pic_static_library or library.static_library
                if archive:
                    archives.append(archive)
    out = ctx.actions.declare_file(ctx.label.name)
    script = ["CREATE " + out.path]
    script += ["ADDLIB " + archive.path for archive in archives]
    script += ["SAVE", "END"]
    ctx.actions.run_shell(
        outputs = [out],
        inputs = archives,
        # ar's script language is the one way to join archives whose members share names.
        command = "ar -M <<'END_OF_SCRIPT'\n%s\nEND_OF_SCRIPT\n" % "\n".join(script),
        mnemonic = "JoinArchives",
        progress_message = "Joining archives into %s" % ctx.label.name,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]), runfiles = ctx.runfiles(files = [out]))]

# One archive of everything that `deps` link statically, system libraries left out.
static_archive = rule(
    implementation = _static_archive_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def _header_files_impl(ctx):
    headers = depset(transitive = [
        dep[CcInfo].compilation_context.headers
        for dep in ctx.attr.deps
    ])

    # Headers of system packages are installed by those; what is no source serves our own build.
    ours = [
        header
        for header in headers.to_list()
        if header.is_source and not header.short_path.startswith("../")
    ]
    files = depset(ours)
    return [DefaultInfo(files = files, runfiles = ctx.runfiles(files = ours))]

# Every header of this tree that users of `deps` could include.
header_files = rule(
    implementation = _header_files_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)
