# SPDX-License-Identifier: Apache-2.0
"""Damaged traces through every command (tests/fuzz/mutants.c), built with ASan and UBSan: which mutants there are is
fixed by their seed and number, so that the same tree gives the same answer."""

import glob
import os

from .process import run_logged

COUNT = 300
LONG_COUNT = 5000


def run_mutants(step, context, folder, wrapper):
    traces = sorted(glob.glob(os.path.join(context.source, "tests", "fuzz", "corpus", "trace", "*")))
    traces = [path for path in traces if os.path.basename(path) != "segments"]  # slow, and nothing but more of it
    count = LONG_COUNT if context.long else COUNT
    log = os.path.join(context.logs, "mutants.log")
    program = os.path.join(folder, "mutants")
    command = [*wrapper, program, "--count", str(count), "--jobs", str(context.jobs), "--keep", context.logs, *traces]
    finished = run_logged(command, log, 7200, env={**context.env, "ASAN_OPTIONS": ""})
    if finished.status == 0:
        step.passed(f"{count} mutants")
    else:
        step.failed(f"{count} mutants", finished.reason(), log)
