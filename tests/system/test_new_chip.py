# SPDX-License-Identifier: Apache-2.0
"""examples/new-chip: a made-up accelerator whose runtime uses the device feed, from its program to a report with rooflines.
Durations are computed by the simulated chip (chip_model.h), so that they are known to the tick."""

import collections
import os
import re
import unittest

import facts
import harness

FOLDER = os.path.join(harness.SOURCE, "examples", "new-chip")
HZ = 1.2e9
DRIFT = 37e-6
MATMUL_NS = 2 * 256 * 512 * 1024 / 512 / 4 / 0.5 / HZ * 1e9
RELU_NS = 2 * 256 * 1024 * 2 / 50 / HZ * 1e9
COPY_NS = {"first": 512 * 1024 * 2 / 10 / HZ * 1e9, "input": 256 * 512 * 2 / 10 / HZ * 1e9}


class NewChip(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.trace = self.path("t.opscope")
        done = self.opscope("run", "-o", self.trace, "--", harness.example("new-chip"))
        self.assert_status(done)
        self.assertEqual(done.stdout, "3 steps\n")

    def rows(self):
        return harness.opscope_json("ops", self.trace)["rows"]

    def test_ops_and_their_runs(self):
        rows = self.rows()
        names = collections.Counter((row["name"], row["runs"]) for row in rows)
        self.assertEqual(
            names,
            {("copy in", 1): 5, ("copy out", 1): 3, ("matmul", 1): 2, ("UnaryOp relu", 1): 1, ("matmul", 2): 2,
             ("UnaryOp relu", 2): 1},
        )
        for row in rows:
            if row["name"] == "matmul":
                self.assertAlmostEqual(row["device_time_ns"] / row["runs"] / MATMUL_NS, 1, delta=1e-3)
                self.assertEqual(row["kernels"], "acme_matmul_bf16")
                self.assertEqual(row["cores"], 4)
            elif row["name"] == "UnaryOp relu":
                self.assertAlmostEqual(row["device_time_ns"] / row["runs"] / RELU_NS, 1, delta=1e-3)
        self.assertAlmostEqual(rows[0]["device_time_ns"] / COPY_NS["first"], 1, delta=1e-3)
        self.assertAlmostEqual(rows[2]["device_time_ns"] / COPY_NS["input"], 1, delta=1e-3)
        self.assertEqual(rows[3]["inputs"], "256x512 BFLOAT16 ROW_MAJOR DEV_0_DRAM; 512x1024 BFLOAT16 ROW_MAJOR DEV_0_DRAM")
        self.assertIn("MATRIX [ticks]=131072", rows[3]["figures"])
        self.assertIn("BYTES=1835008", rows[3]["figures"])

    def test_tracks(self):
        tracks = facts.Trace(self.trace).info["tracks"]
        zones = {(track["kind"], track["name"]): track["zones"] for track in tracks if track["kind"] != "thread"}
        self.assertEqual(
            zones,
            {("device", "Acme X1"): 0, ("queue", "compute queue"): 9, ("DMA", "DMA in"): 5, ("DMA", "DMA out"): 3,
             ("core", "core 0"): 9, ("core", "core 1"): 9, ("core", "core 2"): 6, ("core", "core 3"): 6},
        )
        self.assertEqual({track["architecture"] for track in tracks if track["kind"] == "device"}, {"acme_x1"})

    def test_drift_is_measured(self):
        """As well as the clocks that were read allow: two points, each with its uncertainty."""
        info = facts.Trace(self.trace).info
        clock = [clock for clock in info["clocks"] if clock["kind"] == "device"][0]
        self.assertGreaterEqual(clock["points"], 2)
        runs = [row for row in self.rows() if row["name"] == "copy out"]
        span_ns = runs[-1]["device_start_ns"] - runs[0]["device_start_ns"]  # the points lie further apart
        off = 2 * (clock["max_uncertainty_ns"] + 1) / span_ns
        self.assertAlmostEqual(clock["measured_hz"] / HZ - 1, DRIFT, delta=off)

    def test_runs_begin_after_their_launch(self):
        clock = [clock for clock in facts.Trace(self.trace).info["clocks"] if clock["kind"] == "device"][0]
        for row in self.rows():
            self.assertGreaterEqual(row["device_start_ns"] + clock["max_uncertainty_ns"], row["start_ns"], row)

    def test_report_with_a_machine_file_of_its_own(self):
        env = {"OPSCOPE_MACHINES": FOLDER}
        report = harness.opscope_json("report", self.trace, env=env)
        shares = [row["flops_percent"] for row in report["rows"] if row.get("op", "").startswith("matmul") and row["flops_percent"]]
        self.assertEqual(len(shares), 6)
        for share in shares:
            self.assertAlmostEqual(share, 50, delta=0.1)
        text = self.opscope("report", self.trace, env=env)
        self.assertIn("Acme X1, an accelerator that does not exist, 4 cores, 60 GB/s", text.stdout)
        for word in ("program_config", "L1", "sharded"):  # advice for another vendor's chips
            self.assertNotIn(word, text.stdout)
        bare = self.opscope("report", self.trace)
        self.assertIn("no machine file describes 'acme_x1'", bare.stdout + bare.stderr)

    def test_gaps_are_time_in_which_no_engine_worked(self):
        """Not what each engine waited; and ops that ran in replays alone are not missing."""
        report = harness.opscope_json("report", self.trace)
        summary = harness.opscope_json("summary", self.trace)
        busy = [part["ns"] for part in summary["partition"]["parts"] if part["key"] == "busy"][0]
        idle_us = (summary["partition"]["total_ns"] - busy) / 1000
        self.assertAlmostEqual(report["busy_us"], busy / 1000, delta=1)
        self.assertGreater(report["gap_us"], 0)
        self.assertLessEqual(report["gap_us"], idle_us + 1)
        self.assertEqual(report["invalid_durations"], 0)

    def test_model_and_machine_file_agree(self):
        with open(os.path.join(FOLDER, "chip_model.h"), encoding="utf-8") as file:
            model = dict(re.findall(r"#define CHIP_(\w+) ([\d.]+)", file.read()))
        figures = harness.opscope_json("machine", "show", os.path.join(FOLDER, "acme_x1.json"))["rows"]
        figures = {row["figure"]: row["value"] for row in figures}
        self.assertEqual(figures["worker_cores"], float(model["CORES"]))
        self.assertAlmostEqual(figures["dram_gb_s"], float(model["DRAM_PER_TICK"]) * HZ / 1e9)
        self.assertAlmostEqual(figures["tflops_per_core_hifi2"], float(model["FLOPS_PER_TICK"]) * HZ / 1e12)


class WithoutOpscope(harness.TestCase):
    def test_program_runs_alone(self):
        done = self.run_command([harness.example("new-chip")])
        self.assert_status(done)
        self.assertEqual(done.stdout, "3 steps\n")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
