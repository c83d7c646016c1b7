# SPDX-License-Identifier: Apache-2.0
"""opscope zones and tree on traces whose every time is known."""

import unittest

from views import ViewCase

MS = 1_000_000


def recursive():
    """f calls itself three levels deep, twice; 100 ms in all, f covers 40 of them."""
    yield "track", "main"
    yield "zone", 0, 1, 1 + 100 * MS, "main", "a.c:1"
    for start in (10 * MS, 50 * MS):
        for depth in range(3):
            yield "zone", 1 + depth, start + depth * MS, start + (20 - depth) * MS, "f", "a.c:9"


class Recursion(ViewCase):
    def test_time_inside_an_outer_zone_of_the_name_counts_once(self):
        trace = self.trace(*recursive())
        rows = {row["name"]: row for row in self.rows("zones", trace)}
        self.assertEqual(rows["f"]["count"], 6)
        self.assertEqual(rows["f"]["total_ns"], 40 * MS)
        self.assertEqual(rows["f"]["sum_ns"], 2 * (20 + 18 + 16) * MS)
        self.assertAlmostEqual(rows["f"]["wall_percent"], 40)
        self.assertEqual(rows["f"]["mean_ns"], 18 * MS)
        self.assertEqual(rows["main"]["total_ns"], rows["main"]["sum_ns"])

    def test_only_recursion_has_a_column_for_the_sum(self):
        flat = self.trace(("track", "main"), ("zone", 0, 1, 9, "a"), name="flat.opscope")
        self.assertIn(" sum", self.show("zones", self.trace(*recursive())).splitlines()[0])
        self.assertNotIn(" sum", self.show("zones", flat).splitlines()[0])

    def test_other_threads_count_by_themselves(self):
        lines = list(recursive())
        trace = self.trace(*lines, ("track", "other"), ("zone", 0, 10 * MS, 30 * MS, "f", "a.c:9"))
        rows = {row["name"]: row for row in self.rows("zones", trace)}
        self.assertEqual(rows["f"]["total_ns"], 60 * MS)
        rows = {(row["name"], row["thread"]): row for row in self.rows("zones", trace, "--by", "thread")}
        self.assertEqual(rows["f", "main"]["total_ns"], 40 * MS)
        self.assertEqual(rows["f", "other"]["total_ns"], 20 * MS)

    def test_budgets_and_diff_use_it(self):
        trace = self.trace(*recursive())
        config = self.path("opscope.toml")
        for limit, status in (("41ms", 0), ("39ms", 1)):
            with open(config, "w", encoding="utf-8") as file:
                file.write(f'[[check.budget]]\nzone = "f"\nmax-total = "{limit}"\nmax-mean = "18ms"\n')
            self.show("check", trace, "--config", config, status=status)
        rows = {row["name"]: row for row in self.rows("diff", trace, trace, "--all", "--only", "zones")}
        self.assertEqual(rows["f"]["b_total_ns"], 40 * MS)


class Windows(ViewCase):
    def test_zones_are_cut_to_the_window(self):
        trace = self.trace(*recursive())
        window = ("--since", "20ms", "--until", "60ms")
        rows = {row["name"]: row for row in self.rows("zones", trace, *window)}
        self.assertEqual(rows["main"]["total_ns"], 40 * MS)
        self.assertEqual(rows["main"]["wall_percent"], 100)
        self.assertEqual(rows["f"]["total_ns"], 20 * MS)
        self.assertEqual(rows["main"]["self_ns"], 20 * MS)
        nodes = {row["depth"]: row for row in self.rows("tree", trace, *window)}
        self.assertEqual(nodes[0]["total_ns"], 40 * MS)
        self.assertEqual(nodes[0]["self_ns"], 20 * MS)
        self.assertEqual(nodes[1]["total_ns"], 20 * MS)


if __name__ == "__main__":
    unittest.main()
