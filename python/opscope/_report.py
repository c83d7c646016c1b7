# SPDX-License-Identifier: Apache-2.0
"""What `python3 -m opscope` does when the program has ended: the op report of -r, and a trace for each test of
--per-test. Whatever goes wrong here never changes the status of the run."""

import json
import os
import shutil
import subprocess

from ._process import note


def has_ops(trace):
    """opscope run has written the op table beside the trace: the program marked ops itself."""
    return bool(trace) and os.path.exists(trace[: -len(".opscope")] + ".ops.csv")


class OpReport:
    """Made before the run, so that logs of an earlier run are recognised."""

    def __init__(self, program, folder, name):
        self.program, self.folder = program, folder
        self.logs = os.path.join(folder, ".logs")
        self.csv = os.path.join(folder, "ops_perf_results%s.csv" % ("_" + name if name else ""))
        self.before = self.state()

    def state(self):
        """Of each file of the logs; None: there are none."""
        try:
            files = [(file.name, file.stat()) for file in os.scandir(self.logs)]
            return {name: (found.st_mtime_ns, found.st_size) for name, found in files} or None
        except OSError:
            return None

    def make(self, trace):
        """Of the device's logs joined with what was recorded; where the run wrote none, of the trace's own ops."""
        now = self.state()
        if now is not None and now != self.before:
            self.make_of_logs(trace)
        elif has_ops(trace):
            self.say_that_logs_are_old(now)
            subprocess.call([self.program, "report", trace])
        elif now is None:
            what = "nothing in" if os.path.isdir(self.logs) else "no"
            note("no op report: there is %s %s, and the program recorded no ops itself" % (what, self.logs))
        else:
            self.say_that_logs_are_old(now)
            note("no op report: the program recorded no ops itself")

    def say_that_logs_are_old(self, now):
        if now is not None:
            note("%s is of an earlier run and left out (opscope ops %s reads it)" % (self.logs, self.folder))

    def make_of_logs(self, trace=None):
        if not os.path.isdir(self.logs):
            note("no op report: there is no %s" % self.logs)
            return
        joined = ["--trace", trace] if trace and os.path.exists(trace) else []
        status = subprocess.call([self.program, "ops", self.folder, "--csv", "-o", self.csv] + joined)
        if status == 0 and os.path.exists(self.csv):
            note("op table: %s" % self.csv)
            subprocess.call([self.program, "report", self.csv])


def split_by_test(program, trace, folder):
    """A trace for each test of the session in `folder`; that of the session is there already."""
    if not os.path.exists(trace):
        note("there is no %s to take the tests from" % trace)
        return
    command = [program, "zones", "--by-test", "--split", folder, "--json", trace]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode == 0 and not json.loads(done.stdout)["rows"]:
        note("no trace for each test: no test of pytest ran (--per-test DIR -m pytest ...)")
    elif done.returncode == 0:
        note("a trace for each test is in %s (opscope zones --by-test %s)" % (folder, trace))


def empty_of_traces(folder):
    """Removes traces of an earlier session, which would be mistaken for this one's. Nothing else is touched."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith(".opscope") and os.path.isfile(path):
            os.unlink(path)
        elif name.endswith(".opscope.partial") and os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
