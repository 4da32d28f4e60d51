#!/usr/bin/env python3
"""Writes compile_commands.json, by which clangd and other readers of C++ know how each file is compiled.

    ./run compile-commands

Asks Bazel for its compile commands of the optimised build, and leaves out the precompiled headers: those are
GCC's, and no file needs them.
"""

import json
import os
import re
import subprocess
import sys


def ask(*arguments):
    return subprocess.run(["bazel", *arguments], stdout=subprocess.PIPE, check=True, text=True).stdout


def without_precompiled(arguments):
    """The command without `-include tools/build/precompiled_*.h`."""
    kept = []
    for word in arguments:
        if re.fullmatch(r"tools/build/precompiled_\w+\.h", word) and kept and kept[-1] == "-include":
            kept.pop()
        elif word != "-Winvalid-pch":
            kept.append(word)
    return kept


def entries(actions, top, root):
    """One for each source; a file of several targets is compiled alike in all of them."""
    found = {}
    for action in actions:
        arguments = without_precompiled(action.get("arguments", []))
        source = next((word for word in arguments if word.endswith((".cc", ".cpp", ".c"))), None)
        if source is None or source.startswith(("external/", "bazel-out/")):
            continue
        path = os.path.join(top, source)
        arguments = [path if word == source else word for word in arguments]
        found[source] = {"directory": root, "file": path, "arguments": arguments}
    return [found[source] for source in sorted(found)]


def main():
    options = ["--config=opt"]
    answer = json.loads(ask("aquery", *options, "--output=jsonproto", 'mnemonic("CppCompile", //...)'))
    root = ask("info", *options, "execution_root").strip()
    commands = entries(answer["actions"], os.getcwd(), root)
    with open("compile_commands.json", "w", encoding="utf-8") as out:
        json.dump(commands, out, indent=1)
    print(f"compile_commands.json: {len(commands)} files. Build once, so that generated headers are there.")


if __name__ == "__main__":
    sys.exit(main())
