# SPDX-License-Identifier: Apache-2.0
"""Runs one file of system tests in a process of its own: unittest_child.py FILE RESULTS [PATTERN].

What a person would want to read goes to standard output; RESULTS gets one JSON object per test, written as it
ends, so that the tests before a crash still count.
"""

import importlib.util
import json
import os
import sys
import time
import unittest


class Recorder(unittest.TestResult):
    def __init__(self, path):
        super().__init__()
        self.file = open(path, "w", encoding="utf-8")
        self.begin = time.monotonic()

    def write(self, test, status, detail="", text=""):
        name = short_name(test.id())
        seconds = time.monotonic() - self.begin
        record = {"name": name, "status": status, "detail": detail, "seconds": seconds, "text": text}
        self.file.write(json.dumps(record) + "\n")
        self.file.flush()
        print(f"{status}: {name} {seconds:.2f} s {detail}", flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.begin = time.monotonic()
        print(f"begin: {test.id()}", flush=True)

    def addSuccess(self, test):
        self.write(test, "passed")

    def fail(self, test, error):
        text = self._exc_info_to_string(error, test)
        print(text, flush=True)
        last = [line for line in str(error[1]).splitlines() if line.strip()]
        self.write(test, "failed", (last[0] if last else error[0].__name__)[:200], text[-8000:])

    def addFailure(self, test, err):
        self.fail(test, err)

    def addError(self, test, err):
        self.fail(test, err)

    def addSkip(self, test, reason):
        self.write(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.write(test, "failed", "a test that is expected to fail proves nothing")

    def addUnexpectedSuccess(self, test):
        self.write(test, "failed", "a test that is expected to fail proves nothing")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.fail(subtest, err)


def short_name(identity):
    """"test_file.Class.test" without the file; "setUpClass (test_file.Class)" stands for a whole class."""
    if " (" in identity and identity.startswith(("setUp", "tearDown")):
        what, _, where = identity.rstrip(")").partition(" (")
        return f"{where.split('.', 1)[-1]}.{what}"
    return identity.split(".", 1)[-1]


def main():
    path, results = sys.argv[1:3]
    pattern = sys.argv[3] if len(sys.argv) > 3 else ""
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    chosen = unittest.TestSuite(test for test in flatten(suite) if pattern in test.id())
    chosen.run(Recorder(results))


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


if __name__ == "__main__":
    main()
