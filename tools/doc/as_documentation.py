#!/usr/bin/env python3
"""Prints a header with its comments as Doxygen wants them: as_documentation.py FILE.

A comment on lines of its own documents what follows (///); one behind a declaration documents that
(///<), with the lines below it that go on where it began. What a header begins with is about the
file, and that of core/hexad.h is the main page. In comments, lines that are indented further are code, `words` in backticks too, a line that
begins with "- " is an item of a list, and the names of paragraphs ("Errors:") are set in bold. What else
Doxygen would take for a command is escaped. Headings of the source, set apart by dashes, stay
comments. A field below another one of its type that has a comment shares it. Constructors and operators that copy or move, and destructors, are left out unless they
have a comment: the class says whether it is copied or moved.

Every line stays where it is, so that a warning names the right one.
"""

import os
import re
import sys

MAIN_PAGE = "hexad.h"

OWN_LINE = re.compile(r"^(\s*)//(?!/) ?(.*)$")
BEHIND = re.compile(r"^([^#}].*[;,{}\w)])(\s+)//(?!/) ?(.*)$")
NOT_FOR_READERS = re.compile(r"// ?(---|IWYU|NOLINT)")
PARAGRAPH = re.compile(r"^(Cost|Errors|Threads|Cost and errors|Precondition):(?= |$)")
CODE = re.compile(r"^ {2,}(?=\S)")
SPECIAL = re.compile(
    r"^\s*(?:~\w+\(\)|(\w+)\((?:const )?\1&&?(?: \w+)?\)"
    r"|(\w+)& operator=\((?:const )?\2&&?(?: \w+)?\))(?: noexcept)?(?: = \w+)?;$"
)

FIELD = re.compile(r"^\s+([\w:][\w:<>, ]*) \w+(?: = [^;]+)?;$")


def escaped(text):
    """What Doxygen shows as `text`."""
    text = re.sub(r"([\\@<>&#%])", r"\\\1", text)
    text = text.replace("--", r"\--")
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return PARAGRAPH.sub(r"<b>\g<0></b>", text)


def block(texts):
    """What stands behind the slashes of one comment, as Doxygen wants it."""
    out = []
    before = ""
    for number, text in enumerate(texts):
        after = texts[number + 1] if number + 1 < len(texts) else ""
        is_code = CODE.match(text) and (not before or before == "code")
        if is_code:
            text = text[2:]
            begin = "" if before else "@code{.cpp}"
            end = "" if CODE.match(after) else " @endcode"
            out.append(begin + text + end)
        else:
            out.append(" " + escaped(text))
        before = "code" if is_code else text
    return out


def documentation(lines, about="@file"):
    """`about`: the command that says what the comment at the beginning is about."""
    lines = list(lines)
    pending = []  # lines of a comment that stands alone
    column = None  # of a comment behind a declaration, with which the next line may go on
    shared = None  # the type of a field that has a comment above it, on the line before

    def flush():
        for own, text in zip(pending, block([own[2] for own in pending])):
            yield f"{own[1]}///{text}".rstrip()
        pending.clear()

    for line in lines:
        own, behind = OWN_LINE.match(line), BEHIND.match(line)
        if own and not NOT_FOR_READERS.search(line) and len(own[1]) != column:
            column = None
            pending.append(own)
            continue
        documented = bool(pending)
        yield from flush()
        field = FIELD.match(line)
        if field and not documented and field[1] == shared:
            yield f"{line}  ///< As the one above it."
            continue
        shared = field[1] if field and documented else None
        if NOT_FOR_READERS.search(line):
            yield line
            column = None
        elif own:
            yield f"{own[1]}///< {escaped(own[2])}"
        elif behind:
            yield f"{behind[1]}{behind[2]}///< {escaped(behind[3])}"
            column = len(behind[1]) + len(behind[2])
        else:
            if line == "#pragma once":
                line = f"/// {about}" if documented else ""
            elif SPECIAL.match(line) and not documented:
                line = ""
            yield line
            column = None
    yield from flush()


def main():
    about = "@mainpage" if os.path.basename(sys.argv[1]) == MAIN_PAGE else "@file"
    with open(sys.argv[1], encoding="utf-8") as source:
        for line in documentation(source.read().splitlines(), about):
            print(line)


if __name__ == "__main__":
    main()
