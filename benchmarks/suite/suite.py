#!/usr/bin/env python3
"""Runs all benchmarks of hexad on this machine and writes a report.

    suite.py --programs FOLDER --out FOLDER [--quick] [--moment] [--commit TEXT] [--dir FOLDER]

FOLDER of --programs is the one that holds benchmarks/ and tools/ as they were built. Writes
bench.json, for programs, and report.html, for people. A figure with a run that counted nothing is
none: it stands under "not_measured", with the reason. --moment shows that everything runs and
measures nothing.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import page

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 1

# How long, by pace.
PACES = {
    "full": {"repetitions": 5, "peers_s": 5, "load_s": 10, "micro_s": 0.5, "device_mib": 2048,
             "commit_path": True, "space": ["--quick"], "objects": 20000, "ranges": 64,
             "scale": 3000000, "tiers": []},
    "quick": {"repetitions": 5, "peers_s": 0.4, "load_s": 0.6, "micro_s": 0.02, "device_mib": 512,
              "commit_path": False, "space": None, "objects": 5000, "ranges": 32,
              "scale": 100000,
              "tiers": ["--objects=100000", "--memory-kib=1024", "--warm=15000", "--look-ups=3000",
                        "--seconds=1"]},
    "moment": {"repetitions": 1, "peers_s": 0.02, "load_s": 0.02, "micro_s": 0.001,
               "device_mib": 64, "commit_path": False,
               "space": ["--device-mib=64", "--sizes=4k", "--loads=uniform", "--fills=50", "--laps=0.1",
                         "--warm-laps=0.1"], "objects": 64, "ranges": 4, "scale": 500,
               "tiers": ["--quick", "--multiples", "1", "4"]},
}

# What of each program is part of the suite.
MICRO = {
    "ec_bench": "4_cells|/4[+]2/",
    "prepare_bench": ".",
    "checksum_bench": ".",
    "alloc_bench": ".",
    "kv_bench": ".",
    "compression_bench": "/32KiB|probe",
    "list_bench": "objects:10000",
    "store_bench": "memory|cached",
}
# Units.
LESS_IS_BETTER = ("us", "ns", "ms", "s", "bytes written per byte")
MICRO_MOMENT = {"checksum_bench": "."}


def say(words):
    print(words, file=sys.stderr, flush=True)


def run(words, **more):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          check=False, **more)
    if done.returncode != 0:
        sys.exit(f"suite: {' '.join(words)}: ended with status {done.returncode}\n{done.stdout}")
    return done.stdout


def failure(words, **more):
    """Runs what may be impossible on this machine; why it was, or nothing."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=300,
                              stderr=subprocess.STDOUT, text=True, check=False, **more)
    except FileNotFoundError:
        return f"{words[0]} is not on this machine"
    except subprocess.TimeoutExpired:
        return f"{' '.join(words)}: not done after 300 s"
    if done.returncode == 0:
        return ""
    return f"{' '.join(words[:2])}: {(done.stdout.strip().splitlines() or ['no word'])[-1]}"


def make_row(name, what, unit, values, better, **more):
    return {"id": name, "what": what, "unit": unit, "better": better,
            "value": statistics.median(values), "values": values,
            **{key: value for key, value in more.items() if value}}


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


class Suite:
    def __init__(self, arguments):
        self.arguments = arguments
        self.pace = PACES["moment" if arguments.moment else "quick" if arguments.quick else "full"]
        self.rows = []
        self.not_measured = []
        self.settings = {}

    def program(self, *words):
        return os.path.join(self.arguments.programs, *words)

    def keep(self, rows, nothing):
        """Keeps rows; `nothing` is why a run may have counted nothing."""
        for row in rows:
            empty = sum(1 for value in row["values"] if not (value or 0) > 0)
            if row["values"] and not empty:
                self.rows.append(row)
                continue
            why = row.get("error") or f"{nothing}, in {empty} of {len(row['values'])} runs"
            self.not_measured.append({"id": row["id"], "why": why})

    def table_program(self, name, prefix, *options):
        """Rows of a program of //benchmarks that writes JSON of its own, and its settings."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "figures.json")
            run([self.program("benchmarks", name), "--json", path, "--dir", self.arguments.dir,
                 "--commit", self.arguments.commit, *options])
            with open(path, encoding="utf-8") as figures:
                figures = json.load(figures)
        for row in figures["rows"]:
            row["id"] = prefix + row["id"]
            row["better"] = "less" if row["unit"].split(",")[0] in LESS_IS_BETTER else "more"
        self.keep(figures["rows"], "nothing was counted")
        return figures["settings"]

    def peers(self):
        say("peers")
        pace = self.pace
        options = [f"--seconds={pace['peers_s']}", f"--repetitions={pace['repetitions']}",
                   f"--device-mib={pace['device_mib']}", f"--objects={pace['objects']}"]
        settings = self.table_program("peers_bench", "peers/", *options,
                                      *(["--quick", "--only=lmdb"] if self.arguments.moment else []))
        for key in ("kernel", "disk", "processors", "load average at the start", "fio",
                    "caches before gets"):
            self.settings[key] = settings.pop(key)
        self.settings["peers"] = {key: value for key, value in settings.items()
                                  if key not in ("commit", "a quick run")}

    def commit_path(self):
        if self.pace["commit_path"]:
            say("commit path")
            self.table_program("commit_path_bench", "commit_path/")

    def load(self):
        say("load")
        hexad = self.program("tools", "hexad")
        with tempfile.TemporaryDirectory(dir=self.arguments.dir, prefix="hexad-suite-") as folder:
            pool = os.path.join(folder, "pool")
            devices = [os.path.join(folder, f"device{i}") for i in range(6)]
            run([hexad, "mkfs", pool, "--size", f"{self.pace['device_mib']}MiB", "--device", *devices])
            lines = []
            for _ in range(self.pace["repetitions"]):
                for jobs, options in (("eight_patterns", ["--objects", self.pace["ranges"],
                                                          "--cache-size", "0"]),
                                      ("whole_objects", ["--objects", self.pace["objects"]])):
                    text = run([hexad, "bench", "run", pool, "--json", "--seed", str(SEED),
                                "--collection", jobs, "--runtime", str(self.pace["load_s"]), "--jobs",
                                os.path.join(HERE, "..", "jobs", jobs + ".job"),
                                *map(str, options)])
                    lines += [json.loads(line) for line in text.splitlines()]
        jobs = dict.fromkeys(line["job"] for line in lines)
        self.keep([load_row(job, [line for line in lines if line["job"] == job]) for job in jobs],
                  f"no operation came to its end within {self.pace['load_s']} s")

    def space(self):
        if self.pace["space"]:
            say("full stores")
            self.table_program("space_bench", "space/", *self.pace["space"])

    def tiers(self):
        say("a fast tier that is too small")
        # The figures are worth more where the fast tier is faster than the disk.
        fast = ["--fast", "/dev/shm"] if os.access("/dev/shm", os.W_OK) else []
        self.table_program("tiers_bench", "tiers/", *fast, *self.pace["tiers"])

    def scale(self):
        say("very many objects")
        with tempfile.TemporaryDirectory(dir=self.arguments.dir, prefix="hexad-suite-") as folder:
            text = run([self.program("tools", "hexad"), "bench", "scale", os.path.join(folder, "pool"),
                        "--json", "--seed", str(SEED), "--objects", str(self.pace["scale"])])
        windows = [json.loads(line) for line in text.splitlines()]
        self.keep([scale_row(window) for window in windows], "it took no time")

    def micro(self):
        """All programs in turn, again and again: what one minute of the machine differs by from
        another is within the spread of a figure, and not between two reports."""
        programs = MICRO_MOMENT if self.arguments.moment else MICRO
        benchmarks = {name: [] for name in programs}
        for turn in range(self.pace["repetitions"]):
            say(f"parts on their own, round {turn + 1} of {self.pace['repetitions']}")
            for name, pattern in programs.items():
                output = json.loads(run(
                    [self.program("benchmarks", name), "--benchmark_format=json",
                     f"--benchmark_filter={pattern}",
                     f"--benchmark_min_time={self.pace['micro_s']}"],
                    stderr=subprocess.DEVNULL))
                benchmarks[name] += output["benchmarks"]
        for name, runs in benchmarks.items():
            self.keep(micro_rows(name, runs), "it took no time")
        if not self.arguments.moment:
            self.coding_in_go()

    def coding_in_go(self):
        """klauspost/reedsolomon, in the chart of our codecs, where Go and that module can be had."""
        name = "encode/4+2/klauspost:reedsolomon"
        say(name)
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "coding")
            why = failure(["go", "build", "-o", program, "."], cwd=os.path.join(HERE, "../peers/go"))
            if why:
                say(f"{name}: left out: {why}")
                rows.append({"id": f"micro/ec_bench/{name}", "values": [], "error": why})
            else:
                output = run([program, f"-seconds={self.pace['micro_s']}",
                              f"-repetitions={self.pace['repetitions']}"])
                rows += micro_rows("ec_bench", json.loads(output)["benchmarks"])
        self.keep(rows, "it took no time")

    def run(self):
        began = time.monotonic()
        self.settings = {
            "machine": f"{platform.node()}, {processor()}, {os.cpu_count()} processors",
            "commit": self.arguments.commit,
            "seed": SEED,
            "time": "host",
            "date": time.strftime("%Y-%m-%d %H:%M"),
            "quick": self.arguments.quick or self.arguments.moment,
        }
        self.peers()
        self.load()
        self.commit_path()
        self.space()
        self.tiers()
        self.scale()
        self.micro()
        self.settings["took"] = f"{time.monotonic() - began:.0f} s"
        return {"settings": self.settings, "rows": self.rows, "not_measured": self.not_measured}


def load_row(job, lines):
    """The runs of one job as a row: rates, latencies, and device traffic for each operation."""
    def median(pick):
        return statistics.median(pick(line) for line in lines)
    first = lines[0]
    row = make_row(
        "load/" + job, f"{first['rw']}, {first['threads']} x {first['iodepth']} in flight", "k/s",
        [line["ops_per_s"] / 1000 for line in lines], "more",
        cpu_us=median(lambda line: line["cpu_us_per_op"]))
    for key in ("p50", "p95", "p99", "p999"):
        row[key + "_us"] = median(lambda line, key=key: line["latency_us"][key])
    row["counted"] = traffic(lines, lambda line: line["devices"])
    row["counted"]["index bytes/op"] = median(
        lambda line: line["counters"].get("index_bytes", 0) / max(1, line["operations"]))
    row["devices"] = [{"id": device["id"], "role": device["role"],
                       **traffic(lines, lambda line, i=i: [line["devices"][i]])}
                      for i, device in enumerate(first["devices"])]
    return row


def scale_row(window):
    """A window of `hexad bench scale` as a row: what a put costs the processor by then."""
    reopening = window.get("reopening", {})
    counted = {f"{cause} bytes/put": value for cause, value in window["written_per_put"].items()}
    counted["memory, MiB"] = window["memory"] / 2**20
    for key, words in (("after_leaving_s", "opening, s"), ("after_closing_s", "opening when closed, s")):
        if key in reopening:
            counted[words] = reopening[key]
    return make_row(
        f"scale/{window['objects']}", f"{window['objects']} objects of 4 KiB",
        "us of the processor for a put", [window["cpu_us_per_put"]], "less",
        p50_us=window["get_us"]["p50"], p99_us=window["get_us"]["p99"], counted=counted)


def traffic(lines, devices_of):
    """What was moved for each operation, over some devices, bytes and writes also by what they were for."""
    def per_op(count):
        return statistics.median(sum(map(count, devices_of(line))) / max(1, line["operations"])
                                 for line in lines)
    moved = {name: per_op(lambda device, key=key: device[key])
             for name, key in (("bytes written/op", "written"), ("bytes read/op", "read"),
                               ("writes/op", "writes"), ("reads/op", "reads"),
                               ("flushes/op", "flushes"))}
    causes = dict.fromkeys(cause for line in lines for device in devices_of(line)
                           for cause in device["written_for"])
    for cause in causes:
        moved[f"{cause} bytes/op"] = per_op(lambda device, cause=cause: device["written_for"].get(cause, 0))
        moved[f"{cause} writes/op"] = per_op(lambda device, cause=cause: device["writes_for"].get(cause, 0))
    return moved


def micro_rows(program, benchmarks):
    """Rows of Google Benchmark's JSON, its repetitions together; without values and with an `error`
    where it has one."""
    runs = {}
    for run_of in benchmarks:
        if run_of.get("run_type", "iteration") == "iteration":
            runs.setdefault(run_of["run_name"], []).append(run_of)
    rows = []
    for name, some in runs.items():
        row_id = f"micro/{program}/{name}"
        errors = [one["error_message"] for one in some if one.get("error_occurred")]
        if errors:
            rows.append({"id": row_id, "values": [], "error": errors[0]})
        elif "bytes_per_second" in some[0]:
            values = [one["bytes_per_second"] / 2**30 for one in some]
            rows.append(make_row(row_id, name, "GiB/s", values, "more"))
        else:
            factor = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[some[0]["time_unit"]]
            clock = "real_time" if "/real_time" in name else "cpu_time"
            values = [one[clock] * factor for one in some]
            rows.append(make_row(row_id, name, "ns", values, "less"))
    return rows


def main():
    parser = argparse.ArgumentParser(description="Runs all benchmarks and writes a report.")
    parser.add_argument("--programs", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--dir", default="/var/tmp", help="directory on the disk to be measured")
    parser.add_argument("--commit", default="not given")
    parser.add_argument("--quick", action="store_true", help="shorter runs, noisier")
    parser.add_argument("--moment", action="store_true", help="shows that it works")
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    bench = Suite(arguments).run()
    with open(os.path.join(arguments.out, "bench.json"), "w", encoding="utf-8") as out:
        json.dump(bench, out, indent=1)
        out.write("\n")
    with open(os.path.join(arguments.out, "report.html"), "w", encoding="utf-8") as out:
        out.write(page.render(bench))
    print(f"{arguments.out}/report.html and {arguments.out}/bench.json: "
          f"{len(bench['rows'])} figures, {len(bench['not_measured'])} not measured, "
          f"{bench['settings']['took']}")


if __name__ == "__main__":
    main()
