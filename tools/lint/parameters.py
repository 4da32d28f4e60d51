#!/usr/bin/env python3
"""Checks that no function of a library's header takes a bool, nor a std::function of one does.

Who reads `check(blob, true)` cannot tell what is true. An enum class with speaking values says so,
or two functions do, or a Status where it is an outcome:

  check(blob, BadCells::kRebuilt)

Where a call names a variable that it has filled in, a bool& or bool*, it speaks for itself.
The check tries itself first.
"""

import os
import re
import sys

LIBRARIES = ["base", "io", "alloc", "ec", "compression", "kv", "core"]

# "header: the parameter" and the reason.
ALLOWED = {}

# Comments and texts, which may say anything.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
# Behind the beginning of a list of parameters or a comma in it. Members and variables end otherwise,
# and so do bool& and bool*.
PARAMETER = re.compile(r"(?<=[(,])\s*(?:const\s+)?bool(?:\s+(?:const\s+)?(\w+))?\s*(?=[,)=])")
# What a statement declares is none.
STATEMENT = re.compile(r"\b(?:if|for|while|switch|HEXAD_TRY_ASSIGN) ?\($")
# Lists of types of templates, whose commas are none of parameters.
IN_TEMPLATE = re.compile(r"<[^<>();{}]*>")


def blank(match):
    """As many lines, and as much room."""
    return re.sub(r"[^\n]", " ", match[0])


def parameters(text):
    """The line of each, and its name; "bool" where it has none."""
    text = NO_CODE.sub(blank, text)
    while (without := IN_TEMPLATE.sub(blank, text)) != text:
        text = without
    for match in PARAMETER.finditer(text):
        if STATEMENT.search(text, max(0, match.start() - 20), match.start()):
            continue
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        yield text.count("\n", 0, start) + 1, match[1] or "bool"


def headers():
    for top in LIBRARIES:
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                if name.endswith(".h"):
                    yield os.path.join(folder, name)


def self_test():
    found = """
Status check(const Blob& blob, bool repair) const;
explicit Task(bool needs) : needs_(needs) {}
void find(std::string subject,
          const bool repaired = false) {
virtual void completed(const IoBatch*, bool) = 0;
std::function<void(const std::string& name,
                   bool ranges)>
void put(std::map<int, bool> all, bool offered, int more);
"""
    other = """
bool is_open() const { return open_; }
Result<bool> step() override;
bool done = false;  // (bool x, bool y)
void choose(const Need& need, bool& waiting);
void get(std::string_view key, bool* newest = nullptr);
void start(const std::vector<bool>& left, std::function<bool()> go_on);
explicit operator bool() const { return ok(); }
std::map<Place, bool> forwarded;
static_cast<bool>(x);
for (bool first = true; more(); first = false) {
  HEXAD_TRY_ASSIGN(const bool more, visit(key));
"""
    names = [name for _, name in parameters(found)]
    wanted = ["repair", "needs", "repaired", "bool", "ranges", "offered"]
    if names != wanted or [line for line, _ in parameters(found)] != [2, 3, 5, 6, 8, 9]:
        sys.exit(f"{sys.argv[0]}: of bool parameters it finds {list(parameters(found))}")
    if passed := list(parameters(other)):
        sys.exit(f"{sys.argv[0]}: it takes for bool parameters what are none: {passed}")


def main():
    self_test()
    found = 0
    seen = set()
    for path in headers():
        with open(path, encoding="utf-8") as source:
            for line, name in parameters(source.read()):
                seen.add(f"{path}: {name}")
                if f"{path}: {name}" in ALLOWED:
                    continue
                print(f"{path}:{line}: a bool parameter, {name}: a call does not say what is true; take an "
                      f"enum class, a Status or two functions, or name it in {sys.argv[0]} with the reason")
                found += 1
    for gone in sorted(set(ALLOWED) - seen):
        print(f"{gone} is gone; take it out of the list in {sys.argv[0]}")
        found += 1
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
