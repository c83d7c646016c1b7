# SPDX-License-Identifier: Apache-2.0
"""CPython's own test suite passes under opscope as it does without: each test of each module ends the same way. Runs on
every interpreter of the build that has its suite (Debian: libpython3-testsuite); `make test` takes a few modules,
`make test-long` all that cpython_suite.py names."""

import unittest

import cpython_suite
import harness
from test_python import interpreters

IS_LONG = harness.REPEAT > 1


class Cases:
    """Mixed into a test case for each interpreter, which is self.python; has a test for each module."""

    python = ""

    def compare(self, module):
        plain, traced, found = cpython_suite.lasting_differences(self.python, module, self.folder, "calls")
        if plain.is_absent:
            self.skipTest(f"{self.python} has no {module}")
        text = "\n".join(f"{name}: {before} -> {after}\n{detail}" for name, before, after, detail in found)
        self.assertEqual(found, [], f"\n{self.python}, {module}: untraced -> under opscope\n{text}")
        self.assertGreater(len(plain.tests), 0, plain.text)
        self.assertGreater(traced.zones, 0, "nothing was recorded")


def add_test(cases, module):
    cases["test_" + module.replace("test_", "").replace(".", "_")] = lambda self: self.compare(module)


def load_tests(loader, tests, pattern):
    """One class of cases an interpreter; a skipped one when no interpreter has its suite."""
    suite = unittest.TestSuite()
    found = []
    for path in interpreters():
        done = harness.run([path, "-c", "import sys, test.test_generators; print('%d.%d.%d' % sys.version_info[:3])"])
        if done.status == 0:
            found.append((tuple(int(part) for part in done.stdout.split(".")), path))
    for version, path in found:
        modules = cpython_suite.MODULES if IS_LONG else cpython_suite.QUICK
        if IS_LONG and path in (found[0][1], max(found)[1]):
            modules = modules + cpython_suite.SLOW
        cases = {"python": path}
        for module in modules:
            if module != "test_monitoring" or version >= (3, 12):
                add_test(cases, module)
        name = "Python%d_%d_%d" % version
        globals()[name] = type(name, (Cases, harness.TestCase), cases)
        suite.addTests(loader.loadTestsFromTestCase(globals()[name]))
    if not found:
        suite.addTests(loader.loadTestsFromTestCase(NoSuite))
    return suite


class NoSuite(unittest.TestCase):
    @unittest.skip("no interpreter of the build has its test suite (Debian: libpython3-testsuite)")
    def test_suite(self):
        pass


if __name__ == "__main__":
    unittest.main()
