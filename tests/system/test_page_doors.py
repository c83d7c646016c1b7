# SPDX-License-Identifier: Apache-2.0
"""The doors of the page: what a row names is what a click on it selects, and its outline is on the screen (tests/page/doors.mjs)."""

import os
import re
import unittest

import harness
import views
from test_page import PICTURES

MS = 1000000
STEPS = 6


def program():
    """Six steps; in each two ops begin on the device at one time, after a gap, and one follows them. The first step is slow."""
    yield ("track", "MainThread", 1)
    at = 0
    call = 0
    for step in range(STEPS):
        length = (60 if step == 0 else 20 + step) * MS
        yield ("frame", at, "step")
        yield ("zone", 0, at, at + length - MS, "train_step", "train.py:3")
        begin = at + 6 * MS
        for name, start, end in (("softmax", 0, 3 + step), ("matmul", 0, 5), ("relu", 10, 11)):
            call += 1
            yield ("zone", 1, begin + call * 10, begin + call * 10 + 5, name, "train.py:4")
            yield ("op", call, begin + call * 10, begin + call * 10 + 5, name)
            yield ("run", call, begin + start * MS + MS, begin + end * MS + MS, name)
        at += length
    yield ("frame", at, "step")
    yield ("message", 30 * MS, "loss 2.5")
    yield ("message", 30 * MS, "rate 0.1")
    yield ("signpost", 90 * MS, "EPOCH")
    yield ("lost", 12, 100 * MS, 101 * MS)
    yield ("alloc", 92 * MS, 4096, 1 << 20, "-")
    yield ("free", 95 * MS, 4096, "-")


def devices():
    yield ("device", "chip 0", "made up")
    yield from program()


def normal(text):
    return " ".join(text.replace("\u00a0", " ").split())


class Doors(views.UsedOnce, views.ViewCase):
    def traces(self):
        return [self.trace(*devices(), name="doors.opscope")]

    options = ()

    def drive(self):
        puppeteer, chromium = self.browser()
        if not os.path.exists(os.path.join(harness.SOURCE, "web", "node_modules", "esbuild")):
            self.skipTest("the page was not built here (npm)")
        server = self.start([harness.OPSCOPE, "view", *self.traces()])
        link = server.stdout.readline().decode().strip()
        driver = os.path.join(harness.SOURCE, "tests", "page", "doors.mjs")
        pictures = os.path.join(PICTURES, type(self).__name__.lower())
        done = self.run_command(["node", driver, puppeteer, chromium, link, pictures, *self.options], timeout=600)
        self.assertEqual(done.status, 0, done)
        return done.json()

    def doors(self, *kinds):
        found = [door for door in self.seen["seen"] if door["door"] in kinds]
        self.assertTrue(found, kinds)
        return found

    def assert_outlined(self, door):
        """The ring of the selection is on the stage, and the view is at least three times as long as what is selected."""
        ring = door["now"]["ring"]
        self.assertIsNotNone(ring, door)
        self.assertTrue(ring["there"] and ring["painted"] >= 2, door)
        start, end = (int(time) for time in door["now"]["selection"].rsplit(":", 1)[1].split(".."))
        [length] = [trace["duration_ns"] for trace in self.seen["traces"] if trace["id"] == door["id"]]
        self.assertTrue(ring["share"] < 0.34 or 3 * (end - start) > length, door)

    def test_nothing_complained(self):
        self.assertEqual(self.seen["problems"], [])

    def test_advice_leads_to_what_costs_most(self):
        for door in self.doors("advice"):
            evidence, now = door["evidence"], door["now"]
            self.assertIn(f"{evidence['start']}..{evidence['end']}", now["selection"], door)
            if evidence["kind"] == "gap":
                self.assertEqual(now["tag"], "Gap", door)
                self.assertEqual(int(re.sub(r"\D", "", now["whole"])), evidence["end"] - evidence["start"], door)
            else:
                self.assertTrue(now["tag"].startswith("Run of an op"), door)
                self.assertEqual(now["whole"], evidence["name"], door)
            self.assertIn("What to change", now["inspector"], door)
            self.assert_outlined(door)

    def test_runs_that_an_op_lists_are_of_that_op(self):
        for door in self.doors("longest run", "percentile"):
            now = door["now"]
            length = normal(door["said"]["cells"][-1] if door["door"] == "longest run" else door["said"]["text"])
            self.assertEqual(now["title"], door["name"], door)
            self.assertIn(f"{door['name']} {length}", normal(now["lengths"]), door)
            self.assert_outlined(door)

    def test_a_row_of_the_table_selects_its_op(self):
        for door in self.doors("op"):
            self.assertTrue(normal(door["said"]["text"]).startswith(door["now"]["title"]), door)

    def test_a_gap_is_the_one_of_its_row(self):
        for door in self.doors("gap"):
            now, cells = door["now"], [normal(cell) for cell in door["said"]["cells"]]
            self.assertIn(cells[0], now["lengths"], door)
            length = now["title"].rsplit(" for ", 1)[1]
            self.assertIn(length.replace(" ", ""), "".join(cells).replace(" ", ""), door)
            self.assert_outlined(door)


class OfProgram(Doors):
    """Those that need zones, frames and messages."""

    def test_runs_that_begin_together_are_told_apart(self):
        lanes = {door["name"]: door["now"]["selection"].split(":")[2] for door in self.doors("longest run")}
        self.assertEqual({lanes["softmax"], lanes["matmul"]}, {"0", "1"})

    def test_calls_of_a_zone(self):
        for door in self.doors("longest call"):
            now = door["now"]
            self.assertEqual((now["tag"], now["title"]), ("Zone", door["name"]), door)
            self.assertIn(normal(door["said"]["cells"][-2]), now["lengths"], door)
            self.assert_outlined(door)

    def test_what_a_zone_launched(self):
        for door in self.doors("launched"):
            self.assertIn(door["now"]["title"], door["said"]["text"], door)
            self.assert_outlined(door)

    def test_a_message_is_shown_on_the_timeline(self):
        for door in self.doors("message"):
            now, cells = door["now"], [normal(cell) for cell in door["said"]["cells"]]
            self.assertIn(cells[0], now["title"], door)
            self.assertEqual(now["panel"], "timeline", door)
            self.assertGreaterEqual(door["lines"], 1 if now["tag"] == "Message" else 0, door)

    def test_steps_have_numbers_and_lengths(self):
        steps = [normal(door["said"]["text"]) for door in self.doors("message") if door["now"]["selection"].startswith("range")]
        self.assertTrue(steps[0].startswith("step 1"), steps)
        self.assertIn("60.0", steps[0])
        self.assertTrue(any("step 2" in one for one in steps), steps)

    def test_a_message_that_was_searched_for(self):
        """The second of two that came at one time."""
        [door] = self.doors("search")
        self.assertEqual((door["now"]["tag"], door["now"]["title"]), ("Message", "rate 0.1"), door)
        self.assertGreaterEqual(door["lines"], 1)

    def test_the_peak_of_a_pool_is_a_moment(self):
        [door] = self.doors("peak")
        self.assertEqual((door["now"]["tag"], door["now"]["panel"]), ("Moment", "timeline"), door)
        self.assertIn(f"moment:{92 * MS}", door["now"]["selection"])
        self.assertGreaterEqual(door["lines"], 1)

    def test_what_was_lost_is_shown(self):
        [door] = self.doors("loss")
        self.assertIn("12", door["said"]["text"])
        self.assertGreater(door["hatched"], 20, "its hatch is on the stage")

    def test_marks_that_were_kept_stay(self):
        """Whatever else is clicked: a row of messages once took them away."""
        marks = self.seen["marks"]
        self.assertEqual(marks, {"before": 2, "after": 2})


class OfTenstorrent(Doors):
    """The traces of another tool's tables: what runs of a device count there is not what is drawn."""

    options = ("--few",)

    def traces(self):
        root = harness.reference_data("tenstorrent")
        return [os.path.join(folder, name) for folder, _, names in sorted(os.walk(root)) for name in sorted(names)
                if name in ("golden.csv", "falcon3_7b_tp4_4dev.csv") or (name == "ops_perf_results.csv" and "golden_full" == os.path.basename(folder))]


del Doors  # what all have in common has no trace of its own


if __name__ == "__main__":
    unittest.main()
