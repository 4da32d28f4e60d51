#!/usr/bin/env python3
"""A cluster that wants keys, set up as doc/scale-out.md says: the commands are taken from there, and a user that has no
more than the capabilities it names makes a store, writes it, takes it over and makes snapshots of it."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HEXAD = os.path.abspath(os.environ["HEXAD"])
CLUSTER = os.path.abspath(os.environ["CLUSTER"])
PAGE = os.environ["SCALE_OUT"]
# Paths of sockets are short.
HOME = tempfile.mkdtemp(prefix="hexad-ceph-", dir="/tmp")
CONF = os.path.join(HOME, "c", "ceph.conf")
# Ceph's programs and hexad look there where nothing else is said.
ENVIRONMENT = {**os.environ, "CEPH_CONF": CONF}
LATE = 120  # s


def setUpModule():
    unittest.addModuleCleanup(shutil.rmtree, HOME, ignore_errors=True)
    unittest.addModuleCleanup(subprocess.run, [sys.executable, CLUSTER, "stop", os.path.dirname(CONF)], check=True)
    command = [sys.executable, CLUSTER, "start", os.path.dirname(CONF), "--cephx"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    for line in the_page_says("ceph "):
        done = subprocess.run(line, shell=True, env=ENVIRONMENT, capture_output=True, timeout=LATE, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"


def the_page_says(beginning):
    """The commands of its first block that begin so, with the keyring where this cluster's clients look for it."""
    with open(PAGE, encoding="utf-8") as file:
        block = re.search(r"```sh\n(.*?)```", file.read(), re.S)[1]
    lines = [line for line in block.replace("\\\n", " ").splitlines() if line.startswith(beginning)]
    assert lines, f"{PAGE}: no command begins with '{beginning}'"
    return [line.replace("/etc/ceph/", os.path.dirname(CONF) + "/") for line in lines]


def hexad(*words, stdin=b"", code=0):
    done = subprocess.run([HEXAD, *words], input=stdin, capture_output=True, env=ENVIRONMENT, timeout=LATE, check=False)
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode}: {done.stdout[-1000:]} {done.stderr[-2000:]}")
    return done


class Keys(unittest.TestCase):
    """One test of all, since the images of the page are made once."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="hexad-ceph-")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.pool = os.path.join(self.top, "pool")
        (mkfs,) = (shlex.split(line) for line in the_page_says("hexad mkfs "))
        self.images = [word for word in mkfs if word.startswith("rbd:")]
        smaller = {"/srv/pool": self.pool, "100GiB": "1GiB"}
        hexad(*(smaller.get(word, word) for word in mkfs[1:]))

    def test_a_user_with_these_capabilities_does_all_of_it(self):
        hexad("put", self.pool, "greeting", "-", stdin=b"hello")
        self.assertEqual(hexad("cat", "greeting", "--device", *self.images).stdout, b"hello")

        bench = ("bench", "run", self.pool, "--bs", "64KiB", "--runtime", "60", "--wait", "60")
        writer = subprocess.Popen([HEXAD, *bench], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(writer.stderr.close)
        self.addCleanup(writer.wait)
        self.addCleanup(writer.kill)
        while len(self.holders()) < len(self.images):
            self.assertIsNone(writer.poll())
        busy = hexad("put", self.pool, "a", "-", stdin=b"x", code=5).stderr.decode()
        self.assertIn(f", process {writer.pid}, ", busy)
        hexad("snapshot-group", "create", "--group", "store", self.pool, "monday")
        hexad("takeover", "--yes", "--device", *self.images)
        self.assertIn(b"another process has taken the device over", writer.communicate(timeout=LATE)[1])
        self.assertNotEqual(writer.returncode, -signal.SIGKILL)

        hexad("put", self.pool, "greeting", "-", stdin=b"good bye")
        monday = ("--device", "rbd:log/store@monday?id=store")
        self.assertEqual(hexad("cat", "greeting", *monday).stdout, b"hello")
        for where in (monday, ("--device", "rbd:log/store?id=store")):
            self.assertEqual(json.loads(hexad("fsck", "--deep", "--json", *where).stdout)["errors"], 0)
        self.a_reader_reads_snapshots_alone()
        hexad("snapshot-group", "rm", self.pool, "monday")

        said = hexad("ls", "--device", "rbd:log/d0?id=nobody", code=2).stderr.decode()
        self.assertIn("cannot connect as client.nobody", said)

    def a_reader_reads_snapshots_alone(self):
        with open(PAGE, encoding="utf-8") as file:
            line = re.search(r"`(ceph auth get-or-create client\.reader [^`]*)`", file.read())[1]
        keyring = os.path.join(os.path.dirname(CONF), "ceph.client.reader.keyring")
        subprocess.run(f"{line} -o {keyring}", shell=True, env=ENVIRONMENT, timeout=LATE, check=True)
        self.assertEqual(hexad("cat", "greeting", "--device", "rbd:log/store@monday?id=reader").stdout, b"hello")
        refused = hexad("put", "--device", "rbd:log/store?id=reader", "--", "a", "-", stdin=b"x", code=2).stderr
        self.assertIn(b"Operation not permitted", refused)

    def holders(self):
        return json.loads(hexad("takeover", "-n", "--json", self.pool).stdout)["holders"]


class HalfOfTheCapabilities(unittest.TestCase):
    """A user who may write the pool of the names, and not that of the data."""

    def ceph(self, *words):
        return subprocess.run(words, env=ENVIRONMENT, capture_output=True, timeout=LATE, check=True).stdout.decode()

    def test_makes_no_images_that_nobody_could_write_or_remove(self):
        # Ceph itself looks at a pool of data when the first image has its data there, and then believes it.
        self.ceph("rbd", "create", "--size", "8M", "--data-pool", "data", "meta/first")
        keyring = os.path.join(os.path.dirname(CONF), "ceph.client.half.keyring")
        capabilities = ("mon", "profile rbd", "osd", "profile rbd pool=meta, profile rbd-read-only pool=data")
        self.ceph("ceph", "auth", "get-or-create", "client.half", *capabilities, "-o", keyring)
        top = tempfile.mkdtemp(prefix="hexad-ceph-")
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        pool = os.path.join(top, "pool")
        images = [f"rbd:meta/half{i}?id=half&data_pool=data" for i in range(3)]
        shape = ("--no-fast", "--profile", "3+0", "--size", "128MiB")
        refused = hexad("mkfs", pool, *shape, "--device", *images, code=2).stderr.decode()
        self.assertIn(f"{images[0]}: cannot be created: writing to the pool data: Operation not permitted", refused)
        self.assertIn("profile rbd", refused)
        self.assertEqual(self.ceph("rbd", "ls", "meta").split(), ["first"])
        self.assertFalse(os.path.exists(pool))


if __name__ == "__main__":
    unittest.main()
