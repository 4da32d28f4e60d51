#!/usr/bin/env python3
"""Every command that a text of the program names is one that its command line takes.

The texts are those of the sources that the program is made of, found by a program. Commands of them
are run on a pool that there is none of, what has to be chosen filled in: code 2 would say that they
can never succeed. hint_commands_test.py brings situations about and runs what is printed then.
"""

import os
import re
import tempfile
import unittest

import hint_texts
from cli_testing import DEVICES, hexad, main

# The texts that name a verb, and no command: what a file is, or who has made it.
NOT_TYPED = {
    "hexad export record 1",
    " holds something that is not of hexad bench scale: " + hint_texts.HOLE,
    hint_texts.HOLE + " was made by another version of hexad bench scale",
}
# Fewer would say that it looks past them.
AT_LEAST = 120


def verbs_of_the_program():
    listing = hexad("--help").text
    names = re.findall(r"^  ([a-z][a-z -]*?)  +\S", listing, re.M)
    return hint_texts.Verbs([hint_texts.Verb(name, hexad(*name.split(), "--help").text)
                             for name in names])


class HintForms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.verbs = verbs_of_the_program()
        cls.texts = []
        for folder, _, files in os.walk(".", followlinks=True):
            for name in sorted(files):
                path = os.path.join(folder, name)
                # The examples of the table are shown by --help, and run by cli_test.py.
                if path.endswith((".cc", ".h")) and not path.endswith("tools/verbs/table.cc"):
                    with open(path, encoding="utf-8") as source:
                        cls.texts += [(path[2:], text) for text in hint_texts.texts(source.read())]
        cls.commands = [(path, text, verb, words) for path, text in cls.texts if text not in NOT_TYPED
                        for verb, words in cls.verbs.commands_in(text)]

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hexad-hints-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def devices(self):
        for i in range(DEVICES):
            with open(self.path(f"device{i}"), "wb") as file:
                file.truncate(64 << 20)
        return [self.path(f"device{i}") for i in range(DEVICES)]

    def choose(self, verb, name):
        """Something for a positional, by its name in the help; None: there is none such."""
        if name == "POOL":
            return self.path("nowhere" if verb.name != "mkfs" else "made")
        if name == "ID":
            return "3"
        if name in ("DIR", "DIRECTORY"):
            return self.folder
        return self.path("new") if name in ("PATH", "FILE") else "x"

    def fill(self, verb, words):
        """The words as somebody would type them."""
        filled = []
        number = 0
        value = False
        for word in words:
            if word == "PATH...":
                filled += self.devices()
                value = False
                continue
            if word == "NAME=PATH...":  # two to a name
                filled += [f"shelf-{i // 2}={path}" for i, path in enumerate(self.devices())]
                value = False
                continue
            if not value and word.startswith("-"):
                value = verb.options.get(word, False)
                filled.append(word)
                continue
            if word.strip(hint_texts.HOLE) == "" or hint_texts.PLACEHOLDER.fullmatch(word):
                filled.append("1" if value else self.choose(verb, verb.positional(number)))
            else:
                filled.append(word)
            number += 0 if value else 1
            value = False
        return filled

    def test_the_texts_are_found(self):
        self.assertGreater(len(self.texts), 3000)
        self.assertGreater(len(self.commands), AT_LEAST)
        places = {path.split("/")[0] for path, *_ in self.commands}
        self.assertLessEqual({"core", "tools", "alloc", "io"}, places)
        self.assertLess(len(NOT_TYPED - {text for _, text in self.texts}), 1)

    def test_a_pool_is_named_where_one_is_needed(self):
        for path, text, verb, words in self.commands:
            if not verb.needs_pool or words == ["--help"]:
                continue
            with self.subTest(path=path, text=text):
                self.assertIn(words[:1], (["POOL"], ["NEW"], [hint_texts.HOLE]))

    def test_every_command_is_taken(self):
        done = {}
        for path, text, verb, words in self.commands:
            filled = self.fill(verb, words)
            key = (verb.name, *words)
            if key not in done:
                done[key] = hexad(*verb.name.split(), *filled)
            with self.subTest(path=path, text=text):
                self.assertIn(done[key].code, (0, 1), f"{filled}: {done[key].error}")


class Reading(unittest.TestCase):
    """Of what is found, and what is not."""

    @classmethod
    def setUpClass(cls):
        cls.verbs = verbs_of_the_program()

    def commands(self, text):
        return [(verb.name, words) for verb, words in self.verbs.commands_in(text)]

    def test_strings_are_joined(self):
        hole = hint_texts.HOLE
        source = '''
            // "not this" one
            a("one " "two",
              "three" + std::to_string(f(x, y)) + "four", c == '"' ? "five" : "six" + id);
            /* nor "this" */ b("seven\\"" + g("inside") + "eight" // "nor this"
                               "nine {} {:>3}");
        '''
        self.assertEqual(list(hint_texts.texts(source)),
                         ["one two", f"three{hole}four", "five", f"six{hole}",
                          f'seven"{hole}eight', f"nine {hole} {hole}"])

    def test_commands_end_where_prose_goes_on(self):
        self.assertEqual(self.commands("Run hexad fsck POOL."), [("fsck", ["POOL"])])
        self.assertEqual(self.commands("hexad fsck /pool --deep names all; hexad wait /p --for drain says"),
                         [("fsck", ["/pool", "--deep"]), ("wait", ["/p", "--for", "drain"])])
        self.assertEqual(self.commands("(hexad device clear-errors /pool 3 forgets these), then"),
                         [("device clear-errors", ["/pool", "3"])])
        self.assertEqual(self.commands("hexad stat '/a pool' $'it\\'s' --collection x"),
                         [("stat", ["'/a pool'", "$'it\\'s'", "--collection", "x"])])
        self.assertEqual(self.commands("(hexad mkfs POOL --device PATH...), and"),
                         [("mkfs", ["POOL", "--device", "PATH..."])])
        self.assertEqual(self.commands("with hexad mkfs POOL --device PATH... --force."),
                         [("mkfs", ["POOL", "--device", "PATH...", "--force"])])
        self.assertEqual(self.commands("a hexad device, hexad fscked, the hexad pool 1"), [])

    def test_what_the_command_line_does_not_take_is_seen(self):
        for wrong in (["--bogus"], ["one", "two"]):
            self.assertEqual(hexad("fsck", "/nowhere", *wrong).code, 2)
        self.assertEqual(hexad("device", "add", "/nowhere").code, 2)
        self.assertEqual(hexad("fsck", "/nowhere").code, 1)


if __name__ == "__main__":
    main()
