# SPDX-License-Identifier: Apache-2.0
"""Fails when an op takes longer to dispatch than it used to. Copy it into your tests and adapt the first lines.

    opscope overhead --ops torch --group binary --check reference.csv --update     make the reference, commit it
    python3 -m pytest test_host_overhead.py                                        check against it

One test for each op of the reference, so that the report names the ones that failed. All of them come from one run of
`opscope overhead --check`, which measures doubtful ops again before it says that one is slower, and takes out how fast
this machine is; docs/overhead-gate.md says how.
"""

import csv
import json
import os
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
REFERENCE = os.environ.get("OVERHEAD_REFERENCE", os.path.join(HERE, "reference.csv"))
OPS = os.environ.get("OVERHEAD_OPS", "torch")
SELECTION = os.environ.get("OVERHEAD_SELECTION", "").split()  # such as: --group binary
TOLERANCE = os.environ.get("OVERHEAD_TOLERANCE", "1.13")

FAILING = ("slower", "failed", "missing")


def referenced_ops():
    if not os.path.exists(REFERENCE):
        return []
    with open(REFERENCE, encoding="utf-8", newline="") as file:
        return [row["op"] for row in csv.DictReader(file) if not row["op"].startswith("calibration.")]


@pytest.fixture(scope="session")
def verdicts():
    """What the gate says of each op; measured once."""
    if not shutil.which("opscope"):
        pytest.skip("opscope is not on PATH")
    if not os.path.exists(REFERENCE):
        pytest.skip(f"no reference: opscope overhead --ops {OPS} --check {REFERENCE} --update makes one")
    command = ["opscope", "overhead", "--ops", OPS, *SELECTION, "--python", sys.executable]
    command += ["--check", REFERENCE, "--tolerance", TOLERANCE, "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), f"{' '.join(command)}\n{done.stderr}"
    gate = json.loads(done.stdout)
    print(gate["compared"])
    return {row["op"]: row for row in gate["rows"]}


@pytest.mark.parametrize("op", referenced_ops())
def test_dispatch_time(op, verdicts):
    row = verdicts.get(op)
    if row is None:
        pytest.skip("not among the ops that were measured")
    if row["verdict"] == "undecided":
        pytest.skip(row["reason"])
    assert row["verdict"] not in FAILING, (
        f"{op} is {row['verdict']}: {row['reference_ns']} ns in the reference, {row['now_ns']} ns now, "
        f"{row['ratio']} times as long on this machine; {row['reason'] or ''}"
    )
