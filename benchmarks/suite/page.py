"""The report as one page: bench.json in, HTML out. Nothing on it comes from elsewhere."""

import html

import charts

STYLE = """
body { font-family: sans-serif; max-width: 60em; margin: 2em auto; line-height: 1.4; color: black; }
table { border-collapse: collapse; margin: 1em 0; font-size: 90%; }
th, td { border: 1px solid black; padding: 0.2em 0.5em; text-align: left; }
td.number { text-align: right; white-space: nowrap; }
p.note { font-size: 85%; margin-top: 0; }
figure { margin: 1.5em 0; }
@media print { figure { page-break-inside: avoid; } }
"""

WHAT = {
    "put_4k_1": "Durable put of 4 KiB, one at a time",
    "put_4k_64": "Durable put of 4 KiB, 64 callers",
    "put_64k_1": "Durable put of 64 KiB, one at a time",
    "put_64k_64": "Durable put of 64 KiB, 64 callers",
    "get_4k": "Get of 4 KiB, 16 callers",
    "get_64k": "Get of 64 KiB, 16 callers",
    "delete_4k": "Durable delete of 4 KiB objects, 64 callers",
    "delete_64k": "Durable delete of 64 KiB objects, 64 callers",
}

SOURCES = [
    "S3: the comparison of Ceph, LINSTOR, Mayastor and Vitastor in Kubernetes, whose eight fio "
    "patterns the section on load repeats on ranges of objects.",
    "fio 3, its manual: buffer_compress_percentage, buffer_pattern, sync=dsync.",
    "RocksDB: its wiki on BlobDB, and the guide to its set-up. LMDB: the documentation in lmdb.h. "
    "SQLite: its pages on WAL, on PRAGMA synchronous and on internal against external blobs.",
    "W. Hörmann and G. Derflinger, Rejection-inversion to generate variates from monotone discrete "
    "distributions, 1996: how places are drawn by Zipf's law.",
]


def spread(row):
    values = row["values"]
    return charts.number(row["value"]) + (
        f" ({charts.number(min(values))}..{charts.number(max(values))})" if len(values) > 1 else "")


def noise(row):
    """Half of the spread, in percent of the median; None with one run."""
    values = row["values"]
    if len(values) < 2 or row["value"] == 0:
        return None
    return 50 * (max(values) - min(values)) / abs(row["value"])


def kind_of(name):
    if name.startswith("hexad"):
        return "ours"
    return "ceiling" if name in ("fio", "memcpy") else "other"


class Page:
    def __init__(self, bench):
        self.settings = bench["settings"]
        self.rows = bench["rows"]
        self.not_measured = bench["not_measured"]
        self.parts = []

    def add(self, *parts):
        self.parts.extend(parts)

    def under(self, prefix):
        """(rest of the id, row) of a family of rows, in order."""
        return [(row["id"][len(prefix):], row) for row in self.rows if row["id"].startswith(prefix)]

    def caption(self):
        said = self.settings
        return (f"{said['machine']}; commit {said['commit']}; seed {said['seed']}; {said['time']} time"
                + ("; a quick run" if said["quick"] else ""))

    def figure(self, chart, note=""):
        self.add("<figure>", chart, f'<figcaption><p class="note">{html.escape(note)} '
                 f"[{html.escape(self.caption())}]</p></figcaption></figure>")

    def table(self, headings, lines):
        head = "".join(f"<th>{html.escape(heading)}</th>" for heading in headings)
        self.add(f"<table><tr>{head}</tr>")
        for line in lines:
            first, *rest = line
            cells = "".join(f'<td class="number">{html.escape(str(cell))}</td>' for cell in rest)
            self.add(f"<tr><td>{html.escape(str(first))}</td>{cells}</tr>")
        self.add("</table>")

    def table_of_rows(self, rows):
        lines = []
        for name, row in rows:
            percent = noise(row)
            lines.append((
                name, spread(row), row["unit"], "" if percent is None else f"{percent:.0f} %",
                charts.number(row["cpu_us"]) if row.get("cpu_us") else "",
                " / ".join(charts.number(row[key]) for key in ("p50_us", "p95_us", "p99_us", "p999_us")
                           if row.get(key)),
                ", ".join(f"{key} {charts.number(value)}" for key, value in
                          row.get("counted", {}).items())))
        self.table(["", "median (least..most)", "unit", "noise", "CPU per op, us",
                    "p50 / p95 / p99 (/ p99.9), us", "counted"], lines)

    def peers(self):
        rows = self.under("peers/")
        if not rows:
            return
        self.add("<h2>Beside what one would use instead</h2>",
                 "<p>Every put and delete is durable when it returns: no crash takes it back. hexad "
                 "and the last kind of files also survive the loss of two of six devices, the "
                 "others of none. All run by turns on one disk, in rounds. fio writes to, or reads from, one "
                 "file that is there already: what the disk does without names.</p>")
        workloads = dict.fromkeys(name.split("/")[0] for name, _ in rows)
        for workload in workloads:
            here = [(name.split("/")[1], row) for name, row in rows
                    if name.split("/")[0] == workload]
            title = WHAT.get(workload, workload)
            label = {name: row["what"].split(": ", 1)[-1] for name, row in here}
            label["fio"] = "fio: the ceiling"
            self.figure(charts.bars(title + ": thousands per second", "k/s", [
                (label[name], row["value"], min(row["values"]), max(row["values"]), kind_of(name))
                for name, row in here]), "Black: hexad. Hatched: the others. Dotted: the ceiling. "
                "The line in a bar goes from the least to the most of the runs.")
            self.figure(charts.latencies(title + ": latency", [
                (label[name], {key: row[key] for key, _, _ in charts.PERCENTILES if row.get(key)})
                for name, row in here if row.get("p50_us")]))
            self.table_of_rows([(label[name], row) for name, row in here])
        self.add("<h3>How each was set up</h3>")
        self.table(["", "settings"], list(self.settings["peers"].items()))

    def load(self):
        rows = self.under("load/")
        if not rows:
            return
        self.add("<h2>A pool under load</h2>",
                 "<p>hexad bench run, jobs of benchmarks/jobs. The eight patterns are those of S3, on "
                 "ranges of objects of 4 MiB, nothing kept in memory of what was read; the others "
                 "move whole objects of 4 KiB, or none.</p>")
        for title, wanted in (("4 KiB and smaller", lambda name: "_4m_" not in name),
                              ("4 MiB", lambda name: "_4m_" in name)):
            some = [(name, row) for name, row in rows if wanted(name)]
            if not some:
                continue
            self.figure(charts.bars(f"{title}: thousands per second", "k/s", [
                (name, row["value"], min(row["values"]), max(row["values"]), "ours")
                for name, row in some]))
        self.figure(charts.latencies("Latency", [
            (name, {key: row[key] for key, _, _ in charts.PERCENTILES if row.get(key)})
            for name, row in rows]))
        self.table_of_rows(rows)
        self.devices(rows)

    def devices(self, rows):
        """What each device moved for an operation, and what it was written for."""
        lines = [(name, device) for name, row in rows for device in row.get("devices", [])]
        counted = list(dict.fromkeys(key for _, device in lines for key in device
                                     if key not in ("id", "role")))
        self.add("<details><summary>Each device</summary>")
        self.table(["", "device", *counted], [
            (name, f"{device['id']} {device['role']}",
             *(charts.number(device[key]) if device.get(key) else "" for key in counted))
            for name, device in lines])
        self.add("</details>")

    def commit_path(self):
        rows = self.under("commit_path/")
        if not rows:
            return
        self.add("<h2>The commit path beside fio</h2>",
                 "<p>doc/benchmarks.md says what stands beside what; a ratio is taken within a pair "
                 "of runs.</p>")
        self.table(["", "median (least..most)", "unit", "ratio to fio", "bar", ""], [
            (row["what"], spread(row), row["unit"],
             charts.number(row["ratio"]) if "ratio" in row else "", row.get("bar", ""),
             row.get("judgement", "")) for _, row in rows])

    def space(self):
        rows = self.under("space/")
        if not rows:
            return
        self.add("<h2>Overwriting in a store that is nearly full</h2>",
                 "<p>Whole objects are overwritten, each put durable. Percent are of what fits; the "
                 "others have the same objects and the rest of the disk. hexad keeps six cells of "
                 "four, the others one copy.</p>")
        for title, label, value in (
                ("Bytes written to disks for each that is put", "bytes", lambda row: row["value"]),
                ("Puts per second", "puts/s", lambda row: row["counted"]["puts/s"])):
            series = {}
            for name, row in rows:
                size, load, fill, who = name.split("/")
                if who == "hexad":
                    series.setdefault(f"{size} {load}", []).append((int(fill), value(row)))
            if series:
                self.figure(charts.lines("hexad: " + title, "percent full", label, [
                    (name, sorted(points)) for name, points in series.items()], scale=float))
        counted = list(dict.fromkeys(key for _, row in rows for key in row["counted"]))
        self.table(["", "written per byte", *counted], [
            (row["what"], charts.number(row["value"]),
             *(charts.number(row["counted"][key]) if key in row["counted"] else ""
               for key in counted))
            for _, row in rows])

    def tiers(self):
        rows = self.under("tiers/")
        if not rows:
            return
        self.add("<h2>A fast tier that is too small</h2>",
                 "<p>Gets of small objects, one at a time, whose metadata is a fraction or a multiple of what the "
                 "fast tier holds. The bound is what hits and misses cost by themselves, in their shares. RocksDB "
                 "has a fast and a slow directory of the same sizes.</p>")
        gets, hits = {}, {}
        for name, row in rows:
            what, skew, multiple, *who = name.split("/") + [""]
            if what == "get":
                lines = gets.setdefault(skew, {})
                lines.setdefault(who[0], []).append((float(multiple), row["value"]))
                if "bound, us" in row.get("counted", {}):
                    lines.setdefault("bound", []).append((float(multiple), row["counted"]["bound, us"]))
            elif what == "hits":
                hits.setdefault(skew, []).append((float(multiple), row["value"]))
        for skew, lines in gets.items():
            self.figure(charts.lines(f"Mean latency of a get, {skew}", "metadata, in multiples of the fast tier",
                                     "us", [(who, sorted(points)) for who, points in lines.items()]))
        if hits:
            self.figure(charts.lines("Look-ups that read no data device", "metadata, in multiples of the fast tier",
                                     "share", [(skew, sorted(points)) for skew, points in hits.items()]))
        counted = list(dict.fromkeys(key for _, row in rows for key in row.get("counted", {})))
        self.table(["", "median (least..most)", "unit", "bar", "", *counted], [
            (row["what"], spread(row), row["unit"], row.get("bar", ""), row.get("judgement", ""),
             *(charts.number(row["counted"][key]) if key in row.get("counted", {}) else ""
               for key in counted))
            for _, row in rows])

    def scale(self):
        rows = self.under("scale/")
        if not rows:
            return
        self.add("<h2>Very many objects</h2>",
                 "<p>hexad bench scale: zeros of 4 KiB on devices that store no zeros, in transactions of "
                 "64. Reads find metadata on disk and holes in place of data. doc/scale.md has the "
                 "method and larger pools.</p>")
        self.figure(charts.lines("Processor time of a put", "objects", "us", [
            ("put", [(int(name), row["value"]) for name, row in rows])], scale=float))
        self.figure(charts.lines("Random gets", "objects", "us", [
            (key[:3], [(int(name), row[key]) for name, row in rows if row.get(key)])
            for key in ("p50_us", "p99_us")], scale=float))
        counted = list(dict.fromkeys(key for _, row in rows for key in row["counted"]))
        self.table(["", "CPU per put, us", "get p50 / p99, us", *counted], [
            (row["what"], charts.number(row["value"]),
             " / ".join(charts.number(row[key]) for key in ("p50_us", "p99_us") if row.get(key)),
             *(charts.number(row["counted"][key]) if key in row["counted"] else "" for key in counted))
            for _, row in rows])

    def micro(self):
        rows = self.under("micro/")
        if not rows:
            return
        self.add("<h2>Parts on their own</h2>",
                 "<p>One thread unless the name says otherwise, data in memory. bytes per second "
                 "count user bytes.</p>")
        coding = self.series(rows, "ec_bench/encode/4+2/", "cell:")
        copies = self.series(rows, "ec_bench/memcpy/4_cells", "cell:")
        if coding:
            self.figure(charts.lines("Coding 4+2", "bytes of a cell", "GiB/s of user data",
                                     coding + [("memcpy" + name, points) for name, points in copies]),
                        "The ceiling copies the same bytes once.")
        making = [line for part in ("prepare/own_stripe", "copy_crc_code", "ceiling_memcpy",
                                    "ceiling_crc", "ceiling_code")
                  for line in self.series(rows, "prepare_bench/" + part, "bytes:", name=part)]
        if making:
            self.figure(charts.lines("Making a payload ready: copied, checksummed, coded", "bytes",
                                     "GiB/s of user data", making),
                        "What a put costs the processor before anything is written, and what it "
                        "cannot cost less than.")
        sums = (self.series(rows, "checksum_bench/checksum_of/", "")
                + [("memcpy", points) for _, points in
                   self.series(rows, "checksum_bench/ceiling_memcpy", "")])
        if sums:
            self.figure(charts.lines("Checksums", "bytes", "GiB/s", sums))
        fills = self.series(rows, "alloc_bench/churn", "percent_full:", unit="ns")
        if fills:
            self.figure(charts.lines("Allocating and freeing", "percent full", "ns per operation",
                                     fills, scale=float))
        self.add("<details><summary>All figures of parts</summary>")
        self.table(["", "median (least..most)", "unit", "noise"], [
            (name, spread(row), row["unit"],
             "" if noise(row) is None else f"{noise(row):.0f} %") for name, row in rows])
        self.add("</details>")

    @staticmethod
    def series(rows, prefix, argument, unit="GiB/s", name=""):
        """Lines of names PREFIX LABEL / ARGUMENT NUMBER ..., by LABEL and what stands behind, or by
        `name`."""
        found = {}
        for label, row in rows:
            if not label.startswith(prefix) or row["unit"] != unit:
                continue
            words = label[len(prefix):].split("/")
            numbers = [word for word in words if word.startswith(argument)
                       and word[len(argument):].isdigit()]
            if not numbers:
                continue
            rest = "/".join(word for word in words if word not in ("", numbers[0]))
            found.setdefault(name or rest, []).append((int(numbers[0][len(argument):]), row["value"]))
        return [(label, sorted(points)) for label, points in found.items()]

    def render(self):
        said = self.settings
        self.add("<h1>hexad: what it does on this machine</h1>")
        if said["quick"]:
            self.add("<p><b>A quick run:</b> short runs, so noisy figures; ./run bench takes longer "
                     "and says more.</p>")
        shown = {key: value for key, value in said.items() if key not in ("peers", "quick")}
        self.table(["", ""], list(shown.items()))
        self.add("<p>Figures are medians of runs, least and most in brackets; noise is half of that "
                 "spread in percent of the median. Peers take turns, jobs too, and the parts run in "
                 "rounds over all of them. All time is that of this host's clock; nothing is modelled. Two such reports are compared by hexad bench compare, on the "
                 "bench.json beside this page.</p>")
        self.peers()
        self.load()
        self.commit_path()
        self.space()
        self.tiers()
        self.scale()
        self.micro()
        if self.not_measured:
            self.add("<h2>Not measured</h2>")
            self.table(["", "why"], [(row["id"], row["why"]) for row in self.not_measured])
        self.add("<h2>Sources</h2><ul>",
                 *(f"<li>{html.escape(source)}</li>" for source in SOURCES), "</ul>")
        body = "\n".join(self.parts)
        return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
                f"<title>hexad: benchmarks</title><style>{STYLE}</style></head>"
                f"<body>\n{body}\n</body></html>\n")


def render(bench):
    return Page(bench).render()
