#!/usr/bin/env python3
"""Collections from outside: how they compress, what they may hold, what they hold."""

import base64
import os
import shlex
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import PoolTest, hexad, main  # pylint: disable=wrong-import-position

TEXT = b"all work and no play makes a dull store. " * 2000
DEFAULT = {"mode": "none", "algorithm": "snappy", "level": 0, "required_ratio": 0.875,
           "min_blob_size": 512, "max_blob_size": 32768}
NO_QUOTA = {"objects": None, "bytes": None}


class Buckets(PoolTest):
    def put(self, bucket, name, data, *words):
        return self.ok("put", self.pool, name, "-", "--collection", bucket, *words, stdin=data)

    def policy(self, bucket, *words):
        return self.ok("bucket", "policy", self.pool, bucket, "--json", *words).json

    def usage(self, bucket):
        return self.ok("bucket", "stat", self.pool, bucket, "--json").json

    def make(self, bucket, *words):
        return self.ok("bucket", "create", self.pool, bucket, "--json", *words).json

    def test_create_says_what_it_made(self):
        plain = self.make("plain")
        self.assertEqual(set(plain), {"name", "id", "compression", "quota"})
        self.assertEqual(plain["name"], "plain")
        self.assertEqual(plain["compression"], DEFAULT)
        self.assertEqual(plain["quota"], NO_QUOTA)
        made = self.make("made", "--compression", "aggressive", "--algorithm", "zstd", "--level",
                         "-3", "--required-ratio", "0.5", "--min-blob-size", "1KiB",
                         "--max-blob-size", "64KiB", "--quota-bytes", "1MiB", "--quota-objects", "9")
        self.assertEqual(made["compression"],
                         {"mode": "aggressive", "algorithm": "zstd", "level": -3,
                          "required_ratio": 0.5, "min_blob_size": 1024, "max_blob_size": 65536})
        self.assertEqual(made["quota"], {"objects": 9, "bytes": 1 << 20})
        self.assertNotEqual(made["id"], plain["id"])
        text = self.ok("bucket", "create", self.pool, "spoken").text
        self.assertEqual(text, "created collection spoken\n")
        self.assertEqual(self.ok("bucket", "create", self.pool, "silent", "-q").raw, b"")

    def test_create_of_an_existing_one_changes_nothing(self):
        self.make("twice", "--quota-objects", "3")
        answer = self.fails(1, "bucket", "create", self.pool, "twice", "--quota-objects", "5", "--json")
        self.assertEqual(answer.json["error"]["code"], "already exists")
        self.assertIn(f"hexad bucket policy {self.pool} twice", answer.json["error"]["hint"])
        self.assertEqual(self.policy("twice")["quota"]["objects"], 3)

    def test_create_that_is_refused_makes_nothing(self):
        for words in (["--compression", "sometimes"], ["--algorithm", "zip"], ["--level", "high"],
                      ["--algorithm", "zstd", "--level", "20"], ["--level", "1"],
                      ["--required-ratio", "1.1"], ["--max-blob-size", "5000"],
                      ["--quota-bytes", "0"], ["--quota-objects", "-1"],
                      ["--compression", "force", "--algorithm", "none"],
                      ["--quota-objects", "1", "--quota-objects", "2"],
                      ["--compression", "none", "--compression", "force"]):
            answer = self.fails(2, "bucket", "create", self.pool, "refused", *words)
            self.assertIn("hint: ", answer.error, words)
            self.fails(1, "bucket", "policy", self.pool, "refused")

    def test_names_have_1_to_1024_bytes(self):
        longest = "b" * 1024
        self.make(longest)
        self.assertEqual(self.policy(longest)["name"], longest)
        self.put(longest, "x", b"12345")
        self.assertEqual(self.usage(longest)["bytes"], 5)
        self.ok("rm", self.pool, "--collection", longest, "x")
        self.ok("bucket", "rm", self.pool, longest)
        for name in ("", longest + "b"):
            for verb in ("create", "rm"):
                answer = self.fails(2, "bucket", verb, self.pool, name, "--json")
                self.assertEqual(answer.json["error"]["code"], "invalid argument")
            for words in (["policy"], ["stat"], ["policy", "--quota-objects", "1"]):
                self.fails(1, "bucket", words[0], self.pool, name, *words[1:])
            self.fails(2, "put", self.pool, "x", "-", "--collection", name, stdin=b"x")

    def test_names_that_are_not_utf8(self):
        name = base64.b64encode(b"caf\xe9").decode()
        made = self.make("--name-b64", name)
        self.assertEqual(made["name_b64"], name)
        self.assertEqual(self.policy("--name-b64", name)["name_b64"], name)
        self.assertEqual(self.usage(b"caf\xe9")["name_b64"], name)
        self.put(b"caf\xe9", "x", b"x")
        answer = self.fails(1, "bucket", "rm", self.pool, b"caf\xe9")
        self.assertIn("bucket rm %s $'caf\\xe9' --recursive" % self.pool, answer.error)
        self.assertIn(b"caf\xe9\0", self.ok("bucket", "ls", self.pool, "-0").raw)
        self.ok("rm", self.pool, "--collection", b"caf\xe9", "--all")
        self.ok("bucket", "rm", self.pool, b"caf\xe9")

    def test_rm_says_how_many_objects_remain_and_what_to_type(self):
        self.make("full of it")
        for count in (1, 2, 3):
            self.put("full of it", f"o{count}", b"x" * 100)
            answer = self.fails(1, "bucket", "rm", self.pool, "full of it", "--json")
            error = answer.json["error"]
            self.assertEqual(error["code"], "not empty")
            objects = "1 object" if count == 1 else f"{count} objects"
            self.assertIn(f"still holds {objects} ({count * 100} B)", error["message"])
        # The hint is a command that works.
        self.assertTrue(error["hint"].startswith("To remove them, too: hexad "), error["hint"])
        words = shlex.split(error["hint"].split(": ", 1)[1])
        self.assertEqual(words[0], "hexad")
        self.assertEqual(self.ok(*words[1:], "--json").json,
                         {"name": "full of it", "objects": 3, "bytes": 300})
        self.fails(1, "bucket", "rm", self.pool, "full of it", "--recursive")
        # A new one of the name has none of them.
        self.make("full of it")
        self.assertEqual(self.ok("ls", self.pool, "--collection", "full of it").text, "")
        self.assertEqual(self.ok("bucket", "rm", self.pool, "full of it", "--recursive").text,
                         "removed collection full of it\n")

    def test_ls_counts_exactly(self):
        self.make("ls/a")
        self.make("ls/b")
        for i in range(7):
            self.put("ls/a", f"o{i}", b"x" * (1000 + i))
        self.ok("rm", self.pool, "--collection", "ls/a", "o3")
        listed = {entry["name"]: entry
                  for entry in self.ok("bucket", "ls", self.pool, "--json").json["collections"]}
        self.assertEqual(set(listed["ls/a"]), {"name", "id", "objects", "bytes"})
        self.assertEqual((listed["ls/a"]["objects"], listed["ls/a"]["bytes"]), (6, 6018))
        self.assertEqual((listed["ls/b"]["objects"], listed["ls/b"]["bytes"]), (0, 0))
        lines = self.ok("bucket", "ls", self.pool, "-l").text.splitlines()
        self.assertIn(["6", "6018", "ls/a"], [line.split() for line in lines])
        self.assertIn(["0", "0", "ls/b"], [line.split() for line in lines])

    def test_policy_without_options_shows_and_writes_nothing(self):
        self.make("shown", "--quota-objects", "4")
        self.put("shown", "x", b"x" * 1234)
        found = self.policy("shown")
        self.assertEqual(found, {"name": "shown", "compression": DEFAULT,
                                 "quota": {"objects": 4, "bytes": None}, "objects": 1, "bytes": 1234})
        text = self.ok("bucket", "policy", self.pool, "shown").text
        for line in ("collection          shown", "compression         none",
                     "algorithm           snappy, level 0", "required ratio      0.875",
                     "min blob size       512 B", "max blob size       32 KiB",
                     "quota of objects    4", "quota of bytes      none", "objects             1",
                     "bytes               1234 (1.2 KiB)"):
            self.assertIn(line + "\n", text)
        self.assertEqual(self.ok("bucket", "policy", self.pool, "shown", "-q").text, text)
        before = [self.read(device) for device in self.devices]
        self.policy("shown")
        self.usage("shown")
        self.assertTrue(before == [self.read(device) for device in self.devices])

    def test_policy_changes_what_is_named_and_keeps_the_rest(self):
        self.make("changed", "--compression", "force", "--quota-bytes", "10KiB")
        found = self.policy("changed", "--algorithm", "zstd", "--level=5", "--quota-objects", "2")
        expected = {**DEFAULT, "mode": "force", "algorithm": "zstd", "level": 5}
        self.assertEqual(found["compression"], expected)
        self.assertEqual(found["quota"], {"objects": 2, "bytes": 10240})
        self.assertEqual(self.policy("changed"), found)
        # A level that is none of the new algorithm's.
        self.policy("changed", "--level", "19")
        answer = self.fails(2, "bucket", "policy", self.pool, "changed", "--algorithm", "lz4",
                            "--quota-objects", "none")
        self.assertIn("level 19 of lz4", answer.error)
        self.assertEqual(self.policy("changed")["quota"]["objects"], 2)
        found = self.policy("changed", "--algorithm", "lz4", "--level", "0", "--compression", "none",
                            "--quota-objects", "none", "--quota-bytes", "none")
        self.assertEqual(found["compression"], {**DEFAULT, "algorithm": "lz4"})
        self.assertEqual(found["quota"], NO_QUOTA)
        text = self.ok("bucket", "policy", self.pool, "changed", "--quota-objects", "3").text
        self.assertIn("quota of objects    3\n", text)
        silent = self.ok("bucket", "policy", self.pool, "changed", "--quota-objects", "4", "-q")
        self.assertEqual((silent.raw, silent.error), (b"", ""))
        self.assertEqual(self.policy("changed")["quota"]["objects"], 4)

    def test_policy_of_what_is_not_there(self):
        for words in (["policy"], ["policy", "--quota-objects", "1"], ["stat"]):
            answer = self.fails(1, "bucket", words[0], self.pool, "nothing", *words[1:], "--json")
            self.assertEqual(answer.json["error"]["code"], "not found")
            self.assertIn("bucket create", answer.json["error"]["hint"])

    def test_bad_options_are_named_before_the_pool_is_looked_for(self):
        for words, expected in ((["--quota-bytes", "much"], "--quota-bytes"),
                                (["--quota-bytes", "0"], "--quota-bytes none"),
                                (["--quota-objects", "1.5"], "--quota-objects"),
                                (["--level", "one"], "--level"),
                                (["--required-ratio", "2"], "--required-ratio"),
                                (["--compression", "yes"], "passive"),
                                (["--algorithm", "gzip"], "zlib"),
                                (["--quota-bytes", "1", "--quota-bytes", "none"], "more than once"),
                                (["--level", "1", "--level", "1"], "more than once"),
                                (["--compression", "passive", "--algorithm", "none"], "exclude"),
                                (["--quota-object", "1"], "--quota-objects")):
            answer = self.fails(2, "bucket", "policy", self.path("no pool"), "b", *words)
            self.assertIn(expected, answer.error, words)
            self.assertIn("hint: ", answer.error, words)

    def test_a_quota_of_objects_holds_to_the_object(self):
        self.make("counted", "--quota-objects", "3")
        for name in ("a", "b", "c"):
            self.put("counted", name, b"x")
        answer = self.fails(6, "put", self.pool, "d", "-", "--collection", "counted", "--json", stdin=b"x")
        self.assertEqual(answer.json["error"]["code"], "no space")
        self.assertIn("quota", answer.json["error"]["message"])
        self.put("counted", "a", b"longer than before")
        self.ok("rm", self.pool, "b", "--collection", "counted")
        self.put("counted", "d", b"x")
        self.ok("put", self.pool, "e", "-", stdin=b"x")
        self.fails(6, "mv", self.pool, "e", "e", "--to-collection", "counted")
        self.ok("mv", self.pool, "e", "d", "--to-collection", "counted", "--force")
        self.assertEqual(self.policy("counted")["objects"], 3)
        self.policy("counted", "--quota-objects", "none")
        self.put("counted", "f", b"x")
        self.assertEqual(self.policy("counted")["objects"], 4)

    def test_a_quota_of_bytes_holds_to_the_byte(self):
        self.make("weighed", "--quota-bytes", "10000")
        self.put("weighed", "a", b"x" * 4000)
        self.fails(6, "put", self.pool, "b", "-", "--collection", "weighed", stdin=b"x" * 6001)
        self.put("weighed", "b", b"x" * 6000)
        self.fails(6, "put", self.pool, "c", "-", "--collection", "weighed", stdin=b"x")
        self.put("weighed", "c", b"")
        found = self.policy("weighed")
        self.assertEqual((found["objects"], found["bytes"]), (3, 10000))
        # Also for what is written piece by piece.
        self.policy("weighed", "--quota-bytes", "5000000")
        self.fails(6, "put", self.pool, "d", "-", "--collection", "weighed", stdin=b"x" * 4990001)
        self.put("weighed", "d", b"x" * 4990000)
        self.assertEqual(self.policy("weighed")["bytes"], 5000000)

    def test_a_quota_below_what_is_held_warns_and_holds_from_now_on(self):
        self.make("late")
        for i in range(5):
            self.put("late", f"o{i}", b"x" * 1000)
        answer = self.ok("bucket", "policy", self.pool, "late", "--quota-objects", "3",
                         "--quota-bytes", "4999", "--json")
        self.assertEqual(answer.json["quota"], {"objects": 3, "bytes": 4999})
        self.assertEqual((answer.json["objects"], answer.json["bytes"]), (5, 5000))
        self.assertIn("holds 5 objects, its quota is 3", answer.error)
        self.assertIn("holds 5000 bytes, its quota is 4999", answer.error)
        # What is exactly reached is no reason to warn.
        answer = self.ok("bucket", "policy", self.pool, "late", "--quota-bytes", "5000",
                         "--quota-objects", "5")
        self.assertEqual(answer.error, "")
        answer = self.ok("bucket", "policy", self.pool, "late", "--quota-objects", "4", "-q")
        self.assertEqual((answer.raw, answer.error), (b"", ""))
        self.fails(6, "put", self.pool, "o5", "-", "--collection", "late", stdin=b"")
        self.put("late", "o0", b"x" * 999)
        self.ok("rm", self.pool, "--collection", "late", "o1", "o2")
        self.put("late", "o5", b"x")
        self.assertEqual(self.policy("late")["objects"], 4)

    def test_compression_follows_mode_and_hint(self):
        # What the writer says, and whether the bytes are compressed then.
        expected = {"none": (False, False, False), "passive": (False, True, False),
                    "aggressive": (True, True, False), "force": (True, True, True)}
        for mode, compressed in expected.items():
            bucket = f"mode/{mode}"
            self.make(bucket, "--compression", mode)
            for hint, smaller in zip((None, "compressible", "incompressible"), compressed):
                words = ["--hint", hint] if hint else []
                self.put(bucket, str(hint), TEXT, *words)
                stat = self.ok("stat", self.pool, str(hint), "--collection", bucket, "--json").json
                self.assertEqual(stat["size"], len(TEXT))
                self.assertEqual(stat["stored"] < len(TEXT), smaller, (mode, hint))
                self.assertEqual(stat["hints"], [hint] if hint else [])

    def test_stat_adds_up_what_its_objects_take(self):
        self.make("added", "--compression", "aggressive", "--algorithm", "zstd")
        noise = os.urandom(100000)
        self.put("added", "text", TEXT)
        self.put("added", "noise", noise)
        self.put("added", "streamed", TEXT * 60)  # in several pieces
        self.put("added", "empty", b"")
        objects = [self.ok("stat", self.pool, name, "--collection", "added", "--json").json
                   for name in ("text", "noise", "streamed", "empty")]
        usage = self.usage("added")
        self.assertEqual(set(usage), {"name", "id", "objects", "bytes", "stored", "extents",
                                      "omap_entries", "compressed_original", "compressed"})
        self.assertEqual(usage["omap_entries"], 0)
        self.assertEqual(usage["objects"], 4)
        self.assertEqual(usage["bytes"], len(TEXT) * 61 + len(noise))
        self.assertEqual(usage["stored"], sum(found["stored"] for found in objects))
        self.assertEqual(usage["extents"], sum(found["extents"] for found in objects))
        self.assertEqual(usage["compressed_original"], len(TEXT) * 61)
        self.assertEqual(usage["compressed"], usage["stored"] - len(noise))
        policy = self.policy("added")
        self.assertEqual((policy["objects"], policy["bytes"]), (usage["objects"], usage["bytes"]))
        text = self.ok("bucket", "stat", self.pool, "added").text
        self.assertIn(f"bytes               {usage['bytes']} (", text)
        self.assertIn(f"compressed          {usage['compressed']} (", text)

    def test_objects_keep_what_they_are_when_the_policy_changes(self):
        self.make("kept")
        self.put("kept", "before", TEXT)
        self.policy("kept", "--compression", "force")
        self.put("kept", "after", TEXT)
        usage = self.usage("kept")
        self.assertEqual(usage["compressed_original"], len(TEXT))
        self.assertEqual(usage["stored"], len(TEXT) + usage["compressed"])
        for name in ("before", "after"):
            self.assertEqual(self.ok("cat", self.pool, name, "--collection", "kept").raw, TEXT)


class Inherited(PoolTest):
    mkfs_options = ["--compression", "aggressive", "--algorithm", "lz4"]

    def test_a_new_collection_has_the_policy_of_the_pool_but_for_what_is_given(self):
        pool_policy = {**DEFAULT, "mode": "aggressive", "algorithm": "lz4"}
        made = self.ok("bucket", "create", self.pool, "plain", "--json").json
        self.assertEqual(made["compression"], pool_policy)
        made = self.ok("bucket", "create", self.pool, "dense", "--level", "9", "--json").json
        self.assertEqual(made["compression"], {**pool_policy, "level": 9})
        made = self.ok("bucket", "create", self.pool, "raw", "--compression", "none", "--json").json
        self.assertEqual(made["compression"], {**pool_policy, "mode": "none"})
        self.assertEqual(hexad("fsck", self.pool, "--deep").code, 0)


if __name__ == "__main__":
    main()
