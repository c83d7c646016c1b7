# SPDX-License-Identifier: Apache-2.0
"""A device log of 1 GB: its op table, its report, its import into a trace."""

import os
import subprocess

from run import Row, median_and_least


def rows(bench):
    sizes = (10, 100) if bench.quick else (10, 100, 1000)
    for megabytes in sizes:
        folder = bench.path(f"log-{megabytes}")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "profile_log_device.csv")
        with open(path, "wb") as out:
            subprocess.run([bench.program("bench_device_log"), str(megabytes)], stdout=out, check=True)
        size = os.path.getsize(path) / 1e9
        limit = 5.0 if megabytes == 1000 else None
        for what, command in (
            ("ops", [bench.opscope, "ops", folder, "--csv", bench.path("ops.csv")]),
            ("report", [bench.opscope, "report", folder]),
            ("import", [bench.opscope, "import", "tenstorrent", folder, "-o", bench.path("log.opscope")]),
        ):
            runs = [bench.timed(command) for _ in range(1 if megabytes == 1000 else 3)]
            elapsed, best = median_and_least([run[1] for run in runs])
            yield Row(
                f"device log of {size:.2f} GB: {what}", elapsed, "s", limit=limit if what != "import" else None,
                limit_text="<= 5 s" if limit and what != "import" else "", best=best,
            )
        os.unlink(path)
