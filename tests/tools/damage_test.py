#!/usr/bin/env python3
"""hexad damage: what is lost is listed until it is over, or acknowledged."""

import os
import subprocess

from cli_testing import HEXAD, PATIENCE, PoolTest, main

SIZE = 1 << 20


class Damage(PoolTest):
    def setUp(self):
        super().setUp()
        self.value = os.urandom(SIZE)
        self.ok("put", self.pool, "rotten", "-", stdin=self.value)
        self.ok("put", self.pool, "sound", "-", stdin=os.urandom(SIZE))

    def tearDown(self):
        self.ok("rm", self.pool, "rotten", "sound", "copy", "-f")
        self.assertEqual(self.ok("damage", "ls", self.pool, "--json").json["damage"], [])
        super().tearDown()

    def rot(self):
        # The beginning of every data cell; a stripe has six, and parity gives two back.
        for device in self.devices:
            with open(device, "r+b") as file:
                data = file.read()
                for piece in range(0, SIZE, SIZE // 4):
                    at = data.find(self.value[piece : piece + 4096])
                    if at >= 0:
                        file.seek(at)
                        file.write(bytes(4096))
                        break

    def lost(self, *words):
        return self.expect(3, "damage", "ls", self.pool, "--json", *words).json["damage"]

    def test_a_scrub_finds_it_and_every_verb_says_so_until_it_is_over(self):
        self.assertEqual(self.ok("status", self.pool, "--json").json["health"], "ok")
        self.assertIn("nothing is known to be lost", self.ok("damage", "ls", self.pool).text)
        self.rot()
        self.expect(4, "get", self.pool, "rotten", self.path("out"))
        self.expect(3, "scrub", self.pool)
        status = self.expect(3, "status", self.pool, "--json").json
        self.assertEqual((status["health"], status["damaged_blobs"]), ("damaged", 1))
        self.assertIn("hexad damage ls", self.expect(3, "doctor", self.pool).text)
        self.expect(3, "wait", self.pool, "--for", "clean")
        self.ok("cp", self.pool, "rotten", "copy")
        rows = self.lost()
        self.assertEqual({row["name"] for row in rows}, {"copy", "rotten"})
        self.assertEqual(len(rows), 8)
        self.assertLess(sum(row["length"] for row in rows), SIZE)
        text = self.expect(3, "damage", "ls", self.pool).text
        self.assertIn("default/rotten: ", text)
        self.ok("rm", self.pool, "copy")
        self.assertEqual({row["name"] for row in self.lost()}, {"rotten"})
        self.ok("put", self.pool, "rotten", "-", stdin=self.value)
        self.assertEqual(self.ok("status", self.pool, "--json").json["health"], "ok")

    def rot_one_cell(self):
        for device in self.devices:
            with open(device, "r+b") as file:
                at = file.read().find(self.value[:4096])
                if at >= 0:
                    file.seek(at)
                    file.write(bytes(4096))
                    return
        self.fail("the object is nowhere")

    def test_what_verbs_that_only_read_find_is_repaired(self):
        tree = self.path("tree")
        for words in (
            ("get", self.pool, "rotten", self.path("out")),
            ("cat", self.pool, "rotten"),
            ("checksum", self.pool, "rotten"),
            ("export", self.pool, tree),
        ):
            self.rot_one_cell()
            said = self.ok(*words).error
            self.assertIn("rotten was read, bytes did not match their checksums; " if words[0] != "export"
                          else "read, bytes did not match their checksums; ", said)
            self.assertIn("1 cell was written again", said)
            self.assertNotIn("did not match", self.ok(*words).error)
            self.assertEqual(self.ok("scrub", self.pool, "--json").json["findings"], [])
        with open(self.path("out"), "rb") as file:
            self.assertEqual(file.read(), self.value)
        with open(os.path.join(tree, "rotten"), "rb") as file:
            self.assertEqual(file.read(), self.value)

    def test_what_they_find_lost_is_noted(self):
        self.rot()
        lost = self.expect(4, "get", self.pool, "rotten", self.path("out")).error
        self.assertIn(f"what is lost is noted: hexad damage ls {self.pool}", lost)
        self.assertEqual({row["name"] for row in self.lost()}, {"rotten"})

    def test_nothing_is_written_where_that_is_asked_for(self):
        self.rot_one_cell()
        for words in (("get", self.pool, "rotten", self.path("out")), ("checksum", self.pool, "rotten")):
            self.assertNotIn("match", self.ok(*words, "--no-repair").error)
        self.assertIn("1 cell was written again", self.ok("checksum", self.pool, "rotten").error)

    def test_who_may_not_write_is_told(self):
        self.rot_one_cell()
        # Its pipe is full: it has the pool until somebody reads.
        other = subprocess.Popen([HEXAD, "cat", self.pool, "sound"], stdout=subprocess.PIPE)
        with other:
            other.stdout.read(1)
            said = self.ok("get", self.pool, "rotten", self.path("out")).error
            other.stdout.read()
        self.assertIn("nothing was repaired: ", said)
        self.assertIn(f"hexad scrub {self.pool}", said)
        self.ok("scrub", self.pool)

    def test_it_is_acknowledged(self):
        self.rot()
        self.expect(3, "scrub", self.pool)
        self.expect(2, "damage", "ack", self.pool)
        self.expect(2, "damage", "ack", self.pool, "rotten", "--all")
        self.expect(1, "damage", "ack", self.pool, "rotten", "sound")
        self.assertEqual(len(self.lost()), 4)
        known = self.ok("damage", "ack", self.pool, "rotten", "--json").json["damage"]
        self.assertEqual(len(known), 4)
        self.assertTrue(known[0]["acknowledged"])
        shown = self.ok("damage", "ls", self.pool, "--json").json
        self.assertEqual((shown["damage"], shown["acknowledged"]), ([], 4))
        self.assertEqual(len(self.ok("damage", "ls", self.pool, "--json", "--all").json["damage"]), 4)
        self.assertEqual(self.ok("status", self.pool, "--json").json["health"], "ok")
        self.expect(3, "scrub", self.pool)
        self.assertEqual(self.ok("status", self.pool, "--json").json["health"], "ok")

    def test_the_process_that_has_the_pool_is_asked(self):
        self.rot()
        read_end, write_end = os.pipe()
        command = [HEXAD, "put", self.pool, "slow", "-"]
        with subprocess.Popen(command, stdin=read_end, stdout=subprocess.DEVNULL) as process:
            os.close(read_end)
            try:
                os.write(write_end, b"x" * SIZE)  # more than a pipe holds: it is reading by then
                self.expect(3, "scrub", self.pool)
                self.assertEqual(len(self.lost()), 4)
                status = self.expect(3, "status", self.pool, "--json").json
                self.assertEqual(status["health"], "damaged")
                known = self.ok("damage", "ack", self.pool, "--all", "--json").json
                self.assertEqual(len(known["damage"]), 4)
                self.assertEqual(known["answered_by"]["pid"], process.pid)
                shown = self.ok("damage", "ls", self.pool, "--json").json
                self.assertEqual(shown["acknowledged"], 4)
            finally:
                os.close(write_end)
            self.assertEqual(process.wait(PATIENCE), 0)
        self.assertEqual(self.ok("damage", "ls", self.pool, "--json").json["acknowledged"], 4)
        self.ok("rm", self.pool, "slow")


if __name__ == "__main__":
    main()
