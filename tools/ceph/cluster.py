#!/usr/bin/env python3
"""A small Ceph cluster on this machine's loopback, for tests and trials: never for data.

  cluster.py start DIR [--osds N] [--cephx]   prints where its ceph.conf is when pools can be written
  cluster.py stop DIR                         ends its processes and removes DIR

One monitor and N OSDs (3), each on a file in DIR; nothing outside of DIR is written, and no service of the
system is touched. No keys: whoever reaches the loopback may do anything; with --cephx, who has a key: that of a
client is looked for in DIR/ceph.NAME.keyring, and client.admin has one there. Pools: `log`, two copies of
everything; `data`, erasure-coded 2+1, which images name as their data pool, and `meta`, two copies,
for their names: rbd create --data-pool data meta/IMAGE.

Takes ceph-mon, ceph-osd and ceph-common, 16 or later. There is no manager (ceph-mgr): `ceph -s` warns, and
`ceph df` knows nothing.
"""

import argparse
import concurrent.futures
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

READY_WITHIN = 60  # s
STOPPED_WITHIN = 20  # s
OSD_SIZE = 6 << 30  # bytes of a sparse file
# The longest path of a Unix socket, with its 0.
SOCKET_PATH = 108
PROGRAMS = ("ceph-mon", "ceph-osd", "ceph", "ceph-authtool", "monmaptool")

CONF = """\
[global]
fsid = {fsid}
mon host = [v2:127.0.0.1:{port}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
auth cluster required = {auth}
auth service required = {auth}
auth client required = {auth}
run dir = {directory}/run
log file = {directory}/log/$name.log
log to stderr = false
err to stderr = false
mon cluster log file = {directory}/log/cluster.log
crash dir = {directory}/crash
mon data avail warn = 1
mon data avail crit = 0
mon allow pool size one = true
osd crush chooseleaf type = 0
osd pool default size = 2
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
# What a client had that was killed is free that much later: 30 s elsewhere.
osd client watch timeout = 6
osd heartbeat grace = 20

[client]
keyring = {directory}/ceph.$name.keyring

[mon]
mon data = {directory}/mon
pid file = {directory}/run/$name.pid
admin socket = {directory}/run/$name.asok
mon warn on insecure global id reclaim allowed = false
auth allow insecure global id reclaim = false

[osd]
osd data = {directory}/$name
keyring = {directory}/$name/keyring
pid file = {directory}/run/$name.pid
admin socket = {directory}/run/$name.asok
osd objectstore = bluestore
osd memory target = 1G
osd crush update on start = true
bluestore block size = {osd_size}
bluestore block create = true
bluestore cache autotune = false
bluestore cache size = 64M
"""


class Failed(Exception):
    """What went wrong, in words for whoever called."""


class Cluster:
    def __init__(self, directory, cephx=False):
        self.directory = os.path.abspath(directory)
        self.cephx = cephx
        self.conf = os.path.join(self.directory, "ceph.conf")

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def run(self, *command, timeout=READY_WITHIN):
        """What the command prints. It sees no other cluster's conf."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CEPH_")}
        environment["CEPH_CONF"] = self.conf
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(command)} has not ended after {timeout} s") from late
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)} failed with {done.returncode}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def ceph(self, *words):
        return self.run("ceph", "--conf", self.conf, "--connect-timeout", "20", *words)

    def start(self, osds):
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing:
            raise Failed(f"{', '.join(missing)}: not installed; apt-get install ceph-mon ceph-osd ceph-common librbd1")
        if len(self.path("run", f"osd.{osds}.asok")) >= SOCKET_PATH:
            raise Failed(f"{self.directory} is too long a path for a socket: choose a shorter one")
        try:
            os.makedirs(self.directory, mode=0o700)
        except FileExistsError:
            if os.listdir(self.directory):
                raise Failed(f"{self.directory} is there and not empty") from None
        try:
            self.start_monitor()
            self.start_osds(osds)
            self.make_pools()
        except BaseException:
            self.show_logs()
            self.stop()
            shutil.rmtree(self.directory, ignore_errors=True)
            raise

    def start_monitor(self):
        for folder in ("run", "log", "crash", "mon"):
            os.mkdir(self.path(folder))
        fsid = str(uuid.uuid4())
        port = free_port()
        with open(self.conf, "w", encoding="utf-8") as file:
            auth = "cephx" if self.cephx else "none"
            file.write(CONF.format(fsid=fsid, port=port, directory=self.directory, osd_size=OSD_SIZE, auth=auth))
        keyring = self.path("keyring")
        self.run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        admin = self.path("ceph.client.admin.keyring")
        everything = [word for service in ("mon", "osd") for word in ("--cap", service, "allow *")]
        self.run("ceph-authtool", "--create-keyring", admin, "--gen-key", "-n", "client.admin", *everything)
        self.run("ceph-authtool", keyring, "--import-keyring", admin)
        monmap = self.path("monmap")
        self.run("monmaptool", "--create", "--addv", "a", f"[v2:127.0.0.1:{port}]", "--fsid", fsid, monmap)
        common = ("--conf", self.conf, "-i", "a")
        self.run("ceph-mon", "--mkfs", *common, "--monmap", monmap, "--keyring", keyring)
        self.run("ceph-mon", *common)

    def start_osds(self, count):
        """At the same time: each waits for its disk most of the time."""
        identities = [str(uuid.uuid4()) for _ in range(count)]
        for number, identity in enumerate(identities):
            os.mkdir(self.path(f"osd.{number}"))
            secret = self.run("ceph-authtool", "--gen-print-key").strip()
            secrets = self.path(f"osd.{number}.json")
            with open(secrets, "w", encoding="ascii") as file:
                json.dump({"cephx_secret": secret}, file)
            self.ceph("osd", "new", identity, str(number), "-i", secrets)
            keyring = self.path(f"osd.{number}", "keyring")
            self.run("ceph-authtool", "--create-keyring", keyring, "--name", f"osd.{number}", "--add-key", secret)

        def start_osd(number):
            common = ("--conf", self.conf, "-i", str(number))
            self.run("ceph-osd", *common, "--mkfs", "--osd-uuid", identities[number])
            self.run("ceph-osd", *common)

        with concurrent.futures.ThreadPoolExecutor(count) as threads:
            for _ in threads.map(start_osd, range(count)):
                pass

    def make_pools(self):
        self.ceph("osd", "pool", "create", "log", "8", "8", "replicated")
        self.ceph("osd", "pool", "create", "meta", "8", "8", "replicated")
        self.ceph("osd", "erasure-code-profile", "set", "two", "k=2", "m=1", "crush-failure-domain=osd")
        self.ceph("osd", "pool", "create", "data", "8", "8", "erasure", "two")
        self.ceph("osd", "pool", "set", "data", "allow_ec_overwrites", "true")
        for pool in ("log", "meta", "data"):
            self.ceph("osd", "pool", "application", "enable", pool, "rbd")
        # A listing of a pool asks all its groups: when it comes, each has a primary that is active.
        for pool in ("log", "meta", "data"):
            self.run("rados", "--conf", self.conf, "--pool", pool, "ls")

    def show_logs(self):
        """The last lines of each daemon, before they are gone."""
        try:
            names = sorted(os.listdir(self.path("log")))
        except OSError:
            return
        for name in names:
            with open(self.path("log", name), encoding="utf-8", errors="replace") as file:
                for line in file.readlines()[-10:]:
                    print(f"{name}: {line.rstrip()}", file=sys.stderr)

    def processes(self):
        """Those that this cluster has started and that are still there."""
        try:
            names = os.listdir(self.path("run"))
        except OSError:
            return
        for name in names:
            if not name.endswith(".pid"):
                continue
            try:
                with open(self.path("run", name), encoding="utf-8") as file:
                    pid = int(file.read())
            except (OSError, ValueError):
                continue
            if self.is_ours(pid):
                yield pid

    def is_ours(self, pid):
        """Whether the number is still that of a daemon of this conf, and not of whoever has it now."""
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            return False
        # A process that has ended and that nobody has reaped has no command line any more.
        return os.fsencode(self.conf) in words and state != "Z"

    def stop(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.processes():
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
            if wait_until(lambda: not any(self.processes()), STOPPED_WITHIN):
                break
        else:
            raise Failed(f"{self.directory}: processes {list(self.processes())} do not end")
        if os.path.exists(self.conf):
            shutil.rmtree(self.directory)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_until(is_so, seconds):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def main():
    parser = argparse.ArgumentParser(description="A small Ceph cluster on the loopback, for tests.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    start = verbs.add_parser("start", help="starts a cluster whose files are all in DIR")
    start.add_argument("directory", metavar="DIR")
    start.add_argument("--osds", type=int, default=3, help="how many OSDs (3)")
    start.add_argument("--cephx", action="store_true", help="nobody gets in without a key")
    stop = verbs.add_parser("stop", help="ends its processes and removes DIR")
    stop.add_argument("directory", metavar="DIR")
    options = parser.parse_args()
    cluster = Cluster(options.directory, getattr(options, "cephx", False))
    try:
        if options.verb == "start":
            cluster.start(options.osds)
            print(cluster.conf)
        else:
            cluster.stop()
    except Failed as failed:
        print(f"cluster.py: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
