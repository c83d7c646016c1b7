# SPDX-License-Identifier: Apache-2.0
"""Recording that a program starts itself, in a plain python3: opscope.record(), start() and stop(), and `opscope
collect`, which works for them. On each interpreter that the build has an extension for."""

import os
import shutil
import signal
import subprocess
import unittest

import harness
from test_python import PACKAGE, Tools, cases_of_each_python, interpreters

FIB = """
    import os, sys
    import opscope
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)
    """


class InsideTools(Tools):
    def program(self, text, *arguments, python=None, **options):
        """Runs it in a plain interpreter that can import the package."""
        env = dict(options.pop("env", {}), PYTHONPATH=os.path.dirname(PACKAGE))
        head = "\n".join(line[4:] for line in FIB.splitlines())
        path = self.path("program.py")
        body = "\n".join(line[8:] if line.startswith(" " * 8) else line for line in text.splitlines())
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + "\n" + body + "\n")
        return self.run_command([python or self.python, path, *arguments], env=env, **options)

    def count_of(self, trace, name):
        info = self.opscope_json("info", self.path(trace))
        self.assertEqual((info["lost_zones"], info["lost_records"]), (0, 0))
        rows = self.opscope_json("zones", "--by", "location", self.path(trace))["rows"]
        return sum(row["count"] for row in rows if row["name"].split(".")[-1] == name)

    def only(self, done, *names):
        """It ended well, said nothing of its own, and these are the traces that are there."""
        self.assertEqual((done.status, done.stderr), (0, ""), done)
        left = {name for name in os.listdir(self.folder) if ".opscope" in name}
        self.assertEqual(left, set(names), done)


class InsideCases(InsideTools):
    def test_a_with_block(self):
        done = self.program("""
        fib(5)
        with opscope.record("x.opscope") as recording:
            fib(10)
        fib(5)
        print(recording.path, recording.zones, recording.lost_zones, recording.processes, recording.threads)
        print(os.fspath(recording) == recording.path, recording.seconds > 0, opscope.is_recording())
        """)
        self.only(done, "x.opscope")
        self.assertEqual(done.stdout, "%s 177 0 1 1\nTrue True False\n" % self.path("x.opscope"))
        self.assertEqual(self.count_of("x.opscope", "fib"), 177)

    def test_several_one_after_another(self):
        done = self.program("""
        import threading
        asked, answered = threading.Semaphore(0), threading.Semaphore(0)
        def live_on():
            for _ in range(3):
                asked.acquire()
                fib(4)
                answered.release()
        thread = threading.Thread(target=live_on)
        thread.start()
        for number, name in enumerate(("a.opscope", "b.opscope", "c.opscope")):
            opscope.start(name)
            fib(5 + number)
            asked.release()
            answered.acquire()
            print(opscope.stop().zones >= 15 + 9)
            fib(3)
        thread.join()
        """)
        self.only(done, "a.opscope", "b.opscope", "c.opscope")
        self.assertEqual(done.stdout, "True\n" * 3)
        for name, calls in (("a.opscope", 15), ("b.opscope", 25), ("c.opscope", 41)):
            self.assertEqual(self.count_of(name, "fib"), calls + 9)

    def test_filters_are_those_of_one_recording(self):
        done = self.program("""
        import json
        def work():
            fib(5)
            json.dumps({"a": [1]}, indent=1)
        for name, options in (
            ("all", {}), ("none", {"exclude": "__main__"}), ("only", {"include": ["program.py"]}), ("again", {}),
            ("mine", {"mine": True}), ("flat", {"max_depth": 1}), ("lines", {"lines": True}), ("c", {"c_calls": True}),
        ):
            with opscope.record(name + ".opscope", **options):
                work()
        """)
        names = ("all", "none", "only", "again", "mine", "flat", "lines", "c")
        self.only(done, *(name + ".opscope" for name in names))
        counts = {name: self.count_of(name + ".opscope", "fib") for name in names}
        wanted = {"all": 15, "none": 0, "only": 15, "again": 15, "mine": 15, "flat": 0, "lines": 15, "c": 15}
        self.assertEqual(counts, wanted)
        dumps = {name: self.count_of(name + ".opscope", "dumps") for name in names}
        wanted = {"all": 1, "none": 1, "only": 0, "again": 1, "mine": 0, "flat": 0, "lines": 1, "c": 1}
        self.assertEqual(dumps, wanted)
        lines = [row["name"] for row in self.zones(self.path("lines.opscope"))]
        self.assertEqual(lines.count("fib:5"), 15)

    CUDA = """
        import ctypes
        driver = ctypes.CDLL(sys.argv[1])
        def launch(name):
            driver.standin_launch(name, 7)
            driver.standin_end(1)
        """

    def runs(self, trace):
        return [(row["name"], row["runs"], row["device_time_ns"]) for row in self.opscope_json("ops", self.path(trace))["rows"]]

    def test_cuda_that_is_in_use_already(self):
        """The driver has read its variable before: the adapter is started by us, once, and records into each trace."""
        standin = self.path("libcuda.so.1")
        shutil.copy(os.path.join(harness.PROGRAMS, "cupti_standin_plugin.so"), standin)
        done = self.program(self.CUDA + """
        launch(b"before")
        for i in range(2):
            with opscope.record("x%d.opscope" % i):
                print("CUDA_INJECTION64_PATH" in os.environ, end=" ")
                launch(b"in %d" % i)
            launch(b"between")
        with opscope.record("none.opscope", devices="none"):
            print("CUDA_INJECTION64_PATH" in os.environ, end=" ")
        print([name for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "OPENCL_LAYERS") if name in os.environ])
        """, standin, env={"OPSCOPE_CUPTI": standin})
        self.only(done, "x0.opscope", "x1.opscope", "none.opscope")
        self.assertEqual(done.stdout, "True True False []\n")
        self.assertEqual([self.runs("x%d.opscope" % i) for i in range(2)], [[("in 0", 1, 3000)], [("in 1", 1, 3000)]])

    def test_devices_of_children(self):
        done = self.program("""
        import subprocess
        os.environ["CUDA_INJECTION64_PATH"] = "/other/tool.so"
        with opscope.record("x.opscope"):
            subprocess.run([sys.argv[1], "nested"], check=True)
        print(os.environ["CUDA_INJECTION64_PATH"], os.environ.get("NVTX_INJECTION64_PATH"))
        with opscope.record("y.opscope", devices="cuda,tpu"):
            pass
        """, harness.program("nvtx_ranges"))
        self.assertEqual(done.stdout.splitlines()[-1], "/other/tool.so None")
        self.assertIn("CUDA_INJECTION64_PATH is set already (/other/tool.so): CUDA kernels are not recorded", done.stderr)
        self.assertIn("ValueError: devices: 'tpu' is not known; these are: auto, cuda, nvtx, opencl, none", done.stderr)
        self.assertEqual(self.count_of("x.opscope", "outer"), 3)

    def test_an_exception_and_a_missing_stop(self):
        done = self.program("""
        try:
            with opscope.record("raised.opscope"):
                fib(5)
                raise KeyError("mine")
        except KeyError:
            print("raised")
        opscope.start("at_exit.opscope")
        fib(6)
        """)
        self.only(done, "raised.opscope", "at_exit.opscope")
        self.assertEqual(done.stdout, "raised\n")
        self.assertEqual(self.count_of("raised.opscope", "fib"), 15)
        self.assertEqual(self.count_of("at_exit.opscope", "fib"), 25)

    def test_a_second_start_and_a_stop_too_many(self):
        done = self.program("""
        opscope.start("x.opscope")
        for again in (lambda: opscope.start("y.opscope"), opscope.record("z.opscope").__enter__):
            try:
                again()
            except RuntimeError as error:
                print(error)
        print(opscope.stop().path)
        try:
            opscope.stop()
        except RuntimeError as error:
            print(error)
        """)
        self.only(done, "x.opscope")
        path = self.path("x.opscope")
        again = "opscope is recording already, into %s: stop() ends that\n" % path
        self.assertEqual(done.stdout, 2 * again + path + "\nopscope is not recording: start() has not been called\n")

    def test_the_package_loaded_again(self):
        """Whatever was recorded before, or is just now: what is asked for afterwards is recorded."""
        done = self.program("""
        import importlib
        with opscope.record("a.opscope"):
            fib(4)
        importlib.reload(opscope)
        with opscope.record("b.opscope") as recording:
            fib(10)
            importlib.reload(opscope)
            fib(4)
        fib(10)
        with opscope.record("c.opscope"):
            fib(10)
        """)
        self.only(done, "a.opscope", "b.opscope", "c.opscope")
        self.assertEqual([self.count_of(name + ".opscope", "fib") for name in "abc"], [9, 186, 177])

    def test_it_is_no_decorator(self):
        done = self.program("""
        for decorate in (opscope.record, opscope.record("x.opscope"), opscope.record(mine=True)):
            try:
                decorate(fib)
            except TypeError as error:
                print(error)
        """)
        self.only(done)
        said = "opscope.record is not a decorator: `with opscope.record(...):` goes around the call of the function\n"
        self.assertEqual(done.stdout, said * 3)

    def test_a_collector_that_was_killed(self):
        done = self.program("""
        import signal
        from opscope import _record
        with opscope.record("x.opscope") as recording:
            fib(10)
            collector = _record.active.collector
            os.kill(collector.pid, signal.SIGKILL)
        print(recording.zones, collector.folder)
        with opscope.record("y.opscope"):
            fib(10)
        """)
        self.assert_status(done)
        zones, session = done.stdout.split()
        self.assertEqual(zones, "None")
        said = "opscope: the collector has ended before its time: %s is incomplete; `opscope recover %s` finishes it\n"
        self.assertEqual(done.stderr, said % (self.path("x.opscope"), session))
        self.assert_status(self.opscope("recover", session))
        self.assertEqual([self.count_of(name, "fib") for name in ("x.opscope", "y.opscope")], [177, 177])

    def test_children_are_recorded(self):
        done = self.program("""
        import subprocess
        before = dict(os.environ)
        with opscope.record("x.opscope") as recording:
            child = os.fork()
            if child == 0:
                fib(5)
                os._exit(0)
            os.waitpid(child, 0)
            child = subprocess.run([sys.executable, "-c", "def spawned(): pass\\nspawned()"])
        print(os.environ == before, recording.processes)
        try:
            os.wait()
        except ChildProcessError:
            print("no child of ours")
        """)
        self.only(done, "x.opscope")
        self.assertEqual(done.stdout, "True 3\nno child of ours\n")
        self.assertEqual(self.count_of("x.opscope", "fib"), 15)
        self.assertEqual(self.count_of("x.opscope", "spawned"), 1)

    def test_a_forked_child_ends_nothing(self):
        done = self.program("""
        with opscope.record("x.opscope"):
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                fib(7)
            else:
                fib(5)
        print("parent" if child else "child")
        """)
        self.only(done, "x.opscope")
        self.assertEqual(self.count_of("x.opscope", "fib"), 15 + 41)
        self.assertEqual(sorted(done.stdout.split()), ["child", "parent"])

    def test_inside_a_run(self):
        """It goes into the run's own trace; -p makes it a window."""
        text = """
        fib(5)
        with opscope.record("own.opscope") as recording:
            fib(10)
        print(recording.path)
        """
        self.program(text)
        os.unlink(self.path("own.opscope"))
        for flags, calls in (((), 15 + 177), (("--python-partial",), 177)):
            done = self.opscope("run", "-q", "-o", "run.opscope", *flags, "--", self.python, "program.py")
            self.assertEqual((done.status, done.stdout), (0, "None\n"), done)
            self.assertIn("being recorded already: no trace own.opscope of its own", done.stderr)
            self.assertFalse(os.path.exists(self.path("own.opscope")))
            self.assertEqual(self.count_of("run.opscope", "fib"), calls)

    def test_killed_while_recording(self):
        """The collector notices, and finishes the trace."""
        for ending in ("os.kill(os.getpid(), 9)", "os._exit(3)"):
            self.program("""
            opscope.start("x.opscope")
            fib(5)
            %s
            """.replace(" " * 12, "") % ending)
            harness.wait_until(lambda: os.path.exists(self.path("x.opscope")), "the trace")
            self.assertEqual(self.count_of("x.opscope", "fib"), 15)
            os.unlink(self.path("x.opscope"))

    def test_a_program_that_closes_everything(self):
        done = self.program("""
        opscope.start("x.opscope")
        fib(5)
        os.closerange(3, 256)
        fib(6)
        print(opscope.stop().path)
        """)
        self.only(done, "x.opscope")
        self.assertEqual(self.count_of("x.opscope", "fib"), 15 + 25)

    def test_signposts_and_profilers(self):
        done = self.program("""
        with opscope.record("window.opscope", start_signpost="go", stop_signpost="end"):
            fib(5)
            opscope.signpost("go")
            fib(6)
            opscope.signpost("end")
            fib(7)
        with opscope.record("partial.opscope", partial=True):
            fib(5)
            with opscope.Profiler():
                fib(6)
        with opscope.record("all.opscope"):
            fib(6)
        """)
        self.only(done, "window.opscope", "partial.opscope", "all.opscope")
        for name in ("window", "partial", "all"):
            self.assertEqual(self.count_of(name + ".opscope", "fib"), 25)


class Surroundings(InsideTools, harness.TestCase):
    """What does not depend on the interpreter."""

    def setUp(self):
        super().setUp()
        if not interpreters():
            self.skipTest("the build has no Python extension")
        self.python = interpreters()[0]

    def test_names_of_traces(self):
        done = self.program("""
        os.mkdir("folder")
        for name in ("x.json", "x.csv", "x.html", "folder", "new/", None, "plain", "v1.2"):
            try:
                with opscope.record(name) as recording:
                    fib(3)
                print(name, os.path.relpath(recording.path))
            except ValueError as error:
                print(error)
        """)
        self.assertEqual((done.status, done.stderr), (0, ""), done)
        lines = done.stdout.splitlines()
        self.assertIn("x.json: a trace is called NAME.opscope: x.opscope, then `opscope export --format chrome", lines[0])
        self.assertIn("x.csv: a trace is called NAME.opscope: x.opscope, then `opscope export --format csv", lines[1])
        self.assertEqual(lines[2], "x.html: a trace is called NAME.opscope: x.opscope")
        self.assertEqual(lines[3:], [
            "folder folder/program.opscope", "new/ new/program.opscope", "None program.opscope", "plain plain",
            "v1.2 v1.2",
        ])  # fmt: skip

    def test_wrong_options(self):
        done = self.program("""
        for options in ({"no_such": 1}, {"max_depth": 0}, {"on_full": "explode"}):
            try:
                opscope.start("x.opscope", **options)
            except (TypeError, ValueError, RuntimeError) as error:
                print(type(error).__name__, error)
        try:
            opscope.start("nowhere/x.opscope")
        except RuntimeError as error:
            print(error)
        with opscope.record("x.opscope"):
            fib(5)
        """)
        self.only(done, "x.opscope")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "TypeError opscope: no such option: no_such")
        self.assertEqual(lines[1], "ValueError max_depth takes a number from 1 on, not 0")
        self.assertRegex(lines[2], "RuntimeError opscope: .*on-full.*explode.*drop")
        self.assertRegex(lines[3], "opscope: .*nowhere/x.opscope.*No such file")

    def test_the_program_is_not_there(self):
        text = """
        try:
            opscope.start("x.opscope")
        except RuntimeError as error:
            print(error)
        """
        done = self.program(text, env={"OPSCOPE_BIN": "/nowhere/opscope"})
        self.only(done)
        self.assertRegex(done.stdout, "the opscope program is found neither beside the package nor on the PATH.*OPSCOPE_BIN")
        done = self.program("opscope.start('x.opscope'); fib(5)", env={"OPSCOPE_BIN": harness.OPSCOPE})
        self.only(done, "x.opscope")

    def test_no_process_and_no_session_is_left(self):
        done = self.program("""
        for _ in range(20):
            with opscope.record("x.opscope") as recording:
                fib(3)
        print(len(os.listdir("/proc/self/fd")))
        """)
        self.only(done, "x.opscope")
        self.assertLess(int(done.stdout), 10)
        self.assertEqual(os.listdir(harness.environment()["OPSCOPE_DIR"]), [])

    def test_collect_by_itself(self):
        """For programs that something else starts."""
        command = [harness.OPSCOPE, "collect", "-o", self.path("t.opscope")]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=harness.environment()
        )
        self.addCleanup(process.kill)
        session = process.stdout.readline().decode().strip()
        self.assertRegex(session, r"^OPSCOPE_SESSION=/.*:[0-9a-f]{16}$")
        env = {"OPSCOPE_SESSION": session.partition("=")[2], "OPSCOPE_PYTHON_TRACE": "calls"}
        env["PYTHONPATH"] = os.path.realpath(os.path.join(PACKAGE, "_boot"))
        for _ in range(2):
            done = self.run_command([self.python, "-c", "def called(): pass\ncalled()"], env=env)
            self.assertEqual((done.status, done.stderr), (0, ""), done)
        out, err = process.communicate(b"stop\n", timeout=harness.TIMEOUT_S)
        self.assertEqual(process.returncode, 0, err)
        self.assertRegex(err, rb"^opscope: wrote \S+: \d+ zones, 2 processes, ")
        self.assertEqual(self.count_of("t.opscope", "called"), 2)

    def test_collect_stops_at_a_signal_and_at_the_end_of_its_input(self):
        for number in (signal.SIGTERM, signal.SIGINT, None):
            process = subprocess.Popen(
                [harness.OPSCOPE, "collect", "-q", "--json", "-o", self.path("t.opscope")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=harness.environment(),
            )  # fmt: skip
            self.addCleanup(process.kill)
            process.stdout.readline()
            if number is not None:
                process.send_signal(number)
                self.assertEqual(process.wait(harness.TIMEOUT_S), 0)
            out, _ = process.communicate(timeout=harness.TIMEOUT_S)
            self.assertEqual(process.returncode, 0)
            self.assertIn(b'"zones": 0', out)

    def test_the_same_names_everywhere(self):
        """run and -m opscope refuse what would not be a trace, before anything has run."""
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        script = self.write("touch.py", "open('ran', 'w')")
        for command in ([harness.OPSCOPE, "run"], [self.python, "-m", "opscope"]):
            for name in ("x.json", "x.html", "x.pftrace"):
                done = self.run_command([*command, "-o", name, "--", self.python, script], env=env)
                self.assertIn(done.status, (2, 125), done)
                self.assertRegex(done.stderr, r"-o %s: .*-o x\.opscope" % name)
                self.assertEqual(os.listdir(self.folder), ["touch.py"])
        os.mkdir(self.path("x.json"))  # a folder that is there is one
        done = self.run_command([self.python, "-m", "opscope", "-q", "-o", "x.json", script], env=env)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(os.listdir(self.path("x.json")), ["touch.opscope"])


def load_tests(loader, tests, pattern):
    suite = cases_of_each_python(loader, InsideCases, globals())
    suite.addTests(loader.loadTestsFromTestCase(Surroundings))
    return suite


if __name__ == "__main__":
    unittest.main()
