# SPDX-License-Identifier: Apache-2.0
"""What bench/suite_python.py runs: python_workloads.py fib|mixed|numpy|ccalls|many [tool [seconds [cpu]]]. Prints
"seconds SECONDS s", the best of the rounds that fit into this many seconds (two at least), so that start-up and the import
of a profiler do not count.

The tool is what watches the work from inside this process: floor-calls, floor-lines, floor-lines-only (python_floor.c),
cprofile, viztracer, or plain: nothing, or opscope from outside. The process keeps to the CPU that is named; a collector
has the others."""

import os
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Shape:
    def __init__(self, width, height):
        self.width, self.height = width, height

    def area(self):
        return self.width * self.height


def words_of(text):
    return [word.strip(".,").lower() for word in text.split()]


def mixed():
    """Text, dictionaries, sorting, objects: a call of a Python function about every microsecond."""
    text = "the quick brown fox jumps over the lazy dog. " * 20
    for i in range(300):
        counts = {}
        for word in words_of(text):
            counts[word] = counts.get(word, 0) + 1
        shapes = [Shape(j, i) for j in range(20)]
        sorted(counts.items(), key=lambda item: -item[1])
        sum(shape.area() for shape in shapes)
        ",".join("%d:%s" % (n, word) for word, n in counts.items())
        sorted(range(200), reverse=True)


def numpy_loop():
    """Small arrays, small functions: a call of a Python function about every two microseconds."""
    import numpy

    def normalise(x):
        return x / x.sum()

    def step(x):
        return normalise(numpy.tanh(x) + 0.5)

    x = numpy.linspace(0, 1, 256, dtype=numpy.float32)
    for _ in range(5000):
        x = step(x)


def c_calls():
    """A call of a C function about every 30 ns, and hardly one of a Python function."""
    items, table, text = [], {}, "abc"
    for i in range(40000):
        items.append(i)
        table.get(text)
        len(items)
        abs(i)
        text.upper()


def many():
    for _ in range(100):
        fib(18)
    for _ in range(30):
        fib(22)


WORK = {"fib": lambda: fib(27), "mixed": mixed, "numpy": numpy_loop, "ccalls": c_calls, "many": many}
FEWEST_ROUNDS = 2


def start(tool):
    """Returns what has to live as long as the work."""
    if tool == "cprofile":
        import cProfile

        profile = cProfile.Profile()
        profile.enable()
        return profile
    if tool == "viztracer":
        from viztracer import VizTracer

        tracer = VizTracer(verbose=0)
        tracer.start()
        return tracer
    if tool.startswith("floor-"):
        import python_floor

        getattr(python_floor, "start_" + tool[len("floor-") :].replace("-", "_"))()
        return python_floor
    return None


if __name__ == "__main__":
    work = WORK[sys.argv[1]]
    tool = sys.argv[2] if len(sys.argv) > 2 else "plain"
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    if len(sys.argv) > 4:
        os.sched_setaffinity(0, {int(sys.argv[4])})
    watcher = start(tool)
    best, spent, rounds = None, 0, 0
    while rounds < FEWEST_ROUNDS or spent < seconds:
        begin = time.perf_counter()
        work()
        elapsed = time.perf_counter() - begin
        best = elapsed if best is None or elapsed < best else best
        spent += elapsed
        rounds += 1
        if work is many:
            break
    if tool.startswith("floor-") and watcher.count() == 0:
        sys.exit("the floor's hook saw nothing")
    print("seconds %.9f s" % best)
