#!/usr/bin/env python3
"""Objects from outside: renames, guards, hints, ranges, checksums, attributes."""

import base64
import os
import random
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import PoolTest, hexad, main  # pylint: disable=wrong-import-position

BINARY = bytes(range(256)) * 64
LONG = 1024 * "n"
# Larger than what put stores in one piece.
STREAMED = bytes(random.Random(7).randbytes(9 << 20))


def crc32c(data):
    """Bit by bit from the polynomial (RFC 3720), so that it shares nothing with the store."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return f"{value ^ 0xFFFFFFFF:08x}"


class ObjectTest(PoolTest):
    def put(self, name, data, *words):
        return self.ok("put", self.pool, name, "-", "--json", *words, stdin=data).json

    def cat(self, name, *words):
        return self.ok("cat", self.pool, name, *words).raw

    def stat(self, name, *words):
        return self.ok("stat", self.pool, name, "--json", *words).json


class Renames(ObjectTest):
    def test_a_rename_keeps_the_object_and_says_its_version(self):
        self.put("a", BINARY, "--hint", "immutable")
        self.ok("attr", "set", self.pool, "a", "colour", "red")
        moved = self.ok("mv", self.pool, "a", "b", "--json").json
        self.assertEqual(set(moved), {"from", "name", "version", "replaced"})
        self.assertEqual((moved["from"], moved["name"], moved["replaced"]), ("a", "b", False))
        found = self.stat("b")
        self.assertEqual(found["version"], moved["version"])
        self.assertEqual(found["hints"], ["immutable"])
        self.assertEqual(found["attributes"], [{"name": "colour", "value": "red"}])
        self.assertEqual(self.cat("b"), BINARY)
        self.fails(1, "stat", self.pool, "a")
        self.assertEqual(self.ok("mv", self.pool, "b", "c").text, "renamed b to c\n")

    def test_force_replaces_the_destination_whole(self):
        self.put("new", b"new")
        self.put("old", b"something old", "--hint", "append-only")
        self.ok("attr", "set", self.pool, "old", "age", "9")
        answer = self.fails(1, "mv", self.pool, "new", "old", "--json")
        self.assertEqual(answer.json["error"]["code"], "already exists")
        self.assertIn("--force", answer.json["error"]["hint"])
        self.assertTrue(self.ok("mv", self.pool, "new", "old", "--force", "--json").json["replaced"])
        self.assertEqual(self.cat("old"), b"new")
        found = self.stat("old")
        self.assertEqual((found["attributes"], found["hints"]), ([], []))
        self.assertFalse(self.ok("mv", self.pool, "old", "free", "-f", "--json").json["replaced"])

    def test_what_fails_leaves_both_as_they_were(self):
        self.put("stays", b"stays")
        self.fails(1, "mv", self.pool, "nothing", "stays", "--force")
        self.assertEqual(self.cat("stays"), b"stays")
        self.fails(1, "mv", self.pool, "stays", "x", "--to-collection", "nothing")
        self.fails(1, "mv", self.pool, "stays", "x", "--to-collection", "nothing", "--force")
        self.fails(1, "mv", self.pool, "stays", "x", "--collection", "nothing")
        self.fails(1, "mv", self.pool, "stays", "x", "--collection", "nothing", "--to-collection",
                   "default")
        self.assertEqual(self.cat("stays"), b"stays")
        for words in (["", "x"], ["stays", ""], [LONG + "n", "x"], ["stays", LONG + "n"],
                      ["stays", "x", "--to-collection", ""],
                      ["stays", "x", "--to-collection", LONG + "n"],
                      ["stays", "stays"], ["stays", "stays", "--force"],
                      ["stays", "stays", "--to-collection", "default"],
                      ["stays", "x", "--to-collection", "a", "--to-collection", "b"]):
            answer = self.fails(2, "mv", self.pool, *words, "--json")
            self.assertEqual(answer.json["error"]["code"], "invalid argument")
            self.assertNotEqual(answer.json["error"]["hint"], "")
        self.assertEqual(self.cat("stays"), b"stays")
        self.ok("mv", self.pool, "stays", LONG)
        self.assertEqual(self.cat(LONG), b"stays")

    def test_the_same_name_in_another_collection(self):
        self.ok("bucket", "create", self.pool, "other")
        self.put("same", b"here")
        self.put("same", b"there", "--collection", "other")
        self.fails(1, "mv", self.pool, "same", "same", "--to-collection", "other")
        self.ok("mv", self.pool, "same", "same", "--to-collection", "other", "--force")
        self.assertEqual(self.cat("same", "--collection", "other"), b"here")
        self.fails(1, "stat", self.pool, "same")
        listed = self.ok("bucket", "ls", self.pool, "--json").json["collections"]
        other = [entry for entry in listed if entry["name"] == "other"][0]
        self.assertEqual((other["objects"], other["bytes"]), (1, 4))

    def test_rm_counts_an_object_once(self):
        for name in ("once/a", "once/b"):
            self.put(name, b"x")
        answer = self.fails(1, "rm", self.pool, "once/b", "once/x", "once/b", "once/a", "once/x",
                            "--json")
        self.assertEqual(answer.json, {"removed": 2, "missing": [{"name": "once/x"}]})


class Directories(ObjectTest):
    """Names with slashes, and names that look like patterns. Each test begins with no object."""

    def setUp(self):
        super().setUp()
        self.ok("rm", self.pool, "--all")

    def test_a_directory_moves_as_a_whole_and_at_once(self):
        for name in ("d/a", "d/s/b", "d/", "dd/other", "d"):
            self.put(name, name.encode())
        moved = self.ok("mv", self.pool, "d/", "e/", "--json").json
        self.assertEqual((moved["objects"], moved["replaced"]), (3, False))
        for name in ("e/a", "e/s/b", "e/"):
            self.assertEqual(self.stat(name)["version"], moved["version"])
            self.assertEqual(self.cat(name), b"d" + name[1:].encode())
        self.assertEqual(self.ok("ls", self.pool).text.split(), ["d", "dd/other", "e/", "e/a", "e/s/b"])
        self.assertEqual(self.ok("cp", self.pool, "e/", "f/").text, "copied e/ to f/, 3 objects\n")
        self.assertEqual(self.cat("e/s/b"), self.cat("f/s/b"))
        answer = self.fails(1, "mv", self.pool, "e/", "f/", "--json")
        self.assertEqual(answer.json["error"]["code"], "already exists")
        answer = self.fails(1, "cp", self.pool, "e/", "f/", "--json")
        self.assertEqual(answer.json["error"]["code"], "already exists")
        self.assertTrue(self.ok("mv", self.pool, "e/", "f/", "--force", "--json").json["replaced"])
        self.assertEqual(self.ok("ls", self.pool).text.split(), ["d", "dd/other", "f/", "f/a", "f/s/b"])

    def test_nothing_goes_into_itself_or_takes_a_place_of_another_kind(self):
        for name in ("d/a", "d/d/a", "d/d/d/a", "x"):
            self.put(name, name.encode())
        before = self.ok("ls", self.pool, "-l").text
        for verb in ("mv", "cp"):
            for words in (["d/", "d/"], ["d/", "d/sub/"], ["d/d/", "d/"], ["x", "d/"], ["d/", "x"],
                          ["d/a", "d/d/"]):
                for force in ([], ["--force"]):
                    answer = self.fails(2, verb, self.pool, *words, *force, "--json")
                    self.assertEqual(answer.json["error"]["code"], "invalid argument", words)
                    self.assertNotEqual(answer.json["error"]["hint"], "")
            answer = self.fails(1, verb, self.pool, "none/", "e/", "--json")
            self.assertEqual(answer.json["error"]["code"], "not found")
            answer = self.fails(1, verb, self.pool, "d", "e", "--json")
            self.assertIn("directory", answer.json["error"]["hint"])
        self.assertIn("d/x", self.fails(2, "mv", self.pool, "x", "d/").error)
        self.assertEqual(self.ok("ls", self.pool, "-l").text, before)

    def test_names_are_never_patterns(self):
        for name in ("a[1]", "a1", "q?", "qz", "s*", "star"):
            self.put(name, name.encode())
        self.ok("mv", self.pool, "a[1]", "b*")
        self.ok("cp", self.pool, "s*", "c?")
        self.ok("rm", self.pool, "q?", "s*")
        self.assertEqual(self.ok("ls", self.pool).text.split(), ["a1", "b*", "c?", "qz", "star"])
        self.assertIn("names are no patterns", self.fails(1, "rm", self.pool, "a?").error)
        self.put("d/x", b"")
        answer = self.fails(1, "rm", self.pool, "d")
        self.assertIn("--prefix d/", answer.error)
        self.ok("rm", self.pool, "--prefix", "d/")
        self.assertEqual(self.ok("ls", self.pool).text.split(), ["a1", "b*", "c?", "qz", "star"])


class Guards(ObjectTest):
    def test_if_absent_stores_once(self):
        for size in (3, len(STREAMED)):
            name = f"absent/{size}"
            first = self.put(name, STREAMED[:size], "--if-absent")
            self.assertEqual(first["size"], size)
            for other in (b"other", STREAMED[::-1]):
                answer = self.fails(1, "put", self.pool, name, "-", "--if-absent", "--json", stdin=other)
                error = answer.json["error"]
                self.assertEqual(error["code"], "conflict")
                self.assertIn("was expected to be absent", error["message"])
                self.assertIn(f"hexad stat {self.pool} {name}", error["hint"])
            self.assertEqual(self.cat(name), STREAMED[:size])
            self.assertEqual(self.stat(name)["version"], first["version"])

    def test_if_version_stores_over_that_version_only(self):
        first = self.put("version", b"first")
        second = self.put("version", b"second", "--if-version", str(first["version"]))
        self.assertGreater(second["version"], first["version"])
        for data in (b"third", STREAMED):
            answer = self.fails(1, "put", self.pool, "version", "-", "--if-version",
                                str(first["version"]), "--json", stdin=data)
            error = answer.json["error"]
            self.assertEqual(error["code"], "conflict")
            self.assertIn(f"has version {second['version']}, expected {first['version']}",
                          error["message"])
        self.assertEqual(self.cat("version"), b"second")
        third = self.put("version", STREAMED, "--if-version", str(second["version"]))
        self.assertEqual(self.cat("version"), STREAMED)
        # Attributes make a version, too.
        changed = self.ok("attr", "set", self.pool, "version", "a", "b", "--json").json
        self.assertGreater(changed["version"], third["version"])
        self.fails(1, "put", self.pool, "version", "-", "--if-version", str(third["version"]), stdin=b"")
        self.put("version", b"", "--if-version", str(self.stat("version")["version"]))

    def test_guards_of_what_is_not_there(self):
        self.fails(1, "put", self.pool, "nobody", "-", "--if-version", "1", stdin=b"x")
        self.fails(1, "put", self.pool, "nobody", "-", "--if-version", "1", stdin=STREAMED)
        self.fails(1, "stat", self.pool, "nobody")
        answer = self.fails(1, "put", self.pool, "nobody", "-", "--if-absent", "--collection", "nothing",
                            "--json", stdin=b"x")
        self.assertEqual(answer.json["error"]["code"], "not found")

    def test_the_hint_names_the_collection_when_it_is_another(self):
        self.ok("bucket", "create", self.pool, "a b")
        self.put("it's", b"x", "--collection", "a b")
        answer = self.fails(1, "put", self.pool, "it's", "-", "--collection", "a b", "--if-absent",
                            "--json", stdin=b"")
        command = answer.json["error"]["hint"].split(": ", 1)[1]
        words = shlex.split(command)
        self.assertEqual(self.ok(*words[1:], "--json").json["size"], 1)

    def test_guards_that_contradict_each_other_or_mean_nothing(self):
        for words in (["--if-absent", "--if-version", "1"], ["--if-version", "one"],
                      ["--if-version", "-1"], ["--if-version", "99999999999999999999"],
                      ["--if-version", "1", "--if-version", "1"], ["--if-version"]):
            answer = self.fails(2, "put", self.pool, "refused", self.path("no file"), *words)
            self.assertIn("hint: ", answer.error, words)
        self.fails(1, "stat", self.pool, "refused")


class Hints(ObjectTest):
    ALL = ["compressible", "incompressible", "sequential-read", "random-read", "sequential-write",
           "random-write", "append-only", "immutable", "short-lived", "long-lived"]

    def test_every_hint_is_kept_and_shown(self):
        self.assertEqual(self.put("plain", b"x")["name"], "plain")
        self.assertEqual(self.stat("plain")["hints"], [])
        self.assertNotIn("hints", self.ok("stat", self.pool, "plain").text)
        for data in (b"x", STREAMED):
            for hint in self.ALL if data == b"x" else self.ALL[-2:]:
                self.put("hinted", data, "--hint", hint)
                self.assertEqual(self.stat("hinted")["hints"], [hint])
                self.assertIn(f"hints      {hint}\n", self.ok("stat", self.pool, "hinted").text)
                self.put("hinted", data, "--hint", "none")
                self.assertEqual(self.stat("hinted")["hints"], [])

    def test_several_hints_in_any_form(self):
        expected = ["compressible", "append-only", "long-lived"]
        for words in (["--hint", "compressible,append-only,long-lived"],
                      ["--hint=long-lived", "--hint", "append-only", "--hint", "compressible"],
                      ["--hint", "long-lived,compressible", "--hint=append-only,compressible"]):
            self.put("several", b"x", *words)
            self.assertEqual(self.stat("several")["hints"], expected)
        self.assertIn("hints      compressible, append-only, long-lived\n",
                      self.ok("stat", self.pool, "several").text)
        # Nobody says anything: they stay. Somebody does: these are all there are.
        self.put("several", b"y")
        self.assertEqual(self.stat("several")["hints"], expected)
        self.put("several", b"y", "--hint", "immutable")
        self.assertEqual(self.stat("several")["hints"], ["immutable"])

    def test_bad_hints_are_refused(self):
        for words in (["shiny"], [""], ["compressible,incompressible"],
                      ["short-lived", "--hint", "long-lived"], ["none", "--hint", "immutable"],
                      ["none,immutable"], ["compressible,"]):
            answer = self.fails(2, "put", self.pool, "refused", "-", "--hint=" + words[0], *words[1:],
                                stdin=b"x")
            self.assertIn("hint: ", answer.error, words)
        self.assertIn("append-only", self.fails(2, "put", self.pool, "refused", "-", "--hint", "shiny",
                                                stdin=b"x").error)
        self.fails(1, "stat", self.pool, "refused")


class Ranges(ObjectTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, data in (("long", STREAMED), ("short", BINARY), ("empty", b"")):
            hexad("put", cls.pool, name, "-", stdin=data)

    def test_ranges_follow_each_other_as_they_are_given(self):
        self.assertEqual(self.cat("short", "--range", "1000:1KiB"), BINARY[1000:2024])
        self.assertEqual(self.cat("short", "--range", "16380:"), BINARY[16380:])
        self.assertEqual(self.cat("short", "--range", "10:5", "--range=0:5", "--range", "3:4"),
                         BINARY[10:15] + BINARY[0:5] + BINARY[3:7])
        target = self.path("target")
        answer = self.ok("get", self.pool, "short", target, "--range", "5:7", "--range", "5:7", "--json")
        self.assertEqual(self.read(target), BINARY[5:12] * 2)
        self.assertEqual(answer.json["size"], 14)
        self.assertEqual(answer.json["version"], self.stat("short")["version"])

    def test_what_lies_behind_the_end_is_left_out(self):
        size = len(BINARY)
        for word, expected in ((f"{size}:1", b""), (f"{size - 1}:2", BINARY[-1:]), ("1TiB:1TiB", b""),
                               ("7EiB:7EiB", b""), (f"{size - 3}:", BINARY[-3:]), ("0:0", b""),
                               ("1GiB:", b"")):
            self.assertEqual(self.cat("short", "--range", word), expected, word)
        self.assertEqual(self.cat("empty", "--range", "0:10"), b"")

    def test_many_ranges_of_a_long_object(self):
        rng = random.Random(11)
        words, expected = [], []
        for _ in range(300):
            offset = rng.randrange(len(STREAMED) + 1000)
            length = rng.choice((0, 1, 17, 4096, 70000))
            words += ["--range", f"{offset}:{length}"]
            expected.append(STREAMED[offset:offset + length])
        self.assertEqual(self.cat("long", *words), b"".join(expected))
        self.assertEqual(self.cat("long", "--range", "1:", "--range", "0:5MiB", "--range", "0:1"),
                         STREAMED[1:] + STREAMED[:5 << 20] + STREAMED[:1])

    def test_bad_ranges_are_refused_before_anything_is_written(self):
        target = self.path("target")
        for words in (["--range", "5"], ["--range", ""], ["--range", "a:1"], ["--range", "-1:5"],
                      ["--range", "1:-5"], ["--range", "1:2:3"], ["--range", ":5"], ["--range"],
                      ["--range", "0:1", "--range", "x"], ["--range", "0:1", "--offset", "1"],
                      ["--range", "0:1", "--length", "1"], ["--offset", "1", "--offset", "2"]):
            answer = self.fails(2, "get", self.pool, "short", target, *words)
            self.assertIn("hint: ", answer.error, words)
            self.assertEqual(os.listdir(self.folder), [])
        self.fails(1, "cat", self.pool, "nothing", "--range", "0:1")
        self.fails(1, "cat", self.pool, "short", "--range", "0:1", "--collection", "nothing")

    def test_stat_shows_which_bytes_hold_data(self):
        self.assertNotIn("data_ranges", self.stat("short"))
        self.assertEqual(self.stat("short", "--extents")["data_ranges"],
                         [{"offset": 0, "length": len(BINARY)}])
        self.assertEqual(self.stat("long", "--extents")["data_ranges"],
                         [{"offset": 0, "length": len(STREAMED)}])
        self.assertEqual(self.stat("empty", "--extents")["data_ranges"], [])
        text = self.ok("stat", self.pool, "short", "--extents").text
        self.assertIn(f"data       0:{len(BINARY)}\n", text)

    def test_checksums_are_those_of_the_bytes(self):
        found = self.ok("checksum", self.pool, "short", "--json").json
        self.assertEqual(found, {"name": "short", "type": "crc32c", "checksum": crc32c(BINARY),
                                 "offset": 0, "length": len(BINARY)})
        self.assertEqual(self.ok("checksum", self.pool, "short").text, f"{crc32c(BINARY)}  short\n")
        found = self.ok("checksum", self.pool, "long", "--range", "5MiB:1000", "--json").json
        self.assertEqual(found["checksum"], crc32c(STREAMED[5 << 20:(5 << 20) + 1000]))
        self.assertEqual((found["offset"], found["length"]), (5 << 20, 1000))
        found = self.ok("checksum", self.pool, "short", "--range", f"{len(BINARY) - 9}:10", "--json").json
        self.assertEqual((found["checksum"], found["length"]), (crc32c(BINARY[-9:]), 9))
        self.put("nine", b"123456789")
        self.assertEqual(self.ok("checksum", self.pool, "nine").text, "e3069283  nine\n")

    def test_checksums_of_both_kinds(self):
        # XXH3-64 of nothing with seed 0, a constant of its specification.
        answer = self.ok("checksum", self.pool, "empty", "--type", "xxh3")
        self.assertEqual(answer.text, "2d06800538d394c2  empty\n")
        self.assertEqual(self.ok("checksum", self.pool, "empty").text, "00000000  empty\n")
        self.put("part", STREAMED[1000:3 << 20])
        of_range = self.ok("checksum", self.pool, "long", "--type=xxh3", "--range",
                           f"1000:{(3 << 20) - 1000}", "--json").json
        of_object = self.ok("checksum", self.pool, "part", "--type", "xxh3", "--json").json
        self.assertEqual(of_range["checksum"], of_object["checksum"])
        self.assertEqual(len(of_object["checksum"]), 16)
        self.assertEqual(of_object["type"], "xxh3")

    def test_bad_checksums(self):
        self.fails(1, "checksum", self.pool, "nothing")
        self.fails(1, "checksum", self.pool, "short", "--collection", "nothing")
        for name in ("", LONG + "n"):
            self.fails(1, "checksum", self.pool, name)
        for words in (["--type", "md5"], ["--type", ""], ["--range", "1"], ["--range", ""],
                      ["--range", "0:1", "--range", "1:1"], ["--type=xxh3", "--type=crc32c"]):
            answer = self.fails(2, "checksum", self.pool, "short", *words)
            self.assertIn("hint: ", answer.error, words)


class Attributes(ObjectTest):
    def setUp(self):
        super().setUp()
        self.name = f"object of {self.id()}"
        self.put(self.name, b"data")

    def attributes(self):
        found = self.ok("attr", "ls", self.pool, self.name, "--json").json
        self.assertEqual(found["name"], self.name)
        return found["attributes"]

    def test_what_is_set_comes_back(self):
        before = self.stat(self.name)["version"]
        answer = self.ok("attr", "set", self.pool, self.name, "colour", "red", "--json").json
        self.assertEqual(set(answer), {"name", "attribute", "size", "version"})
        self.assertEqual((answer["name"], answer["attribute"], answer["size"]),
                         (self.name, "colour", 3))
        self.assertGreater(answer["version"], before)
        self.assertEqual(self.stat(self.name)["version"], answer["version"])
        self.assertEqual(self.ok("attr", "get", self.pool, self.name, "colour").raw, b"red")
        self.ok("attr", "set", self.pool, self.name, "colour", "")
        self.assertEqual(self.ok("attr", "get", self.pool, self.name, "colour").raw, b"")
        self.ok("attr", "set", self.pool, self.name, "a=b c", "x y")
        self.assertEqual(self.attributes(), [{"name": "a=b c", "value": "x y"},
                                             {"name": "colour", "value": ""}])
        self.assertEqual(self.ok("attr", "ls", self.pool, self.name).text, "a=b c\ncolour\n")
        self.assertEqual(self.ok("attr", "ls", self.pool, self.name, "-0").raw, b"a=b c\0colour\0")
        self.assertEqual(self.ok("attr", "ls", self.pool, self.name, "-l").text,
                         "      3 a=b c\n      0 colour\n")
        self.assertEqual(self.ok("attr", "set", self.pool, self.name, "x", "y").text,
                         f"set x of {self.name} (1 B)\n")
        self.assertEqual(self.ok("attr", "set", self.pool, self.name, "x", "z", "-q").raw, b"")
        self.assertEqual(self.cat(self.name), b"data")

    def test_values_are_any_bytes(self):
        for value in (BINARY, b"\0", b"\n", b"-", b"\xff\xfe", b"caf\xc3\xa9", b""):
            self.ok("attr", "set", self.pool, self.name, "any", "-", stdin=value)
            self.assertEqual(self.ok("attr", "get", self.pool, self.name, "any").raw, value)
            found = self.ok("attr", "get", self.pool, self.name, "any", "--json").json
            if "value" in found:
                self.assertEqual(found["value"].encode(), value)
            else:
                self.assertEqual(base64.b64decode(found["value_b64"]), value)
        # What looks like an option, behind the mark that ends options.
        self.ok("attr", "set", "--", self.pool, self.name, "any", "-5")
        self.assertEqual(self.ok("attr", "get", self.pool, self.name, "any").raw, b"-5")
        self.ok("attr", "set", self.pool, self.name, "any", b"\xff")
        self.assertEqual(self.ok("attr", "get", self.pool, self.name, "any").raw, b"\xff")

    def test_names_are_any_bytes(self):
        encoded = [base64.b64encode(name).decode() for name in (self.name.encode(), b"\xff\n")]
        self.ok("attr", "set", self.pool, "--name-b64", *encoded, "as it is")
        self.assertEqual(self.attributes(), [{"name_b64": encoded[1], "value": "as it is"}])
        found = self.ok("attr", "get", self.pool, "--name-b64", *encoded, "--json").json
        self.assertEqual(found, {"name": self.name, "attribute_b64": encoded[1], "value": "as it is"})
        self.assertEqual(self.ok("attr", "ls", self.pool, self.name, "-0").raw, b"\xff\n\0")
        self.ok("attr", "rm", self.pool, "--name-b64", *encoded)
        self.assertEqual(self.attributes(), [])
        self.fails(2, "attr", "get", self.pool, "--name-b64", encoded[0], "not base64!")

    def test_rm_removes_what_is_there_and_names_what_is_not(self):
        for attribute in ("a", "b", "c", "d"):
            self.ok("attr", "set", self.pool, self.name, attribute, "x")
        answer = self.fails(1, "attr", "rm", self.pool, self.name, "b", "x", "a", "b", "x", "--json")
        self.assertEqual(answer.json, {"name": self.name, "removed": 2, "missing": [{"name": "x"}]})
        self.assertIn("hexad: x: no such attribute", answer.error)
        self.ok("attr", "rm", self.pool, self.name, "b", "--force")
        answer = self.ok("attr", "rm", self.pool, self.name, "--all", "--json")
        self.assertEqual(answer.json, {"name": self.name, "removed": 2, "missing": []})
        self.assertEqual(self.attributes(), [])
        self.assertEqual(self.ok("attr", "rm", self.pool, self.name, "--all").text,
                         "removed 0 attributes\n")
        self.ok("attr", "set", self.pool, self.name, "a", "x")
        self.assertEqual(self.ok("attr", "rm", self.pool, self.name, "a").text,
                         "removed 1 attribute\n")

    def test_a_get_of_what_is_not_there(self):
        answer = self.fails(1, "attr", "get", self.pool, self.name, "none", "--json")
        error = answer.json["error"]
        self.assertEqual(error["code"], "not found")
        self.assertIn("has no attribute none", error["message"])
        words = shlex.split(error["hint"].split(": ", 1)[1])
        self.assertEqual(self.ok(*words[1:]).text, "")
        for name in ("", "a" * 256):
            self.fails(1, "attr", "get", self.pool, self.name, name)

    def test_missing_objects_and_collections(self):
        for words in (["ls"], ["get", "a"], ["set", "a", "b"], ["rm", "a"], ["rm", "--all"],
                      ["rm", "a", "--force"]):
            self.fails(1, "attr", words[0], self.pool, "nothing", *words[1:])
            self.fails(1, "attr", words[0], self.pool, self.name, *words[1:], "--collection", "nothing")
        self.fails(1, "stat", self.pool, "nothing")

    def test_names_and_values_have_their_limits(self):
        self.ok("attr", "set", self.pool, self.name, "a" * 255, "x")
        for name in ("", "a" * 256):
            answer = self.fails(2, "attr", "set", self.pool, self.name, name, "x")
            self.assertIn("1 to 255", answer.error)
        for name in ("", LONG + "n"):
            self.fails(2, "attr", "set", self.pool, name, "a", "x")
            self.fails(1, "attr", "ls", self.pool, name)
        # Of all names and values together, to the byte.
        self.ok("attr", "rm", self.pool, self.name, "--all")
        largest = os.urandom((64 << 10) - 1)
        self.fails(2, "attr", "set", self.pool, self.name, "a", "-", stdin=largest + b"x")
        self.fails(2, "attr", "set", self.pool, self.name, "a", "-", stdin=largest * 3)
        self.assertEqual(self.attributes(), [])
        self.ok("attr", "set", self.pool, self.name, "a", "-", stdin=largest)
        self.assertEqual(self.ok("attr", "get", self.pool, self.name, "a").raw, largest)
        self.fails(2, "attr", "set", self.pool, self.name, "b", "")
        self.ok("attr", "set", self.pool, self.name, "a", "-", stdin=largest[1:])
        self.assertEqual(self.ok("attr", "get", self.pool, self.name, "a").raw, largest[1:])

    def test_what_contradicts_itself_is_refused(self):
        for words in (["rm"], ["rm", "a", "--all"], ["set", "a"], ["set", "a", "b", "c"], ["get"],
                      ["get", "a", "b"], ["ls", "a"]):
            answer = self.fails(2, "attr", words[0], self.pool, self.name, *words[1:])
            self.assertIn("hint: ", answer.error, words)
        self.assertIn("attr set", self.fails(2, "attr", self.pool).error)

    def test_a_put_keeps_attributes(self):
        self.ok("attr", "set", self.pool, self.name, "kept", "yes")
        for data in (b"short", STREAMED):
            self.put(self.name, data)
            self.assertEqual(self.attributes(), [{"name": "kept", "value": "yes"}])


if __name__ == "__main__":
    main()
