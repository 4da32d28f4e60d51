"""A header parsed once for each configuration instead of once for each file.

    load("//tools/build:precompiled.bzl", "precompiled_header")

    precompiled_header(
        name = "library",
        includes = ["<string>", "<vector>"],
        copts = [...],
    )

What depends on it and is compiled with `-include PACKAGE/library.h` reads the compiler's state after
these includes from a file. GCC takes that file only when the options are the same, so `copts` has to
be what the users' copts are; a difference is an error where -Winvalid-pch and -Werror are given.

No file may lean on it: each still includes what it uses. tools/lint compiles headers, and clang-tidy
reads sources, without it.
"""

load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _precompiled_header_impl(ctx):
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    ctx.actions.write(
        header,
        "".join(["#include %s\n" % include for include in ctx.attr.includes]),
    )

    included = cc_common.merge_cc_infos(
        cc_infos = [dep[CcInfo] for dep in ctx.attr.deps],
    ).compilation_context
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    precompiled = ctx.actions.declare_file(ctx.label.name + ".h.gch")
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        source_file = header.path,
        output_file = precompiled.path,
        # In the order of cc_library: the command line's options, then the rule's.
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + ctx.attr.copts +
                             ["-x", "c++-header"] +
                             # It then knows what it was made of, for -fpch-deps.
                             (["-MD", "-MF", "/dev/null"] if ctx.attr.changes else []),
        include_directories = included.includes,
        quote_include_directories = included.quote_includes,
        system_include_directories = included.system_includes,
        preprocessor_defines = included.defines,
        use_pic = True,  # as all that is compiled here: .bazelrc
    )
    ctx.actions.run(
        outputs = [precompiled],
        inputs = depset([header], transitive = [toolchain.all_files, included.headers]),
        executable = cc_common.get_tool_for_action(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
        ),
        arguments = cc_common.get_memory_inefficient_command_line(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = CPP_COMPILE_ACTION_NAME,
            variables = variables,
        ),
        use_default_shell_env = True,
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling %s" % header.short_path,
    )

    return [
        DefaultInfo(files = depset([header, precompiled])),
        CcInfo(compilation_context = cc_common.create_compilation_context(
            headers = depset([header, precompiled], transitive = [included.headers]),
        )),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    attrs = {
        "includes": attr.string_list(
            mandatory = True,
            doc = "As they stand after #include, brackets or quotes included.",
        ),
        "deps": attr.label_list(
            providers = [CcInfo],
            doc = "What has those of `includes` that are not the compiler's or the system's.",
        ),
        "changes": attr.bool(
            doc = "It has headers of ours. Those who use it are compiled with -fpch-deps: GCC does " +
                  "not name its headers as what they depend on without that, and Bazel forgets what " +
                  "is not named.",
        ),
        "copts": attr.string_list(doc = "The options of the rules that use it."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    incompatible_use_toolchain_transition = True,
)
