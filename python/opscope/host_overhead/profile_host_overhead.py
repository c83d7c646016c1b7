# SPDX-License-Identifier: Apache-2.0
"""Measures host dispatch times from pytest, with the options of the vendor's test of this name:

    python3 -m pytest .../opscope/host_overhead/profile_host_overhead.py --input-method cli --cli-input out
    python3 -m pytest .../profile_host_overhead.py --input-method cli --cli-input out::torch.add

It runs `opscope overhead -o DIR[::OP]` with this interpreter and fails where that fails or writes no times. What
opscope shows is printed (pytest -s, or the report of a failure). The file is not called test_*.py, so that no run of
a whole test suite picks it up.
"""

import csv
import importlib.util
import os
import shutil
import subprocess
import sys

import pytest

PROVIDERS = ("ttnn", "torch", "numpy")


def program():
    """The program `opscope`: that of the installed package, else the one on PATH."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join(package, "bin", "opscope")
    found = inside if os.access(inside, os.X_OK) else shutil.which("opscope")
    if not found:
        pytest.skip("the program opscope is neither in the package nor on PATH")
    return found


def provider_of(op):
    """The provider that an op's name begins with, else the first that is installed."""
    named = op.split(".")[0]
    if named in PROVIDERS:
        return named
    for name in PROVIDERS[:2]:
        if importlib.util.find_spec(name):
            return name
    pytest.skip("neither ttnn nor torch is installed for this Python; --ops names another provider")
    return None


def test_host_overhead(request):
    cli_input = request.config.getoption("--cli-input")
    if not cli_input:
        pytest.fail("--cli-input DIR or DIR::OP says where the times go", pytrace=False)
    folder, _, op = cli_input.partition("::")
    provider = request.config.getoption("overhead_ops") or provider_of(op)
    command = [program(), "overhead", "--ops", provider, "--python", sys.executable, "-o", cli_input, "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}", pytrace=False)
    name = f"host_overhead_{op.replace('/', '_')}.csv" if op else "host_overhead_profiler_output.csv"
    with open(os.path.join(folder or ".", name), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows, f"{name} has no rows"
    assert not op or [row["op"] for row in rows] == [op]
