# SPDX-License-Identifier: Apache-2.0
"""opscope frames, counters and memory on traces whose every time is known."""

import csv
import io
import unittest

from views import ViewCase

COMMANDS = ("frames", "counters", "memory")


class Frames(ViewCase):
    def trace_of_frames(self):
        """20 frames of 10 ns, the 7th of 100; another thread marks frames of its own."""
        lines, now = [("track", "main")], 0
        for i in range(21):
            lines.append(("frame", now, "step"))
            now += 100 if i == 6 else 10
        return self.trace(*lines, ("zone", 0, 60, 160, "slow", "a.c:1"), ("zone", 1, 70, 80, "inner", "a.c:2"),
                          ("track", "other"), ("frame", 5, "step"), ("frame", 25, "step"), ("frame", 30, "alone"))

    def test_statistics(self):
        found = self.opscope_json("frames", self.trace_of_frames())
        rows = {row["name"]: row for row in found["rows"]}
        step = rows["step"]
        self.assertEqual((step["count"], step["min_ns"], step["p50_ns"], step["p99_ns"], step["max_ns"]),
                         (21, 10, 10, 100, 100))
        self.assertEqual(step["p95_ns"], 20)
        self.assertEqual(step["mean_ns"], (19 * 10 + 100 + 20) / 21)
        self.assertAlmostEqual(step["fps"], 1e9 / step["mean_ns"])
        self.assertEqual((rows["alone"]["count"], rows["alone"]["mean_ns"]), (0, None))

    def test_the_slowest_and_what_ran_in_them(self):
        slowest = self.opscope_json("frames", self.trace_of_frames(), "--top", "2")["slowest"]
        self.assertEqual([(frame["number"], frame["start_ns"], frame["duration_ns"]) for frame in slowest],
                         [(7, 60, 100), (1, 5, 20)])
        self.assertEqual(slowest[0]["ran"], "slow 90 ns, inner 10 ns")
        text = self.show("frames", self.trace_of_frames())
        self.assertIn("Slowest", text)
        self.assertIn("slow 90 ns, inner 10 ns", text)

    def test_what_waits_comes_last(self):
        trace = self.trace(("track", "main"), ("frame", 0, "step"), ("zone", 0, 0, 90, "work"), ("frame", 100, "step"),
                           ("track", "feeder"), ("zone", 0, 0, 100, "Condition.wait"),
                           ("track", "feeder too"), ("zone", 0, 0, 100, "Condition.wait"))
        slowest = self.opscope_json("frames", trace)["slowest"]
        self.assertEqual([frame["ran"] for frame in slowest], ["work 90 ns, Condition.wait 200 ns"])

    def test_a_pause_is_no_frame(self):
        """Nor are pauses part of one: the first mark after a pause ends a frame whose start is not known."""
        lines = [("frame", time, "step") for time in (10, 20, 30, 140, 150, 290, 300)]
        trace = self.trace(("track", "main"), *lines, ("paused", 31, 131), ("paused", 152, 160), ("paused", 170, 290))
        found = self.opscope_json("frames", trace)
        self.assertEqual([(row["count"], row["total_ns"], row["max_ns"]) for row in found["rows"]], [(4, 40, 10)])
        self.assertEqual([(frame["number"], frame["start_ns"]) for frame in found["slowest"]],
                         [(1, 0), (2, 10), (4, 130), (6, 280)])

    def test_frames_of_a_window_have_the_numbers_of_the_trace(self):
        trace = self.trace(("track", "main"), *[("frame", time, "step") for time in (10, 20, 30, 40, 50, 60)],
                           ("frame", 12, "early"), ("zone", 0, 0, 100, "work"))
        found = self.opscope_json("frames", trace, "--since", "25ns", "--until", "50ns")
        self.assertEqual([(row["name"], row["count"]) for row in found["rows"]], [("step", 2)])
        self.assertEqual([(frame["number"], frame["start_ns"]) for frame in found["slowest"]], [(3, 30), (4, 40)])

    def test_every_frame_as_csv(self):
        done = self.show("frames", self.trace_of_frames(), "--list", "--csv", "--thread", "main")
        rows = list(csv.DictReader(io.StringIO(done)))
        self.assertEqual(len(rows), 20)
        self.assertEqual((rows[6]["start_ns"], rows[6]["duration_ns"]), ("60", "100"))

    def test_filters(self):
        rows = self.rows("frames", self.trace_of_frames(), "--name", "alone")
        self.assertEqual([row["name"] for row in rows], ["alone"])
        rows = self.rows("frames", self.trace_of_frames(), "--thread", "main", "--until", "35ns")
        self.assertEqual([row["count"] for row in rows], [3])


class Counters(ViewCase):
    def trace_of_counters(self):
        return self.trace(("track", "main"), ("counter", 10, 3, "queue"), ("counter", 20, 7.5, "queue"),
                          ("counter", 30, 1.5, "queue"), ("counter", 15, "nan", "queue"), ("counter", 5, -2, "heat"),
                          ("track", "other"), ("counter", 25, 7.5, "queue"), ("track", "else", 77),
                          ("counter", 1, 4, "queue"))

    def test_statistics(self):
        rows = {(row["pid"], row["name"]): row for row in self.rows("counters", self.trace_of_counters())}
        queue = rows[1, "queue"]
        self.assertEqual([queue[key] for key in ("count", "min", "mean", "max", "peak_ns", "last", "not_numbers")],
                         [4, 1.5, 4.875, 7.5, 19, 1.5, 1])  # the trace begins at 1 ns
        self.assertEqual((rows[1, "heat"]["count"], rows[1, "heat"]["last"]), (1, -2))
        self.assertEqual(rows[77, "queue"]["max"], 4)
        text = self.show("counters", self.trace_of_counters())
        self.assertIn("7.500", text)
        self.assertIn("1 value is not a number: left out", text)

    def test_filters(self):
        trace = self.trace_of_counters()
        self.assertEqual([row["name"] for row in self.rows("counters", trace, "--name", "h*")], ["heat"])
        self.assertEqual([row["count"] for row in self.rows("counters", trace, "--process", "77")], [1])
        rows = self.rows("counters", trace, "--since", "24ns", "--name", "queue")
        self.assertEqual([row["count"] for row in rows], [2])


class Memory(ViewCase):
    def trace_of_memory(self):
        return self.trace(
            ("track", "main"),
            ("zone", 0, 0, 100, "main", "a.c:1"), ("zone", 1, 10, 50, "load", "a.c:5"),
            ("alloc", 20, 0x1000, 100, "gpu"), ("alloc", 30, 0x2000, 50, "gpu"), ("alloc", 31, 0x3000, 10, "gpu"),
            ("alloc", 60, 0x5000, 5, "-"), ("free", 70, 0x9999, "gpu"), ("alloc", 80, 0x5000, 7, "-"),
            ("track", "other"), ("free", 40, 0x1000, "gpu"), ("alloc", 90, 0x6000, 1, "gpu"))

    def test_pools(self):
        rows = {row["pool"]: row for row in self.rows("memory", self.trace_of_memory())}
        gpu = rows["gpu"]
        self.assertEqual([gpu[key] for key in ("allocations", "releases", "allocated_bytes", "peak_bytes",
                                               "peak_at_ns", "live_bytes", "live_count", "unmatched_releases")],
                         [4, 2, 161, 160, 31, 61, 3, 1])
        self.assertEqual((rows[""]["live_bytes"], rows[""]["lost_releases"]), (7, 1))

    def test_leaks_by_zone(self):
        found = self.opscope_json("memory", self.trace_of_memory())["leaks"]
        self.assertEqual([(leak["pool"], leak["zone"], leak["count"], leak["size_bytes"], leak["first_ns"])
                          for leak in found],
                         [("gpu", "load", 2, 60, 30), ("", "main", 1, 7, 80), ("gpu", None, 1, 1, 90)])
        text = self.show("memory", self.trace_of_memory())
        self.assertIn("Not released, by the zone that allocated it", text)
        self.assertIn("1 release of what was allocated before the recording", text)
        rows = list(csv.DictReader(io.StringIO(self.show("memory", self.trace_of_memory(), "--leaks", "--csv"))))
        self.assertEqual([row["size_bytes"] for row in rows], ["60", "7", "1"])

    def test_leaks_name_who_called_the_allocator(self):
        trace = self.trace(("track", "main"), ("zone", 0, 0, 100, "load"), ("zone", 1, 10, 20, "iree_allocator_libc_calloc"),
                           ("zone", 2, 11, 19, "Calloc_inner"), ("alloc", 15, 0x1000, 9, "-"), ("zone", 1, 30, 40, "allocate_weights"),
                           ("alloc", 35, 0x2000, 5, "-"), ("zone", 0, 200, 210, "malloc"), ("alloc", 205, 0x3000, 1, "-"))
        found = self.opscope_json("memory", trace)["leaks"]
        self.assertEqual([(leak["zone"], leak["size_bytes"]) for leak in found], [("load", 9), ("allocate_weights", 5), ("malloc", 1)])

    def test_a_window_counts_inside_and_is_live_at_its_end(self):
        rows = {row["pool"]: row for row in self.rows("memory", self.trace_of_memory(), "--since", "25ns",
                                                      "--until", "39ns")}
        gpu = rows["gpu"]
        self.assertEqual([gpu[key] for key in ("allocations", "releases", "peak_bytes", "live_bytes")],
                         [2, 0, 160, 160])
        self.assertEqual(list(rows), ["gpu"])

    def test_pools_by_name(self):
        rows = self.rows("memory", self.trace_of_memory(), "--name", "g*")
        self.assertEqual([row["pool"] for row in rows], ["gpu"])


class Nothing(ViewCase):
    def test_a_trace_without_such_records_says_so(self):
        trace = self.trace(("track", "main"), ("zone", 0, 0, 10, "a"))
        for command, words in zip(COMMANDS, ("no frames", "no counters", "no memory events")):
            self.assertIn(f"{words} in this trace", self.show(command, trace))
            self.assertEqual(self.rows(command, trace), [])
        self.assertIn("no leaks in this trace", self.show("memory", trace, "--leaks"))

    def test_an_empty_trace(self):
        trace = self.trace()
        for command in COMMANDS:
            self.show(command, trace)

    def test_damaged_input_is_an_error(self):
        trace = self.trace(*[("track", "main")], *[("counter", i, i, "c") for i in range(500)],
                           *[("frame", i, "f") for i in range(500)],
                           *[("alloc", i, 0x1000 + i, 1, "p") for i in range(500)])
        with open(trace, "rb") as file:
            data = file.read()
        for size in (0, 10, len(data) - 10):
            with open(self.path("cut.opscope"), "wb") as file:
                file.write(data[:size])
            for command in COMMANDS:
                done = self.opscope(command, self.path("cut.opscope"))
                self.assert_status(done, 2)
                self.assertIn("cut.opscope", done.stderr)
                if size > 10:
                    self.assert_status(self.opscope(command, self.path("cut.opscope"), "--salvage"))
        for flipped in range(0, len(data), max(1, len(data) // 40)):
            with open(self.path("flip.opscope"), "wb") as file:
                file.write(data[:flipped] + bytes([data[flipped] ^ 0x55]) + data[flipped + 1:])
            for command in COMMANDS:
                self.assertIn(self.opscope(command, self.path("flip.opscope")).status, (0, 2))


if __name__ == "__main__":
    unittest.main()
