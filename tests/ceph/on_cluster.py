"""A cluster of a test's own, and on it a store that a process writes with a ledger (ledger_writer.cc).

The module of the test says `def setUpModule(): on_cluster.start()`. Daemons that a test of Bazel's has started end with it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import daemons
import ledger

CLUSTER = os.path.abspath(os.environ["CLUSTER"])
# Paths of sockets are short.
HOME = tempfile.mkdtemp(prefix="hexad-ceph-", dir="/tmp")
CONF = os.path.join(HOME, "c", "ceph.conf")


def start(*options):
    """Until the tests of the module are over."""
    unittest.addModuleCleanup(shutil.rmtree, HOME, ignore_errors=True)
    unittest.addModuleCleanup(subprocess.run, [sys.executable, CLUSTER, "stop", os.path.dirname(CONF)], check=True)
    command = [sys.executable, CLUSTER, "start", os.path.dirname(CONF), *options]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


class OnCluster(unittest.TestCase):
    patience = 60  # s: device_patience
    shape = {}  # of the pool, as ledger.Pool takes it

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="hexad-ceph-")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.daemons = daemons.Daemons(CONF)
        self.pool = ledger.Pool(CONF, self.top, f"{self.id()[-12:]}-{os.getpid()}", **self.shape)
        self.addCleanup(self.pool.remove)
        self.writer = self.start_writer()

    def start_writer(self):
        writer = self.pool.start(patience=self.patience)
        self.addCleanup(writer.kill)
        self.assertEqual(writer.wait_for("open", "failed"), "open")
        self.goes_on()
        return writer

    def goes_on(self, commits=30):
        before = self.pool.acknowledged()
        ledger.wait_until(lambda: self.pool.acknowledged() >= before + commits, what="an acknowledgement")

    def warnings_have(self, *words):
        """As soon as the status of the writer, which waits, has them."""
        found = []

        def is_so():
            found[:] = [self.writer.warnings()]
            return all(word in found[0] for word in words)

        ledger.wait_until(is_so, what=f"{words} in a warning")
        return found[0]

    def ends_well(self):
        """It went on, nothing failed, and all is there."""
        self.goes_on()
        self.assertEqual(self.writer.warnings(), "status")
        self.assertEqual(self.writer.finish(), 0, self.writer.lines)
        self.assertEqual(self.writer.said("error"), [])
        self.pool.check()
