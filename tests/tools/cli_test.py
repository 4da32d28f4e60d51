#!/usr/bin/env python3
"""The command line from outside: every verb, its JSON, its exit codes, bad input."""

import base64
import json
import os
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import DEVICES, HEXAD, PoolTest, hexad, main  # pylint: disable=wrong-import-position

BINARY = bytes(range(256)) * 64


class Objects(PoolTest):
    def test_put_and_get_return_the_same_bytes(self):
        for size in (0, 1, 255, 4096, 65537, 4 << 20, (9 << 20) + 13):
            data = os.urandom(size)
            source = self.write("source", data)
            self.ok("put", self.pool, f"same/{size}", source)
            target = self.path("target")
            self.ok("get", self.pool, f"same/{size}", target)
            self.assertEqual(self.read(target), data)
            self.assertEqual(self.ok("cat", self.pool, f"same/{size}").raw, data)

    def test_put_reads_standard_input_and_get_writes_standard_output(self):
        self.ok("put", self.pool, "piped", "-", stdin=BINARY)
        answer = self.ok("get", self.pool, "piped", "-")
        self.assertEqual(answer.raw, BINARY)

    def test_put_says_name_size_and_version(self):
        first = self.ok("put", "--json", self.pool, "versions", "-", stdin=b"one").json
        second = self.ok("put", self.pool, "versions", "-", "--json", stdin=b"three").json
        self.assertEqual(first["name"], "versions")
        self.assertEqual((first["size"], second["size"]), (3, 5))
        self.assertGreater(second["version"], first["version"])

    def test_quiet_is_silent(self):
        answer = self.ok("put", "-q", self.pool, "quiet", "-", stdin=b"x")
        self.assertEqual((answer.raw, answer.error), (b"", ""))

    def test_get_of_a_range(self):
        self.ok("put", self.pool, "range", "-", stdin=BINARY)
        part = self.ok("cat", self.pool, "range", "--offset", "1000", "--length", "1KiB").raw
        self.assertEqual(part, BINARY[1000:2024])
        tail = self.ok("cat", self.pool, "range", "--offset", str(len(BINARY) - 3)).raw
        self.assertEqual(tail, BINARY[-3:])
        self.assertEqual(self.ok("cat", self.pool, "range", "--offset", "1GiB").raw, b"")

    def test_a_failed_get_leaves_no_file(self):
        target = self.path("target")
        self.fails(1, "get", self.pool, "no such object", target)
        self.assertEqual(os.listdir(self.folder), [])

    def test_get_replaces_a_file_whole_and_keeps_its_mode(self):
        self.ok("put", self.pool, "replace", "-", stdin=b"new")
        target = self.write("target", b"something old and longer")
        os.chmod(target, 0o640)
        self.ok("get", self.pool, "replace", target)
        self.assertEqual(self.read(target), b"new")
        self.assertEqual(os.stat(target).st_mode & 0o777, 0o640)
        self.assertEqual(os.listdir(self.folder), ["target"])

    def test_get_writes_devices_in_place(self):
        self.ok("put", self.pool, "null", "-", stdin=BINARY)
        self.ok("get", self.pool, "null", "/dev/null")
        self.assertFalse(os.path.isfile("/dev/null"))

    def test_get_into_a_directory_is_refused(self):
        self.ok("put", self.pool, "directory", "-", stdin=b"x")
        self.fails(2, "get", self.pool, "directory", self.folder)

    def test_put_of_missing_files_and_directories(self):
        self.fails(1, "put", self.pool, "x", self.path("missing"))
        answer = self.fails(2, "put", self.pool, "x", self.folder)
        self.assertIn("import", answer.error)

    def test_missing_objects_and_collections_are_not_found(self):
        for words in (["cat", self.pool, "nothing"], ["stat", self.pool, "nothing"],
                      ["rm", self.pool, "nothing"], ["mv", self.pool, "nothing", "x"],
                      ["ls", self.pool, "--collection", "nothing"],
                      ["rm", self.pool, "--collection", "nothing", "x"],
                      ["put", self.pool, "x", "-", "--collection", "nothing"],
                      ["bucket", "rm", self.pool, "nothing"]):
            self.fails(1, *words)

    def test_errors_are_objects_with_json(self):
        answer = self.fails(1, "stat", self.pool, "nothing", "--json")
        self.assertEqual(answer.json["error"]["code"], "not found")
        self.assertIn("nothing", answer.json["error"]["message"])
        self.assertIn("hint", answer.json["error"])

    def test_stat_tells_what_is_known(self):
        self.ok("put", self.pool, "known", "-", stdin=b"x" * 5000)
        found = self.ok("stat", self.pool, "known", "--json").json
        self.assertEqual(found["name"], "known")
        self.assertEqual(found["size"], 5000)
        for key in ("version", "mtime", "stored", "extents"):
            self.assertIsInstance(found[key], int)
        self.assertIsInstance(found["placement"], str)
        self.assertEqual(found["attributes"], [])
        self.assertLess(abs(found["mtime"] - time.time_ns()), 600 * 10**9)
        self.assertIn("5000", self.ok("stat", self.pool, "known").text)

    def test_names_of_1024_bytes_work_and_others_are_refused(self):
        longest = "n" * 1024
        self.ok("put", self.pool, longest, "-", stdin=b"long")
        self.assertEqual(self.ok("cat", self.pool, longest).raw, b"long")
        self.fails(2, "put", self.pool, longest + "n", "-", stdin=b"x")
        self.fails(2, "put", self.pool, "", "-", stdin=b"x")
        self.ok("rm", self.pool, longest)

    def test_names_that_look_like_something_else(self):
        for name in ("ls", "[a,b]", "--", "a b", "-x", "é", "a\\b", "=", "{}", "\x01[", "a\nb"):
            self.ok("put", self.pool, "--", name, "-", stdin=name.encode())
            self.assertEqual(self.ok("cat", self.pool, "--", name).raw, name.encode())
            self.ok("rm", self.pool, "--", name)

    def test_names_that_are_not_utf8(self):
        name = b"\xff\xfe/caf\xe9"
        encoded = base64.b64encode(name).decode()
        self.ok("put", self.pool, "--name-b64", encoded, "-", stdin=b"bytes")
        self.assertEqual(self.ok("cat", self.pool, name).raw, b"bytes")
        found = self.ok("stat", self.pool, "--json", "--name-b64", encoded).json
        self.assertEqual(found["name_b64"], encoded)
        self.assertNotIn("name", found)
        listed = self.ok("ls", self.pool, "--json", name).json["entries"]
        self.assertEqual([entry["name_b64"] for entry in listed], [encoded])
        self.assertEqual(self.ok("ls", self.pool, name, "-0").raw, name + b"\0")
        self.fails(2, "cat", self.pool, "--name-b64", "not base64!")
        self.ok("rm", self.pool, "--name-b64", encoded)

    def test_mv_renames_and_refuses_to_overwrite(self):
        self.ok("put", self.pool, "mv/a", "-", stdin=b"a")
        self.ok("put", self.pool, "mv/b", "-", stdin=b"b")
        answer = self.fails(1, "mv", self.pool, "mv/a", "mv/b")
        self.assertIn("--force", answer.error)
        self.assertEqual(self.ok("cat", self.pool, "mv/b").raw, b"b")
        self.ok("mv", self.pool, "mv/a", "mv/b", "--force")
        self.assertEqual(self.ok("cat", self.pool, "mv/b").raw, b"a")
        moved = self.ok("mv", self.pool, "mv/b", "mv/c", "--json").json
        self.assertEqual((moved["from"], moved["name"]), ("mv/b", "mv/c"))
        self.fails(1, "cat", self.pool, "mv/b")

    def test_cp_copies_and_refuses_to_overwrite(self):
        self.ok("put", self.pool, "cp/a", "-", stdin=b"a")
        self.ok("attr", "set", self.pool, "cp/a", "colour", "red")
        copied = self.ok("cp", self.pool, "cp/a", "cp/b", "--json").json
        self.assertEqual((copied["from"], copied["name"], copied["replaced"]),
                         ("cp/a", "cp/b", False))
        self.ok("put", self.pool, "cp/a", "-", stdin=b"other")
        self.assertEqual(self.ok("cat", self.pool, "cp/b").raw, b"a")
        self.assertEqual(self.ok("attr", "get", self.pool, "cp/b", "colour").raw, b"red")
        answer = self.fails(1, "cp", self.pool, "cp/a", "cp/b")
        self.assertIn("--force", answer.error)
        self.assertEqual(self.ok("cat", self.pool, "cp/b").raw, b"a")
        self.ok("cp", self.pool, "cp/a", "cp/b", "--force")
        self.assertEqual(self.ok("cat", self.pool, "cp/b").raw, b"other")
        self.fails(1, "cp", self.pool, "cp/none", "cp/c")
        self.fails(2, "cp", self.pool, "cp/a", "cp/a")

    def test_rm_removes_what_is_there_and_names_what_is_not(self):
        for name in ("rm/a", "rm/b"):
            self.ok("put", self.pool, name, "-", stdin=b"x")
        answer = self.fails(1, "rm", self.pool, "rm/a", "rm/x", "rm/b", "--json")
        self.assertEqual(answer.json["removed"], 2)
        self.assertEqual(answer.json["missing"], [{"name": "rm/x"}])
        self.ok("rm", self.pool, "rm/a", "--force")

    def test_rm_by_prefix(self):
        for i in range(7):
            self.ok("put", self.pool, f"prefix/{i}", "-", stdin=b"x")
        self.ok("put", self.pool, "prefiy", "-", stdin=b"x")
        self.assertEqual(self.ok("rm", self.pool, "--prefix", "prefix/", "--json").json["removed"], 7)
        self.ok("stat", self.pool, "prefiy")
        self.assertEqual(self.ok("rm", self.pool, "--prefix", "prefix/", "--json").json["removed"], 0)
        self.fails(2, "rm", self.pool, "--prefix", "")
        self.fails(2, "rm", self.pool)
        self.fails(2, "rm", self.pool, "x", "--prefix", "y")

    def test_devices_in_place_of_the_pool(self):
        self.ok("put", self.pool, "devices", "-", stdin=b"found")
        shuffled = self.devices[3:] + self.devices[:3]
        fast = os.path.join(self.pool, "fast")
        answer = self.ok("cat", "--device", *shuffled, "--fast", fast, "--", "devices")
        self.assertEqual(answer.raw, b"found")
        answer = self.ok("get", "--fast", fast, "--device", *shuffled, "devices", "-")
        self.assertEqual(answer.raw, b"found")
        self.fails(2, "cat", self.pool, "devices", "--fast", fast)


class Listing(PoolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.names = sorted([f"d{i % 3}/{i:02}" for i in range(12)] + ["a", "z", "d1"])
        for name in cls.names:
            hexad("put", cls.pool, name, "-", stdin=name.encode())

    def names_of(self, *words):
        return [entry["name"] for entry in self.ok("ls", self.pool, "--json", *words).json["entries"]]

    def test_ls_is_sorted_and_complete(self):
        answer = self.ok("ls", self.pool, "--json").json
        self.assertEqual([entry["name"] for entry in answer["entries"]], self.names)
        self.assertEqual([entry["size"] for entry in answer["entries"]], [len(n) for n in self.names])
        self.assertIsNone(answer["next"])
        self.assertEqual(self.ok("ls", self.pool).text.split("\n"), self.names + [""])

    def test_ls_by_prefix_after_and_limit(self):
        self.assertEqual(self.names_of("d1/"), [n for n in self.names if n.startswith("d1/")])
        self.assertEqual(self.names_of("--after", "d1/04"), [n for n in self.names if n > "d1/04"])
        self.assertEqual(self.names_of("--limit", "0"), [])
        found, after = [], []
        while True:
            page = self.ok("ls", self.pool, "--json", "--limit", "4", *after).json
            found += [entry["name"] for entry in page["entries"]]
            if page["next"] is None:
                break
            self.assertEqual(len(page["entries"]), 4)
            after = ["--after", page["next"]]
        self.assertEqual(found, self.names)

    def test_ls_folds_by_delimiter(self):
        entries = self.ok("ls", self.pool, "--delimiter", "/", "--json").json["entries"]
        self.assertEqual([e["name"] for e in entries], ["a", "d0/", "d1", "d1/", "d2/", "z"])
        self.assertEqual([e["name"] for e in entries if e.get("prefix")], ["d0/", "d1/", "d2/"])

    def test_ls_in_reverse(self):
        self.assertEqual(self.names_of("--reverse"), self.names[::-1])
        self.assertEqual(self.ok("ls", self.pool, "-r", "d1/").text.split(),
                         [n for n in self.names[::-1] if n.startswith("d1/")])
        self.assertEqual(self.names_of("-r", "--after", "d1/04"),
                         [n for n in self.names[::-1] if n < "d1/04"])
        self.assertEqual(self.ok("ls", self.pool, "-r", "-d", "/").text.split(),
                         ["z", "d2/", "d1/", "d1", "d0/", "a"])
        # Page by page; what is folded continues the listing, too.
        for words in (["-r"], ["-r", "-d", "/"], ["-d", "/"], ["-d", "d1/"]):
            found, after = [], []
            while True:
                page = self.ok("ls", self.pool, "--json", "--limit", "2", *words, *after).json
                found += [entry["name"] for entry in page["entries"]]
                if page["next"] is None:
                    break
                self.assertEqual(page["next"], found[-1])
                after = ["--after", page["next"]]
            self.assertEqual(found, self.names_of(*words))

    def test_ls_limit_zero_only_asks_for_the_collection(self):
        self.assertEqual(self.ok("ls", self.pool, "--limit", "0", "--json").json,
                         {"entries": [], "next": None})
        self.fails(1, "ls", self.pool, "--limit", "0", "--collection", "nothing")

    def test_ls_refuses_texts_that_are_longer_than_names(self):
        for words in (["n" * 1025], ["--after", "n" * 1025], ["--delimiter", "n" * 1025]):
            answer = self.fails(2, "ls", self.pool, "--json", *words)
            self.assertEqual(answer.json["error"]["code"], "invalid argument")

    def test_ls_long_shows_sizes(self):
        self.assertRegex(self.ok("ls", self.pool, "-l", "d1").text, r" 2 +\d+ d1\n")

    def test_ls_of_an_empty_prefix_is_empty(self):
        self.assertEqual(self.ok("ls", self.pool, "nothing/", "--json").json,
                         {"entries": [], "next": None})


class Buckets(PoolTest):
    def test_buckets_come_and_go(self):
        self.ok("bucket", "create", self.pool, "logs")
        self.fails(1, "bucket", "create", self.pool, "logs")
        listed = self.ok("bucket", "ls", self.pool, "--json").json["collections"]
        self.assertEqual({entry["name"] for entry in listed}, {"default", "logs"})
        self.ok("put", self.pool, "x", "-", "--collection", "logs", stdin=b"in logs")
        self.fails(1, "cat", self.pool, "x")
        self.assertEqual(self.ok("cat", self.pool, "x", "--collection", "logs").raw, b"in logs")
        answer = self.fails(1, "bucket", "rm", self.pool, "logs")
        self.assertIn("--recursive", answer.error)
        self.ok("mv", self.pool, "--collection", "logs", "x", "y", "--to-collection", "default")
        self.assertEqual(self.ok("cat", self.pool, "y").raw, b"in logs")
        self.ok("put", self.pool, "z", "-", "--collection", "logs", stdin=b"z")
        self.ok("rm", self.pool, "--collection", "logs", "--all")
        self.ok("bucket", "rm", self.pool, "logs")
        self.assertEqual(self.ok("bucket", "ls", self.pool).text, "default\n")


class Management(PoolTest):
    def test_status_of_a_healthy_pool(self):
        status = self.ok("status", self.pool, "--json").json
        self.assertEqual(status["health"], "ok")
        self.assertEqual(status["faults_tolerated"], 2)
        data = [device for device in status["devices"] if device["role"] == "data"]
        for device in status["devices"]:
            self.assertIn(device["durability"], ("write", "own flush", "shared flush"))
            self.assertEqual(device["flush_domain"] < 0, device["durability"] == "write")
        if all(device["durability"] == "shared flush" for device in data):
            self.assertTrue(any("one failure domain" in note for note in status["notes"]))
        self.assertEqual({device["state"] for device in data}, {"ok"})
        self.assertEqual({device["path"] for device in data}, set(self.devices))
        text = self.ok("status", self.pool).text
        self.assertIn("health  ok", text)
        self.assertIn("on 4 devices, 3 of them for data", text)

    def test_df_has_the_documented_numbers(self):
        self.ok("put", self.pool, "df", "-", stdin=os.urandom(1 << 20))
        space = self.ok("df", self.pool, "--json").json
        for key in ("capacity", "used", "stored", "allocated", "compressed_original",
                    "compressed_allocated", "metadata"):
            self.assertIsInstance(space[key], int, key)
        self.assertGreaterEqual(space["stored"], 1 << 20)
        self.assertGreaterEqual(space["used"], (1 << 20) * 3 // 2)
        self.assertEqual(len(space["per_device"]), DEVICES)
        self.assertIn("capacity", self.ok("df", self.pool).text)

    def test_fsck_of_a_healthy_pool(self):
        self.ok("put", self.pool, "fsck", "-", stdin=os.urandom(1 << 20))
        for words in ([], ["--deep"], ["--repair"], ["--deep", "--repair"]):
            report = self.ok("fsck", self.pool, "--json", *words).json
            self.assertEqual(report["errors"], 0)
            self.assertEqual(report["findings"], [])

    def test_scrub_of_a_healthy_pool(self):
        self.ok("put", self.pool, "scrub", "-", stdin=os.urandom(1 << 20))
        report = self.ok("scrub", self.pool, "--json", "--rate", "1GiB").json
        self.assertEqual((report["errors"], report["findings"], report["next"]), (0, [], None))
        self.assertGreater(report["stripes_checked"], 0)
        self.assertGreater(report["bytes_checked"], 1 << 20)
        text = self.ok("scrub", self.pool, "--from", "runs")
        self.assertIn("0 errors, 0 repaired; checked ", text.text)
        self.assertEqual(hexad("scrub", self.pool, "--from", "nowhere").code, 2)

    def test_scrub_puts_right_what_is_damaged_on_one_device(self):
        data = os.urandom(1 << 20)
        self.ok("put", self.pool, "victim", "-", stdin=data)
        cell = data[:1000]
        hit = 0
        for path in self.devices:
            bytes_there = self.read(path)
            at = bytes_there.find(cell)
            if at < 0:
                continue
            hit += 1
            with open(path, "r+b") as device:
                device.seek(at + 500)
                device.write(b"damage")
        self.assertEqual(hit, 1)
        report = self.ok("scrub", self.pool, "--json").json
        self.assertEqual(report["errors"], 0)
        self.assertEqual(len(report["findings"]), 1)
        self.assertEqual(report["findings"][0]["subject"], "object default/victim")
        self.assertTrue(report["findings"][0]["repaired"])
        self.assertEqual(self.ok("scrub", self.pool, "--json").json["findings"], [])

    def test_perf_dump_is_json(self):
        dump = self.ok("perf", "dump", self.pool).json
        self.assertEqual(set(dump), {"counters", "since_open", "latencies"})
        self.assertEqual(set(dump["latencies"]["commit_lat"]), {"avgcount", "sum", "avgtime"})
        self.assertGreater(dump["latencies"]["commit_lat"]["avgcount"], 0)
        self.assertEqual(set(dump["counters"]), set(dump["since_open"]))
        self.assertGreater(len(dump["counters"]), 0)

    def test_reading_changes_no_byte_of_the_pool(self):
        self.ok("put", self.pool, "unchanged", "-", stdin=BINARY)

        def image():
            paths = list(self.devices)
            for folder, _, names in os.walk(self.pool):
                # LMDB's lock file is shared memory between readers, not part of the store.
                paths += [os.path.join(folder, name) for name in names if name != "lock.mdb"]
            return {path: self.read(path) for path in paths}

        before = image()
        for words in (["status"], ["df"], ["ls"], ["fsck", "--deep"], ["perf", "dump"]):
            self.ok(*words, self.pool)
        self.ok("cat", self.pool, "unchanged")
        self.ok("stat", self.pool, "unchanged")
        self.ok("export", self.pool, self.path("out"))
        self.assertTrue(before == image(), "a read-only verb has written")


class Lost(PoolTest):
    def test_two_lost_devices_are_survived_and_three_are_not(self):
        data = os.urandom(300000)
        self.ok("put", self.pool, "kept", "-", stdin=data)
        for device in self.devices[:2]:
            os.rename(device, device + ".away")
        status = self.ok("status", self.pool, "--json").json
        self.assertEqual((status["health"], status["faults_tolerated"]), ("degraded", 0))
        self.assertEqual(self.ok("cat", self.pool, "kept").raw, data)
        checked = self.expect(3, "fsck", self.pool, "--deep", "--json").json
        self.assertEqual((checked["errors"], checked["missing_devices"]), (0, 2))
        self.assertIn("2 of 6 data devices are missing, 0 more may be lost",
                      self.expect(3, "fsck", self.pool, "--deep").error)
        self.ok("fsck", self.pool)
        os.rename(self.devices[2], self.devices[2] + ".away")
        self.fails(4, "cat", self.pool, "kept")
        answer = self.fails(4, "status", self.pool, "--json")
        self.assertEqual(answer.json["health"], "unavailable")
        data_devices = [d for d in answer.json["devices"] if d["role"] == "data"]
        self.assertEqual(sum(d["state"] == "missing" for d in data_devices), 3)
        self.assertEqual([d["id"] for d in answer.json["devices"]], list(range(DEVICES + 1)))
        self.assertIn("error", answer.json)
        self.assertIn("missing", self.fails(4, "status", self.pool).text)
        for device in self.devices[:3]:
            os.rename(device + ".away", device)
        self.assertEqual(self.ok("cat", self.pool, "kept").raw, data)
        self.assertEqual(self.ok("status", self.pool, "--json").json["health"], "ok")


class Together(PoolTest):
    def test_an_opening_that_loses_a_device_says_so_whatever_the_flags(self):
        for flags in ([], ["-q"], ["--json"]):
            with self.subTest(flags=flags):
                pool, devices = self.small_pool("".join(flags).strip("-") or "plain")
                os.rename(devices[2], devices[2] + ".late")
                below = "" if flags == ["-q"] else "redundancy is below the profile: 1 of 6"
                for _ in range(2):  # reading leaves nothing behind
                    said = self.ok("ls", pool, *flags).error
                    self.assertEqual(said.count("\n"), 0 if flags == ["-q"] else 1)
                    self.assertIn(below, said)
                said = self.ok("rm", "-f", pool, "nothing", *flags).error
                self.assertEqual(said.count("\n"), 1 if flags == ["-q"] else 2)
                self.assertIn("hexad: device 2", said)
                self.assertIn(below, said)
                self.assertIn(devices[2], said)
                self.assertIn("has left the pool", said)
                # Once: the next opening loses nothing, takes it in again and gives it what it lacks.
                os.rename(devices[2] + ".late", devices[2])
                self.assertEqual(self.ok("device", "ls", pool, "--json").json["devices"][2]["state"],
                                 "away")
                self.assertEqual(self.ok("rm", "-f", pool, "nothing", *flags).error, "")
                self.assertEqual(self.ok("status", pool, "--json").json["health"], "ok")

    def test_what_is_written_with_devices_missing_says_so_in_json(self):
        pool, devices = self.small_pool("degraded")
        file = self.write("file", b"content")
        tree = self.path("tree")
        os.mkdir(tree)
        self.assertNotIn("warnings", self.ok("put", pool, "a", file, "--json").json)
        for device in devices[:2]:
            os.rename(device, device + ".away")
        first = self.ok("put", pool, "b", file, "--json").json["warnings"]
        self.assertEqual(len(first), 3)
        self.assertIn("has left the pool", first[0])
        for words in (["put", pool, "c", file], ["import", pool, tree],
                      ["mv", pool, "c", "d"]):
            warnings = self.ok(*words, "--json").json["warnings"]
            self.assertEqual(len(warnings), 1)
            self.assertIn("redundancy is below the profile: 2 of 6 data devices", warnings[0])

    def test_a_process_without_descriptors_changes_nothing(self):
        pool, devices = self.small_pool("short")
        before = [self.read(device) for device in devices]

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))

        answer = self.fails(7, "rm", pool, "nothing", preexec_fn=limit)
        self.assertIn("Too many open files", answer.error)
        self.assertIn("ulimit -n", answer.error)
        self.assertEqual([self.read(device) for device in devices], before)
        self.assertEqual(self.ok("rm", "-f", pool, "nothing").error, "")
        self.assertEqual(self.ok("status", pool, "--json").json["health"], "ok")

    def test_a_device_that_is_no_file_is_given_up_by_an_explicit_word_alone(self):
        pool, devices = self.small_pool("word")
        os.rename(devices[4], devices[4] + ".moved")
        os.mkfifo(devices[4])
        answer = self.fails(2, "rm", "-f", pool, "nothing")
        self.assertIn(devices[4], answer.error)
        self.assertIn("--lose-unwritable-devices", answer.error)
        self.assertIn("redundancy is below the profile", self.ok("ls", pool).error)
        os.remove(devices[4])
        os.rename(devices[4] + ".moved", devices[4])
        self.assertEqual(self.ok("status", pool, "--json").json["health"], "ok")
        os.rename(devices[4], devices[4] + ".moved")
        os.mkfifo(devices[4])
        said = self.ok("rm", "-f", pool, "nothing", "--lose-unwritable-devices").error
        self.assertIn("device 4", said)

    def test_devices_that_are_late_one_after_the_other_are_no_loss(self):
        pool, devices = self.small_pool("late")
        file = self.write("some", os.urandom(300_000))
        self.ok("put", pool, "a", file)
        for late in (2, 3):
            os.rename(devices[late], devices[late] + ".late")
            self.assertIn("1 of 6 data devices", self.ok("put", pool, f"day{late}", file).error)
            os.rename(devices[late] + ".late", devices[late])
        self.ok("put", pool, "b", file)
        self.assertEqual(self.ok("status", pool, "--json").json["faults_tolerated"], 2)
        for lost in (0, 1):
            os.remove(devices[lost])
        for name in ("a", "day2", "day3", "b"):
            self.assertEqual(self.ok("cat", pool, name).raw, self.read(file))

    def test_a_lost_device_is_replaced_by_a_new_one(self):
        pool, devices = self.small_pool("replaced")
        file = self.write("some", os.urandom(2_000_000))
        self.ok("put", pool, "a", file)
        self.assertIn("in use", self.fails(2, "device", "replace", pool, "1", "new").error)
        os.remove(devices[1])
        self.fails(2, "device", "replace", pool, "one", self.path("new"))
        self.fails(1, "device", "replace", pool, "77", self.path("new"))
        report = self.ok("device", "replace", pool, "1", self.path("new"), "--json").json
        self.assertEqual(report["bytes_missing"], 0)
        self.assertGreater(report["bytes_total"], 400_000)
        shown = self.ok("device", "ls", pool, "--json").json["devices"]
        self.assertEqual([device["state"] for device in shown], ["ok"] * len(shown))
        self.assertEqual(shown[1]["path"], self.path("new"))
        self.assertEqual(self.ok("device", "catch-up", pool, "--json").json["bytes_total"], 0)
        for lost in (0, 2):
            os.remove(devices[lost])
        self.assertEqual(self.ok("cat", pool, "a").raw, self.read(file))

    def test_devices_may_be_named_by_symbolic_links(self):
        pool, devices = self.small_pool("links")
        links = []
        for i, device in enumerate(devices):
            links.append(self.path(f"by-id-{i}"))
            os.symlink(device, links[-1])
        self.ok("put", pool, "a", self.write("some", b"bytes"))
        self.assertEqual(self.ok("cat", "--device", *links, "--", "a").raw, b"bytes")

    def small_pool(self, name):
        pool = self.path(name)
        devices = [os.path.join(self.folder, f"{name}-{i}") for i in range(6)]
        self.ok("mkfs", pool, "--device", *devices, "--size", "16MiB", "--preset", "tiny")
        return pool, devices

    def test_a_pool_in_use_is_busy_and_comes_back(self):
        read_end, write_end = os.pipe()
        with subprocess.Popen([HEXAD, "put", self.pool, "slow", "-"], stdin=read_end,
                              stdout=subprocess.DEVNULL) as writer:
            os.close(read_end)
            # More than fits into a pipe: when this returns, the writer is reading.
            os.write(write_end, b"x" * (1 << 20))
            os.write(write_end, b"x" * (8 << 20))
            self.fails(5, "cat", self.pool, "slow")
            self.fails(5, "put", self.pool, "other", "-", stdin=b"x")
            self.assertEqual(self.ok("status", self.pool, "--json").json["health"], "ok")
            os.close(write_end)
            self.assertEqual(writer.wait(60), 0)
        self.assertEqual(self.ok("stat", self.pool, "slow", "--json").json["size"], 9 << 20)

    def test_ctrl_c_leaves_nothing_half_done(self):
        self.ok("put", self.pool, "half", "-", stdin=b"before")
        read_end, write_end = os.pipe()
        with subprocess.Popen([HEXAD, "put", self.pool, "half", "-"], stdin=read_end,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as writer:
            os.close(read_end)
            os.write(write_end, b"x" * (9 << 20))
            writer.send_signal(signal.SIGINT)
            _, error = writer.communicate(timeout=60)
            self.assertEqual(writer.returncode, 130, error)
            os.close(write_end)
        self.assertIn(b"hexad: interrupted", error)
        self.assertEqual(self.ok("cat", self.pool, "half").raw, b"before")
        self.ok("fsck", self.pool, "--deep")

    def test_a_reader_that_goes_away_is_no_drama(self):
        self.ok("put", self.pool, "long", "-", stdin=os.urandom(12 << 20))
        with subprocess.Popen([HEXAD, "cat", self.pool, "long"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as cat:
            cat.stdout.read(10)
            cat.stdout.close()
            self.assertEqual(cat.wait(60), 141)
            self.assertEqual(cat.stderr.read(), b"")


class Making(PoolTest):
    def make(self, *words):
        devices = [self.path(f"d{i}") for i in range(DEVICES)]
        return ["mkfs", self.path("new"), "--device", *devices, "--size", "64MiB", *words]

    def test_mkfs_says_what_it_made(self):
        made = self.ok(*self.make("--json", "--compression", "aggressive", "--algorithm", "zstd")).json
        self.assertEqual(made["profile"], "4+2")
        self.assertEqual(len(made["devices"]), DEVICES)
        self.assertTrue(os.path.isfile(self.path("new/hexad.pool")))
        self.assertTrue(os.path.isdir(self.path("new/fast")))
        compressible = b"all work and no play " * 10000
        self.ok("put", self.path("new"), "x", "-", stdin=compressible)
        self.assertEqual(self.ok("cat", self.path("new"), "x").raw, compressible)
        stat = self.ok("stat", self.path("new"), "x", "--json").json
        self.assertLess(stat["stored"], len(compressible) // 4)

    def test_mkfs_refuses_an_existing_pool(self):
        before = [os.stat(device).st_mtime_ns for device in self.devices]
        answer = self.fails(1, "mkfs", self.pool, "--device", *self.devices)
        self.assertIn("--force", answer.error)
        other = self.fails(1, "mkfs", self.path("other"), "--device", *self.devices)
        self.assertIn("force", other.error.lower())
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(before, [os.stat(device).st_mtime_ns for device in self.devices])
        self.ok("status", self.pool)

    def test_mkfs_that_fails_leaves_nothing(self):
        for words in (["--profile", "8+3"], ["--profile", "four"], ["--profile", "0+2"],
                      ["--min-alloc", "4097"], ["--min-alloc", "many"], ["--codec", "rot13"],
                      ["--checksum", "md5"], ["--checksum-block", "5KiB"], ["--preset", "huge"],
                      ["--compression", "sometimes"], ["--algorithm", "zip"], ["--size", "4KiB"]):
            answer = self.fails(2, *self.make(*words))
            self.assertIn("hint", answer.error, words)
            self.assertEqual(os.listdir(self.folder), [], words)
        self.fails(2, "mkfs", self.path("new"))
        self.fails(2, "mkfs", self.path("new"), "--device", self.path("d0"))
        self.assertEqual(os.listdir(self.folder), [])

    def tree(self):
        """What stands below the test's folder: names, modes and bytes."""
        found = {}
        for folder, folders, files in os.walk(self.folder):
            for name in [*folders, *files]:
                path = os.path.join(folder, name)
                found[path] = (os.lstat(path).st_mode, self.read(path) if name in files else None)
        return found

    def test_mkfs_that_is_refused_changes_nothing_beside_what_is_there(self):
        self.write("file", b"in the way")
        os.mkdir(self.path("empty"))
        os.makedirs(self.path("pooldir/hexad.pool"))
        refused = [
            (2, self.make("--fast", self.path("file/fast"))),
            (2, self.make("--fast", self.path("empty"), self.path("file"))),
            (2, self.make("--fast", self.path("empty"), self.path("empty"))),
            (1, self.make("--fast", self.path("a/b"), os.path.join(self.pool, "fast"))),
            (1, ["mkfs", self.path("new"), "--device", *self.devices]),
            (6, self.make("--log-size", "64MiB")),
            (2, ["mkfs", self.path("pooldir"), *self.make("--force")[2:]]),
            (2, ["mkfs", self.path("file"), *self.make()[2:]]),
        ]
        for code, words in refused:
            before = self.tree()
            self.fails(code, *words)
            self.assertEqual(self.tree(), before, words)

    def test_mkfs_by_force_makes_room_for_a_larger_log(self):
        self.ok(*self.make("--log-size", "4MiB"))
        self.ok(*self.make("--log-size", "8MiB", "--force"))
        self.ok("put", self.path("new"), "x", "-", stdin=BINARY)
        self.assertEqual(self.ok("status", self.path("new"), "--json").json["log_size"], 8 << 20)
        self.ok(*self.make("--log-size", "4MiB", "--force"))
        self.assertEqual(self.ok("status", self.path("new"), "--json").json["log_size"], 4 << 20)

    def test_a_pool_can_be_moved(self):
        inside = [self.path(f"pool/d{i}") for i in range(DEVICES)]
        self.ok("mkfs", self.path("pool"), "--device", *inside, "--size", "64MiB")
        self.ok("put", self.path("pool"), "x", "-", stdin=b"moved")
        os.rename(self.path("pool"), self.path("elsewhere"))
        self.assertEqual(self.ok("cat", self.path("elsewhere"), "x").raw, b"moved")

    def test_other_profiles_and_codecs(self):
        for number, (profile, codec) in enumerate([("2+1", "isa-vandermonde"), ("3+3", "isa-cauchy"),
                                                   ("4+2", "jerasure:reed_sol_van"),
                                                   ("4+2", "jerasure:cauchy_good")]):
            pool = self.path(f"pool{number}")
            devices = [f"{pool}/d{i}" for i in range(DEVICES)]
            self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB", "--profile", profile,
                    "--codec", codec)
            self.ok("put", pool, "x", "-", stdin=BINARY)
            os.unlink(devices[2])
            self.assertEqual(self.ok("cat", pool, "x").raw, BINARY)

    def test_a_full_pool_says_how_many_bytes_it_has_room_for(self):
        self.ok(*self.make("--preset", "tiny"))
        full = self.fails(6, "put", self.path("new"), "large", "-", stdin=os.urandom(1 << 20) * 300)
        self.assertRegex(full.error, "; the pool has room for [0-9.]+ .*B of [0-9.]+ MiB")

    def test_half_of_a_mirror_is_written_only_by_a_word(self):
        pool = self.path("mirror")
        devices = [f"{pool}/d0", f"{pool}/d1"]
        self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB", "--profile", "1+1")
        self.ok("put", pool, "x", "-", stdin=b"both")
        os.rename(devices[0], self.path("away"))
        self.assertEqual(self.ok("cat", pool, "x").raw, b"both")
        answer = self.fails(4, "put", pool, "y", "-", stdin=b"one")
        self.assertIn("--risk-split", answer.error)
        self.ok("put", pool, "y", "-", "--risk-split", stdin=b"one")
        self.ok("put", pool, "z", "-", stdin=b"one")
        os.rename(self.path("away"), devices[0])
        self.assertEqual(self.ok("cat", pool, "y").raw, b"one")

    def test_opening_never_creates(self):
        self.fails(1, "put", self.path("typo"), "x", "-", stdin=b"x")
        self.fails(1, "status", self.path("typo"))
        self.assertEqual(os.listdir(self.folder), [])


class Usage(PoolTest):
    def test_help_has_an_example_for_every_verb(self):
        general = self.ok("--help").text
        verbs = [line[2:18].strip() for line in general.split("\n") if line.startswith("  ")]
        self.assertGreaterEqual(len(verbs), 20)
        for verb in verbs:
            for words in ([*verb.split(), "--help"], ["help", *verb.split()]):
                text = self.ok(*words).text
                self.assertIn("Example:\n  ", text)
                self.assertIn("hexad " + verb, text.split("Example:")[1])
        self.assertRegex(self.ok("--version").text, r"^hexad \d+\.\d+")

    def test_usage_errors_suggest_something(self):
        for words, expected in (
                (["stattus", self.pool], "status"),
                (["bucket", self.pool], "bucket create"),
                (["ls", self.pool, "--delimitre", "/"], "--delimiter"),
                (["get", self.pool, "name"], "FILE"),
                (["get", self.pool, "a", "b", "c"], "unexpected"),
                (["ls", self.pool, "--limit", "many"], "--help"),
                (["cat", self.pool, "x", "--offset", "far"], "4KiB"),
                (["bench", "run", self.pool, "--rw", "sideways"], "put, get, write"),
                (["bench", "run", self.pool, "--log-durability", "maybe"], "full, fast, data-first"),
                ([], "--help"), (["--frobnicate"], "--help")):
            answer = self.fails(2, *words)
            self.assertIn(expected, answer.error, words)
            self.assertIn("hint: ", answer.error)
        answer = self.fails(2, "ls", self.pool, "--limit", "many", "--json")
        self.assertEqual(answer.json["error"]["code"], "invalid argument")


class Bench(PoolTest):
    KEYS = {"p50", "p95", "p99", "p999", "max"}

    def test_bench_measures_whole_objects(self):
        for workload in ("put", "get"):
            result = self.ok("bench", "run", self.pool, "--rw", workload, "--bs", "8KiB", "--objects",
                             "50", "--threads", "2", "--iodepth", "4", "--runtime", "0.5", "--json").json
            self.assertGreater(result["ops_per_s"], 0)
            self.assertAlmostEqual(result["bytes_per_s"], result["ops_per_s"] * 8192, delta=1)
            self.assertEqual(set(result["latency_us"]), self.KEYS)
            self.assertGreater(result["latency_us"]["p50"], 0)
            self.assertLessEqual(result["latency_us"]["p50"], result["latency_us"]["p999"])
            self.assertLessEqual(result["latency_us"]["p999"], result["latency_us"]["max"])
            self.assertGreater(result["cpu_us_per_op"], 0)
            self.assertGreaterEqual(result["seconds"], 0.4)  # a run never ends early
            self.assertEqual(len(result["devices"]), 7)  # six for data, one log
            for device in result["devices"]:
                self.assertEqual(
                    set(device), {"id", "role", "path", "written", "written_for", "read", "writes",
                                  "writes_for", "reads", "flushes"})
                self.assertEqual(sum(device["written_for"].values()), device["written"])
                self.assertEqual(sum(device["writes_for"].values()), device["writes"])
            if workload == "put":
                written = sum(device["written"] for device in result["devices"])
                self.assertGreater(written, result["operations"] * 8192)
        listed = self.ok("ls", self.pool, "--collection", "bench", "--json").json["entries"]
        self.assertEqual({entry["size"] for entry in listed}, {8192})
        self.assertLessEqual(len(listed), 50)
        fast = self.ok("bench", "run", self.pool, "--runtime", "0.2", "--log-durability", "fast").text
        self.assertIn("per second", fast)
        self.assertIn("log durability fast", fast)

    def test_bench_measures_ranges_and_what_has_none(self):
        moment = ["--objects", "20", "--runtime", "0.2", "--collection", "ranges", "--json"]
        for workload in ("write", "read", "randwrite", "randread", "randrw"):
            result = self.ok("bench", "run", self.pool, "--rw", workload, "--size", "64KiB", "--zipf",
                             "0.9", "--threads", "2", "--iodepth", "2", "--seed", "3", *moment).json
            self.assertGreater(result["operations"], 0, workload)
            self.assertEqual((result["bs"], result["size"]), (4096, 65536))
            sides = {"read", "write"} if workload == "randrw" else set()
            self.assertEqual({"read", "write"} & set(result), sides)
            if sides:
                self.assertEqual(result["read"]["operations"] + result["write"]["operations"],
                                 result["operations"])
        for workload in ("stat", "list"):
            result = self.ok("bench", "run", self.pool, "--rw", workload, *moment).json
            self.assertGreater(result["operations"], 0, workload)
            self.assertEqual(result["bytes_per_s"], 0)
            self.assertEqual("entries_per_s" in result, workload == "list")
        deleted = self.ok("bench", "run", self.pool, "--rw", "delete", "--durability", "buffered",
                          "--objects", "30", "--runtime", "60", "--collection", "ranges",
                          "--json").json
        self.assertEqual(deleted["operations"], 30)  # each once, then it is over
        self.assertLess(deleted["seconds"], 50)
        left = self.ok("ls", self.pool, "--collection", "ranges", "--json").json["entries"]
        self.assertEqual(left, [])

    def test_bench_runs_the_jobs_of_a_file(self):
        jobs = self.write("jobs", b"[global]\nobjects=10\nruntime=0.1\n"
                          b"[puts]\nrw=put\n[stats]\nrw=stat\n")
        lines = self.ok("bench", "run", self.pool, "--jobs", jobs, "--json").text.splitlines()
        self.assertEqual([json.loads(line)["job"] for line in lines], ["puts", "stats"])
        table = self.ok("bench", "run", self.pool, "--jobs", jobs).text.splitlines()
        self.assertEqual([line.split()[0] for line in table], ["job", "puts", "stats"])
        self.fails(1, "bench", "run", self.pool, "--jobs", self.path("none"))
        broken = self.write("broken", b"[a]\nrw=sideways\n")
        self.assertIn("[a]", self.fails(2, "bench", "run", self.pool, "--jobs", broken).error)

    def test_two_sets_of_figures_are_compared(self):
        def figures(name, *rates):
            rows = [{"id": "a", "unit": "k/s", "values": list(rates)},
                    {"id": "b", "unit": "us", "values": [7, 7, 7]}]
            return self.write(name, json.dumps({"rows": rows}).encode())
        before = figures("before", 10, 11, 12)
        slower = figures("slower", 5, 5.5, 6)
        worse = self.expect(1, "bench", "compare", before, slower, "--json").json
        self.assertEqual((worse["better"], worse["worse"], worse["same"]), (0, 1, 1))
        self.assertEqual(worse["figures"][0]["ratio"], 0.5)
        better = self.ok("bench", "compare", slower, before).text
        self.assertIn("1 better, 0 worse, 1 the same", better)
        self.assertNotIn(" b\n", better)
        self.assertIn(" b\n", self.ok("bench", "compare", slower, before, "--all").text)
        self.fails(2, "bench", "compare", before, self.write("nothing", b"{}"))
        self.fails(1, "bench", "compare", before, self.path("none"))

    def test_the_eight_patterns_are_jobs(self):
        patterns = os.path.join("benchmarks", "jobs", "eight_patterns.job")
        # A busy disk may complete nothing in a short time.
        for runtime in ("0.05", "1", "10"):
            lines = self.ok("bench", "run", self.pool, "--jobs", patterns, "--json", "--cache-size",
                            "0", "--objects", "4", "--runtime", runtime).text.splitlines()
            figures = [json.loads(line) for line in lines]
            self.assertEqual(len({line["job"] for line in figures}), 8)
            idle = [line["job"] for line in figures if line["operations"] == 0]
            if not idle:
                break
        self.assertEqual(idle, [])

    def test_bench_refuses_nonsense(self):
        for words in (["--bs", "0"], ["--objects", "0"], ["--threads", "0"], ["--iodepth", "100000"],
                      ["--runtime", "-1"], ["--compressible", "101"], ["--zipf", "-1"],
                      ["--rw", "read", "--size", "1KiB"], ["--durability", "never"]):
            self.fails(2, "bench", "run", self.pool, *words)
        self.fails(6, "bench", "run", self.pool, "--bs", "16MiB", "--objects", "100000")


if __name__ == "__main__":
    main()
