# SPDX-License-Identifier: Apache-2.0
"""bench/summary.py: what matters of a speed table, at the head of its document."""

import os
import sys
import unittest

import harness

TABLE = """# Benchmarks

- a line of before

Made by one run.

## Spine

| what | median | best | floor or peer, same run | ratio | budget |  |
| --- | --- | --- | --- | --- | --- | --- |
| zone pair, 1 thread | 20 ns | 19 ns | 10 ns (2 clock reads) | 2.00 x | <= 1.10 x | MISSED |
| zone pair, 2 threads | 1,030 ns | 25 ns | 10 ns (2 clock reads) | 3.00 x | <= 1.10 x | MISSED |
| zone pair, no session | 0.5 ns | 0.5 ns |  |  | <= 1 ns | met |
| opscope zones, 50 M zones | 3 ms |  |  |  |  |  |
"""


class BenchSummary(harness.TestCase):
    def summarised(self, text, *options):
        with open(self.path("t.md"), "w", encoding="utf-8") as file:
            file.write(text)
        self.assert_status(self.run_command(
            [sys.executable, os.path.join(harness.SOURCE, "bench", "summary.py"), *options, self.path("t.md")]))
        with open(self.path("t.md"), encoding="utf-8") as file:
            return file.read()

    def test_lines_come_from_the_rows_that_were_measured(self):
        made = self.summarised(TABLE)
        self.assertEqual(made[made.index("Made by"):], TABLE[TABLE.index("Made by"):])
        lines = [line for line in made.split("Made by")[0].splitlines() if line.startswith("- ")]
        self.assertEqual(len(lines), 2, lines)  # of 50 M zones only one of three figures is there
        self.assertIn("20 to 1,030 ns, 2.00 to 3.00 x", lines[0])
        self.assertIn("0.5 ns", lines[0])
        self.assertIn("1 met, 2 missed: zone pair, 1 thread; zone pair, 2 threads", lines[1])
        self.assertEqual(self.summarised(made), made)

    def test_the_documents_say_what_their_tables_say(self):
        for name, lines, options in (("benchmarks.md", 10, ()), ("benchmarks-intel.md", 5, ("--short",))):
            with open(os.path.join(harness.SOURCE, "docs", name), encoding="utf-8") as file:
                text = file.read()
            made = self.summarised(text, *options)
            self.assertEqual(made, text)
            self.assertEqual(sum(line.startswith("- **") for line in made.split("## ")[0].splitlines()[:lines + 3]), lines)


if __name__ == "__main__":
    unittest.main()
