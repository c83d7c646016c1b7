#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the speed table: what was measured, the floor or peer of the same run beside it, and the budget.

    bench/run.py [--build BUILD] [--only WORD] [--quick] [--write docs/benchmarks.md]

Each bench/suite_*.py has a function rows(bench) that yields Row objects. It yields a Skip with a reason for a single
measurement that cannot be made here, and raises one when nothing can. Nothing here is a test: a missed budget is shown,
and the status stays 0 (--strict makes it 1). Run it on a quiet machine. --write takes a whole run: all rows of
docs/benchmarks.md come from one, with the commit and the machine's load in it."""

import argparse
import glob
import importlib.util
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time

from summary import summary

HERE = os.path.dirname(os.path.abspath(__file__))


class Skip(Exception):
    """Raised or yielded by a suite for what cannot be measured here; the text says why."""


class Row:
    """One line of the table. limit and value are compared with `<=`, or `>=` when at_least is set. value and floor are
    medians where there is more than one measurement; best is then the best of them. Where both were measured in turns,
    ratio is the median of the ratios of the turns, which a machine that is slower for some seconds does not change, and it is
    what ratio_limit is compared with."""

    def __init__(self, what, value, unit, floor=None, floor_name="", limit=None, limit_text="", at_least=False, best=None,
                 ratio=None, ratio_limit=None):
        self.what, self.value, self.unit, self.best = what, value, unit, best
        self.floor, self.floor_name = floor, floor_name
        self.limit, self.limit_text, self.at_least = limit, limit_text, at_least
        self.ratio = ratio or (value / floor if floor else None)
        self.ratio_limit = ratio_limit

    @property
    def verdict(self):
        if self.ratio_limit is not None:
            return "met" if self.ratio <= self.ratio_limit else "MISSED"
        if self.limit is None:
            return ""
        met = self.value >= self.limit if self.at_least else self.value <= self.limit
        return "met" if met else "MISSED"


def median_and_least(values):
    values = sorted(values)
    return values[len(values) // 2], values[0]


def median_ratio(values, floors):
    """Of measurements that were made in turns."""
    return median_and_least([value / floor for value, floor in zip(values, floors)])[0]


class Bench:
    """What a suite needs: paths, a scratch folder, commands whose output is NAME VALUE UNIT lines."""

    def __init__(self, build, folder, quick):
        self.build, self.folder, self.quick = os.path.abspath(build), folder, quick
        self.opscope = os.path.join(self.build, "opscope")

    def program(self, name):
        path = os.path.join(self.build, "bench", name)
        if not os.path.exists(path):
            raise Skip(f"{name} was not built")
        return path

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, env=None):
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(env or {})}, check=False
        )
        if done.returncode != 0:
            raise Skip(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-200:]}")
        return done.stdout.decode()

    def figures(self, command, env=None):
        figures = {}
        for line in self.run(command, env).splitlines():
            words = line.split()
            if len(words) >= 2:
                try:
                    figures[words[0]] = float(words[1])
                except ValueError:
                    pass
        return figures

    def repeated(self, measure, times):
        """Median and least of this many measurements."""
        return median_and_least([measure() for _ in range(times)])

    def timed(self, command):
        """CPU seconds, wall seconds and peak MiB of one command itself (not of its children)."""
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise Skip(f"{' '.join(command)} ended with {process.returncode}")
        return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def suites(only):
    for path in sorted(glob.glob(os.path.join(HERE, "suite_*.py"))):
        name = os.path.basename(path)[len("suite_") : -len(".py")]
        if only and only not in name:
            continue
        spec = importlib.util.spec_from_file_location("suite_" + name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault("run", sys.modules[__name__])
        spec.loader.exec_module(module)
        yield name, module


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 100 else f"{value:.1f}"


def cells(row):
    floor = f"{number(row.floor)} {row.unit} ({row.floor_name})" if row.floor else row.floor_name
    ratio = f"{row.ratio:.2f} x" if row.ratio else ""
    best = f"{number(row.best)} {row.unit}" if row.best is not None else ""
    return [row.what, f"{number(row.value)} {row.unit}", best, floor, ratio, row.limit_text, row.verdict]


HEADER = ["what", "median", "best", "floor or peer, same run", "ratio", "budget", ""]


def print_table(lines):
    widths = [max(len(line[i]) for line in [HEADER] + lines) for i in range(len(HEADER))]
    for line in [HEADER] + lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def machine_text():
    model = ""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} x {model or platform.machine()}, {memory:.0f} GiB, Linux {platform.release()}"


def commit_text():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() or "unknown"


def write_markdown(path, tables, skipped, loads):
    """What matters in ten lines, and one section a suite, all of one run."""
    commit = commit_text()  # before the file, which is part of it, changes
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"# Benchmarks\n\n{summary([line for _, lines in tables for line in lines])}\n")
        file.write("Made by one run of `bench/run.py --write docs/benchmarks.md` (`make bench` prints the same) at\n")
        file.write(f"commit {commit} on one machine: {machine_text()}; load {loads[0]:.1f} before the run, ")
        file.write(f"{loads[1]:.1f} after it.\n")
        file.write("Machines differ; the ratios to a floor or a peer measured in the same run are what to compare.\n")
        for title, lines in tables:
            file.write(f"\n## {title}\n\n")
            for line in [HEADER, ["---"] * len(HEADER)] + lines:
                file.write("| " + " | ".join(line) + " |\n")
        if skipped:
            file.write("\n## Not measured\n\n")
            for text in skipped:
                file.write(f"- {text}\n")


def measure(bench, name, module, skipped):
    """The rows of one suite, printed as they come."""
    print(f"measuring {name} ...", file=sys.stderr, flush=True)
    rows = []
    try:
        for row in module.rows(bench):
            if isinstance(row, Skip):
                skipped.append(f"{name}: {row}")
                continue
            rows.append(row)
            print("  " + "  ".join(cell for cell in cells(row) if cell), file=sys.stderr, flush=True)
    except Skip as reason:
        skipped.append(f"{name}: {reason}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default="", help="suites whose name contains this")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data: for trying the suites")
    parser.add_argument("--write", metavar="FILE", help="docs/benchmarks.md; not with --only or --quick")
    parser.add_argument("--strict", action="store_true", help="status 1 when a budget is missed")
    options = parser.parse_args()
    if options.write and (options.only or options.quick):
        parser.error("--write takes a whole run: all rows of a document come from one")
    tables, skipped, load_before = [], [], os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="opscope-bench-") as folder:
        bench = Bench(options.build, folder, options.quick)
        for name, module in suites(options.only):
            rows = measure(bench, name, module, skipped)
            if rows:
                tables.append((getattr(module, "TITLE", name.capitalize()), rows))
    loads = load_before, os.getloadavg()[0]
    rows = [row for _, table in tables for row in table]
    verdicts = [row.verdict for row in rows]
    print(f"{machine_text()}, load {loads[0]:.1f} before, {loads[1]:.1f} after, commit {commit_text()}")
    print_table([cells(row) for row in rows])
    for text in skipped:
        print(f"not measured: {text}")
    print(f"{len(rows)} rows: {verdicts.count('met')} budgets met, {verdicts.count('MISSED')} missed, {len(skipped)} not measured")
    if options.write:
        write_markdown(options.write, [(title, [cells(row) for row in table]) for title, table in tables], skipped, loads)
    return 1 if options.strict and "MISSED" in verdicts else 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
