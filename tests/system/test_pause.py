# SPDX-License-Identifier: Apache-2.0
"""Recording what matters: pause and resume from outside and from inside, --paused, --capture. What is recorded while a
session is on is there, what is done while it is paused is not, and zones stay in balance across both."""

import os
import shlex
import unittest

import facts
import harness
from test_python import Tools, cases_of_each_python


class Outside(harness.TestCase):
    """opscope pause, resume and status."""

    def change(self, word, run, status=0):
        self.assert_status(self.opscope(word, run.pid), status)

    def test_paused_from_the_start(self):
        run = facts.Run(self, ["zones=100", "say=a", "read", "zones=20", "say=b", "read", "zones=3"], ["--paused"])
        run.expect("a")
        [row] = self.opscope_json("status", run.child_pid())["rows"]
        self.assertEqual((row["state"], row["pid"], row["trace"]), ("paused", run.pid, run.output))
        self.change("resume", run)
        run.go_on()
        run.expect("b")
        self.change("pause", run)
        run.go_on()
        done = run.finish()
        self.assert_status(done)
        self.assertIn("; paused for ", done.stderr)
        trace = run.trace()
        self.assertEqual(trace.counts(), {"work": 20})
        self.assertEqual((trace.lost_zones, trace.lost_records), (0, 0))
        spans = trace.losses("paused")
        self.assertEqual(len(spans), 2)
        self.assertGreater(trace.info["paused_ns"], 0)
        for command in ("zones", "summary"):
            self.assertIn("paused", self.opscope(command, trace.path).stdout, command)

    def test_zones_stay_in_balance(self):
        """Open when paused, begun while paused, and ended on either side."""
        run = facts.Run(self, ["open=a", "open=b", "zones=1", "say=1", "read",
                               "zones=10", "open=hidden", "open=hidden too", "close", "op=hidden op", "say=2", "read",
                               "zones=100", "open=c", "op=d", "say=3", "read",
                               "op-end", "close", "open=hidden again", "say=4", "read",
                               "zones=1000", "close", "op-end", "close", "open=e", "close", "close", "close", "zones=1"])
        for number, word in enumerate(("pause", "resume", "pause", "resume"), 1):
            run.expect(str(number))
            self.change(word, run)
            run.go_on()
        self.assert_status(run.finish())
        trace = run.trace()
        self.assertEqual(trace.open_names(), [])
        self.assertEqual(trace.counts(), {"a": 1, "b": 1, "work": 1102, "c": 1, "d": 1, "e": 1})
        self.assertEqual(trace.lost_zones, 0)
        self.assertEqual(trace.losses("end without a begin"), [])

    def test_threads_and_forks(self):
        run = facts.Run(self, ["threads=4,100", "fork=2,10", "say=1", "read", "threads=4,1000", "fork=2,1000",
                               "spawn=zones=1000", "say=2", "read", "threads=4,7", "fork=3,5", "spawn=zones=6"])
        run.expect("1")
        self.change("pause", run)
        run.go_on()
        run.expect("2")
        self.change("resume", run)
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual(run.trace().counts(), {"work": 400 + 20 + 28 + 15 + 6})

    def test_a_child_of_a_paused_process_goes_on_with_the_others(self):
        """Forked while paused, and resumed without having recorded anything."""
        run = facts.Run(self, ["zones=1", "daemon=" + self.path("stop"), "await=" + self.path("go"), "zones=50",
                               "touch=" + self.path("stop")], ["--paused"])
        harness.wait_until(lambda: self.opscope("status", run.pid).status == 0, "the session")
        self.change("resume", run)
        open(self.path("go"), "w", encoding="ascii").close()
        self.assert_status(run.finish())
        self.assertEqual(run.trace().count("work") >= 50, True, run.trace().counts())

    def test_which_session(self):
        done = self.opscope("pause")
        self.assert_status(done, 2)
        self.assertIn("no session is running", done.stderr)
        self.assert_status(self.opscope("status"), 1)
        self.assert_status(self.opscope("resume", os.getpid()), 2)
        self.assert_status(self.opscope("resume", self.folder), 2)
        first = facts.Run(self, ["say=1", "read", "zones=1"], output="1.opscope")
        second = facts.Run(self, ["say=1", "read", "zones=2"], output="2.opscope")
        first.expect("1")
        second.expect("1")
        done = self.opscope("pause")
        self.assert_status(done, 2)
        self.assertIn("2 sessions are running", done.stderr)
        self.assertEqual(len(self.opscope_json("status")["rows"]), 2)
        [row] = self.opscope_json("status", second.pid)["rows"]
        self.assert_status(self.opscope("pause", row["session"]))
        self.assertEqual([row["state"] for row in self.opscope_json("status", second.child_pid())["rows"]], ["paused"])
        first.go_on()
        second.go_on()
        self.assert_status(first.finish())
        self.assert_status(second.finish())
        self.assertEqual((first.trace().zones, second.trace().zones), (1, 0))


class Inside(harness.TestCase):
    """The program itself, and rules."""

    def counts(self, steps, *options):
        run = facts.Run(self, steps, options)
        done = run.finish()
        self.assert_status(done)
        trace = run.trace()
        self.assertEqual((trace.open_names(), trace.lost_zones, trace.lost_records), ([], 0, 0))
        return trace.counts()

    def test_pause_and_resume(self):
        steps = ["zones=1", "pause", "zones=10", "threads=2,10", "resume", "zones=100", "threads=2,1000", "pause", "zones=5"]
        self.assertEqual(self.counts(steps), {"work": 2101})

    def test_many_changes(self):
        self.assertEqual(self.counts(["zones=2", "pause", "zones=3", "resume"] * 300), {"work": 600})

    def test_signposts(self):
        steps = ["zones=1", "signpost=warm", "zones=10", "signpost=done", "zones=100", "signpost=warm", "zones=1000"]
        self.assertEqual(self.counts(steps, "--capture", "signpost:warm..done"), {"work": 1010})
        self.assertEqual(self.counts(steps, "--capture", "signpost:done.."), {"work": 1100})
        self.assertEqual(self.counts(steps, "--capture", "signpost:..done"), {"work": 11})

    def test_the_signposts_themselves_are_recorded(self):
        run = facts.Run(self, ["signpost=x", "signpost=warm", "message=m", "signpost=done", "signpost=y"],
                        ["--capture", "signpost:warm..done"])
        self.assert_status(run.finish())
        self.assertEqual([row["header"] or row["text"] for row in run.trace().messages()], ["warm", "m", "done"])

    def test_steps(self):
        steps = []
        for zones in (1, 10, 100, 1000, 10000):
            steps += ["zones=%d" % zones, "step"]
        self.assertEqual(self.counts(steps, "--capture", "steps:1-2"), {"work": 110}, "what comes before the first mark is no step")
        self.assertEqual(self.counts(steps, "--capture", "steps:3"), {"work": 1000})
        self.assertEqual(self.counts(steps, "--capture", "steps:2-3"), {"work": 1100})
        run = facts.Run(self, steps, ["--capture", "steps:1-2"])
        self.assert_status(run.finish())
        [row] = self.opscope_json("frames", run.output)["rows"]
        self.assertEqual(row["count"], 2, "both of them are between marks")

    def test_steps_of_each_process(self):
        """One is ahead of the other: neither what it begins nor what it ends is the other's."""
        def touch(name):
            open(self.path(name), "w", encoding="ascii").close()

        def state_is(state):
            rows = self.opscope("status", run.pid, "--json").json()["rows"]  # none before the session is there
            return rows and rows[0]["state"] == state

        first = ["step", "step", "await=" + self.path("end"), "zones=10", "step"]
        second = ["step", "await=" + self.path("go"), "zones=100", "step", "touch=" + self.path("in step 2"),
                  "await=" + self.path("first has ended"), "zones=1000", "step", "zones=1"]
        both = " & ".join(shlex.join([harness.program("script"), *steps]) for steps in (first, second))
        run = facts.Run(self, ["-c", both + "; wait"], ["--capture", "steps:2"], command=["sh"])
        harness.wait_until(lambda: state_is("recording"), "step 2 of the first")
        touch("go")
        harness.wait_until(lambda: os.path.exists(self.path("in step 2")), "step 2 of the second")
        facts.wait_for_polls(self.opscope_json("status", run.pid)["rows"][0]["session"])  # so that its request is not the last
        touch("end")
        harness.wait_until(lambda: state_is("paused"), "the end of the first")
        touch("first has ended")
        self.assert_status(run.finish())
        self.assertEqual(run.trace().counts(), {"work": 1010})

    def test_steps_are_called_what_frames_calls_them(self):
        steps = ["zones=1", "step", "zones=1", "step", "zones=30", "open=slow", "close", "step", "zones=1", "step"]
        run = facts.Run(self, steps)
        self.assert_status(run.finish())
        slow = next(row["number"] for row in self.opscope_json("frames", run.output, "--list")["rows"]
                    if "slow" in [zone["name"] for zone in self.opscope_json(
                        "zones", run.output, "--since", f"{row['start_ns']}ns",
                        "--until", f"{row['start_ns'] + row['duration_ns']}ns")["rows"]])
        self.assertEqual(slow, 2)
        self.assertEqual(self.counts(steps, "--capture", f"steps:{slow}"), {"work": 30, "slow": 1})

    def test_zones(self):
        steps = ["zones=1", "open=other", "zones=1", "open=train", "zones=10", "open=train", "zones=100", "close",
                 "zones=1000", "close", "zones=1", "close", "nest=3", "open=train", "nest=2", "close"]
        self.assertEqual(self.counts(steps, "--capture", "zone:train"), {"train": 3, "work": 1110, "nested": 2})
        self.assertEqual(self.counts(["zones=3", "nest=2"], "--capture", "zone:work"), {"work": 3})
        ops = ["op=other", "zones=1", "op-end", "op=train", "zones=10", "op-end", "zones=1", "op=train", "op=x", "op-end"]
        self.assertEqual(self.counts(ops + ["op-end"], "--capture", "zone:train"), {"train": 2, "work": 10, "x": 1})

    def captured(self, what):
        return facts.Trace(self.record([harness.program("captured_threads"), what], "--capture", "zone:train"))

    def test_a_zone_that_outlasts_another_threads(self):
        self.assertEqual(self.captured("overlap").counts(), {"train": 2, "work": 110})

    def test_a_thread_that_ends_inside_its_zone(self):
        trace = self.captured("left")
        self.assertEqual((trace.counts(), trace.open_names()), ({"work": 10}, ["train"]))

    def test_pauses_of_threads_that_take_turns(self):
        trace = self.captured("turns")
        self.assertEqual(trace.counts(), {"train": 3, "work": 30})
        spans = [(span["from_ns"], span["to_ns"]) for span in trace.losses("paused")]
        self.assertEqual(len(spans), 4, spans)
        edges = [edge for span in spans for edge in span]
        self.assertEqual(edges, sorted(edges), "one after the other")

    def test_profiler_api(self):
        steps = ["zones=1", "capture=1", "zones=10", "capture=0", "zones=100", "capture=1", "zones=1000"]
        self.assertEqual(self.counts(steps, "--capture", "cuda-profiler-api"), {"work": 1010})
        self.assertEqual(self.counts(steps), {"work": 1111}, "without the rule it means nothing")

    def test_other_processes_follow(self):
        run = facts.Run(self, ["zones=1", "spawn=zones=10", "resume", "spawn=zones=100", "zones=1000", "say=1", "read",
                               "pause", "say=2", "read", "spawn=zones=10"], ["--paused"])
        run.expect("1")
        harness.wait_until(lambda: self.opscope_json("status", run.pid)["rows"][0]["state"] == "recording", "the collector")
        run.go_on()
        run.expect("2")
        harness.wait_until(lambda: self.opscope_json("status", run.pid)["rows"][0]["state"] == "paused", "the collector")
        run.go_on()
        self.assert_status(run.finish())
        # the first child after resume may have been started before the collector had heard of it
        self.assertIn(run.trace().count("work"), (1000, 1100))

    def test_what_did_not_come_is_said(self):
        """Also where an earlier trace is kept, and only of programs that record."""
        steps = [harness.program("script"), "zones=1", "signpost=a", "step"]
        self.record(steps)
        whys = {"steps:7": "step 7", "zone:train": "no zone is called train", "signpost:b..": "no signpost b came",
                "cuda-profiler-api": "no process started a profiler"}
        for output in ("t.opscope", "new.opscope"):
            for rule, why in whys.items():
                done = self.opscope("run", "-o", self.path(output), "--capture", rule, "--", *steps)
                self.assert_status(done)
                self.assertIn(why, done.stderr)
            done = self.opscope("run", "-o", self.path(output), "--paused", "--", *steps)
            self.assertIn("nobody said opscope resume", done.stderr)
            between = [steps[0], "zones=1", "capture=1", "capture=0", "zones=1"]
            done = self.opscope("run", "-o", self.path(output), "--capture", "cuda-profiler-api", "--", *between)
            self.assertIn("in between no process recorded anything", done.stderr)
            self.assertNotIn("profiler", done.stderr)
            done = self.opscope("run", "-o", self.path(output), "--capture", "zone:train", "--", "true")
            self.assertIn("no process called the opscope library", done.stderr)
            self.assertNotIn("train", done.stderr)

    def test_two_rules(self):
        """Not the last one in silence."""
        done = self.opscope("run", "--capture", "zone:a", "--capture", "zone:b", "--", "true")
        self.assert_status(done, 125)
        self.assertIn("--capture zone:a and --capture zone:b", done.stderr)

    def test_rules_that_make_no_sense(self):
        for rule in ("steps:", "steps:0", "steps:5-3", "steps:x", "steps:1-2-3", "zone:", "signpost:a", "signpost:..",
                     "nothing", "", "zone:" + "x" * 200):
            done = self.opscope("run", "--capture", rule, "--", "true")
            self.assert_status(done, 125)
            self.assertIn("--capture", done.stderr)


HEAD = """
import os, sys, threading, warnings
import opscope
warnings.simplefilter("error")
def work(): pass
def spoil(): pass
def many(function, n):
    for _ in range(n):
        function()
def wait():
    print("ready", flush=True)
    sys.stdin.readline()
"""


class PythonCases(Tools):
    """Python's calls: the hook is out while paused, and back afterwards."""

    def script(self, text):
        return self.write("program.py", HEAD + "\n".join(line[8:] for line in text.splitlines()) + "\n")

    def calls(self, text, *options, words=()):
        run = facts.Run(self, [self.script(text)], options, command=[self.python])
        for word in words:
            run.expect("ready")
            self.assert_status(self.opscope(word, run.pid))
            run.go_on()
        done = run.finish()
        self.assert_status(done)
        self.assertNotIn("Warning", done.stderr)
        trace = run.trace()
        self.assertEqual((trace.open_names(), trace.lost_zones), ([], 0))
        counts = trace.counts()
        return counts.get("work", 0), counts.get("spoil", 0)

    def test_pause_and_resume(self):
        self.assertEqual(self.calls("""
        many(work, 10)
        for _ in range(5):
            opscope.pause()
            assert not opscope.is_recording()
            many(spoil, 1000)
            opscope.resume()
            many(work, 2)
        """), (20, 0))

    def test_steps_and_signposts(self):
        text = """
        for i in range(6):
            many(work if i in (2, 3) else spoil, 10)
            opscope.frame("step")
            if i == 3:
                opscope.signpost("end")
            if i == 1:
                opscope.signpost("begin")
        """
        self.assertEqual(self.calls(text, "--capture", "steps:2-3"), (20, 0))
        self.assertEqual(self.calls(text, "--capture", "signpost:begin..end"), (20, 0))

    def test_a_function_as_the_zone(self):
        self.assertEqual(self.calls("""
        def train():
            many(work, 10)
        many(spoil, 10)
        train()
        many(spoil, 10)
        train()
        """, "--capture", "zone:train"), (20, 0))

    def test_fork_while_paused(self):
        self.assertEqual(self.calls("""
        opscope.pause()
        many(spoil, 10)
        child = os.fork()
        many(spoil, 1000)
        if child:
            os.waitpid(child, 0)
            opscope.resume()
            many(work, 10)
        """), (10, 0))

    def test_from_outside(self):
        """The hook comes back by itself, in the program's threads, too."""
        self.assertEqual(self.calls("""
        many(spoil, 10)
        wait()
        while not opscope._native.is_installed():
            many(spoil, 10)
        other = threading.Thread(target=many, args=(work, 5))
        other.start()
        other.join()
        many(work, 10)
        """, "--paused", words=["resume"])[0], 15)


def load_tests(loader, tests, pattern):
    suite = cases_of_each_python(loader, PythonCases, globals())
    for case in (Outside, Inside):
        suite.addTests(loader.loadTestsFromTestCase(case))
    return suite


if __name__ == "__main__":
    unittest.main()
