# SPDX-License-Identifier: Apache-2.0
"""opscope diff: what changed between two runs, found in traces, ops CSVs and overhead CSVs whose changes are known."""

import csv
import io
import os
import unittest

import harness
import ops_csv
import pages

TENSORS = {**ops_csv.tensor_cells("INPUT_0", (1, 1, 32, 64)), **ops_csv.tensor_cells("OUTPUT_0", (1, 1, 32, 64))}
COLUMNS = ops_csv.COLUMNS + ["LOC"]
OVERHEAD_HEAD = (
    "op,count,python min dispatch time (ms),python mean dispatch time(ms),python mean dispatch + sync time (ms)\n"
)


def spread(i):
    """A few per mille, the same in every run of the test."""
    return (i * 7919) % 7 - 3


class Run:
    """Ops one after the other; times in ns."""

    def __init__(self):
        self.rows = []

    def op(self, name, duration, width=64, place="", **cells):
        row = ops_csv.device_op(name, len(self.rows) + 1, duration, **TENSORS)
        row["INPUT_0_X_PAD[LOGICAL]"] = f"{width}[{width}]"
        row["LOC"] = place
        row.update(cells)
        self.rows.append(row)
        return self

    def signpost(self, name):
        start = str(1000000 + 1000 * (len(self.rows) + 1))
        self.rows.append({"OP CODE": name, "OP TYPE": "signpost", "HOST START TS": start})
        return self

    def text(self):
        return ops_csv.text_of(self.rows, COLUMNS)


class DiffCase(harness.TestCase):
    def write(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text.text() if isinstance(text, Run) else text)
        return path

    def diff(self, a, b, *options):
        paths = [self.write("a.csv", a), self.write("b.csv", b)]
        return self.opscope_json("diff", *paths, "--json", *options)

    @staticmethod
    def states(found, kind="op"):
        return {(row["name"], row["state"]) for row in found["rows"] if row["kind"] == kind}


class Example(DiffCase):
    """Two versions of one program: one op slower, one new, one gone."""

    def record_both(self):
        paths = []
        for version in ("before", "after"):
            paths.append(self.path(f"{version}.opscope"))
            done = self.opscope("run", "-o", paths[-1], "--", harness.example("two_versions"), version)
            self.assert_status(done)
        return paths

    def test_says_exactly_what_changed(self):
        before, after = self.record_both()
        found = self.opscope_json("diff", before, after, "--json")
        self.assertEqual(self.states(found), {("matmul", "slower"), ("gelu", "new"), ("relu", "gone")})
        self.assertEqual(len(found["rows"]), 3)
        slower = next(row for row in found["rows"] if row["state"] == "slower")
        self.assertIn("512x2048", slower["b_tensors"])
        self.assertEqual(slower["matched"], 40)
        self.assertEqual(slower["evidence"], "tested")
        self.assertLess(slower["p"], 0.001)
        self.assertAlmostEqual(slower["each_change_percent"], 30, delta=3)
        everything = self.opscope_json("diff", before, after, "--json", "--all")
        self.assertEqual(
            self.states(everything) - self.states(found), {("matmul", "same"), ("norm", "same"), ("add", "same")}
        )
        text = self.opscope("diff", before, after).stdout
        self.assertIn("Ops: 1 slower, 1 new, 1 gone; 3 the same", text)

    def test_sums_are_the_reports(self):
        before, after = self.record_both()
        found = self.opscope_json("diff", before, after, "--json")
        totals = {row["total"]: row for row in found["totals"]}
        for side, path in (("a", before), ("b", after)):
            report = self.opscope_json("report", path, "--json", "--ignore-signposts")
            self.assertAlmostEqual(totals["device time"][side], report["device_time_us"] * 1000, delta=1)
            self.assertAlmostEqual(totals["gaps"][side], report["gap_us"] * 1000, delta=1)

    def test_sums_of_devices_and_replays_are_the_reports(self):
        for arguments, state in ((("2000",), "same"), (("3000",), "slower"), (("2000", "one device"), "same")):
            trace, other = self.path("t.opscope"), self.path("first.opscope")
            for path, words in ((other, ("2000", *arguments[1:])), (trace, arguments)):
                done = self.opscope("run", "-o", path, "--", harness.program("diff_devices"), *words)
                self.assert_status(done)
            found = self.opscope_json("diff", other, trace, "--json", "--all")
            totals = {row["total"]: row for row in found["totals"]}
            report = self.opscope_json("report", trace, "--json", "--ignore-signposts")
            self.assertAlmostEqual(totals["device time"]["b"], report["device_time_us"] * 1000, delta=1)
            self.assertAlmostEqual(totals["gaps"]["b"], report["gap_us"] * 1000, delta=1)
            self.assertEqual(totals["ops"]["b"], report["device_ops"] + report["host_ops"])
            states = {row["name"]: row["state"] for row in found["rows"] if row["kind"] == "op"}
            self.assertEqual((states["mul"], states["add"], states["replayed"]), (state, "same", "same"))

    def test_a_comma_in_a_name_stays_one(self):
        for devices in ((), ("one device",)):
            trace = self.path("t.opscope")
            self.assert_status(self.opscope("run", "-o", trace, "--", harness.program("diff_devices"), "2000", *devices))
            ops = {row["name"] for row in self.opscope_json("ops", trace)["rows"]}
            diff = {row["name"] for row in self.opscope_json("diff", trace, trace, "--all", "--json")["rows"]}
            report = self.opscope("report", trace, "--json").stdout
            self.assertIn("load, then check", report)
            table = self.opscope("ops", trace, "--columns", "tt", "--csv", "-o", "-").stdout
            self.assertIn("load, then check", ops)
            self.assertIn("load, then check", diff)
            self.assertNotIn("load; then check", report + table)
            self.assertIn('"load, then check"', table)

    def test_ops_of_torch_that_run_nothing_are_not_compared(self):
        """Their times on the host contain those of the ops inside them; and a replay calls no op."""
        traces = {}
        for words in ("", "replays", "replays two-devices"):
            traces[words] = self.path("ops%d.opscope" % len(traces))
            os.rename(self.record([harness.program("op_kernels"), *words.split()]), traces[words])
        for words, own in (("replays", []), ("replays two-devices", ["aten::add"])):
            done = self.opscope("diff", "--json", traces[""], traces[words])
            rows = [row for row in done.json()["rows"] if row["kind"] == "op"]
            self.assertEqual({row["name"] for row in rows}, {"aten::mm", "aten::bmm", "aten::mul", *own})
            self.assertIn("not compared: 1 op of PyTorch that ran nothing on a device (", done.stderr)
            totals = {total["total"]: total for total in done.json()["totals"]}
            self.assertEqual((totals["ops"]["a"], totals["ops"]["b"]), (3, 3 + len(own)))
            self.assertGreater(totals["host time of ops"]["a"], 0)
            ops = self.opscope_json("ops", "--json", traces[words])["rows"]
            self.assertEqual(totals["host time of ops"]["b"] or 0, sum(row["host_ns"] for row in ops if row["name"] in own))

    def test_page_has_both_runs(self):
        before, after = self.record_both()
        page = pages.of(self, "diff", before, after)
        self.assertEqual(page.fetched, [])
        self.assertEqual((page.json("traces")["panel"], page.trace(0)["name"], page.trace(1)["name"]),
                         ("compare", "before.opscope", "after.opscope"))
        found = self.opscope("diff", before, after, "--all", "--json").json()
        compared = page.json("compare")
        self.assertEqual(compared["diff"]["rows"], found["rows"])
        self.assertEqual(compared["diff"]["totals"], found["totals"])
        self.assertRegex("".join(part["text"] for part in compared["sentence"]), "^B takes .* longer for ops and the gaps between them")
        for prefix, name in (("", "relu"), ("1/", "gelu")):  # what is in one of them alone is in its own names
            self.assertTrue(any(name in row[1] for row in page.json(f"{prefix}names?page=0")["names"]))

    def test_page_takes_the_options(self):
        before, after = self.record_both()
        options = ("--only", "ops", "--threshold", "30")
        found = self.opscope("diff", before, after, *options, "--all", "--json").json()
        compared = pages.of(self, "diff", before, after, *options).json("compare")["diff"]
        self.assertEqual((compared["rows"], compared["threshold_percent"]), (found["rows"], 30))

    def test_page_of_several_runs(self):
        before, after = self.record_both()
        page = pages.of(self, "diff", before, before, "--against", after, after)
        self.assertEqual((page.trace(0)["name"], page.trace(1)["name"]), ("before.opscope", "after.opscope"))
        self.assertEqual(page.json("compare")["diff"]["a_runs"], 2)

    def test_a_trace_and_its_own_table_are_the_same(self):
        before, _ = self.record_both()
        table = self.path("ops.csv")
        self.assert_status(self.opscope("ops", before, "--columns", "tt", "--csv", "-o", table))
        found = self.opscope_json("diff", before, table, "--json", "--all", "--only", "ops")
        self.assertEqual({row["state"] for row in found["rows"]}, {"same"})
        self.assertEqual((found["matched_ops"], found["new_ops"], found["gone_ops"]), (200, 0, 0))
        self.assertEqual([row["change_ns"] for row in found["rows"]], [0] * 5)


class Matching(DiffCase):
    def pairs(self, a, b, *options):
        self.diff(a, b, "--pairs", self.path("pairs.csv"), *options)
        with open(self.path("pairs.csv"), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(io.StringIO(file.read())))

    def test_an_inserted_op_shifts_nothing(self):
        a, b = Run(), Run()
        for i in range(60):
            a.op(f"op{i % 6}", 1000 + i)
            if i == 20:
                b.op("Inserted", 5000)
            b.op(f"op{i % 6}", 1000 + i)
        found = self.pairs(a, b)
        self.assertEqual(len(found), 61)
        self.assertEqual([row["op"] for row in found if row["what"] == "new"], ["Inserted"])
        for row in found:
            if row["what"] == "matched":
                self.assertEqual(row["a_ns"], row["b_ns"], row)

    def test_a_new_shape_is_no_new_op(self):
        a = Run().op("X", 10).op("Matmul", 1000, width=64).op("Y", 10)
        b = Run().op("X", 10).op("Matmul", 2100, width=128).op("Y", 10)
        found = self.diff(a, b)
        self.assertEqual(self.states(found), {("Matmul", "reshaped")})  # its times say nothing of speed
        self.assertEqual(self.states(self.diff(a, b, "--ignore-shape")), {("Matmul", "slower")})  # asked for
        row = found["rows"][0]
        self.assertIn("32x64", row["a_tensors"])
        self.assertIn("32x128", row["b_tensors"])
        self.assertEqual(found["reshaped_ops"], 1)
        self.assertIn("before: 32x64", self.opscope("diff", "a.csv", "b.csv", "--wide").stdout)

    def test_verdict_and_figure_agree(self):
        """Most calls faster, but their sum larger: neither "faster +19 %" nor "slower"."""
        a, b, c = Run(), Run(), Run()
        for i in range(40):
            a.op("Matmul", 10000 + spread(i))
            b.op("Matmul", 90000 if i % 10 == 0 else 8000 + spread(i))
            for _ in range(2):
                c.op("Matmul", 8000 + spread(i))
        self.assertEqual(self.states(self.diff(a, b)), {("Matmul", "mixed")})
        found = self.diff(a, c)
        self.assertEqual(self.states(found), {("Matmul", "more")})
        self.assertLess(found["rows"][0]["each_change_percent"], 0)
        self.assertGreater(found["rows"][0]["change_percent"], 0)
        for runs in ((a, b), (a, c), (b, a), (c, a)):
            for row in self.diff(*runs, "--all")["rows"]:
                self.assertFalse(row["state"] == "faster" and row["change_percent"] > 0, row)
                self.assertFalse(row["state"] == "slower" and row["change_percent"] < 0, row)

    def test_names_can_be_read_at_60_columns(self):
        name = "PagedUpdateCache"
        self.write("a.csv", Run().op(name, 1234567).op("Y", 10))
        self.write("b.csv", Run().op(name, 2345678).op("Y", 10))
        text = self.opscope("diff", "a.csv", "b.csv", env={"COLUMNS": "60"}).stdout
        self.assertIn(name, text)
        self.assertLessEqual(max(len(line) for line in text.split("\n") if name in line), 60)

    def test_places_tell_equal_ops_apart(self):
        a, b = Run(), Run()
        for _ in range(10):
            a.op("Matmul", 1000, place="m.py:10").op("Matmul", 1000, place="m.py:20")
            b.op("Matmul", 1000, place="m.py:10").op("Matmul", 1500, place="m.py:20")
        rows = self.diff(a, b, "--all")["rows"]
        self.assertEqual({(row["location"], row["state"]) for row in rows}, {("m.py:10", "same"), ("m.py:20", "slower")})

    def test_moved_lines_do_not_part_the_runs(self):
        a, b = Run(), Run()
        for i in range(12):
            a.op(f"op{i}", 1000, place=f"m.py:{10 + i}")
            b.op(f"op{i}", 1000, place=f"m.py:{13 + i}")
        found = self.diff(a, b)
        self.assertTrue(found["is_location_ignored"])
        self.assertEqual((found["matched_ops"], found["rows"]), (12, []))

    def test_counts(self):
        a, b = Run(), Run()
        for i in range(10):
            a.op("A", 1000 + spread(i)).op("B", 500)
            b.op("A", 1000 + spread(i + 1)).op("B", 500)
        b.op("B", 500).op("B", 500)
        found = self.diff(a, b)
        self.assertEqual(self.states(found), {("B", "more")})
        row = found["rows"][0]
        self.assertEqual((row["a_count"], row["b_count"], row["change_ns"]), (10, 12, 1000))

    def test_signposts_make_a_window(self):
        a = Run().op("Warm", 100).signpost("go").op("A", 1000).signpost("end").op("Late", 5)
        b = Run().op("Warm", 900).op("Warm", 900).signpost("go").op("A", 1000).signpost("end")
        found = self.diff(a, b, "--start-signpost", "go", "--end-signpost", "end", "--all")
        self.assertEqual(self.states(found), {("A", "same")})
        done = self.opscope("diff", "a.csv", "b.csv", "--start-signpost", "nowhere")
        self.assert_status(done, 2)
        self.assertIn("a.csv has no signpost 'nowhere'", done.stderr)

    def test_groups(self):
        a = Run().op("MatmulDeviceOperation", 1000).op("BinaryNgDeviceOperation", 100)
        b = Run().op("MatmulDeviceOperation", 1500).op("UnaryDeviceOperation", 100)
        groups = {row["group"]: row for row in self.diff(a, b)["groups"]}
        self.assertEqual(groups["MatmulDeviceOperation"]["change_ns"], 500)
        self.assertEqual(groups["BinaryNgDeviceOperation"]["b_count"], 0)
        groups = {row["group"]: row for row in self.diff(a, b, "--group-by", "category")["groups"]}
        self.assertEqual(groups["Compute"]["a_time_ns"], 1100)
        self.assertEqual(groups["Compute"]["b_time_ns"], 1600)


class Noise(DiffCase):
    def runs(self, count, before, after):
        a, b = Run(), Run()
        for i in range(count):
            a.op("A", before(i))
            b.op("A", after(i))
        return a, b

    def row(self, *runs):
        rows = self.diff(*runs, "--all")["rows"]
        self.assertEqual(len(rows), 1)
        return rows[0]

    def test_a_shift_of_all_is_found(self):
        row = self.row(*self.runs(20, lambda i: 1000 + 10 * spread(i), lambda i: 1060 + 10 * spread(i + 3)))
        self.assertEqual((row["state"], row["evidence"]), ("slower", "tested"))

    def test_a_few_outliers_are_noise(self):
        row = self.row(*self.runs(20, lambda i: 1000 + spread(i), lambda i: 9000 if i == 4 else 1000 + spread(i + 3)))
        self.assertEqual(row["state"], "outliers")
        self.assertGreater(row["change_percent"], 30)

    def test_wide_spread_is_noise(self):
        row = self.row(
            *self.runs(12, lambda i: 1000 + 400 * (i % 2), lambda i: 1030 + 400 * ((i + (i > 5)) % 2))
        )
        self.assertEqual(row["state"], "noise")

    def test_once_has_no_spread_and_says_so(self):
        row = self.row(*self.runs(1, lambda i: 1000, lambda i: 1100))
        self.assertEqual((row["state"], row["evidence"], row["p"]), ("slower", "no spread", None))
        self.assertIn("no spread: it happened once", self.opscope("diff", "a.csv", "b.csv").stdout)

    def test_too_few_for_a_test_must_agree(self):
        row = self.row(*self.runs(3, lambda i: 1000, lambda i: 1100 + i))
        self.assertEqual((row["state"], row["evidence"]), ("slower", "too few"))
        row = self.row(*self.runs(3, lambda i: 1000, lambda i: (1100, 1100, 990)[i]))
        self.assertEqual((row["state"], row["evidence"]), ("noise", "too few"))

    def test_threshold(self):
        runs = self.runs(20, lambda i: 1000 + spread(i), lambda i: 1030 + spread(i))
        self.assertEqual(self.row(*runs)["state"], "slower")
        self.assertEqual(self.diff(*runs, "--threshold", "4%")["rows"], [])


class SeveralRuns(DiffCase):
    """Inside a run times hardly spread; from run to run they differ by per cents."""

    def side(self, name, factors, ops=20, extra=0):
        paths = []
        for k, factor in enumerate(factors):
            run = Run()
            for i in range(ops):
                run.op("A", round((10000 + spread(i)) * factor)).op("B", 500 + spread(i + k))
            for _ in range(extra):
                run.op("C", 100)
            paths.append(self.write(f"{name}{k}.csv", run))
        return paths

    def compare(self, a, b, *options):
        found = self.opscope_json("diff", *a, "--against", *b, "--json", "--all", *options)
        return {row["name"]: row for row in found["rows"]}, found

    def test_one_run_each_cannot_see_it(self):
        a, b = self.side("a", [1.0]), self.side("b", [1.05])
        rows = self.opscope_json("diff", *a, *b, "--json", "--all")["rows"]
        self.assertEqual({row["name"]: row["state"] for row in rows}, {"A": "slower", "B": "same"})

    def test_run_to_run_noise_is_seen(self):
        rows, found = self.compare(self.side("a", [1.0, 1.06, 0.97]), self.side("b", [1.05, 0.99, 1.03]))
        self.assertEqual((rows["A"]["state"], rows["A"]["evidence"]), ("noise", "runs"))
        self.assertEqual((found["a_runs"], found["b_runs"]), (3, 3))
        device = next(row for row in found["totals"] if row["total"] == "device time")
        self.assertGreater(device["noise"], abs(device["change"]))

    def test_few_runs_must_be_far_apart(self):
        a = self.side("a", [1.0, 1.02, 0.99])
        rows, _ = self.compare(a, self.side("b", [1.03, 1.04, 1.06]))
        self.assertEqual((rows["A"]["state"], rows["A"]["p"]), ("noise", None))
        rows, _ = self.compare(a, self.side("b", [1.10, 1.11, 1.12]))
        self.assertEqual((rows["A"]["state"], rows["A"]["p"]), ("slower", None))
        self.assertAlmostEqual(rows["A"]["each_change_percent"], 11, delta=0.1)
        self.assertEqual(rows["A"]["a_total_ns"], rows["A"]["a_median_ns"] * 20)

    def test_five_runs_are_tested(self):
        a = self.side("a", [1.0, 1.02, 0.99, 1.01, 0.98])
        rows, found = self.compare(a, self.side("b", [1.05, 1.06, 1.09, 1.04, 1.07], extra=3))
        self.assertEqual(rows["A"]["state"], "slower")
        self.assertAlmostEqual(rows["A"]["p"], 2 / 252, delta=1e-9)
        self.assertEqual((rows["B"]["state"], rows["C"]["state"]), ("same", "new"))
        text = self.opscope("diff", *a, "--against", *a).stdout
        self.assertIn("5 runs against 5", text)

    def test_usage(self):
        a = self.side("a", [1.0, 1.0])
        for arguments, message in (
            ((*a, a[0]), "--against"),
            (("--against", *a), "--against stands between"),
            ((*a, "--against"), "--against stands between"),
        ):
            done = self.opscope("diff", *arguments)
            self.assert_status(done, 2)
            self.assertIn(message, done.stderr)
        other = self.write("o.csv", OVERHEAD_HEAD + "add,200,0.01,0.01,0.02\n")
        done = self.opscope("diff", a[0], other, "--against", a[1])
        self.assert_status(done, 2)
        self.assertIn("must be alike", done.stderr)

    def test_gate(self):
        a = self.side("a", [1.0, 1.06, 0.97])
        noisy, slow = self.side("b", [1.09, 1.00, 1.08]), self.side("c", [1.2, 1.22, 1.21])
        baselines = [word for path in a for word in ("--baseline", path)]
        for metric in ("device-time", "op:A"):
            common = ("check", "--no-config", *baselines, "--metric", metric, "--max-regress", "5%", "--json")
            done = self.opscope(*common, *noisy)
            self.assert_status(done)
            self.assertEqual(done.json()["rows"][0]["result"], "noise")
            done = self.opscope(*common, *slow)
            self.assert_status(done, 1)
            self.assertIn("more than noise", done.json()["rows"][0]["remark"])


class Zones(DiffCase):
    def test_zones_by_name_and_place(self):
        a = self.path("a.opscope")
        b = self.path("b.opscope")
        for path, variant in ((a, "1"), (b, "2")):
            done = self.opscope("run", "-o", path, "--", harness.program("diff_zones"), variant)
            self.assert_status(done)
        found = self.opscope_json("diff", a, b, "--json", "--all")
        states = {row["name"]: row["state"] for row in found["rows"] if row["kind"] == "zone"}
        self.assertEqual(states["slow part"], "slower")
        self.assertEqual(states["old part"], "gone")
        self.assertEqual(states["new part"], "new")
        row = next(row for row in found["rows"] if row["name"] == "slow part")
        self.assertEqual((row["a_count"], row["b_count"], row["evidence"]), (30, 30, "tested"))
        self.assertIn("diff_zones.c:", row["location"])
        zones = self.opscope_json("zones", b, "--json")["rows"]
        totals = {zone["name"]: zone["total_ns"] for zone in zones}
        self.assertEqual(row["b_total_ns"], totals["slow part"])


class Overhead(DiffCase):
    def test_dispatch_times(self):
        a = OVERHEAD_HEAD + "add,200,0.01,0.012,0.02\nmul,200,0.1,0.110,0.2\nold,200,0.1,0.1,0.2\n"
        b = OVERHEAD_HEAD + "add,200,0.01,0.013,0.02\nmul,200,0.1,0.150,0.2\nfresh,200,0.1,0.1,0.2\n"
        found = self.diff(a, b)
        self.assertEqual(self.states(found, "dispatch"), {("mul", "slower"), ("old", "gone"), ("fresh", "new")})
        self.assertEqual(found["a"]["kind"], "overhead CSV")

    def test_not_with_ops(self):
        for order in (1, -1):
            paths = [self.write("a.csv", OVERHEAD_HEAD + "add,200,0.01,0.01,0.02\n"), self.write("b.csv", Run().op("A", 1))]
            done = self.opscope("diff", *paths[::order])
            self.assert_status(done, 2)
            self.assertIn("compare like with like", done.stderr)


class BadInput(DiffCase):
    def fails(self, a, b, *says):
        done = self.opscope("diff", a, b)
        self.assert_status(done, 2)
        self.assertEqual(done.stdout, "")
        for text in says:
            self.assertIn(text, done.stderr)

    def test_missing_and_empty(self):
        good = self.write("good.csv", Run().op("A", 1))
        self.fails(self.path("none.csv"), good, "none.csv")
        self.fails(good, self.write("empty.csv", ""), "empty.csv")
        self.fails(good, self.write("head.csv", Run()), "head.csv", "neither ops nor zones")
        self.fails(good, self.write("posts.csv", Run().signpost("x")), "neither ops nor zones")
        done = self.opscope("diff", good)
        self.assert_status(done, 2)

    def test_standard_input(self):
        good = self.write("good.csv", Run().op("A", 1000))
        done = self.opscope("diff", "-", good, "--json", stdin=Run().op("A", 1500).text().encode())
        self.assert_status(done)
        self.assertEqual(self.states(done.json()), {("A", "faster")})

    def test_damaged_trace(self):
        trace = self.record([harness.example("two_versions"), "before"])
        with open(trace, "rb") as file:
            data = file.read()
        cut = self.path("cut.opscope")
        with open(cut, "wb") as file:
            file.write(data[: len(data) // 2])
        done = self.opscope("diff", trace, cut)
        self.assertIn(done.status, (0, 2), done)
        self.assertIn("cut.opscope", done.stderr)
        done = self.opscope("diff", trace, cut, "--salvage")
        self.assertIn(done.status, (0, 2), done)
        for place in range(40, len(data), 97):
            with open(cut, "wb") as file:
                file.write(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
            done = self.opscope("diff", trace, cut)
            self.assertIn(done.status, (0, 2), done)

    def test_names_cannot_escape(self):
        name = 'x\x1b[31m<b>&"\u202e,evil\n'
        a = Run().op("A", 1000)
        b = Run().op("A", 1000).op(name, 500)
        pairs = self.path("p.csv")
        found = self.diff(a, b, "--pairs", pairs)
        self.assertEqual(self.states(found), {(name, "new")})
        text = self.opscope("diff", "a.csv", "b.csv", "--color", "never").stdout
        self.assertNotIn("\x1b", text)
        with open(pairs, encoding="utf-8", newline="") as file:
            ops = [row["op"] for row in csv.DictReader(file)]
        self.assertIn(name.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e"), ops)  # a terminal may show the file

    def test_page_of_tables(self):
        """Of names that nobody should write, and of ops without device times."""
        name = 'x\x1b[31m<b>&"\u202e,evil\n'
        self.diff(Run().op("A", 1000), Run().op("A", 1000).op(name, 500))
        page = pages.of(self, "diff", "a.csv", "b.csv")
        self.assertEqual([answer for answer in page.answers.values() if "<" in answer or "\x1b" in answer], [])
        self.assertIn(name, [row["name"] for row in page.json("compare")["diff"]["rows"]])

    def test_useless_cells_are_missing(self):
        a = Run().op("A", 1000).op("B", 1, **{"DEVICE KERNEL DURATION [ns]": "abc"})
        b = Run().op("A", 1000).op("B", 500)
        found = self.diff(a, b, "--all")
        self.assertEqual({row["name"]: row["a_total_ns"] for row in found["rows"]}, {"A": 1000, "B": 0})
        self.assertIn("a.csv", self.opscope("diff", "a.csv", "b.csv").stderr)

    def test_output_appears_whole_or_not_at_all(self):
        good = self.write("good.csv", Run().op("A", 1))
        done = self.opscope("diff", good, good, "--html", self.path("no", "such", "folder.html"))
        self.assert_status(done, 2)
        self.assertFalse(os.path.exists(self.path("no")))


if __name__ == "__main__":
    unittest.main()
