# SPDX-License-Identifier: Apache-2.0
"""opscope diff of an estimate and a run, from every file that may hold either."""

import csv
import io
import os
import unittest

import harness
import pages
import test_estimate
import test_estimate_models

PLACE = ("--default-location", 'loc("m.mlir":7:3)')


class Case(test_estimate.Case):
    def diff(self, *arguments):
        done = self.opscope("diff", *arguments, "--json")
        self.assert_status(done)
        return done.json()

    def refused(self, *arguments):
        done = self.opscope("diff", *arguments)
        self.assert_status(done, 2)
        return done.stderr


class Dispatches(Case):
    """A flow dump, and runs of IREE."""

    def setUp(self):
        super().setUp()
        self.write("m.mlir", test_estimate_models.FLOW.format(n=1 << 20))
        self.write("run.jsonl", test_estimate_models.profile(9000000, 1 << 20, 2 << 20))
        options = ("--target", "cpu", *test_estimate_models.ONE_CORE)
        self.assert_status(self.opscope("estimate", "m.mlir", *options, "-o", "m.opscope"))
        self.assert_status(self.opscope("import", "iree", "run.jsonl", "-o", "run.opscope"))

    def test_every_pair_says_the_same(self):
        want = self.diff("m.mlir", "run.jsonl", *test_estimate_models.ONE_CORE)
        row, = want["rows"]
        self.assertEqual((row["dispatch"], row["measured_ns"], row["runs"], row["type"]), ("f", 1 << 20, 3, "ELT"))
        for model in ("m.mlir", "m.opscope"):
            for run in ("run.jsonl", "run.opscope"):
                found = self.diff(model, run, *(test_estimate_models.ONE_CORE if model == "m.mlir" else ()))
                for key in ("rows", "types", "bias_percent", "median_factor", "p90_factor"):
                    self.assertEqual(found[key], want[key], (model, run, key))

    def test_estimates_are_told_from_runs(self):
        text = self.opscope("ops", "m.opscope").stdout
        self.assertIn("device times are estimates, not measured: 2 of 2 runs", text)
        self.assertNotIn("estimate", self.opscope("ops", "run.opscope").stdout)
        trace = self.diff("m.opscope", "m.opscope")  # two estimates: a comparison as of any two runs
        self.assertNotIn("median_factor", trace)

    def test_wrong_files_are_named(self):
        self.assertIn("run.jsonl is a device profile of IREE, m.mlir a model (MLIR): the estimate comes first "
                      "(opscope diff m.mlir run.jsonl compares them)", self.refused("run.jsonl", "m.mlir"))
        self.assertIn("run.opscope is the trace of a run, m.opscope the trace of an estimate: the estimate comes first",
                      self.refused("run.opscope", "m.opscope"))
        self.assertIn("both are estimates", self.refused("m.mlir", "m.opscope"))
        self.assertIn("both are runs", self.refused("run.jsonl", "run.opscope"))
        self.write("notes.txt", "nothing\n")
        self.assertIn("notes.txt neither an estimate nor a run", self.refused("m.mlir", "notes.txt"))
        self.assertIn("gone.jsonl", self.refused("m.mlir", "gone.jsonl"))
        self.write("other.jsonl", test_estimate_models.profile(5, name="g"))
        self.assertIn("m.mlir (phase: flow) has 'f', other.jsonl (a device profile of IREE) ran 'g': they have no dispatch in "
                      "common, no place in the source and no name; needed is the flow or stream phase",
                      self.refused("m.mlir", "other.jsonl").replace("'linalg.generic'", "'f'"))
        self.write("tosa.mlir", "func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {\n"
                   "  %0 = tosa.abs %a : (tensor<8xf32>) -> tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n")
        self.assertIn("tosa.mlir (phase: input) has 'tosa.abs'", self.refused("tosa.mlir", "run.jsonl"))

    def test_a_source_by_the_places_of_its_dispatches(self):
        # The source has no locations: its ops are where they stand. Two of them are in one dispatch.
        self.write("src.mlir", "func.func @main(%a: tensor<4096xf32>) -> tensor<4096xf32> {\n"
                   "  %0 = tosa.abs %a : (tensor<4096xf32>) -> tensor<4096xf32>\n"
                   "  %1 = tosa.exp %0 : (tensor<4096xf32>) -> tensor<4096xf32>\n"
                   "  return %1 : tensor<4096xf32>\n}\n")
        flow = test_estimate_models.FLOW.format(n=4096).replace(
            "%3 = arith.addf %in, %in : f32", '%3 = arith.addf %in, %in : f32 loc("dir/src.mlir":3:8)').replace(
            "linalg.yield %3 : f32", 'linalg.yield %3 : f32 loc("dir/src.mlir":2:8)')
        self.write("flow.mlir", flow)
        self.write("r.jsonl", test_estimate_models.profile(5000, 3000))
        found = self.diff("src.mlir", "r.jsonl", "--phase", "flow.mlir")
        row, = found["rows"]
        self.assertEqual((row["measured_ns"], row["runs"], row["most_ns"]), (3000, 2, 5000))
        self.assertIn('"src.mlir":', row["location"])
        self.write("g.jsonl", test_estimate_models.profile(5, name="g"))
        self.assertIn("--phase flow.mlir: no dispatch of it was run", self.refused("src.mlir", "g.jsonl", "--phase", "flow.mlir"))

    def test_reference_sources(self):
        for model, most in (("mlp", 1.5), ("block", 2), ("stream", 1.5)):
            folder = os.path.dirname(harness.reference_data("iree", model, "local-sync.jsonl"))
            found = self.diff(f"{folder}/{model}.mlir", f"{folder}/local-sync.jsonl", "--phase",
                              f"{folder}/phases/{model}.6.flow.mlir", *test_estimate_models.ONE_CORE)
            print(f"{model}: {len(found['rows'])} places of the source, median factor {found['median_factor']:.2f}")
            self.assertLess(found["median_factor"], most)
            self.assertGreaterEqual(len(found["rows"]), 4)


class Programs(Case):
    """A schedule, and runs of Torq."""

    def setUp(self):
        super().setUp()
        self.write("m.10.executable-targets.mlir", test_estimate.model((1000, 500), (2000, 700)))
        self.write("run.csv", test_estimate.EVENTS)
        self.estimate("m.10.executable-targets.mlir", *PLACE, "-o", "m.opscope", "--csv", "tasks.csv")
        self.estimate("m.10.executable-targets.mlir", *PLACE, "--csv", "units.csv", "--csv-form", "units")
        done = self.opscope("annotate", "m.10.executable-targets.mlir", "run.csv", "rows.csv", "-o", "run.opscope", *PLACE)
        self.assert_status(done)

    def times(self, *arguments, what="op"):
        found = self.diff(*arguments)
        return [(row[what], row["estimate_ns"], row["measured_ns"]) for row in found["rows"]]

    def test_by_dispatch(self):
        # Without the IR, events say which dispatch ran and no more.
        self.assertEqual(self.times("m.opscope", "run.csv", what="dispatch"), [("d0_main", 888.75, 10000), ("d1_main", 1401.25, 5000)])

    def test_by_place_and_name(self):
        for run in ("run.opscope", "rows.csv"):
            for model in ("m.opscope", "m.10.executable-targets.mlir"):
                options = PLACE if model.endswith("mlir") else ()
                self.assertEqual(self.times(model, run, *options), [("conv2d_0", 888.75, 10000), ("conv2d_0", 1401.25, 5000)])

    def test_timelines_by_place(self):
        # All is at one place, 711 and 1121 cycles; what runs again in the same order is another run of the model.
        for model in ("units.csv", "tasks.csv"):
            (name, estimate, measured), = self.times(model, "rows.csv")
            self.assertEqual((estimate, measured), (2290, 5000))
            self.assertEqual(name, "conv2d" if model == "units.csv" else 'loc("m.mlir":7:3)')

    def test_older_forms_by_their_locations(self):
        self.write("old.csv", 'ID;time_since_open;time_since_start;Location\n0;110;10;loc("x/m.mlir":7:3)\n1;130;8;loc("m.mlir":9:1)\n')
        found = self.diff("m.opscope", "old.csv")
        self.assertEqual([(row["estimate_ns"], row["measured_ns"]) for row in found["rows"]], [(2290, 10000)])
        self.assertIn("1 of 2 programs of the run are not in the model", found["notes"])
        self.write("mid.csv", "actionIndex, elapsed_time(us), timestamp(us), event, location\n"
                   '0,1,100,start,loc(fused["m.mlir":7:3, "m.mlir":8:3])\n1,9,101,wait,loc("m.mlir":8:3)\n2,5,120,copy,loc("m.mlir":8:3)\n')
        found = self.diff("m.opscope", "mid.csv")
        self.assertEqual([(row["op"], row["measured_ns"]) for row in found["rows"]], [("conv2d_0 and 1 more", 15000)])
        self.assertIn("whose sums are compared: 1", " ".join(found["notes"]))

    def test_page(self):
        for model, run, names in (("m.opscope", "run.opscope", ("m.opscope", "run.opscope")),
                                  ("m.10.executable-targets.mlir", "run.csv", ("m.10.executable-targets.mlir", "run.csv")),
                                  ("units.csv", "rows.csv", ("units.csv", "rows.csv"))):
            options = PLACE if model.endswith("mlir") else ()
            page = pages.of(self, "diff", model, run, *options)
            compared, found = page.json("compare"), self.diff(model, run, *options)
            self.assertEqual((page.trace(0)["name"], page.trace(1)["name"]), names)
            self.assertEqual((compared["kind"], compared["a"]["overview"]["kind"]), ("estimate", "estimate"))
            self.assertEqual(compared["estimate"]["rows"], found["rows"])
            self.assertNotEqual(compared["b"]["overview"]["kind"], "estimate")
            for trace in ("trace", "1/trace"):
                self.assertGreater(page.json(trace)["runs"] + page.json(trace)["zones"], 0, (model, trace))
            self.assertEqual([(page.trace(i)["estimated"], page.trace(i)["measured"]) for i in (0, 1)], [(True, False), (False, True)])
            self.assertEqual(len(page.json("overlay?a=0&b=1")["pairs"]), len(found["rows"]), model)

    def test_table_and_csv(self):
        table = self.opscope("diff", "m.opscope", "run.opscope").stdout
        for says in ("By type of op", "By location", "median factor", "of 2 ops", "measured: the shortest run of each"):
            self.assertIn(says, table)
        rows = list(csv.DictReader(io.StringIO(self.opscope("diff", "m.opscope", "run.opscope", "--csv").stdout)))
        self.assertEqual([float(row["estimate_ns"]) for row in rows], [888.75, 1401.25])

    def test_a_recorded_run(self):
        """Zones whose names carry a location are ops, where nothing of a device was recorded."""
        self.write("z.csv", "taskId, elapsed_time(us), timestamp(us), event, location\n0,800,0,CSS,loc(\"m.mlir\":7:3)\n")
        self.assert_status(self.opscope("import", "timeline", "z.csv", "-o", "z.opscope"))
        self.assertIn("both are estimates", self.refused("m.10.executable-targets.mlir", "z.opscope"))


class Timelines(Case):
    """The compiler's own forms."""

    def zones(self, text):
        self.write("t.csv", text)
        self.assert_status(self.opscope("import", "timeline", "t.csv", "-o", "t.opscope"))
        done = self.opscope("export", "t.opscope", "--format", "csv", "--what", "zones", "-o", "-")
        return [(row["thread"], row["start_ns"], row["file"]) for row in csv.DictReader(io.StringIO(done.stdout))
                if row["thread"] != "dispatches"]

    def test_older_forms(self):
        want = [("DMA In", "0", "loc(a, b)"), ("Slice 0", "100", "loc(c)")]
        self.assertEqual(sorted(self.zones("DI0,0,80,loc(a, b),DMA_IN\nS0,80,160,loc(c),conv2d\n")), want)
        for header, end in (("taskId", ""), ("actionIndex", ""), ("actionIndex", ", bytes")):
            rows = f"0,80,0,DMA In,loc(a, b){',64' if end else ''}\n1,80,80,Slice 0,loc(c){',' if end else ''}\n"
            found = self.zones(f"{header}, elapsed_time(us), timestamp(us), event, location{end}\n{rows}")
            self.assertEqual(sorted(found), want, header + end)
        # The same header, with events of the runtime: a run, not a timeline.
        self.write("r.csv", "actionIndex, elapsed_time(us), timestamp(us), event, location\n0,1,2,NSS_START,loc(a)\n")
        done = self.opscope("import", "timeline", "r.csv", "-o", "r.opscope")
        self.assert_status(done, 2)
        self.assertIn("not a timeline", done.stderr)


class Calibration(Case):
    """Runs of every form fit a target; three ops of a class are needed."""

    def setUp(self):
        super().setUp()
        self.sizes = (1 << 18, 1 << 19, 1 << 20)
        body = "".join(f"  %{i} = tosa.abs %a{i} : (tensor<{n}xf32>) -> tensor<{n}xf32>\n" for i, n in enumerate(self.sizes))
        arguments = ", ".join(f"%a{i}: tensor<{n}xf32>" for i, n in enumerate(self.sizes))
        self.write("m.mlir", f"func.func @main({arguments}) {{\n{body}  return\n}}\n")
        self.options = ("--target", "cpu", *test_estimate_models.ONE_CORE)
        estimate = self.estimate("m.mlir", *self.options)
        self.ns = [row["time_ns"] for row in estimate["rows"]]
        self.assertEqual(len(self.ns), 3)

    def check(self, *arguments, sites=3):
        whole = self.opscope_json("calibrate", *arguments, *self.options, "--json", "-o", self.path("mine.json"))
        row = {row["class"]: row for row in whole["rows"]}["ELT"]
        self.assertEqual(row["sites"], sites)
        self.assertAlmostEqual(row["before_median"], 3, 2)
        self.assertAlmostEqual(row["after_median"], 1, 2)  # one model: fitted to itself
        after = self.estimate("m.mlir", "--target", "mine.json", *test_estimate_models.ONE_CORE)
        self.assertAlmostEqual(sum(row["time_ns"] for row in after["rows"]) / sum(self.ns), 3, 2)
        os.unlink(self.path("mine.json"))

    def test_every_form(self):
        times = [3 * ns / 1000 for ns in self.ns]
        self.write("old.csv", "id;time_since_open;time_since_start;location\n" + "".join(
            f'{i};{1000000 * (i + 1)};{us};loc("m.mlir":{i + 2}:8)\n' for i, us in enumerate(times)))
        self.check("m.mlir", "old.csv")
        header = ("action_id;job_id;operation;invocation_names;original_operators;total_time;slice_used_0_in_program;"
                  "timestamp_start;timestamp_end;location\n")
        rows = "".join(f"0;;torq_hl.start_program;k{i};;1;True;{10000 * i};{10000 * i + 1};@L{i + 2}C8\n"
                       f"1;;torq_hl.wait_program;k{i};;1;True;{10000 * i + 1};{10000 * i + us};@L{i + 2}C8\n"
                       for i, us in enumerate(times))
        self.write("rows.csv", header + rows)
        self.check("m.mlir", "rows.csv")
        self.write("rows2.csv", (header + rows).replace(";", ","))
        self.check("m.mlir", "rows2.csv")
        self.assert_status(self.opscope("import", "torq", "old.csv", "-o", "run.opscope"))
        self.check("m.mlir", "run.opscope")

    def test_a_source_and_a_phase(self):
        flow = test_estimate_models.FLOW.format(n=4096).replace("linalg.yield %3 : f32", 'linalg.yield %3 : f32 loc("m.mlir":2:8)')
        self.write("flow.mlir", flow)
        self.write("r.jsonl", test_estimate_models.profile(round(3 * self.ns[0])))
        whole = self.opscope_json("calibrate", "m.mlir", "r.jsonl", "--phase", "flow.mlir", *self.options, "--json")
        self.assertEqual({row["class"]: row["sites"] for row in whole["rows"]}["ELT"], 1)
        done = self.opscope("calibrate", "m.mlir", "r.jsonl", "m.mlir", "r.jsonl", "--phase", "flow.mlir")
        self.assert_status(done, 2)
        self.assertIn("once for each", done.stderr)

    def test_wrong_files(self):
        self.write("s.mlir", test_estimate.model((1000, 500)))
        self.write("run.csv", test_estimate.EVENTS)
        for pair, says in ((("s.mlir", "run.csv"), "s.mlir holds a schedule"),
                           (("m.mlir", "s.mlir"), "s.mlir is a model (MLIR): each model is followed by a run of it"),
                           (("m.mlir", "run.csv"), "nothing was both estimated and measured"),
                           (("m.mlir", "gone.csv"), "gone.csv")):
            done = self.opscope("calibrate", *pair)
            self.assert_status(done, 2)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
