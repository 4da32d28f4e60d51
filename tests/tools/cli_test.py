#!/usr/bin/env python3
"""The command line from outside: objects, listings, buckets, words and figures, their JSON, exit codes, bad input."""

import base64
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import PoolTest, hexad, main  # pylint: disable=wrong-import-position

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


class Usage(PoolTest):
    def test_help_has_an_example_for_every_verb(self):
        general = self.ok("--help").text
        verbs = [line.strip().split("  ")[0] for line in general.split("\n") if line.startswith("  ")]
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
                (["bench", "run", self.pool, "--hedged-reads", "maybe"], "off, budgeted, always"),
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

    def test_bench_puts_several_changes_into_a_transaction(self):
        moment = ["--batch", "7", "--iodepth", "2", "--collection", "batches", "--objects", "100",
                  "--runtime", "0.5", "--json"]
        for workload in ("put", "randwrite"):
            result = self.ok("bench", "run", self.pool, "--rw", workload, *moment).json
            self.assertEqual(result["batch"], 7)
            self.assertGreater(result["operations"], 0, workload)
            self.assertEqual(result["operations"] % 7, 0)
            self.assertGreaterEqual(result["counters"]["txc_count"] * 7, result["operations"])
            self.assertLess(result["counters"]["txc_count"], result["operations"] / 2)
        # The last one has what is left. The store may commit something of its own beside them.
        deleted = self.ok("bench", "run", self.pool, "--rw", "delete", *moment[:-3], "--runtime", "60",
                          "--json").json
        self.assertEqual(deleted["operations"], 100)
        self.assertGreaterEqual(deleted["counters"]["txc_count"], 15)
        self.assertLess(deleted["counters"]["txc_count"], 50)

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
                      ["--rw", "read", "--size", "1KiB"], ["--durability", "never"], ["--batch", "0"],
                      ["--batch", "5000"], ["--batch", "65", "--bs", "1MiB"], ["--rw", "get", "--batch", "2"],
                      ["--batch", "20", "--objects", "10"]):
            self.fails(2, "bench", "run", self.pool, *words)
        self.fails(6, "bench", "run", self.pool, "--bs", "16MiB", "--objects", "100000")


if __name__ == "__main__":
    main()
