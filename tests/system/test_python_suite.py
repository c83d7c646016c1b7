# SPDX-License-Identifier: Apache-2.0
"""CPython's own test suite passes under opscope as it does without: each test of each module ends the same way. Runs on
every interpreter of the build that has its suite (Debian: libpython3.11-testsuite); `make test` takes a few modules,
`make test-long` all that cpython_suite.py names, on two of the interpreters."""

import unittest

import cpython_suite
import harness
from test_python import interpreters

IS_LONG = harness.REPEAT > 1


class Cases:
    """Mixed into a test case for each interpreter, which is self.python; has a test for each module."""

    python = ""

    def compare(self, module):
        done = cpython_suite.Comparison(self.python, module, self.folder, "calls")
        print(f"{self.python} {module}: {done.text()}", flush=True)
        rows = "\n".join(f"{name}: {before} -> {after}\n{detail}" for name, before, after, detail in done.found)
        self.assertEqual(done.found, [], f"\n{self.python}, {module}: untraced -> under opscope\n{rows}")
        self.assertGreater(len(done.plain.tests), 0, done.plain.text)
        self.assertGreater(done.traced.zones, 0, "nothing was recorded")


def add_test(cases, module, is_there):
    def test(self):
        if not is_there:
            self.skipTest(f"{self.python} comes without {module}")
        self.compare(module)

    cases["test_" + module.replace("test_", "").replace(".", "_")] = test


def whole_suite(found):
    """The newest interpreter, and Debian's or else the oldest: more can be compared by hand (cpython_suite.py)."""
    ordered = [path for _, path in sorted(found)]
    return {ordered[-1], "/usr/bin/python3" if "/usr/bin/python3" in ordered else ordered[0]} if ordered else set()


def load_tests(loader, tests, pattern):
    """One class of cases an interpreter; a skipped one when no interpreter has its suite."""
    suite = unittest.TestSuite()
    found = []
    for path in interpreters():
        done = harness.run([path, "-c", "import sys, test.test_generators; print('%d.%d.%d' % sys.version_info[:3])"])
        if done.status == 0:
            found.append((tuple(int(part) for part in done.stdout.split(".")), path))
    whole = whole_suite(found) if IS_LONG else set()
    for version, path in found:
        modules = cpython_suite.MODULES + cpython_suite.SLOW if path in whole else cpython_suite.QUICK
        modules = [module for module in modules if module != "test_monitoring" or version >= (3, 12)]
        there = cpython_suite.present(path, modules)
        cases = {"python": path}
        for module in modules:
            add_test(cases, module, module in there)
        name = "Python%d_%d_%d" % version
        globals()[name] = type(name, (Cases, harness.TestCase), cases)
        suite.addTests(loader.loadTestsFromTestCase(globals()[name]))
    if not found:
        suite.addTests(loader.loadTestsFromTestCase(NoSuite))
    return suite


class NoSuite(unittest.TestCase):
    @unittest.skip("no interpreter of the build has its test suite (Debian: libpython3.11-testsuite)")
    def test_suite(self):
        pass


if __name__ == "__main__":
    unittest.main()
