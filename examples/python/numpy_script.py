# SPDX-License-Identifier: Apache-2.0
"""A NumPy script: which function takes the time, and which of its lines.

    opscope run python3 examples/python/numpy_script.py
    opscope zones numpy_script.opscope

    python3 -m opscope -p -l -o lines.opscope examples/python/numpy_script.py
    opscope zones --source lines.opscope

With -p only what lies between enable() and disable() is recorded: enable around the call, not inside the function,
which would then not be in the trace itself."""

import numpy

try:
    from opscope import Profiler
except ImportError:  # runs without opscope, too
    from contextlib import nullcontext as Profiler


def load(rows, columns):
    return numpy.random.default_rng(7).random((rows, columns))


def normalise(points):
    mean = points.mean(axis=0)
    spread = points.std(axis=0)
    return (points - mean) / spread


def nearest(points):
    """The index of each point's nearest neighbour."""
    squares = (points**2).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * points @ points.T
    numpy.fill_diagonal(distances, numpy.inf)
    return distances.argmin(axis=1)


def mutual(points):
    """How many points are their nearest neighbour's nearest neighbour."""
    found = nearest(normalise(points))
    count = 0
    for i, other in enumerate(found):
        if found[other] == i:
            count += 1
    return count


def main():
    points = load(600, 24)
    with Profiler():  # around the call
        count = mutual(points)
    print("%d of %d points are mutual neighbours" % (count, len(points)))


if __name__ == "__main__":
    main()
