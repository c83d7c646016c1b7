# SPDX-License-Identifier: Apache-2.0
"""Ops for the tests of `opscope overhead --ops FILE.py`: some that work, and one for each way to misbehave."""

import ctypes
import os
import threading
import time

__version__ = "3.4"
pending = []
kept = []
released = threading.Event()
begun = waiting = 0.0


def synchronize():
    """Takes as long again as the calls of early() did, however busy the machine is."""
    global waiting
    if pending:
        waiting = time.monotonic() - begun + 0.001
        released.set()
    while pending:
        pending.pop().join()


def add(a, b, *, scale=1):
    return [x + y * scale for x, y in zip(a, b)]


def raises():
    raise ValueError("no such mode\nand a second line")


def leaves():
    raise SystemExit(3)


def hangs():
    time.sleep(3600)


def slow():
    time.sleep(0.1)


def crashes():
    ctypes.string_at(8)


def greedy():
    kept.append(bytearray(64 << 20))


def work_on():
    released.wait()
    time.sleep(waiting)


def early():
    global begun
    if not pending:
        released.clear()
        begun = time.monotonic()
    thread = threading.Thread(target=work_on)
    thread.start()
    pending.append(thread)


def prints():
    os.write(1, b"an op that prints\n")


def spin():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass


def starts_and_forgets():
    if threading.active_count() < 2:
        threading.Thread(target=spin, daemon=True).start()


OPS = [
    {"name": "good.add", "group": "good", "call": add, "inputs": lambda: ([1] * 8, [2] * 8), "kwargs": {"scale": 3}},
    {"name": "good.len", "group": "good", "call": len, "inputs": ("abc",)},
    {"name": "good.prints", "group": "loud", "call": prints},
    {"name": "bad.raises", "group": "bad", "call": raises},
    {"name": "bad.leaves", "group": "bad", "call": leaves},
    {"name": "bad.hangs", "group": "bad", "call": hangs},
    {"name": "slow.sleep", "group": "slow", "call": slow},
    {"name": "bad.crashes", "group": "bad", "call": crashes},
    {"name": "bad.greedy", "group": "bad", "call": greedy},
    {"name": "async.early", "group": "async", "call": early},
    {"name": "async.forgets", "group": "async", "call": starts_and_forgets, "synchronize": None},
    {"name": "left.out", "group": "left", "reason": "needs a device"},
]
