#!/usr/bin/env python3
"""What hints tell people to type works: the commands in them are run, on pools made for that.

tools/lint/hints.py sees to it that every text names verbs and options that there are.
"""

import os
import re
import shlex

from cli_testing import PoolTest, main


def commands_in(hint):
    """The commands of a hint, as words."""
    found = []
    for text in re.findall(r"\bhexad ([a-z][^;)]*)", hint):
        text = re.split(r" (?:shows|names|makes|lists)\b|\.(?: |$)", text)[0]
        found.append(shlex.split(text))
    return found


class Hints(PoolTest):
    def run_hint(self, failing, code, more=(), stdin=b"", **fill):
        """Lets a command fail and runs what its hint says, `more` behind it and POOL and the like filled
        in. Returns the answer.
        """
        fill.setdefault("POOL", self.pool)
        answer = self.expect(code, *failing, "--json", stdin=stdin)
        hint = answer.json["error"]["hint"]
        commands = commands_in(hint)
        self.assertEqual(len(commands), 1, (failing, hint))
        words = [fill.get(word, word) for word in commands[0]]
        return self.ok(*words, *more, stdin=stdin)

    def test_a_directory_is_imported(self):
        os.mkdir(self.path("tree"))
        self.write("tree/file", b"1")
        self.run_hint(["put", self.pool, "x", self.path("tree")], 2, DIR=self.path("tree"))
        self.assertEqual(self.ok("cat", self.pool, "file").raw, b"1")

    def test_a_guard_that_did_not_hold(self):
        self.ok("put", self.pool, "a b", "-", stdin=b"1")
        answer = self.run_hint(["put", self.pool, "a b", "-", "--if-absent"], 1, ["--json"])
        self.assertEqual(answer.json["name"], "a b")

    def test_a_collection_that_is_there_is_missing_or_full(self):
        self.run_hint(["ls", self.pool, "--collection", "new"], 1, [self.pool, "new"])
        self.run_hint(["bucket", "create", self.pool, "new"], 1)
        self.ok("put", self.pool, "a", "-", "--collection", "new", stdin=b"1")
        self.run_hint(["bucket", "rm", self.pool, "new"], 1)
        self.fails(1, "ls", self.pool, "--collection", "new")

    def test_an_attribute_that_is_missing_or_too_large(self):
        self.ok("put", self.pool, "it's", "-", stdin=b"1")
        self.ok("attr", "set", self.pool, "it's", "there", "1")
        self.assertIn("there", self.run_hint(["attr", "get", self.pool, "it's", "gone"], 1).text)
        large = bytes(1 << 20)
        self.run_hint(["attr", "set", self.pool, "it's", "large", "-"], 2, [self.pool, "large", "-"],
                      stdin=large)
        self.assertEqual(self.ok("cat", self.pool, "large").raw, large)

    def test_words_that_belong_to_each_other(self):
        self.assertIn("--prefix", self.run_hint(["rm", self.pool], 2).text)
        self.ok("put", self.pool, "b", "-", stdin=b"1")
        self.assertIn("--all", self.run_hint(["attr", "rm", self.pool, "b"], 2).text)

    def test_devices_by_number(self):
        for number, code in (("one", 2), ("77", 1)):
            answer = self.run_hint(["device", "replace", self.pool, number, self.path("new")], code,
                                   [] if number == "one" else [self.pool])
            self.assertIn(self.devices[0], answer.text)

    def test_no_pool_on_the_devices(self):
        paths = [self.write(f"junk{i}", b"") for i in range(6)]
        for path in paths:
            os.truncate(path, 64 << 20)
        self.run_hint(["ls", "--device", *paths], 1, [self.path("pool"), "--device", *paths, "--force"])
        self.ok("ls", self.path("pool"))

    def test_a_tree_that_is_not_mounted(self):
        os.mkdir(self.path("empty"))
        for prefix in ("it is", ""):
            name = prefix + "/x" if prefix else "x"
            self.ok("put", self.pool, name, "-", stdin=b"1")
            words = ["--prefix", prefix] if prefix else []
            self.run_hint(["import", self.pool, self.path("empty"), "--delete", *words], 2)
            self.fails(1, "stat", self.pool, name)

    def test_what_more_than_parity_is_damaged(self):
        value = os.urandom(1 << 20)
        self.ok("put", self.pool, "rotten", "-", stdin=value)
        # A piece of every data cell; a stripe has six.
        for device in self.devices:
            with open(device, "r+b") as file:
                data = file.read()
                at = -1
                for piece in range(0, len(value), 4096):
                    at = data.find(value[piece : piece + 4096])
                    if at >= 0:
                        file.seek(at)
                        file.write(bytes(4096))
                        break
        # Four data cells are damaged, two of parity are not enough.
        answer = self.expect(4, "get", self.pool, "rotten", self.path("out"), "--json")
        hint = answer.json["error"]["hint"]
        self.assertNotIn("ttach", hint)
        (command,) = commands_in(hint)
        self.assertEqual(command, ["fsck", "--deep"])
        found = self.expect(3, *command, self.pool)
        self.assertIn("rotten", found.text)
        self.ok("put", self.pool, "rotten", "-", stdin=value)
        self.ok(*command, self.pool)


if __name__ == "__main__":
    main()
