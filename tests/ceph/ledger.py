"""A pool on images of a Ceph cluster, and processes that write it with a ledger (ledger_writer.cc)."""

import os
import queue
import signal
import subprocess
import threading

HEXAD = os.path.abspath(os.environ["HEXAD"])
WRITER = os.path.abspath(os.environ["LEDGER_WRITER"])
PATIENCE = 100  # s in which whatever is waited for has to come


class Writer:
    """A process of ledger_writer, and the lines that it has said."""

    def __init__(self, words):
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.lines = []
        self.new = queue.Queue()
        self.errors = ""
        self.readers = [threading.Thread(target=self.read_output), threading.Thread(target=self.read_errors)]
        for reader in self.readers:
            reader.start()

    def read_output(self):
        for line in self.process.stdout:
            self.new.put(line.rstrip("\n"))
        self.new.put(None)

    def read_errors(self):
        self.errors = self.process.stderr.read()

    def wait_for(self, *beginnings, seconds=PATIENCE):
        """The next line that begins so; None: it has ended without one."""
        while True:
            try:
                line = self.new.get(timeout=seconds)
            except queue.Empty:
                raise AssertionError(f"nothing like {beginnings} in {seconds} s, but {self.lines[-20:]}") from None
            if line is None:
                self.new.put(None)
                return None
            self.lines.append(line)
            if line.startswith(beginnings):
                return line

    def said(self, beginning):
        return [line for line in self.lines if line.startswith(beginning)]

    def send(self, number):
        self.process.send_signal(number)

    def warnings(self):
        self.process.stdin.write("status\n")
        self.process.stdin.flush()
        return self.wait_for("status")

    def finish(self, seconds=PATIENCE):
        """Ends its input, and returns its exit code when it has ended."""
        self.process.stdin.close()
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end: {self.lines[-20:]}") from None
        self.wait_for("nothing of that kind")
        self.close()
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.close()

    def close(self):
        for reader in self.readers:
            reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


class Pool:
    """Images, a pool without a fast directory on them, and its ledger. No parity unless `profile` has some;
    `data_pool`: of the images, erasure-coded, whose names are in `names_pool` then."""

    def __init__(self, conf, folder, name, images=4, profile="", names_pool="log", data_pool="", size="256MiB"):
        self.conf = conf
        self.name = name
        self.ledger = os.path.join(folder, name + ".ledger")
        self.path = os.path.join(folder, name)
        self.images = [f"{names_pool}/{name}-{i}" for i in range(images)]
        keys = f"&data_pool={data_pool}" if data_pool else ""
        self.devices = [f"rbd:{image}?conf={conf}{keys}" for image in self.images]
        self.round = 0
        self.read_up_to = self.count = 0  # of the ledger
        shape = ("--size", size, "--no-fast", "--profile", profile or f"{images}+0")
        self.hexad("mkfs", self.path, *shape, "--device", *self.devices)

    def hexad(self, *words, code=0, seconds=PATIENCE):
        done = subprocess.run([HEXAD, *words], capture_output=True, text=True, timeout=seconds, check=False)
        if code is not None and done.returncode != code:
            raise AssertionError(f"{words}: {done.returncode}: {done.stdout[-1000:]} {done.stderr[-2000:]}")
        return done

    def start(self, how="open", what="write", patience=60, threads=4):
        self.round += 1
        words = [WRITER, self.ledger, str(self.round), str(patience), str(threads), how, what, *self.devices]
        return Writer(words)

    def acknowledged(self):
        """How many commits have been, of all rounds."""
        try:
            with open(self.ledger, "rb") as file:
                file.seek(self.read_up_to)
                text = file.read()
        except FileNotFoundError:
            return 0
        whole = text[: text.rfind(b"\n") + 1]
        self.read_up_to += len(whole)
        self.count += sum(line.startswith(b"a ") for line in whole.split(b"\n"))
        return self.count

    def check(self, how="open"):
        """All that was acknowledged is there, and nothing that was not."""
        checker = self.start(how, "check")
        code = checker.finish()
        assert code == 0, f"{code}: {checker.lines} {checker.errors}"
        return checker

    def remove(self):
        for image in self.images:
            subprocess.run(
                ["rbd", "--conf", self.conf, "--no-progress", "rm", image], capture_output=True, check=False
            )


def wait_until(is_so, seconds=PATIENCE, what="it"):
    """Looks again and again, since nothing tells."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.05)):
        if is_so():
            return
        pause.wait(0.05)
    raise AssertionError(f"{what} has not come within {seconds} s")


def stop(pid):
    """With SIGSTOP; returns when each of its threads has met it."""
    os.kill(pid, signal.SIGSTOP)
    tasks = f"/proc/{pid}/task"

    def is_stopped():
        for task in os.listdir(tasks):
            try:
                with open(f"{tasks}/{task}/stat", encoding="utf-8", errors="replace") as file:
                    if file.read().rpartition(")")[2].split()[0] not in "TtZX":
                        return False
            except FileNotFoundError:
                continue
        return True

    wait_until(is_stopped, what=f"the stop of process {pid}")
