# SPDX-License-Identifier: Apache-2.0
"""Stands on PYTHONPATH when CPython's own tests are run with a tool that does nothing (cpython_suite.py): in them and in
the processes that they start, a sys.monitoring tool gets the events that opscope gets. What differs under
it, too, is CPython's doing.

The callback is a type, which takes two to four arguments and runs no Python code that a trace function could see."""

import os
import sys

sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(__file__)]


def start(monitoring, words):
    names = ["PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND"]
    names += ["LINE"] * ("lines" in words) + ["CALL"] * ("c-calls" in words)
    monitoring.use_tool_id(4, "bare")
    for name in names + ["C_RETURN", "C_RAISE"] * ("c-calls" in words):
        monitoring.register_callback(4, getattr(monitoring.events, name), property)
    monitoring.set_events(4, sum(getattr(monitoring.events, name) for name in names))


start(sys.monitoring, os.environ.get("OPSCOPE_PYTHON_TRACE", "").split(","))
