#!/usr/bin/env python3
"""The page of the report, of figures that are made up.

    suite_page_test.py FOLDER    the one with page.py
"""

import argparse
import json
import os
import re
import sys
import unittest
import unittest.mock
import xml.etree.ElementTree
from html.parser import HTMLParser


def row(name, values, unit="k/s", what="a row: of somebody", **more):
    return {"id": name, "what": what, "unit": unit, "better": "more",
            "value": sorted(values)[len(values) // 2], "values": values, **more}


def bench(*rows):
    return {"settings": {"machine": "a machine", "commit": "0123abc", "seed": 1, "time": "host",
                         "quick": True, "peers": {"hexad, 4+2": "defaults"}},
            "rows": list(rows), "not_measured": []}


LATENCIES = {"p50_us": 100.0, "p95_us": 250.0, "p99_us": 1200.0}
EVERYTHING = bench(
    row("peers/put_4k_1/hexad", [8.0, 9.0, 10.0], cpu_us=61.0, counted={"bytes written/op": 29000.0},
        what="durable 4 KiB put, one at a time: hexad, 4+2", **LATENCIES),
    row("peers/put_4k_1/lmdb", [3.0, 3.1, 3.2], what="durable 4 KiB put: LMDB", **LATENCIES),
    row("peers/put_4k_1/fio", [16.0], what="durable 4 KiB put: fio <of & one> file", **LATENCIES),
    row("load/randread_4k_q1", [7.0, 7.5, 9.0], p999_us=4000.0, **LATENCIES),
    row("load/write_4m_q16", [0.2, 0.21, 0.22], **LATENCIES),
    row("commit_path/put_4k_1", [120.0], unit="us, p50", ratio=1.9, bar="<= 1.50 x",
        judgement="missed"),
    row("space/4k/uniform/50/hexad", [2.5], unit="bytes written per byte",
        counted={"puts/s": 9000.0, "user": 1.1}),
    row("space/4k/uniform/90/hexad", [9.5], unit="bytes written per byte",
        counted={"puts/s": 2000.0, "user": 1.1}),
    row("space/4k/uniform/90/files", [3.0], unit="bytes written per byte",
        counted={"puts/s": 3000.0, "space": 1.0}),
    row("tiers/get/uniform/1/hexad", [12.0], unit="us", bar="<= 14.4", judgement="met",
        counted={"bound, us": 12.5, "hits": 0.95}),
    row("tiers/get/uniform/4/hexad", [60.0], unit="us", bar="<= 75", judgement="met",
        counted={"bound, us": 61.0, "hits": 0.25}),
    row("tiers/get/uniform/4/rocksdb", [70.0], unit="us"),
    row("tiers/hits/uniform/1/hexad", [0.95], unit="of look-ups"),
    row("tiers/puts/4", [0.8, 0.81], unit="of those with all resident",
        counted={"puts/s": 40000.0}),
    row("scale/1000", [20.0], unit="us of the processor for a put", p50_us=9.0, p99_us=40.0,
        counted={"log bytes/put": 700.0, "memory, MiB": 60.0}),
    row("scale/2000", [21.0], unit="us of the processor for a put", p50_us=9.5, p99_us=41.0,
        counted={"log bytes/put": 701.0, "memory, MiB": 61.0, "opening, s": 0.7}),
    row("micro/ec_bench/encode/4+2/isa:cauchy/cell:4096", [20.0, 21.0, 22.0], unit="GiB/s"),
    row("micro/ec_bench/encode/4+2/isa:cauchy/cell:65536", [24.0], unit="GiB/s"),
    row("micro/ec_bench/memcpy/4_cells/cell:4096", [60.0], unit="GiB/s"),
    row("micro/ec_bench/memcpy/4_cells/cell:65536", [50.0], unit="GiB/s"),
    row("micro/prepare_bench/prepare/own_stripe/bytes:4096", [2.0], unit="GiB/s"),
    row("micro/prepare_bench/prepare/own_stripe/bytes:65536", [5.0], unit="GiB/s"),
    row("micro/prepare_bench/ceiling_memcpy/bytes:65536", [40.0], unit="GiB/s"),
    row("micro/checksum_bench/checksum_of/crc32c/4096", [43.0], unit="GiB/s"),
    row("micro/alloc_bench/churn/percent_full:50/zone_units:16384", [340.0], unit="ns"),
    row("micro/alloc_bench/churn/percent_full:99/zone_units:16384", [480.0], unit="ns"),
)


class Tags(HTMLParser):
    VOID = {"meta", "br"}

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.seen = []
        self.attributes = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class PageTest(unittest.TestCase):
    def test_the_page_is_whole_and_asks_for_nothing_from_elsewhere(self):
        text = page.render(EVERYTHING)
        tags = Tags(text)
        self.assertEqual(tags.open, [])
        self.assertFalse({"script", "link", "img", "iframe", "image", "use"} & set(tags.seen))
        self.assertFalse({"src", "href", "xlink:href", "srcset"} & {key for key, _ in tags.attributes})
        for mark in ("http:", "https:", "//", "@import", "url(h"):
            self.assertNotIn(mark, text)
        self.assertEqual(set(re.findall(r"url\(([^)]*)\)", text)), {"#hatch", "#dots"})

    def test_every_chart_is_well_formed_and_black_and_white(self):
        charts_of_page = re.findall(r"<svg.*?</svg>", page.render(EVERYTHING), re.S)
        self.assertGreaterEqual(len(charts_of_page), 7)
        for chart in charts_of_page:
            xml.etree.ElementTree.fromstring(chart)
            colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', chart))
            self.assertLessEqual(colours, {"black", "white", "none", "url(#hatch)", "url(#dots)"})

    def test_lines_bear_the_names_of_what_they_show(self):
        text = page.render(EVERYTHING)
        for name in ("prepare/own_stripe", "ceiling_memcpy", "isa:cauchy", "memcpy", "zone_units:16384",
                     "bound", "rocksdb"):
            self.assertRegex(text, f">{name}</text>")

    def test_every_figure_names_machine_commit_seed_and_kind_of_time(self):
        text = page.render(EVERYTHING)
        figures = re.findall(r"<figure>.*?</figure>", text, re.S)
        self.assertEqual(len(figures), text.count("<svg"))
        for figure in figures:
            self.assertIn("a machine; commit 0123abc; seed 1; host time; a quick run", figure)

    def test_tables_show_medians_spread_and_noise(self):
        text = page.render(EVERYTHING)
        self.assertIn("9.00 (8.00..10.0)", text)
        self.assertIn("<td class=\"number\">11 %</td>", text)  # half of 2 in 9
        self.assertIn("bytes written/op 29000", text)
        self.assertIn("100 / 250 / 1200 / 4000", text)
        self.assertIn("missed", text)
        self.assertIn("&lt;= 1.50 x", text)

    def test_without_go_its_coding_is_left_out_and_says_why(self):
        some = suite.Suite(argparse.Namespace(moment=False, quick=True))
        with unittest.mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            some.coding_in_go()
        self.assertEqual(some.rows, [])
        self.assertEqual(some.not_measured, [{"id": "micro/ec_bench/encode/4+2/klauspost:reedsolomon",
                                              "why": "go is not on this machine"}])
        self.assertEqual(suite.failure(["false"]), "false: no word")
        self.assertEqual(suite.failure(["true"]), "")

    def test_what_was_not_measured_leaves_its_section_out(self):
        text = page.render(bench(row("load/stat_16", [700.0], **LATENCIES)))
        self.assertIn("A pool under load", text)
        for absent in ("Making a payload", "Beside what one would use", "Parts on their own", "The commit path"):
            self.assertNotIn(absent, text)
        self.assertIn("<h1>", page.render(bench()))

    def test_axes_begin_at_nothing_and_end_behind_the_most(self):
        self.assertEqual(charts.nice_steps(9), [0, 2, 4, 6, 8, 10])
        self.assertEqual(charts.nice_steps(0.03)[0], 0)
        self.assertGreaterEqual(charts.nice_steps(0.03)[-1], 0.03)
        self.assertEqual(charts.nice_steps(0), [0, 1])
        self.assertEqual(charts.decades(30, 30), [10, 100])
        self.assertEqual(charts.decades(0.9, 101), [0.1, 1, 10, 100, 1000])

    def test_bars_that_are_far_apart_stand_on_a_logarithmic_axis(self):
        def widths(*values):
            chart = charts.bars("title", "k/s", [(str(v), v, v, v, "ours") for v in values])
            return ("logarithmic" in chart,
                    [float(w) for w in re.findall(r'width="([0-9.]+)" height="16"', chart)])
        logarithmic, (short, long) = widths(1.0, 40.0)
        self.assertFalse(logarithmic)
        self.assertAlmostEqual(long / short, 40, delta=1)
        logarithmic, (short, middle, long) = widths(2.0, 20.0, 200.0)
        self.assertTrue(logarithmic)
        self.assertAlmostEqual(middle - short, long - middle, delta=0.2)
        self.assertGreater(short, 1)
        self.assertFalse(widths(0.0, 200.0)[0])  # which has no logarithm

    def test_parts_run_in_rounds(self):
        some = suite.Suite(argparse.Namespace(moment=False, quick=True, programs="/p"))
        called = []
        def run(words, **_):
            called.append(os.path.basename(words[0]))
            value = len(called)
            return json.dumps({"benchmarks": [{"run_name": "a", "cpu_time": value, "time_unit": "ns"}]})
        with unittest.mock.patch.object(suite, "run", run), \
                unittest.mock.patch.object(some, "coding_in_go"), \
                unittest.mock.patch.object(suite, "MICRO", {"x": ".", "y": "."}):
            some.micro()
        self.assertEqual(called, ["x", "y"] * 5)
        self.assertEqual([(one["id"], one["values"]) for one in some.rows],
                         [("micro/x/a", [1, 3, 5, 7, 9]), ("micro/y/a", [2, 4, 6, 8, 10])])

    def test_rows_of_parts_take_repetitions_together(self):
        runs = [{"run_name": "a/1", "run_type": "iteration", "bytes_per_second": 2**30 * n}
                for n in (3, 1, 2)]
        runs += [{"run_name": "a/1", "run_type": "aggregate", "bytes_per_second": 7}]
        runs += [{"run_name": "b/real_time", "real_time": 2.0, "cpu_time": 1.0, "time_unit": "us"}]
        runs += [{"run_name": "c", "real_time": 2.0, "cpu_time": 1.0, "time_unit": "ns"}]
        runs += [{"run_name": "d", "error_occurred": True, "error_message": "no such codec"}]
        *rows, failed = suite.micro_rows("p", runs)
        self.assertEqual([(one["id"], one["unit"], one["value"]) for one in rows],
                         [("micro/p/a/1", "GiB/s", 2.0), ("micro/p/b/real_time", "ns", 2000.0),
                          ("micro/p/c", "ns", 1.0)])
        self.assertEqual(failed, {"id": "micro/p/d", "values": [], "error": "no such codec"})

    def test_what_counted_nothing_is_no_figure_and_says_why(self):
        some = suite.Suite(argparse.Namespace(moment=True, quick=False))
        some.keep([row("load/a", [1.0, 2.0]), row("load/b", [0.0, 2.0]), row("load/c", [None]),
                   {"id": "micro/d", "values": [], "error": "no such codec"}], "too slow")
        self.assertEqual([one["id"] for one in some.rows], ["load/a"])
        self.assertEqual(some.not_measured,
                         [{"id": "load/b", "why": "too slow, in 1 of 2 runs"},
                          {"id": "load/c", "why": "too slow, in 1 of 1 runs"},
                          {"id": "micro/d", "why": "no such codec"}])
        text = page.render({**bench(), "not_measured": some.not_measured})
        self.assertIn("Not measured", text)
        self.assertIn("no such codec", text)
        self.assertNotIn("Not measured", page.render(EVERYTHING))

    def test_runs_of_a_job_become_a_row(self):
        line = {"job": "j", "rw": "put", "threads": 2, "iodepth": 4, "ops_per_s": 5000.0,
                "operations": 100, "cpu_us_per_op": 9.0,
                "latency_us": {"p50": 1.0, "p95": 2.0, "p99": 3.0, "p999": 4.0},
                "devices": [{"id": 0, "role": "data", "written": 1000, "read": 0, "writes": 50,
                             "reads": 0, "flushes": 10, "written_for": {"user": 800, "parity": 200},
                             "writes_for": {"user": 8, "parity": 2}},
                            {"id": 1, "role": "log", "written": 500, "read": 0, "writes": 10,
                             "reads": 0, "flushes": 10, "written_for": {"log": 500},
                             "writes_for": {"log": 5}}],
                "counters": {"index_bytes": 300}}
        made = suite.load_row("j", [line, {**line, "ops_per_s": 7000.0}, line])
        self.assertEqual(made["values"], [5.0, 7.0, 5.0])
        self.assertEqual(made["value"], 5.0)
        self.assertEqual(made["p999_us"], 4.0)
        self.assertEqual(made["counted"], {
            "bytes written/op": 15.0, "bytes read/op": 0.0, "writes/op": 0.6, "reads/op": 0.0,
            "flushes/op": 0.2, "user bytes/op": 8.0, "parity bytes/op": 2.0, "log bytes/op": 5.0,
            "user writes/op": 0.08, "parity writes/op": 0.02, "log writes/op": 0.05,
            "index bytes/op": 3.0})
        self.assertEqual([(device["id"], device["role"], device["writes/op"], device["flushes/op"])
                          for device in made["devices"]], [(0, "data", 0.5, 0.1), (1, "log", 0.1, 0.1)])
        self.assertEqual(made["devices"][1]["log bytes/op"], 5.0)
        text = page.render(bench(made))
        self.assertIn("Each device", text)
        self.assertIn("1 log", text)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv.pop(1))
    import charts
    import page
    import suite
    unittest.main(verbosity=2)
