# SPDX-License-Identifier: Apache-2.0
"""python3 -m opscope as a command line: what its options may look like, where its traces go, and which signals reach
the program. On the first interpreter of the build."""

import os
import shlex
import signal
import subprocess
import unittest

import harness
from test_python import PACKAGE, interpreters

WAITS = """
import os, signal, sys, time
def note(number, frame):
    os.write(1, b"signal %d\\n" % number)  # print could be interrupted by itself: still inside that of "ready"
    sys.exit(5)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, note)
print("ready", flush=True)
while True:
    time.sleep(0.05)  # signal.pause would wait for ever for a signal that came just before it
"""


class Runner(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not interpreters():
            self.skipTest("the build has no Python extension: no Python 3.9 or later with its headers was found")
        self.python = interpreters()[0]
        self.env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        self.write("show.py", "import sys\nprint(sys.argv[1:])\n")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def profile(self, *words, **options):
        return self.run_command([self.python, "-m", "opscope", *words], env=self.env, **options)

    def files(self, folder=""):
        return sorted(os.listdir(self.path(folder)))

    def test_forms_of_options(self):
        for words in (
            ["-pl", "show.py", "-p", "--", "x"],
            ["-m", "-p", "-v", "show", "-p", "--", "x"],
            ["-pm", "show", "-p", "--", "x"],
            ["-mshow", "-p", "--", "x"],
            ["-m", "show -p", "--", "x"],
            ["-m", "show -p -- x"],
            ["show.py -p", "--", "x"],
            ["-t", "5000", "--no-dev", "--output=out", "--", "show.py", "-p", "--", "x"],
        ):
            done = self.profile(*words)
            self.assertEqual((done.status, done.stdout), (0, "['-p', '--', 'x']\n"), done)
        self.assertEqual(self.files("out"), ["show.opscope"])
        done = self.profile("-m", "show 'a b")
        self.assertEqual((done.status, done.stdout), (2, ""), done)
        self.assertEqual(done.stderr, "opscope: show 'a b: No closing quotation (python3 -m opscope --help)\n")
        self.assertEqual(self.profile("--version").stdout, self.opscope("--version").stdout)
        self.write("with space.py", "print('here')")
        self.assertEqual(self.profile("-q", "with space.py").stdout, "here\n")
        done = self.profile("--dis", "show.py")
        self.assertEqual(done.status, 2)
        self.assertIn("--disable-device-data-dump-to-files or --disable-device-data-push-to-tracy", done.stderr)

    def test_no_trace_is_overwritten(self):
        self.write("show_c.ops.csv", "of somebody")  # the op table goes beside the trace
        for words in (["-r"], ["-r"], [], ["-r", "-n", "a/b"], ["-r", "-n", "a/b"], ["-r", "-n", "c"]):
            self.assert_status(self.profile(*words, "show.py"))
        expected = ["show.2.opscope", "show.3.opscope", "show.opscope", "show_a_b.2.opscope", "show_a_b.opscope",
                    "show_c.2.opscope"]
        self.assertEqual([name for name in self.files() if name.endswith(".opscope")], expected)

    def test_a_program_on_standard_input(self):
        done = self.profile("-q", "-o", "out", "-", "a", stdin=b"import sys; print(sys.argv)")
        self.assertEqual((done.status, done.stdout), (0, "['-', 'a']\n"), done)
        self.assertEqual(self.files("out"), ["python.opscope"])

    def test_the_next_command_can_be_copied(self):
        for name in ("plain.opscope", "with space.opscope", "it's \u00fc $HOME.opscope"):
            done = self.profile("-o", name, "show.py")
            command = done.stderr.rsplit("next: ", 1)[1]
            self.assertEqual(shlex.split(command), ["opscope", "zones", name])
            self.assertIn("next: opscope zones --source ", self.profile("-l", "-o", name, "show.py").stderr)
            self.assert_status(self.run_command(["/bin/sh", "-c", command.replace("opscope", harness.OPSCOPE, 1)]))

    def test_a_folder_that_cannot_be_made(self):
        done = self.profile("-o", "show.py/x", "show.py")
        self.assertEqual((done.status, done.stdout), (125, ""), done)
        self.assertEqual(done.stderr, "opscope: -o show.py/x: Not a directory\n")

    def test_options_that_a_run_going_on_cannot_follow(self):
        inner = [self.python, "-m", "opscope", "-r", "-o", "out", "show.py"]
        done = self.opscope("run", "-q", "-o", "t.opscope", "--", *inner, env=self.env)
        self.assertEqual((done.status, done.stdout), (0, "[]\n"), done)
        self.assertEqual(done.stderr, "opscope: -o, -r: without effect, as this joins a run that is going on\n")

    def names(self, trace):
        return {row["name"] for row in self.opscope_json("zones", trace)["rows"]}

    def test_the_start_of_the_interpreter_is_not_shown(self):
        self.write("usercustomize.py", "")
        trace = self.record([self.python, "show.py"])
        self.assertFalse({"execusercustomize", "import usercustomize"} & self.names(trace))

    def test_filters_are_for_imports_too(self):
        os.makedirs(self.path("mine"))
        for name in ("mine/__init__.py", "mine/one.py", "other.py"):
            self.write(name, "def work(): pass\nwork()\n")
        self.write("program.py", "import mine.one, other\n")
        for words, expected in (
            (["--python-include", "mine"], {"import mine.one", "import mine", "<module>", "work"}),
            (["--python-include", "mine/"], {"<module>", "work"}),
            (["--python-include", "mine", "--python-exclude", "mine.*"], {"import mine", "<module>", "work"}),
            (["--python-include", "__main__", "--python-include", "other"], {"<module>", "import other", "work"}),
        ):
            self.assertEqual(self.names(self.record([self.python, "program.py"], *words)), expected, words)
        everything = self.names(self.record([self.python, "program.py"], "--python-exclude", "mine"))
        self.assertIn("import other", everything)
        self.assertNotIn("import mine", everything)

    def test_why_there_are_no_zones(self):
        for words, reason in (
            ([self.python, "-I", "show.py"], "python -I ignores its environment"),
            ([self.python, "-W", "ignore", "-BE", "show.py"], "python -E ignores its environment"),
            ([self.python, "-S", "show.py"], "python -S runs without its site module"),
            (["--python-partial", self.python, "show.py", "-I"], "only while an opscope.Profiler is enabled"),
            (["--python-start-signpost", "x", self.python, "show.py"], "from a signpost on"),
            (["--python-include", "nothing", self.python, "show.py"], "has no code that --include matches"),
            (["--python-trace", "off", self.python, "show.py"], "(--python-trace off), and marked up nothing"),
            (["/bin/true"], "no process called the opscope library"),
        ):
            done = self.opscope("run", "-o", self.path("t.opscope"), *words)
            self.assert_status(done)
            self.assertIn("nothing was recorded: ", done.stderr)
            self.assertIn(reason, done.stderr)
        code = "import opscope; opscope.message('x')"
        done = self.opscope("run", "-o", self.path("t.opscope"), "--python-partial", self.python, "-c", code)
        self.assertIn("opscope: no zones: the program was to record only while", done.stderr)

    def test_a_marker_called_opscope(self):
        """An argument of the program's that looks like our own command does not keep it from being recorded."""
        trace = self.record([self.python, "show.py", "-m", "opscope"])
        names = [row["name"] for row in self.opscope_json("zones", trace)["rows"]]
        self.assertIn("<module>", names)

    def test_a_program_that_writes_to_nobody(self):
        """Ends by SIGPIPE as it does without us, which the interpreter ignores for itself."""
        for flags in ([], ["-r"]):
            command = [self.python, "-m", "opscope", "-q", *flags, "/bin/sh", "-c", "kill -PIPE $$; echo lived"]
            done = self.run_command(command, env=self.env)
            self.assertEqual((done.status, done.stdout), (-signal.SIGPIPE, ""), done)

    def test_signals_reach_the_program(self):
        self.write("waits.py", WAITS)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for flags in ([], ["-r"], ["--per-test", "tests"]):
                command = [self.python, "-m", "opscope", "-q", *flags, "waits.py"]
                process = self.start(command, env=self.env, stderr=subprocess.DEVNULL)
                self.assertEqual(process.stdout.readline(), b"ready\n")
                process.send_signal(number)
                self.assertEqual(process.stdout.read(), b"signal %d\n" % number)
                self.assertEqual(process.wait(60), 5)


if __name__ == "__main__":
    unittest.main()
