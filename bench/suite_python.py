# SPDX-License-Identifier: Apache-2.0
"""Python: what recording calls costs, beside the same program untraced and under cProfile, in the same run."""

import json
import os
import subprocess
import time

from run import HERE, Row, Skip

WORKLOADS = os.path.join(HERE, "python_workloads.py")
ROUNDS = 3


def fib_calls(n):
    """Calls that fib(n) makes, itself included."""
    a, b = 1, 1
    for _ in range(n - 1):
        a, b = b, a + b + 1
    return b


def interpreters(bench):
    """(version, path) of each interpreter that the build has an extension for."""
    try:
        with open(os.path.join(bench.build, "python", "interpreters.txt"), encoding="utf-8") as file:
            paths = file.read().split()
    except FileNotFoundError:
        paths = []
    if not paths:
        raise Skip("the build has no Python extension")
    for path in paths:
        text = subprocess.check_output([path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], text=True)
        yield tuple(int(part) for part in text.strip().split(".")), path


def measure(bench, python, work, trace=None, words=()):
    """Best time of a workload: plain, or under opscope with OPSCOPE_PYTHON_TRACE = trace."""
    command = [python, WORKLOADS, work, *words]
    env = dict(os.environ)
    out = bench.path("python.opscope")
    if trace:
        env["OPSCOPE_PYTHON_TRACE"] = trace
        command = [bench.opscope, "run", "-q", "-o", out, "--", *command]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        raise Skip(f"{' '.join(command)} ended with {done.returncode}")
    return float(done.stdout.split()[1])


def best(bench, *arguments, **options):
    return min(measure(bench, *arguments, **options) for _ in range(1 if bench.quick else ROUNDS))


def ratios(bench, version, python):
    name = "Python %d.%d" % version[:2]
    budgets = {"fib": 1.8, "mixed": 1.15, "numpy": 1.10} if version < (3, 12) else {}
    for work in ("fib", "mixed", "numpy"):
        try:
            plain = best(bench, python, work)
        except Skip:
            continue  # no NumPy
        traced = best(bench, python, work, "calls")
        profiled = best(bench, python, work, words=("cprofile",))
        limit = budgets.get(work)
        yield Row(f"{name}, {work}: calls recorded", traced * 1000, "ms", plain * 1000,
                  f"untraced; cProfile {profiled / plain:.2f} x", limit and limit * plain * 1000,
                  f"<= {limit:.2f} x" if limit else "")
        if work == "fib":
            per_event = (traced - plain) / fib_calls(21) / 2 * 1e9
            yield Row(f"{name}, fib: one event, call or return", per_event, "ns",
                      limit=20 if version < (3, 12) else None, limit_text="<= 20 ns" if version < (3, 12) else "")
            off = best(bench, python, work, "partial")
            yield Row(f"{name}, fib: -p, not enabled", off * 1000, "ms", plain * 1000, "untraced")
            c_calls = best(bench, python, work, "calls,c-calls")
            yield Row(f"{name}, fib: with C calls", c_calls * 1000, "ms", profiled * 1000, "cProfile",
                      profiled * 1000, "<= 1.00 x")
            lines = best(bench, python, work, "lines")
            yield Row(f"{name}, fib: lines", lines * 1000, "ms", plain * 1000, "untraced")


def size_and_end(bench, version, python):
    """About 2.6 million zones, 5.2 million events: the file, and what the collector still does when the program ends."""
    out = bench.path("many.opscope")
    text = subprocess.check_output([bench.opscope, "run", "-q", "-o", out, "--", python, "-c",
                                    "import runpy, sys, time; sys.argv[1:] = ['many'];"
                                    f"runpy.run_path({WORKLOADS!r}, run_name='__main__');"
                                    "print('ended', time.monotonic(), 's')"], stderr=subprocess.DEVNULL, text=True)
    end = time.monotonic()
    info = json.loads(subprocess.check_output([bench.opscope, "info", "--json", out]))
    ended = float(text.split()[text.split().index("ended") + 1])
    yield Row("Python, %.1f M zones: trace" % (info["zones"] / 1e6), os.path.getsize(out) / 1e6, "MB", limit=20,
              limit_text="<= 20 MB", floor_name=f"{info['lost_zones']} lost")
    yield Row("the same: from the program's last line to the end of the run", end - ended, "s", limit=0.2,
              limit_text="<= 0.2 s")


def rows(bench):
    found = list(interpreters(bench))
    for version, python in found:
        yield from ratios(bench, version, python)
    yield from size_and_end(bench, *found[0])
