#!/usr/bin/env python3
"""Pools without parity, on devices that are said to be redundant themselves."""

import os

from cli_testing import PoolTest, main


class Redundant(PoolTest):
    def make(self, profile="2+0", count=3):
        pool = self.path("pool")
        devices = [os.path.join(self.folder, f"d{i}") for i in range(count)]
        self.ok("mkfs", pool, "--device", *devices, "--size", "64MiB", "--profile", profile,
                "--redundant-devices")
        return pool, devices

    def test_without_the_word_nothing_is_made(self):
        pool = self.path("pool")
        device = self.path("volume")
        refused = self.fails(2, "mkfs", pool, "--device", device, "--size", "64MiB",
                             "--profile", "1+0")
        self.assertIn("profile 1+0 has no parity", refused.error)
        self.assertIn(device, refused.error)
        self.assertIn("--redundant-devices", refused.error)
        self.assertFalse(os.path.exists(device))
        self.assertFalse(os.path.exists(pool))
        self.fails(2, "mkfs", pool, "--device", device, "--size", "64MiB", "--profile", "1+0",
                   "--codec", "isa:cauchy", "--redundant-devices")

    def test_status_and_doctor_say_so(self):
        pool, _ = self.make("1+0", 1)
        data = os.urandom(300_000)
        self.ok("put", pool, "object", "-", stdin=data)
        self.assertEqual(self.ok("get", pool, "object", "-").raw, data)
        status = self.ok("status", pool, "--json").json
        self.assertEqual(status["health"], "ok")
        self.assertEqual((status["faults_tolerated"], status["parity_cells"]), (0, 0))
        self.assertTrue(status["redundant_devices"])
        text = self.ok("status", pool).text
        self.assertIn("said to be redundant themselves, and there is no parity", text)
        self.assertIn("there is no parity", self.ok("doctor", pool).text)
        self.assertTrue(self.ok("doctor", pool, "--json").json["redundant_devices"])
        self.ok("scrub", pool)
        self.ok("fsck", pool, "--deep")
        self.assertFalse(self.ok("status", self.pool, "--json").json["redundant_devices"])

    def test_plan_survives_nothing(self):
        plan = self.ok("plan", "4x1TiB", "--profile", "4+0", "--json").json
        self.assertEqual(plan["faults_tolerated"], 0)
        self.assertGreater(plan["usable"], plan["raw"] * 98 // 100)
        self.assertEqual({one["rebuild_read"] for one in plan["devices"]}, {0})
        text = self.ok("plan", "4x1TiB", "--profile", "4+0").text
        self.assertIn("survives  the loss of no device", text)
        self.assertIn("--redundant-devices", text)
        self.assertNotIn("rebuild", text)

    def test_a_device_that_is_away_is_asked_for(self):
        pool, devices = self.make()
        data = os.urandom(300_000)
        self.ok("put", pool, "object", "-", stdin=data)
        away = self.path("away")
        os.rename(devices[1], away)
        for words in (["get", pool, "object", "-"], ["put", pool, "other", devices[0]]):
            refused = self.fails(4, *words)
            self.assertIn(devices[1], refused.error)
            self.assertIn("no parity", refused.error)
        self.assertIn("no parity", self.expect(4, "doctor", pool).text)
        os.rename(away, devices[1])
        self.assertEqual(self.ok("get", pool, "object", "-").raw, data)
        can = self.expect(1, "device", "can", pool, "offline", "1", "--json").json
        self.assertFalse(can["allowed"])
        self.assertIn("has no parity", can["reason"])

    def test_devices_come_and_go(self):
        pool, devices = self.make()
        kept = {f"o{i}": os.urandom(300_000) for i in range(6)}
        for name, data in kept.items():
            self.ok("put", pool, name, "-", stdin=data)
        new = self.path("new")
        self.ok("device", "replace", pool, "0", new)
        os.remove(devices[0])
        rows = self.ok("status", pool, "--json").json
        self.assertEqual(rows["health"], "ok")
        self.assertNotIn(0, [one["id"] for one in rows["devices"]])
        self.assertTrue(rows["redundant_devices"])
        for name, data in kept.items():
            self.assertEqual(self.ok("get", pool, name, "-").raw, data)
        self.ok("fsck", pool, "--deep")

    def test_chunk_files_need_parity(self):
        refused = self.fails(2, "ec", "encode", "--profile", "4+0", self.write("file", b"x" * 9000),
                             self.path("out"))
        self.assertIn("no parity", refused.error)


if __name__ == "__main__":
    main()
