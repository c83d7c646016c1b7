# SPDX-License-Identifier: Apache-2.0
"""Programs with a Tracy client, recorded live: by opscope run and by opscope attach. Ours (tracy_client.py) dies when it is asked
about an address that it did not send, and waits for a server before it ends; so a passing test means that neither happens."""

import os
import signal
import subprocess
import sys
import unittest

import harness

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tracy_client.py")


def client(*options):
    return [sys.executable, "-S", CLIENT, *options]


class LiveCase(harness.TestCase):
    def zones(self, trace):
        rows = self.opscope_json("zones", trace, "--json")["rows"]
        return {row["name"]: row["count"] for row in rows}

    def run_client(self, *options, run=(), status=0):
        trace = self.path("t.opscope")
        done = self.opscope("run", "--python-trace=off", "-o", trace, *run, "--", *client(*options))
        self.assert_status(done, status)
        return done, trace


class Run(LiveCase):
    def test_is_recorded_with_names_and_status(self):
        done, trace = self.run_client("--zones", "25", "--exit", "7", status=7)
        self.assertEqual(self.zones(trace), {"work": 25, "whole": 1})
        self.assertIn("26 zones, 1 process, 1 thread", done.stderr)
        rows = self.opscope_json("zones", trace, "--json")["rows"]
        work = next(row for row in rows if row["name"] == "work")
        self.assertEqual((work["file"], work["line"], work["total_ns"]), ("made.c", 12, 25 * 50))
        messages = self.opscope_json("messages", trace, "--json")["rows"]
        self.assertEqual([(row["text"], row["thread"]) for row in messages], [("a message", "main")])

    def test_every_version(self):
        for version in (63, 66, 69, 72, 74, 77, 79, 82):
            _, trace = self.run_client("--version", str(version))
            self.assertEqual(self.zones(trace), {"work": 10, "whole": 1}, version)
            os.remove(trace)

    def test_three_at_once_and_their_children(self):
        command = " ".join(client("--zones", "5"))
        trace = self.path("t.opscope")
        done = self.opscope("run", "--python-trace=off", "-o", trace, "--", "sh", "-c", f"({command} & {command} & wait); {command}; exit 3")
        self.assert_status(done, 3)
        self.assertEqual(self.zones(trace), {"work": 15, "whole": 3})
        processes = self.opscope_json("info", trace, "--json")["processes"]
        self.assertEqual(sum("tracy_client" in process["command"] and process["zones"] == 6 for process in processes), 3)

    def test_times_are_those_of_the_trace(self):
        """The command is started by our clock, its zones come by the client's: they are inside its life."""
        _, trace = self.run_client()
        (process,) = self.opscope_json("info", trace, "--json")["processes"]
        (message,) = self.opscope_json("messages", trace, "--json")["rows"]
        self.assertGreater(message["time_ns"], process["start_ns"])
        self.assertLess(message["time_ns"], process["start_ns"] + process["length_ns"])

    def test_protocol_that_is_not_known(self):
        done, trace = self.run_client("--version", "90", "--exit", "4", status=4)
        self.assertIn("protocol 90", done.stderr)
        self.assertIn("not recorded", done.stderr)
        done, _ = self.run_client("--version", "66", run=("--tracy-protocol", "66"))
        self.assertIn("11 zones", done.stderr)
        done = self.opscope("run", "--tracy-protocol", "83", "true")
        self.assert_status(done, 125)
        self.assertIn("63 to 82", done.stderr)
        self.assertTrue(os.path.exists(trace))

    def test_refused(self):
        done, _ = self.run_client("--fault", "refuse", "--exit", "5", status=5)
        self.assertIn("has had its one session", done.stderr)

    def test_garbage_is_never_asked_about(self):
        done, trace = self.run_client("--fault", "garbage", "--exit", "6", status=6)
        self.assertIn("the rest of it is not recorded", done.stderr)
        self.assertIn("10 zones", done.stderr)
        self.assertEqual([loss["reason"] for loss in self.opscope_json("info", trace, "--json")["losses"]], ["damaged data"])

    def test_killed(self):
        trace = self.path("t.opscope")
        done = self.opscope("run", "--python-trace=off", "-o", trace, "--", "sh", "-c", " ".join(client("--fault", "die")) + "; exit 9")
        self.assert_status(done, 9)
        self.assertIn("what it had not sent is lost", done.stderr)
        self.assertEqual(sum(self.zones(trace).values()), 11)  # with the one that was open

    def test_left_alone(self):
        done, trace = self.run_client("--exit", "2", run=("--no-tracy",), status=2)
        self.assertNotIn("Tracy", done.stderr)
        self.assertTrue(os.path.exists(trace))

    def test_variables_of_the_user_stay(self):
        done = self.opscope("run", "-q", "-o", self.path("t.opscope"), "--", "sh", "-c", "env | grep ^TRACY_ | sort",
                            env={"TRACY_NO_EXIT": "0"})
        self.assertEqual(done.stdout.split(), ["TRACY_NO_EXIT=0", "TRACY_NO_SAMPLING=1", "TRACY_ONLY_LOCALHOST=1"])

    def test_recording_ends_before_the_program(self):
        """What is connected is let go, and so is what comes later: nothing waits for ever at its end."""
        trace = self.path("t.opscope")
        command = " ".join(client("--exit", "8"))
        script = f"while [ ! -e {trace} ]; do sleep 0.05; done; {command}"
        done = self.opscope("run", "--python-trace=off", "--duration", "100ms", "-o", trace, "--", "sh", "-c", script)
        self.assert_status(done, 8)

    def test_does_not_keep_the_program_from_the_processor(self):
        """A collector comes before what runs besides, for shared memory is full soon; not so for what waits in a client."""
        own = os.getpriority(os.PRIO_PROCESS, 0)
        run = self.start([harness.OPSCOPE, "run", "--python-trace=off", "-o", self.path("t.opscope"), "--",
                          *client("--fault", "wait", "--exit", "3")], stdin=subprocess.PIPE, text=True)
        self.assertEqual([run.stdout.readline().split()[0], run.stdout.readline().strip()], ["port", "waiting"])
        harness.wait_until(lambda: os.getpriority(os.PRIO_PROCESS, run.pid) == own, "the priority that it was started with")
        run.stdin.close()
        self.assertEqual(run.wait(harness.TIMEOUT_S), 3)


class Attach(LiveCase):
    def start_client(self, *options, env=None):
        process = self.start(client(*options), env={"TRACY_NO_EXIT": "1", **(env or {})}, stdin=subprocess.PIPE, text=True)
        words = process.stdout.readline().split()
        return process, words[1], words[3]

    def attach(self, target, *options):
        return self.opscope("attach", "--tracy", target, "-o", self.path("t.opscope"), *options)

    def test_pid_and_address(self):
        for env in ({}, {"TRACY_ONLY_LOCALHOST": "1"}):
            for by_pid in (True, False):
                process, port, pid = self.start_client("--exit", "3", env=env)
                done = self.attach(pid if by_pid else f"localhost:{port}", "--json")
                self.assert_status(done)
                self.assertEqual(process.wait(harness.TIMEOUT_S), 3)
                result = done.json()
                self.assertEqual((result["zones"], result["unnamed"], result["whole"]), (11, 0, True))
                self.assertEqual(self.zones(self.path("t.opscope")), {"work": 10, "whole": 1})

    def test_nobody_there(self):
        for target, words in ((str(os.getpid()), "no Tracy client"), ("127.0.0.1:1", "cannot connect"), ("999999999", "no process"),
                              ("[::1]:1", "cannot connect")):
            done = self.attach(target)
            self.assert_status(done, 2)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.path("t.opscope")))
        self.assert_status(self.opscope("attach", "-o", self.path("t.opscope")), 2)
        self.assert_status(self.opscope("attach", "--tracy", "1"), 2)

    def test_stopped_by_a_signal(self):
        """The trace is whole, what is open is in it, and the program goes on and ends by itself."""
        process, _, pid = self.start_client("--fault", "wait", "--exit", "3")
        trace = self.path("t.opscope")
        attached = self.start([harness.OPSCOPE, "attach", "--tracy", pid, "-o", trace])
        self.assertEqual(process.stdout.readline().strip(), "waiting")
        attached.send_signal(signal.SIGINT)
        self.assertEqual(attached.wait(harness.TIMEOUT_S), 0)
        self.assertIn("whole", self.zones(trace))
        process.stdin.close()
        self.assertEqual(process.wait(harness.TIMEOUT_S), 3)

    def test_killed_opscope_lets_the_program_end(self):
        process, _, pid = self.start_client("--fault", "wait", "--exit", "3")
        attached = self.start([harness.OPSCOPE, "attach", "--tracy", pid, "-o", self.path("t.opscope")])
        self.assertEqual(process.stdout.readline().strip(), "waiting")
        attached.kill()
        attached.wait(harness.TIMEOUT_S)
        process.stdin.close()
        self.assertEqual(process.wait(harness.TIMEOUT_S), 3)


if __name__ == "__main__":
    unittest.main()
