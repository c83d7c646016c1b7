# SPDX-License-Identifier: Apache-2.0
"""`make demo`, and the examples: they are the first thing that a person sees."""

import json
import os
import pty
import re
import signal
import socket
import unittest
import urllib.parse

import harness
from serving import fetch


class Demo(harness.TestCase):
    def test_zone_table_has_processes_and_threads(self):
        script = os.path.join(harness.SOURCE, "scripts", "demo.sh")
        done = self.run_command([script, harness.BUILD])
        self.assert_status(done)
        self.assertIn("What next:", done.stdout)
        last = done.stdout.splitlines()[-1]
        self.assertRegex(last, r"^The live page: http://127\.0\.0\.1:\d+/\?token=\w+ ")
        address = urllib.parse.urlsplit(last.split()[3])
        with self.assertRaises(OSError, msg="the server has ended with the demo"):
            socket.create_connection((address.hostname, address.port)).close()
        trace = os.path.join(harness.BUILD, "demo.opscope")
        rows = self.opscope_json("zones", "--by", "thread", trace)["rows"]
        tracks = {(row["pid"], row["tid"]) for row in rows}
        self.assertGreaterEqual(len({pid for pid, _ in tracks}), 2, rows)
        self.assertGreaterEqual(len(tracks), 4, rows)
        for row in rows:
            self.assertIn(row["name"], done.stdout)

    def test_the_page_stays_on_a_terminal_until_ctrl_c(self):
        if harness.pty_problem():
            self.skipTest(harness.pty_problem())
        script = os.path.join(harness.SOURCE, "scripts", "demo.sh")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        demo = self.start([script, harness.BUILD], stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        said = b""
        while b"(Ctrl+C ends it)" not in said:
            said += os.read(ours, 4096)
        link = re.search(rb"The live page: (\S+)", said).group(1).decode()
        self.assertEqual(json.loads(fetch(link, "api/t/0/trace"))["exit_status"], 0)
        os.killpg(demo.pid, signal.SIGINT)
        self.assertEqual(demo.wait(harness.TIMEOUT_S), 0)

    def test_examples_run_without_a_session(self):
        examples = sorted(os.listdir(harness.EXAMPLES))
        self.assertTrue(examples)
        for name in examples:
            with self.subTest(name):
                path = harness.example(name)
                if os.path.isfile(path) and os.access(path, os.X_OK):
                    self.assert_status(self.run_command([path]))


if __name__ == "__main__":
    unittest.main()
