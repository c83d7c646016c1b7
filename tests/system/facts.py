# SPDX-License-Identifier: Apache-2.0
"""What the commands say about a trace, as numbers a test can compare; and how a test talks to a program it
profiles.

    trace = facts.Trace(path)
    trace.zones, trace.lost_zones, trace.open_names(), trace.count("work")

    run = facts.Run(self, ["zones=10", "say=ready", "read"])   # programs/script.c under `opscope run`
    run.expect("ready")
    run.go_on()
    done = run.finish()
"""

import functools
import os
import re
import signal
import subprocess
import time

import harness


class Trace:
    """The figures of one trace, read through `opscope info` and `opscope zones`."""

    def __init__(self, path, *options):
        self.path = path
        self.options = options

    @functools.cached_property
    def info(self):
        return harness.opscope_json("info", self.path, *self.options)

    @functools.cached_property
    def rows(self):
        return harness.opscope_json("zones", self.path, *self.options)["rows"]

    @property
    def zones(self):
        return self.info["zones"]

    @property
    def lost_zones(self):
        return self.info["lost_zones"]

    @property
    def lost_records(self):
        return self.info["lost_records"]

    @property
    def processes(self):
        return self.info["processes"]

    @property
    def tracks(self):
        return self.info["tracks"]

    def count(self, name):
        """How many zones of this name have ended."""
        return sum(row["count"] - row["open"] for row in self.rows if row["name"] == name)

    def counts(self):
        return {row["name"]: row["count"] - row["open"] for row in self.rows if row["count"] > row["open"]}

    def open_names(self):
        """Names of the zones that had not ended, outermost first within a thread."""
        return [zone["name"] for zone in self.info["open_zones"]]

    def losses(self, reason=None):
        return [loss for loss in self.info["losses"] if reason in (None, loss["reason"])]

    def messages(self):
        return harness.opscope_json("messages", self.path, *self.options)["rows"]


class Run:
    """`opscope run` around programs/script.c (or another command) that a test leads step by step."""

    def __init__(self, test, steps, options=(), env=None, command=None, output="t.opscope", wrap=None, **popen):
        self.test = test
        self.output = test.path(output)
        command = list(command or [harness.program("script")]) + list(steps)
        if wrap:
            command = wrap(command)
        line = [harness.OPSCOPE, "run", "-o", self.output, *options, "--", *command]
        popen.setdefault("stdin", subprocess.PIPE)
        self.process = test.start(line, env=env, **popen)
        self.command = line
        self.begin = time.monotonic()

    @property
    def pid(self):
        """Of opscope."""
        return self.process.pid

    def read_line(self):
        return self.process.stdout.readline().decode("utf-8", "replace").rstrip("\n")

    def expect(self, text):
        line = self.read_line()
        if line != text:
            self.test.fail(f"the program said {line!r}, not {text!r}: {self.finish()}")

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def child_pid(self):
        """Of the command that opscope started."""
        path = f"/proc/{self.pid}/task/{self.pid}/children"

        def read():
            with open(path, encoding="ascii") as file:
                return file.read().split()

        return int(harness.wait_until(read, "the command to be started")[0])

    def stop(self):
        """Stops opscope (not the program) and waits until it stands still."""
        os.kill(self.pid, signal.SIGSTOP)
        harness.wait_until(lambda: process_state(self.pid) == "T", "opscope to stop")

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def finish(self, timeout=harness.TIMEOUT_S, keeps_input=False):
        """Waits for opscope's end. The program's input is closed first, so that a "read" ends, unless keeps_input."""
        try:
            if keeps_input:
                self.process.wait(timeout)
            stdout, stderr = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            harness.kill_group(self.process)
            stdout, stderr = self.process.communicate()
            done = harness.Done(self.command, None, stdout or b"", stderr or b"", time.monotonic() - self.begin)
            raise AssertionError(f"still running after {timeout} s: {done}") from None
        seconds = time.monotonic() - self.begin
        return harness.Done(self.command, self.process.returncode, stdout or b"", stderr or b"", seconds)

    def trace(self, *options):
        return Trace(self.output, *options)


def process_state(pid):
    """The state letter of a process; "" when there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def record_script(test, *steps, options=(), output="t.opscope", **run):
    """Runs programs/script.c to its end under `opscope run`; returns (done, trace)."""
    path = test.path(output)
    done = test.opscope("run", "-o", path, *options, "--", harness.program("script"), *steps, **run)
    return done, Trace(path)


def said(done):
    """What opscope wrote to stderr, less what it says of sessions that others left behind on this machine."""
    lines = done.stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not re.match("opscope: (an )?earlier runs? left ", line))


def wait_for_polls(session):
    """Waits until the collector has been round twice: at each poll it beats the heart of every segment."""

    def beats():
        found = []
        for name in sorted(os.listdir(session)):
            if name.endswith(".seg") and not name.startswith("."):
                with open(os.path.join(session, name), "rb") as file:
                    found.append(os.pread(file.fileno(), 8, 128))  # heartbeat_ns in session.h
        return found

    for _ in range(2):
        before = beats()
        harness.wait_until(lambda: beats() != before, "the collector to poll")


def session_folders(folder):
    """Session folders below OPSCOPE_DIR=folder."""
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("opscope-"))
