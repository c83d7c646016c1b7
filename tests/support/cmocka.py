# SPDX-License-Identifier: Apache-2.0
"""Runs the unit tests of a build and counts their cmocka cases.

CTest knows the commands (with the emulator of a cross build) and the limits; how the cases inside a program ended is in
the XML file that cmocka writes when all of them have. A program that dies, ends with a status of its own or ran no case
is a failure. A case that skips says why in a line that begins with "SKIP: ".
"""

import concurrent.futures
import json
import os
import subprocess
import xml.etree.ElementTree

from .process import run_logged
from .report import FAILED, PASSED, SKIPPED


def list_tests(build):
    """(name, command, limit in seconds) of every test that CTest knows in a build folder."""
    listing = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    tests = []
    for test in json.loads(listing.stdout)["tests"]:
        limit = 1200.0
        for item in test.get("properties", []):
            if item["name"] == "TIMEOUT":
                limit = float(item["value"])
        tests.append((test["name"], test.get("command"), limit))
    return tests


def read_cases(path, output):
    """[(case, status, reason)] from cmocka's XML file; `output` has the reasons of the skipped ones, in their order."""
    reasons = iter([line[6:].strip() for line in output.splitlines() if line.startswith("SKIP: ")])
    cases = []
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        failure = case.find("failure")
        if failure is not None:
            lines = (failure.text or "").strip().splitlines()
            cases.append((case.get("name"), FAILED, lines[0] if lines else "see the log"))
        elif case.find("skipped") is not None:
            cases.append((case.get("name"), SKIPPED, next(reasons, "no reason given")))
        else:
            cases.append((case.get("name"), PASSED, ""))
    return cases


def run_one(step, name, command, limit, log, env):
    """One program. cmocka writes to its standard error when the XML file is there already, so an old one goes first."""
    path = os.path.splitext(log)[0] + ".xml"
    if os.path.exists(path):
        os.remove(path)
    finished = run_logged(command, log, limit, env=dict(env, CMOCKA_MESSAGE_OUTPUT="xml", CMOCKA_XML_FILE=path))
    short = name.split("/")[-1]
    try:
        cases = read_cases(path, finished.text())
    except FileNotFoundError:  # it died before its end
        step.failed(short, finished.reason() if finished.status else "ran no case", log)
        return
    except xml.etree.ElementTree.ParseError as error:
        step.failed(short, f"cmocka's results cannot be read: {error}", log)
        return
    for case, status, reason in cases:
        step.add(f"{short}.{case}", status, reason, path if status == FAILED else "")
    if finished.status != 0 and not any(status == FAILED for _, status, _ in cases):
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
