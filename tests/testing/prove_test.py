"""What ./run prove reads from harnesses, and how it adds that to doc/testing.md."""

import importlib.util
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SPEC = importlib.util.spec_from_file_location("prove", os.path.join("tools", "testing", "prove.py"))
prove = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prove)

PAGE = f"# Testing\n\nBefore.\n\n{prove.BEGIN}\n{prove.END}\n\nAfter.\n"


class CountsTest(unittest.TestCase):
    def test_lines_of_one_name_are_added_and_seeds_are_not(self):
        output = (
            "noise\nname=crash-one seed=7 states=10 violations=0 secs=1.5\n"
            "name=crash-one seed=8 states=5 violations=1 secs=0.5\nname=crash-trace seed=1 hash=00ff\n"
        )
        self.assertEqual(
            prove.counts_of(output),
            {"crash-one": {"states": 15, "violations": 1, "secs": 2.0}, "crash-trace": {}},
        )

    def test_a_difference_of_the_model_is_a_violation(self):
        line = "runner seed=7 ops=3000 differences=1"
        self.assertEqual(prove.counts_of(line), {"model": {"ops": 3000, "violations": 1}})

    def test_output_without_a_line_counts_nothing(self):
        self.assertEqual(prove.counts_of("Segmentation fault\n"), {})


class ChoiceTest(unittest.TestCase):
    def test_a_word_picks_those_that_have_it_and_none_picks_all(self):
        self.assertEqual(prove.campaigns_with(""), list(prove.CAMPAIGNS))
        words = {"backup_fault": prove.BackupKills, "kill_rounds": prove.DemoKills,
                 "device_kill": prove.DeviceKills, "kills_test": prove.StoreKills, "take_over": prove.TakeOver}
        for word, campaign in words.items():
            self.assertEqual(prove.campaigns_with(word), [campaign])
        self.assertEqual(prove.campaigns_with("no such"), [])


class TotalsTest(unittest.TestCase):
    def run_of(self, output):
        totals = {}
        prove.add(totals, prove.counts_of(output))
        return totals

    def test_totals_grow_and_the_rest_of_the_page_stays(self):
        first = self.run_of("name=b states=1200 violations=0 secs=3.4")
        page = prove.with_totals(PAGE, first, "2026-01-02")
        self.assertIn("| b | 1 rounds, 1,200 states, 3 secs, 0 violations | 2026-01-02 |", page)
        second = self.run_of("name=a states=1 violations=2 secs=1\nname=b states=800 violations=0 secs=2")
        page = prove.with_totals(page, second, "2026-01-03")
        self.assertIn("| a | 1 rounds, 1 states, 1 secs, 2 violations | 2026-01-03 |", page)
        self.assertIn("| b | 2 rounds, 2,000 states, 5 secs, 0 violations | 2026-01-03 |", page)
        self.assertTrue(page.startswith("# Testing\n\nBefore.\n\n"))
        self.assertTrue(page.endswith("\n\nAfter.\n"))

    def test_a_row_that_nothing_was_added_to_keeps_its_date(self):
        page = prove.with_totals(PAGE, self.run_of("name=a states=1 violations=0"), "2026-01-02")
        page = prove.with_totals(page, self.run_of("name=b states=1 violations=0"), "2026-01-03")
        self.assertEqual(prove.read_totals(page)["a"][1], "2026-01-02")

    def test_a_page_without_marks_is_refused(self):
        with self.assertRaises(ValueError):
            prove.with_totals("# Testing\n", {}, "2026-01-02")


class CampaignsTest(unittest.TestCase):
    def test_each_round_has_a_seed_of_its_own_which_repeats_it(self):
        proof = prove.Proof(1)

        class Echo:
            words = ("sh", "-c", "echo name=echo seed=$HEXAD_SEED states={seed}")
            environment = {"TOO": "1"}

        repeats = set()
        for _ in range(5):
            repeat, done = proof.round(Echo)
            repeats.add(repeat)
            seed = prove.counts_of(done.stdout)["echo"]["states"]
            self.assertEqual(done.stdout, f"name=echo seed={seed} states={seed}\n")
            self.assertTrue(repeat.startswith(f"TOO=1 HEXAD_SEED={seed} HEXAD_THOROUGH=1 sh -c "), repeat)
        self.assertEqual(len(repeats), 5)

    def test_what_prepares_a_campaign_runs_once_and_its_failure_is_told(self):
        with tempfile.TemporaryDirectory() as top:
            log = os.path.join(top, "log")

            class Prepared:
                targets = ()
                preparation = (("sh", "-c", f"echo prepared >>{log}"),)
                # It fails again and again, which is what ends the rounds, however slow they are.
                words = ("sh", "-c", f"echo round >>{log}; echo name=echo states=1; false")
                environment = {}

            proof = prove.Proof(1, [Prepared], 2)
            proof.fail = lambda what, repeat, output="": proof.failures.append(what)  # and no file
            proof.campaigns(3600)
            self.assertGreaterEqual(len(proof.failures), 10)
            with open(log, encoding="ascii") as file:
                lines = file.read().splitlines()
            self.assertEqual(lines[0], "prepared")
            self.assertEqual(set(lines[1:]), {"round"})
            self.assertEqual(proof.totals["echo"]["rounds"], len(lines) - 1)

            Prepared.preparation = (("false",),)
            proof = prove.Proof(1, [Prepared], 2)
            proof.campaigns(3600)
            self.assertEqual(proof.failures, ["preparing the campaigns; to repeat it: false"])
            self.assertEqual(proof.totals, {})


if __name__ == "__main__":
    unittest.main()
