# SPDX-License-Identifier: Apache-2.0
"""opscope summary on traces whose every time is known, and on what programs leave behind."""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import unittest
import urllib.parse

import harness
import ops_csv
from serving import bearer
from views import ViewCase

US = 1_000
MS = 1_000_000


class SummaryCase(ViewCase):
    def summary(self, *arguments):
        done = self.opscope("summary", *arguments, "--json")
        self.assert_status(done)
        overview = done.json()
        partition = overview["partition"]
        self.assertEqual(sum(part["ns"] for part in partition["parts"]), partition["total_ns"])
        return overview

    def parts(self, overview):
        return {part["key"]: part["ns"] for part in overview["partition"]["parts"] if part["ns"]}

    def sentence(self, overview):
        return "".join(phrase["text"] for phrase in overview["sentence"])

    def strong(self, overview):
        return [phrase["text"] for phrase in overview["sentence"] if phrase["strong"]]


def program():
    """100 ms: main works 60, waits 30 (of which 2 are a working callback), and 10 are not recorded."""
    yield "track", "main"
    yield "zone", 0, 1, 1 + 60 * MS, "work", "a.c:1"
    yield "zone", 1, 1 + 10 * MS, 1 + 30 * MS, "inner", "a.c:9"
    yield "zone", 0, 1 + 70 * MS, 1 + 100 * MS, "epoll_wait", "a.c:20"
    yield "zone", 1, 1 + 80 * MS, 1 + 82 * MS, "callback", "a.c:30"


class Threads(SummaryCase):
    def test_the_main_thread_worked_waited_or_was_not_recorded(self):
        overview = self.summary(self.trace(*program()))
        self.assertEqual(overview["kind"], "c")
        self.assertEqual(overview["partition"]["basis"], "main thread")
        self.assertEqual(self.parts(overview), {"working": 62 * MS, "waiting": 28 * MS, "nothing": 10 * MS})
        self.assertEqual(self.strong(overview), ["62%", "28.0 ms"])
        self.assertIn("of 100 ms", self.sentence(overview))
        self.assertIn("most of it in epoll_wait", self.sentence(overview))

    def test_functions_that_wait_are_apart(self):
        overview = self.summary(self.trace(*program()))
        self.assertEqual([(row["text"], row["self"]) for row in overview["top"]],
                         [("work", 40 * MS), ("inner", 20 * MS), ("callback", 2 * MS)])
        self.assertEqual([(row["text"], row["self"], row["wait"]) for row in overview["top_waits"]],
                         [("epoll_wait", 28 * MS, True)])
        self.assertEqual((overview["top"][1]["file"], overview["top"][1]["line"]), ("a.c", 9))

    def test_a_window_cuts_zones(self):
        overview = self.summary(self.trace(*program()), "--since", "50ms", "--until", "90ms")
        self.assertEqual(self.parts(overview), {"working": 12 * MS, "waiting": 18 * MS, "nothing": 10 * MS})
        self.assertEqual((overview["window"]["from"], overview["window"]["to"]), (50 * MS, 90 * MS))

    def test_the_parts_are_of_one_thread_and_the_functions_of_all(self):
        overview = self.summary(self.trace(
            *program(), ("track", "other"), ("zone", 0, 1, 1 + 95 * MS, "long", "b.c:1")))
        self.assertEqual(self.parts(overview)["working"], 62 * MS)
        self.assertEqual(overview["top"][0]["text"], "long")

    def test_the_thread_is_named_where_it_could_be_another(self):
        trace = self.trace(("track", "pool", 7), ("zone", 0, 1, 1 + 9 * MS, "a"), ("zone", 0, 1 + 9 * MS, 1 + 10 * MS, "b"),
                           ("track", "main", 8), ("zone", 0, 1, 1 + MS, "c"))
        self.assertIn("Thread pool of program worked 100%", self.sentence(self.summary(trace)))
        only = self.summary(trace, "--process", "8")
        self.assertIn("The main thread of program worked 10%", self.sentence(only))

    def test_a_thread_without_a_name_is_not_called_thread_twice(self):
        for name, number, words in (("-", 0, "The busiest thread worked"), ("thread 3", 5, "Thread 3 worked"), ("-", 4711, "Thread 4711 worked")):
            trace = self.trace(("track", name, 7, number), ("zone", 0, 1, 1 + 9 * MS, "a"), ("zone", 0, 1 + 9 * MS, 1 + 10 * MS, "b"))
            self.assertIn(words, self.sentence(self.summary(trace)))

    def test_the_wait_that_is_named_is_the_main_threads(self):
        trace = self.trace(*program(), ("track", "pool"), ("zone", 0, 1, 1 + 90 * MS, "futex"))
        overview = self.summary(trace)
        self.assertIn("most of it in epoll_wait", self.sentence(overview))
        self.assertIn("--callers epoll_wait", overview["next"][0]["command"])
        self.assertEqual(overview["top_waits"][0]["text"], "futex")

    def test_open_zones_count_and_are_named(self):
        overview = self.summary(self.trace(("track", "main"), ("open", 0, 1, 1 + 50 * MS, "main", "a.c:1"),
                                           ("zone", 1, 1 + 10 * MS, 1 + 20 * MS, "sleep")))
        self.assertEqual(self.parts(overview), {"working": 40 * MS, "waiting": 10 * MS})
        self.assertIn("1 zone had not ended: main", overview["losses"][0]["text"])

    def test_a_program_whose_zones_are_all_open(self):
        overview = self.summary(self.trace(("track", "main"), ("open", 0, 1, 1 + 50 * MS, "outer", "a.c:1"),
                                           ("open", 1, 1 + 10 * MS, 1 + 50 * MS, "inner")))
        self.assertEqual((overview["kind"], self.parts(overview)), ("c", {"working": 50 * MS}))
        self.assertEqual([(row["text"], row["self"]) for row in overview["top"]], [("inner", 40 * MS), ("outer", 10 * MS)])

    def test_open_zones_of_the_busiest_thread_are_no_less_than_ended_ones_of_another(self):
        overview = self.summary(self.trace(("track", "main", 7, 7), ("open", 0, 1, 1 + 50 * MS, "outer", "a.c:1"),
                                           ("track", "pool", 8, 9), ("zone", 0, 1, 1 + 20 * MS, "part")))
        self.assertEqual([(row["text"], row["self"]) for row in overview["top"]], [("outer", 50 * MS), ("part", 20 * MS)])

    def test_turns_of_tasks_are_the_threads_work(self):
        """What runs in a turn is on the task's track; the turn itself has no time of its own."""
        overview = self.summary(self.trace(
            ("track", "main", 7, 7), ("zone", 0, 1, 1 + 100 * MS, "run_forever", "a.py:1"),
            ("zone", 1, 1 + 10 * MS, 1 + 40 * MS, "a task"), ("zone", 1, 1 + 40 * MS, 1 + 60 * MS, "another task"),
            ("zone", 1, 1 + 60 * MS, 1 + 70 * MS, "select"),
            ("task", "a task"), ("zone", 0, 1 + 10 * MS, 1 + 40 * MS, "burn"), ("zone", 1, 1 + 20 * MS, 1 + 25 * MS, "sleep"),
            ("task", "another task"), ("zone", 0, 1 + 40 * MS, 1 + 60 * MS, "burn"),
            ("span", "spans"), ("zone", 0, 1, 1 + 99 * MS, "request")))
        self.assertEqual(self.parts(overview), {"working": 85 * MS, "waiting": 15 * MS})
        self.assertEqual([(row["text"], row["self"]) for row in overview["top"] if row["self"]],
                         [("burn", 45 * MS), ("run_forever", 40 * MS)], "no spans: they are no work")
        self.assertEqual([(row["text"], row["self"]) for row in overview["top_waits"]], [("select", 10 * MS), ("sleep", 5 * MS)])

    def test_pauses_are_a_part_of_their_own(self):
        overview = self.summary(self.trace(
            ("track", "main", 7, 7), ("zone", 0, 1, 1 + 60 * MS, "main", "a.py:1"), ("zone", 1, 1 + 5 * MS, 1 + 10 * MS, "step"),
            ("zone", 1, 1 + 40 * MS, 1 + 60 * MS, "sleep"), ("zone", 0, 1 + 90 * MS, 1 + 100 * MS, "step"),
            ("paused", 1 + 11 * MS, 1 + 31 * MS), ("paused", 1 + 45 * MS, 1 + 55 * MS), ("paused", 1 + 70 * MS, 1 + 80 * MS)))
        self.assertEqual(self.parts(overview), {"working": 30 * MS, "waiting": 10 * MS, "paused": 40 * MS, "nothing": 20 * MS})
        self.assertEqual([(row["text"], row["self"]) for row in overview["top"] + overview["top_waits"]],
                         [("main", 15 * MS), ("step", 15 * MS), ("sleep", 10 * MS)])
        labels = [part["label"] for part in overview["partition"]["parts"]]
        self.assertIn("recording was paused", labels)

    def test_pauses_in_zones_of_one_name_at_several_places(self):
        """And in zones whose name is not in the file, as in one that was damaged."""
        for name in ("step", "-"):
            overview = self.summary(self.trace(
                ("track", "main", 7, 7), ("zone", 0, 1, 1 + 30 * MS, name, "a.c:1"), ("zone", 0, 1 + 30 * MS, 1 + 100 * MS, name, "a.c:9"),
                ("paused", 1 + 10 * MS, 1 + 15 * MS), ("paused", 1 + 40 * MS, 1 + 60 * MS)))
            self.assertEqual(self.parts(overview), {"working": 75 * MS, "paused": 25 * MS})
            self.assertEqual([row["self"] for row in overview["top"]], [75 * MS])

    def test_pauses_are_in_no_threads_functions(self):
        overview = self.summary(self.trace(
            ("track", "main", 7, 7), ("zone", 0, 1, 1 + 100 * MS, "main", "a.c:1"), ("paused", 1 + 10 * MS, 1 + 50 * MS),
            ("track", "pool", 7, 8), ("open", 0, 1, 1 + 90 * MS, "loop", "a.c:9"), ("zone", 1, 1 + 5 * MS, 1 + 60 * MS, "load", "a.c:20"),
            ("track", "waits", 7, 9), ("zone", 0, 1, 1 + 80 * MS, "epoll_wait")))
        self.assertEqual([(row["text"], row["self"]) for row in overview["top"] + overview["top_waits"]],
                         [("main", 60 * MS), ("loop", 35 * MS), ("load", 15 * MS), ("epoll_wait", 40 * MS)])

    def test_why_nothing_is_there(self):
        for line, said, is_unknown in ((("lost", 400000), "400,000 zones were lost", False), (("lost", 1), "1 zone was lost", False),
                                       (("paused", 1, 1 + 20 * MS), "Recording was paused for 20.0 ms", False),
                                       (("message", 1, "hello"), "no zones and no ops", True)):
            sentence = self.sentence(self.summary(self.trace(("track", "main"), line)))
            self.assertIn(said, sentence)
            self.assertEqual("may not be instrumented" in sentence, is_unknown, sentence)

    def test_lost_zones_come_with_a_remedy(self):
        overview = self.summary(self.trace(*program(), ("lost", 1204)))
        self.assertIn("1,204 zones lost", overview["losses"][0]["text"])
        self.assertIn("--buffer-size", overview["losses"][0]["remedy"])
        self.assertIn("1,204 zones lost", self.show("summary", self.path("made.opscope")))

    def test_frames_at_the_start_that_are_slow_are_left_out(self):
        lines = [("track", "main"), ("zone", 0, 1, 1 + 190 * MS, "main", "a.c:1")]
        for number, time in enumerate((0, 50, 70, 90, 110, 130, 150, 170, 190)):
            lines.append(("frame", 1 + time * MS, "step"))
            lines.append(("zone", 1, 1 + time * MS, 1 + (time + 5) * MS, "sleep") if number < 8 else
                         ("zone", 1, 1 + time * MS - 1, 1 + time * MS, "end"))
        trace = self.trace(*lines)
        overview = self.summary(trace)
        self.assertEqual(overview["window"]["source"], "steps 2 to 8")
        self.assertEqual((overview["window"]["from"], overview["window"]["to"]), (50 * MS, 190 * MS))
        self.assertEqual(overview["window"]["left_out"][0]["what"], "step 1")
        self.assertEqual(overview["window"]["left_out"][0]["undo"], "warmup=include")
        self.assertEqual(self.parts(overview)["waiting"], 35 * MS)
        whole = self.summary(trace, "--include-warm-up")
        self.assertEqual(whole["window"], {"from": 0, "to": 190 * MS, "source": "whole trace", "left_out": []})
        self.assertEqual(self.parts(whole)["waiting"], 40 * MS)
        self.assertRegex(self.show("summary", trace), r"Step 1 is left out as warm-up \(.*, others .*\); --include-warm-up takes it in")
        shown = " ".join(self.on_terminal("summary", trace))  # filled, not cut
        self.assertRegex(shown, r"Step 1 is left out as warm-up \(.*, others .*\); --include-warm-up takes it in")

    def test_steps_that_are_alike_are_all_shown(self):
        lines = [("track", "main"), ("zone", 0, 1, 1 + 40 * MS, "main")]
        lines += [("frame", 1 + time * MS, "step") for time in (0, 10, 20, 30, 40)]
        self.assertEqual(self.summary(self.trace(*lines))["window"]["source"], "whole trace")

    def test_imports_of_more_than_a_fifth_are_a_part(self):
        def lines(imports):
            return (("track", "main"), ("zone", 0, 1, 1 + 100 * MS, "<module>", "/a/train.py:1"),
                    ("zone", 1, 1, 1 + imports * MS, "import torch"),
                    ("zone", 2, 1 + 1 * MS, 1 + 9 * MS, "import numpy"),
                    ("zone", 3, 1 + 2 * MS, 1 + 3 * MS, "Lock.acquire", "/b/_bootstrap.py:1"))
        overview = self.summary(self.trace(*lines(57)))
        self.assertEqual(overview["kind"], "python")
        self.assertEqual(self.parts(overview), {"working": 43 * MS, "imports": 57 * MS})
        self.assertIn("57% is imports", self.sentence(overview))
        self.assertEqual(self.parts(self.summary(self.trace(*lines(19)))), {"working": 99 * MS, "waiting": MS})

    def test_nothing_recorded(self):
        overview = self.summary(self.trace(("track", "main")))
        self.assertEqual((overview["kind"], overview["partition"]["parts"]), ("empty", []))
        self.assertIn("no zones and no ops", self.sentence(overview))
        self.assertIn("docs/python.md", self.show("summary", self.path("made.opscope")))

    def test_a_file_in_place_of_a_command(self):
        path = self.trace(*program())
        for words in ((path, "--json"), ("--json", path), ("--color=never", "--json", path)):
            done = self.opscope(*words)
            self.assert_status(done)
            self.assertEqual(done.json()["partition"]["total_ns"], 100 * MS)
        done = self.opscope("--jsn", path)
        self.assertEqual(done.status, 2)
        self.assertIn("unknown option --jsn; did you mean --json?", done.stderr)
        done = self.opscope("--json", self.path("none.opscope"))
        self.assertIn("unknown option --json", done.stderr)


def device_trace(architecture="made up"):
    """100 ms. The device runs 10-30, 20-40 (two at a time) and 60-90; the host works until 50, then waits until 95."""
    yield "track", "main"
    yield "zone", 0, 1, 1 + 50 * MS, "prepare", "train.py:3"
    yield "zone", 1, 1 + 1 * MS, 1 + 8 * MS, "load", "train.py:9"
    yield "zone", 0, 1 + 50 * MS, 1 + 95 * MS, "Event.wait", "train.py:20"
    yield "zone", 0, 1 + 99 * MS, 1 + 100 * MS, "end"
    yield "device", "GPU 0", architecture
    for call, start, end, name in ((1, 10, 30, "gelu"), (2, 20, 40, "AllGather"), (3, 60, 90, "gelu")):
        yield "op", call, 1 + start * MS - 1000, 1 + start * MS - 500, name
        yield "run", call, 1 + start * MS, 1 + end * MS, name


def steps():
    """Six steps, the first of 60 ms, the others of 20 ms; in each an op that leaves the device idle for 5 ms."""
    yield "track", "main"
    yield "zone", 0, 1, 1 + 160 * MS, "train", "train.py:1"
    yield "device", "GPU 0"
    times = (0, 60, 80, 100, 120, 140, 160)
    for call, (start, end) in enumerate(zip(times, times[1:]), 1):
        yield "frame", 1 + start * MS, "step"
        yield "op", call, 1 + start * MS + 1, 1 + start * MS + 2, "gelu"
        yield "run", call, 1 + start * MS + MS, 1 + (end - 4) * MS, "gelu"
    yield "frame", 1 + 160 * MS, "step"


class Devices(SummaryCase):
    def test_the_device_first_then_what_the_host_did(self):
        overview = self.summary(self.trace(*device_trace()))
        self.assertEqual((overview["kind"], overview["partition"]["basis"]), ("gpu", "device"))
        self.assertEqual(self.parts(overview), {"busy": 60 * MS, "idle_host_working": 21 * MS,
                                                "idle_host_waiting": 15 * MS, "nothing": 4 * MS})
        self.assertEqual(self.strong(overview), ["60%", "40.0 ms"])
        self.assertIn("The GPU worked", self.sentence(overview))

    def test_ops_have_the_time_in_which_they_were_alone(self):
        overview = self.summary(self.trace(*device_trace()))
        self.assertEqual([(op["name"], op["count"], op["device_ns"], op["alone_ns"]) for op in overview["top_ops"]],
                         [("gelu", 2, 50 * MS, 40 * MS), ("AllGather", 1, 20 * MS, 10 * MS)])
        self.assertAlmostEqual(overview["top_ops"][0]["share"], 50 / 70)

    def test_gaps_and_the_code_that_filled_them(self):
        overview = self.summary(self.trace(*device_trace()))
        gaps = overview["gaps"]
        self.assertEqual((gaps["count"], gaps["sum"]), (2, 30 * MS))
        longest = gaps["longest"]
        self.assertEqual((longest["start"], longest["duration"], longest["before"]), (40 * MS, 20 * MS, "gelu"))
        self.assertEqual({host["text"]: host["ns"] for host in longest["host"]},
                         {"prepare": 10 * MS, "Event.wait": 10 * MS})
        whole = {host["text"]: host["ns"] for host in gaps["host"]}
        self.assertEqual(sum(whole.values()), 30 * MS)
        self.assertGreater(whole["load"], 5 * MS)

    def test_a_window_cuts_runs(self):
        overview = self.summary(self.trace(*device_trace()), "--since", "25ms", "--until", "70ms")
        self.assertEqual(self.parts(overview), {"busy": 25 * MS, "idle_host_working": 10 * MS,
                                                "idle_host_waiting": 10 * MS})

    def test_an_unknown_machine_is_said(self):
        overview = self.summary(self.trace(*device_trace()))
        self.assertIn("--machine NAME", " ".join(step["command"] for step in overview["next"]))
        known = self.summary(self.trace(*device_trace("h100")))
        self.assertNotIn("--machine", " ".join(step["command"] for step in known["next"]))

    def test_two_devices_are_busy_when_one_of_them_is(self):
        overview = self.summary(self.trace(
            *device_trace(), ("device", "GPU 1"), ("op", 9, 1, 2, "copy"), ("run", 9, 1 + 45 * MS, 1 + 65 * MS, "copy")))
        self.assertEqual(self.parts(overview)["busy"], 75 * MS)
        self.assertIn("At least one of 2 GPUs", self.sentence(overview))

    def test_says_how_devices_were_merged_as_the_report_does(self):
        made = self.trace(*device_trace(), ("device", "GPU 1"), ("op", 9, 1, 2, "copy"), ("run", 9, 1 + 45 * MS, 1 + 65 * MS, "copy"))
        said = "ops of 2 devices (0, 1) merged: the slowest's time, the mean of collectives"
        self.assertEqual(self.summary(made)["devices"], said)
        self.assertIn(said, self.opscope("summary", made).stdout.splitlines())
        self.assertIn(f"opscope report: {said}", self.opscope("report", made).stderr.splitlines())
        alone = self.opscope("report", made, "--no-merge-devices").stderr
        self.assertIn("opscope report: ops of 2 devices (0, 1), each by itself", alone.splitlines())
        one = self.trace(*device_trace(), name="one.opscope")
        self.assertIsNone(self.summary(one)["devices"])
        self.assertNotIn("merged", self.opscope("summary", one).stdout)

    def test_headings_are_whole_in_narrow_terminals(self):
        made = self.trace(*device_trace(), ("op", 9, 1, 2, "a_kernel_with_a_long_name_that_has_to_be_cut"),
                          ("run", 9, 1 + 45 * MS, 1 + 65 * MS, "k"), ("track", "other"),
                          ("zone", 0, 1, 60 * MS, "a function with a long name that has to be cut", "a_long_folder/of/sources/module.py:1234"))
        heads = {
            "summary": {60: ["op count device alone share", "function location self total count"],
                        80: ["op, by device time count device alone share", "function, by own time location self total count"],
                        100: ["op, by device time count device alone share", "function, by own time location self total count"]},
            "zones": {60: ["zone location count total"], 80: ["zone location count total wall self"],
                      100: ["zone location count total wall self waiting mean"]}}
        for command, widths in heads.items():
            for width, expected in widths.items():
                shown = self.opscope(command, made, env={"COLUMNS": str(width)}).stdout
                lines = [" ".join(line.split()) for line in shown.splitlines()]
                self.assertEqual([line for line in lines if line in expected], expected, shown)

    def test_savings_are_of_the_run_that_the_sentence_names(self):
        """The program loads for 90 of 100 ms before its first op; the one gap is 3 ms."""
        shown = self.show("summary", self.trace(
            ("track", "main"), ("zone", 0, 1, 1 + 100 * MS, "main"), ("device", "GPU 0", "made up"),
            ("op", 1, 1 + 90 * MS, 1 + 91 * MS, "gelu"), ("run", 1, 1 + 90 * MS, 1 + 94 * MS, "gelu"),
            ("op", 2, 1 + 96 * MS, 1 + 97 * MS, "gelu"), ("run", 2, 1 + 97 * MS, 1 + 100 * MS, "gelu")))
        self.assertRegex(shown, r"\nsave 2\.99 ms \(3(\.0)?% of the run\)")

    def test_many_devices_are_a_range(self):
        lines = [line for number in range(4) for line in (
            ("device", f"GPU {number}"), ("op", 10 + number, 1, 2, "copy"), ("run", 10 + number, 1 + 45 * MS, 1 + 65 * MS, "copy"))]
        self.assertTrue(self.summary(self.trace(("track", "main"), ("zone", 0, 1, 90 * MS, "work"), *lines))["devices"].startswith(
            "ops of 4 devices (0 to 3) merged: "))

    def test_steps_without_the_first(self):
        overview = self.summary(self.trace(*steps()))
        self.assertEqual(overview["window"]["source"], "steps 2 to 6")
        self.assertEqual(self.parts(overview), {"busy": 75 * MS, "idle_host_working": 25 * MS})
        self.assertIn("In every 20.0 ms step it stood still for 5.00 ms.", self.sentence(overview))
        self.assertEqual(overview["top_ops"][0]["count"], 5)


class AnyTrace(SummaryCase):
    """Parts against a count of every microsecond, on traces that a generator with a fixed seed makes."""

    LENGTH = 400

    def make(self, noise):
        """Lines of a trace, and what the thread and the device did in each microsecond."""
        host, device = ["nothing"] * self.LENGTH, [0] * self.LENGTH
        lines, at = [("track", "main"), ("device", "GPU 0")], 0
        while at < self.LENGTH:
            end = min(at + noise.randrange(1, 40), self.LENGTH)
            kind = noise.choice(("nothing", "working", "waiting", "nested"))
            if at == 0 or end == self.LENGTH:
                kind = "working"  # so that the trace begins and ends there
            if kind != "nothing":
                lines.append(("zone", 0, 1 + at * US, 1 + end * US, "sleep" if kind == "waiting" else "work"))
                host[at:end] = ["waiting" if kind == "waiting" else "working"] * (end - at)
            if kind == "nested" and end - at > 2:
                lines.append(("zone", 1, 1 + (at + 1) * US, 1 + (end - 1) * US, "Lock.acquire"))
                host[at + 1:end - 1] = ["waiting"] * (end - at - 2)
            at = end
        for call in range(1, noise.randrange(2, 20)):
            start = noise.randrange(self.LENGTH - 1)
            end = min(start + noise.randrange(1, 50), self.LENGTH)
            lines += [("op", call, 1 + start * US, 1 + start * US, "gelu"), ("run", call, 1 + start * US, 1 + end * US, "gelu")]
            for k in range(start, end):
                device[k] += 1
        return lines, host, device

    def test_parts(self):
        noise = random.Random(7)
        for _ in range(25):
            lines, host, device = self.make(noise)
            idle = [host[k] for k in range(self.LENGTH) if not device[k]]
            expected = {"busy": self.LENGTH - len(idle), "idle_host_working": idle.count("working"),
                        "idle_host_waiting": idle.count("waiting"), "nothing": idle.count("nothing")}
            found = self.parts(self.summary(self.trace(*lines)))
            for key, count in expected.items():
                self.assertEqual(found.get(key, 0), count * US, (key, lines))
            without = [line for line in lines if line[0] in ("track", "zone")]
            found = self.parts(self.summary(self.trace(*without)))
            for key in ("working", "waiting", "nothing"):
                self.assertEqual(found.get(key, 0), host.count(key) * US, (key, without))


class Tables(SummaryCase):
    """Ops without a host: the figures are those of the report."""

    def table(self, *rows):
        path = self.path("ops.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(ops_csv.text_of(rows))
        return path

    def rows_of_two_parts(self, gap_ns):
        def op(name, number, duration, gap=0):
            return ops_csv.device_op(name, number, duration, **{"OP TO OP LATENCY [ns]": str(gap)})
        signpost = {"OP CODE": "PERF", "OP TYPE": "signpost", "GLOBAL CALL COUNT": "2048", "HOST START TS": "1002000"}
        return (op("WarmDeviceOperation", 1, 30 * US), signpost, op("AddDeviceOperation", 3, 10 * US),
                op("MulDeviceOperation", 4, 6 * US, 2 * US), op("AddDeviceOperation", 5, 4 * US, gap_ns))

    def test_device_time_and_gaps_after_the_last_signpost(self):
        table = self.table(*self.rows_of_two_parts(8 * US))
        overview = self.summary(table)
        self.assertEqual((overview["kind"], overview["partition"]["basis"]), ("ops", "device"))
        self.assertEqual(self.parts(overview), {"busy": 20 * US, "idle_host_unknown": 10 * US})
        self.assertEqual(self.strong(overview), ["67%", "10.0 \u00b5s"])
        self.assertIn("3 of 4 ops are in this window, after the last signpost 'PERF'", self.sentence(overview))
        self.assertIn("most of it before 1 op", self.sentence(overview))
        self.assertEqual(overview["window"]["left_out"][0]["what"], "1 op")
        self.assertEqual([(op["name"], op["device_ns"]) for op in overview["top_ops"]],
                         [("AddDeviceOperation", 14 * US), ("MulDeviceOperation", 6 * US)])
        report = self.opscope_json("report", table)
        self.assertEqual(report["device_time_us"] * US, self.parts(overview)["busy"])
        self.assertEqual(report["gap_us"] * US, self.parts(overview)["idle_host_unknown"])

    def test_the_whole_table_on_request(self):
        overview = self.summary(self.table(*self.rows_of_two_parts(8 * US)), "--include-warm-up")
        self.assertEqual(self.parts(overview), {"busy": 50 * US, "idle_host_unknown": 10 * US})
        self.assertEqual(overview["window"]["left_out"], [])

    def test_gaps_that_are_nearly_all(self):
        overview = self.summary(self.table(*self.rows_of_two_parts(20 * MS)))
        self.assertIn("it looks like compilation or a first iteration", self.sentence(overview))
        self.assertEqual(self.strong(overview), ["99.9%"])
        self.assertEqual(overview["top_ops"][0]["name"], "AddDeviceOperation")

    def test_names_are_short_on_the_screen(self):
        shown = self.show("summary", self.table(*self.rows_of_two_parts(8 * US)))
        self.assertIn("Add ", shown)
        self.assertNotIn("DeviceOperation", shown)

    def test_tables_of_others_agree_with_the_report(self):
        folder = harness.reference_data("tt-perf-report", "inputs")
        for name in sorted(os.listdir(folder)):
            overview = self.summary(os.path.join(folder, name))
            report = self.opscope_json("report", os.path.join(folder, name))
            parts = self.parts(overview)
            self.assertAlmostEqual(parts["busy"], report["busy_us"] * 1000, delta=1, msg=name)
            self.assertAlmostEqual(parts.get("idle_host_unknown", 0), report["gap_us"] * 1000, delta=1, msg=name)
            self.assertAlmostEqual(sum(op["share"] for op in overview["top_ops"]), 1, delta=0.5, msg=name)


class Programs(SummaryCase):
    def test_a_file_alone_is_summarised(self):
        trace = self.trace(*program())
        self.assertEqual(self.show(trace), self.show("summary", trace))
        self.assertIn("there is no file", self.opscope("nothing.opscope").stderr)

    def test_a_program_that_was_killed_before_its_first_zone(self):
        trace = self.path("killed.opscope")
        self.opscope("run", "-o", trace, "--", "sh", "-c", "kill -KILL $$")
        said = " ".join(self.opscope("summary", trace).stdout.split())
        self.assertIn("and was ended by signal 9 (Killed).", said)

    def test_one_screen(self):
        lines = list(program())
        for i in range(50):
            name = f"function number {i} with a name that is longer than a line can be" * 2
            lines.append(("zone", 2, 1 + 11 * MS + i * 100 * US, 1 + 11 * MS + (i + 1) * 100 * US, name, "file.c:3"))
        for trace in (self.trace(*lines), self.trace(*device_trace(), name="device.opscope")):
            shown = self.on_terminal("summary", trace)
            self.assertLessEqual(len(shown), 23)
            self.assertEqual([line for line in shown if len(line) > 80 and not line.startswith("next:")], [])
            self.assertGreaterEqual(len(shown), 10)
            self.assertEqual([line for line in shown if line != line.rstrip()], [])

    def test_texts_are_whole_where_there_is_room(self):
        """In a pipe, in a wide terminal and with --wide."""
        trace = self.trace(*device_trace(), ("zone", 0, 1 + 70 * MS, 1 + 80 * MS, "one_of_a_name_that_is_long_" * 2),
                           ("op", 9, 1, 2, "a_kernel_with_a_name_that_is_long_" * 2), ("run", 9, 1 + 85 * MS, 1 + 86 * MS, "k"))
        whole = "    Let the device run ahead of the host: replay a recorded trace, or dispatch without waiting for results"
        self.assertIn(whole, self.show("summary", trace).splitlines())
        for args, columns in (((), 200), (("--wide",), 80)):
            shown = self.opscope("summary", trace, *args, env={"COLUMNS": str(columns)}).stdout
            self.assertIn(whole, shown.splitlines())
        narrow = self.opscope("summary", trace, env={"COLUMNS": "80"}).stdout.splitlines()
        self.assertIn("\u2026", next(line for line in narrow if line.startswith(whole[:40])))

    def test_names_are_never_interpreted(self):
        evil = "\x1b[31mred\u202e</script>"
        trace = self.trace(("track", evil), ("zone", 0, 1, 1 + MS, "wait " + evil, evil + ":3"),
                           ("zone", 0, 1 + MS, 1 + 3 * MS, evil), ("open", 0, 1 + 3 * MS, 1 + 9 * MS, "open " + evil))
        shown = self.show("summary", trace)
        self.assertNotRegex(shown, "[\x00-\x09\x0b-\x1f\u202e]")
        self.assertIn("\\x1b[31mred", shown)
        done = self.opscope("summary", trace, "--json")
        self.assertNotRegex(done.stdout, "[\x00-\x09\x0b-\x1f\u202e]")
        self.assertIn(evil, [row["text"] for row in done.json()["top"]])

    def test_the_sentence_and_the_bar_agree(self):
        trace = self.trace(("track", "main"), ("zone", 0, 1, 1 + 99_530 * US, "work"), ("zone", 0, 1 + 99_980 * US, 1 + 100 * MS, "x"),
                           ("zone", 0, 1 + 99_530 * US, 1 + 99_979 * US, "sleep"))
        shown = self.show("summary", trace)
        self.assertIn("worked 99.6%", shown)
        self.assertIn(" 99.6%  working", shown)
        self.assertIn("<0.1%  nothing recorded", shown)

    def test_run_ends_with_it_on_a_terminal(self):
        shown = "\n".join(self.on_terminal("run", "-o", self.path("run.opscope"), "--", harness.program("script"),
                                           "zones=5"))
        self.assertIn("opscope: wrote", shown)
        self.assertIn("The main thread worked", shown)
        self.assertIn("next: opscope zones", shown)

    def test_lines_of_python_have_their_own_view(self):
        program = self.path("p.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write("def f():\n    return 1\n\nf()\n")
        shown = self.on_terminal("run", "-o", self.path("run.opscope"), "--python-trace", "lines", "--", sys.executable, program)
        if any("no zones" in line or "nothing was recorded" in line for line in shown):
            self.skipTest("there is no extension for this Python")
        self.assertEqual([line for line in shown if "next: opscope zones --source" in line][0],
                         f"opscope: next: opscope zones --source {self.path('run.opscope')}")

    def test_a_pipe_has_one_line_at_the_end_of_run(self):
        done = self.opscope("run", "-o", self.path("run.opscope"), "--", harness.program("script"), "zones=5")
        self.assertNotIn("The main thread", done.stderr)
        self.assertIn("opscope: next:", done.stderr)

    def test_a_killed_program(self):
        trace = self.path("killed.opscope")
        done = self.opscope("run", "-o", trace, "--", harness.program("script"), "open=outer", "zones=3", "raise=9")
        self.assertEqual(done.status, -signal.SIGKILL)
        overview = self.summary(trace)
        self.assertIn("outer", overview["losses"][0]["text"])
        self.assertIn("signal 9", overview["losses"][0]["remedy"])

    def test_an_estimate_says_how_far_it_can_be_trusted(self):
        model = self.path("m.mlir")
        with open(model, "w", encoding="utf-8") as file:
            file.write("""func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
                %0 = stablehlo.add %x, %x : tensor<64x64xf32>
                return %0 : tensor<64x64xf32>
            }""")
        trace = self.path("m.opscope")
        self.assert_status(self.opscope("estimate", model, "--target", "sl2610", "--trace", trace))
        overview = self.summary(trace)
        self.assertEqual(overview["kind"], "estimate")
        self.assertIn("uncalibrated, an order of magnitude", self.sentence(overview))
        self.assertEqual([part["key"] for part in overview["partition"]["parts"]], ["compute", "dma", "idle"])

    def test_the_parts_as_csv(self):
        lines = self.show("summary", self.trace(*program()), "--csv").splitlines()
        self.assertEqual(lines[0], "key,label,time_ns,share_percent")
        self.assertEqual(lines[1].split(",")[:3], ["working", "working", str(62 * MS)])


class Served(SummaryCase):
    """The server's answers have the figures of the command."""

    def serve(self, *paths):
        server = subprocess.Popen([harness.OPSCOPE, "view", *paths], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  text=True, env=harness.environment(), start_new_session=True)
        def stop():
            server.terminate()
            status = server.wait(harness.TIMEOUT_S)
            server.stdout.close()
            self.assertEqual(status, 0)
        self.addCleanup(stop)
        self.link = server.stdout.readline().strip()
        self.assertTrue(self.link, "the server did not start")

    def ask(self, what, number=0, status=200, **parameters):
        link = urllib.parse.urlsplit(self.link)
        connection = http.client.HTTPConnection(link.hostname, link.port, timeout=harness.TIMEOUT_S)
        connection.request("GET", f"/api/t/{number}/{what}?{urllib.parse.urlencode(parameters)}", headers=bearer(self.link))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        self.assertEqual(answer.status, status, body)
        return json.loads(body)

    def own(self, *arguments):
        overview = self.summary(*arguments)
        for key in ("table", "file", "notes"):
            del overview[key]
        return overview

    def test_the_overview_is_the_summary(self):
        rows = Tables.rows_of_two_parts(self, 8 * US)
        table = Tables.table(self, *rows)
        paths = [self.trace(*program(), ("lost", 7), name="program.opscope"),
                 self.trace(*device_trace(), name="device.opscope"), table]
        self.serve(*paths)
        for number, path in enumerate(paths):
            self.assertEqual(self.ask("overview", number), self.own(path))
            self.assertEqual(self.ask("overview", number, warmup="include"), self.own(path, "--include-warm-up"))
        self.assertEqual(self.ask("overview", 0, **{"from": 50 * MS, "to": 90 * MS}),
                         self.own(paths[0], "--since", "50ms", "--until", "90ms"))

    def test_gaps(self):
        trace = self.trace(*device_trace())
        self.serve(trace)
        answer = self.ask("gaps")
        self.assertEqual((answer["count"], answer["sum"]), (2, 30 * MS))
        self.assertEqual([(gap["start"], gap["duration"], gap["class"]) for gap in answer["gaps"]],
                         [(40 * MS, 20 * MS, "host working"), (0, 10 * MS, "host working")])
        self.assertEqual([gap["start"] for gap in self.ask("gaps", sort="start")["gaps"]], [0, 40 * MS])
        self.assertEqual([gap["start"] for gap in self.ask("gaps", limit=1)["gaps"]], [40 * MS])
        self.assertEqual(answer["gaps"][0], self.own(trace)["gaps"]["longest"])

    def test_the_parts_of_gaps_are_those_of_the_bar(self):
        """What the page highlights for an idle part: the gaps that hold it, whose sums with the short ones are its share."""
        self.serve(self.trace(*device_trace()), self.trace(*steps(), name="steps.opscope"))
        for number in (0, 1):
            answer, overview = self.ask("gaps", number), self.ask("overview", number)
            held = {"idle_host_working": sum(gap["working_ns"] for gap in answer["gaps"]),
                    "idle_host_waiting": sum(gap["waiting_ns"] for gap in answer["gaps"]),
                    "nothing": sum(gap["duration"] - gap["working_ns"] - gap["waiting_ns"] for gap in answer["gaps"])}
            self.assertEqual({idle["key"]: idle["gaps_ns"] for idle in answer["idle"]}, held)
            parts = {part["key"]: part for part in overview["partition"]["parts"]}
            for idle in answer["idle"]:
                part = parts[idle["key"]]
                self.assertEqual(part["ns"], held[idle["key"]] + idle["short_ns"] + idle["end_ns"])
                self.assertAlmostEqual(part["share"], part["ns"] / overview["partition"]["total_ns"])
            self.assertGreater(sum(held.values()), 0)

    def test_steps_of_the_window(self):
        self.serve(self.trace(*steps()), self.trace(*program(), name="program.opscope"))
        answer = self.ask("steps")
        self.assertEqual((answer["name"], answer["count"]), ("step", 5), "without the warm-up")
        self.assertEqual(answer["kinds"], [{"kind": "other", "colour": 7}])
        self.assertEqual([(step["number"], step["from"], step["to"] - step["from"], step["idle_ns"], step["ns"]) for step in answer["steps"]],
                         [(number, 20 * (number + 1) * MS, 20 * MS, 5 * MS, [15 * MS]) for number in range(2, 7)])
        everything = self.ask("steps", warmup="include")["steps"]
        self.assertEqual([step["ns"] for step in everything][:2], [[55 * MS], [15 * MS]])
        few = self.ask("steps", limit=2)
        self.assertEqual((few["count"], [(step["count"], step["ns"][0], step["idle_ns"]) for step in few["steps"]]),
                         (5, [(3, 45 * MS, 15 * MS), (2, 30 * MS, 10 * MS)]))
        inside = self.ask("steps", **{"from": 75 * MS, "to": 125 * MS})
        self.assertEqual([step["number"] for step in inside["steps"]], [3, 4], "whole steps")
        self.assertEqual(self.ask("steps", 1)["steps"], [])

    def test_steps_without_a_device_have_their_length(self):
        self.serve(self.trace(*program(), *(("frame", 1 + time * MS, "tick") for time in (0, 10, 30, 60))))
        answer = self.ask("steps")
        self.assertEqual([(step["to"] - step["from"], step["idle_ns"], step["ns"]) for step in answer["steps"]],
                         [(10 * MS, None, []), (20 * MS, None, []), (30 * MS, None, [])])

    def test_steps_between_signposts(self):
        def lines():
            yield "track", "main"
            yield "zone", 0, 1, 1 + 100 * MS, "train"
            yield "device", "GPU 0"
            for call, start in enumerate((0, 40, 70), 1):
                yield "signpost", 1 + start * MS, f"part {call}"
                yield "op", call, 1 + (start + 1) * MS, 1 + (start + 2) * MS, "gelu"
                yield "run", call, 1 + (start + 3) * MS, 1 + (start + 3 + call) * MS, "gelu"
        self.serve(self.trace(*lines()))
        answer = self.ask("steps", warmup="include")
        self.assertIsNone(answer["name"])
        self.assertEqual([(step["text"], step["from"], step["ns"]) for step in answer["steps"]],
                         [("part 1", 0, [MS]), ("part 2", 40 * MS, [2 * MS]), ("part 3", 70 * MS, [3 * MS])])

    def test_what_holds_memory_at_a_time(self):
        self.serve(self.trace(
            ("track", "main"), ("zone", 0, 1, 101, "load"), ("zone", 0, 200, 400, "train"), ("alloc", 11, 4096, 100, "-"), ("alloc", 21, 8192, 30, "GPU"),
            ("alloc", 31, 12288, 5, "-"), ("free", 50, 4096, "-"), ("alloc", 251, 16384, 70, "GPU"), ("free", 300, 8192, "GPU")))
        def rows(at, **more):
            answer = self.ask("allocations", at=at, **more)
            self.assertEqual(answer["at"], at)
            return answer["bytes"], answer["count"], [(row["pool"], row["text"], row["count"], row["bytes"], row["since"]) for row in answer["rows"]]
        self.assertEqual(rows(40), (135, 3, [("", "load", 2, 105, 10), ("GPU", "load", 1, 30, 20)]))
        self.assertEqual(rows(260), (105, 3, [("GPU", "train", 1, 70, 250), ("GPU", "load", 1, 30, 20), ("", "load", 1, 5, 30)]))
        self.assertEqual(rows(399)[0], 75)
        self.assertEqual(len(rows(260, limit=1)[2]), 1)
        self.assertEqual(rows(0), (0, 0, []))
        end = self.ask("allocations")
        self.assertEqual((end["bytes"], end["at"]), (75, 399))
        self.assertIn("error", self.ask("allocations", status=400, at="x"))

    def test_every_run_of_an_op(self):
        self.serve(self.trace(*device_trace()))
        group = self.ask("ops")["groups"][0]
        answer = self.ask("op", name=group["name"])
        self.assertEqual([(run["start"], run["duration"]) for run in answer["runs"]], [(60 * MS, 30 * MS), (10 * MS, 20 * MS)])
        self.assertEqual((answer["count"], sum(run["duration"] for run in answer["runs"])), (group["count"], group["device_ns"]))
        self.assertEqual(len(self.ask("op", name=group["name"], limit=1)["runs"]), 1)
        self.assertEqual(self.ask("op", name=group["kind"], group="kind")["count"], group["count"])
        self.assertEqual(self.ask("op", name="no such op")["runs"], [])
        self.assertIn("error", self.ask("op", status=400))

    def test_the_window_of_the_overview_has_its_ops(self):
        table = Tables.table(self, *Tables.rows_of_two_parts(self, 8 * US))
        self.serve(table)
        overview = self.ask("overview")
        window = {key: overview["window"][key] for key in ("from", "to")}
        self.assertGreater(window["from"], 0)
        self.assertEqual(self.ask("overview", **window), overview)
        self.assertEqual(sum(group["count"] for group in self.ask("ops", **window)["groups"]), 3)
        self.assertEqual(self.ask("gaps", **window)["gaps"][0], overview["gaps"]["longest"])
        self.assertEqual(sum(group["count"] for group in self.ask("ops", warmup="include")["groups"]), 4)

    def test_ops_in_groups(self):
        self.serve(self.trace(*device_trace("h100")))
        answer = self.ask("ops")
        self.assertEqual(answer["machine"]["known"], True)
        self.assertEqual([(group["name"], group["count"], group["device_ns"], group["alone_ns"], group["p50"], group["p99"])
                          for group in answer["groups"]],
                         [("gelu", 2, 50 * MS, 40 * MS, 20 * MS, 30 * MS), ("AllGather", 1, 20 * MS, 10 * MS, 20 * MS, 20 * MS)])
        self.assertEqual(answer["groups"][0]["rows"][0]["start"], 60 * MS)
        self.assertEqual(len(self.ask("ops", group="none")["groups"]), 3)
        kinds = {group["name"]: group["colour"] for group in self.ask("ops", group="kind")["groups"]}
        self.assertEqual(kinds, {"other": 7, "collective": 6})
        colours = {row[1]: row[4] for row in self.ask("names")["names"]}
        self.assertEqual((colours["gelu"], colours["AllGather"]), (7, 6), "an op has one colour in tables and on tracks")
        self.assertIn("error", self.ask("ops", status=400, group="colour"))
        # The timeline paints them by kind, too.
        groups = {group["name"]: group["colour"] for group in answer["groups"]}
        names = {row[1]: row[4] for row in self.ask("names")["names"]}
        self.assertEqual({name: names[name] for name in groups}, groups)

    def test_advice_saves_no_more_than_the_device_idles(self):
        """The training loop's copies stand still most of the time, on a queue of their own."""
        trace = self.path("training.opscope")
        self.assert_status(self.opscope("run", "-o", trace, "--", harness.example("training_loop"), "3"))
        self.serve(trace)
        overview = self.ask("overview", warmup="include")
        gain = next(one["gain_ns"] for one in overview["advice"] if one["rule"] == "gap")
        self.assertLessEqual(gain, overview["gaps"]["sum"])
        self.assertIn("wait for the loader", [part["text"] for part in overview["gaps"]["host"]])
        kinds = {group["name"] for group in self.ask("ops", group="kind", warmup="include")["groups"]}
        self.assertLessEqual({"matmul", "attention", "norm", "elementwise", "collective", "move"}, kinds)

    def test_the_roofline_of_a_known_machine(self):
        table = Tables.table(self, *ops_csv.good_rows())
        self.serve(table, self.trace(*device_trace()), self.trace(*program(), name="program.opscope"))
        answer = self.ask("roofline")
        roofs = {roof["kind"] for roof in answer["roofs"]}
        self.assertEqual(roofs, {"dram", "flops"})
        points = {point["name"].split()[0]: point for point in answer["points"]}
        matmul = points["MatmulDeviceOperation"]
        self.assertEqual((matmul["kind"], matmul["colour"], matmul["estimated"]), ("matmul", 0, False))
        flops = 2 * 32 * 4096 * 4096
        self.assertAlmostEqual(matmul["tflops"], flops / 100e-6 / 1e12)
        top = {op["name"].split()[0]: op["device_ns"] for op in self.own(table)["top_ops"]}
        self.assertEqual(sum(point["device_ns"] for point in points.values()) + answer["without_model"]["ns"],
                         sum(top.values()))
        unknown = self.ask("roofline", 1)
        self.assertEqual((unknown["machine"]["known"], unknown["roofs"], unknown["without_model"]["ops"]), (False, [], 3))
        self.assertEqual(self.ask("roofline", 2)["points"], [])


if __name__ == "__main__":
    unittest.main()
