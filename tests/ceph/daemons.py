"""The daemons of the small cluster that tools/ceph/cluster.py has started, to be stopped and started again."""

import os
import signal
import subprocess

import ledger


class Daemons:
    def __init__(self, conf):
        self.conf = conf
        self.run = os.path.join(os.path.dirname(conf), "run")
        self.monitor = "mon.a"
        self.osds = sorted(name[:-4] for name in os.listdir(self.run) if name.startswith("osd.") and name.endswith(".pid"))

    def ceph(self, *words):
        command = ["ceph", "--conf", self.conf, "--connect-timeout", "60", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=ledger.PATIENCE, check=True).stdout

    def pid(self, name):
        with open(os.path.join(self.run, name + ".pid"), encoding="ascii") as file:
            return int(file.read())

    def stop(self, *names):
        for name in names:
            ledger.stop(self.pid(name))

    def go_on(self, *names):
        for name in names:
            try:
                os.kill(self.pid(name), signal.SIGCONT)
            except ProcessLookupError:
                pass

    def kill(self, name):
        os.kill(self.pid(name), signal.SIGKILL)

    def start(self, name):
        """One that was killed: its files are free when the last of its threads is gone."""
        kind, _, number = name.partition(".")
        command = [f"ceph-{kind}", "--conf", self.conf, "-i", number]

        def starts():
            done = subprocess.run(command, capture_output=True, timeout=ledger.PATIENCE, check=False)
            return done.returncode == 0

        ledger.wait_until(starts, what=f"the start of {name}")
