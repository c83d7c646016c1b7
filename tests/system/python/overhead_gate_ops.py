# SPDX-License-Identifier: Apache-2.0
"""Ops for the gate's tests, in Python: GATE_SLOW_OP names the one that does GATE_SLOW_PERCENT more of its work."""

import os

SLOW = os.environ.get("GATE_SLOW_OP", "")
PERCENT = int(os.environ.get("GATE_SLOW_PERCENT", "30"))


def amount(name, work):
    return work + work * PERCENT // 100 if name == SLOW else work


def add(numbers):
    total = 0
    for number in numbers:
        total += number
    return total


def join(words):
    return ",".join([word.upper() for word in words])


def look_up(table, keys):
    return [table[key] for key in keys]


OPS = [
    {"name": "py.add", "call": add, "inputs": lambda: (tuple(range(amount("py.add", 100))),)},
    {"name": "py.join", "call": join, "inputs": lambda: (["word"] * amount("py.join", 100),)},
    {
        "name": "py.look_up",
        "call": look_up,
        "inputs": lambda: ({i: i for i in range(100)}, [i % 100 for i in range(amount("py.look_up", 100))]),
    },
    {"name": "py.sort", "call": sorted, "inputs": lambda: (list(range(amount("py.sort", 200))),)},
]
