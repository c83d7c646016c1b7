# SPDX-License-Identifier: Apache-2.0
"""`opscope run` on a terminal: the progress line, Ctrl-C, Ctrl-Z, and who gets which signal."""

import os
import pty
import re
import select
import signal
import time
import unittest

import facts
import harness


class Terminal:
    """A command that runs as the foreground job of a terminal of its own."""

    def __init__(self, test, command):
        self.test = test
        self.text = ""
        self.status = None
        if harness.pty_problem():
            test.skipTest(harness.pty_problem())
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(test.folder)
                os.execve(command[0], command, harness.environment({"TERM": "xterm"}))
            finally:
                os._exit(127)
        test.addCleanup(self._end)

    def _end(self):
        if self.status is None:
            for kill, target in ((os.killpg, self.pid), (os.kill, self.pid)):
                try:
                    kill(target, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def _read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other side is closed
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def expect(self, pattern):
        """Reads until the pattern appears in what was shown."""
        end = time.monotonic() + harness.TIMEOUT_S
        while not re.search(pattern, self.text):
            if not self._read(0.1) or time.monotonic() > end:
                self.test.fail(f"{pattern!r} was not shown: {self.text!r}")

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self):
        """The exit status (negative: signal), after everything that was shown has been read."""
        while self._read(0.1):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
                break
        if self.status is None:
            _, self.status = os.waitpid(self.pid, 0)
        while self._read(0) and select.select([self.fd], [], [], 0)[0]:
            pass
        return os.waitstatus_to_exitcode(self.status)


class Progress(harness.TestCase):
    def command(self, *options):
        steps = ["zones=1000", "say=ready", "read"]
        return [harness.OPSCOPE, "run", *options, "--", harness.program("script"), *steps]

    def test_a_line_on_a_terminal_and_none_in_a_pipe(self):
        piped = facts.Run(self, ["zones=1000", "say=ready", "read"], output="piped.opscope")
        piped.expect("ready")
        quiet = Terminal(self, self.command("-q", "-o", "quiet.opscope"))
        # The program's output is on the screen, too: nothing is put into it.
        plain = Terminal(self, self.command("-o", "plain.opscope"))
        plain.expect("ready")
        shown = Terminal(self, ["/bin/sh", "-c", " ".join(self.command("-o", "shown.opscope")) + " > said"])
        shown.expect(r"opscope: \d+ s, 1 process, 1,000 zones, 0 lost, [\d.,]+ [KMG]?i?B")
        for terminal in (quiet, shown, plain):
            terminal.type("\n")
        self.assertEqual(shown.wait(), 0)
        # the line is wiped before the summary is written
        self.assertRegex(shown.text, r"\r\x1b\[Kopscope: wrote shown.opscope")
        self.assertEqual(plain.wait(), 0)
        self.assertNotIn(" s, 1 process", plain.text)
        self.assertNotIn("\x1b[K", plain.text)
        self.assertEqual(quiet.wait(), 0)
        self.assertEqual([line for line in quiet.text.splitlines() if line.strip()], ["ready"])
        done = piped.finish()
        self.assertNotIn("\x1b", done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertEqual(len(facts.said(done).splitlines()), 2, done)


class Keys(harness.TestCase):
    def start(self, *steps):
        trace = self.path("t.opscope")
        terminal = Terminal(self, [harness.OPSCOPE, "run", "-o", trace, "--", harness.program("script"), *steps])
        terminal.expect("ready")
        return terminal, facts.Trace(trace)

    def test_ctrl_c_ends_the_program_and_the_trace_is_finished(self):
        terminal, trace = self.start("zones=500", "open=outer", "say=ready", "read")
        terminal.type("\x03")
        self.assertEqual(terminal.wait(), -signal.SIGINT)
        self.assertEqual((trace.zones, trace.open_names()), (500, ["outer"]))
        self.assertTrue(trace.info["is_complete"])

    def test_ctrl_c_arrives_once(self):
        """The terminal tells the whole group; opscope must not tell the program a second time."""
        terminal, trace = self.start(
            "catch=2", "zones=500", "say=ready", "await-signal", "say=caught", "read", "caught", "zones=500"
        )
        terminal.type("\x03")
        terminal.expect("caught")
        terminal.type("\n")
        terminal.expect(r"caught\r?\n(\r?\n)?1\r?\n")
        self.assertEqual(terminal.wait(), 0)
        self.assertEqual(trace.zones, 1000)

    def test_ctrl_backslash(self):
        terminal, trace = self.start("zones=500", "say=ready", "read")
        terminal.type("\x1c")
        self.assertEqual(terminal.wait(), -signal.SIGQUIT)
        self.assertEqual(trace.zones, 500)

    def test_a_terminal_that_is_closed(self):
        terminal, trace = self.start("zones=500", "say=ready", f"await={self.path('never')}")
        other = os.open("/dev/null", os.O_RDWR)
        os.dup2(other, terminal.fd)  # hangs up
        os.close(other)
        _, status = os.waitpid(terminal.pid, 0)
        terminal.status = status
        self.assertEqual(os.waitstatus_to_exitcode(status), -signal.SIGHUP)
        self.assertEqual(trace.zones, 500)

    def test_ctrl_z_stops_both_and_they_go_on(self):
        shell = Terminal(self, ["/bin/sh", "-i"])
        trace = facts.Trace(self.path("t.opscope"))
        program = harness.program("script")
        shell.type(f"PS1='$ '; set -m; echo; {harness.OPSCOPE} run -q -o t.opscope -- {program} zones=500 pid say=rea''dy read "
                   "zones=500 exit=3\n")
        shell.expect(r"\d+\r?\nready")
        program_pid = int(re.findall(r"(\d+)\r?\nready", shell.text)[0])
        shell.type("\x1a")
        harness.wait_until(lambda: facts.process_state(program_pid) == "T", "the program to stop")
        shell.expect("Stopped")
        shell.type("fg\n")
        harness.wait_until(lambda: facts.process_state(program_pid) in ("S", "R"), "the program to go on")
        shell.type("\n")
        shell.type("echo status=$?\n")
        shell.expect("status=3")
        shell.type("exit\n")
        self.assertEqual(shell.wait(), 0)
        self.assertEqual(trace.zones, 1000)


if __name__ == "__main__":
    unittest.main()
