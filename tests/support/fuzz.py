# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets: tests/fuzz/fuzz_NAME.c over the seeds in tests/fuzz/corpus/NAME/, some seconds each.

New inputs are kept in the build folder and found again by the next run; an input that crashes is kept beside
the log. The seeds are always run first, so that a crasher which became a seed stays fixed.
"""

import concurrent.futures
import glob
import os

from .process import run_logged


def run_target(step, context, folder, name, seconds):
    short = name[len("fuzz_") :]
    seeds = os.path.join(context.source, "tests", "fuzz", "corpus", short)
    log = os.path.join(context.logs, f"{name}.log")
    if not os.path.isdir(seeds) or not os.listdir(seeds):
        step.failed(short, f"no seeds in tests/fuzz/corpus/{short}")
        return
    found = os.path.join(folder, "corpus", short)
    os.makedirs(found, exist_ok=True)
    command = [
        os.path.join(folder, name),
        f"-max_total_time={seconds}",
        "-timeout=60",
        "-rss_limit_mb=2048",
        "-max_len=1048576",
        "-print_final_stats=1",
        f"-artifact_prefix={os.path.join(context.logs, short)}-",
        found,
        seeds,
    ]
    env = dict(context.env, ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=1")
    finished = run_logged(command, log, seconds + 1200, env=env)
    if finished.status == 0:
        step.passed(short)
    else:
        step.failed(short, finished.reason(), log)


def target_names(context):
    sources = glob.glob(os.path.join(context.source, "tests", "fuzz", "fuzz_*.c"))
    return sorted(os.path.splitext(os.path.basename(path))[0] for path in sources)


def run_fuzz(step, context, folder, names, seconds):
    with concurrent.futures.ThreadPoolExecutor(context.jobs) as pool:
        for future in [pool.submit(run_target, step, context, folder, name, seconds) for name in names]:
            future.result()
