# SPDX-License-Identifier: Apache-2.0
"""opscope zones and tree on traces whose every time is known."""

import re
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

    def test_waiting_in_a_window(self):
        trace = self.trace(("track", "main"), ("zone", 0, 0, 100 * MS, "serve"), ("zone", 1, 0, 90 * MS, "Queue.get"))
        rows = {row["name"]: row for row in self.rows("zones", trace, "--since", "50ms")}
        self.assertEqual(rows["serve"]["waiting_ns"], 40 * MS)
        self.assertEqual(rows["Queue.get"]["waiting_ns"], 40 * MS)


def training():
    """A main thread that works, and eight workers that wait in Queue.get, which calls Condition.wait."""
    yield "track", "main"
    yield "zone", 0, 0, 1000 * MS, "def train", "/srv/me/train.py:1"
    for i in range(60):
        yield "zone", 1, i * MS, i * MS + (i + 1) * 1000, f"def step{i}", f"/srv/me/train.py:{10 + i}"
    for worker in range(8):
        yield "track", f"worker{worker}"
        yield "zone", 0, 0, 1000 * MS, "def Thread.run", "/usr/lib/python3.11/threading.py:9"
        yield "zone", 1, 0, 998 * MS, "def Queue.get", "/usr/lib/python3.11/queue.py:7"
        yield "zone", 2, 0, 997 * MS, "def Condition.wait", "/usr/lib/python3.11/threading.py:99"


POOL, LEAK = re.compile(r"pool \d+ +\d"), re.compile(r"pool \d+ +zone \d")


class Screen(ViewCase):
    def test_zones_fit_a_terminal_and_show_work_first(self):
        trace = self.trace(*training())
        for rows, columns in ((24, 80), (40, 120)):
            lines = self.on_terminal("zones", trace, rows=rows, columns=columns)
            self.assertLess(len(lines), rows)
            self.assertTrue(lines[1].startswith("train "), lines)
            heading = [line.strip() for line in lines].index("waiting:")
            below = [line.split()[0] for line in lines[heading + 1:heading + 4]]
            self.assertEqual(below, ["Thread.run", "Queue.get", "Condition.wait"])
            self.assertTrue(any("of 64 rows (--all shows all)" in line for line in lines), lines)
        self.assertGreater(len(self.on_terminal("zones", trace, "--all")), 64)
        self.assertEqual(len([line for line in self.on_terminal("zones", trace, "--top", "5") if ".py:" in line]), 5)

    def test_a_pipe_gets_all_rows(self):
        trace = self.trace(*training())
        self.assertEqual(self.show("zones", trace).count(".py:"), 64)
        self.assertEqual(len(self.rows("zones", trace)), 64)
        self.assertEqual(self.rows("zones", trace)[0]["name"], "Thread.run")  # by total, as before

    def test_another_order_is_kept(self):
        trace = self.trace(*training())
        lines = self.on_terminal("zones", trace, "--sort", "count")
        self.assertLess(len(lines), 24)
        self.assertNotIn("waiting:", [line.strip() for line in lines])

    def test_trees_fit_and_keep_their_parents(self):
        trace = self.trace(*training())
        lines = self.on_terminal("tree", trace)
        self.assertLess(len(lines), 24)
        self.assertIn("main", lines[1])
        self.assertIn("train", lines[2])
        self.assertTrue(any("more are not shown (--all shows all)" in line for line in lines), lines)
        self.assertFalse(any("more are not shown" in line for line in self.on_terminal("tree", trace, "--all")))

    def test_both_tables_of_memory_share_the_terminal(self):
        def pools(count, leaks):
            lines = [("track", "main"), ("free", 1, 0x1, "pool 0")]
            for i in range(count):
                lines += [("alloc", 10 + i, 0x1000 + i, 1 + i, f"pool {i}"), ("free", 500 + i, 0x1000 + i, f"pool {i}")]
            for i in range(leaks):
                lines += [("zone", 0, 1000 + 2 * i, 1001 + 2 * i, f"zone {i}"), ("alloc", 1000 + 2 * i, 0x9000 + i, 1, "pool 0")]
            return self.trace(*lines)

        for count, leaks, rows in ((40, 40, 24), (3, 40, 24), (40, 2, 24), (60, 60, 40), (40, 0, 24), (5, 3, 24)):
            lines = self.on_terminal("memory", pools(count, leaks), rows=rows)
            self.assertLess(len(lines), rows, lines)
            for row, there in ((POOL, count), (LEAK, leaks)):
                shown = len([line for line in lines if row.match(line)])
                self.assertGreaterEqual(shown, min(there, 3), lines)
                self.assertEqual(f"{shown} of {there} rows (--all shows all)" in "\n".join(lines), shown < there, lines)
        trace = pools(40, 40)
        self.assertEqual(len([line for line in self.on_terminal("memory", trace, "--all") if LEAK.match(line)]), 40)
        top = self.on_terminal("memory", trace, "--top", "3")
        self.assertEqual([len([line for line in top if row.match(line)]) for row in (POOL, LEAK)], [3, 3])
        self.assertEqual(self.show("memory", trace, "--all").count("  zone "), 40)
        self.assertEqual(len(self.rows("memory", trace)), 40)

    def test_waiting_comes_last_among_siblings(self):
        trace = self.trace(("track", "main"), ("zone", 0, 0, 100, "main"), ("zone", 1, 0, 60, "poll"),
                           ("zone", 1, 60, 90, "work"), ("zone", 1, 90, 95, "more"))
        self.assertEqual([row["name"] for row in self.rows("tree", trace)], ["main", "work", "more", "poll"])
        self.assertEqual([row["waiting_ns"] for row in self.rows("tree", trace)], [60, 0, 0, 60])

    def test_waiting_is_own_time_and_counts_once(self):
        trace = self.trace(("track", "main"), ("zone", 0, 0, 100, "f"), ("zone", 1, 10, 90, "f"),
                           ("zone", 2, 20, 80, "wait_for"), ("zone", 3, 30, 70, "work"), ("zone", 4, 40, 50, "sleep"))
        found = {row["name"]: row["waiting_ns"] for row in self.rows("zones", trace)}
        self.assertEqual(found, {"f": 30, "wait_for": 30, "work": 10, "sleep": 10})
        found = {row["name"]: row["waiting_ns"] for row in self.rows("zones", trace, "--name", "work")}
        self.assertEqual(found, {"work": 10})


class Names(ViewCase):
    def test_names_of_zones_can_be_read_in_a_comparison(self):
        """At 60 columns other columns give way: names of six characters were all alike."""
        names = ("Condition.wait_for", "Condition.wait_all", "Thread.start_now")
        traces = [self.trace(("track", "main"),
                             *(("zone", 0, 100000000 * i, 100000000 * i + factor * 1234567, name)
                               for i, name in enumerate(names)), name=f"{factor}.opscope")
                  for factor in (7, 13)]
        text = self.opscope("diff", *traces, env={"COLUMNS": "60"}).stdout
        for name in names:
            self.assertIn(name, text)
        self.assertIn("own change", text)
        rows = [line for line in text.split("\n") if line.startswith("slower ")]
        self.assertEqual(len(rows), 3, text)
        self.assertLessEqual(max(len(line) for line in rows), 60)

    def test_tree_shows_what_was_asked_for_however_small(self):
        trace = self.trace(("track", "main"), ("zone", 0, 0, 100000, "main"), ("zone", 1, 10, 20, "outer"),
                           ("zone", 2, 12, 15, "tiny"), ("zone", 1, 30, 40, "other"))
        text = self.show("tree", trace, "--name", "tiny")
        for name in ("main", "outer", "tiny"):
            self.assertIn(name, text)
        self.assertNotIn("other", text)
        self.assertNotIn("tiny", self.show("tree", trace))

    def test_places_have_as_much_of_the_path_as_tells_them_apart(self):
        files = ["/lib/json/__init__.py", "/lib/re/__init__.py", "/lib/x/re/__init__.py", "/lib/abc.py"]
        lines = [("zone", 0, 10 * i, 10 * i + 5, "def <module>", f"{file}:1") for i, file in enumerate(files)]
        trace = self.trace(("track", "main"), *lines)
        text = self.show("zones", trace)
        for place in ("  json/__init__.py:1 ", "  lib/re/__init__.py:1 ", "  x/re/__init__.py:1 ", "  abc.py:1 "):
            self.assertIn(place, text)
        self.assertIn("  /lib/json/__init__.py:1 ", self.show("zones", trace, "--wide"))

    def test_one_long_name_does_not_widen_the_others(self):
        lines = [("zone", 0, 10 * i, 10 * i + 5, f"zone{i}") for i in range(500)]
        trace = self.trace(("track", "main"), ("zone", 0, 9000, 9001, "x" * 60000), *lines)
        text = self.show("zones", trace)
        self.assertIn("x" * 60000, text)  # whole all the same
        self.assertLess(len(text), 60000 + 501 * 250)


if __name__ == "__main__":
    unittest.main()
