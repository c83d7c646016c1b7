# SPDX-License-Identifier: Apache-2.0
"""`make demo`, and the examples: they are the first thing that a person sees."""

import os
import unittest

import harness


class Demo(harness.TestCase):
    def test_zone_table_has_processes_and_threads(self):
        script = os.path.join(harness.SOURCE, "scripts", "demo.sh")
        done = self.run_command([script, harness.BUILD])
        self.assert_status(done)
        self.assertIn("What next:", done.stdout)
        trace = os.path.join(harness.BUILD, "demo.opscope")
        rows = self.opscope_json("zones", "--by", "thread", trace)["rows"]
        tracks = {(row["pid"], row["tid"]) for row in rows}
        self.assertGreaterEqual(len({pid for pid, _ in tracks}), 2, rows)
        self.assertGreaterEqual(len(tracks), 4, rows)
        for row in rows:
            self.assertIn(row["name"], done.stdout)

    def test_examples_run_without_a_session(self):
        examples = sorted(os.listdir(harness.EXAMPLES))
        self.assertTrue(examples)
        for name in examples:
            with self.subTest(name):
                path = harness.example(name)
                if os.path.isfile(path) and os.access(path, os.X_OK):
                    self.assert_status(self.run_command([path]))


if __name__ == "__main__":
    unittest.main()
