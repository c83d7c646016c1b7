# SPDX-License-Identifier: Apache-2.0
"""Filters when looking at zones: files, modules, one's own code, signposts; callers and callees."""

import os
import unittest

from views import ViewCase


class Filters(ViewCase):
    def mixed(self):
        own = self.path("work")
        os.makedirs(own, exist_ok=True)
        return self.trace(
            ("track", "main"),
            ("signpost", 150, "warm up"), ("signpost", 400, "go"), ("signpost", 700, "stop"),
            ("signpost", 900, "go"),
            ("zone", 0, 0, 1000, "def main", f"{own}/main.py:1"),
            ("zone", 1, 100, 300, "def forward", f"{own}/model/net.py:9"),
            ("zone", 1, 300, 500, "def Linear.forward", "/opt/site-packages/torch/nn/linear.py:7"),
            ("zone", 1, 500, 600, "def dumps", "/usr/lib/python3.11/json/__init__.py:3"),
            ("zone", 1, 600, 700, "native", "kernels/add.c:5"),
            ("zone", 1, 700, 800, "import torch.nn"),
            ("zone", 1, 800, 900, "no place"),
            ("zone", 1, 900, 950, "def nnx", "/opt/site-packages/torch/nnx.py:7"),
        )

    def names(self, *options, **run):
        done = self.opscope("zones", self.mixed(), "--json", *options, **run)
        self.assert_status(done)
        return {row["name"] for row in done.json()["rows"]}

    def test_files(self):
        self.assertEqual(self.names("--file", "net.py"), {"forward"})
        self.assertEqual(self.names("--file", "model/*"), {"forward"})
        self.assertEqual(self.names("--file", "*/torch/*"), {"Linear.forward", "nnx"})
        self.assertEqual(self.names("--file", "net.py", "--file", "main.py"), {"main", "forward"})
        self.assertEqual(self.names("--file", "*.py", "--name", "d*"), {"dumps"})

    def test_modules(self):
        self.assertEqual(self.names("--module", "torch.nn"), {"Linear.forward", "import torch.nn"})
        self.assertEqual(self.names("--module", "json"), {"dumps"})
        self.assertEqual(self.names("--module", "kernels"), {"native"})

    def test_mine(self):
        self.assertEqual(self.names("--mine", cwd=self.path("work")), {"main", "forward", "native"})

    def test_what_is_not_there_is_an_error(self):
        trace = self.trace(("track", "main"), ("signpost", 5, "begin"), ("zone", 0, 0, 9, "a", "/x/a.py:1"))
        for options, message in ((("--file", "b.py"), "no zone is in a file that matches 'b.py'"),
                                 (("--module", "b"), "no zone is in a module that matches 'b'"),
                                 (("--mine",), "no zone is in a file below "),
                                 (("--start-signpost", "typo"), "no signpost 'typo'; the trace has 'begin'"),
                                 (("--start-signpost", "begin", "--end-signpost", "begin"),
                                  "no signpost 'begin' after the start")):
            for command in ("zones", "tree"):
                done = self.opscope(command, trace, *options)
                self.assert_status(done, 2)
                self.assertIn(message, done.stderr)

    def test_signposts_make_a_window(self):
        trace = self.mixed()
        done = self.opscope_json("zones", trace, "--start-signpost", "go", "--end-signpost", "stop")
        self.assertEqual(done["wall_ns"], 300)
        rows = {row["name"]: row["total_ns"] for row in done["rows"]}
        self.assertEqual(rows, {"main": 300, "Linear.forward": 100, "dumps": 100, "native": 100})
        done = self.opscope_json("tree", trace, "--start-signpost", "go", "--end-signpost", "go", "--since", "450ns")
        self.assertEqual(done["wall_ns"], 450)

    def test_tree_keeps_what_is_around(self):
        done = self.opscope("tree", self.mixed(), "--file", "net.py")
        self.assert_status(done)
        self.assertIn("main", done.stdout)
        self.assertIn("forward", done.stdout)
        self.assertNotIn("dumps", done.stdout)

    def test_tree_leaves_out_what_others_do_below(self):
        """All of a program is below its main function: what libraries do there is not one's own code."""
        trace = self.trace(
            ("track", "main"),
            ("zone", 0, 0, 1000, "def main", "main.py:1"),
            ("zone", 1, 0, 100, "def put", "/usr/lib/python3.11/queue.py:3"),
            ("zone", 2, 10, 20, "allocate"),
            ("zone", 1, 100, 400, "def run", "/usr/lib/python3.11/asyncio/events.py:9"),
            ("zone", 2, 200, 300, "def callback", "main.py:9"),
            ("zone", 3, 210, 220, "no place"),
            ("zone", 3, 220, 230, "def get", "/usr/lib/python3.11/queue.py:7"),
        )
        for options in (("--mine",), ("--file", "main.py"), ("--module", "main"), ("--mine", "--name", "main")):
            rows = self.opscope_json("tree", trace, "--min-percent", "0", *options, cwd=self.folder)["rows"]
            self.assertEqual([row["name"] for row in rows], ["main", "run", "callback", "no place"], options)
            self.assertEqual([row["total_ns"] for row in rows], [1000, 300, 100, 10], options)
        rows = self.opscope_json("tree", trace, "--name", "main")["rows"]
        self.assertEqual(len(rows), 7)


class Calls(ViewCase):
    def trace_of_calls(self):
        return self.trace(
            ("track", "main"),
            ("zone", 0, 0, 1000, "main"),
            ("zone", 1, 0, 400, "load"),
            ("zone", 2, 100, 300, "parse"),
            ("zone", 3, 150, 250, "parse"),  # recursive
            ("zone", 4, 160, 180, "token"),
            ("zone", 1, 500, 600, "parse"),
            ("zone", 2, 510, 530, "token"),
            ("track", "other"),
            ("zone", 0, 0, 50, "parse"),
        )

    def table(self, *options):
        found = self.opscope_json("zones", self.trace_of_calls(), *options)
        return found, {row["name"]: (row["count"], row["total_ns"]) for row in found["rows"]}

    def test_callers_add_up(self):
        found, rows = self.table("--callers", "parse")
        self.assertEqual((found["count"], found["total_ns"]), (4, 350))
        self.assertEqual(rows, {"load": (1, 200), "main": (1, 100), "parse": (1, 0),
                                "(nothing: an outermost zone)": (1, 50)})
        self.assertAlmostEqual(sum(row["share_percent"] for row in found["rows"]), 100)

    def test_callees(self):
        found, rows = self.table("--callees", "parse")
        self.assertEqual(found["self_ns"], 310)
        self.assertEqual(rows, {"(itself)": (None, 310), "token": (2, 40), "parse": (1, 0)})

    def test_none(self):
        done = self.opscope("zones", self.trace_of_calls(), "--callers", "nobody")
        self.assert_status(done, 2)
        self.assertIn("no zone matches 'nobody'", done.stderr)
        done = self.opscope("zones", self.trace_of_calls(), "--callers", "a", "--callees", "b")
        self.assert_status(done, 2)


if __name__ == "__main__":
    unittest.main()
