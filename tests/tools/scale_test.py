#!/usr/bin/env python3
"""hexad bench scale: windows, going on, what it refuses, and the pool that it leaves."""

import json
import os
import signal
import subprocess

from cli_testing import HEXAD, PATIENCE, PoolTest, main

FEW = ["--objects", "3000", "--samples", "20"]
OBJECT = 4096


def on_disk(folder):
    """Bytes that the folder takes, without the log and the index of the fast directory."""
    return sum(os.lstat(os.path.join(folder, name)).st_blocks * 512
               for name in os.listdir(folder) if name.startswith("device"))


class Scale(PoolTest):
    def scale(self, *words, code=0):
        answer = self.expect(code, "bench", "scale", *words, "--json")
        return [json.loads(line) for line in answer.text.splitlines()]

    def test_a_window_after_the_other(self):
        folder = self.path("pool")
        windows = self.scale(folder, *FEW, "--window", "1000")
        self.assertEqual([window["objects"] for window in windows], [1000, 2000, 3000])
        for window in windows:
            self.assertEqual(window["puts"], 1000)
            for key in ("puts_per_s", "cpu_us_per_put", "memory", "disk"):
                self.assertGreater(window[key], 0, key)
            for key in ("get_us", "stat_us"):
                self.assertEqual(window[key]["count"], 20)
                self.assertLessEqual(window[key]["p50"], window[key]["p99"])
            written = window["written_per_put"]
            self.assertGreaterEqual(written["user"], OBJECT)
            self.assertGreaterEqual(written["parity"], OBJECT / 2)
            self.assertGreater(written["log"], 0)
            # Whole cells are zeros but for their footers.
            self.assertGreater(window["not_stored_per_put"], OBJECT)
            self.assertEqual("reopening" in window, window is windows[-1])
        last = windows[-1]["reopening"]
        self.assertGreater(last["transactions"], 0)
        self.assertEqual(last["checkpoints"], 1)
        for key in ("checkpoint_bytes", "super_bytes", "index_bytes"):
            self.assertGreater(last[key], 0, key)
        for key in ("after_leaving_s", "close_s", "after_closing_s", "space_s"):
            self.assertGreater(last[key], 0, key)
        self.assertGreater(last["stored_per_object"]["data"], 1.5 * OBJECT)
        self.assertGreater(last["stored_per_object"]["runs"], 0)
        self.assertGreater(last["stored_per_object"]["index"], 0)
        # The log goes round in its place, so that it is not counted in what grows.
        self.assertLess(on_disk(folder), 3000 * OBJECT)
        # What it leaves is a pool like any other.
        self.ok("fsck", folder, "--deep")
        self.assertEqual(self.ok("df", folder, "--json").json["objects"], 3000)
        name = self.ok("ls", folder, "--limit", "1", "--json").json["entries"][0]["name"]
        self.assertEqual(self.ok("cat", folder, name).raw, bytes(OBJECT))

    def test_a_later_run_goes_on(self):
        folder = self.path("pool")
        first = self.scale(folder, "--objects", "1500", "--room", "3000", "--window", "1000",
                           "--samples", "0", "--seed", "5")
        self.assertEqual([window["objects"] for window in first], [1000, 1500])
        again = self.scale(folder, *FEW, "--window", "1000", "--reopen-every", "1")
        self.assertEqual([window["objects"] for window in again], [2000, 3000])
        self.assertEqual([window["puts"] for window in again], [500, 1000])
        self.assertEqual(["reopening" in window for window in again], [True, True])
        # There is nothing left to put; looks and openings are measured once more.
        there = self.scale(folder, *FEW)
        self.assertEqual([(window["objects"], window["puts"]) for window in there], [(3000, 0)])
        with open(os.path.join(folder, "scale.jsonl"), encoding="utf-8") as notes:
            lines = [json.loads(line) for line in notes]
        self.assertEqual((lines[0]["room"], lines[0]["seed"]), (3000, 5))
        self.assertEqual([line["objects"] for line in lines[1:]], [1000, 1500, 2000, 3000, 3000])
        for wish in (["--seed", "6"], ["--room", "4000"], ["--no-fast"], ["--objects", "3001"]):
            words = [folder, *FEW, *wish] if "--objects" not in wish else [folder, *wish]
            self.assertIn(folder, self.fails(2, "bench", "scale", *words).error)
        self.ok("fsck", folder)

    def test_a_run_that_was_killed_is_gone_on_with(self):
        folder = self.path("pool")
        words = [HEXAD, "bench", "scale", folder, "--objects", "200000", "--window", "500", "--samples", "0",
                 "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as running:
            running.stdout.readline()  # amid the second window
            running.kill()
        words = words[1:3] + [folder, "--objects", "200000", "--window", "500", "--samples", "0", "--json"]
        # Without a buffer, in which communicate() would leave lines.
        with subprocess.Popen([HEXAD, *words], bufsize=0, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as running:
            first = json.loads(running.stdout.readline())
            running.send_signal(signal.SIGINT)
            rest, error = running.communicate(timeout=PATIENCE)
        self.assertEqual(running.returncode, 130, error)
        # What was acknowledged is there, and nothing is put twice.
        self.assertGreaterEqual(first["objects"], 1000)
        self.assertEqual(first["objects"] % 500, 0)
        lines = rest.decode().splitlines()
        objects = json.loads(lines[-1])["objects"] if lines else first["objects"]
        # More, where the program was ended amid a commit, which a busy disk may keep for long.
        there = self.ok("df", folder, "--json").json["objects"]
        self.assertGreaterEqual(there, objects)
        self.assertLess(there, 200000)
        self.ok("fsck", folder)

    def test_without_a_fast_directory(self):
        folder = self.path("pool")
        windows = self.scale(folder, "--objects", "1000", "--samples", "10", "--window", "1000", "--no-fast")
        self.assertEqual(windows[-1]["reopening"]["stored_per_object"]["index"], 0)
        self.assertFalse(os.path.exists(os.path.join(folder, "fast")))
        self.ok("fsck", folder)

    def test_people_get_a_table(self):
        text = self.ok("bench", "scale", self.path("pool"), "--objects", "500", "--window", "250",
                       "--samples", "5").text.splitlines()
        self.assertIn("puts/s", text[1])
        self.assertEqual([line.split()[0] for line in text[2:]], ["250", "500", "left", "per"])

    def test_what_is_somebody_elses_stays(self):
        held = self.path("held")
        os.mkdir(held)
        with open(os.path.join(held, "precious"), "wb") as file:
            file.write(b"1")
        self.assertIn("precious", self.fails(1, "bench", "scale", held, *FEW).error)
        self.assertEqual(os.listdir(held), ["precious"])
        self.fails(1, "bench", "scale", self.pool, *FEW)
        self.ok("fsck", self.pool)
        broken = self.path("broken")
        os.mkdir(broken)
        with open(os.path.join(broken, "scale.jsonl"), "wb") as file:
            file.write(b"{}\n")
        self.fails(1, "bench", "scale", broken, *FEW)
        self.assertEqual(os.listdir(broken), ["scale.jsonl"])

    def test_nonsense_is_refused(self):
        for words in (["--objects", "0"], ["--objects", "99999999999"], ["--window", "0"],
                      ["--room", "10", "--objects", "20"], ["--cache-size", "1"]):
            self.fails(2, "bench", "scale", self.path("pool"), *words)
        self.assertFalse(os.path.exists(self.path("pool")))

    def test_two_runs_do_not_share_a_folder(self):
        folder = self.path("pool")
        words = [HEXAD, "bench", "scale", folder, "--objects", "200000", "--window", "500", "--samples", "0",
                 "--json"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
            running.stdout.readline()
            self.fails(5, "bench", "scale", folder, "--objects", "200000")
            running.send_signal(signal.SIGTERM)
            running.communicate(timeout=PATIENCE)
        self.assertEqual(running.returncode, 130)


if __name__ == "__main__":
    main()
