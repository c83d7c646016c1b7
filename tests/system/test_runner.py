# SPDX-License-Identifier: Apache-2.0
"""What tests/run.py is made of: how results are counted, which expectations may be rewritten, what runs beside what."""

import importlib.util
import os
import sys
import types
import unittest

import harness

TESTS = os.path.join(harness.SOURCE, "tests")
sys.path.insert(0, TESTS)

from support import cmocka, golden  # noqa: E402
from support.report import FAILED, PASSED, SKIPPED, Step  # noqa: E402

XML = """<?xml version="1.0" encoding="UTF-8" ?>
<testsuites>
  <testsuite name="tests" time="0.1" tests="4" failures="1" errors="0" skipped="2" >
    <testcase name="good" time="0.0" >
    </testcase>
    <testcase name="bad" time="0.0" >
      <failure><![CDATA[1 != 2
x.c:5: error: Failure!]]></failure>
    </testcase>
    <testcase name="first" time="0.0" >
      <skipped/>
    </testcase>
    <testcase name="second" time="0.0" >
      <skipped/>
    </testcase>
  </testsuite>
</testsuites>
"""


def results(step):
    return [(result.name.partition("/")[2], result.status, result.detail) for result in step.results]


class Runner(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.step = Step("step", "a step")

    def write(self, name, text, mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()


class Cases(Runner):
    """A cmocka program stands here as a shell script."""

    def run_program(self, script):
        program = self.write("bin/test_x", "#!/bin/sh\n" + script, 0o755)
        cmocka.run_one(self.step, "unit/test_x", [program], 600, self.path("logs", "x.log"), dict(os.environ))
        return results(self.step)

    def test_each_case_counts(self):
        self.write("x.xml", XML)
        script = f'echo "SKIP: no clock"; cat {self.path("x.xml")} > "$CMOCKA_XML_FILE"; echo "SKIP: no net"; exit 1\n'
        expected = [
            ("test_x.good", PASSED, ""),
            ("test_x.bad", FAILED, "1 != 2"),
            ("test_x.first", SKIPPED, "no clock"),
            ("test_x.second", SKIPPED, "no net"),
        ]
        self.assertEqual(self.run_program(script), expected)

    def test_a_program_that_dies_or_runs_nothing(self):
        self.assertEqual(self.run_program("kill -SEGV $$\n"), [("test_x", FAILED, "killed by SIGSEGV")])
        self.step.results.clear()
        self.assertEqual(self.run_program("exit 0\n"), [("test_x", FAILED, "ran no case")])
        self.step.results.clear()
        self.assertEqual(self.run_program('echo "<x>" > "$CMOCKA_XML_FILE"\n')[0][1], FAILED)
        self.step.results.clear()
        good = XML.replace("failure>", "system-out>").replace("<failure", "<system-out")
        self.write("x.xml", good)
        found = self.run_program(f'cat {self.path("x.xml")} > "$CMOCKA_XML_FILE"; exit 3\n')
        self.assertEqual(found[-1], ("test_x", FAILED, "exit status 3"))


class Golden(Runner):
    def case(self, name, origin):
        folder = f"tests/golden/{name}/"
        self.write(folder + "cmd", "echo new\n")
        self.write(folder + "stdout", "old\n")
        if origin:
            self.write(folder + "origin", origin + "\n")

    def run_golden(self, update):
        os.makedirs(self.path("logs"), exist_ok=True)
        context = types.SimpleNamespace(
            source=self.folder, build=harness.BUILD, logs=self.path("logs"), env=dict(os.environ)
        )
        self.step.results.clear()
        golden.run_golden(self.step, context, update)
        return {name: (status, detail) for name, status, detail in results(self.step)}

    def test_only_our_own_expectations_are_rewritten(self):
        self.case("ours", "opscope")
        self.case("theirs", "another tool 1.2")
        self.case("unknown", None)
        found = self.run_golden(update=False)
        self.assertEqual({name: status for name, (status, _) in found.items()}, dict.fromkeys(found, FAILED))
        found = self.run_golden(update=True)
        self.assertEqual(found["ours"], (PASSED, ""))
        self.assertEqual(found["theirs"], (FAILED, "not updated: the expectation was written by another tool 1.2"))
        self.assertEqual(found["unknown"][0], FAILED)
        written = {name: self.read(f"tests/golden/{name}/stdout") for name in found}
        self.assertEqual(written, {"ours": "new\n", "theirs": "old\n", "unknown": "old\n"})


TEST_FILE = """
import os, time, unittest
{marker}
class Case(unittest.TestCase):
    def test_it(self):
        folder = {folder!r}
        open(os.path.join(folder, {name!r} + ".begun"), "w").close()
        for name in {waits_for!r}:
            end = time.monotonic() + 300
            while not os.path.exists(os.path.join(folder, name)):
                self.assertLess(time.monotonic(), end, name)
                time.sleep(0.01)
        for name in {expects!r}:
            self.assertTrue(os.path.exists(os.path.join(folder, name)), name)
        open(os.path.join(folder, {name!r} + ".ended"), "w").close()
"""


class Parallel(Runner):
    def system_file(self, name, marker="", waits_for=(), expects=()):
        text = TEST_FILE.format(marker=marker, folder=self.folder, name=name, waits_for=waits_for, expects=expects)
        return self.write(f"system/test_{name}.py", text)

    def test_two_at_a_time_and_the_quiet_ones_alone(self):
        spec = importlib.util.spec_from_file_location("opscope_tests_run", os.path.join(TESTS, "run.py"))
        runner = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(runner)
        paths = [
            self.system_file("alone", 'NEEDS_QUIET = "why"', expects=("one.ended", "two.ended")),
            self.system_file("one", waits_for=("two.begun",)),
            self.system_file("two", waits_for=("one.begun",)),
        ]
        context = types.SimpleNamespace(
            build=harness.BUILD, logs=self.path("logs"), jobs=2, long=False, match="", env=dict(os.environ)
        )
        os.mkdir(self.path("logs"))
        runner.run_system_files(self.step, context, paths, harness.BUILD)
        found = {name: status for name, status, _ in results(self.step)}
        expected = {f"test_{name}.Case.test_it": PASSED for name in ("one", "two", "alone")}
        self.assertEqual(found, expected, results(self.step))


if __name__ == "__main__":
    unittest.main()
