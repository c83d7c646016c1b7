# SPDX-License-Identifier: Apache-2.0
"""opscope overhead: how long a measurement of 100 torch ops takes, what the calling loop costs, and whether the times
are those that timeit finds for the same calls in a process of its own. And how sure the gate is on this machine: how
many unchanged ops it calls slower under a load on every CPU, and how many ops that do 30 % more work it finds."""

import json
import os
import shutil
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


def gate(bench, *words, **env):
    library = os.path.join(bench.build, "tests", "programs", "overhead_gate_plugin.so")
    command = [bench.opscope, "overhead", "-q", "--ops", library, "--check", bench.path("gate.csv"), *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **env}, check=False)
    if done.returncode not in (0, 1):
        raise Skip(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-200:]}")
    return done.stdout.decode()


def slower(bench, **env):
    found = json.loads(gate(bench, "--json", **env))
    return [row["op"] for row in found["rows"] if row["verdict"] == "slower"]


def gate_rows(bench):
    gate(bench, "--update")
    load = [subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) for cpu in os.sched_getaffinity(0)]
    try:
        checks = 3 if bench.quick else 5
        wrong = sum(len(slower(bench)) for _ in range(checks))
    finally:
        for process in load:
            process.kill()
            process.wait()
    yield Row(f"gate: unchanged ops called slower in {checks} checks under load", wrong, "ops", limit=0, limit_text="none")
    ops = ("gate.add", "gate.branch", "gate.copy", "gate.multiply", "gate.print")
    gate(bench, "--update")
    found = [slower(bench, GATE_SLOW_OP=op) for op in ops]
    right = sum(names == [op] for op, names in zip(ops, found))
    yield Row("gate: ops that do 30 % more work, named alone", right, f"of {len(ops)}")
    yield Row("gate: others called slower beside them", sum(len(set(names) - {op}) for op, names in zip(ops, found)), "ops",
              limit=0, limit_text="none")


def rows(bench):
    library = os.path.join(bench.build, "tests", "programs", "overhead_ops_plugin.so")
    if os.path.exists(library):
        command = [bench.opscope, "overhead", "--ops", library, "--op", "good.plain", "--json"]
        _, text = wall(command)
        yield Row("overhead: calling loop, C", json.loads(text)["loop_ns"], "ns a call")
    if os.path.exists(library) and shutil.which("taskset"):
        yield from gate_rows(bench)
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
