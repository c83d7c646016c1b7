# SPDX-License-Identifier: Apache-2.0
"""The page by keyboard and for screen readers, in a real browser (tests/page/reach.mjs); axe-core looks at every panel."""

import os
import unittest

import harness
import views

MS = 1000000
AXE_VERSION = "4.14.1"
PANELS = ("overview", "timeline", "ops", "zones", "flame", "memory", "messages", "overhead", "compare",
          "timeline&sel=op:matmul", "timeline&sel=name:forward", "timeline&sel=range:20ms..60ms")


def program(scale):
    """A device that runs two ops in each of six steps, what launches them, memory, a message, and lost zones."""
    yield ("device", "chip 0", "made up")
    yield ("track", "MainThread", 1)
    for step in range(6):
        at = step * 20 * MS
        yield ("frame", at, "step")
        yield ("zone", 0, at, at + 19 * MS, "train_step", "train.py:1")
        yield ("zone", 1, at, at + 6 * MS, "loader.next", "train.py:3")
        yield ("zone", 1, at + 6 * MS, at + 18 * MS, "forward", "train.py:4")
        yield ("alloc", at + 7 * MS, 4096 + step, 1 << 20, "-")
        for place, (name, start, end) in enumerate((("matmul", 8, 12 + scale), ("softmax", 14, 17))):
            call = step * 2 + place + 1
            yield ("op", call, at + 6 * MS + place, at + 6 * MS + place + 1000, name)
            yield ("run", call, at + start * MS, at + end * MS, name)
    yield ("message", 10, "hello")
    yield ("lost", 7)
    for number in range(12):
        yield ("track", f"worker {number}", 1)
        yield ("zone", 0, 0, (number + 1) * MS, f"work {number}", "work.py:1")


def crowd():
    """200 processes and 100 threads, of which two and three did something."""
    yield from program(0)
    for number in range(100):
        yield ("track", f"helper {number}", 1)
        yield ("zone", 0, 0, 90 * MS if number < 3 else 1000, "help", "help.py:1")
    for number in range(200):
        yield ("track", f"child-{number}", 2 + number)
        yield ("zone", 0, 0, 80 * MS if number < 2 else 2000, "child", "child.py:1")


class Reach(views.UsedOnce, views.ViewCase):
    def drive(self):
        puppeteer, chromium = self.browser()
        if not os.path.exists(os.path.join(harness.SOURCE, "web", "node_modules", "esbuild")):
            self.skipTest("the page was not built here (npm)")
        try:
            axe = harness.npm_package("axe-core", AXE_VERSION)
        except unittest.SkipTest as skip:
            axe, self.__class__.without_axe = "-", str(skip)
        traces = [self.trace(*program(0), name="a.opscope"), self.trace(*program(1), name="b.opscope")]
        traces.append(self.trace(*crowd(), name="crowd.opscope"))
        traces.append(self.trace(name="empty.opscope"))
        server = self.start([harness.OPSCOPE, "view", *traces])
        link = server.stdout.readline().decode().strip()
        driver = os.path.join(harness.SOURCE, "tests", "page", "reach.mjs")
        done = self.run_command(["node", driver, puppeteer, chromium, link, axe, *PANELS])
        self.assertEqual(done.status, 0, done)
        return done.json()

    without_axe = None

    def test_axe_finds_nothing_on_any_panel(self):
        if self.seen["axe"] is None:
            self.skipTest(self.without_axe)
        self.assertEqual(set(self.seen["axe"]), {"help", *(f"{panel} {theme}" for panel in PANELS for theme in ("light", "dark"))})
        self.assertEqual({name: found for name, found in self.seen["axe"].items() if found}, {})

    def test_a_menu_is_used_by_keyboard(self):
        menus = self.seen["menus"]
        self.assertEqual((menus["first"], menus["second"], menus["around"]), (menus["entries"][0], menus["entries"][1], menus["entries"][0]))
        self.assertEqual((menus["closed"], menus["back"]), (0, "Share or export"), "the focus returns")

    def test_escape_closes_the_topmost_alone(self):
        menus = self.seen["menus"]
        self.assertTrue(menus["selection"], "the menu went, the selection stayed")
        self.assertEqual((menus["helpFocus"], menus["kept"]), ("Close", True), "so with help")

    def test_a_table_is_one_stop(self):
        tables = self.seen["tables"]
        self.assertGreater(tables["rows"], 10)
        self.assertEqual((tables["stops"], tables["moved"]), (1, ["3"]), tables)
        self.assertGreater(tables["boxes"], 3)
        self.assertEqual(tables["boxStops"], 1)
        self.assertEqual([name.split(",")[0] for name in tables["flame"]], ["train_step", "forward"], tables)

    def test_runs_of_a_device_are_spoken(self):
        self.assertRegex(self.seen["spoken"][0], r"^matmul, 4\.00 ms, chip 0, starts 8\.0000 ms$")
        self.assertRegex(self.seen["spoken"][1], r"^softmax, 3\.00 ms, chip 0, starts 14\.000 ms$")

    def test_the_table_of_zones_has_percentiles_and_a_filter(self):
        rest = self.seen["rest"]
        for head in ("p50", "p99", "max"):
            self.assertIn(head, rest["heads"])
        load, = [row for row in rest["rows"] if row[0] == "loader.next"]
        self.assertEqual([load[rest["heads"].index(head)] for head in ("p50", "p99", "max")], ["6.00ms"] * 3)
        self.assertEqual(rest["choices"][0], "of all threads")
        self.assertEqual([row[0] for row in rest["filtered"]], ["work 11"], "the busiest worker alone")

    def test_an_inspector_at_rest_is_about_its_tab(self):
        rest = self.seen["rest"]
        self.assertIn("By filetrain.py", rest["zones"].replace("own time, in the window", ""))
        self.assertIn("By thread", rest["zones"])
        self.assertEqual(rest["file"], "train.py", "a click filters the table")
        self.assertRegex(rest["ops"], "By kind.*matmul")
        self.assertRegex(rest["flame"], "The heaviest path ends in forward.*train_step")

    def test_processes_and_threads_that_do_nothing_are_one_line(self):
        many = self.seen["many"]
        self.assertIn("97 more threads", many["tree"])
        self.assertIn("198 more processes", many["tree"])
        self.assertTrue({"helper 0", "helper 1", "helper 2", "child-0", "child-1"} < set(many["tree"]), many["tree"])
        self.assertRegex(many["title"], r"^198 more processes, 0\.3% busy: 396 µs in all$")
        self.assertEqual(many["results"], ["Show only tracks with 'child-150'", "child-150"])
        self.assertLess(many["elements"], 900)
        self.assertLess(many["elementsOpen"], 1500, "only what is seen has elements")

    def test_names_stand_above_their_tracks_on_a_phone(self):
        phone = self.seen["phone"]
        self.assertIn("MainThread", phone["names"])
        self.assertEqual((phone["cut"], phone["plot"], phone["sentence"]), ([], 420, [True, True]))

    def test_an_empty_trace_has_no_empty_places(self):
        nothing = self.seen["nothing"]
        self.assertIn("This trace has no zones and no ops", nothing["text"])
        self.assertIn("nothing was recorded", nothing["text"])
        self.assertEqual((nothing["drawer"], nothing["sections"]), (0, ["Where the time went", "What to do next"]))
        self.assertNotIn("length", nothing["facts"])

    def test_things_are_called_what_they_are(self):
        words = self.seen["words"]
        self.assertTrue(words["context"].startswith("These numbers are about:"), words["context"])
        for said in ("at most saved", "How close each op is to the hardware limit", "opscope machine measure --save cpu.json"):
            self.assertIn(said, words["band"])
        self.assertIn("In nanoseconds", words["gap"])
        self.assertIn("mostly in", words["gaps"])
        self.assertIn("delay until start", words["overhead"])
        self.assertTrue({"per call"} < set(words["compare"]) and any(head.startswith("change of own time") for head in words["compare"]), words["compare"])

    def test_nothing_complains(self):
        self.assertEqual(self.seen["problems"], [])


if __name__ == "__main__":
    unittest.main()
