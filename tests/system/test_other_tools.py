# SPDX-License-Identifier: Apache-2.0
"""The program under the names of the tools whose arguments it takes: tt-perf-report, annotate_profiling.py."""

import os
import unittest

import harness
import ops_csv
import test_estimate


class OtherTools(harness.TestCase):
    def setUp(self):
        super().setUp()
        for name in ("tt-perf-report", "annotate_profiling.py"):
            os.symlink(harness.OPSCOPE, self.path(name))
        self.write("ops.csv", ops_csv.text_of(ops_csv.good_rows()))

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def tool(self, name, *arguments):
        return self.run_command([self.path(name), *arguments], cwd=self.folder)

    def test_the_report_is_that_of_the_original(self):
        ours = self.opscope("report", "--compat", "1.2.4", "ops.csv")
        done = self.tool("tt-perf-report", "ops.csv")
        self.assert_status(done)
        self.assertEqual(done.stdout, ours.stdout)
        self.assertIn("OP Code", done.stdout)

    def test_the_file_after_csv_is_never_an_input(self):
        self.assert_status(self.opscope("report", "--compat", "1.2.4", "ops.csv", "--csv=ours.csv"))
        for _ in range(2):  # the second time it is there, and could be read
            self.assert_status(self.tool("tt-perf-report", "ops.csv", "--csv", "its.csv"))
            self.assertEqual(self.read("its.csv"), self.read("ours.csv"))

    def test_every_option_of_the_original(self):
        for words in ("--start-signpost x", "--end-signpost x", "--ignore-signposts", "--print-signposts",
                      "--min-percentage 1.5", "--id-range 2-4", "--arch wormhole", "--color", "--no-color", "--csv t.csv",
                      "--no-advice", "--tracing-mode", "--raw-op-codes", "--no-host-ops", "--no-summary",
                      "--no-stacked-report", "--group-by category", "--classic-colors", "--summary-file s",
                      "--stacked-csv s", "--no-stack-by-in0", "--no-merge-devices"):
            with self.subTest(words):
                self.assert_status(self.tool("tt-perf-report", "ops.csv", *words.split()))
        self.assert_status(self.tool("tt-perf-report", "ops.csv", "--group-by", "nothing"), 2)
        self.assert_status(self.tool("tt-perf-report", "--help"))

    def test_annotate(self):
        self.write("m.10.executable-targets.mlir", test_estimate.model((1000, 500), (2000, 700)))
        self.write("run.csv", test_estimate.EVENTS)
        self.assert_status(self.opscope("annotate", "m.10.executable-targets.mlir", "run.csv", "ours.csv"))
        self.assert_status(self.tool("annotate_profiling.py", "m.10.executable-targets.mlir", "run.csv", "its.csv", "--debug"))
        self.assertEqual(self.read("its.csv"), self.read("ours.csv"))


if __name__ == "__main__":
    unittest.main()
