# SPDX-License-Identifier: Apache-2.0
"""pytest sessions under opscope: zones of tests, phases and fixtures, and that pytest does as without. On each
interpreter that the build has an extension for and that has pytest."""

import os
import re
import shutil
import unittest

import harness
from test_python import PACKAGE, interpreters

SESSION = '''
import os

import pytest

@pytest.fixture
def number():
    yield 3

@pytest.fixture(scope="module")
def broken():
    raise ValueError("no such thing")

def square(n):
    return n * n

def test_ok(number):
    assert square(number) == 9

def test_bad():
    values = {"four": square(2)}
    assert values["four"] == 5, "arithmetic"

@pytest.mark.parametrize("n", [1, 2])
def test_many(n, number):
    with pytest.raises(ZeroDivisionError):
        square(n) / 0

@pytest.mark.skip(reason="later")
def test_skipped():
    pass

@pytest.mark.xfail
def test_expected():
    assert square(1) == 2

@pytest.mark.xfail
def test_unexpected():
    assert square(1) == 1

def test_error(broken):
    pass

def test_quiet(capfd):
    print("captured")
    assert capfd.readouterr().out == "captured\\n"

def test_environment():
    assert "PYTEST_PLUGINS" not in os.environ
'''
OUTCOMES = {
    "test_s.py::test_ok": "passed",
    "test_s.py::test_bad": "failed",
    "test_s.py::test_many[1]": "passed",
    "test_s.py::test_many[2]": "passed",
    "test_s.py::test_skipped": "skipped",
    "test_s.py::test_expected": "xfailed",
    "test_s.py::test_unexpected": "xpassed",
    "test_s.py::test_error": "error",
    "test_s.py::test_quiet": "passed",
    "test_s.py::test_environment": "passed",
}
PLAIN = ["-p", "no:cacheprovider"]


def has_module(python, name):
    return harness.run([python, "-c", "import " + name]).status == 0


def without_times(text):
    return re.sub(r"in [0-9.]+s", "in T", re.sub(r"0x[0-9a-f]+", "0xADDRESS", text))


class Cases:
    python = ""

    def setUp(self):
        super().setUp()
        with open(self.path("test_s.py"), "w", encoding="utf-8") as file:
            file.write(SESSION)
        self.trace = self.path("t.opscope")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def plain(self, *words):
        return self.run_command([self.python, "-m", "pytest", *PLAIN, *words])

    def run_pytest(self, *words, **options):
        return self.opscope("run", "-q", "-o", self.trace, self.python, "-m", "pytest", *PLAIN, *words, **options)

    def module(self, *words, **options):
        """python3 -m opscope ..., with the package on the path."""
        env = dict(options.pop("env", {}), PYTHONPATH=os.path.dirname(PACKAGE))
        return self.run_command([self.python, "-m", "opscope", "-q", "-o", self.trace, *words], env=env, **options)

    def by_test(self, trace=None):
        return {row["name"]: row for row in self.opscope_json("zones", "--by-test", trace or self.trace)["rows"]}

    def rows(self, *words):
        return self.opscope_json("zones", "--by", "location", *words, self.trace)["rows"]

    def nodes(self):
        """{("outer", "inner"): count} of the call tree."""
        above, found = {}, {}
        for row in self.opscope_json("tree", "--min-percent", "0", self.trace)["rows"]:
            above[row["node"]] = above.get(row["parent"], ()) + (row["name"],)
            found[above[row["node"]]] = found.get(above[row["node"]], 0) + row["count"]
        return found

    # --- what is recorded ---

    def test_each_test_and_phase(self):
        done = self.run_pytest("test_s.py")
        self.assert_status(done, 1)
        tests = self.by_test()
        self.assertEqual({name: row["outcome"] for name, row in tests.items()}, OUTCOMES)
        ok = tests["test_s.py::test_ok"]
        line = SESSION.split("\n").index("def test_ok(number):") + 1
        self.assertEqual((ok["file"], ok["line"]), (self.path("test_s.py"), line))
        for name, row in tests.items():
            self.assertLessEqual((row["setup_ns"] or 0) + (row["call_ns"] or 0), row["total_ns"], name)
            has_call = OUTCOMES[name] not in ("skipped", "error")
            self.assertEqual(row["call_ns"] is not None, has_call, name)
        info = self.opscope_json("info", self.trace)
        self.assertEqual((info["open_zones"], info["lost_zones"]), ([], 0))
        words = self.opscope("zones", "--by-test", self.trace).stdout
        self.assertIn("10 tests: 5 passed, 1 failed, 1 error, 1 skipped, 1 xfailed, 1 xpassed", words)
        fixtures = {row["name"] for row in self.rows("-n", "fixture *")}
        self.assertIn("fixture number", fixtures)
        self.assertNotIn("fixture n", fixtures)  # an argument of parametrize

    def test_managers_of_no_session_are_left_alone(self):
        """As pytest's own tests make them: what they load is what PYTEST_PLUGINS says."""
        with open(self.path("test_manager.py"), "w", encoding="utf-8") as file:
            file.write(
                "from _pytest.config import PytestPluginManager\n"
                "def test_it():\n"
                "    manager = PytestPluginManager()\n"
                "    before = len(manager.get_plugins())\n"
                "    manager.consider_env()\n"
                "    assert len(manager.get_plugins()) == before\n"
            )
        self.assertEqual(self.run_pytest("test_manager.py").status, 0)

    def test_tests_lie_right_in_their_zones(self):
        self.run_pytest("test_s.py")
        inner = [path for path in self.nodes() if path[-1] in ("test_ok", "square", "number")]
        tails = {path[path.index("test_s.py::test_ok") :] for path in inner if "test_s.py::test_ok" in path}
        self.assertEqual(
            tails,
            {
                ("test_s.py::test_ok", "test_s.py::test_ok call", "test_ok"),
                ("test_s.py::test_ok", "test_s.py::test_ok call", "test_ok", "square"),
                ("test_s.py::test_ok", "test_s.py::test_ok setup", "fixture number", "number"),
                ("test_s.py::test_ok", "test_s.py::test_ok teardown", "fixture number teardown", "number"),
            },
        )
        # A fixture of pytest's own, such as capfd, has a zone as well.
        own = [row for row in self.rows() if not row["function"].startswith("pytest ")]
        shown = [row["file"] for row in own if re.search("/(_pytest|pluggy)/", row["file"] or "")]
        self.assertEqual(shown, [])
        places = {row["name"]: row["line"] for row in self.rows("-n", "fixture *")}
        self.assertEqual(places["fixture number"], SESSION.split("\n").index("def number():"))  # of its decorator

    def test_the_next_command_is_for_tests(self):
        command = ["run", "-o", self.trace, "--", self.python, "-m", "pytest", *PLAIN, "test_s.py"]
        self.assertIn("next: opscope zones --by-test %s\n" % self.trace, self.opscope(*command).stderr)

    def test_frames_of_the_framework_where_asked(self):
        self.assert_status(self.module("--framework", "-m", "pytest", *PLAIN, "test_s.py", "-k", "ok"))
        self.assertTrue([row for row in self.rows() if "/_pytest/" in (row["file"] or "")])
        self.assertEqual(self.by_test()["test_s.py::test_ok"]["outcome"], "passed")

    def test_lines_of_tests(self):
        self.assert_status(self.module("-l", "-m", "pytest", *PLAIN, "test_s.py", "-k", "ok or quiet"))
        lines = SESSION.split("\n")
        found = {row["line"]: row for row in self.opscope_json("zones", "--source", self.trace)["rows"]}
        line = lines.index("    assert square(number) == 9") + 1
        self.assertEqual((found[line]["hits"], found[line]["source"]), (1, lines[line - 1]))
        self.assertEqual(self.by_test()["test_s.py::test_ok"]["outcome"], "passed")

    def test_partial_around_one_test(self):
        self.write(
            "test_p.py",
            "def work(): pass\ndef other(): pass\n"
            "def test_before(): other()\n"
            "def test_one(opscope_profile): work()\n"
            "def test_two(tracy_profile): work()\n"
            "def test_after(): other()\n",
        )
        self.assert_status(self.module("-p", "-m", "pytest", *PLAIN, "test_p.py"))
        counts = {row["name"]: row["count"] for row in self.rows()}
        self.assertEqual((counts.get("work"), counts.get("other")), (2, None))
        self.assertEqual((counts.get("test_one"), counts.get("test_before")), (1, None))
        self.assertEqual(len(self.by_test()), 4)

    def test_a_test_that_never_ends(self):
        self.write("test_d.py", "import os\ndef test_dies():\n    os._exit(7)\n")
        self.assert_status(self.run_pytest("test_d.py"), 7)
        row = self.by_test()["test_d.py::test_dies"]
        self.assertEqual((row["outcome"], row["call_ns"]), ("not ended", None))

    def test_a_test_that_is_run_twice_in_one_trace(self):
        twice = "%s -m pytest -q test_s.py -k ok; %s -m pytest -q test_s.py -k ok" % (self.python, self.python)
        self.opscope("run", "-q", "-o", self.trace, "sh", "-c", twice)
        rows = self.opscope_json("zones", "--by-test", self.trace)["rows"]
        self.assertEqual([row["name"] for row in rows], ["test_s.py::test_ok"] * 2)
        self.assertEqual(len({row["pid"] for row in rows}), 2)

    # --- a trace for each test ---

    def traces(self, folder):
        return sorted(name for name in os.listdir(self.path(folder)) if not name.startswith("."))

    def check_split(self, folder):
        names = self.traces(folder)
        self.assertEqual(len(names), len(OUTCOMES) + 1, names)
        self.assertIn("test_s.py..test_many_1_.opscope", names)
        part = self.path(folder, "test_s.py..test_ok.opscope")
        self.assertEqual(list(self.by_test(part)), ["test_s.py::test_ok"])
        whole = self.by_test(self.path(folder, "session.opscope"))["test_s.py::test_ok"]
        for key in ("outcome", "setup_ns", "call_ns", "teardown_ns", "total_ns", "file", "line"):
            self.assertEqual(self.by_test(part)["test_s.py::test_ok"][key], whole[key])
        info = self.opscope_json("info", part)
        self.assertEqual((info["command"], info["lost_zones"]), ("test_s.py::test_ok", 0))
        rows = self.opscope_json("tree", "--min-percent", "0", part)["rows"]
        self.assertEqual([row["name"] for row in rows][0], "test_s.py::test_ok")

    def test_per_test(self):
        self.assert_status(self.module("--per-test", "each", "-m", "pytest", *PLAIN, "test_s.py"), 1)
        self.check_split("each")

    def test_per_test_inside_a_run(self):
        self.assert_status(self.run_pytest("test_s.py", "--opscope-per-test", "each"), 1)
        self.check_split("each")

    def per_test(self, *words):
        """A session of its own, into the folder "each"; what lies there afterwards."""
        done = self.module("--per-test", "each", "-m", "pytest", *PLAIN, "test_s.py", *words)
        return done, self.traces("each")

    def test_per_test_removes_the_traces_of_an_earlier_session(self):
        self.per_test("-k", "many or quiet")
        self.write(os.path.join("each", "notes.txt"), "x")
        done, names = self.per_test("-k", "ok")
        self.assert_status(done)
        self.assertEqual(names, ["notes.txt", "session.opscope", "test_s.py..test_ok.opscope"])

    def test_per_test_leaves_what_no_earlier_session_wrote(self):
        self.record(["true"])
        os.makedirs(self.path("each", "other.opscope.partial"))
        os.symlink(self.trace, self.path("each", "link.opscope"))
        self.write(os.path.join("each", "notes.opscope"), "x")
        shutil.copy(self.trace, self.path("each", "mine.opscope"))
        kept = ["link.opscope", "mine.opscope", "notes.opscope", "other.opscope.partial"]
        done, names = self.per_test("-k", "no_test_has_this_name")
        self.assert_status(done, 5)
        self.assertEqual(names, sorted([*kept, "session.opscope"]))
        self.per_test("-k", "ok or quiet")
        # What took the place of a test's trace is nobody's to remove.
        os.replace(self.trace, self.path("each", "test_s.py..test_ok.opscope"))
        os.remove(self.path("each", "test_s.py..test_quiet.opscope"))
        os.symlink("mine.opscope", self.path("each", "test_s.py..test_quiet.opscope"))
        done, names = self.per_test("-k", "no_test_has_this_name")
        own = ["session.opscope", "test_s.py..test_ok.opscope", "test_s.py..test_quiet.opscope"]
        self.assertEqual(names, sorted(kept + own))

    def test_per_test_does_not_replace_a_session_that_is_no_trace(self):
        os.mkdir(self.path("each"))
        self.write(os.path.join("each", "session.opscope"), "precious")
        done, names = self.per_test("-k", "ok")
        self.assert_status(done, 125)
        self.assertIn("is there already, and is not a trace", done.stderr)
        self.assertEqual(names, ["session.opscope"])
        with open(self.path("each", "session.opscope"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")

    def test_per_test_without_a_test(self):
        self.write("plain.py", "print('done')\n")
        done = self.module("--per-test", "each", "plain.py")
        self.assert_status(done)
        self.assertIn("no test of pytest ran", done.stderr)
        self.assertNotIn("a trace for each test is in", done.stderr)
        self.assertEqual(os.listdir(self.path("each")), ["session.opscope"])

    def test_a_split_does_not_replace_what_it_reads(self):
        self.assert_status(self.run_pytest("test_s.py", "-k", "ok or quiet"), 0)
        os.mkdir(self.path("each"))
        for name in ("test_s.py..test_ok.opscope", "test_s.py..test_quiet.opscope"):
            with self.subTest(name=name):
                trace = self.path("each", name)
                os.rename(self.trace, trace)
                done = self.opscope("zones", "--by-test", "--split", "each", trace)
                self.assert_status(done, 2)
                self.assertIn("it is an input of this command", done.stderr)
                self.assertEqual(self.traces("each"), [name])
                self.assertEqual(len(self.by_test(trace)), 2)
                os.rename(trace, self.trace)

    def test_ids_that_are_no_file_names(self):
        self.write(
            "test_i.py",
            "import pytest\n@pytest.mark.parametrize('p', ['a/b', 'a:b', 'ü', 'x' * 300, '\\ud800'])\n"
            "def test_p(p): pass\n",
        )
        self.assert_status(self.module("--per-test", "each", "-m", "pytest", *PLAIN, "test_i.py"))
        self.assertEqual(len(self.traces("each")), 6)

    # --- pytest does as without ---

    def same(self, status, *words):
        plain = self.plain(*words)
        self.assert_status(plain, status)
        done = self.run_pytest(*words)
        self.assertEqual((done.status, without_times(done.stdout)), (status, without_times(plain.stdout)), done)
        done = self.module("-m", "pytest", *PLAIN, *words)
        self.assertEqual((done.status, without_times(done.stdout)), (status, without_times(plain.stdout)), done)

    def test_output_and_exit_codes(self):
        self.write("test_import.py", "import no_such_module\n")
        self.write("test_stop.py", "import pytest\ndef test_stop():\n    pytest.exit('enough', returncode=3)\n")
        self.same(0, "test_s.py", "-k", "ok or many", "-v")
        self.same(1, "test_s.py", "-rA")
        self.same(2, "test_import.py")
        self.same(3, "test_stop.py")
        self.same(4, "test_s.py", "--no-such-option")
        self.same(5, "test_s.py", "-k", "nothing")

    def test_selection_in_one_string(self):
        self.assert_status(self.module("-m", "pytest %s test_s.py -k 'many and not bad'" % " ".join(PLAIN)))
        self.assertEqual(set(self.by_test()), {"test_s.py::test_many[1]", "test_s.py::test_many[2]"})
        self.assert_status(self.module("-m", "pytest", *PLAIN, "test_s.py::test_many[2]"))
        self.assertEqual(set(self.by_test()), {"test_s.py::test_many[2]"})

    def test_turned_off(self):
        self.assert_status(self.run_pytest("-p", "no:opscope", "test_s.py", "-k", "ok"))
        self.assertEqual(self.by_test(), {})
        words = self.opscope("zones", "--by-test", self.trace).stdout
        self.assertIn("no tests in this trace", words)

    def test_a_program_that_calls_pytest_itself(self):
        self.write("runner.py", "import sys, pytest\nsys.exit(pytest.main(['-q', 'test_s.py', '-k', 'ok or bad']))\n")
        done = self.opscope("run", "-q", "-o", self.trace, self.python, "runner.py")
        self.assert_status(done, 1)
        self.assertEqual(len(self.by_test()), 2)

    def test_without_recording_calls(self):
        done = self.opscope(
            "run", "-q", "--python-trace", "off", "-o", self.trace, self.python, "-m", "pytest", *PLAIN, "test_s.py"
        )
        self.assert_status(done, 1)
        self.assertEqual({name: row["outcome"] for name, row in self.by_test().items()}, OUTCOMES)
        self.assertEqual([row for row in self.rows() if row["name"] == "square"], [])

    def test_pytest_starts_the_run_itself(self):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        command = [self.python, "-m", "pytest", *PLAIN, "-p", "opscope.pytest_plugin", "test_s.py"]
        plain = self.run_command(command, env=env)
        done = self.run_command([*command, "--opscope", "--opscope-output", self.trace], env=env)
        self.assertEqual((done.status, without_times(done.stdout)), (1, without_times(plain.stdout)), done)
        self.assertEqual({name: row["outcome"] for name, row in self.by_test().items()}, OUTCOMES)
        self.assertEqual(without_times(plain.stdout), without_times(self.plain("test_s.py").stdout))
        for _ in range(2):
            self.run_command([*command, "--opscope"], env=env)
        traces = sorted(name for name in os.listdir(self.path()) if name.startswith("pytest"))
        self.assertEqual(traces, ["pytest.2.opscope", "pytest.opscope"])

    def test_a_package_without_the_program(self):
        """The session is begun again once, says that nothing is recorded, and runs."""
        shutil.copytree(PACKAGE, self.path("alone", "opscope"), ignore=shutil.ignore_patterns("*.so"))
        env = {"PYTHONPATH": self.path("alone"), "PATH": "/usr/bin:/bin"}
        words = ["-p", "opscope.pytest_plugin", "--opscope", "test_s.py", "-k", "ok"]
        done = self.run_command([self.python, "-m", "pytest", *PLAIN, *words], env=env)
        self.assert_status(done)
        self.assertIn("nothing is recorded: the opscope program is neither beside the package", done.stderr)
        self.assertIn("1 passed", done.stdout)

    def test_the_wheel_registers_the_plugin(self):
        venv = self.path("venv")
        if self.run_command([self.python, "-m", "venv", "--system-site-packages", venv]).status != 0:
            self.skipTest("%s cannot make a virtual environment (Debian: python3-venv)" % self.python)
        python = os.path.join(venv, "bin", "python")
        if not has_module(python, "pytest"):
            self.skipTest("%s has pytest in a virtual environment of its own" % self.python)
        pip = [python, "-m", "pip", "install", "--no-index", "--no-deps", "--no-cache-dir"]
        env = {"OPSCOPE_WHEEL_BUILD": harness.BUILD, "PIP_FIND_LINKS": ""}
        self.assert_status(self.run_command([*pip, os.path.join(harness.SOURCE, "python")], env=env))
        command = [python, "-m", "pytest", *PLAIN, "test_s.py"]
        done = self.run_command([*command, "--opscope", "--opscope-output", self.trace])
        self.assert_status(done, 1)
        self.assertEqual({name: row["outcome"] for name, row in self.by_test().items()}, OUTCOMES)
        # In a run the plugin comes from two sides and must be registered once.
        done = self.run_command([os.path.join(venv, "bin", "opscope"), "run", "-q", "-o", self.trace, *command])
        self.assert_status(done, 1)
        self.assertEqual(len(self.by_test()), len(OUTCOMES))

    # --- workers ---

    def test_workers_of_xdist(self):
        if not has_module(self.python, "xdist"):
            self.skipTest("%s has no xdist (Debian: python3-pytest-xdist)" % self.python)
        done = self.run_pytest("-n", "2", "test_s.py")
        self.assert_status(done, 1)
        tests = self.by_test()
        self.assertEqual({name: row["outcome"] for name, row in tests.items()}, OUTCOMES)
        self.assertLessEqual({row["thread"] for row in tests.values()}, {"pytest gw0", "pytest gw1"})
        names = [track["name"] for track in self.opscope_json("info", self.trace)["tracks"]]
        self.assertIn("pytest gw0", names)
        self.assertIn("pytest gw1", names)

    def test_workers_that_pytest_starts_in_its_own_run(self):
        if not has_module(self.python, "xdist"):
            self.skipTest("%s has no xdist (Debian: python3-pytest-xdist)" % self.python)
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        command = [self.python, "-m", "pytest", *PLAIN, "-p", "opscope.pytest_plugin", "-n", "2", "test_s.py"]
        done = self.run_command([*command, "--opscope-per-test", "each"], env=env)
        self.assert_status(done, 1)
        self.assertEqual(len(self.traces("each")), len(OUTCOMES) + 1)


class Refusals(harness.TestCase):
    """What needs no pytest."""

    def test_options_that_do_not_go_together(self):
        trace = self.record(["true"])
        for words in (["--by-test", "--source"], ["--split", "d"], ["--by-test", "--by", "thread"]):
            self.assert_status(self.opscope("zones", *words, trace), 2)
        self.assertIn("total or name", self.opscope("zones", "--by-test", "--sort", "p99", trace).stderr)

    def test_a_folder_that_cannot_be_written(self):
        trace = self.record(["true"])
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        done = self.opscope("zones", "--by-test", "--split", self.path("file", "sub"), trace)
        self.assert_status(done, 2)
        self.assertIn("file/sub", done.stderr)


class NoPytest(unittest.TestCase):
    @unittest.skip("no interpreter of the build has pytest (Debian: python3-pytest)")
    def test_pytest(self):
        pass


def load_tests(loader, tests, pattern):
    suite = loader.loadTestsFromTestCase(Refusals)
    found = [python for python in interpreters() if has_module(python, "pytest")]
    for path in found:
        text = harness.run([path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"]).stdout.strip()
        name = "Pytest" + text.replace(".", "_")
        made = type(name, (Cases, harness.TestCase), {"python": path})
        globals()[name] = made
        suite.addTests(loader.loadTestsFromTestCase(made))
    if not found:
        suite.addTests(loader.loadTestsFromTestCase(NoPytest))
    return suite


if __name__ == "__main__":
    unittest.main()
