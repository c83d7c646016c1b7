# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets: tests/fuzz/fuzz_NAME.c over the seeds in tests/fuzz/corpus/NAME/.

`make test` asks whether the tree holds: seeds, random seed and number of runs are fixed, nothing is kept from one time
to the next, so that the same tree gives the same answer. `make fuzz` looks for what is new: some minutes a target, more
for those that read what strangers send, from the inputs that it found before. An input that crashes is kept beside the
log; it becomes a seed or a unit test.
"""

import concurrent.futures
import glob
import os
import shutil

from .process import run_logged

# Runs of `make test`: five to ten seconds a target on two cores. `commands` is a trace through everything.
RUNS = {
    "align": 3000,
    "commands": 100,
    "csv": 4000,
    "diff": 3000,
    "gpu_wire": 10000,
    "iree_lines": 10000,
    "mcp": 20000,
    "mlir": 20000,
    "query": 20000,
    "session": 4000,
    "torq_runtime": 20000,
    "trace": 3000,
    "tracy": 3000,
    "tt_device_log": 8000,
    "tt_messages": 10000,
}
USUAL_RUNS = 40000
LONG_RUNS = 8  # times as many with --long
# What reads bytes that strangers send or leave is looked at longest.
NEWS_SECONDS = 600
STRANGERS_SECONDS = {"commands": 1800, "http": 1800, "session": 1800, "trace": 1800, "tracy": 1800}
# Of one run; what asks for more at once, or in all, is a finding.
MALLOC_LIMIT_MB = 512
RSS_LIMIT_MB = {"session": 2048}  # maps segments of 180 MB
USUAL_RSS_LIMIT_MB = 1024
FLAGS = {"commands": ["-close_fd_mask=2"]}  # commands say on standard error what is wrong with each input


def base_command(context, folder, name):
    short = name[len("fuzz_") :]
    return [
        os.path.join(folder, name),
        "-timeout=60",
        f"-rss_limit_mb={RSS_LIMIT_MB.get(short, USUAL_RSS_LIMIT_MB)}",
        f"-malloc_limit_mb={MALLOC_LIMIT_MB}",
        "-max_len=1048576",
        "-print_final_stats=1",
        f"-artifact_prefix={os.path.join(context.logs, short)}-",
        *FLAGS.get(short, []),
    ]


def run_target(step, context, folder, name):
    short = name[len("fuzz_") :]
    seeds = os.path.join(context.source, "tests", "fuzz", "corpus", short)
    log = os.path.join(context.logs, f"{name}.log")
    if not os.path.isdir(seeds) or not os.listdir(seeds):
        step.failed(short, f"no seeds in tests/fuzz/corpus/{short}")
        return
    command = base_command(context, folder, name)
    if context.fuzz_seconds is None:
        # What is found goes to a folder that is empty each time: libFuzzer goes on from what lies there.
        found = os.path.join(folder, "fixed", short)
        shutil.rmtree(found, ignore_errors=True)
        runs = RUNS.get(short, USUAL_RUNS) * (LONG_RUNS if context.long else 1)
        command += ["-seed=1", f"-runs={runs}", "-reload=0"]
        limit = 3600
    else:
        found = os.path.join(folder, "corpus", short)
        seconds = context.fuzz_seconds or STRANGERS_SECONDS.get(short, NEWS_SECONDS)
        command += [f"-max_total_time={seconds}"]
        limit = seconds + 1200
    os.makedirs(found, exist_ok=True)
    env = dict(context.env, ASAN_OPTIONS="allocator_may_return_null=1:detect_leaks=1:quarantine_size_mb=64")
    finished = run_logged([*command, found, seeds], log, limit, env=env)
    if finished.status == 0:
        step.passed(short)
    else:
        step.failed(short, finished.reason(), log)


def target_names(context):
    sources = glob.glob(os.path.join(context.source, "tests", "fuzz", "fuzz_*.c"))
    names = sorted(os.path.splitext(os.path.basename(path))[0] for path in sources)
    return [name for name in names if context.match in name]


def run_fuzz(step, context, folder, names):
    """The longest first, so that the last one is not waited for alone."""
    order = sorted(names, key=lambda name: name != "fuzz_commands")
    with concurrent.futures.ThreadPoolExecutor(context.jobs) as pool:
        for future in [pool.submit(run_target, step, context, folder, name) for name in order]:
            future.result()
