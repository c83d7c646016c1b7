# SPDX-License-Identifier: Apache-2.0
"""What a runtime says of its device through the feed: clocks that count from anywhere, runs that overlap on one queue,
devices that each process counts by itself (programs/device_feed.c; docs/new-chip.md)."""

import unittest

import harness


class Feed(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.program = harness.program("device_feed")
        self.trace = self.path("t.opscope")

    def record(self, *command):
        self.assert_status(self.opscope("run", "-o", self.trace, "--devices", "none", "--", *command))

    def runs(self):
        done = self.opscope("export", "--format", "chrome", "-o", "-", self.trace)
        self.assert_status(done)
        return [event for event in done.json()["traceEvents"] if event.get("cat") == "run"]

    def test_clocks_that_count_from_anywhere(self):
        """From 0, and beyond the 56 bits that a record's head has room for, as nanoseconds since 1970 are."""
        for first in (0, (1 << 56) - 200000, 1 << 56, 1760000000 * 10**9, 15 << 60):
            with self.subTest(first=first):
                self.record(self.program, "ticks", str(first))
                starts = sorted(run["ts"] for run in self.runs())
                apart = [round(after - before) for before, after in zip(starts, starts[1:])]
                self.assertEqual(apart, [100] * 9)

    def test_runs_that_overlap_are_not_inside_of_each_other(self):
        self.record(self.program, "overlap")
        rows = {row["name"]: row for row in self.opscope_json("zones", self.trace)["rows"]}
        for name in "even", "odd":
            self.assertEqual((rows[name]["total_ns"], rows[name]["self_ns"]), (60000, 60000), name)
        rows = self.opscope_json("tree", "--min-percent", "0", self.trace)["rows"]
        self.assertEqual({row["depth"] for row in rows if row["name"] in ("even", "odd")}, {0})

    def test_runs_without_ops_in_another_order(self):
        self.record(self.program, "alone")
        report = self.opscope_json("report", self.trace)
        times = [(row["op"], row["time_us"]) for row in report["rows"]]
        self.assertEqual(sorted(times), [("even", 10)] * 5 + [("odd", 10)] * 5)
        gaps = sorted(row["gap_us"] or 0 for row in report["rows"])
        self.assertEqual([round(gap) for gap in gaps], [0] + [4990] * 9)

    def test_track_that_gets_another_name(self):
        self.record(self.program, "named", "copies of weights")
        tracks = self.opscope_json("info", self.trace)["tracks"]
        queues = [(track["name"], track["zones"]) for track in tracks if track["kind"] == "queue"]
        self.assertEqual(queues, [("copies of weights", 10)])

    def test_events_that_were_lost(self):
        self.record(self.program, "lost", "300")
        info = self.opscope_json("info", self.trace)
        losses = [loss for loss in info["losses"] if loss["reason"] == "dropped by the device's runtime"]
        self.assertEqual([loss["records"] for loss in losses], [300, 1])
        self.assertEqual(losses[0]["to_ns"] - losses[0]["from_ns"], 3 * 50000)
        done = self.opscope("summary", self.trace)
        self.assertIn("301 records lost: dropped by the device's runtime", done.stdout + done.stderr)

    def test_more_lost_than_is_possible(self):
        self.record(self.program, "lost", str(2**64 - 1))
        info = self.opscope_json("info", self.trace)
        self.assertEqual((info["lost_zones"], info["lost_records"]), (0, 1))
        self.assertIn("damaged data", {loss["reason"] for loss in info["losses"]})

    def devices(self, *identities):
        """The numbers of the devices of processes that each call theirs 0."""
        lines = ["%s identity '%s'" % (self.program, text) for text in identities]
        self.record("sh", "-c", "; ".join(lines))
        tracks = self.opscope_json("info", self.trace)["tracks"]
        return sorted(track["number"] for track in tracks if track["kind"] == "device")

    def test_each_process_has_a_device_0(self):
        self.assertEqual(self.devices("", ""), [0, 0])
        self.assertEqual(self.devices("one", "one"), [0, 0])
        numbers = self.devices("one", "two", "one", "three")  # in the order in which the collector met them
        self.assertEqual(set(numbers), {0, 1, 2})
        ops = self.opscope_json("ops", self.trace)["rows"]
        for number in (0, 1, 2):
            self.assertEqual(sum(op["device"] == number for op in ops), 10 * numbers.count(number))
        report = self.opscope_json("report", "--no-merge-devices", self.trace)
        self.assertEqual({row["device"] for row in report["rows"]} - {None}, {0, 1, 2})


if __name__ == "__main__":
    unittest.main()
