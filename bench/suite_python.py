# SPDX-License-Identifier: Apache-2.0
"""Python: what recording calls, C calls and lines costs, beside the same program untraced, under the barest hook that
CPython allows (python_floor.c), cProfile and viztracer (where pip can get it), all in the same run.

Every figure of a workload is the median of many short rounds; the tools take turns, so that a slow moment of the machine
meets all alike. The program keeps to one CPU, the collector to the others."""

import json
import os
import subprocess
import time

from run import HERE, Row, Skip, median_and_least, median_ratio

WORKLOADS = os.path.join(HERE, "python_workloads.py")
TURNS = 5
SECONDS_A_TURN = 0.3
PROGRAM_CPU = max(os.sched_getaffinity(0))
FIB_EVENTS = 2 * 635_621  # calls and returns of fib(27)


class Python:
    """One interpreter, with the floor's extension compiled for it and viztracer beside it."""

    def __init__(self, bench, path):
        self.bench, self.path = bench, path
        query = (
            "import sys, sysconfig; print('%d.%d.%d' % sys.version_info[:3]); print(sysconfig.get_paths()['include']);"
            "print(sysconfig.get_config_var('EXT_SUFFIX'))"
        )
        version, self.include, self.suffix = subprocess.check_output([path, "-c", query], text=True).split()
        self.version = tuple(int(part) for part in version.split("."))
        self.name = "Python " + version
        self.folder = bench.path("python-" + version + path.replace("/", "-"))
        os.makedirs(self.folder, exist_ok=True)
        self.notes = []
        self.has_floor = self.build_floor()
        self.viztracer = self.get_viztracer()

    def build_floor(self):
        out = os.path.join(self.folder, "python_floor" + self.suffix)
        source = os.path.join(HERE, "python_floor.c")
        command = ["cc", "-O2", "-shared", "-fPIC", "-isystem", self.include, source, "-o", out]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            self.notes.append(f"the bare hook: {done.stdout.strip().splitlines()[-1]}")
        return done.returncode == 0

    def get_viztracer(self):
        """The interpreter of a virtual environment with viztracer in it (and NumPy where the system has it), or None."""
        folder = os.path.join(self.folder, "venv")
        python = os.path.join(folder, "bin", "python3")
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "viztracer"]
        for command in ([self.path, "-m", "venv", "--system-site-packages", folder], install):
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180, check=False)
            except subprocess.TimeoutExpired:
                self.notes.append("viztracer: pip takes too long")
                return None
            if done.returncode != 0:
                lines = done.stdout.decode(errors="replace").strip().splitlines() or ["no reason given"]
                self.notes.append(f"viztracer: {lines[-1][:160]}")
                return None
        return python

    def measure(self, work, tool):
        """Best time of a workload under a tool: one of python_workloads.py, or opscope:WORDS for OPSCOPE_PYTHON_TRACE."""
        env = {**os.environ, "PYTHONPATH": self.folder, "OPENBLAS_NUM_THREADS": "1"}
        python = self.viztracer if tool == "viztracer" else self.path
        command = [python, WORKLOADS, work, "plain" if tool.startswith("opscope:") else tool,
                   str(0.1 if self.bench.quick else SECONDS_A_TURN), str(PROGRAM_CPU)]
        if tool.startswith("opscope:"):
            env["OPSCOPE_PYTHON_TRACE"] = tool[len("opscope:") :]
            command = [self.bench.opscope, "run", "-q", "-o", os.path.join(self.folder, "t.opscope"), "--", *command]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=leave_the_last_cpu, check=False)
        if done.returncode != 0:
            raise Skip(f"{self.name}, {work} under {tool}: {(done.stderr.strip().splitlines() or [done.returncode])[-1]}")
        return float(done.stdout.split()[1])

    def compare(self, work, tools):
        """{tool: median seconds, with the least of them as .best}, the tools taking turns."""
        if not self.viztracer:
            tools = [tool for tool in tools if tool != "viztracer"]
        if not self.has_floor:
            tools = [tool for tool in tools if not tool.startswith("floor-")]
        times = {tool: [] for tool in tools}
        for _ in range(2 if self.bench.quick else TURNS):
            for tool in tools:
                times[tool].append(self.measure(work, tool))
        return {tool: Seconds(values) for tool, values in times.items()}


class Seconds(float):
    """The median of some measurements; the least of them is .best, all of them are .values."""

    def __new__(cls, values):
        median, best = median_and_least(values)
        seconds = super().__new__(cls, median)
        seconds.best, seconds.values = best, values
        return seconds


def leave_the_last_cpu():
    """In the child: the collector stays off the CPU that the program keeps to. The program takes it back itself."""
    others = os.sched_getaffinity(0) - {PROGRAM_CPU}
    if others:
        os.sched_setaffinity(0, others)


def interpreters(bench):
    """Those that the build has an extension for."""
    try:
        with open(os.path.join(bench.build, "python", "interpreters.txt"), encoding="utf-8") as file:
            paths = file.read().split()
    except FileNotFoundError:
        paths = []
    if not paths:
        raise Skip("the build has no Python extension")
    for path in paths:
        yield Python(bench, path)


def times_as_long(times, base, **names):
    """"bare hook 1.60 x, cProfile 5.20 x": the other tools of the same turns."""
    return ", ".join(f"{name.replace('_', ' ')} {median_ratio(times[tool].values, base.values):.2f} x"
                     for name, tool in names.items() if tool in times)


def row(what, times, tool, base, base_name, limit=None, tolerance=0.0):
    limit_text = "" if not limit else f"<= {limit:.2f} x" if not tolerance else f"{limit:.2f} x, +- {tolerance:.0%}"
    return Row(what, times[tool] * 1000, "ms", times[base] * 1000, base_name, limit_text=limit_text,
               best=times[tool].best * 1000, ratio=median_ratio(times[tool].values, times[base].values),
               ratio_limit=limit and limit * (1 + tolerance))


def beside_the_floor(what, times, tool, floor, limit=1.15, name="the bare hook"):
    if floor in times:
        yield row(what, times, tool, floor, name, limit)


def ns_of_an_event(times, plain):
    return median_and_least([a - b for a, b in zip(times.values, plain.values)])[0] / FIB_EVENTS * 1e9


def fib_rows(python):
    name, is_old = python.name, python.version < (3, 12)
    tools = ["plain", "opscope:calls", "floor-calls", "cprofile", "viztracer", "opscope:partial"]
    times = python.compare("fib", tools)
    plain, calls = times["plain"], times["opscope:calls"]
    others = times_as_long(times, plain, bare_hook="floor-calls", cProfile="cprofile", viztracer="viztracer")
    yield row(f"{name}, fib(27): calls", times, "opscope:calls", "plain", f"untraced; {others}", 1.8 if is_old else None)
    yield from beside_the_floor(f"{name}, fib(27): calls, over the bare hook", times, "opscope:calls", "floor-calls",
                                None if is_old else 1.15)
    bare = f"bare hook: {ns_of_an_event(times['floor-calls'], plain):.1f} ns" if "floor-calls" in times else ""
    yield Row(f"{name}, fib(27): one event, call or return", ns_of_an_event(calls, plain), "ns",
              limit=20 if is_old else None, limit_text="<= 20 ns" if is_old else "", floor_name=bare)
    yield row(f"{name}, fib(27): -p, nothing enabled", times, "opscope:partial", "plain", "untraced", 1.0, 0.02)


def mixed_rows(python):
    name, is_old = python.name, python.version < (3, 12)
    for work, what, limit in (("mixed", "mixed", 1.15), ("numpy", "NumPy loop", 1.10)):
        try:
            times = python.compare(work, ["plain", "opscope:calls", "floor-calls", "cprofile", "viztracer"])
        except Skip as reason:
            yield reason
            continue
        others = times_as_long(times, times["plain"], bare_hook="floor-calls", cProfile="cprofile", viztracer="viztracer")
        yield row(f"{name}, {what}: calls", times, "opscope:calls", "plain", f"untraced; {others}", limit if is_old else None)
        if not is_old:
            yield from beside_the_floor(f"{name}, {what}: calls, over the bare hook", times, "opscope:calls", "floor-calls")


def c_call_rows(python):
    for work, what in (("ccalls", "C functions"), ("mixed", "mixed")):
        times = python.compare(work, ["plain", "opscope:calls,c-calls", "cprofile", "viztracer"])
        others = times_as_long(times, times["plain"], cProfile="cprofile", opscope="opscope:calls,c-calls", viztracer="viztracer")
        yield row(f"{python.name}, {what}: with C calls", times, "opscope:calls,c-calls", "cprofile",
                  f"cProfile; over untraced: {others}", 1.0)


def line_rows(python):
    for work, what in (("fib", "fib(27)"), ("mixed", "mixed")):
        tools = ["plain", "opscope:lines", "floor-lines"]
        if python.version >= (3, 12):
            tools.append("floor-lines-only")
        times = python.compare(work, tools)
        others = times_as_long(times, times["plain"], bare_hook="floor-lines", LINE_alone="floor-lines-only",
                               opscope="opscope:lines")
        yield from beside_the_floor(f"{python.name}, {what}: lines", times, "opscope:lines", "floor-lines",
                                    name=f"the bare line hook; over untraced: {others}")


def size_and_end(python):
    """2.6 million calls, 5.1 million events: the file, and what is still done when the program has ended."""
    bench = python.bench
    out = os.path.join(python.folder, "many.opscope")
    script = ("import runpy, sys, time; sys.argv[1:] = ['many'];"
              f"runpy.run_path({WORKLOADS!r}, run_name='__main__'); print('ended', time.monotonic(), 's', flush=True)")

    def end_of(command):
        text = subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True)
        return time.monotonic() - float(text.split()[text.split().index("ended") + 1])

    plain = end_of([python.path, "-c", script])
    ends = [end_of([bench.opscope, "run", "-q", "-o", out, "--", python.path, "-c", script]) for _ in range(3)]
    info = json.loads(subprocess.check_output([bench.opscope, "info", "--json", out]))
    peer_size, peer_end = "", ""
    if python.viztracer and not bench.quick:
        peer = os.path.join(python.folder, "many.json")
        end = end_of([python.viztracer, "-m", "viztracer", "--quiet", "--ignore_multiprocess", "--tracer_entries",
                      "6000000", "-o", peer, "-c", script])
        peer_size, peer_end = f"; viztracer {os.path.getsize(peer) / 1e6:.0f} MB", f"; viztracer {end:.1f} s"
        os.remove(peer)
    yield Row(f"{python.name}, {2 * info['zones'] / 1e6:.1f} M events: trace", os.path.getsize(out) / 1e6, "MB", limit=20,
              limit_text="<= 20 MB", floor_name=f"{info['lost_zones']} lost{peer_size}")
    yield Row(f"{python.name}, the same: from the program's last line to the end of the run", max(ends), "s", limit=0.2,
              limit_text="<= 0.2 s", floor_name=f"untraced {plain:.3f} s{peer_end}")


def is_recorded(python):
    """A program that nobody records meets every budget."""
    out = os.path.join(python.folder, "is_recorded.opscope")
    command = [python.bench.opscope, "run", "-q", "-o", out, "--", python.path, "-c", "def f():\n    pass\nf()\n"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    done = subprocess.run([python.bench.opscope, "info", "--json", out], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode == 0 and json.loads(done.stdout)["zones"] > 0


def rows(bench):
    for python in interpreters(bench):
        if not is_recorded(python):
            yield Skip(f"{python.name}: its calls are not recorded: the build has no extension for it")
            continue
        for note in python.notes:
            yield Skip(f"{python.name}, {note}")
        for part in (fib_rows, mixed_rows, c_call_rows, line_rows, size_and_end):
            try:
                yield from part(python)
            except Skip as reason:
                yield reason
