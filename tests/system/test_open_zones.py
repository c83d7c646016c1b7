# SPDX-License-Identifier: Apache-2.0
"""Zones that never ended: every view shows them, with one duration, until their thread was last seen."""

import csv
import json
import os
import signal
import time
import unittest

import facts
import harness


def switches(pid):
    """How often a process has waited for something."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))


class Open(harness.TestCase):
    def durations(self, trace):
        """{view: {name: duration_ns}} of the open zones, from every command and export."""
        def export(name):
            path = self.path("out." + name)
            self.assert_status(self.opscope("export", trace.path, "--format", name, "-o", path))
            return open(path, encoding="utf-8")

        views = {"info": {zone["name"]: zone["running_ns"] for zone in trace.info["open_zones"]}}
        views["zones"] = {row["name"]: row["total_ns"] for row in trace.rows if row["open"]}
        views["tree"] = {row["name"]: row["total_ns"]
                         for row in self.opscope_json("tree", trace.path)["rows"] if row["open"]}
        diff = self.opscope_json("diff", trace.path, trace.path, "--all", "--json")
        views["diff"] = {row["name"]: row["b_total_ns"] for row in diff["rows"] if row["name"] in views["info"]}
        with export("csv") as file:
            views["csv"] = {row["name"]: int(row["duration_ns"]) for row in csv.DictReader(file) if row["open"]}
        with export("chrome") as file:
            events = json.load(file)["traceEvents"]
        views["chrome"] = {event["name"]: round(event["dur"] * 1000) for event in events
                           if event["ph"] == "X" and event["args"].get("open")}
        with export("speedscope") as file:
            speedscope = json.load(file)
        frames, begun, views["speedscope"] = speedscope["shared"]["frames"], {}, {}
        for event in (event for profile in speedscope["profiles"] for event in profile["events"]):
            name = frames[event["frame"]]["name"]
            if event["type"] == "O":
                begun[name] = event["at"]
            elif name in views["info"]:
                views["speedscope"][name] = round(event["at"] - begun[name])
        with export("collapsed") as file:
            lines = [line.rsplit(" ", 1) for line in file.read().splitlines()]
        views["collapsed"] = {name: sum(int(weight) for stack, weight in lines if name in stack.split(";"))
                              for name in views["info"]}
        return views

    def check(self, trace, names):
        views = self.durations(trace)
        self.assertEqual(sorted(views["info"]), sorted(names))
        for view, found in views.items():
            self.assertEqual(found, views["info"], view)
        return views["info"]

    def test_a_program_that_hangs_and_is_interrupted(self):
        """Nothing is recorded while it hangs: it has run until it was last seen alive, and not longer."""
        run = facts.Run(self, ["open=outer", "open=inner", "say=ready", "read"])
        run.expect("ready")
        time.sleep(0.3)
        polls = switches(run.pid)
        harness.wait_until(lambda: switches(run.pid) > polls + 3, "the collector to look at the program")
        os.kill(run.pid, signal.SIGINT)
        run.process.wait(harness.TIMEOUT_S)  # before its input is closed, which would end it as well
        done = run.finish()
        self.assert_status(done, -signal.SIGINT)
        wall_ns = (time.monotonic() - run.begin) * 1e9
        trace = run.trace()
        found = self.check(trace, ["outer", "inner"])
        self.assertGreater(found["inner"], 300e6)
        self.assertGreaterEqual(found["outer"], found["inner"])
        self.assertLess(found["outer"], wall_ns)
        self.assertEqual(trace.info["length_ns"], found["outer"])
        self.assertLess(trace.processes[0]["start_ns"], wall_ns)
        for command in ("zones", "tree", "summary"):
            text = self.opscope(command, trace.path).stdout
            self.assertNotIn("no zones", text)
            self.assertIn("outer", text)
            self.assertIn("2 zones had not ended" if command == "summary" else "outer (1 not ended)", text)
        row = next(row for row in trace.rows if row["name"] == "outer")
        self.assertEqual((row["count"], row["wall_percent"]), (1, 100))
        self.assertEqual(row["self_ns"], found["outer"] - found["inner"])

    def test_every_death(self):
        for step, status in (("segv", -signal.SIGSEGV), (f"raise={signal.SIGABRT.value}", -signal.SIGABRT),
                             (f"raise={signal.SIGKILL.value}", -signal.SIGKILL), ("_exit=0", 0), ("exit=3", 3)):
            with self.subTest(step):
                run = facts.Run(self, ["open=serve", "slow=20", step])
                self.assert_status(run.finish(), status)
                trace = run.trace()
                found = self.check(trace, ["serve"])
                # 20 zones of 20 us; it began before the first of them and ended after the last
                slow = next(row for row in trace.rows if row["name"] == "slow")
                self.assertEqual(slow["count"], 20)
                self.assertGreater(found["serve"], slow["total_ns"])
                self.assertEqual(trace.info["length_ns"], found["serve"])
                self.assertLess(slow["wall_percent"], 100)

    def test_exec_inside_a_zone(self):
        """The image that called exec was last seen at its last record, however long the new one runs."""
        run = facts.Run(self, ["open=before", "slow=5", "exec", "open=after", "say=ready", "read", "slow=20000"])
        run.expect("ready")
        run.go_on()
        self.assert_status(run.finish())
        trace = run.trace()
        found = self.check(trace, ["before", "after"])
        self.assertLess(found["before"], found["after"])
        self.assertGreater(found["after"], 400e6)


if __name__ == "__main__":
    unittest.main()
