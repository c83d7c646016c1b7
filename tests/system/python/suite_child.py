# SPDX-License-Identifier: Apache-2.0
"""Runs modules of CPython's own test suite and notes what became of each test:

    suite_child.py RESULTS [regrtest words]

regrtest itself runs them (`python3 -m test`), with its preparations and checks; only the class that collects results
writes a line for each test as it begins and ends, so that a crash shows which test it was in, and a test that fails in
a sub-test still has its name (regrtest's own XML drops it). RESULTS gets JSON: {"begin": NAME} or {"test": NAME,
"outcome": WORD, "detail": TEXT}.

Imports nothing before the tests that the interpreter would not import anyway: tests look at sys.modules."""

import os
import runpy
import signal
import sys


def quoted(text):
    """A JSON text, without the json module."""
    plain = "".join(c if " " <= c <= "~" and c not in '"\\' else "\\u%04x" % min(ord(c), 0xFFFF) for c in text)
    return '"' + plain + '"'


def note_outcomes(result_class, path):
    """Makes a unittest result class write to path. A child that a test forks has another process id and writes nothing."""
    pid = os.getpid()

    def write(text):
        if os.getpid() == pid:
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            os.write(descriptor, text.encode("ascii") + b"\n")
            os.close(descriptor)

    def name_of(test):
        return test.id() if callable(getattr(test, "id", None)) else str(test)

    def note(test, outcome, detail=""):
        write('{"test": %s, "outcome": "%s", "detail": %s}' % (quoted(name_of(test)), outcome, quoted(detail[-2000:])))

    def wrap(method, outcome):
        inherited = getattr(result_class, method)

        def add(self, test, *rest):
            detail = ""
            if outcome in ("failed", "error"):
                detail = self._exc_info_to_string(rest[0], test)
            elif outcome == "skipped":
                detail = rest[0]
            note(test, outcome, str(detail))
            return inherited(self, test, *rest)

        setattr(result_class, method, add)

    for method, outcome in (
        ("addSuccess", "passed"),
        ("addFailure", "failed"),
        ("addError", "error"),
        ("addSkip", "skipped"),
        ("addExpectedFailure", "failed as expected"),
        ("addUnexpectedSuccess", "passed unexpectedly"),
    ):
        wrap(method, outcome)
    add_sub_test, start_test = result_class.addSubTest, result_class.startTest

    def noting_sub_test(self, test, subtest, error):
        if error is not None:
            note(test, "failed", self._exc_info_to_string(error, test))
        return add_sub_test(self, test, subtest, error)

    def noting_start(self, test):
        write('{"begin": %s}' % quoted(name_of(test)))
        return start_test(self, test)

    result_class.addSubTest, result_class.startTest = noting_sub_test, noting_start


def make_room_in_monitoring_tests():
    """test_monitoring takes the tool ids 2, 3 and 4 and wants no other tool to be active at all. Under a profiler it gets
    ids that are free, and does not see the profiler where it looks for active tools. The events that its own tools get must
    be the same as ever."""
    import test.test_monitoring as tests

    taken = [tool for tool in range(6) if sys.monitoring.get_tool(tool)]
    if not taken:
        return
    names = ("TEST_TOOL", "TEST_TOOL2", "TEST_TOOL3")
    free = [tool for tool in (2, 3, 4, 5, 1, 0) if tool not in taken]
    for name, tool in zip(names, free):
        setattr(tests, name, tool)
    get_events, all_events = sys.monitoring.get_events, sys.monitoring._all_events
    own_bits = sum(1 << tool for tool in taken)
    sys.monitoring.get_events = lambda tool: 0 if tool in taken else get_events(tool)
    sys.monitoring._all_events = lambda: {
        name: tools & ~own_bits for name, tools in all_events().items() if tools & ~own_bits
    }


if __name__ == "__main__":
    try:
        from test.libregrtest import testresult
    except ImportError:  # before 3.13
        from test.support import testresult

    note_outcomes(testresult.RegressionTestResult, os.path.abspath(sys.argv[1]))
    sys.argv[1:] = sys.argv[2:]
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # started in the background: tests interrupt themselves
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "test_monitoring" in sys.argv[1:] and hasattr(sys, "monitoring"):
        make_room_in_monitoring_tests()
    sys.path[0] = os.getcwd()  # as `python3 -m test` has it
    runpy.run_module("test", run_name="__main__", alter_sys=True)
