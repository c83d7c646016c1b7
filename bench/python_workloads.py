# SPDX-License-Identifier: Apache-2.0
"""What bench/suite_python.py runs: python_workloads.py fib|mixed|numpy|many [cprofile]. Prints "seconds SECONDS s", the
best of several rounds, so that start-up and the import of the profiler do not count."""

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
    import numpy

    a = numpy.ones((64, 64), dtype=numpy.float32)

    def step(x):
        return numpy.tanh(x @ a) / 64

    x = a
    for _ in range(3000):
        x = step(x)


def many():
    for _ in range(100):
        fib(18)
    for _ in range(30):
        fib(22)


# Short rounds, many of them: the best one met a quiet moment of the machine.
WORK = {"fib": (lambda: fib(21), 150), "mixed": (mixed, 25), "numpy": (numpy_loop, 9), "many": (many, 1)}

if __name__ == "__main__":
    work, rounds = WORK[sys.argv[1]]
    if sys.argv[2:] == ["cprofile"]:
        import cProfile

        cProfile.Profile().enable()
    best = None
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        elapsed = time.perf_counter() - begin
        best = elapsed if best is None or elapsed < best else best
    print("seconds %.9f s" % best)
