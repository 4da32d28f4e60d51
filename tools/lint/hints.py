#!/usr/bin/env python3
"""Checks that the commands and options that messages and hints name exist.

Every text of the C++ and Python sources is looked at, with those that stand beside it as one: what
says "hexad VERB" has to name a verb of tools/verbs/table.cc, and a --option one that this verb takes
or, where the text names no verb, one that some verb takes. Behind a verb that works on a pool stands POOL,
which the command line replaces by what it was given (tools/cli/commands.h), or what is put in.
"""

import re
import subprocess
import sys

# What follows the name of the program in texts that are no commands.
NOUNS = {"pool", "store", "device", "mapping", "transaction", "that"}
# The first line of a file.
NO_COMMANDS = {'"hexad export record 1"'}
# Of the programs that this tree consists of besides the command line, and of others.
FOREIGN_OPTIONS = {"--version", "--help"}
SOURCES = tuple(
    folder + "/" for folder in ("base", "io", "ec", "compression", "alloc", "kv", "core", "tools/cli",
                                "tools/verbs", "tools/import_export", "tools/erasure", "tools/bench",
                                "python/hexad", "python/native"))

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TEXT = re.compile(rf"{LITERAL}(?:\s*(?:\n\s*)?f?{LITERAL})*")
COMMENT = re.compile(rf"({LITERAL})|//[^\n]*")
COMMAND = re.compile(r"\bhexad ((?!-)[a-z]+(?:-[a-z]+)*)(?: ([a-z]+(?:-[a-z]+)*))?")
# POOL, the new pool that the reader is to make, an example's, or what the program puts there.
POOL = re.compile(r' (?:POOL|NEW|/pool|--help|\{|"$)')
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]")
DECLARED = re.compile(
    r"\b(?:arguments|app)\s*\.\s*"
    r'(?:option|option_list|repeated|flag|number|size|add_option|add_flag)\(\s*"([^"]*)"'
)
VERB = re.compile(r'VerbEntry\{"([a-z -]+)", PoolUse::(\w+),.*?(make_\w+)\}', re.S)


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def without_comments(text):
    return COMMENT.sub(lambda found: found[1] or "", text)


def options_in(text):
    return {name for names in DECLARED.findall(text) for name in names.split(",") if name[:2] == "--"}


def verbs_and_options(paths):
    """The options of each verb, and which of them work on a pool. A verb's are in the file that makes it, or what that declares by."""
    table = VERB.findall(read("tools/verbs/table.cc"))
    everywhere = options_in(read("tools/cli/verb.cc")) | FOREIGN_OPTIONS
    pool = options_in(read("tools/cli/command_line.cc"))
    texts = {path: read(path) for path in paths if path.startswith("tools/")}
    shared = set()  # declared beside the verbs, by what several of them use
    for path, text in texts.items():
        if "Verb> make_" not in text and not path.startswith("tools/cli/"):
            shared |= options_in(text)
    # Declares them from a table.
    shared |= set(re.findall(r'"(--[a-z-]+)"', texts["tools/cli/collection_settings.cc"]))
    verbs = {}
    of_pools = {name for name, use, _ in table if use == "kRequired"}
    for name, use, maker in table:
        (maker_file,) = [p for p, text in texts.items()
                         if p.endswith(".cc") and f"Verb> {maker}() {{" in text]
        verbs[name] = everywhere | options_in(texts[maker_file]) | shared
        if use == "kRequired":
            verbs[name] |= pool
    return verbs, of_pools


def problems(text, verbs, of_pools):
    if text in NO_COMMANDS:
        return
    firsts = {name.split()[0] for name in verbs}
    named = []
    for command in COMMAND.finditer(text):
        first, second = command.groups()
        if first not in firsts:
            if first not in NOUNS:
                yield f"'hexad {first}' is no verb"
            continue
        whole = f"{first} {second}"
        if first not in verbs and whole not in verbs:
            if second or first not in NOUNS:
                yield f"'hexad {whole}' is no verb"
            continue
        named.append(whole if whole in verbs else first)
        end = command.end() if whole in verbs else command.end(1)
        if named[-1] in of_pools and not POOL.match(text, end):
            yield f"no POOL behind 'hexad {named[-1]}'"
    for option in OPTION.findall(text):
        takers = named or verbs
        if not any(option in verbs[verb] for verb in takers):
            yield f"no option {option} of {', '.join(named) or 'any verb'}"


def main():
    listing = subprocess.run(["tools/lint/sources.sh", "*.cc", "*.h", "*.py"], check=True,
                             capture_output=True, text=True)
    paths = [path for path in listing.stdout.split() if path.startswith(SOURCES)]
    verbs, of_pools = verbs_and_options(paths)
    found = checked = 0
    for path in paths:
        source = read(path)
        if path.endswith(".py"):
            source = re.sub(r'""".*?"""', "", source, flags=re.S)
        else:
            source = without_comments(source)
        for text in TEXT.finditer(source):
            joined = "".join(re.findall(LITERAL, text[0])).replace('""', "")
            checked += bool(COMMAND.search(joined) or OPTION.search(joined))
            for what in problems(joined, verbs, of_pools):
                print(f"{path}: {what}: {joined}")
                found += 1
    if checked < 50:
        print(f"tools/lint/hints.py: only {checked} texts name commands: it looks past them")
        found += 1
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
