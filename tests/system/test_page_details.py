# SPDX-License-Identifier: Apache-2.0
"""Steps, cores, gaps, ops and several selected things on the page, links and paper, in a real browser (tests/page/details.mjs)."""

import os
import unittest

import harness
import views
from test_page import PICTURES

MS = 1000000
STEPS = 5
SOURCE = ["import data", "for step in range(5):", "    x = next(loader)", "    loss = model(x)", "    loss.backward()"]


def program(source):
    """Five steps of 20 ms: the loader takes 6 of them, in which the device stands still; two ops run for 5 and 3 ms."""
    yield ("source", source)
    yield ("device", "chip 0", "made up")
    yield ("track", "MainThread", 1)
    for step in range(STEPS):
        at = step * 20 * MS
        yield ("frame", at, "step")
        yield ("zone", 0, at, at + 6 * MS, "loader.next", f"{source}:3")
        yield ("zone", 0, at + 6 * MS, at + 19 * MS, "forward", f"{source}:4")
        for place, (name, start, end) in enumerate((("matmul", 8, 13), ("softmax", 14, 17))):
            call = step * 2 + place + 1
            yield ("op", call, at + 6 * MS + place, at + 6 * MS + place + 1000, name)
            yield ("run", call, at + start * MS, at + end * MS, name)
    yield ("frame", STEPS * 20 * MS, "step")
    yield ("track", "idle thread", 1)
    yield ("zone", 0, 0, MS, "start", f"{source}:1")
    yield ("track", "worker", 1)
    yield ("zone", 0, MS, 90 * MS, "work", f"{source}:1")
    for core, busy in enumerate((10, 40, 0, 20)):
        yield ("core", f"core {core % 2},{core // 2}")
        if busy:
            yield ("zone", 0, 0, busy * MS, "kernel", "k.c:1")


class Details(views.UsedOnce, views.ViewCase):
    def drive(self):
        puppeteer, chromium = self.browser()
        if not os.path.exists(os.path.join(harness.SOURCE, "web", "node_modules", "esbuild")):
            self.skipTest("the page was not built here (npm)")
        source = self.path("train.py")
        with open(source, "w", encoding="utf-8") as file:
            file.write("\n".join(SOURCE) + "\n")
        with open(self.path("times.csv"), "w", encoding="utf-8") as file:
            file.write("op,count,python min dispatch time (ms),python mean dispatch time(ms),python mean dispatch + sync time (ms)\n"
                       "torch.add,800,0.021,0.024,0.11\ntorch.mul,800,0.031,0.034,0.12\n<b class=x>,1,0.5,0.5,0.6\n")
        self.assert_status(self.opscope("overhead", "--show", "times.csv", "--html", "times.html"))
        trace = self.trace(*program(source), name="details.opscope")
        self.assert_status(self.opscope("view", trace, "--html", "saved.html"))
        server = self.start([harness.OPSCOPE, "view", trace])
        link = server.stdout.readline().decode().strip()
        driver = os.path.join(harness.SOURCE, "tests", "page", "details.mjs")
        done = self.run_command(["node", driver, puppeteer, chromium, link, self.path("times.html"), self.path("saved.html"), os.path.join(PICTURES, "details")])
        self.assertEqual(done.status, 0, done)
        return done.json()

    def test_nothing_complained(self):
        self.assertEqual(self.seen["problems"], [])

    def test_steps_are_stacked_by_kind(self):
        steps = self.seen["steps"]
        self.assertEqual((steps["title"], steps["columns"]), ("Time per step", STEPS))
        self.assertEqual(steps["legend"], ["matmul", "softmax", "idle"])
        self.assertIn("step 1: 20.0 ms\nmatmul 5.00 ms\nsoftmax 3.00 ms\nidle 12.0 ms", steps["titles"][0])
        for column in steps["heights"]:
            (_, matmul), (_, softmax), (name, idle) = column
            self.assertEqual(name, "step-idle")
            self.assertAlmostEqual(matmul / softmax, 5 / 3, places=2)
            self.assertAlmostEqual(idle / softmax, 12 / 3, places=2)

    def test_a_step_is_selected(self):
        self.assertIn("sel=range:20ms..40ms", self.seen["steps"]["chosen"])
        self.assertEqual(self.seen["steps"]["ring"], 1)

    def test_cores_as_on_the_chip(self):
        cores = self.seen["cores"]
        self.assertEqual(cores["title"], "Which core")
        self.assertEqual(cores["cells"], [["core 0,0: 10% busy", "core heat2"], ["core 1,0: 40% busy", "core heat5"],
                                          ["core 0,1: 0% busy", "core heat0"], ["core 1,1: 20% busy", "core heat3"]])
        self.assertIn("core 1,0", cores["shown"])

    def test_a_gap_has_its_source_and_what_helps(self):
        gap = self.seen["gap"]
        self.assertLess(gap["titles"].index("What the host did meanwhile"), gap["titles"].index("Source"))
        self.assertEqual(gap["on"], [f"3{SOURCE[2]}"])
        self.assertIn(f"4{SOURCE[3]}", gap["source"])
        self.assertIn("Make the next batch while the device works", gap["remedy"])
        self.assertRegex(gap["remedy"], r"At most .* in \d+ gaps\.")

    def test_an_op_is_outlined_wherever_it_ran(self):
        op = self.seen["op"]
        self.assertGreater(op["after"], op["before"] + 100)
        self.assertIn("25.0 ms in 5 runs", op["inspector"])
        self.assertEqual(len(op["runs"]), STEPS)
        self.assertRegex(op["runs"][0], r"at 8\.0000 ms5\.00 ms")

    def test_an_op_and_a_run_show_the_code_that_launched_them(self):
        there = {"places": ["train.py:4 (forward)"], "on": [f"4{SOURCE[3]}"]}
        self.assertEqual(self.seen["op"]["launched"], there)
        self.assertEqual(self.seen["op"]["closed"], {**there, "on": []})
        self.assertEqual(self.seen["op"]["launchedRun"], there)

    def test_a_saved_file_shows_of_an_op_and_a_zone_what_the_served_page_does(self):
        served, saved = self.seen["served"], self.seen["saved"]
        self.assertIn("train.py:4 (forward)", served["op"])
        self.assertEqual(saved, served)
        self.assertIn(f"4{SOURCE[3]}", saved["zone"])

    def test_colours_of_ops_are_chosen(self):
        op = self.seen["op"]
        self.assertNotEqual(op["byName"], op["byBound"])
        self.assertIn("colours=bound", op["link"])

    def test_several_are_selected_with_ctrl(self):
        several = self.seen["several"]
        self.assertIn("3 zones", several["three"])
        self.assertIn("25.0 ms in all", several["three"])
        self.assertEqual(several["two"], "2 zones")
        self.assertIn("sel=set:", several["link"])
        self.assertIn("25.0 ms in all", several["again"], "a link has the same")

    def test_hidden_and_moved_tracks_are_in_the_link(self):
        shared = self.seen["shared"]
        worker, main, idle = shared["ids"]
        self.assertEqual([node for node in shared["tracks"] if node in shared["ids"]], [worker, main])
        self.assertIn("1 track hidden", shared["note"])
        self.assertIn(f"hide={idle}&order={worker},{main}", shared["link"])

    def test_the_text_names_the_longest_intervals(self):
        self.assertIn("work, 89.0 ms, starts at 1.0000 ms", self.seen["said"])
        self.assertEqual(self.seen["said"].count("forward, 13.0 ms"), STEPS)

    def test_paper_is_light(self):
        paper = self.seen["paper"]
        self.assertLess(paper["dark"], 70)
        self.assertGreater(paper["paper"], 180)
        self.assertGreater(paper["coloured"], 50, "the runs of matmul")
        self.assertAlmostEqual(paper["after"], paper["dark"], delta=3)

    def test_the_page_of_dispatch_times(self):
        overhead = self.seen["overhead"]
        self.assertEqual(overhead["title"], "Host overhead")
        self.assertEqual(overhead["sentence"], "Of 3 ops <b class=x> is the slowest to call: it returns after 500 µs, the op in the middle after 31.0 µs.")
        self.assertEqual(overhead["rows"], ["<b class=x>", "torch.mul", "torch.add"])
        self.assertEqual(overhead["markup"], 0)
        self.assertIn("returns after 500 µs", overhead["inspector"])
        self.assertEqual(overhead["filtered"], ["torch.add"])


if __name__ == "__main__":
    unittest.main()
