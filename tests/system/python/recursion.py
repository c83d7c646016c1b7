# SPDX-License-Identifier: Apache-2.0
"""How deep a program can go: the result must not depend on the profiler."""

import sys
import threading


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


def reached():
    count = 0

    def further():
        nonlocal count
        count += 1
        further()

    try:
        further()
    except RecursionError:
        pass
    return count


print("to the limit", reached())
if sys.version_info >= (3, 11):  # before, each call takes C stack anyway
    sys.setrecursionlimit(200000)
    print("far beyond", deep(50000))
    sys.setrecursionlimit(1000)
    try:
        threading.stack_size(64 * 1024)
    except ValueError:  # debug builds from 3.14 on want more
        threading.stack_size(128 * 1024)
    thread = threading.Thread(target=lambda: print("small stack", deep(900)))
    thread.start()
    thread.join()
