# SPDX-License-Identifier: Apache-2.0
"""A training loop in plain Python, with everything that opscope.* offers.

    opscope run python3 examples/python/train.py
    opscope tree train.opscope

Run it without opscope and it does the same; `import opscope` then needs the package on the path."""

import random

try:
    import opscope
except ImportError:  # runs without a profiler, too
    opscope = None


class Matrix:
    """What an op needs to know of a tensor: shape and dtype."""

    dtype = "float64"

    def __init__(self, rows):
        self.rows = rows
        self.shape = (len(rows), len(rows[0]))

    @classmethod
    def random(cls, height, width, seed):
        values = random.Random(seed)
        return cls([[values.random() for _ in range(width)] for _ in range(height)])


def multiply(a, b):
    columns = list(zip(*b.rows))
    return Matrix([[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a.rows])


def forward(batch, weights):
    if opscope is None:
        return multiply(batch, weights)
    with opscope.op("matmul", inputs=[batch, weights], attributes={"transpose": False}) as call:
        result = multiply(batch, weights)
        call.output(result)
    return result


def loss_of(result):
    return sum(sum(row) for row in result.rows) / (result.shape[0] * result.shape[1])


def load(step):
    return Matrix.random(8, 16, step)


def train(steps=10):
    weights = Matrix.random(16, 16, 99)
    loss = 0.0
    for step in range(steps):
        loss = loss_of(forward(load(step), weights))
        if opscope is not None:
            opscope.counter("loss", loss)
            opscope.frame("step")
    return loss


if __name__ == "__main__":
    if opscope is not None:
        opscope.signpost("start", "10 steps")
    print("loss %.6f" % train())
    if opscope is not None:
        opscope.signpost("stop")
