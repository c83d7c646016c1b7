# SPDX-License-Identifier: Apache-2.0
"""A few tests of a tiny model, to be looked at with opscope.

    python3 -m opscope -o tests.opscope -m pytest examples/python/pytest_session
    opscope zones --by-test tests.opscope

    python3 -m opscope -p -o tests.opscope -m pytest examples/python/pytest_session
    opscope tree tests.opscope                 # calls of test_profiled alone"""

import pytest


def multiply(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def forward(batch, weights, layers):
    for _ in range(layers):
        batch = multiply(batch, weights)
    return batch


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_shape(batch, weights, layers):
    result = forward(batch, weights, layers)
    assert (len(result), len(result[0])) == (8, 40)


def test_identity(batch):
    identity = [[float(i == j) for j in range(40)] for i in range(40)]
    assert multiply(batch, identity) == batch


@pytest.mark.xfail(reason="grows without a bound")
def test_stays_small(batch, weights):
    assert max(map(max, forward(batch, weights, 3))) < 1.0


@pytest.mark.skip(reason="shows a test that does not run")
def test_not_run():
    pass


def test_profiled(batch, weights, opscope_profile):
    """With -p, the calls of this test alone are recorded."""
    assert forward(batch, weights, 1)
