# SPDX-License-Identifier: Apache-2.0
"""Runs the unit tests of a build and counts their cmocka cases.

CTest knows the commands (with the emulator of a cross build) and the limits; the cases inside a program are
read from what cmocka prints. A program that dies, ends with a status of its own or ran no case is a failure.
A case that skips says why in a line that begins with "SKIP: ".
"""

import concurrent.futures
import json
import os
import re
import subprocess

from .process import run_logged
from .report import FAILED, PASSED, SKIPPED

CASE = re.compile(r"^\[\s*(RUN|OK|FAILED|SKIPPED|ERROR)\s*\] (.*)$")


def list_tests(build):
    """(name, command, limit in seconds) of every test that CTest knows in a build folder."""
    listing = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    tests = []
    for test in json.loads(listing.stdout)["tests"]:
        limit = 300.0
        for item in test.get("properties", []):
            if item["name"] == "TIMEOUT":
                limit = float(item["value"])
        tests.append((test["name"], test.get("command"), limit))
    return tests


def read_cases(text):
    """{case: (status, reason)} from a cmocka program's output; a case that never ended has status None."""
    cases = {}
    running = None
    reason = ""
    for line in text.splitlines():
        if line.startswith("SKIP: "):
            reason = line[6:].strip()
        match = CASE.match(line)
        if not match:
            continue
        word, name = match.groups()
        name = name.strip()
        if word == "RUN":
            running = name
            reason = ""
            cases[name] = (None, "")
        elif word == "OK" and name in cases:
            cases[name] = (PASSED, "")
        elif word == "SKIPPED" and name == running and cases[name][0] is None:
            cases[name] = (SKIPPED, reason or "no reason given")
        elif word == "FAILED" and name in cases:
            cases[name] = (FAILED, "see the log")
    return cases


def run_one(step, name, command, limit, log, env):
    finished = run_logged(command, log, limit, env=env)
    cases = read_cases(finished.text())
    short = name.split("/")[-1]
    failures = 0
    for case, (status, reason) in cases.items():
        if status is None:
            status, reason = FAILED, f"did not end: {finished.reason()}"
        failures += status == FAILED
        step.add(f"{short}.{case}", status, reason, log if status == FAILED else "")
    if finished.status != 0 and not failures:
        step.failed(short, finished.reason(), log)
    elif not cases:
        step.failed(short, "ran no case", log)


def run_tests(step, build, logs, jobs, env, only=None, wrapper=(), slower=1):
    """Runs every unit test of a build, `jobs` at a time; slower: factor on the limits, for emulators."""
    tests = [test for test in list_tests(build) if only is None or only(test[0])]
    if not tests:
        step.failed("tests", "no unit test found")
        return
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        waiting = []
        for name, command, limit in tests:
            log = os.path.join(logs, f"{step.name}-{name.split('/')[-1]}.log")
            if not command:
                step.failed(name, "is not built")
                continue
            waiting.append(pool.submit(run_one, step, name, [*wrapper, *command], limit * slower, log, env))
        for future in waiting:
            future.result()
