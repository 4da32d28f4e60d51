"""The commands that texts name: in the sources, and as the program prints them.

A text of a source is a string, joined with those that stand beside it; what is put into it while the
program runs, as `" + word + "` or `{}`, is a HOLE in it. Where a command ends the help of its verb
tells: prose follows it without a mark.
"""

import re

HOLE = "\x00"
# What stands for something that the reader has to choose, as POOL, NEW or PATH...
PLACEHOLDER = re.compile(r"[A-Z]+(?:\.\.\.)?")

_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ESCAPE = re.compile(r"\\(.)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def _plain(literal):
    text = _ESCAPE.sub(lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), literal[1:-1])
    return re.sub(r"\{[^{}]*\}", HOLE, text)


def _added(source, at):
    """Behind what is added at `at`, between two strings or behind the last: its end."""
    depth = 0
    while at < len(source):
        char = source[at]
        if char in "([":
            depth += 1
        elif char in ")]":
            if depth == 0:
                return at
            depth -= 1
        elif char == ":" and source[at : at + 2] == "::":
            at += 1
        elif depth == 0 and (char in ',;?:{}"' or (char == "+" and source[at + 1] != "+")):
            return at
        elif char == '"':
            at = _LITERAL.match(source, at).end() - 1
        at += 1
    return at


def texts(source):
    """All strings of a C++ source, each joined with what is added to it."""
    at = 0
    while True:
        quote = source.find('"', at)
        if quote < 0:
            return
        comment = _COMMENT.search(source, at)
        if comment is not None and comment.start() < quote:
            at = comment.end()
            continue
        first = _LITERAL.match(source, quote)
        if first is None or source[quote - 1 : quote + 2] == "'\"'":
            at = quote + 1
            continue
        joined = _plain(first[0])
        at = first.end()
        while True:
            space = re.compile(r"\s*").match(source, at).end()
            more = _LITERAL.match(source, space)
            if more is not None:
                joined += _plain(more[0])
                at = more.end()
            elif source[space : space + 1] == "+" and source[space + 1 : space + 2] not in "+=":
                start = re.compile(r"\s*").match(source, space + 1).end()
                if source[start : start + 1] == '"':
                    at = start
                    continue
                at = _added(source, start)
                joined += HOLE
            else:
                break
        yield joined


class Verb:
    """What the help of a verb says about the words that it takes."""

    def __init__(self, name, help_text):
        self.name = name
        self.positionals = []  # names; of one that may be repeated the last is "..."
        self.required = 0  # how many of them there have to be
        self.options = {}  # whether a value follows
        section = None
        for line in help_text.splitlines():
            if re.match(r"[A-Z][a-z]+:", line):
                section = line.rstrip(":").split(":")[0]
            elif section == "Positionals" and re.match(r"  [A-Z]", line):
                words = line[2:].split("  ")[0].split()
                self.positionals.append(words[0])
                self.required += "REQUIRED" in words
                if "..." in words:
                    self.positionals.append("...")
            elif section == "Options" and re.match(r"  -", line):
                words = line[2:].split("  ")[0].split()
                for option in words[0].split(","):
                    self.options[option] = len(words) > 1

    @property
    def needs_pool(self):
        return self.positionals[:1] == ["POOL"]

    def positional(self, number):
        """The name of the positional with this number; None behind the last."""
        if number < len(self.positionals) and self.positionals[number] != "...":
            return self.positionals[number]
        if self.positionals[-1:] == ["..."]:
            return self.positionals[-2]
        return None

    def may_end(self, number):
        """Whether the command may end before the positional with this number."""
        return number >= self.required


class Verbs:
    def __init__(self, verbs):
        self.by_name = {verb.name: verb for verb in verbs}
        names = sorted(self.by_name, key=len, reverse=True)
        self._begin = re.compile(r"\bhexad (" + "|".join(map(re.escape, names)) + r")(?![\w-])")

    def commands_in(self, text):
        """(verb, words behind it) of each command that the text names."""
        found = []
        for begin in self._begin.finditer(text):
            verb = self.by_name[begin[1]]
            found.append((verb, _words_behind(verb, text[begin.end():])))
        return found


_WORD = re.compile(r" ((?:\$'(?:[^'\\]|\\.)*'|'[^']*'|\\.|[^\s'\\])+)")
_END = re.compile(r"[.,;:)]+$")


def _is_prose(word, verb, number):
    """Whether a word in the place of a positional is one of the sentence around the command."""
    chosen = word.strip(HOLE) == "" or PLACEHOLDER.fullmatch(word)
    if verb.positional(number) is None:
        return not chosen  # one too many, which the program refuses
    if HOLE in word or PLACEHOLDER.fullmatch(word) or not word.isalpha() or not word.islower():
        return False
    # A name may look like a word of the sentence. One that has to be there is the name; POOL is a path.
    return number == 0 or verb.may_end(number)


def _words_behind(verb, rest):
    words = []
    number = 0
    value = False  # the value of an option comes next
    while True:
        found = _WORD.match(rest)
        if found is None:
            return words
        whole = found[1]
        word = _END.sub(lambda end: "..." if end[0].startswith("...") else "", whole)
        ended = word != whole
        if not value and word.startswith("-"):
            option, _, given = word.partition("=")
            if option not in verb.options:
                return [*words, word]  # which the program refuses
            value = verb.options[option] and not given
        elif value:
            value = False
        elif _is_prose(word, verb, number):
            return words
        else:
            number += 1
        words.append(word)
        if ended:
            return words
        rest = rest[found.end():]
