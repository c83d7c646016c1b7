# SPDX-License-Identifier: Apache-2.0
"""The page of `opscope view` in a real browser: Debian's Chromium, driven by tests/page/drive.mjs.

The driver uses the page once from end to end and says what it saw; the cases here compare that with the trace, whose every
time is known. Pictures of what it saw are in BUILD/test-logs/page/.
"""

import json
import os
import re
import shutil
import unittest

import harness
import pages
from serving import fetch
import test_estimate_models
import views

PUPPETEER_VERSION = harness.PUPPETEER_VERSION
TYPESCRIPT_VERSION = "7.0.2"
NODE_TYPES_VERSION = "26.6.6"
WEB = os.path.join(harness.SOURCE, "web")
PICTURES = os.path.join(harness.BUILD, "test-logs", "page")
STEPS = 10
MS = 1000000
HOSTILE = "<img src=x onerror=window.ran=true>\u202eelif"


def training(slower=0):
    """Ten steps of 50 ms: a batch is fetched while the device stands still, then 35 ms of runs. `slower` is how many ms more
    the fetching takes."""
    length = 50 + slower
    yield ("track", "MainThread", 100)
    for step in range(STEPS):
        at = step * length * MS
        yield ("frame", at, f"step {step}")
        yield ("zone", 0, at, at + (length - 1) * MS, "train_step", "train.py:10")
        yield ("zone", 1, at, at + (9 + step % 3 + slower) * MS, "load_batch", "train.py:86")
        yield ("zone", 2, at + MS, at + 8 * MS, "Queue.get", "queue.py:154")
        at += slower * MS
        yield ("zone", 1, at + 12 * MS, at + 40 * MS, "forward", "model.py:20")
        yield ("zone", 2, at + 13 * MS, at + 20 * MS, HOSTILE, "model.py:30")
    yield ("message", 20 * MS, "loss 2.5")
    yield ("device", "GPU 0", "made up")
    call = 0
    for step in range(STEPS):
        for run in range(7):
            start = (step * length + slower + 12 + run * 5) * MS - 2 * MS
            call += 1
            yield ("op", call, start - MS, start - MS // 2, "matmul" if run % 2 else "softmax")
            yield ("run", call, start, start + 5 * MS, "matmul" if run % 2 else "softmax")


class Scripts(harness.TestCase):
    """What needs no browser: the unit tests of the page, and its types."""

    def setUp(self):
        super().setUp()
        if not shutil.which("node"):
            self.skipTest("node is not installed")
        if not os.path.exists(os.path.join(WEB, "node_modules", "esbuild")):
            self.skipTest("the page was not built here (npm)")

    def test_units(self):
        for command in (["node", "build.mjs", "--test"], ["node", "--test", "build/test/"]):
            done = self.run_command(command, cwd=WEB)
            self.assertEqual(done.status, 0, done)
        counted = re.search(r"^# pass (\d+)$", done.stdout, re.M)
        self.assertIsNotNone(counted, done)
        self.assertGreater(int(counted.group(1)), 20)

    def test_types(self):
        types = harness.npm_package("@types/node", NODE_TYPES_VERSION)
        compiler = os.path.join(harness.npm_package("typescript", TYPESCRIPT_VERSION), "bin", "tsc")
        done = self.run_command(["node", compiler, "--noEmit", "--typeRoots", os.path.dirname(types)], cwd=WEB)
        self.assertEqual(done.status, 0, done)


class Driven(views.UsedOnce):
    """Whose page it is says open_page()."""

    def drive(self):
        puppeteer, chromium = self.browser()
        link, facts = self.open_page(self.trace(*training(), name="training.opscope"))
        driver = os.path.join(harness.SOURCE, "tests", "page", "drive.mjs")
        done = self.run_command(["node", driver, puppeteer, chromium, link, self.pictures, *self.others()])
        self.assertEqual(done.status, 0, done)
        seen = {**done.json(), **facts}
        return {**seen, **self.look(puppeteer, chromium, link)}

    def others(self):
        """Links of other servers that are used, too."""
        return []

    def look(self, puppeteer, chromium, link):
        """What else there is to see."""
        return {}

    def test_opens_with_an_answer(self):
        shown, api = self.seen["overview"], self.seen["api"]
        self.assertEqual(shown["title"], "training.opscope: overview")
        said = "".join(part["text"] for part in api["sentence"])
        self.assertEqual(shown["sentence"].replace(" ", ""), said.replace(" ", ""))
        self.assertAlmostEqual(sum(float(share.rstrip("%")) for share in shown["shares"]), 100.0, places=6)
        self.assertIn("Ops", shown["tabs"])
        self.assertIn("Messages", shown["tabs"])
        self.assertNotIn("Memory", shown["tabs"])
        self.assertFalse(shown["wide"])

    def test_has_roles_for_those_who_do_not_see_it(self):
        shown = self.seen["overview"]
        for role in ("banner", "main", "complementary", "navigation", "tree", "treeitem", "tab", "table"):
            self.assertIn(role, shown["roles"])
        self.assertTrue(any("GPU 0" in name for name in shown["tracks"]), shown["tracks"])
        self.assertTrue(any("MainThread" in name for name in shown["tracks"]), shown["tracks"])

    def test_draws_what_is_in_the_trace(self):
        pixels = self.seen["pixels"]
        self.assertNotIn("#ffffff", pixels["busy"], "the device runs here")
        self.assertEqual(len(pixels["busy"]), 1, pixels)
        self.assertIn("#fdf0dc", pixels["gap"], "the ground of a gap")
        self.assertGreater(len(pixels["gap"]), 1, "a gap is hatched")
        self.assertNotIn("#ffffff", pixels["host"])
        self.assertIn("#e9edf2", pixels["wait"], "the ground of a wait")

    def test_finds_a_zone(self):
        found = self.seen["find"]
        self.assertEqual(found["heading"], "load_batch")
        self.assertIn("10 calls in the window", found["inspector"])
        self.assertIn("longest11.0 ms", found["inspector"])
        self.assertIn("train.py:86", found["inspector"])
        self.assertIn("sel=name:load_batch", found["hash"])
        self.assertIn("load_batch", found["zone"])
        self.assertIn("11,000,000 ns", found["zone"])
        self.assertIn("train_step", found["zone"], "what it is inside of")
        self.assertRegex(found["spoken"], r"^load_batch, 11\.0 ms, MainThread, starts ")

    def test_selects_a_range(self):
        chosen = self.seen["range"]
        self.assertIn("Range", chosen["inspector"])
        self.assertIn("train_step", chosen["names"])
        self.assertIn("load_batch", chosen["names"])
        self.assertRegex(chosen["heading"], r"^2[345]\d ms$", "half of 500 ms, where no edge is near")

    def test_sorts_and_filters_ops(self):
        ops = self.seen["ops"]
        self.assertEqual(ops["before"]["sorted"], [["device ▾", "descending"]])
        self.assertEqual(ops["after"]["sorted"], [["count ▾", "descending"]])
        self.assertEqual(ops["after"]["first"], "softmax", "40 runs against 30")
        self.assertEqual(ops["filtered"], ["matmul"])
        self.assertIn("30 runs", ops["inspector"])

    def test_works_by_keyboard(self):
        keys = self.seen["keys"]
        self.assertIn("stood still for 15.0 ms", keys["gap"])
        self.assertTrue(keys["help"] and keys["helpClosed"] and keys["focused"], keys)

    def test_a_link_shows_the_same(self):
        self.assertEqual(self.seen["share"]["here"], self.seen["share"]["there"], self.seen["share"])

    def test_names_are_text(self):
        self.assertEqual(self.seen["hostile"], {"images": 0, "ran": False, "text": False})

    def test_fits_every_width(self):
        self.assertEqual([size["overflow"] for size in self.seen["sizes"]], [False, False, False], self.seen["sizes"])
        for name in ("overview-light-1440x900", "overview-dark-1280x720", "overview-light-1920x1080", "overview-light-420x900"):
            self.assertGreater(os.path.getsize(os.path.join(self.pictures, f"{name}.png")), 10000)


class Page(Driven, views.ViewCase):
    """Served by `opscope view`."""

    pictures = PICTURES

    def open_page(self, trace):
        server = self.start([harness.OPSCOPE, "view", trace])
        link = server.stdout.readline().decode().strip()
        self.assertTrue(link.startswith("http://127.0.0.1:"), link)
        if b"app.js" not in fetch(link):
            self.skipTest("this build has no page (npm)")
        return link, {"api": json.loads(fetch(link, "api/t/0/overview")), "licenses": fetch(link, "licenses.txt").decode()}

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def others(self):
        """A server of a run, a slower one, an estimate, and what was measured of it."""
        self.write("m.mlir", test_estimate_models.FLOW.format(n=1 << 20))
        self.write("run.jsonl", test_estimate_models.profile(9000000, 1 << 20, 2 << 20))
        paths = [self.trace(*training(), name="before.opscope"), self.trace(*training(10), name="after.opscope"),
                 self.path("model.opscope"), self.path("run.opscope")]
        options = ("--target", "cpu", *test_estimate_models.ONE_CORE)
        self.assert_status(self.opscope("estimate", self.path("m.mlir"), *options, "-o", paths[2]))
        self.assert_status(self.opscope("import", "iree", self.path("run.jsonl"), "-o", paths[3]))
        Page.several = self.start([harness.OPSCOPE, "view", *paths]).stdout.readline().decode().strip()
        return [Page.several]

    def look(self, puppeteer, chromium, link):
        screenshots = os.path.join(harness.SOURCE, "tests", "page", "screenshots.mjs")
        done = self.run_command(["node", screenshots, puppeteer, chromium, link, PICTURES])
        self.assertEqual(done.status, 0, done)
        return {"pictures": done.json(), "servers": [one.split("/?")[0] for one in (link, Page.several)]}

    def test_passes_on_the_licenses_of_what_it_contains(self):
        for package in ("preact ", "@preact/signals ", "@preact/signals-core "):
            self.assertIn(f"\n{package}", self.seen["licenses"])
        self.assertIn("Permission is hereby granted", self.seen["licenses"])

    def test_makes_a_range_the_window(self):
        chosen = self.seen["range"]
        self.assertIn("range", chosen["window"])
        self.assertNotIn("range", chosen["back"], "Back gives the window before")

    def test_asks_only_its_own_server(self):
        self.assertEqual(sorted(self.seen["origins"]), sorted(self.seen["servers"]))
        self.assertEqual(self.seen["console"], [])

    def test_pictures_show_no_fault(self):
        """No text is cut, overlapped, smaller than 11 px or weaker than 4.5 to 1, at every size and in every look."""
        pictures = self.seen["pictures"]
        for name in ("overview-light-1440x900", "overview-dark-1280x720", "overview-light-420x900", "overview-light-640x360at2"):
            self.assertIn(f"training-{name}", pictures)
        self.assertEqual({name: faults for name, faults in pictures.items() if faults}, {})
        for name in pictures:
            path = os.path.join(PICTURES, f"{name}.{'pdf' if '-print-' in name else 'png'}")
            self.assertGreater(os.path.getsize(path), 5000, name)

    def test_host_overhead_of_ops(self):
        seen = self.seen["overhead"]
        self.assertEqual(seen["head"], "70 calls, 35.0 ms on the host")
        self.assertEqual([row[:3] for row in seen["rows"]], [["softmax", "40", "20.0ms"], ["matmul", "30", "15.0ms"]])
        self.assertEqual(seen["rows"][0][8], "500µs", "from the return to the run")
        self.assertIn("Host overhead", self.seen["overview"]["tabs"])

    def test_compares_two_traces(self):
        seen = self.seen["compare"]
        api = seen["api"]
        self.assertIn("Compare", seen["tabs"])
        self.assertNotIn("Compare", self.seen["overview"]["tabs"], "one trace alone")
        said = "".join(part["text"] for part in api["sentence"])
        self.assertEqual(seen["sentence"].replace(" ", ""), said.replace(" ", ""))
        self.assertRegex(seen["sentence"], r"^B takes 90\.0 ms longer for ops and the gaps between them \(\+19% ± [^)]+\): gaps \+90\.0 ms\.$")
        self.assertEqual(seen["chart"], "From A, 485 ms, to B, 575 ms: gaps +90.0 ms")
        total = next(row for row in api["diff"]["totals"] if row["total"] == "total")
        self.assertEqual([api["waterfall"][f"{side}_ns"] for side in "ab"], [total["a"], total["b"]])
        self.assertAlmostEqual(seen["bars"][0] / seen["bars"][1], total["a"] / total["b"], delta=0.01, msg="bars have the sentence's basis")
        self.assertTrue(all(one["isInside"] for one in seen["texts"]), seen["texts"])
        self.assertEqual(seen["same"]["slower"], 0, "what is as fast is not red")
        self.assertEqual(len(seen["rows"]), len(api["diff"]["rows"]))
        first = seen["rows"][0]
        self.assertTrue(first[0].startswith("load_batch"), first)
        self.assertEqual(first[1:7], ["▲ slower", "10", "99.0ms", "199ms", "+100 ms", "+100 ms"])
        self.assertIn("gaps135 ms225 ms+90.0 ms", seen["totals"])
        self.assertTrue(seen["byB"].startswith("train_step"), "sorted by the time in B")
        self.assertIn("load_batch", seen["details"])
        self.assertEqual(seen["hostile"], {"images": 0, "ran": False, "text": False})
        self.assertRegex(seen["swapped"], r"^B takes 90\.0 ms less for ops and the gaps between them \(−16% ± ")

    def test_compared_timelines_share_a_scale(self):
        seen = self.seen["compare"]
        a, b = seen["byStart"]
        self.assertAlmostEqual(a, 10 / 599, delta=0.003, msg="the device begins after 10 ms of 599")
        self.assertAlmostEqual(b, 20 / 599, delta=0.003)
        a, b = seen["byOp"]
        self.assertAlmostEqual(a, b, delta=0.002, msg="aligned by the first run of an op")
        self.assertTrue(seen["zoomed"])

    def test_each_side_has_a_window(self):
        seen = self.seen["compare"]
        self.assertRegex(seen["window"]["hash"], r"aw=[^&]+\.\.[^&]+")
        self.assertNotIn("bw=", seen["window"]["hash"])
        self.assertRegex(seen["window"]["pills"][0], r"^A: .* to .*")
        self.assertTrue(seen["window"]["pills"][1].startswith("B: whole trace"))
        counts = {row[0].split()[0]: row[2] for row in seen["window"]["rows"]}
        self.assertRegex(counts["load_batch"], r"^[45] → 10$")
        self.assertEqual([pill.strip() for pill in seen["back"]], ["A: whole trace", "B: whole trace"])

    def test_an_estimate_beside_what_was_measured(self):
        seen = self.seen["estimate"]
        self.assertRegex(seen["sentence"], r"^Measured [\d.]+ × the estimate; f is off by [\d.]+ ×\.$")
        self.assertEqual((seen["dumbbells"], seen["hollow"], len(seen["rows"])), (1, 1, 1))
        self.assertEqual(seen["bars"], [True, False], "the estimate is hollow")
        self.assertEqual(seen["rows"][0][3], "1.05ms", "the shortest of its runs")
        self.assertIn("model.opscope is an estimate: it comes first", seen["refused"])
        self.assertTrue(all("400" in line for line in seen["console"]), seen["console"])

    def test_an_estimate_is_drawn_above_the_run(self):
        seen = self.seen["overlay"]
        self.assertTrue(seen["above"])
        self.assertEqual(seen["tree"].replace("\u00a0", " "), "estimate419 µs")
        self.assertEqual(seen["tip"].replace("\u00a0", " "), "festimated 419 µsmeasured 1.05 ms, 2.50 × the estimate")
        self.assertIn("sel=estimate:0", seen["hash"])
        self.assertIn("3 runs", seen["details"])
        self.assertIn("the shortest of 3 runs of the model", seen["details"].replace("\u00a0", " "))
        self.assertIn("Estimate2.50 × the estimate", seen["run"].replace("\u00a0", " "))

    def test_comparing_fits_every_width(self):
        self.assertEqual([size["overflow"] for size in self.seen["compareSizes"]], [False, False, False], self.seen["compareSizes"])

class File(Driven, views.ViewCase):
    """One file, without a server: `opscope view --html`."""

    pictures = os.path.join(PICTURES, "file")

    def open_page(self, trace):
        if not pages.are_built():
            self.skipTest(pages.NOT_BUILT)
        done = self.opscope("view", trace, "--html", self.path("page.html"))
        self.assertEqual((done.status, done.stdout, done.stderr), (0, "", ""))
        os.remove(trace)
        overview = pages.read(self.path("page.html")).chosen("overview")
        return f"file://{self.path('page.html')}", {"api": overview}

    def test_says_that_it_has_one_window(self):
        self.assertNotIn("range", self.seen["range"]["window"])

    def test_asks_nobody(self):
        self.assertEqual(self.seen["origins"], [])
        self.assertEqual(self.seen["console"], [], "nothing was refused by the policy either")


if __name__ == "__main__":
    unittest.main()
