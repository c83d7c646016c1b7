# SPDX-License-Identifier: Apache-2.0
"""Traces whose every time is known, and terminals of a known size: what the tests of views share."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import termios
import unittest

import harness


class ViewCase(harness.TestCase):
    def trace(self, *lines, name="made.opscope"):
        """Writes a trace from lines of words (see programs/trace_script.c); words may be numbers."""
        path = self.path(name)
        text = "".join("\t".join(str(word) for word in line) + "\n" for line in lines)
        subprocess.run([harness.program("trace_script"), path], input=text, text=True, check=True)
        return path

    def rows(self, *arguments):
        done = self.opscope(*arguments, "--json")
        self.assert_status(done)
        return done.json()["rows"]

    def show(self, *arguments, status=0):
        done = self.opscope(*arguments)
        self.assert_status(done, status)
        return done.stdout

    def on_terminal(self, *arguments, rows=24, columns=80):
        """What a command shows on a terminal of this size, as lines without colours."""
        if harness.pty_problem():
            self.skipTest(harness.pty_problem())
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        process = subprocess.Popen([harness.OPSCOPE, *arguments], stdin=subprocess.DEVNULL,
                                   stdout=theirs, stderr=theirs,
                                   env=harness.environment({"TERM": "xterm", "LC_ALL": "C", "NO_COLOR": "1"}))
        os.close(theirs)
        data = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            data += piece
        os.close(ours)
        self.assertEqual(process.wait(harness.TIMEOUT_S), 0, data)
        return data.decode().replace("\r\n", "\n").splitlines()


class UsedOnce:
    """The page is used once for all cases, by drive(); what was seen there is in `seen`."""

    seen = None
    failed = False

    @classmethod
    def tearDownClass(cls):
        cls.seen = None
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        kind = type(self)
        if kind.failed:
            self.fail("the page was not used to the end: see the first of these cases that failed")
        if kind.seen is None:
            kind.failed = True
            try:
                kind.seen = self.drive()
            except unittest.SkipTest:
                kind.failed = False
                raise
        kind.failed = False

    def browser(self):
        """What drives it, and Chromium."""
        chromium = shutil.which("chromium")
        if not chromium:
            self.skipTest("chromium is not installed")
        return harness.npm_package("puppeteer-core", harness.PUPPETEER_VERSION), chromium
