# SPDX-License-Identifier: Apache-2.0
"""opscope run --tracy-tools: Tracy's capture tool between the program and us. Here a script stands in for it; test_tracy_iree.py has
a real one, where it is installed."""

import os
import sys
import unittest

import harness
import tracy_stream

HERE = os.path.dirname(os.path.abspath(__file__))


class Tools(harness.TestCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("tools"))
        with open(self.path("tools", "tracy-capture"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {sys.executable} -S {os.path.join(HERE, 'tracy_capture.py')} \"$@\"\n")
        os.chmod(self.path("tools", "tracy-capture"), 0o755)
        self.trace = self.path("t.opscope")

    def run_client(self, fault="", status=7, options=()):
        env = {"CAPTURE_FAULT": fault, "CAPTURE_PID_FILE": self.path("pid")}
        client = [sys.executable, "-S", os.path.join(HERE, "tracy_client.py"), "--zones", "25", "--exit", str(status), *options]
        done = self.opscope("run", "--python-trace=off", "-o", self.trace, "--tracy-tools", self.path("tools"), "--", *client, env=env)
        self.assert_status(done, status)
        rows = self.opscope_json("zones", self.trace, "--json")["rows"]
        with open(self.path("pid"), encoding="ascii") as file:
            self.assertFalse(harness.process_is_alive(int(file.read())), "the tool was left behind")
        return done, {row["name"]: row["count"] for row in rows}

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_both_have_everything(self):
        done, zones = self.run_client()
        self.assertEqual(zones, {"work": 25, "whole": 1})
        kept = self.read("t.tracy")
        self.assertTrue(kept.startswith(tracy_stream.welcome(72)[:1]))
        self.assertIn(b"fake client", kept)
        self.assertNotIn("capture", done.stderr)

    def test_tool_of_another_version(self):
        done, zones = self.run_client("version")
        self.assertEqual(zones, {"work": 25, "whole": 1})
        self.assertIn("the capture tool speaks another protocol: there is no whole", done.stderr)

    def test_tool_that_does_not_come(self):
        done, zones = self.run_client("absent")
        self.assertEqual(zones, {"work": 25, "whole": 1})
        self.assertIn("the capture tool ended before it connected", done.stderr)

    def test_tool_that_never_connects(self):
        done, zones = self.run_client("never")
        self.assertEqual(zones, {"work": 25, "whole": 1})
        self.assertIn("the capture tool does not connect", done.stderr)

    def test_tool_that_dies(self):
        """The session is ours from then on, and the program ends as it would."""
        done, zones = self.run_client("die")
        self.assertEqual(sum(zones.values()), 26)
        self.assertRegex(done.stderr, "the capture tool ended( with status 1)?: ")  # before or after the client's last word

    def test_tool_that_fails(self):
        done, zones = self.run_client("status")
        self.assertEqual(zones, {"work": 25, "whole": 1})
        self.assertIn("the capture tool ended with status 5", done.stderr)
        done, _ = self.run_client("empty")
        self.assertIn("t.tracy was not written", done.stderr)

    def test_program_that_is_killed(self):
        """What the tool had is its file's; it is not left behind."""
        env = {"CAPTURE_FAULT": "", "CAPTURE_PID_FILE": self.path("pid")}
        client = " ".join([sys.executable, "-S", os.path.join(HERE, "tracy_client.py"), "--fault", "die"])
        done = self.opscope("run", "--python-trace=off", "-o", self.trace, "--tracy-tools", self.path("tools"), "--", "sh", "-c",
                            client + "; exit 9", env=env)
        self.assert_status(done, 9)
        self.assertIn("what it had not sent is lost", done.stderr)
        self.assertFalse(harness.process_is_alive(int(self.read("pid"))))

    def test_no_tool(self):
        done = self.opscope("run", "--tracy-tools", self.folder, "true")
        self.assert_status(done, 125)
        self.assertIn("no capture tool in it", done.stderr)
        self.assert_status(self.opscope("run", "--no-tracy", "--tracy-tools", self.path("tools"), "true"), 125)


if __name__ == "__main__":
    unittest.main()
