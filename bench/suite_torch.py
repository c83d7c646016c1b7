# SPDX-License-Identifier: Apache-2.0
"""The ops of PyTorch on the CPU: what the observer, with names, tensors and links, adds to a program of small ops, against
the same steps without it in the same process, and against an observer that does nothing."""

import os
import subprocess

from run import HERE, Row, Skip, median_and_least, median_ratio

PYTHONS = ("/usr/bin/python3", "python3")


def python_with_torch():
    for python in PYTHONS:
        if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            return python
    raise Skip("no Python here has torch (Debian: python3-torch)")


def rows(bench):
    times = {}
    work = [python_with_torch(), os.path.join(HERE, "torch_workload.py"), "15" if bench.quick else "60", bench.folder]
    command = [bench.opscope, "run", "-q", "--python-trace", "off", "-o", bench.path("torch.opscope"), "--", *work]
    for line in bench.run(command).splitlines():
        name, value = line.split()
        times.setdefault(name, []).append(float(value))
    observed, best = median_and_least(times["observed"])
    for name, text in (("bare", "the same op, not observed"), ("floor", "an observer that does nothing")):
        if name not in times:
            yield Skip("an observer that does nothing could not be built")
            continue
        yield Row("torch: an op with its tensors, CPU time", observed, "ns", median_and_least(times[name])[0], text, best=best,
                  ratio=median_ratio(times["observed"], times[name]))
