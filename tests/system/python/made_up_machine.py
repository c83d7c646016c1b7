#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A machine of made-up speed and load, for the tests of the gate: `opscope overhead --python THIS --ops made_up.py`.

Stands in for the interpreter that runs the worker, speaks its protocol (src/measure/worker.h) and answers with times
that are computed instead of measured, so that what the gate makes of a busy machine can be tested on a machine that is
as busy as it likes. A time is what the op's work takes, a little more or less in each process (code and data lie
elsewhere), a little more in each repeat, and far more in the share of repeats that GATE_LOAD says: something else ran.

    GATE_LOAD       share of disturbed repeats, from 0 (default) to 1
    GATE_SPEED      how many times as long everything takes here (1)
    GATE_SLOW_OP    does GATE_SLOW_PERCENT (30) more of its work
    GATE_FAIL_OP    cannot be called; GATE_HIDE_OP is not there
    GATE_SEED       of the random numbers (1); a file in the working folder counts the processes
"""

import json
import os
import random
import sys

OPS = {  # what a call takes, in ns
    "gate.add": 1400.0,
    "gate.allocate": 1100.0,
    "gate.branch": 1900.0,
    "gate.copy": 2400.0,
    "gate.long": 900000.0,
    "gate.multiply": 1300.0,
    "gate.print": 1700.0,
}
CALIBRATION = {"integer": 1000.0, "memory": 2100.0, "throughput": 700.0, "allocate": 1500.0}
LOOP_NS = 2.5
LAYOUT, JITTER = 0.002, 0.004


def process_number(path="made_up_processes"):
    """How many were started in this folder before."""
    with open(path, "a+", encoding="ascii") as file:
        file.write("x")
        return file.tell()


class Machine:
    def __init__(self):
        read = os.environ.get
        self.load, self.speed = float(read("GATE_LOAD", "0")), float(read("GATE_SPEED", "1"))
        self.fails = read("GATE_FAIL_OP", "")
        self.random = random.Random(int(read("GATE_SEED", "1")) * 1000 + process_number())
        self.works = {name: ns for name, ns in OPS.items() if name != read("GATE_HIDE_OP", "")}
        if read("GATE_SLOW_OP", "") in self.works:
            self.works[read("GATE_SLOW_OP")] *= 1 + int(read("GATE_SLOW_PERCENT", "30")) / 100
        self.works.update(("calibration." + name, ns) for name, ns in CALIBRATION.items())
        for name in self.works:
            self.works[name] *= self.speed * (1 + self.random.uniform(-LAYOUT, LAYOUT))

    def list(self):
        names = [{"name": name, "group": "work", "reason": None} for name in self.works]
        about = {"provider": "made up", "version": "1", "description": "", "interpreter": sys.argv[0]}
        return {**about, "pid": os.getpid(), "tid": os.getpid(), "loop_ns": LOOP_NS, "ops": names}

    def repeat_ns(self, op):
        ns = self.works[op] * (1 + self.random.expovariate(1 / JITTER))
        return LOOP_NS + (ns * self.random.uniform(1.05, 3) if self.random.random() < self.load else ns)

    def measure(self, question):
        op = question["op"]
        times = [self.repeat_ns(op) for _ in range(question["repeats"])]
        error = "No such device" if op == self.fails else None
        answer = {"op": op, "dispatch_ns": times, "total_ns": [ns * 1.25 for ns in times], "windows": []}
        return {**answer, "error": error, "left_out": None, "is_memory": False, "is_early": False, "slow_ns": 0}


def main():
    read_fd, write_fd = (int(number) for number in sys.argv[sys.argv.index("--fds") + 1].split(","))
    machine = Machine()
    with os.fdopen(read_fd, "r", encoding="utf-8") as questions, os.fdopen(write_fd, "w", encoding="utf-8") as answers:
        for line in questions:
            question = json.loads(line)
            if question["do"] == "quit":
                return
            answer = machine.list() if question["do"] == "list" else machine.measure(question)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
