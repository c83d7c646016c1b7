# SPDX-License-Identifier: Apache-2.0
"""What `python3 -m opscope` does when the program has ended: the op report of -r, and a trace for each test of
--per-test. Whatever goes wrong here never changes the status of the run."""

import os
import shutil
import subprocess
import sys


def note(text):
    sys.stderr.write("opscope: " + text + "\n")


def has_ops(trace):
    """opscope run has written the op table beside the trace: the program marked ops itself."""
    return bool(trace) and os.path.exists(trace[: -len(".opscope")] + ".ops.csv")


def make_report(program, folder, trace):
    """The op report: of the device's logs in the profiler folder, joined with what was recorded; where there are none,
    of the trace's own ops."""
    logs = os.path.join(folder, ".logs")
    if os.path.isdir(logs):
        csv = os.path.join(folder, "ops_perf_results.csv")
        joined = ["--trace", trace] if trace and os.path.exists(trace) else []
        status = subprocess.call([program, "ops", folder, "--csv", "-o", csv] + joined)
        if status != 0 or not os.path.exists(csv):
            return
        note("op table: %s" % csv)
        source = csv
    elif has_ops(trace):
        source = trace
    else:
        note("no op report: there is no %s, and the program recorded no ops itself" % logs)
        return
    subprocess.call([program, "report", source])


def split_by_test(program, trace, folder):
    """A trace for each test of the session in `folder`; that of the session is there already."""
    if not os.path.exists(trace):
        note("there is no %s to take the tests from" % trace)
        return
    command = [program, "zones", "--by-test", "--split", folder, "--json", trace]
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode == 0:
        note("a trace for each test is in %s (opscope zones --by-test %s)" % (folder, trace))


def empty_of_traces(folder):
    """Traces of an earlier session would be taken for this one's. Nothing else is touched."""
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith(".opscope") and os.path.isfile(path):
            os.unlink(path)
        elif name.endswith(".opscope.partial") and os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
