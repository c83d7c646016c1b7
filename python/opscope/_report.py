# SPDX-License-Identifier: Apache-2.0
"""What `python3 -m opscope` does when the program has ended: the op report of -r, and a trace for each test of
--per-test. Whatever goes wrong here never changes the status of the run."""

import json
import os
import stat
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


# --- a trace for each test ---

SESSION = "session.opscope"
SPLIT_LIST = ".session.split.json"  # beside it: {name: [size, mtime in ns]} of the files that splitting it gave


def split_by_test(program, folder):
    """A trace for each test of the session in `folder`; that of the session is there already."""
    trace = os.path.join(folder, SESSION)
    if not os.path.exists(trace):
        note("there is no %s to take the tests from" % trace)
        return
    command = [program, "zones", "--by-test", "--split", folder, "--json", trace]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode:
        return
    rows = json.loads(done.stdout)["rows"]
    if not rows:
        note("no trace for each test: no test of pytest ran (--per-test DIR -m pytest ...)")
        return
    try:
        write_split_list(folder, [os.path.basename(row["trace"]) for row in rows])
    except OSError as error:
        note("%s: %s; the next session will not remove these traces" % (os.path.join(folder, SPLIT_LIST), error.strerror))
    note("a trace for each test is in %s (opscope zones --by-test %s)" % (folder, trace))


def identity(path):
    """What tells whether this is still the file that was written; None: not a file of ours."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns] if stat.S_ISREG(found.st_mode) else None


def write_split_list(folder, names):
    path = os.path.join(folder, SPLIT_LIST)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({name: identity(os.path.join(folder, name)) for name in names}, file)
    os.replace(path + ".new", path)


def read_split_list(folder):
    """What is damaged, or not written by us, names no files."""
    try:
        with open(os.path.join(folder, SPLIT_LIST), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    found = found.items() if isinstance(found, dict) else ()
    return {name: known for name, known in found if known and os.path.basename(name) == name}


def is_trace(path):
    try:
        with open(path, "rb") as file:
            return file.read(8) == b"OPSCOPE\n"
    except OSError:
        return False


def remove_earlier_session(folder):
    """The traces of an earlier session would be mistaken for this one's. Only what that session wrote is removed, and
    what has changed since is not: a folder may hold anybody's traces."""
    os.makedirs(folder, exist_ok=True)
    for name, known in read_split_list(folder).items():
        path = os.path.join(folder, name)
        if identity(path) == known:
            os.unlink(path)
    trace = os.path.join(folder, SESSION)
    if identity(trace) and is_trace(trace):
        os.unlink(trace)  # what is not a trace, opscope run refuses to replace
    try:
        os.unlink(os.path.join(folder, SPLIT_LIST))
    except FileNotFoundError:
        pass
