#!/usr/bin/env python3
"""hexad mkfs --failure-domain, and what verbs say of pools whose devices fail together."""

import os

from cli_testing import PoolTest, hexad, main


class FailureDomains(PoolTest):
    def shelves(self, count=4):
        """A pool 4+2 on three shelves of so many files."""
        pool = self.path("pool")
        disks = {name: [self.path(f"{name}{i}") for i in range(count)] for name in "ABC"}
        named = [f"{name}={path}" for name, paths in disks.items() for path in paths]
        self.ok("mkfs", pool, "--failure-domain", *named, "--size", "64MiB")
        return pool, disks

    @staticmethod
    def move(disks, how):
        for disk in disks:
            os.rename(*how(disk, disk + ".away"))

    def test_a_shelf_is_away_and_comes_back(self):
        pool, disks = self.shelves()
        kept = {f"o{i}": os.urandom(300_000) for i in range(6)}
        for name, data in kept.items():
            self.ok("put", pool, name, "-", stdin=data)
        status = self.ok("status", pool, "--json").json
        self.assertEqual(status["domain_cells"], 2)
        self.assertEqual([one["failure_domain"] for one in status["devices"] if one["role"] == "data"],
                         ["A"] * 4 + ["B"] * 4 + ["C"] * 4)
        self.assertIn("survives the loss of 2 more devices\n        or of one failure domain, "
                      "whichever it is, with all devices in it\n", self.ok("status", pool).text)
        self.assertIn("; in B", self.ok("device", "ls", pool).text)
        self.ok("device", "can", pool, "offline", "4", "5", "6", "7")
        refused = hexad("device", "can", pool, "offline", "0", "4", "8")
        self.assertEqual(refused.code, 1)
        self.assertIn("a stripe would lose 3 more cells", refused.text)
        for away in ("B", "C"):
            self.move(disks[away], lambda here, there: (here, there))
            for name, data in kept.items():
                self.assertEqual(self.ok("get", pool, name, "-").raw, data)
            self.ok("put", pool, "later" + away, "-", stdin=b"later")
            degraded = self.ok("status", pool, "--json").json
            self.assertEqual((degraded["health"], degraded["faults_tolerated"]), ("degraded", 0))
            self.assertIn("no failure domain may be lost as a whole now",
                          self.ok("status", pool).text)
            self.move(disks[away], lambda here, there: (there, here))
            self.ok("device", "catch-up", pool)
            self.ok("fsck", pool, "--deep")
        # Three cells of a stripe are too many, on four devices of one shelf and one of another.
        self.move([*disks["A"], disks["B"][0]], lambda here, there: (here, there))
        self.fails(4, "get", pool, "o0", "-")
        self.move([*disks["A"], disks["B"][0]], lambda here, there: (there, here))
        for name, data in kept.items():
            self.assertEqual(self.ok("get", pool, name, "-").raw, data)

    def test_a_device_that_is_added_names_its_own(self):
        pool, disks = self.shelves(2)
        new = self.path("new")
        told = self.fails(2, "device", "add", pool, new).error
        self.assertIn("failure domains (A, B, C), and none is named for this one", told)
        self.assertIn("--failure-domain NAME", told)
        self.assertFalse(os.path.exists(new))
        self.ok("device", "add", pool, new, "--failure-domain", "A")
        rows = self.ok("device", "ls", pool, "--json").json["devices"]
        self.assertEqual([one["failure_domain"] for one in rows if one["path"] == new], ["A"])
        self.assertIn("in failure domains where a stripe can have 5 cells on them",
                      self.fails(6, "device", "drain", pool, "2").error)
        self.ok("device", "drain", pool, "0", "--until-empty")
        self.ok("device", "remove", pool, "0")
        plain = self.path("plain")
        self.ok("mkfs", plain, "--device", *[self.path(f"p{i}") for i in range(6)], "--size", "64MiB")
        self.assertIn("the store was made without failure domains",
                      self.fails(2, "device", "add", plain, self.path("p6"), "--failure-domain",
                                 "A").error)

    def test_what_cannot_survive_one_is_refused(self):
        pool = self.path("pool")
        two = [f"{name}={self.path(name + str(i))}" for name in "AB" for i in range(4)]
        told = self.fails(2, "mkfs", pool, "--failure-domain", *two, "--size", "64MiB").error
        self.assertIn("3 cells would be in one of the 2 failure domains", told)
        self.assertFalse(os.path.exists(pool))
        for words, said in ((["--failure-domain", self.path("x")], "not a name and a path"),
                            (["--failure-domain", "a="], "not a name and a path"),
                            (["--failure-domain", "=" + self.path("x")], "not a name and a path"),
                            (["--device", self.path("x"), "--failure-domain", "a=" + self.path("y")],
                             "exclude each other")):
            self.assertIn(said, self.fails(2, "mkfs", pool, *words).error)

    def test_a_plan_says_what_is_survived(self):
        plan = self.ok("plan", "a=4x4TiB", "b=4x4TiB", "c=4x4TiB", "--json").json
        self.assertEqual((plan["domain_cells"], plan["domains_tolerated"]), (2, 1))
        self.assertTrue(all(one["unused"] < 1 << 30 for one in plan["devices"]))
        text = self.ok("plan", "a=4x4TiB", "b=4x4TiB", "c=4x4TiB").text
        self.assertIn("or of 1 whole failure domain: a stripe has at most 2 of its 6 cells in one", text)
        # A shelf of twice as many drives gives no more than the others let it.
        uneven = self.ok("plan", "a=8x4TiB", "b=4x4TiB", "c=4x4TiB", "--json").json
        self.assertEqual(uneven["usable"], plan["usable"])
        self.assertIn("or in other failure domains", self.ok("plan", "a=8x4TiB", "b=4x4TiB", "c=4x4TiB").text)
        self.assertIn("some in none", self.fails(2, "plan", "a=4x4TiB", "4x4TiB").error)
        self.assertIn("is no name", self.fails(2, "plan", "=12x4TiB").error)


if __name__ == "__main__":
    main()
