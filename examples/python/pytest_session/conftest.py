# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the example: each has a zone, and so has the code after a yield."""

import random

import pytest


@pytest.fixture(scope="session")
def weights():
    """Made once: its time is in the setup of the first test that uses it."""
    values = random.Random(5)
    return [[values.random() for _ in range(40)] for _ in range(40)]


@pytest.fixture
def batch(request):
    values = random.Random(request.node.name)
    yield [[values.random() for _ in range(40)] for _ in range(8)]
