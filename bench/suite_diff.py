# SPDX-License-Identifier: Apache-2.0
"""opscope diff: time and memory for two traces of 10 k, 100 k and 1 M ops, where one op in ten was replaced and every
997th comes twice; the same for two ops CSVs; and the worst case, two runs in which nothing fits."""

import os
import subprocess

from run import Row, median_and_least


def trace(bench, name, count, variant):
    path = bench.path(name)
    subprocess.run([bench.program("bench_ops_trace"), path, str(count), str(variant)], check=True)
    return path


def table(bench, name, count):
    path = bench.path(name)
    with open(path, "wb") as out:
        subprocess.run([bench.program("bench_ops_csv"), str(count)], stdout=out, check=True)
    return path


def measure(bench, what, command, count, limit):
    """Wall time and memory of some runs."""
    runs = [bench.timed(command) for _ in range(3)]
    is_full = count == 1_000_000 and limit
    median, best = median_and_least([run[1] for run in runs])
    yield Row(f"{what}: time", median, "s", limit=limit if is_full else None,
              limit_text=f"<= {limit} s" if is_full else "", best=best)
    memory = max(run[2] for run in runs)
    yield Row(f"{what}: memory, {memory * 1048576 / count:.0f} bytes an op", memory, "MiB")


def rows(bench):
    for count in (10_000, 100_000) if bench.quick else (10_000, 100_000, 1_000_000):
        before, after = trace(bench, "a.opscope", count, 0), trace(bench, "b.opscope", count, 1)
        yield from measure(bench, f"diff of two traces of {count:,} ops", [bench.opscope, "diff", before, after], count, 5)
        hopeless = trace(bench, "c.opscope", count, 2)
        command = [bench.opscope, "diff", before, hopeless]
        yield from measure(bench, f"the same where the order is random, {count:,} ops", command, count, 5)
        path = table(bench, "ops.csv", count)
        size = os.path.getsize(path) / 1e9
        command = [bench.opscope, "diff", path, path]
        yield from measure(bench, f"diff of two ops CSVs of {count:,} ops, {size:.2f} GB each", command, count, None)
        command = [bench.opscope, "check", "--no-config", "--baseline", before, before]
        yield from measure(bench, f"check of two traces of {count:,} ops", command, count, 5)
        for name in (before, after, hopeless, path):
            os.unlink(name)
