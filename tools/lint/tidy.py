#!/usr/bin/env python3
"""clang-tidy with the checks of .clang-tidy: tidy.py [FILE.cc...]

Without arguments: every .cc file but tests and benchmarks, whose macros it judges as if they were ours.

Nearly all of its time goes into system headers, which it parses and walks once per program. So
several files of a folder are judged as one program that includes them. Names that two files define,
each in a namespace without name, would clash there: the later of the two waits for another program.
"""

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

FOLDERS = ("base/", "io/", "alloc/", "ec/", "compression/", "kv/", "core/", "tools/")
FLAGS = ["-std=c++20", "-march=x86-64-v2", "-I.", "-isystem", "/usr/include/jerasure", "-Wreserved-identifier", "-Wreserved-macro-identifier", "-Wthread-safety"]
TOGETHER = 10


def sources():
    found = subprocess.run(["tools/lint/sources.sh", "*.cc"], stdout=subprocess.PIPE, check=True, text=True)
    return [
        path
        for path in found.stdout.split()
        if path.startswith(FOLDERS) and not path.endswith(("_test.cc", "_benchmark.cc"))
    ]


def including(files, program):
    with open(program, "w", encoding="utf-8") as out:
        out.writelines(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in files)


def clashing(files, program):
    """Those of `files` that do not compile after the ones before them."""
    including(files, program)
    command = ["clang++-14", "-fsyntax-only", "-w", "-ferror-limit=0", *FLAGS, program]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False, text=True)
    named = re.findall(r"^(?:\./)?(\S+\.cc):\d+:\d+: (?:fatal )?error: ", done.stderr, re.MULTILINE)
    return set(named) & set(files[1:])


def judge(files):
    """True when clang-tidy has nothing against `files`."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "together.cc")
        while files:
            later = clashing(files, program) if len(files) > 1 else set()
            now = [file for file in files if file not in later]
            including(now, program)
            command = ["clang-tidy-14", "--quiet", "--config-file=.clang-tidy", program, "--", *FLAGS]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
            if done.returncode != 0:
                good = False
                advice = "clang-tidy objects; change it, or say why not with NOLINT(check): reason"
                print(f"{done.stdout or done.stderr}{' '.join(now)}: {advice}", flush=True)
            files = [file for file in files if file in later]
    return good


def main(files):
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    files = files or sources()
    groups = [files[start : start + TOGETHER] for start in range(0, len(files), TOGETHER)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # The commands come last and include most: begun last, one of them would run alone at the end.
        return 0 if all(list(pool.map(judge, reversed(groups)))) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
