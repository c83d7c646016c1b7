# SPDX-License-Identifier: Apache-2.0
"""The loop of examples/iree: estimate, compile, run, annotate, report, compare. With IREE where it is installed, and on
runs of it that are kept as reference data."""

import json
import os
import re
import shutil
import sys
import unittest

import harness
import pages

LOOP = os.path.join(harness.SOURCE, "examples", "iree", "loop.sh")
ACCURACY = os.path.join(harness.SOURCE, "examples", "iree", "accuracy.py")
MODELS = ("mlp", "cnn", "block", "int8")
TOOLS = ("iree-compile", "iree-run-module", "iree-benchmark-module")
BARE_PATH = "/usr/bin:/bin"


class Loop(harness.TestCase):
    def assert_reported(self, model, trace):
        """Dispatches with rooflines, and advice about them."""
        rows = self.opscope_json("report", trace, "--min-percentage", "0")["rows"]
        self.assertTrue(rows, model)
        computing = [row for row in rows if "matmul" in row["op"]]
        self.assertTrue(computing and all(row["flops_percent"] and (row["dram_percent"] or row["cache_share_percent"]) for row in computing), model)
        self.assertTrue(any(row["advice"] for row in rows), model)
        self.assertNotIn("CCL", {row["category"] for row in rows})  # a dispatch is no collective

    def test_without_iree(self):
        if shutil.which(TOOLS[0], path=BARE_PATH):
            self.skipTest("IREE is installed for everybody")
        done = self.run_command([LOOP], env={"PATH": BARE_PATH, "OPSCOPE_PROGRAM": harness.OPSCOPE})
        self.assert_status(done, 77)
        self.assertIn("skipped: iree-compile is not installed (pip install iree-base-compiler", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_models_can_be_estimated(self):
        for model in MODELS:
            found = self.opscope_json("estimate", os.path.join(os.path.dirname(LOOP), model + ".mlir"), "--target", "cpu")
            self.assertGreater(found["time_ns"], 0)
            self.assertFalse([note for note in found["notes"] if "not in the table" in note or "not known" in note], model)

    def test_with_iree(self):
        missing = [tool for tool in TOOLS if not shutil.which(tool)]
        if missing:
            self.skipTest(f"{missing[0]} is not installed")
        if not pages.are_built():
            self.skipTest(pages.NOT_BUILT)
        done = self.run_command([LOOP, "-o", "out"], env={"OPSCOPE_PROGRAM": harness.OPSCOPE})
        self.assert_status(done)
        for model in MODELS:
            self.assertIn(f"== {model}: estimate against run", done.stdout)
            self.assertRegex(done.stderr, r"dispatches +main_dispatch_0_")
            self.assert_reported(model, self.path("out", model + ".opscope"))
            flow = self.path("out", model + ".phases", model + ".6.flow.mlir")
            found = self.opscope_json("diff", flow, self.path("out", model + ".ireeprof"))
            self.assertEqual({row["runs"] % 20 for row in found["rows"]}, {0})
            print(f"{model}: {len(found['rows'])} dispatches, factor {found['median_factor']:.2f}")
            page = pages.read(self.path("out", model + ".diff.html"))
            self.assertEqual(len(page.json("compare")["estimate"]["rows"]), len(found["rows"]))
        self.assertNotIn("not aligned", done.stderr)
        self.assertIn("after", done.stdout.split("all models")[1])

    def test_reference_runs(self):
        for model in MODELS:
            with self.subTest(model):
                data = harness.reference_data("iree", model)
                flow = os.path.join(data, "phases", model + ".6.flow.mlir")
                estimate = self.opscope_json("estimate", os.path.join(data, model + ".mlir"), "--target", "cpu")
                self.assertTrue(estimate["rows"])
                done = self.opscope("run", "-o", "run.opscope", "--device-profile", "p.jsonl", "--", "cp",
                                    os.path.join(data, "local-sync.jsonl"), "p.jsonl")
                self.assert_status(done)
                self.assertIn("p.jsonl: not aligned with the host", done.stderr)  # it is of another machine
                self.assertRegex(done.stderr, r"dispatches +main_dispatch_")
                found = self.opscope_json("annotate", os.path.join(data, "phases"), "p.jsonl", "a.csv", "-o", "a.opscope",
                                          "--target-option", "engines=1")
                with open(os.path.join(data, "local-sync.jsonl"), encoding="utf-8") as file:
                    events = [json.loads(line) for line in file]
                ran = [event["duration_ns"] for event in events
                       if event["record_type"] == "host_execution_event" and event["op"] == "dispatch"]
                self.assertEqual(sum(row["runs"] for row in found["rows"]), len(ran))
                self.assertEqual(min(row["least_ns"] for row in found["rows"]), min(ran))
                self.assertTrue(all(re.match(r'loc\("' + model, row["location"]) for row in found["rows"]))
                self.assert_reported(model, "a.opscope")
                done = self.opscope("diff", flow, "p.jsonl", "--target-option", "engines=1", "--json")
                self.assert_status(done)
                self.assertEqual(len(done.json()["rows"]), len(found["rows"]))
                print(f"{model}: {len(found['rows'])} dispatches, {len(ran)} runs, factor {done.json()['median_factor']:.2f}")


class Accuracy(harness.TestCase):
    def measure(self, *arguments, **variables):
        os.makedirs(self.path("models", "below"), exist_ok=True)
        os.makedirs(self.path("fit"), exist_ok=True)
        shutil.copy(os.path.join(os.path.dirname(LOOP), "int8.mlir"), self.path("models", "below"))
        shutil.copy(os.path.join(os.path.dirname(LOOP), "mlp.mlir"), self.path("fit"))
        with open(self.path("models", "wrong.mlir"), "w", encoding="ascii") as file:
            file.write("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  my.thing %x\n}\n")
        return self.run_command([sys.executable, ACCURACY, "models", "--fit", "fit", "-o", "out", *arguments],
                                env={"OPSCOPE_PROGRAM": harness.OPSCOPE, **variables})

    def test_without_iree(self):
        if shutil.which(TOOLS[0], path=BARE_PATH):
            self.skipTest("IREE is installed for everybody")
        done = self.measure(PATH=BARE_PATH)
        self.assert_status(done, 77)
        self.assertIn("skipped: iree-compile is not installed (pip install iree-base-compiler", done.stderr)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_with_iree(self):
        missing = [tool for tool in TOOLS if not shutil.which(tool)]
        if missing:
            self.skipTest(f"{missing[0]} is not installed")
        done = self.measure()
        self.assert_status(done)
        self.assertIn("2 models: 1 measured, 1 not compiled", done.stdout)
        rows = [line.split() for line in done.stdout.splitlines() if re.match(r"\w+ +\d+ ", line)]
        self.assertEqual(rows[-1][0], "all")
        self.assertEqual(int(rows[-1][1]), sum(int(row[1]) for row in rows[:-1]))
        self.assertTrue(all(float(cell) >= 1 for row in rows for cell in row[2:]), done.stdout)
        self.assertEqual(self.measure().stdout, done.stdout)  # nothing is measured again
        print(done.stdout)


if __name__ == "__main__":
    unittest.main()
