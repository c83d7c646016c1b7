# SPDX-License-Identifier: Apache-2.0
"""Tracks, search, flows and ranges of the page in a real browser, driven by tests/page/interact.mjs."""

import os
import unittest

import harness
import views

MS = 1000000
DEPTHS = 120
PICTURES = os.path.join(harness.BUILD, "test-logs", "page")


def program():
    """Five steps of 50 ms on a thread that is 120 deep, two workers, and a device that runs what a step launches."""
    yield ("track", "MainThread", 1)
    for step in range(5):
        at = step * 50 * MS
        yield ("zone", 0, at, at + 49 * MS, "step", "train.py:10")
        yield ("zone", 1, at + MS, at + 10 * MS, "launch_all", "train.py:20")
        yield ("zone", 1, at + 12 * MS, at + 40 * MS, "level 1", "deep.py:1")
        for depth in range(2, DEPTHS):
            yield ("zone", depth, at + 12 * MS + depth, at + 40 * MS - depth, f"level {depth}", "deep.py:1")
    yield from device()
    for worker in (1, 2):
        yield ("track", f"worker {worker}", 1)
        yield ("zone", 0, worker * MS, (100 + worker) * MS, "work", "work.py:1")


def device():
    yield ("device", "GPU 0", "made up")
    for step in range(5):
        at = step * 50 * MS
        for place, name in enumerate(("softmax", "matmul")):
            call = step * 2 + place + 1
            yield ("op", call, at + (2 + place) * MS, at + (2 + place) * MS + 1000, name)
            yield ("run", call, at + (20 + place * 8) * MS, at + (26 + place * 8) * MS, name)
    yield ("device", "GPU 1", "made up")
    yield ("op", 99, 100, 200, "copy")
    yield ("run", 99, 21 * MS, 22 * MS, "copy")


class Tracks(views.UsedOnce, views.ViewCase):
    def drive(self):
        puppeteer, chromium = self.browser()
        if not os.path.exists(os.path.join(harness.SOURCE, "web", "node_modules", "esbuild")):
            self.skipTest("the page was not built here (npm)")
        trace = self.trace(*program(), name="tracks.opscope")
        server = self.start([harness.OPSCOPE, "view", trace])
        link = server.stdout.readline().decode().strip()
        driver = os.path.join(harness.SOURCE, "tests", "page", "interact.mjs")
        done = self.run_command(["node", driver, puppeteer, chromium, link, PICTURES])
        self.assertEqual(done.status, 0, done)
        return done.json()

    def ids(self, *names):
        return [self.seen["ids"][name] for name in names]

    def order(self, moment):
        """The threads in the order in which they are shown, pinned ones with that word before them."""
        threads = self.ids("MainThread", "worker 1", "worker 2")
        return [node for node in self.seen["tracks"][moment] if node.removeprefix("pinned") in threads]

    def test_hint_on_the_first_visit(self):
        self.assertIn("Drag to measure", self.seen["hint"]["before"])
        self.assertIsNone(self.seen["hint"]["after"], "any key dismisses it")

    def test_several_devices_are_named(self):
        self.assertTrue(self.seen["devices"].startswith("ops of 2 devices (0, 1) merged: "), self.seen["devices"])

    def test_tracks_are_moved_pinned_hidden_and_come_back(self):
        main, one, two = self.ids("MainThread", "worker 1", "worker 2")
        self.assertEqual(self.order("start"), [main, one, two])
        self.assertEqual(self.order("moved"), [main, two, one])
        self.assertEqual(self.seen["tracks"]["focused"], two, "the header that was moved keeps the focus")
        self.assertEqual(self.order("pinned"), [f"pinned{two}", main, one])
        self.assertIn("› worker 2", self.seen["tracks"]["path"])
        self.assertEqual(self.order("unpinned"), [main, two, one])
        self.assertEqual(self.order("hidden"), [main, one])
        self.assertIn("1 track hidden", self.seen["tracks"]["note"])
        self.assertEqual(self.order("back"), [main, two, one])
        self.assertEqual(self.order("only"), [one])
        self.assertEqual(self.order("dragged"), [main, one, two])

    def test_a_deep_track_scrolls_by_itself(self):
        deep = self.seen["deep"]
        self.assertRegex(deep["before"], r"\+\d+ deeper")
        self.assertRegex(deep["all"], rf"1 to \d+ of {DEPTHS}")
        self.assertLess(deep["share"], 0.65)
        self.assertRegex(deep["scrolled"], rf"11 to \d+ of {DEPTHS}")
        self.assertEqual(deep["after"], deep["before"])

    def test_search_is_restricted(self):
        found = self.seen["search"]
        self.assertEqual(set(found["file"]["rows"]), {"step", "launch_all"})
        self.assertEqual((found["kind"]["groups"], found["kind"]["rows"]), (["Ops"], ["matmul"]))
        self.assertEqual(set(found["longest"]["rows"]), {"step", "work"})
        self.assertEqual(found["wildcard"]["rows"], ["launch_all"])
        self.assertEqual(found["expression"]["rows"], ["step"])
        self.assertEqual(found["track"]["rows"], ["Show only tracks with 'worker'", "worker 1", "worker 2"])
        self.assertIn("No name contains 'nothing like it'", found["nothing"]["all"])
        self.assertEqual((found["commands"]["groups"], found["commands"]["rows"]), (["Commands"], ["Light or dark"]))
        self.assertEqual(self.seen["theme"], "dark", "a command acts")

    def test_flows_lead_from_the_host_to_the_device_and_back(self):
        flows = self.seen["flows"]
        self.assertIn("What it launched2 runs", flows["zone"])
        self.assertTrue(flows["first"][0].startswith("Run of an op"), flows)
        self.assertEqual([flows["first"][1], flows["second"][1]], ["softmax", "matmul"])
        self.assertEqual(flows["back"], ["Zone", "launch_all"])
        self.assertRegex(flows["hit"], r"^\d of 5$")

    def test_two_ranges_are_compared(self):
        ranges = self.seen["ranges"]
        self.assertEqual(ranges["tag"], "Two ranges")
        self.assertRegex(ranges["heading"], r"^\S+ ms against \S+ ms$")
        self.assertIn("step", ranges["names"])
        self.assertRegex(ranges["hash"], r"sel=range:\S+\.\.\S+,\S+\.\.\S+")

    def test_regions_are_reached_by_keyboard_and_show_it(self):
        names = [name for name, _ in self.seen["regions"]]
        for part in ("Panels", "Timeline", "Tables", "Details"):
            self.assertIn(part, names)
        self.assertTrue(all(ring for _, ring in self.seen["regions"]), self.seen["regions"])

    def test_nothing_complains(self):
        self.assertEqual(self.seen["problems"], [])


if __name__ == "__main__":
    unittest.main()
