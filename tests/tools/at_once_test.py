"""Programs that want one pool at the same moment: one gets it, the others are told who has it."""

import itertools
import os
import re
import subprocess
import threading

import cli_testing
from cli_testing import HEXAD, PATIENCE, PoolTest

PROCESSES = 4
ROUNDS = 12


class AtOnce(PoolTest):
    def race(self, commands):
        """Starts them all in one moment: (process number, exit code, standard error) of each."""
        gate = threading.Barrier(len(commands))
        ended = [None] * len(commands)

        def run(i):
            gate.wait()
            process = subprocess.Popen(commands[i], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            error = process.communicate(timeout=PATIENCE)[1].decode()
            ended[i] = (process.pid, process.returncode, error)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(commands))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return ended

    def check(self, ended):
        for _, code, error in ended:
            self.assertIn(code, (0, 5), error)
        # However close they were, not all of them were sent away.
        self.assertIn(0, [code for _, code, _ in ended], [error for _, _, error in ended])
        for pid, code, error in ended:
            if code != 5:
                continue
            self.assertIn(" is locked by ", error)
            for holder in re.findall(r"is locked by process ([0-9]+)", error):
                self.assertIn(int(holder), [other for other, _, _ in ended if other != pid])

    def test_of_several_imports_one_gets_the_pool(self):
        os.makedirs(self.path("tree"))
        for i in range(20):
            self.write(f"tree/{i}", b"%d" % i)
        for round_number in range(ROUNDS):
            self.check(self.race([
                [HEXAD, "import", self.pool, self.path("tree"), "--prefix", f"{round_number}/{i}/"]
                for i in range(PROCESSES)]))

    def test_the_order_in_which_devices_are_named_does_not_matter(self):
        os.symlink(self.top, self.path("other"))
        called = [os.path.join(self.path("other"), os.path.basename(d)) for d in self.devices]
        orders = itertools.cycle([self.devices, self.devices[::-1], called[3:] + called[:3],
                                  [*self.devices[1::2], *called[::2]]])
        source = self.write("source", b"bytes")
        for round_number in range(ROUNDS):
            self.check(self.race([
                [HEXAD, "put", "--device", *next(orders), "--", f"{round_number}-{i}", source]
                for i in range(PROCESSES)]))

    def test_an_import_and_an_export(self):
        os.makedirs(self.path("tree"))
        self.write("tree/file", b"bytes")
        self.ok("import", self.pool, self.path("tree"), "--prefix", "there/")
        for round_number in range(ROUNDS):
            out = self.path(f"out{round_number}")
            ended = self.race([
                [HEXAD, "import", self.pool, self.path("tree"), "--prefix", f"{round_number}/"],
                [HEXAD, "export", self.pool, out, "--prefix", "there/"],
                [HEXAD, "export", self.pool, out + "b", "--prefix", "there/"]])
            self.check(ended)
            for (_, code, _), top in zip(ended[1:], (out, out + "b")):
                if code == 0:
                    self.assertEqual(self.read(top + "/there/file"), b"bytes")


if __name__ == "__main__":
    cli_testing.main()
