# SPDX-License-Identifier: Apache-2.0
"""opscope report as people use it: windows, groups, several hosts, machines, and every form of output."""

import csv
import glob
import io
import json
import os
import re
import unittest
import xml.etree.ElementTree

import harness
import ops_csv
import pages
import views
from ops_csv import CONV, FALLBACK, LAST, MATMUL, device_op, tensor_cells


class Report(harness.TestCase):
    def write(self, name, rows, columns=None):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(ops_csv.text_of(rows, columns))
        return name

    def setUp(self):
        super().setUp()
        self.write("t.csv", ops_csv.good_rows())

    def report(self, *arguments):
        done = self.opscope("report", *arguments)
        self.assertEqual(done.status, 0, done)
        return done

    def json(self, *arguments):
        return self.opscope_json("report", *arguments)

    # --- figures ---

    def test_figures_of_every_op(self):
        report = self.json("t.csv")
        rows = report["rows"]
        self.assertEqual([row["id"] for row in rows], [1, 2, 3, 4, 5, 6])
        matmul = rows[MATMUL]
        # 2 * 32 * 4096 * 4096 FLOPs in 100 us on 64 cores of 148/72 TFLOP/s
        self.assertAlmostEqual(matmul["tflops"], 10.73741824)
        self.assertAlmostEqual(matmul["flops_percent"], 10.73741824 / (64 * 148 / 72) * 100)
        # 32 * 4096 * 2 read, 4096 * 4096 read, 32 * 4096 * 2 written
        self.assertAlmostEqual(matmul["dram_gb_s"], (2 * 262144 + 16777216) / 100e-6 / 1e9)
        self.assertEqual(rows[CONV]["op"], "Conv2dDeviceOperation 3136 x 576 x 64 [ABH=x|x ADB SR]")
        self.assertEqual(rows[FALLBACK]["bound"], "HOST")
        for i, row in enumerate(rows):
            if i != FALLBACK:
                self.assertIn(row["bound"], ("DRAM", "FLOP", "BOTH", "SLOW", "LINK", "GAP"), row)
        self.assertAlmostEqual(sum(row["total_percent"] for row in rows if row["total_percent"]), 100)
        self.assertEqual(report["machine"], "wormhole")

    def test_names_of_types(self):
        rows = ops_csv.good_rows()[-1:]
        rows[0].update(ops_csv.tensor_cells("INPUT_0", (1, 1, 32, 32), "FLOAT64"))
        rows[0].update(ops_csv.tensor_cells("OUTPUT_0", (1, 1, 32, 32), "FLOAT16"))
        self.write("types.csv", rows)
        (row,) = self.json("types.csv")["rows"]
        self.assertEqual((row["math"][:4], row["math"][-8:]), ("FP64", " => FP16"))

    def test_advice_is_ranked_and_adds_up(self):
        report = self.json("t.csv")
        gains = [line["gain_us"] for line in report["advice"]]
        self.assertTrue(gains)
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertAlmostEqual(sum(gains), report["advice_gain_us"])
        for line in report["advice"]:
            self.assertTrue(line["because"] and line["do"] and line["condition"], line)
            self.assertLessEqual(line["gain_us"], report["device_time_us"] + report["gap_us"])
        loose = self.json("t.csv", "--target", "20")
        self.assertLess(loose["advice_gain_us"], report["advice_gain_us"])

    def test_sub_devices_overlap(self):
        columns = ops_csv.COLUMNS + ["SUB DEVICE ID", "DEVICE FW START CYCLE", "DEVICE FW END CYCLE"]
        rows = []
        for i, end in enumerate((100000, 150000)):  # cycles of 1 ns; both ran 100 us, 50 us of them together
            extra = {
                "SUB DEVICE ID": str(i),
                "AVAILABLE WORKER CORE COUNT": "32",
                "DEVICE FW START CYCLE": str(1000000 + end - 100300),
                "DEVICE FW END CYCLE": str(1000000 + end),
            }
            rows.append(device_op("CopyDeviceOperation", i + 1, 100000, **extra))
        self.write("s.csv", rows, columns)
        report = self.json("s.csv")
        self.assertAlmostEqual(report["overlap_us"], 50)
        self.assertAlmostEqual(report["busy_us"], 150)
        self.assertEqual([row["sub_device"] for row in report["rows"]], ["0", "1"])
        self.assertIn("busy 150.000 us", self.report("s.csv").stdout)

    # --- which ops ---

    def test_windows(self):
        def signpost(name, start):
            return {"OP CODE": name, "OP TYPE": "signpost", "HOST START TS": str(start)}

        rows = ops_csv.good_rows()
        rows.insert(4, signpost("second", 1004500))
        rows.insert(1, signpost("first", 1001500))
        self.write("w.csv", rows)
        names = lambda *arguments: [row["op_code"] for row in self.json("w.csv", *arguments)["rows"]]
        # What follows "second" is less than 5 % of the device time: a tail, and not what the run is about.
        self.assertEqual(names(), ["MatmulDeviceOperation", "Conv2dDeviceOperation", "LayerNormDeviceOperation"])
        done = self.opscope("report", "w.csv")
        self.assertIn("from the signpost 'first' to 'second', the last part with 5 % of the device time", done.stderr)
        self.assertIn("after the signpost 'first' and before the signpost 'second'", self.opscope("w.csv").stdout)
        long = [{**row, **({"DEVICE FW DURATION [ns]": "900000", "DEVICE KERNEL DURATION [ns]": "900000"}
                           if row["OP CODE"].startswith("Binary") else {})} for row in rows]
        self.write("long.csv", long)
        found = [row["op_code"] for row in self.json("long.csv")["rows"]]
        self.assertEqual(found, ["(torch) aten.add", "BinaryNgDeviceOperation"])
        self.assertEqual(len(names("--ignore-signposts")), 8)
        for flag in ("--start-signpost", "--signpost"):
            self.assertEqual(names(flag, "first")[0], "MatmulDeviceOperation")
        self.assertEqual(len(names("--start-signpost", "first", "--end-signpost", "second")), 3)
        self.assertEqual(names("--start-signpost", "first", "--print-signposts").count("second"), 1)
        self.assertNotIn("(torch) aten.add", names("--no-host-ops"))
        self.assertEqual(len(names("--ignore-signposts", "--id-range", "2-4")), 3)
        lines = self.json("w.csv", "--ids", "line", "--ignore-signposts")["rows"]
        self.assertEqual([row["id"] for row in lines], list(range(2, 10)))
        groups = self.json("w.csv", "--group-by", "signpost", "--ignore-signposts")["groups"]
        self.assertEqual({group["group"] for group in groups}, {"(before the first signpost)", "first", "second"})

    def test_one_slow_run_of_an_op_is_said_to_be_one(self):
        """A run of 130 us of an op of 1 us is no slow op."""
        rows = [ops_csv.device_op("BinaryNgDeviceOperation", i + 1, 130000 if i == 7 else 1000,
                                  **ops_csv.tensor_cells("INPUT_0", (1, 1, 1024, 1024)), **ops_csv.tensor_cells("OUTPUT_0", (1, 1, 1024, 1024)))
                for i in range(12)]
        self.write("slow.csv", rows)
        evidence = [line["because"] for line in self.json("slow.csv")["advice"]]
        self.assertTrue(any("it varies 130-fold (the fastest takes 1.000 us)" in text for text in evidence), evidence)
        even = [{**row, "DEVICE FW DURATION [ns]": "130300", "DEVICE KERNEL DURATION [ns]": "130000"} for row in rows]
        self.write("even.csv", even)
        self.assertNotIn("varies", str(self.json("even.csv")["advice"]))

    def test_several_hosts_and_devices(self):
        report = self.json("t.csv", "t.csv", "--no-merge-devices")
        self.assertEqual({row["device"] for row in report["rows"]}, {0, 1, None})
        merged = self.json("t.csv", "t.csv")
        self.assertEqual(merged["device_ops"], 5)
        rows = ops_csv.good_rows()
        rows[LAST]["DEVICE ID"] = "3"
        self.write("other.csv", rows)
        done = self.opscope("report", "t.csv", "other.csv")
        self.assertEqual(done.status, 2, done)
        self.assertIn("other.csv has 4 devices (largest DEVICE ID 3), but t.csv has 1", done.stderr)

    def test_page_of_several_hosts(self):
        """One trace of all of them, with the ops that the report has."""
        rows = ops_csv.good_rows()
        for at, row in enumerate(rows):
            if row.get("DEVICE ID"):
                row.update({"DEVICE FW START CYCLE": str(at * 100000), "DEVICE FW END CYCLE": str(at * 100000 + 3000)})
        columns = [*ops_csv.COLUMNS, "DEVICE FW START CYCLE", "DEVICE FW END CYCLE"]
        self.write("t.csv", rows, columns)
        self.write("half.csv", rows, [column for column in reversed(columns) if column != "ATTRIBUTES"])
        for options in ((), ("--no-merge-devices",)):
            report = self.json("t.csv", "half.csv", *options)
            page = self.page_of("t.csv", "half.csv", *options)
            self.assertEqual(page.json("traces")["traces"][0]["name"], "t.csv and 1 more")
            self.assertEqual(sorted(track["number"] for track in page.json("trace")["tracks"] if track["kind"] == "device"), [0, 1])
            self.assertEqual(page.fetched, [])
            groups = page.chosen("ops?group=op&limit=5000")["groups"]
            self.assertEqual(sum(group["count"] for group in groups if group["kind"] != "host"), report["device_ops"])
            self.assertAlmostEqual(sum(group["device_ns"] for group in groups), report["device_time_us"] * 1e3, delta=5)

    def test_page_of_standard_input(self):
        if not pages.are_built():
            self.skipTest(pages.NOT_BUILT)
        with open(self.path("t.csv"), "rb") as file:
            table = file.read()
        plain = harness.run([harness.OPSCOPE, "report", "-"], stdin=table)
        done = harness.run([harness.OPSCOPE, "report", "-", "--html", self.path("page.html")], stdin=table)
        self.assertEqual((done.status, done.stdout), (0, plain.stdout), done)
        page = pages.read(self.path("page.html"))
        self.assertEqual(page.json("traces")["traces"][0]["name"], "standard input")
        self.assertEqual(page.json("overview?warmup=leave-out")["kind"], "ops")

    def test_small_ops_are_folded(self):
        rows = [device_op("CopyDeviceOperation", i + 1, 1000, **{"OP TO OP LATENCY [ns]": "0"}) for i in range(300)]
        rows[7] = device_op("BigDeviceOperation", 8, 900000)
        self.write("f.csv", rows)
        text = self.report("f.csv").stdout
        self.assertIn("and 299 ops below the least share: 299.000 us, 24.9 % of the run", text)
        self.assertIn("and 298 ops more", self.report("f.csv", "--top", "2").stdout)
        self.assertEqual(self.report("f.csv", "--min-percentage", "0", "--no-summary", "--no-advice").stdout.count("Copy"), 299)

    def test_a_signpost_that_is_not_there(self):
        rows = ops_csv.good_rows()
        rows.insert(2, {"OP CODE": "warm up", "OP TYPE": "signpost", "HOST START TS": "1002500"})
        rows.insert(5, {"OP CODE": "measure", "OP TYPE": "signpost", "HOST START TS": "1004500"})
        self.write("w.csv", rows)
        for arguments in (("--start-signpost", "typo"), ("--end-signpost", "typo"), ("--signpost", "typo")):
            done = self.opscope("report", "w.csv", *arguments)
            self.assertEqual(done.status, 2, done)
            self.assertIn("there is no signpost 'typo'; there are: 'warm up', 'measure'", done.stderr)
            self.assertEqual(done.stdout, "")
        done = self.opscope("report", "w.csv", "--start-signpost", "measure", "--end-signpost", "measure")
        self.assertEqual(done.status, 2, done)
        self.assertIn("there is no second signpost 'measure'", done.stderr)
        done = self.opscope("report", "t.csv", "--start-signpost", "typo")
        self.assertEqual(done.status, 2, done)
        self.assertIn("there is no signpost 'typo': the run has none", done.stderr)

    def test_a_trace_without_ops_is_one_line(self):
        trace = self.record([harness.program("diff_zones")])
        done = self.report(trace)
        self.assertEqual(done.stderr.splitlines(), [f"opscope report: warning: {trace}: there is no op in it"], done)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.json(trace)["rows"], [])

    # --- advice ---

    def test_advice_shows_the_costly_op(self):
        """Of equal ops the one that would save most stands for all: its id and its figures."""

        def copy(number, duration):
            cells = {**tensor_cells("INPUT_0", (1, 1, 1024, 1024)), **tensor_cells("OUTPUT_0", (1, 1, 1024, 1024))}
            return device_op("CopyDeviceOperation", number, duration, **cells)

        self.write("a.csv", [copy(1, 30000), copy(2, 900000), copy(3, 31000)])
        report = self.json("a.csv")
        line = next(line for line in report["advice"] if line["ops"] == 3)
        costly = report["rows"][1]
        self.assertEqual(line["id"], 2)
        self.assertIn(f"DRAM {costly['dram_percent']:.1f} %", line["because"])
        self.assertIn("id 2 takes 900.000 us", line["because"])
        text = self.report("a.csv").stdout
        self.assertIn("3 x CopyDeviceOperation, the costliest id 2", text)
        self.assertIn(f"DRAM {costly['dram_percent']:.1f} % of 288 GB/s", text)
        page = self.page_of("a.csv")
        line = next(line for line in page.chosen("overview")["advice"] if "CopyDeviceOperation" in line["text"] + line["because"])
        self.assertIn("the longest takes 900.000 us", line["because"])
        self.assertIn(f"DRAM {costly['dram_percent']:.1f} %", line["because"])

    def test_gaps_that_are_nearly_everything(self):
        """A first iteration: the ops are ranked among themselves, times have units that fit."""
        rows = ops_csv.good_rows()
        for row in rows:
            if row["OP TYPE"] == "tt_dnn_device":
                row["OP TO OP LATENCY [ns]"] = "20000000000"
        self.write("g.csv", rows)
        report = self.json("g.csv")
        self.assertTrue(report["looks_like_compilation"])
        self.assertEqual(report["share_of"], "device time")
        self.assertNotIn("GAP", [row["bound"] for row in report["rows"]])
        device_time = report["device_time_us"]
        for row in report["rows"]:
            if row["time_us"]:
                self.assertAlmostEqual(row["total_percent"], row["time_us"] / device_time * 100)
        text = self.report("g.csv").stdout
        self.assertIn("looks like compilation or a first iteration", text)
        self.assertNotRegex(text.split("Time by")[0], r"[0-9]{7,}(\.[0-9])? us\b(?! )")
        self.assertRegex(text, r"1\. saves [0-9.]+ s \(")
        self.assertNotIn("(0.0 %", text)
        self.assertRegex(text, r"2\. saves [0-9.]+ us \([0-9.]+ % of the device time\)")
        # Gaps of a few ms in between are the host's, and not compilation.
        for row in rows:
            if row["OP TYPE"] == "tt_dnn_device":
                row["OP TO OP LATENCY [ns]"] = "900000"
        self.write("h.csv", rows)
        self.assertFalse(self.json("h.csv")["looks_like_compilation"])

    # --- forms ---

    def test_fits_the_terminal(self):
        for columns in (60, 80, 120):
            done = self.opscope("report", "t.csv", "--no-advice", env={"COLUMNS": str(columns)})
            table = done.stdout.split("\n\n")[0].splitlines()[1:]
            self.assertIn("bound", table[0])
            self.assertTrue(all(len(line) <= columns for line in table if not line.startswith(("5 device", "DRAM", "("))), done)
        wide = self.opscope("report", "t.csv", "--wide", env={"COLUMNS": "60"})
        self.assertIn("model", wide.stdout)

    def test_colours(self):
        self.assertIn("\x1b[", self.report("t.csv", "--color").stdout)
        self.assertNotIn("\x1b[", self.report("t.csv", "--color", "--no-color").stdout)

    def test_csv_and_drawing(self):
        self.report("t.csv", "--csv", "out.csv")
        with open(self.path("out.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 6)
        # The columns are those of --json, with the same values.
        self.assertEqual(list(rows[0]), list(self.json("t.csv")["rows"][0]))
        for row, exact in zip(rows, self.json("t.csv")["rows"]):
            for key, value in exact.items():
                text = "" if value is None else value if isinstance(value, str) else repr(value)
                self.assertTrue(row[key] == text or float(row[key]) == value, (key, row[key], value))
        self.assertEqual(rows[MATMUL]["bound_analysis"], "full")
        self.assertEqual(rows[MATMUL]["category"], "Compute")
        self.assertAlmostEqual(float(rows[MATMUL]["tflops"]), 10.73741824)
        self.assertTrue(os.path.exists(self.path("out_stacked.csv")))
        drawing = xml.etree.ElementTree.parse(self.path("out_stacked.svg")).getroot()
        self.assertTrue(drawing.tag.endswith("svg"))
        self.report("t.csv", "--summary-file", "sum", "--group-by", "category")
        with open(self.path("sum.csv"), encoding="utf-8") as file:
            header = file.readline().strip().split(",")
        self.assertEqual(header, list(self.json("t.csv")["groups"][0]))
        xml.etree.ElementTree.parse(self.path("sum.svg"))

    def test_page_has_the_ops_of_the_report(self):
        report, page = self.json("t.csv"), self.page_of("t.csv")
        self.assertEqual(page.fetched, [])
        groups = page.chosen("ops?group=op%2Bshape&limit=5000")["groups"]
        self.assertIn("MatmulDeviceOperation 32 x 4096 x 4096", [group["name"] for group in groups])
        self.assertAlmostEqual(sum(group["device_ns"] for group in groups) / 1000, report["device_time_us"], delta=1)
        self.assertTrue(page.chosen("overview")["advice"])
        self.assertEqual(self.page_of(self.path("t.csv")).json("trace")["command"], "t.csv")
        self.assertEqual(page.chosen("roofline")["machine"]["name"], self.opscope_json("machine", "show", report["machine"])["title"])
        self.assertTrue(page.chosen("roofline")["roofs"])

    def test_page_says_which_ops_it_shows(self):
        rows = ops_csv.good_rows()
        rows.insert(4, {"OP CODE": "second", "OP TYPE": "signpost", "HOST START TS": "1004500"})
        self.write("w.csv", rows)
        page = self.page_of("w.csv")
        said = page.chosen("overview")
        self.assertEqual(said["window"]["source"], "after the last signpost 'second'")
        self.assertEqual(self.ops_of(page), 2)
        self.assertEqual(page.json("traces")["traces"][0]["name"], "w.csv")

    def test_page_takes_the_options_of_the_report(self):
        rows = ops_csv.good_rows()
        rows.insert(4, {"OP CODE": "second", "OP TYPE": "signpost", "HOST START TS": "1004500"})
        self.write("w.csv", rows)
        all_ops = self.ops_of(self.page_of("w.csv", "--ignore-signposts"))
        for options in (["--ignore-signposts"], ["--end-signpost", "second"], ["--id-range", "2-3", "--ignore-signposts"]):
            with self.subTest(options=options):
                report, page = self.json("w.csv", *options), self.page_of("w.csv", *options)
                wanted = sum("second" not in row["op"] for row in report["rows"])
                self.assertEqual(self.ops_of(page), wanted)
                window = page.chosen("overview")["window"]
                self.assertEqual(window["source"] == "whole trace", wanted == all_ops, window)
        page = self.page_of("w.csv", "--machine", "n1")
        self.assertEqual(page.chosen("roofline")["machine"]["name"], "Tenstorrent N1")

    def ops_of(self, page):
        return sum(group["count"] for group in page.chosen("ops?group=op&limit=5000")["groups"])

    # --- machines ---

    def test_machines(self):
        names = {row["name"] for row in self.opscope_json("machine", "list")["rows"]}
        self.assertEqual(names, {"wormhole", "blackhole", "blackhole_p100", "bh20", "n1", "a100", "h100", "h200", "h200_measured", "b200", "l4",
                                 "rtx4090", "sl2610", "cpu"})
        for name in names:
            shown = self.opscope_json("machine", "show", name)
            self.assertTrue(all(row["source"] for row in shown["rows"] + shown.get("estimate", [])), shown)
        p150, p100 = (self.json("t.csv", "--arch", arch)["rows"][MATMUL]["dram_percent"] for arch in ("P150", "p100"))
        self.assertAlmostEqual(p100 / p150, 512 / 448)

    def test_a_machine_of_ones_own(self):
        figures = {
            "worker_cores": 64,
            "dram_gb_s": {"value": 1000, "unit": "GB/s", "source": "measured"},
            "tflops_per_core_lofi": 4,
            "tflops_per_core_hifi2": 2,
            "tflops_per_core_hifi3": 1.5,
            "tflops_per_core_hifi4": 1,
            "vector_tflops_per_core": 0.1,
        }
        machine = {"name": "mine", "title": "my card", "figures": figures}
        os.mkdir(self.path("machines"))
        with open(self.path("machines", "mine.json"), "w", encoding="utf-8") as file:
            json.dump(machine, file)
        by_file = self.json("t.csv", "--machine", "machines/mine.json")
        self.assertEqual(by_file["machine"], "mine")
        done = self.opscope("report", "t.csv", "--machine", "mine", "--json", env={"OPSCOPE_MACHINES": self.path("machines")})
        self.assertEqual(done.json()["rows"], by_file["rows"])
        self.assertAlmostEqual(by_file["rows"][MATMUL]["dram_percent"], by_file["rows"][MATMUL]["dram_gb_s"] / 10)
        for damage, says in (
            ({"figures": {**figures, "dram_gb_s": 0}}, "'dram_gb_s' is missing or 0"),
            ({"figures": {**figures, "speed": 1}}, "there is no figure 'speed'"),
            ({"figures": {**figures, "dram_gb_s": "fast"}}, "figure 'dram_gb_s' has no number"),
            ({"name": ""}, "'name' is missing"),
            ({"estimate": {"kind": "tape"}}, "kind is 'tape': dma or cache"),
            ({"estimate": {"kind": "dma", "figures": {"clock_mhz": 800}}}, "estimate: 'engines' is missing or 0"),
            ({"estimate": {"kind": "dma", "figures": {"clock_mzh": 8}}}, "'clock_mzh'; did you mean clock_mhz?"),
            ({"estimate": {"kind": "dma", "figures": {"engines": "two"}}}, "figure 'engines' has no number"),
        ):
            with open(self.path("bad.json"), "w", encoding="utf-8") as file:
                json.dump({**machine, **damage}, file)
            done = self.opscope("report", "t.csv", "--machine", "./bad.json")
            self.assertEqual(done.status, 2, done)
            self.assertIn(says, done.stderr)
        with open(self.path("bad.json"), "w", encoding="utf-8") as file:
            file.write("{")
        self.assertIn("bad.json", self.opscope("machine", "show", "./bad.json").stderr)

    def test_no_machine_is_ever_assumed(self):
        columns = [name for name in ops_csv.COLUMNS if name not in ("DEVICE ARCH", "AVAILABLE WORKER CORE COUNT")]
        rows = ops_csv.good_rows()
        self.write("n.csv", rows, columns)
        for row in rows:
            row["DEVICE ARCH"] = "made up"
        self.write("m.csv", rows)
        for name, says in (("n.csv", "do not say what device they ran on"), ("m.csv", "no machine file describes 'made up'")):
            report = self.json(name)
            self.assertIsNone(report["machine"])
            for row in report["rows"]:
                for key in ("dram_percent", "flops_percent", "link_percent", "ideal_us"):
                    self.assertIsNone(row[key], row)
                self.assertIn(row["bound"], (None, "HOST", "GAP"))
            self.assertAlmostEqual(report["rows"][MATMUL]["tflops"], 10.73741824)
            self.assertTrue(all(line["rule"] in ("gap", "host") for line in report["advice"]), report["advice"])
            done = self.report(name)
            self.assertIn(says, done.stderr)
            self.assertIn("no rooflines", done.stdout.splitlines()[0])
            self.assertNotIn("reaches the target", done.stdout)
            header = done.stdout.splitlines()[1].split()
            self.assertNotIn("DRAM", header)
            self.assertNotIn("ideal", header)
        self.assertEqual(self.json("m.csv", "--machine", "wormhole")["rows"][MATMUL]["bound"], "SLOW")

    def test_page_of_an_unknown_machine_has_no_roofs(self):
        rows = ops_csv.good_rows()
        for row in rows:
            row["DEVICE ARCH"] = "made up"
        self.write("m.csv", rows)
        self.assertEqual(self.page_of("m.csv").chosen("roofline")["roofs"], [])

    def test_more_than_the_machine_can_do_is_a_warning(self):
        done = self.report("t.csv")
        self.assertNotIn("more than 100 %", done.stderr)
        done = self.report("t.csv", "--machine", "n1")
        rows = self.json("t.csv", "--machine", "n1")["rows"]
        shares = [max(row[key] or 0 for key in ops_csv.SHARES) for row in rows]
        above = [row for row, share in zip(rows, shares) if share > 105]
        self.assertEqual(len(above), 2)
        self.assertIn("2 ops of", done.stderr)
        self.assertIn(f"reach more than 100 % of what n1 can do, up to {max(shares):.0f} %", done.stderr)
        for row in above:
            self.assertIsNone(row["bound"])
            self.assertIsNone(row["ideal_us"])
            self.assertIn("it moved less than the model counts", row["doubt"])
            self.assertIn("not modelled: it moved less", row["advice"])
        self.assertIn(">100 % ?", done.stdout)
        groups = self.page_of("t.csv", "--machine", "n1").chosen("ops?group=op%2Bshape&limit=5000")
        self.assertEqual(len([row for row in groups["groups"] if row.get("doubt")]), 2)
        self.assertEqual([row for row in groups["groups"] if (row["dram_percent"] or 0) > 105], [])

    def test_no_verdict_above_a_roofline_in_any_capture(self):
        """Reference captures, where they are, and tables that are made up to break the models."""
        self.write("wild.csv", ops_csv.wild_rows())
        found = 0
        folder = os.environ.get("OPSCOPE_REFERENCE_DATA", "")
        captures = ("tt-perf-report/inputs/*.csv", "tenstorrent/ops_csv/*.csv", "tenstorrent/pairs/*/golden.csv")
        paths = [path for form in captures for path in sorted(glob.glob(os.path.join(folder, form))) if folder]
        for path in [self.path("wild.csv"), *paths]:
            for row in self.json(path, "--ignore-signposts", "--no-merge-devices")["rows"]:
                shares = {key: row[key] or 0 for key in ops_csv.SHARES}
                found += max(shares.values()) > 105
                if row["bound"] in ("DRAM", "BOTH", "FLOP", "LINK", "L2", "L3"):
                    self.assertLessEqual(max(shares.values()), 105, (path, row["id"], row["op"]))
                elif max(shares.values()) > 105:
                    self.assertTrue(row["doubt"] or row["bound"] == "GAP", (path, row["id"]))
        self.assertGreater(found, 20)

    def test_a_device_gets_the_machine_that_it_says_it_is(self):
        """A program's device has a name of its own; its rooflines come from a file that names its architecture."""
        trace = self.record([harness.program("op_machine")])
        done = self.report(trace)
        self.assertIn("Performance report: made up, no rooflines", done.stdout)
        self.assertIn("the ops do not say what device they ran on", done.stderr)
        self.assertIsNone(self.json(trace)["machine"])
        self.assertNotIn("ideal", done.stdout)

        trace = self.record([harness.program("op_machine"), "mine_v2"])
        done = self.report(trace)
        self.assertIn("Performance report: made up, no rooflines", done.stdout)
        self.assertIn("no machine file describes 'mine_v2'", done.stderr)
        figures = {name: 1 for name in ("lofi", "hifi2", "hifi3", "hifi4")}
        machine = {
            "name": "mine",
            "title": "my card",
            "aliases": ["mine_v2"],
            "figures": {
                "worker_cores": 4,
                "dram_gb_s": 100,
                "vector_tflops_per_core": 0.1,
                **{f"tflops_per_core_{name}": value for name, value in figures.items()},
            },
        }
        os.mkdir(self.path("machines"))
        with open(self.path("machines", "mine.json"), "w", encoding="utf-8") as file:
            json.dump(machine, file)
        by_file = self.json(trace, "--machine", self.path("machines", "mine.json"))
        done = self.opscope("report", trace, "--json", env={"OPSCOPE_MACHINES": self.path("machines")})
        self.assertEqual(done.json()["rows"], by_file["rows"])
        # 2 * 256 * 256 * 256 FLOPs in 100 us on 4 cores of 1 TFLOP/s; 3 * 256 * 256 * 2 bytes
        row = by_file["rows"][0]
        self.assertEqual(by_file["machine"], "mine")
        self.assertAlmostEqual(row["flops_percent"], 2 * 256**3 / 100e-6 / 4e12 * 100)
        self.assertAlmostEqual(row["dram_percent"], 3 * 256 * 256 * 2 / 100e-6 / 100e9 * 100)
        self.assertEqual(row["op"], "matmul 256 x 256 x 256")
        done = self.opscope("report", trace, env={"OPSCOPE_MACHINES": self.path("machines")})
        self.assertIn("Performance report: my card", done.stdout)

    # --- other sources ---

    def test_the_table_that_is_written_beside_a_trace(self):
        """It says what the trace says, as far as it has columns for it."""
        for program, options in (("op_kernels", ()), ("op_machine", ("wormhole",))):
            trace, table = self.path(program + ".opscope"), self.path(program + ".ops.csv")
            self.assert_status(self.opscope("run", "-o", trace, "--", harness.program(program), *options))
            keys = ("op_code", "time_us", "call", "input_0_type", "dram_bytes", "flop_count", "cores", "device")
            found, wanted = (self.json(path, "--machine", "wormhole")["rows"] for path in (table, trace))
            self.assertTrue(wanted)
            self.assertEqual([{key: row[key] for key in keys} for row in found], [{key: row[key] for key in keys} for row in wanted])
        done = self.opscope("ops", table)
        self.assert_status(done, 2)
        self.assertIn("is the op table that opscope wrote of a trace: opscope report reads it", done.stderr)

    def test_old_header(self):
        columns = [name.replace("_PAD[LOGICAL]", "") for name in ops_csv.COLUMNS if name not in ("DEVICE ARCH", "AVAILABLE WORKER CORE COUNT")]
        rows = [
            {name.replace("_PAD[LOGICAL]", ""): value.split("[")[0] if "_PAD[" in name else value for name, value in row.items()}
            for row in ops_csv.good_rows()
        ]
        self.write("old.csv", rows, columns)
        old, new = self.json("old.csv")["rows"], self.json("t.csv")["rows"]
        self.assertEqual(old[MATMUL]["tflops"], new[MATMUL]["tflops"])
        self.assertEqual(old[MATMUL]["op"], new[MATMUL]["op"])

    def test_zones_that_fill_the_gaps(self):
        trace = self.record([harness.program("op_gaps")])
        report = self.json(trace)
        self.assertEqual([row["gap_us"] for row in report["rows"]], [None, 2000, 2000, 2000])
        self.assertEqual([row["bound"] for row in report["rows"]], [None, "GAP", "GAP", "GAP"])
        self.assertIn("load", [zone["zone"] for zone in report["host_zones"]])
        self.assertIn("host-bound", self.report(trace).stdout)

    def first_step(self, trace, last):
        """The first that is not left out: more than the slow one, where a busy machine makes others slow, too."""
        done = self.report(trace)
        said = re.search(r"ops of step (\d) to %d: the warm-up is left out \(--include-warm-up takes all ops\)" % last, done.stderr)
        self.assertIsNotNone(said, done)
        return int(said.group(1))

    def test_the_first_steps_are_left_out_where_they_are_slow(self):
        """As in opscope summary: frames say where a step begins."""
        trace = self.record([harness.program("step_ops")])
        first = self.first_step(trace, 6)
        self.assertIn(first, (2, 3, 4))
        for options, count in (((), 7 - first), (("--include-warm-up",), 6), (("--ignore-signposts",), 6), (("--id-range", "1-"), 6)):
            self.assertEqual(self.json(trace, *options)["device_ops"], count, options)

    def test_the_page_of_a_report_has_the_same_steps(self):
        trace = self.record([harness.program("step_ops")])
        first = self.first_step(trace, 6)
        shown = self.page_of(trace).chosen("overview")
        self.assertEqual(shown["window"]["source"], f"steps {first} to 6")
        self.assertRegex(shown["window"]["left_out"][0]["reason"], "^warm-up: ")

    def test_what_comes_before_the_first_step_is_left_out(self):
        trace = self.record([harness.program("step_ops"), "ends"])
        first = self.first_step(trace, 5)  # from the first mark on
        self.assertIn(first, (1, 2, 3))
        self.assertEqual(self.json(trace)["device_ops"], 6 - first)
        if first == 1:
            self.assertIn("What comes before is left out as start-up (", self.opscope("summary", trace).stdout.replace("\n", " "))

    def test_zones_that_fill_the_gaps_are_on_the_page(self):
        trace = self.record([harness.program("op_gaps")])
        gaps = self.page_of(trace).chosen("gaps?sort=duration&limit=2000")["gaps"]
        self.assertEqual(len(gaps), 3)
        self.assertIn("load", [part["text"] for gap in gaps for part in gap["host"]])

    def page_of(self, source, *options):
        if not pages.are_built():
            self.skipTest(pages.NOT_BUILT)
        self.assertEqual(self.report(source, *options, "--html", self.path("page.html")).status, 0)
        return pages.read(self.path("page.html"))

    def test_advice_of_each_op_in_the_csv(self):
        """The column says of each op what the ranked advice says of it, and its gains sum up to the report's."""
        report = self.json("t.csv")
        done = self.report("t.csv", "--csv", "-")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        units = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}
        gains = [
            float(gain) * units[unit]
            for row in rows
            for gain, unit in re.findall(r"\(saves ([0-9.]+) (ns|us|ms|s)\)", row["advice"])
        ]
        self.assertAlmostEqual(sum(gains), report["advice_gain_us"], delta=0.001 * sum(gains) + 0.001)
        for line in report["advice"]:
            said = [row for row in rows if f"{line['rule']} (saves " in row["advice"]]
            self.assertGreaterEqual(len(said), line["ops"], line)
            self.assertIn(line["do"], " ".join(row["advice"] for row in said))
        self.assertNotIn("advice", self.report("t.csv", "--csv", "-", "--no-advice").stdout.splitlines()[0])

    def test_layers_of_recorded_ops(self):
        trace = self.record([harness.program("op_modules")])
        report = self.json(trace, "--group-by", "layer")
        self.assertEqual(
            {group["group"]: (group["ops"], group["time_us"]) for group in report["groups"]},
            {"encoder.layer.0": (2, 300), "encoder.layer.1": (2, 300), "(no layer)": (1, 50)},
        )
        self.assertEqual([row["layer"] for row in report["rows"]][:2], ["encoder.layer.0", "encoder.layer.0"])
        self.assertNotIn("in which layer", self.report(trace, "--group-by", "layer").stderr)
        none = self.report("t.csv", "--group-by", "layer")
        self.assertIn("no op says in which layer it is: record PyTorch with", none.stderr)
        done = self.opscope("ops", trace, "--columns", "OP CODE,MODULE PATH", "--csv", "-")
        self.assertEqual(
            done.stdout.splitlines(),
            [
                "OP CODE,MODULE PATH",
                "matmul,encoder.layer.0",
                "softmax,encoder.layer.0",
                "matmul,encoder.layer.1",
                "softmax,encoder.layer.1",
                "copy,",
            ],
        )

    def test_kernels_of_recorded_ops(self):
        """Those that ran for an op are named; what its product ran on decides what is said about it."""
        trace = self.record([harness.program("op_kernels")])
        kernels = ["ampere_sgemm_128x64_nn; splitKreduce_kernel", "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tensor16x8x8", None]
        ops = [row for row in self.opscope_json("ops", "--json", trace)["rows"] if row["runs"]]
        self.assertEqual([row["kernels"] for row in ops], kernels)
        report = self.json(trace)
        self.assertEqual([row["kernels"] for row in report["rows"]], kernels)
        said = [row["advice"] for row in csv.DictReader(io.StringIO(self.report(trace, "--csv", "-").stdout))]
        self.assertIn("multiplies without tensor cores: torch.set_float32_matmul_precision", said[0])
        self.assertNotIn("tensor cores", said[1] + said[2])
        self.assertIn("too small to fill the chip", said[2])

    def test_log_folder_gives_what_its_csv_gives(self):
        folder = harness.reference_data("tenstorrent", "pairs")
        for name in sorted(os.listdir(folder)):
            pair = os.path.join(folder, name)
            from_csv = self.json(os.path.join(pair, "golden.csv"))
            from_logs = self.json(pair)
            for row in from_csv["rows"] + from_logs["rows"]:
                row.pop("line", None)
            self.assertEqual(from_csv["rows"], from_logs["rows"], name)


class RecordedRuns(views.ViewCase):
    def test_runs_of_no_op_are_said(self):
        """They have no row and are in no sum, which opscope tree and summary have them in."""
        lines = (("track", "main"), ("zone", 0, 0, 9000, "step"), ("op", 1, 10, 20, "A"), ("device", "chip"), ("run", 1, 1000, 3000, "A"))
        for more, said in (((), None), ((("run", 0, 4000, 4500, "B"),), "1 run of 0.500 us on devices belongs to no op"),
                           ((("run", 0, 4000, 4500, "B"), ("run", 7, 5000, 6000, "C")), "2 runs of 1.500 us on devices belong to no op")):
            trace = self.trace(*lines, *more, name=f"{len(more)}.opscope")
            done = self.opscope("report", trace, "--json")
            self.assert_status(done)
            self.assertEqual(done.json()["device_time_us"], 2)
            self.assertEqual([note.split(":")[0] for note in done.json()["notes"] if "belong" in note], [said] if said else [])

    def test_ops_beside_each_other_on_merged_devices(self):
        """The slowest of each pair stands for both, here one of each device: each ran beside another one there."""
        lines = [("track", "main"), ("zone", 0, 1, 200001, "main")]
        for number, (first, second) in enumerate((((1000, 101000), (21000, 121000)), ((1000, 102000), (21000, 120000)))):
            lines += [("device", f"GPU {number}"), ("op", 2 * number + 1, 100, 110, "gelu"), ("run", 2 * number + 1, *first, "gelu"),
                      ("op", 2 * number + 2, 120, 130, "copy"), ("run", 2 * number + 2, *second, "copy")]
        trace = self.trace(*lines)
        merged, each = (self.opscope_json("report", trace, *words) for words in ((), ("--no-merge-devices",)))
        self.assertEqual([merged[key] for key in ("device_time_us", "overlap_us", "busy_us")], [201, 80, 121])
        self.assertEqual([each[key] for key in ("device_time_us", "overlap_us", "busy_us")], [400, 161, 239])


if __name__ == "__main__":
    unittest.main()
