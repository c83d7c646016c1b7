# SPDX-License-Identifier: Apache-2.0
"""Clients of Tracy that die, stop, fork, say nothing or are many; servers that are two, or killed. No program waits for ever."""

import os
import resource
import signal
import subprocess
import sys
import unittest

import harness
import tracy_stream
from test_tracy_live import LiveCase, client


class FaultCase(LiveCase):
    def start_run(self, *options, run=()):
        """opscope run in the background, with its lines on stderr."""
        command = [harness.OPSCOPE, "run", "--python-trace=off", "-o", self.path("t.opscope"), *run, "--", *client(*options)]
        return self.start(command, text=True)

    def read_until(self, stream, words):
        for line in stream:
            if words in line:
                return line
        self.fail(f"no line with {words!r}")

    def open_gate(self):
        with open(self.path("gate"), "w", encoding="utf-8"):
            pass

    def guard_of(self, process):
        """The process that lets clients go when opscope is gone."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
                    if b"tracy-guard" in line.read() and int(stat.read().rsplit(")", 1)[1].split()[1]) == process.pid:
                        return int(pid)
            except (OSError, IndexError):
                continue  # it has ended
        return None


class Clients(FaultCase):
    def test_never_answers(self):
        """It is waited for, as long as it lives, and its end is not waited for any longer."""
        run = self.start_run("--fault", "silent", "--gate", self.path("gate"), "--exit", "5")
        self.read_until(run.stderr, "it does not answer")
        self.open_gate()
        self.assertEqual(run.wait(harness.TIMEOUT_S), 5)

    def test_is_stopped_before_it_answers(self):
        """Everything is recorded when it goes on, however late."""
        run = self.start_run("--fault", "stop", "--exit", "6")
        pid = int(run.stdout.readline().split()[3])
        self.read_until(run.stderr, "it does not answer")
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(run.wait(harness.TIMEOUT_S), 6)
        self.assertEqual(self.zones(self.path("t.opscope")), {"work": 10, "whole": 1})

    def test_is_stopped_within_a_frame(self):
        process = self.start(client("--fault", "half"), env={"TRACY_NO_EXIT": "1"}, text=True)
        pid = process.stdout.readline().split()[3]
        trace = self.path("t.opscope")
        attached = self.start([harness.OPSCOPE, "attach", "--tracy", pid, "-o", trace])
        self.read_until(process.stdout, "waiting")
        harness.wait_until(lambda: sum(self.zones_so_far(trace + ".partial").values()) >= 10, "the zones are in the trace")
        attached.send_signal(signal.SIGINT)
        self.assertEqual(attached.wait(harness.TIMEOUT_S), 0)
        os.kill(int(pid), signal.SIGCONT)
        self.assertEqual(process.wait(harness.TIMEOUT_S), 0)
        self.assertEqual(sum(self.zones(trace).values()), 11)

    def test_sends_late(self):
        """What waits to be sent is in the client's memory: whoever runs it learns that."""
        done, trace = self.run_client("--fault", "late")
        self.assertEqual(self.zones(trace), {"work": 10, "whole": 1})
        self.assertRegex(done.stderr, r"fake client\): what it records comes \d+ s late, and fills its memory")
        self.assertEqual(done.stderr.count("fills its memory"), 1)

    def zones_so_far(self, trace):
        done = self.opscope("zones", trace, "--all", "--json")
        return {row["name"]: row["count"] for row in done.json()["rows"]} if done.status == 0 else {}

    def test_forks_with_the_client_inside(self):
        done, trace = self.run_client("--fault", "fork", "--exit", "4", status=4)
        self.assertEqual(self.zones(trace), {"work": 10, "whole": 1})
        self.assertNotIn("lost", done.stderr.replace("0 lost", ""))

    def test_killed_while_a_child_has_its_connection(self):
        trace = self.path("t.opscope")
        command = " ".join(client("--fault", "die-with-child", "--gate", self.path("gate")))
        done = self.opscope("run", "--python-trace=off", "-o", trace, "--", "sh", "-c", f"{command} > /dev/null 2>&1; exit 9")
        self.open_gate()
        self.assert_status(done, 9)
        self.assertIn("what it had not sent is lost", done.stderr)
        self.assertEqual(sum(self.zones(trace).values()), 11)

    def test_socket_that_a_child_inherits(self):
        """A child has the parent's socket and one of its own: both clients are recorded."""
        done, trace = self.run_client("--fault", "inherit", "--exit", "3", status=3)
        self.assertEqual(self.zones(trace), {"work": 20, "whole": 2}, done)

    def test_port_that_children_would_inherit(self):
        done = self.opscope("run", "-q", "-o", self.path("t.opscope"), "--", "sh", "-c", "env | grep ^TRACY_PORT; exit 0",
                            env={"TRACY_PORT": "8087"})
        self.assertEqual(done.stdout, "")

    def test_network_of_its_own(self):
        done = self.opscope("run", "--python-trace=off", "-o", self.path("t.opscope"), "--", *client("--fault", "network"))
        if done.status == 77:
            self.skipTest("no network namespace can be made here")
        self.assert_status(done)
        self.assertEqual(self.zones(self.path("t.opscope")), {"work": 10, "whole": 1})

    def test_two_hundred_processes(self):
        done, trace = self.run_client("--processes", "200", "--zones", "3", "--exit", "2", status=2)
        self.assertEqual(self.zones(trace), {"work": 600, "whole": 200}, done)
        self.assertIn("200 processes", done.stderr.replace("201", "200"))

    def test_a_hundred_threads(self):
        for version in ("72", "82"):
            done, trace = self.run_client("--threads", "100", "--version", version)
            self.assertEqual(self.zones(trace), {"work": 10 + 100, "whole": 1}, done)
            tracks = {track["name"] for track in self.opscope_json("info", trace, "--json")["tracks"] if track["zones"]}
            self.assertEqual(tracks, {"main"} | {f"thread {n}" for n in range(1, 100)})
            os.remove(trace)


class Servers(FaultCase):
    def start_client(self, *options):
        process = self.start(client(*options), env={"TRACY_NO_EXIT": "1"}, stdin=subprocess.PIPE, text=True)
        return process, process.stdout.readline().split()[3]

    def attach(self, pid, name="t.opscope"):
        return self.start([harness.OPSCOPE, "attach", "--tracy", pid, "-o", self.path(name)], text=True)

    def test_two_at_once(self):
        """The second is told so, and the session of the first is whole."""
        process, pid = self.start_client("--fault", "wait", "--exit", "3")
        first = self.attach(pid)
        self.read_until(process.stdout, "waiting")
        second = self.attach(pid, "second.opscope")
        self.assertIn("is another server connected?", second.communicate()[1])
        self.assertEqual(second.returncode, 2)
        self.assertFalse(os.path.exists(self.path("second.opscope")))
        process.stdin.close()
        self.assertEqual(process.wait(harness.TIMEOUT_S), 3)
        self.assertEqual(first.wait(harness.TIMEOUT_S), 0)
        self.assertEqual(self.zones(self.path("t.opscope")), {"work": 10, "whole": 1})

    def test_second_session_is_refused(self):
        process, pid = self.start_client("--fault", "again", "--exit", "3")
        self.assertEqual(self.attach(pid).wait(harness.TIMEOUT_S), 0)
        second = self.attach(pid, "second.opscope")
        self.assertIn("has had its one session", second.communicate()[1])
        self.assertEqual(second.returncode, 2)
        self.assertEqual(process.wait(harness.TIMEOUT_S), 3)

    def test_killed_with_what_it_received(self):
        """What came more than a moment ago is in the file; the program ends by itself."""
        process, pid = self.start_client("--fault", "wait", "--exit", "3")
        trace = self.path("t.opscope")
        attached = self.attach(pid)
        self.read_until(process.stdout, "waiting")

        def has_zones():
            done = self.opscope("zones", trace + ".partial", "--json")
            return done.status == 0 and any(row["count"] == 10 for row in done.json()["rows"])

        harness.wait_until(has_zones, "the zones are in the file")
        attached.kill()
        attached.wait(harness.TIMEOUT_S)
        process.stdin.close()
        self.assertEqual(process.wait(harness.TIMEOUT_S), 3)
        self.assertTrue(has_zones())

    def test_killed_before_it_connected(self):
        """Nobody is there when the client comes up: it is let go all the same."""
        run = self.start_run("--gate", self.path("gate"), "--exit", "7")
        pid = int(self.read_until(run.stdout, "at the gate").split()[3])
        guard = harness.wait_until(lambda: self.guard_of(run), "the guard is there")
        run.kill()
        run.wait(harness.TIMEOUT_S)
        self.open_gate()
        harness.wait_until(lambda: not harness.process_is_alive(pid), "the client has ended")
        harness.wait_until(lambda: not harness.process_is_alive(guard), "the guard has ended")

    def test_left_behind(self):
        """A client that comes when opscope has ended, too, however short its command was."""
        for wait in ("", f"; while ! [ -s {self.path('out')} ]; do sleep 0.1; done; sleep 0.2"):
            command = " ".join(client("--gate", self.path("gate")))
            done = self.opscope("run", "--python-trace=off", "-o", self.path("t.opscope"), "--", "sh", "-c",
                                f"setsid {command} > {self.path('out')} 2>&1 < /dev/null &{wait[1:]}")
            self.assert_status(done)
            line = harness.wait_until(self.first_line, "the client has started")  # whole: unbuffered, Python writes it word by word
            pid = int(line.split()[3])
            self.assertTrue(harness.process_is_alive(pid))
            self.open_gate()
            harness.wait_until(lambda pid=pid: not harness.process_is_alive(pid), "the client has ended")
            os.remove(self.path("gate"))
            os.remove(self.path("out"))

    def first_line(self):
        with open(self.path("out"), encoding="utf-8") as file:
            line = file.readline()
        return line if line.endswith("\n") else None


class Strings(harness.TestCase):
    def test_a_million_that_nobody_knows(self):
        """Memory is bounded: so many are kept, the others are counted; all zones are there."""
        made = tracy_stream.Client(82)
        begin, end, count = made.types["ZONE_BEGIN_16"], made.end(1), 1_200_000
        with open(self.path("stream.bin"), "wb") as file:
            file.write(tracy_stream.welcome(82) + tracy_stream.frame(made.thread(7) + made.begin(2000, 0x401000) + made.end(5)))
            for first in range(0, count, 10000):
                zones = (bytes((begin, 1, 0)) + (0x10000000 + 32 * n).to_bytes(8, "little") + end for n in range(first, first + 10000))
                file.write(tracy_stream.frame(b"".join(zones)))
            file.write(tracy_stream.frame(made.record("TERMINATE")))
        limit = 1 << 30
        command = [harness.OPSCOPE, "import", "tracy", self.path("stream.bin"), "--protocol", "82", "-o", self.path("t.opscope"), "--json"]
        limited = "import resource, os, sys; resource.setrlimit(resource.RLIMIT_DATA, (%d, %d)); os.execv(sys.argv[1], sys.argv[1:])"
        self.assertGreaterEqual(resource.getrlimit(resource.RLIMIT_DATA)[1] % (1 << 64), limit)
        done = self.run_command([sys.executable, "-S", "-c", limited % (limit, limit), *command])
        self.assert_status(done)
        counts = done.json()
        self.assertEqual((counts["zones"], counts["lost_zones"]), (count + 1, 0))
        self.assertGreaterEqual(counts["unnamed"], 1_000_000)


if __name__ == "__main__":
    unittest.main()
