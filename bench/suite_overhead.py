# SPDX-License-Identifier: Apache-2.0
"""opscope overhead: how long a measurement of 100 torch ops takes, what the calling loop costs, and whether the times
are those that timeit finds for the same calls in a process of its own."""

import json
import os
import subprocess
import time

from run import Row, Skip

PYTHON = "/usr/bin/python3"
ADD = "import torch, timeit; torch.set_grad_enabled(False); torch.set_num_threads(1)\n" \
      "a = torch.rand(1, 4, 8, 8); b = torch.rand(1, 4, 8, 8)\n" \
      "print(min(timeit.repeat('f(a, b)', globals={'f': torch.add, 'a': a, 'b': b}, number=2000, repeat=50)) / 2000)"


def has(module):
    return subprocess.run([PYTHON, "-c", "import " + module], capture_output=True, check=False).returncode == 0


def wall(command):
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Skip(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-200:]}")
    return time.monotonic() - begin, done.stdout.decode()


def rows(bench):
    library = os.path.join(bench.build, "tests", "programs", "overhead_ops_plugin.so")
    if os.path.exists(library):
        command = [bench.opscope, "overhead", "--ops", library, "--op", "good.plain", "--json"]
        _, text = wall(command)
        yield Row("overhead: calling loop, C", json.loads(text)["loop_ns"], "ns a call")
    if not has("torch"):
        raise Skip(f"{PYTHON} has no torch (Debian: python3-torch)")
    floor, _ = wall([PYTHON, "-c", "import torch"])
    command = [bench.opscope, "overhead", "--ops", "torch", "--python", PYTHON, "--json", "-q"]
    for what, words, limit in (("binary", ["--group", "binary"], 120), ("all", [], None)):
        seconds, text = wall(command + words)
        found = json.loads(text)
        count = sum(row["state"] == "measured" and row["calibration"] == "no" for row in found["rows"])
        yield Row(f"overhead: {what} torch ops ({count}), default settings: wall", seconds, "s", floor,
                  "import torch alone", limit, "<= 120 s for 100" if limit else "")
    yield Row("overhead: calling loop, Python", found["loop_ns"], "ns a call")
    peer = min(float(wall([PYTHON, "-c", ADD])[1]) for _ in range(3)) * 1e9
    add = next(row for row in found["rows"] if row["op"] == "torch.add")
    yield Row("overhead: torch.add, least of the bursts", add["min_ns"], "ns", peer, "timeit's least, same call")
