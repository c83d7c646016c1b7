# SPDX-License-Identifier: Apache-2.0
"""The ops of PyTorch on the CPU: what the observer, with names, tensors and links, adds to a program of small ops, against
the same steps without it in the same process."""

import os
import subprocess

from run import HERE, Row, Skip, median_and_least

PYTHON = "/usr/bin/python3"


def rows(bench):
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        raise Skip(f"{PYTHON} has no torch (Debian: python3-torch)")
    times = {}
    work = [PYTHON, os.path.join(HERE, "torch_workload.py"), "15" if bench.quick else "60"]
    command = [bench.opscope, "run", "-q", "--python-trace", "off", "-o", bench.path("torch.opscope"), "--", *work]
    for line in bench.run(command).splitlines():
        name, value = line.split()
        times.setdefault(name, []).append(float(value))
    bare, _ = median_and_least(times["bare"])
    observed, best = median_and_least(times["observed"])
    yield Row("torch: an op with its tensors, CPU time", observed, "ns", bare, "the same op, not observed", best=best)
