# SPDX-License-Identifier: Apache-2.0
"""`make test-long`: parts of CPython's own test suite pass under opscope as they do without, on every interpreter that
has the suite. Modules that test the hooks themselves (test_monitoring) are left out: there is one hook more."""

import os
import re
import unittest

import harness
from test_python import interpreters

MODULES = """test_generators test_coroutines test_exceptions test_descr test_gc test_sys_setprofile test_sys_settrace
    test_pickle test_contextlib test_yield_from test_raise test_with test_threading test_runpy test_atexit
    test_cprofile""".split()
LIMIT_S = 900


class PythonSuite(harness.TestCase):
    @unittest.skipUnless(harness.REPEAT > 1, "takes minutes: make test-long runs it")
    def test_passes_as_without_a_profiler(self):
        ran = 0
        for python in interpreters():
            if self.run_command([python, "-c", "import test.test_generators"]).status != 0:
                continue
            ran += 1
            with self.subTest(python=python):
                os.makedirs(self.path("work"), exist_ok=True)
                suite = [python, "-m", "test", *MODULES]
                plain = self.run_command(suite, timeout=LIMIT_S, cwd=self.path("work"))
                run = ["run", "-q", "-o", self.path("t.opscope"), "--"]
                traced = self.opscope(*run, *suite, timeout=LIMIT_S, cwd=self.path("work"))
                self.assertEqual(traced.status, plain.status, traced)
                self.assertEqual(self.failed(traced), self.failed(plain))
        if not ran:
            self.skipTest("no interpreter has its test suite (Debian: libpython3-testsuite)")

    def failed(self, done):
        """Names of the modules that did not pass."""
        text = done.stdout + done.stderr
        return sorted(set(re.findall(r"^test (test_\w+) (?:failed|crashed)", text, re.M)))


if __name__ == "__main__":
    unittest.main()
