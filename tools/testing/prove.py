#!/usr/bin/env python3
"""Everything at full length, with seeds that never repeat: prove.py [--minutes N] [--only PART...]

  tests        all tests as shipped, under AddressSanitizer and UndefinedBehaviorSanitizer, and under
               ThreadSanitizer
  mutations    the rules of commits and checkpoints broken one by one
  fuzz         every fuzz target with libFuzzer, for a quarter of the minutes
  campaigns    crashes, faults and random operations, round after round, for the rest of them

`--minutes` bounds fuzz and campaigns; tests and mutations take what they take, before. The totals are
added to those in doc/testing.md. What fails is printed with the command that repeats it, its output stays in
out/prove, and the exit code is 1.
"""

import argparse
import concurrent.futures
import datetime
import os
import re
import secrets
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOC = ROOT / "doc" / "testing.md"
OUT = ROOT / "out" / "prove"
PARTS = ("tests", "mutations", "fuzz", "campaigns")
BEGIN, END = "<!-- totals of ./run prove: begin -->", "<!-- end -->"

BIN = ".bazel/opt/bin"


class Campaign:
    """What is built and run; {seed} in a word is that of the round. It prints lines "name=... violations=0".

    `preparation` runs once, before the first round: what several rounds at a time may not do."""

    preparation = ()

    def __init__(self, target, *arguments):
        package, _, name = target[2:].partition(":")
        self.targets = (target,)
        self.words = (f"{BIN}/{package}/{name}", *arguments)
        self.environment = {}


class BackupKills:
    """Import and export that are killed; a script beside programs, which Bazel runs in a place of its own."""

    targets = ("//tests/tools:backup_fault_test", "//tools:hexad")
    preparation = ()
    words = ("python3", "-B", "tests/tools/backup_fault_test.py")
    environment = {"HEXAD": f"{BIN}/tools/hexad", "FAULTS": f"{BIN}/tests/tools/libpreload_faults.so"}


class DemoKills:
    """The kills of ./run demo: drives of uneven speed, so that many of them cut a commit in two."""

    targets = ("//tools:hexad", "//tools/demo:crash_writer")
    preparation = ()
    words = ("python3", "-B", "tools/demo/kill_rounds.py", f"{BIN}/tools/hexad")
    environment = {}


class DeviceKills:
    """Verbs that take devices in and out, or give them what they lack, and are killed."""

    targets = ("//tools:hexad",)
    preparation = ()
    words = ("python3", "-B", "tests/tools/device_kill_test.py")
    environment = {"HEXAD": f"{BIN}/tools/hexad"}


class StoreKills:
    """Processes that use a pool from Python and are killed; with the wheel, as tools/testing/python_part.sh."""

    targets = ()
    preparation = (("tools/setup/python_venv.sh", "--tests"), ("tools/build/python_package.sh",))
    words = (".venv/bin/python", "-P", "-B", "-m", "pytest", "--quiet", "-s", "-p", "no:cacheprovider",
             "--rootdir", "python", "-c", "python/pyproject.toml", "python/tests/kills_test.py")
    environment = {"HEXAD_KILLS": "60"}


class TakeOver:
    """Writers on a cluster that are killed, stopped or alive when another one takes over; it starts the cluster."""

    targets = ("//tests/ceph:ledger_writer", "//tools:hexad")
    preparation = ()
    words = ("python3", "-B", "tests/ceph/take_over_test.py")
    environment = {"HEXAD": f"{BIN}/tools/hexad", "LEDGER_WRITER": f"{BIN}/tests/ceph/ledger_writer"}


CAMPAIGNS = (
    # Apart, since the first takes eight minutes of a processor, and beside other work far more.
    Campaign("//tests/crash:crash_test", "[own-caches]"),
    Campaign("//tests/crash:crash_test", "[one]~[own-caches]"),
    Campaign("//tests/crash:crash_test", "~[one]"),
    Campaign("//tests/crash:op_pairs_test", "[even],[odd]"),
    Campaign("//tests/crash:double_fault_test", "[even],[odd]"),
    Campaign("//tests/crash:hard_life_test"),
    Campaign("//tests/crash:root_sweep_test"),
    Campaign("//tests/crash:cut_pages_crash_test"),
    Campaign("//tests/crash:long_ranges_crash_test"),
    Campaign("//tests/crash:waiting_zones_crash_test"),
    Campaign("//tests/crash:cleaning_crash_test"),
    Campaign("//tests/crash:owners_crash_test"),
    Campaign("//tests/crash:space_soak_test"),
    BackupKills,
    DemoKills,
    DeviceKills,
    StoreKills,
    TakeOver,
    Campaign("//tests/core/faults:corruptions_test"),
    Campaign("//tests/core/store:cleaned_model_test"),
    Campaign("//tests/core/store:run_model", "--seed", "{seed}", "--ops", "300000", "--round", "100000"),
    Campaign("//tests/core/store:run_model", "--store", "device", "--seed", "{seed}", "--ops", "100000",
             "--round", "5000"),
)


def campaigns_with(word):
    """Those with the word in what is run."""
    return [campaign for campaign in CAMPAIGNS if word in " ".join((*campaign.targets, *campaign.words))]


def counts_of(output):
    """name -> {what: number} of every line of a harness; runners of models say `runner` and `differences`."""
    found = {}
    for line in output.splitlines():
        if line.startswith("runner "):
            line = "name=model " + line[len("runner "):].replace("differences=", "violations=")
        if not line.startswith("name="):
            continue
        fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
        sums = found.setdefault(fields.pop("name"), {})
        for what, value in fields.items():
            if what not in ("seed", "hash") and re.fullmatch(r"\d+(\.\d+)?", value):
                sums[what] = sums.get(what, 0) + (float(value) if what == "secs" else int(float(value)))
    return found


def add(totals, counts):
    """Adds one run's counts to the totals: name -> {what: number}."""
    for name, sums in counts.items():
        row = totals.setdefault(name, {"rounds": 0})
        row["rounds"] += 1
        for what, value in sums.items():
            row[what] = row.get(what, 0) + value


def read_totals(text):
    """name -> (counts, date of the last addition), from the table between the two marks."""
    rows = {}
    for line in text.partition(BEGIN)[2].partition(END)[0].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and cells[1][:1].isdigit():
            numbers = re.findall(r"([\d,]+) ([a-z_]+)", cells[1])
            rows[cells[0]] = {what: int(number.replace(",", "")) for number, what in numbers}, cells[2]
    return rows


def table_of(rows):
    lines = ["| campaign | totals | last added to |", "|---|---|---|"]
    for name, (counts, date) in sorted(rows.items()):
        # Rounds first, what was found last; what is 0 need not be said of anything else.
        order = ["rounds", *(what for what in counts if what not in ("rounds", "secs", "violations"))]
        words = [f"{counts[what]:,} {what}" for what in order if counts.get(what)]
        words += [f"{round(counts.get(what, 0)):,} {what}" for what in ("secs", "violations")]
        lines.append(f"| {name} | {', '.join(words)} | {date} |")
    return "\n".join(lines)


def with_totals(text, run, today):
    """The document with the counts of one run of this program added to the totals in it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOC.name} lacks the lines {BEGIN} and {END}")
    rows = read_totals(text)
    for name, counts in run.items():
        sums = rows.get(name, ({}, today))[0]
        for what, value in counts.items():
            sums[what] = sums.get(what, 0) + value
        rows[name] = sums, today
    return f"{before}{BEGIN}\n\n{table_of(rows)}\n\n{END}{after}"


class Proof:
    def __init__(self, minutes, chosen=CAMPAIGNS, at_once=os.cpu_count()):
        self.minutes = minutes
        self.chosen = chosen
        self.at_once = at_once
        self.totals = {}
        self.failures = []

    def say(self, text):
        print(f"prove: {text}", flush=True)

    def fail(self, what, repeat, output=""):
        log = ""
        if output:
            path = OUT / f"failure-{len(self.failures) + 1}.log"
            path.write_text(output)
            log = f"; its output is in {path.relative_to(ROOT)}"
        self.failures.append(f"{what}; to repeat it: {repeat}{log}")
        self.say(f"FAILED: {self.failures[-1]}")

    def bazel(self, *arguments):
        return subprocess.run(["bazel", *arguments], cwd=ROOT, stdin=subprocess.DEVNULL).returncode

    # --- parts ---

    def tests(self):
        everything = {"opt": "-bench,-ceph,-crash", "asan": "-bench,-ceph,-no-asan",
                      "tsan": "-bench,-ceph,-no-tsan"}
        for config, tags in everything.items():
            start = time.monotonic()
            command = ["test", f"--config={config}", f"--test_tag_filters={tags}", "--build_tests_only",
                       "--keep_going", "--test_env=HEXAD_SEED", "//..."]
            os.environ["HEXAD_SEED"] = str(secrets.randbits(32))
            self.say(f"all tests with --config={config}, HEXAD_SEED={os.environ['HEXAD_SEED']}")
            status = self.bazel(*command)
            if status != 0:
                self.fail(f"tests with --config={config}",
                          f"HEXAD_SEED={os.environ['HEXAD_SEED']} bazel {' '.join(command)}")
            add(self.totals, {f"all-tests-{config}": {"violations": int(status != 0),
                                                      "secs": time.monotonic() - start}})

        start = time.monotonic()
        done = subprocess.run(["./run", "test", "ceph"], cwd=ROOT, env=os.environ | {"HEXAD_THOROUGH": "1"},
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            self.fail("tests on a cluster", "HEXAD_THOROUGH=1 ./run test ceph")
        add(self.totals, {"all-tests-ceph": {"violations": int(done.returncode != 0),
                                             "secs": time.monotonic() - start}})

    def mutations(self):
        done = subprocess.run(["tests/mutations/check.py"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="", flush=True)
        add(self.totals, counts_of(done.stdout))
        if done.returncode != 0:
            self.fail("mutations", "./run test mutations", done.stdout)

    def fuzz(self):
        query = subprocess.run(["bazel", "query", "attr(tags, '\\bfuzz\\b', //tests/...)"], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        targets = query.stdout.split()
        if self.bazel("build", "--config=fuzz", *targets) != 0:
            self.fail("building the fuzz targets", f"bazel build --config=fuzz {' '.join(targets)}")
            return
        share = max(5, int(self.minutes * 60 / 4 * self.at_once / len(targets)))
        with concurrent.futures.ThreadPoolExecutor(self.at_once) as pool:
            list(pool.map(lambda target: self.fuzz_one(target, share), targets))

    def fuzz_one(self, target, seconds):
        package, _, name = target[2:].partition(":")
        seed = secrets.randbits(31) or 1
        corpus = OUT / "corpus" / name
        corpus.mkdir(parents=True, exist_ok=True)
        command = [f".bazel/fuzz/bin/{package}/{name}", f"-max_total_time={seconds}", f"-seed={seed}",
                   "-print_final_stats=1", f"-artifact_prefix={OUT.relative_to(ROOT)}/{name}-",
                   str(corpus.relative_to(ROOT))]
        start = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        runs = re.search(r"stat::number_of_executed_units: (\d+)", done.stdout)
        add(self.totals, {f"fuzz-{name.removesuffix('_test')}": {
            "executions": int(runs[1]) if runs else 0,
            "violations": int(done.returncode != 0), "secs": time.monotonic() - start}})
        self.say(f"{name}: {runs[1] if runs else 'no'} executions in {time.monotonic() - start:.0f} s")
        if done.returncode != 0:
            self.fail(f"fuzz target {target}", " ".join(command), done.stdout)

    def campaigns(self, seconds):
        programs = sorted({target for campaign in self.chosen for target in campaign.targets})
        if programs and self.bazel("build", "--config=opt", *programs) != 0:
            self.fail("building the campaigns", f"bazel build --config=opt {' '.join(programs)}")
            return
        for campaign in self.chosen:
            for words in campaign.preparation:
                if subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL).returncode != 0:
                    self.fail("preparing the campaigns", shlex.join(words))
                    return
        self.deadline = time.monotonic() + seconds
        self.next = 0
        with concurrent.futures.ThreadPoolExecutor(self.at_once) as pool:
            waiting = set()
            while time.monotonic() < self.deadline and len(self.failures) < 10:
                while len(waiting) < self.at_once:
                    waiting.add(pool.submit(self.round, self.chosen[self.next % len(self.chosen)]))
                    self.next += 1
                done, waiting = concurrent.futures.wait(
                    waiting, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    self.take(*future.result())
            for future in waiting:
                self.take(*future.result())

    def round(self, campaign):
        seed = secrets.randbits(32)
        words = [word.format(seed=seed) for word in campaign.words]
        environment = campaign.environment | {"HEXAD_SEED": str(seed), "HEXAD_THOROUGH": "1"}
        done = subprocess.run(words, cwd=ROOT, env=os.environ | environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return " ".join([*(f"{name}={value}" for name, value in environment.items()), shlex.join(words)]), done

    def take(self, repeat, done):
        counts = counts_of(done.stdout)
        add(self.totals, counts)
        for name, row in counts.items():
            self.say(f"{name}: {', '.join(f'{value:,.0f} {what}' for what, value in row.items())}")
        if done.returncode != 0 or not counts:
            self.fail(f"ended with {done.returncode}", repeat, done.stdout)


def main():
    parser = argparse.ArgumentParser(prog="./run prove", description="Everything at full length.")
    parser.add_argument("--minutes", type=float, default=60, help="for fuzz and campaigns together; 60")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART",
                        help="of " + ", ".join(PARTS))
    parser.add_argument("--campaign", metavar="WORD", default="",
                        help="of campaigns, those whose program has the word in its name")
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), metavar="N",
                        help="programs of fuzz and campaigns; one for each processor")
    parser.add_argument("--dry-run", action="store_true", help="leave doc/testing.md as it is")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    chosen = campaigns_with(options.campaign)
    if not chosen:
        parser.error(f"no campaign has {options.campaign!r} in its name")
    proof = Proof(options.minutes, chosen, options.at_once)
    seconds = options.minutes * 60 * (0.75 if "fuzz" in options.only else 1)
    for part in PARTS:
        if part in options.only:
            proof.say(part)
            proof.campaigns(seconds) if part == "campaigns" else getattr(proof, part)()
    if not options.dry_run:
        DOC.write_text(with_totals(DOC.read_text(), proof.totals, datetime.date.today().isoformat()))
        proof.say(f"the totals were added to {DOC.relative_to(ROOT)}")
    for failure in proof.failures:
        print(f"FAILED: {failure}")
    print(f"name=prove states={sum(row['rounds'] for row in proof.totals.values())} "
          f"violations={len(proof.failures)}")
    return 1 if proof.failures else 0


if __name__ == "__main__":
    sys.exit(main())
