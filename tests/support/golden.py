# SPDX-License-Identifier: Apache-2.0
"""Golden tests: a command on a small input, compared byte for byte with what is checked in.

tests/golden/CASE/ holds
    cmd       a shell script (sh -eu), run in a copy of the folder, with $OPSCOPE, $PROGRAMS and $EXAMPLES set
    stdout    what it must print
    stderr    what it must say there (optional: not compared when absent)
    status    its exit status (optional: 0)
    origin    who wrote the expectation: "opscope", or the tool and release that opscope is compared with
    needs     a path below $OPSCOPE_REFERENCE_DATA without which the case is skipped (optional); the script
              finds it as $DATA/...
and whatever input it reads. `tests/run.py --only golden --update` rewrites stdout and stderr: for our own formats only,
where the change is meant. An expectation that another tool wrote is never updated: opscope would be compared with itself.
"""

import difflib
import glob
import os
import shutil
import subprocess
import tempfile

LIMIT_S = 600


def read(path, default=None):
    if not os.path.exists(path):
        return default
    with open(path, "rb") as file:
        return file.read()


def run_case(context, folder):
    env = dict(context.env)
    env.update(
        OPSCOPE=os.path.join(context.build, "opscope"),
        PROGRAMS=os.path.join(context.build, "tests", "programs"),
        EXAMPLES=os.path.join(context.build, "examples"),
        DATA=os.environ.get("OPSCOPE_REFERENCE_DATA", ""),
        LC_ALL="C.UTF-8",
        TZ="UTC",
    )
    with tempfile.TemporaryDirectory(prefix="opscope-golden-") as scratch:
        copy = os.path.join(scratch, "case")
        shutil.copytree(folder, copy)
        return subprocess.run(
            ["sh", "-eu", "cmd"],
            cwd=copy,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )


def differences(done, folder):
    """What differs from the expectation, as text; empty when nothing does."""
    found = []
    status = int(read(os.path.join(folder, "status"), b"0"))
    if done.returncode != status:
        found.append(f"exit status {done.returncode}, expected {status}\n{done.stderr.decode('utf-8', 'replace')}")
    for name, got in (("stdout", done.stdout), ("stderr", done.stderr)):
        expected = read(os.path.join(folder, name), b"" if name == "stdout" else None)
        if expected is not None and got != expected:
            lines = difflib.unified_diff(
                expected.decode("utf-8", "replace").splitlines(True),
                got.decode("utf-8", "replace").splitlines(True),
                f"expected {name}",
                f"actual {name}",
            )
            found.append("".join(lines) or f"{name} differs in bytes that are not text")
    return "\n".join(found)


def run_golden(step, context, update=False):
    root = os.path.join(context.source, "tests", "golden")
    names = sorted(os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(root, "*", "cmd")))
    if not names:
        step.failed("cases", "no golden case found")
    for name in names:
        folder = os.path.join(root, name)
        need = read(os.path.join(folder, "needs"))
        if need is not None:
            data = os.environ.get("OPSCOPE_REFERENCE_DATA", "")
            if not data or not os.path.exists(os.path.join(data, need.decode().strip())):
                step.skipped(name, f"no {need.decode().strip()} in OPSCOPE_REFERENCE_DATA")
                continue
        log = os.path.join(context.logs, f"golden-{name}.log")
        try:
            done = run_case(context, folder)
        except subprocess.TimeoutExpired:
            step.failed(name, f"still running after {LIMIT_S} s")
            continue
        origin = (read(os.path.join(folder, "origin")) or b"").decode("utf-8", "replace").strip()
        if not origin:
            step.failed(name, "its file origin does not say who wrote the expectation")
            continue
        if update and origin != "opscope":
            step.failed(name, f"not updated: the expectation was written by {origin}")
            continue
        if update:
            write_expectation(done, folder)
        found = differences(done, folder)
        if found:
            with open(log, "w", encoding="utf-8") as file:
                file.write(found)
            step.failed(name, found.splitlines()[0] if "exit status" in found else "output differs", log)
        else:
            step.passed(name)


def write_expectation(done, folder):
    with open(os.path.join(folder, "stdout"), "wb") as file:
        file.write(done.stdout)
    if os.path.exists(os.path.join(folder, "stderr")):
        with open(os.path.join(folder, "stderr"), "wb") as file:
            file.write(done.stderr)
