# SPDX-License-Identifier: Apache-2.0
"""opscope run --view: the page of a recording while it runs and after it, and that no viewer can slow the recording. Nothing
here depends on time: each step waits for the one before it."""

import contextlib
import os
import signal
import socket
import subprocess
import unittest

import facts
import harness
from serving import LiveCase


def wait_for_path(test, name):
    """A trace is complete a moment before it is renamed."""
    harness.wait_until(lambda: test.get("/api/traces")["traces"][0]["path"] == test.path(name), "the trace has its name")


class RunView(LiveCase):
    def run_view(self, *steps, options=("--view",), output="live.opscope"):
        """Starts the recording of a script; returns when its link was printed."""
        self.program = self.start([harness.OPSCOPE, "run", *options, "-o", self.path(output), "--", harness.program("script"),
                                   *steps], stdin=subprocess.PIPE)
        self.use(self.line_with("live page: ").split("live page: ")[1])

    def line_with(self, text):
        """The next line on standard error that has this text."""
        while line := self.program.stderr.readline().decode():
            if text in line:
                return line.strip()
        self.fail(f"it ended without '{text}'")

    def go_on(self):
        self.program.stdin.write(b"on\n")
        self.program.stdin.flush()

    def finish(self):
        """Ctrl+C, once the command has ended; the exit status."""
        self.line_with("until Ctrl+C")
        self.program.send_signal(signal.SIGINT)
        return self.program.wait(harness.TIMEOUT_S)

    def server_pid(self):
        with open(f"/proc/{self.program.pid}/task/{self.program.pid}/children", encoding="ascii") as file:
            for pid in map(int, file.read().split()):
                with open(f"/proc/{pid}/cmdline", "rb") as command:
                    if b"--until-eof" in command.read():
                        return pid
        self.fail("there is no server")

    def wait_for_zones(self, page, zones):
        while (state := self.state(page))["zones"] < zones:
            pass
        self.assertEqual(state["zones"], zones)
        return state

    def test_follows_the_command_and_stays(self):
        self.run_view("zones=3", "read", "zones=4", "read", "exit=7")
        page, _ = self.handshake()
        self.get("/api/t/0/trace")  # a page looks at it: from now on it is followed
        self.assertEqual(self.wait_for_zones(page, 3)["state"], "growing")
        key = self.get("/api/traces")["traces"][0]["key"]
        self.assertRegex(key, "^[0-9a-f]{8}$")
        self.go_on()
        self.assertEqual(self.wait_for_zones(page, 7)["state"], "growing")
        self.assertEqual(self.get("/api/t/0/trace")["zones"], 7)
        self.go_on()
        while self.state(page)["state"] != "complete":
            pass
        self.assertEqual(self.get("/api/t/0/trace")["exit_status"], 7)
        wait_for_path(self, "live.opscope")
        self.assertEqual(self.get("/api/traces")["traces"][0]["key"], key)
        self.assertEqual(self.finish(), 7)
        with self.assertRaises(OSError):
            socket.create_connection(self.address)

    def test_a_command_that_is_over_at_once(self):
        self.run_view("zones=2")
        self.line_with("until Ctrl+C")
        harness.wait_until(lambda: self.get("/api/traces")["traces"][0]["state"] == "complete", "it is seen")
        self.assertEqual(self.get("/api/t/0/trace")["zones"], 2)
        self.program.send_signal(signal.SIGTERM)
        self.assertEqual(self.program.wait(harness.TIMEOUT_S), 0)

    def test_passes_on_the_signal_of_the_command(self):
        self.run_view("zones=2", f"raise={int(signal.SIGTERM)}")
        self.assertEqual(self.finish(), -signal.SIGTERM)

    def test_ctrl_c_ends_the_command_and_not_the_page(self):
        """From the terminal it goes to the whole group, of which the server is none."""
        self.run_view("zones=2", "say=ready", "read")
        self.assertIn(b"ready", self.program.stdout.readline())
        os.killpg(self.program.pid, signal.SIGINT)
        self.line_with("until Ctrl+C")
        self.assertEqual(self.get("/api/t/0/trace")["zones"], 2)
        os.killpg(self.program.pid, signal.SIGINT)
        self.assertEqual(self.program.wait(harness.TIMEOUT_S), -signal.SIGINT)

    def test_terminated_with_the_command(self):
        """Whoever sends SIGTERM to opscope, as a script or a service manager does, has no second one for the page."""
        self.run_view("zones=2", "say=ready", "read")
        self.assertIn(b"ready", self.program.stdout.readline())
        self.program.send_signal(signal.SIGTERM)
        self.assertEqual(self.program.wait(harness.TIMEOUT_S), -signal.SIGTERM)
        self.assertEqual(harness.opscope_json("info", self.path("live.opscope"))["zones"], 2)
        with self.assertRaises(OSError):
            socket.create_connection(self.address)

    def test_a_server_that_stands_still_does_not_stop_the_recording(self):
        """The slowest of all viewers: neither it nor its server takes anything. All the same, the command ends and
        the trace is whole."""
        self.run_view("read", "zones=50000", "exit=3")
        page, _ = self.handshake()
        self.get("/api/t/0/trace")
        self.state(page)
        os.kill(self.server_pid(), signal.SIGSTOP)
        self.go_on()
        self.assertEqual(self.finish(), 3)
        self.assertEqual(facts.Trace(self.path("live.opscope")).zones, 50000)

    def test_viewers_that_do_not_read_or_vanish(self):
        self.run_view("read", "zones=50000", "exit=3")
        for _ in range(20):
            page, _ = self.handshake()
            page.sendall(b"\x89\x84\0\0\0\0ping")  # answers that it never takes
            reader = self.connect()
            reader.sendall(self.signed(b"GET /api/t/0/trace HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50))
        for _ in range(20):
            with contextlib.closing(self.handshake()[0]):
                pass
        self.go_on()
        self.line_with("wrote")
        harness.wait_until(lambda: self.get("/api/traces")["traces"][0]["state"] == "complete", "it is seen")
        self.assertEqual(self.get("/api/t/0/trace")["zones"], 50000)
        self.assertEqual(self.finish(), 3)

    def test_a_server_that_dies(self):
        self.run_view("zones=5", "read", "zones=5", "exit=4")
        os.kill(self.server_pid(), signal.SIGKILL)
        self.go_on()
        self.line_with("the server of the page has ended")
        self.assertEqual(self.program.wait(harness.TIMEOUT_S), 4)
        self.assertEqual(facts.Trace(self.path("live.opscope")).zones, 10)

    def test_a_run_that_is_killed_leaves_no_server(self):
        self.run_view("zones=5", "read")
        server = self.server_pid()
        self.program.kill()
        harness.wait_until(lambda: not harness.process_is_alive(server), "it has ended")

    def test_a_busy_port(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            done = self.opscope("run", "-p", port, "-o", self.path("t.opscope"), "--", "touch", self.path("ran"))
        self.assert_status(done, 125)
        self.assertIn(port, done.stderr)
        self.assertIn("not started", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_port_of_ones_choice(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.run_view("zones=1", options=("-q", "--port", str(port)))
        self.assertEqual(self.address[1], port)
        self.assertEqual(self.finish(), 0)

    def test_any_port(self):
        self.run_view("zones=1", options=("-q", "--port", "0"))
        self.assertGreater(self.address[1], 0)
        self.assertEqual(self.get("/api/traces")["traces"][0]["name"], "live.opscope.partial")
        self.assertEqual(self.finish(), 0)

    def test_a_command_that_cannot_be_run(self):
        done = self.opscope("run", "--view", "-o", self.path("t.opscope"), "--", self.path("missing"))
        self.assert_status(done, 127)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_cannot_be_shown(self):
        for options, said in ((("--max-size", "1M"), "--max-size"), (("-o", "/dev/null"), "/dev/null")):
            done = self.opscope("run", "--view", *options, "--", "touch", self.path("ran"))
            self.assert_status(done, 125)
            self.assertIn(said, done.stderr)
        self.assertEqual(os.listdir(self.folder), [])


class Sessions(LiveCase):
    """opscope view without FILE."""

    def test_recordings_in_other_folders_come_first(self):
        here = self.path("here")
        os.mkdir(here)
        self.small_trace("here/old.opscope")
        program = self.start([harness.OPSCOPE, "run", "-q", "-o", self.path("live.opscope"), "--", harness.program("script"),
                              "zones=3", "say=ready", "read"], stdin=subprocess.PIPE)
        self.assertIn(b"ready", program.stdout.readline())
        self.serve(cwd=here)
        page, _ = self.handshake()
        while (state := self.state(page))["zones"] != 3 or state["trace"] != 0:
            self.get("/api/t/0/trace")
        answer = self.get("/api/traces")
        live, old = answer["traces"]
        self.assertTrue(answer["waits"])
        self.assertEqual((live["path"], live["state"], old["path"]), (self.path("live.opscope.partial"), "growing", "old.opscope"))
        self.assertTrue(harness.process_is_alive(live["pid"]))
        self.assertGreater(live["start_unix_ns"], 0)
        program.stdin.close()
        while self.state(page)["state"] != "complete":
            pass
        wait_for_path(self, "live.opscope")

    def test_waits_for_a_program(self):
        here = self.path("here")
        os.mkdir(here)
        self.serve(cwd=here)
        page, _ = self.handshake()
        self.assertEqual(self.get("/api/traces")["traces"], [])
        program = self.start([harness.OPSCOPE, "run", "-q", "-o", self.path("live.opscope"), "--", harness.program("script"),
                              "zones=3", "read"], stdin=subprocess.PIPE)
        self.assertEqual(self.state(page)["state"], "growing")
        program.stdin.close()
        while self.state(page)["state"] != "complete":
            pass

    def test_a_file_that_was_asked_for_is_alone(self):
        program = self.start([harness.OPSCOPE, "run", "-q", "-o", self.path("live.opscope"), "--", harness.program("script"),
                              "zones=3", "say=ready", "read"], stdin=subprocess.PIPE)
        self.assertIn(b"ready", program.stdout.readline())
        self.serve(self.small_trace())
        answer = self.get("/api/traces")
        self.assertEqual((answer["waits"], [t["name"] for t in answer["traces"]]), (False, ["made.opscope"]))


if __name__ == "__main__":
    unittest.main()
