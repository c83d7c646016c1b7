# SPDX-License-Identifier: Apache-2.0
"""opscope report: time and memory for 10 k, 100 k and 1 M ops of 98 columns, beside tt-perf-report where it is there;
the same for ops that opscope recorded itself."""

import os
import shutil
import subprocess
import sys

from run import Row, Skip, median_and_least

PEER = "tt-perf-report==1.2.4"


def ops_csv(bench, rows, *variant):
    path = bench.path(f"ops-{rows}.csv")
    with open(path, "wb") as out:
        subprocess.run([bench.program("bench_ops_csv"), str(rows), *variant], stdout=out, check=True)
    return path


def ops_trace(bench, rows, *variant):
    path = bench.path(f"ops-{rows}.opscope")
    subprocess.run([bench.program("bench_ops_trace"), path, str(rows), *variant], check=True)
    return path


def peer(bench):
    """The original's program: on the path, or from pip into the scratch folder; None where it cannot be had."""
    found = shutil.which("tt-perf-report")
    if found:
        return found
    if os.environ.get("OPSCOPE_NO_INSTALL", "0") not in ("", "0"):
        return None
    folder = bench.path("peer")
    steps = ([sys.executable, "-m", "venv", folder], [os.path.join(folder, "bin", "pip"), "install", "-q", PEER])
    for step in steps:
        if subprocess.run(step, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            return None
    program = os.path.join(folder, "bin", "tt-perf-report")
    return program if os.path.exists(program) else None


def measured(bench, command, times):
    """Median and least CPU seconds of some runs, and the most memory."""
    runs = [bench.timed(command) for _ in range(times)]
    return *median_and_least([run[0] for run in runs]), max(run[2] for run in runs)


def budgeted(bench, what, arguments, count, seconds_max, mebibytes_max=None):
    """CPU and memory of a command; the budgets are those of a million ops."""
    seconds, best, memory = measured(bench, [bench.opscope, *arguments], 3)
    limits = (seconds_max, mebibytes_max) if count == 1_000_000 else (None, None)
    yield Row(f"{what} of {count:,} ops: CPU", seconds, "s", limit=limits[0],
              limit_text=f"<= {limits[0]} s" if limits[0] else "", best=best)
    yield Row(f"{what} of {count:,} ops: memory", memory, "MiB", limit=limits[1],
              limit_text=f"<= {limits[1]} MiB" if limits[1] else "")


def recorded(bench, count):
    path, table = ops_trace(bench, count), bench.path("table.csv")
    yield from budgeted(bench, "report of a recorded trace", ["report", path], count, 2, 256)
    yield from budgeted(bench, "report --csv of a recorded trace", ["report", path, f"--csv={table}"], count, 3, 256)
    yield from budgeted(bench, "ops --csv of a recorded trace", ["ops", path, f"--csv={table}"], count, None, 256)
    os.unlink(path)


def own_attributes(bench, count):
    """The worst case: no op has the description of another. Its model takes more memory than that of others."""
    path = ops_csv(bench, count, "own")
    yield from budgeted(bench, "report where every op has attributes of its own", ["report", path], count, 3, 400)
    os.unlink(path)
    path = ops_trace(bench, count, "3")
    yield from budgeted(bench, "the same, a recorded trace", ["report", path], count, 3, 400)
    os.unlink(path)


def rows(bench):
    sizes = (10_000, 100_000) if bench.quick else (10_000, 100_000, 1_000_000)
    other = peer(bench)
    for count in sizes:
        path = ops_csv(bench, count)
        size = os.path.getsize(path) / 1e9
        seconds, best, memory = measured(bench, [bench.opscope, "report", path], 3)
        floor, floor_name = None, "no tt-perf-report here"
        if other and count <= 10_000:
            floor, _, _ = measured(bench, [other, path, "--no-color"], 1)
            floor_name = "tt-perf-report 1.2.4"
        elif other:
            floor_name = "tt-perf-report: see 10,000 ops"
        is_full = count == 1_000_000
        yield Row(f"report of {count:,} ops, {size:.2f} GB: CPU", seconds, "s", floor, floor_name,
                  2 if is_full else None, "<= 2 s" if is_full else "", best=best)
        yield Row(f"report of {count:,} ops: memory", memory, "MiB", limit=256 if is_full else None,
                  limit_text="<= 256 MiB" if is_full else "")
        seconds, best, _ = measured(bench, [bench.opscope, "report", path, f"--csv={bench.path('table.csv')}"], 3)
        yield Row(f"report --csv of {count:,} ops: CPU", seconds, "s", limit=3 if is_full else None,
                  limit_text="<= 3 s" if is_full else "", best=best)
        os.unlink(path)
        yield from recorded(bench, count)
        yield from own_attributes(bench, count)
    small = ops_csv(bench, 10)
    seconds, best, _ = measured(bench, [bench.opscope, "report", small], 20)
    yield Row("report of 10 ops: CPU, start to end", seconds * 1000, "ms", limit=10, limit_text="<= 10 ms", best=best * 1000)
    if not other:
        raise Skip("tt-perf-report 1.2.4 is not installed and pip cannot get it")
