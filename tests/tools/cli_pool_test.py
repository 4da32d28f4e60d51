#!/usr/bin/env python3
"""The command line from outside: pools that are made, looked at, in use, and short of devices."""

import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cli_testing import DEVICES, HEXAD, PATIENCE, PoolTest, hexad, main  # pylint: disable=wrong-import-position

BINARY = bytes(range(256)) * 64


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
            self.assertTrue(any("share one flush domain" in note for note in status["notes"]))
        self.assertEqual({device["state"] for device in data}, {"ok"})
        self.assertEqual({device["path"] for device in data}, set(self.devices))
        text = self.ok("status", self.pool).text
        self.assertIn("health  ok", text)
        self.assertIn("on 4 devices, 3 of them for data", text)

    def test_df_has_the_documented_numbers(self):
        self.ok("put", self.pool, "df", "-", stdin=os.urandom(1 << 20))
        totals = self.ok("df", self.pool, "--json").json
        self.assertFalse(totals["broken_down"])
        self.assertIsNone(totals["compressed_original"])
        self.assertIsNone(totals["available_for_mix"])
        self.assertIn("--breakdown", self.ok("df", self.pool).text)
        space = self.ok("df", self.pool, "--breakdown", "--json").json
        for key in ("capacity", "used", "user_bytes", "allocated", "compressed_original",
                    "compressed_allocated", "metadata"):
            self.assertIsInstance(space[key], int, key)
        for key in ("objects", "capacity", "user_bytes", "allocated", "available"):
            self.assertEqual(space[key], totals[key], key)
        self.assertEqual([layer["name"] for layer in space["layers"]],
                         ["records", "memtable", "index", "run blocks", "fast blocks", "runs",
                          "data blocks", "data"])
        self.assertIsNone(space["fill"]["hours_to_full"])
        self.assertIn("not known yet", self.ok("status", self.pool).text)
        self.assertIn("metadata is all of it in the index", self.ok("status", self.pool).text)
        self.assertGreaterEqual(space["user_bytes"], 1 << 20)
        self.assertNotIn("stored", space)  # which is what compression has left, of `stat`
        self.assertGreaterEqual(space["used"], (1 << 20) * 3 // 2)
        self.assertEqual(len(space["per_device"]), DEVICES)
        text = self.ok("df", self.pool).text
        self.assertIn("capacity", text)
        # One object, in stripes of its own, without padding: what is free is free for more of them.
        self.assertEqual(space["reclaimable"], 0)
        self.assertLessEqual(space["available_for_mix"], space["available"])
        self.assertGreater(space["available_for_mix"], space["available"] * 3 // 4)
        self.assertIn("reclaimable", text)

    def test_df_says_how_much_there_is_room_for_of_objects_of_a_size(self):
        for words, size in (("4KiB", 4096), ("1MiB", 1 << 20)):
            room = self.ok("df", self.pool, "--object-size", words, "--json").json["room"]
            self.assertEqual(room["object_size"], size)
            self.assertEqual(room["usable"] % size, 0)
            self.assertLessEqual(room["available"], room["usable"])
            self.assertGreater(room["available"], room["usable"] // 2)
        self.assertIn("objects of 4 KiB", self.ok("df", self.pool, "--object-size", "4KiB").text)
        self.assertNotIn("room", self.ok("df", self.pool, "--json").json)
        self.fails(2, "df", self.pool, "--object-size", "0")

    def test_df_says_what_a_small_pool_keeps_back_and_how_to_have_less_kept(self):
        large = space = None
        for log in (16, 1):
            pool = self.path(f"log of {log} MiB")
            devices = [self.path(f"log{log}-{i}") for i in range(6)]
            self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB", "--log-size", f"{log}MiB")
            space = self.ok("df", pool, "--json").json
            hint = "--log-size" in self.ok("df", pool).text
            self.assertEqual(hint, space["internally_reserved"] * 10 > space["capacity"])
            self.assertIsNone(space["available_for_mix"])
            large = large or space["internally_reserved"]
        self.assertLess(space["internally_reserved"], large)

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

    def test_a_label_that_is_damaged_is_told_counted_and_written_again(self):
        self.ok("put", self.pool, "label", "-", stdin=BINARY)
        path = self.devices[2]

        def damage():
            with open(path, "r+b") as device:
                device.seek((1 << 20) + 200)
                device.write(b"damage")

        damage()
        row = self.ok("status", self.pool, "--json").json["devices"][2]
        self.assertEqual((row["state"], row["bad_header_slots"]), ("ok", 1))
        self.assertIn("1 of its 6 copies of label and root", self.ok("status", self.pool).text)
        report = self.expect(3, "fsck", self.pool, "--json").json
        self.assertEqual((report["errors"], report["bad_header_slots"]), (1, 1))
        self.assertEqual(report["findings"][0]["subject"], f"device 2 ({path})")
        self.assertTrue(report["findings"][0]["problem"].startswith("the label at the head: "))
        for words in (["fsck", "--repair"], ["scrub"]):
            damage()
            report = self.ok(*words, self.pool, "--json").json
            self.assertEqual((report["errors"], report["bad_header_slots"]), (0, 1), words)
            self.assertTrue(report["findings"][0]["repaired"])
            self.assertEqual(self.ok("fsck", self.pool, "--json").json["findings"], [])
        self.assertEqual(self.ok("cat", self.pool, "label").raw, BINARY)

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

    def test_a_device_that_answers_is_replaced_and_copied(self):
        pool, devices = self.small_pool("copied")
        file = self.write("some", os.urandom(2_000_000))
        self.ok("put", pool, "a", file)
        report = self.ok("device", "replace", pool, "1", self.path("new"), "--json").json
        self.assertEqual(report["bytes_missing"], 0)
        self.assertGreater(report["bytes_copied"], 400_000)
        shown = self.ok("device", "ls", pool, "--json").json["devices"]
        self.assertEqual([device["state"] for device in shown], ["ok"] * len(shown))
        self.assertEqual(shown[1]["path"], self.path("new"))
        self.assertIn("were copied", self.ok("device", "replace", pool, "2", self.path("other")).text)
        for lost in (0, 3):
            os.remove(devices[lost])
        self.assertEqual(self.ok("cat", pool, "a").raw, self.read(file))

    def doctor(self, pool, code=3, words=()):
        """The advice, most urgent first; in text and as JSON the same."""
        answer = self.expect(code, "doctor", pool, *words, "--json").json
        text = self.expect(code, "doctor", pool, *words).text
        for one in answer["advice"]:
            self.assertIn(one["problem"], text)
            self.assertIn(one["command"] or "", text)
        for note in answer["notes"]:
            self.assertIn(note, text)
        return answer["advice"]

    def typed(self, command, **fill):
        """Types what the doctor says, with the words in capitals filled in."""
        program, *words = shlex.split(command)
        self.assertEqual(program, "hexad")
        return self.ok(*[fill.get(word, word) for word in words])

    def test_what_the_doctor_says_to_type_is_what_helps(self):
        pool, devices = self.small_pool("it's ill")
        file = self.write("some", os.urandom(2_000_000))
        self.ok("put", pool, "a", file)
        self.assertEqual(self.doctor(pool, 0), [])
        self.assertIn("nothing is wrong", self.ok("doctor", pool).text)
        # Away while something is written, and back.
        os.rename(devices[2], devices[2] + ".late")
        (missing,) = self.doctor(pool)
        self.assertEqual(missing["urgency"], "soon")
        self.assertIn(f"device 2 ({devices[2]}) is missing", missing["problem"])
        self.ok("put", pool, "b", file)
        os.rename(devices[2] + ".late", devices[2])
        (away,) = self.doctor(pool)
        self.assertIn("is away", away["problem"])
        self.typed(away["command"])
        self.assertEqual(self.doctor(pool, 0), [])
        # Lost for good, and one more: then it is urgent.
        os.remove(devices[4])
        self.assertEqual([one["urgency"] for one in self.doctor(pool)], ["soon"])
        os.remove(devices[1])
        first, second = self.doctor(pool)
        self.assertEqual((first["urgency"], second["urgency"]), ("now", "now"))
        self.typed(first["command"], NEW=self.path("new 1"))
        (left,) = self.doctor(pool)
        self.assertEqual(left["urgency"], "soon")
        self.assertIn("device 4 ", left["problem"])
        self.typed(left["command"], NEW=self.path("new 4"))
        self.assertEqual(self.doctor(pool, 0), [])
        for name in ("a", "b"):
            self.assertEqual(self.ok("cat", pool, name).raw, self.read(file))
        # Too many are away: nothing is to be typed that would need the pool.
        for device in devices[:1] + devices[2:3] + devices[5:]:
            os.rename(device, device + ".late")
        advice = self.doctor(pool, 4)
        self.assertEqual({one["urgency"] for one in advice}, {"now"})
        self.assertEqual({one["command"] for one in advice}, {None})
        self.assertEqual(len(advice), 4)

    def test_the_doctor_sees_a_pool_that_is_nearly_full(self):
        pool, _ = self.small_pool("full")
        step = os.urandom(4 << 20)
        for number in range(100):
            answer = hexad("put", pool, str(number), "-", stdin=step)
            if answer.code != 0:
                break
        self.assertEqual(answer.code, 6)
        while hexad("put", pool, f"small {number}", "-", stdin=step[: 1 << 18]).code == 0:
            number += 1
        (full,) = self.doctor(pool)
        self.assertIn("nearly full", full["problem"])
        self.typed(full["command"])

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
            self.assertEqual(writer.wait(PATIENCE), 0)
        self.assertEqual(self.ok("stat", self.pool, "slow", "--json").json["size"], 9 << 20)

    def test_ctrl_c_leaves_nothing_half_done(self):
        self.ok("put", self.pool, "half", "-", stdin=b"before")
        read_end, write_end = os.pipe()
        with subprocess.Popen([HEXAD, "put", self.pool, "half", "-"], stdin=read_end,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as writer:
            os.close(read_end)
            os.write(write_end, b"x" * (9 << 20))
            writer.send_signal(signal.SIGINT)
            _, error = writer.communicate(timeout=PATIENCE)
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
            self.assertEqual(cat.wait(PATIENCE), 141)
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

    def test_a_pool_without_a_fast_directory_may_be_given_one_later(self):
        new = self.path("new")
        made = self.ok(*self.make("--json", "--no-fast")).json
        self.assertEqual(made["fast"], [])
        self.assertEqual(os.listdir(new), ["hexad.pool"])
        self.ok("put", new, "x", "-", stdin=BINARY)
        status = self.ok("status", new, "--json").json
        self.assertEqual((status["health"], status["warnings"]), ("ok", []))
        self.assertEqual([note for note in status["notes"] if "index" in note],
                         [note for note in status["notes"] if note.startswith("no fast directory")])
        text = self.ok("status", new).text
        self.assertIn("no fast directory", text)
        self.assertIn("on 3 devices, 3 of them for data", text)
        self.assertEqual(self.ok("df", new, "--json").json["metadata"], 0)
        self.assertEqual(self.ok("fsck", "--deep", new, "--json").json["findings"], [])
        with open(os.path.join(new, "hexad.pool"), "a", encoding="ascii") as description:
            description.write("fast later\n")
        os.mkdir(self.path("new/later"))
        # It is made in the background of verbs that write, for as long as each of them lasts.
        self.ok("put", new, "y", "-", stdin=BINARY)
        while self.ok("status", new, "--json").json["metadata_on"] != "index":
            self.ok("put", new, "y", "-", stdin=BINARY)
        self.assertGreater(self.ok("df", new, "--json").json["metadata"], 0)
        self.assertEqual(self.ok("cat", new, "x").raw, BINARY)

    def test_a_pool_is_like_its_plan(self):
        for sizes, words in (([64] * 6, []), ([64, 64, 96], ["--profile", "1+1"]),
                             ([64] * 7, ["--profile", "4+2", "--min-alloc", "16KiB"])):
            with self.subTest(sizes=sizes, words=words):
                name = self.path("".join(words) + "x")
                devices = []
                for number, size in enumerate(sizes):
                    devices.append(f"{name}-{number}")
                    with open(devices[-1], "wb") as file:
                        file.truncate(size << 20)
                self.ok("mkfs", name, "--device", *devices, *words)
                plan = self.ok("plan", *[f"{size}MiB" for size in sizes], *words, "--json").json
                space = self.ok("df", name, "--json").json
                status = self.ok("status", name, "--json").json
                self.assertEqual(plan["capacity"], space["capacity"])
                self.assertEqual(plan["faults_tolerated"], status["faults_tolerated"])
                self.assertEqual(plan["log_size"], status["log_size"])
                self.assertEqual([d["size"] for d in plan["devices"]],
                                 [size << 20 for size in sizes])
                self.assertLess(plan["usable"], space["available"] * 1.01)
        text = self.ok("plan", "2x64GiB", "1TiB", "--profile", "1+1", "--rate", "100MiB").text
        self.assertIn("survives  the loss of any 1 device at once", text)
        self.assertIn("can never be used (1 such)", text)
        self.assertIn("at 100 MiB per second", text)

    def test_a_plan_that_cannot_be_says_why(self):
        for words, text in ((["64MiB"], "4+2 needs 6 devices at least"),
                            (["5x64MiB", "1MiB"], "device 5"),
                            (["x64MiB"], "number of devices"), (["0x64MiB"], "number of devices"),
                            (["6xlarge"], "large"), (["5000x1TiB"], "more than 256"),
                            (["6x64MiB", "--min-alloc", "5000"], "min_alloc"),
                            (["6x64MiB", "--profile", "four"], "four")):
            answer = hexad("plan", *words)
            self.assertIn(answer.code, (2, 6), words)
            self.assertIn(text, answer.error)
            self.assertIn("hint", answer.error)
        self.fails(2, "plan")
        self.assertEqual(os.listdir(self.folder), [])

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
            (2, self.make("--no-fast", "--fast", self.path("empty"))),
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


if __name__ == "__main__":
    main()
