#!/usr/bin/env python3
"""hexad takeover: who has the devices of a pool is named, and nobody is shut out of a file."""

import os
import pty
import select
import signal
import subprocess

from cli_testing import HEXAD, PATIENCE, PoolTest, main


class Takeover(PoolTest):
    def holder(self):
        """A put that has the pool until its input ends."""
        process = subprocess.Popen([HEXAD, "put", self.pool, "slow", "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL)
        # More than fits into a pipe: when this returns, the holder is reading.
        process.stdin.write(b"x" * (1 << 20))
        process.stdin.flush()
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.stdin.close)
        return process

    def test_a_pool_that_nobody_has_is_recovered_and_nothing_else(self):
        self.ok("put", self.pool, "a", "-", stdin=b"a")
        answer = self.ok("takeover", self.pool)
        self.assertIn("nobody has a device of the pool open", answer.text)
        self.assertIn("0 devices were taken over", answer.text)
        self.assertEqual(self.ok("takeover", self.pool, "-n", "--json").json, {"holders": []})
        taken = self.ok("takeover", self.pool, "--json").json
        self.assertEqual(taken["holders"], [])
        self.assertGreater(taken["last_lsn"], 0)
        self.assertEqual(self.ok("cat", self.pool, "a").raw, b"a")

    def test_who_has_files_is_named_and_has_to_be_ended(self):
        holder = self.holder()
        listed = self.ok("takeover", self.pool, "--dry-run")
        self.assertEqual(len(listed.text.splitlines()), 7, listed.text)  # and the log
        for device in self.devices:
            self.assertIn(f"{device}: ", listed.text)
        self.assertIn(f"process {holder.pid}", listed.text)
        shown = self.ok("takeover", self.pool, "-n", "--json").json["holders"]
        self.assertEqual([entry["can_be_shut_out"] for entry in shown], [False] * 7)
        # Without a word nothing is done; with it the refusal says what to do.
        unasked = self.expect(2, "takeover", self.pool)
        self.assertIn("--yes", unasked.error)
        refused = self.expect(5, "takeover", self.pool, "--yes")
        self.assertIn("nobody has been shut out", refused.error)
        self.assertIn(f"process {holder.pid}", refused.error)
        holder.stdin.close()
        self.assertEqual(holder.wait(PATIENCE), 0)
        self.assertEqual(len(self.ok("cat", self.pool, "slow").raw), 1 << 20)

    def test_a_dead_holder_needs_no_word(self):
        holder = self.holder()
        holder.send_signal(signal.SIGKILL)
        holder.wait(PATIENCE)
        self.assertIn("all is there up to LSN", self.ok("takeover", self.pool).text)

    def test_at_a_terminal_it_asks(self):
        self.holder()
        for answer, code, said in ((b"n\n", 1, "nobody has been shut out"), (b"y\n", 5, "End that process")):
            ours, its = pty.openpty()
            with subprocess.Popen([HEXAD, "takeover", self.pool], stdin=its, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                os.close(its)
                text = b""
                while b"[y/N]" not in text:
                    select.select([process.stderr], [], [], 60)
                    read = os.read(process.stderr.fileno(), 4096)
                    self.assertTrue(read, text)
                    text += read
                os.write(ours, answer)
                text += process.stderr.read() + process.stdout.read()
                self.assertEqual(process.wait(PATIENCE), code, text)
                self.assertIn(said, text.decode())
            os.close(ours)


main()
