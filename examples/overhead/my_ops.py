# SPDX-License-Identifier: Apache-2.0
"""Ops of your own for `opscope overhead --ops my_ops.py`: what an interface of yours costs its callers.

Here it is a work queue: submit() hands a job to a thread and returns, synchronize() waits for all jobs. So the time of
the call is the dispatch, and the work shows only with synchronisation."""

import queue
import threading
import zlib

jobs = queue.Queue()


def work():
    while True:
        function, data = jobs.get()
        function(data)
        jobs.task_done()


threading.Thread(target=work, daemon=True).start()


def submit(function, data):
    jobs.put((function, data))


def synchronize():
    jobs.join()


OPS = [
    {"name": "queue.crc", "group": "queue", "call": submit, "inputs": lambda: (zlib.crc32, bytes(100_000))},
    {"name": "queue.nothing", "group": "queue", "call": submit, "inputs": (len, b"")},
    {"name": "direct.crc", "group": "direct", "call": zlib.crc32, "inputs": lambda: (bytes(100_000),)},
]
