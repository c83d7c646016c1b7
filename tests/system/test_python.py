# SPDX-License-Identifier: Apache-2.0
"""Python programs under opscope: every test runs on each interpreter that the build has an extension for."""

import csv
import os
import shutil
import signal
import textwrap
import unittest

import harness

SCRIPTS = os.path.join(harness.SOURCE, "tests", "system", "python")
PACKAGE = os.path.join(harness.BUILD, "python", "opscope")


def interpreters(kind=""):
    """Those that the build has an extension for; "debug-" for debug builds of Python."""
    try:
        with open(os.path.join(harness.BUILD, "python", kind + "interpreters.txt"), encoding="utf-8") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def stderr_of(done):
    """Without what opscope says about sessions that other runs on this machine have left behind."""
    lines = done.stderr.splitlines(True)
    others = ("opscope: an earlier run left ", "opscope: earlier runs left ")
    return "".join(line for line in lines if not line.startswith(others))


def script(name):
    return os.path.join(SCRIPTS, name)


class Tools:
    """Mixed into a test case for each interpreter, which is self.python."""

    python = ""
    version = (0, 0)

    def profile(self, *words, **options):
        """python3 -m opscope ...; the trace is self.trace."""
        self.trace = self.path("t.opscope")
        env = dict(options.pop("env", {}), PYTHONPATH=os.path.dirname(PACKAGE))
        return self.run_command([self.python, "-m", "opscope", "-q", "-o", self.trace, *words], env=env, **options)

    def counts(self, trace):
        """{zone name: count}; nothing may be left open or lost."""
        info = self.opscope_json("info", trace)
        self.assertEqual(info["open_zones"], [])
        self.assertEqual((info["lost_zones"], info["lost_records"]), (0, 0))
        found = {}
        for row in self.opscope_json("zones", "--by", "location", trace)["rows"]:
            if not row["file"] or row["file"] == "(C)" or row["file"].startswith(SCRIPTS):
                name = row["name"].split(".")[-1]
                found[name] = found.get(name, 0) + row["count"]
        return found

    def paths(self, trace):
        """{("outer", "inner"): count}: each node of the call tree with the names above it."""
        nodes, found = {}, {}
        for row in self.opscope_json("tree", "--min-percent", "0", trace)["rows"]:
            nodes[row["node"]] = nodes.get(row["parent"], ()) + (row["name"],)
            found[nodes[row["node"]]] = found.get(nodes[row["node"]], 0) + row["count"]
        return found

    def zones(self, trace):
        """Every zone as a row of the CSV export."""
        done = self.opscope("export", "--format", "csv", "--what", "zones", trace)
        self.assert_status(done)
        return list(csv.DictReader(done.stdout.splitlines()))

    def write(self, name, text, encoding="utf-8"):
        with open(self.path(name), "w", encoding=encoding) as file:
            file.write(textwrap.dedent(text))
        return self.path(name)

    def same(self, words, env=None, run_options=()):
        """Runs it plainly, under opscope run and under python3 -m opscope: everything it prints is the same."""
        env = dict(env or {}, PYTHONPATH="/somewhere:relative")
        plain = self.run_command([self.python, *words], env=env)
        trace = self.path("same.opscope")
        for name in ("same.opscope", "same2.opscope"):  # a trace that is there is kept where nothing is recorded
            if os.path.exists(self.path(name)):
                os.remove(self.path(name))
        run = self.opscope("run", "-q", "-o", trace, *run_options, "--", self.python, *words, env=env)
        self.assertEqual((run.status, run.stdout), (plain.status, plain.stdout), run)
        self.assertEqual(stderr_of(run), plain.stderr)
        own = dict(env, PYTHONPATH=os.path.dirname(PACKAGE))
        flags = [words[0]] if words[0].startswith("-X") else []
        rest = words[len(flags) :]
        plain = self.run_command([self.python, *words], env=own)
        command = [self.python, *flags, "-m", "opscope", "-q", "-o", self.path("same2.opscope"), *rest]
        joined = self.run_command(command, env=own)
        self.assertEqual((joined.status, joined.stdout), (plain.status, plain.stdout), joined)
        self.assertEqual(stderr_of(joined), plain.stderr)
        return plain


class Cases(Tools):
    # --- what is recorded ---

    def check_calls(self, counts):
        self.assertEqual(counts["fib"], 177 + 15 + 1)
        # Resumed three times and once to its end; once, and closed, for which 3.13.0 alone does not resume it.
        self.assertIn(counts["count_to"], (5, 6) if self.version == (3, 13) else (6,))
        self.assertEqual((counts["catches"], counts["raises"]), (5, 25))
        self.assertEqual(counts["thrown_into"], 3)
        self.assertEqual((counts["parent"], counts["child"]), (3, 4))
        self.assertEqual((counts["forward"], counts["in_thread"]), (1, 1))

    def test_calls_of_every_kind_are_counted(self):
        trace = self.record([self.python, script("calls.py")])
        self.check_calls(self.counts(trace))
        rows = self.opscope_json("zones", "--by", "location", "-n", "fib", trace)["rows"]
        self.assertEqual([(row["file"], row["line"]) for row in rows], [(script("calls.py"), 8)])
        names = [track["name"] for track in self.opscope_json("info", trace)["tracks"]]
        self.assertIn("a worker", names)

    def test_c_calls(self):
        self.assert_status(self.profile("--c-calls", script("calls.py")))
        counts = self.counts(self.trace)
        self.check_calls(counts)
        self.assertEqual(counts["throw"], 1)

    def test_lines(self):
        trace = self.record([self.python, script("lines.py")], "--python-trace", "lines")
        counts = self.counts(trace)
        self.assertEqual(counts["looped"], 1)
        self.assertEqual(counts["helper"], 5)
        self.assertEqual([counts["looped:%d" % n] for n in (3, 5, 6)], [1, 5, 1])
        self.assertEqual(counts["helper:10"], 5)
        found = {path[-3:]: count for path, count in self.paths(trace).items()}
        self.assertEqual(found[("looped", "looped:5", "helper")], 5)

    def test_off(self):
        trace = self.record([self.python, script("calls.py")], "--python-trace", "off")
        self.assertEqual(self.opscope_json("info", trace)["zones"], 0)
        trace = self.record([self.python, script("marks.py")], "--python-trace", "off")
        self.assertEqual(self.counts(trace), {"decorated": 1, "in generator": 2, "plain": 1, "matmul": 1})

    def test_the_api(self):
        self.assert_status(self.profile(script("marks.py")))
        counts = self.counts(self.trace)
        expected = {"outer": 3, "inner": 6 + 1 + 3, "decorated": 1 + 1, "in generator": 2, "plain": 1, "matmul": 1}
        self.assertEqual({name: counts[name] for name in expected}, expected)
        rows = self.opscope_json("messages", self.trace)["rows"]
        told = [(row["kind"], row["header"], row["text"]) for row in rows]
        self.assertEqual(
            told,
            [
                ("signpost", "end", "of the run"),
                ("message", None, "a message"),
                ("frame", "frame", None),
                ("frame", "step", None),
            ],
        )
        row = next(r for r in self.opscope_json("ops", self.trace)["rows"] if r["name"] == "matmul")
        self.assertEqual((row["name"], row["inputs"]), ("matmul", "2x3 BFLOAT16; 2x3 BFLOAT16"))
        self.assertIn("fidelity=HiFi4", row["attributes"])

    def test_tensors_of_any_kind(self):
        self.write(
            "tensors.py",
            """
            import ctypes, opscope
            class Tensor(ctypes.Structure):
                _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32),
                            ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                            ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                            ("offset", ctypes.c_uint64)]
            class Versioned(ctypes.Structure):
                _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                            ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]
            make = ctypes.pythonapi.PyCapsule_New
            make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            class Packed:  # speaks DLPack alone
                def __init__(self, name, *tensor, major=None):
                    self.name, self.sizes = name, (ctypes.c_int64 * len(tensor[-1]))(*tensor[-1])
                    self.tensor = Tensor(None, tensor[0], len(tensor[-1]), *tensor[1], self.sizes, None, 0)
                    if major is not None:
                        self.tensor = Versioned(major, 0, None, None, 0, self.tensor)
                def __dlpack__(self):
                    return make(ctypes.addressof(self.tensor), self.name, None)
            class Unknown:  # a size that is not known yet
                shape, dtype = (None, 3), "float32"
            class Deep:
                shape, dtype = (1,) * 17, "float32"
            class Broken:
                @property
                def shape(self):
                    raise RuntimeError("was freed")
            packed = [
                Packed(b"dltensor", (2, 1), (4, 16, 1), (8, 512)),
                Packed(b"dltensor_versioned", (1, 0), (6, 8, 1), (7,), major=1),
                Packed(b"dltensor_versioned", (1, 0), (2, 32, 4), (), major=2),
            ]
            with opscope.op("pack", inputs=packed, outputs=[Unknown(), Deep(), Broken(), 5]):
                print("inside")
            """,
        )
        done = self.profile("tensors.py")
        self.assert_status(done)
        self.assertEqual(done.stdout, "inside\n")
        row = next(row for row in self.opscope_json("ops", self.trace)["rows"] if row["name"] == "pack")
        self.assertEqual(row["inputs"], "8x512 BFLOAT16 cuda:1; 7 BOOL cpu; Packed")
        self.assertEqual(row["outputs"], "Unknown; Deep; Broken; ")

    def test_partial(self):
        self.assert_status(self.profile("-p", script("marks.py")))
        counts = self.counts(self.trace)
        expected = {"outer": 1, "inner": 2 + 1 + 3, "consume": 1, "in generator": 2, "suspended": 4}
        self.assertEqual({name: counts[name] for name in expected}, expected)
        self.assertNotIn("<module>", counts)
        for name in ("enable", "disable", "__exit__", "with_zone"):
            self.assertNotIn(name, counts)
        self.assertEqual(self.paths(self.trace)[("consume", "suspended", "in generator (to its first wait)")], 2)
        self.assertEqual(self.paths(self.trace)[("in generator",)], 2)
        self.assertEqual(self.paths(self.trace)[("consume", "inner")], 2)

    def test_partial_lines(self):
        self.assert_status(self.profile("-p", "-l", script("marks.py")))
        self.assertEqual(self.counts(self.trace)["outer:12"], 1)

    def test_all_processes_are_in_one_trace(self):
        trace = self.record([self.python, script("processes.py")])
        info = self.opscope_json("info", trace)
        rows = self.opscope_json("zones", "--by", "process", trace)["rows"]
        squares = [row["pid"] for row in rows if row["name"] == "square"]
        self.assertEqual(len(set(squares)), 5, rows)  # this one, os.fork, fork, spawn, forkserver
        self.assertEqual(len([row for row in rows if row["name"] == "in_subprocess"]), 1)
        self.assertEqual(info["lost_zones"], 0)

    def test_programs_for_tracy(self):
        with open(self.path("t.py"), "w", encoding="utf-8") as file:
            file.write("from tracy import signpost, Profiler\nsignpost('start')\nwith Profiler(): pass\n")
        self.assert_status(self.profile("t.py"))
        self.assertEqual(self.opscope_json("messages", self.trace)["rows"][0]["header"], "start")
        with open(self.path("tracy.py"), "w", encoding="utf-8") as file:
            file.write("signpost = Profiler = print\nreal = True\n")
        done = self.profile("-c", "import tracy; print(tracy.real)")
        self.assertEqual(done.stdout, "True\n", done)

    # --- what the program sees ---

    def test_facts_of_a_script(self):
        shutil.copy(script("facts.py"), self.path("facts.py"))
        self.assert_status(self.same(["facts.py", "a", "-m", "b c"]))
        self.assert_status(self.same(["-Xdev", "facts.py"]))

    def test_facts_of_a_module(self):
        os.mkdir(self.path("pack"))
        shutil.copy(script("facts.py"), self.path("pack", "__main__.py"))
        self.assert_status(self.same(["-m", "pack", "--flag", "value with spaces"]))
        self.assert_status(self.same(["pack", "x"]))

    def test_facts_of_code(self):
        self.assert_status(self.same(["-c", "import sys; print(sys.argv, sys.path, __name__)", "-x", "y"]))

    def test_ends(self):
        for code, status in (
            ("import sys; sys.exit(3)", 3),
            ("import sys; sys.exit('a text')", 1),
            ("import os; os._exit(5)", 5),
            ("def f(): 1 / 0\nf()", 1),
            ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
            ("raise KeyboardInterrupt", -signal.SIGINT),
            ("def f(", 1),
        ):
            with self.subTest(code):
                self.assert_status(self.same(["-c", code]), status)

    def test_recursion(self):
        shutil.copy(script("recursion.py"), self.path("recursion.py"))
        self.assert_status(self.same(["recursion.py"]))
        if self.version >= (3, 11):
            rows = self.opscope_json("zones", "-n", "deep", self.path("same.opscope"))["rows"]
            self.assertEqual(rows[0]["count"], 50001 + 901)

    def test_hooks_of_the_program(self):
        shutil.copy(script("others.py"), self.path("others.py"))
        self.assert_status(self.same(["others.py"]))

    def test_module_and_arguments_in_one_string(self):
        with open(self.path("show.py"), "w", encoding="utf-8") as file:
            file.write("import sys; print(sys.argv[1:])\n")
        done = self.profile("-m", "show a::b[(1, 1)] -k 'x and y'".replace("[(1, 1)]", "'[(1, 1)]'"))
        self.assertEqual(done.stdout, "['a::b[(1, 1)]', '-k', 'x and y']\n", done)

    def test_other_programs(self):
        done = self.profile("sh", "-c", "exit 4")
        self.assert_status(done, 4)

    def test_a_sitecustomize_of_the_users(self):
        os.mkdir(self.path("site"))
        with open(self.path("site", "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write("print('customized')\nmark = 1\n")
        code = "import sys, sitecustomize; print(sitecustomize.mark, sys.path[1])"
        env = {"PYTHONPATH": self.path("site")}
        trace = self.path("t.opscope")
        done = self.opscope("run", "-q", "-o", trace, "--", self.python, "-c", code, env=env)
        self.assertEqual(done.stdout, "customized\n1 %s\n" % self.path("site"), done)

    def test_joins_a_run(self):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        trace = self.path("t.opscope")
        done = self.opscope(
            "run", "-q", "-o", trace, "--", self.python, "-m", "opscope", "-p", script("marks.py"), env=env
        )
        self.assert_status(done)
        self.assertEqual(self.counts(trace)["outer"], 1)

    # --- what cannot be recorded ---

    def test_no_extension_fits(self):
        os.mkdir(self.path("python"))
        shutil.copytree(PACKAGE, self.path("python", "opscope"), ignore=shutil.ignore_patterns("*.so"))
        shutil.copy(harness.OPSCOPE, self.path("opscope"))
        command = [self.path("opscope"), "run", "-q", "-o", "t.opscope", self.python, "-c"]
        done = self.run_command([*command, "import opscope; opscope.message('x'); print('ran')"])
        self.assertEqual((done.status, done.stdout), (0, "ran\n"), done)
        self.assertIn("Python calls are not recorded: there is no extension for cpython", done.stderr)

    def test_a_free_threaded_python(self):
        """As good as: with its flag, and without an extension."""
        os.mkdir(self.path("python"))
        shutil.copytree(PACKAGE, self.path("python", "opscope"), ignore=shutil.ignore_patterns("*.so"))
        shutil.copy(harness.OPSCOPE, self.path("opscope"))
        os.mkdir(self.path("site"))
        self.write("site/sitecustomize.py", "import sys; sys.abiflags += 't'")
        command = [self.path("opscope"), "run", "-q", "-o", "t.opscope", self.python, "-c", "print('ran')"]
        done = self.run_command(command, env={"PYTHONPATH": self.path("site")})
        self.assertEqual((done.status, done.stdout), (0, "ran\n"), done)
        self.assertIn("Python calls are not recorded: this Python %d.%d is free-threaded" % self.version, done.stderr)

    def test_sub_interpreters(self):
        """Not recorded; from 3.12 on, where they refuse the extension, that is said once."""
        self.write(
            "subs.py",
            """
            try:
                import _interpreters as subs
            except ImportError:
                import _xxsubinterpreters as subs
            def work(n):
                return n if n < 2 else work(n - 1) + work(n - 2)
            for _ in range(3):
                sub = subs.create()
                subs.run_string(sub, "def inside(): print('inside')\\ninside()")
                subs.destroy(sub)
                work(5)
            """,
        )
        trace = self.path("t.opscope")
        done = self.opscope("run", "-q", "-o", trace, "--", self.python, "-W", "ignore", "subs.py")
        self.assertEqual((done.status, done.stdout), (0, "inside\n" * 3), done)
        said = "opscope: Python calls are recorded in the main interpreter only, not in sub-interpreters\n"
        self.assertEqual(stderr_of(done), said if self.version >= (3, 12) else "")
        counts = {row["name"]: row["count"] for row in self.opscope_json("zones", trace)["rows"]}
        self.assertEqual((counts["work"], counts.get("inside")), (45, None))

    def test_functions_given_to_sub_interpreters(self):
        """One that has been called, and so has a site, is taken as without opscope."""
        if self.version < (3, 14):
            self.skipTest("concurrent.interpreters comes with Python 3.14")
        self.write(
            "subs.py",
            """
            from concurrent import interpreters
            from concurrent.futures import InterpreterPoolExecutor
            def made():
                def inner(n):
                    return n * 2
                return inner
            def plain(n):
                return n + 1
            if __name__ == "__main__":
                print(plain(1), made()(2))
                sub = interpreters.create()
                function = made()
                function(0)
                print(sub.call(plain, 3), sub.call(function, 4), sub.call(lambda n: n - 1, 5))
                sub.exec("import opscope")
                sub.exec("with opscope.zone('not recorded'): print(opscope.is_recording())")
                sub.close()
                with InterpreterPoolExecutor(2) as pool:
                    print(*pool.map(plain, range(4)))
            """,
        )
        plain = self.run_command([self.python, "subs.py"], env={"PYTHONPATH": os.path.dirname(PACKAGE)})
        self.assertEqual((plain.status, plain.stdout), (0, "2 4\n4 8 4\nFalse\n1 2 3 4\n"), plain)
        done = self.opscope("run", "-q", "-o", self.path("t.opscope"), "--", self.python, "subs.py")
        self.assertEqual((done.status, done.stdout), (0, plain.stdout), done)
        self.assertEqual(stderr_of(done).count("not in sub-interpreters\n"), 1, done)
        self.assertEqual(len(stderr_of(done).splitlines()), 1, done)
        counts = {row["name"]: row["count"] for row in self.opscope_json("zones", self.path("t.opscope"))["rows"]}
        self.assertEqual((counts["plain"], counts["made.<locals>.inner"]), (1, 2))
        self.assertNotIn("not recorded", counts)

    def test_no_session(self):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        done = self.run_command([self.python, script("marks.py")], env=env)
        self.assertEqual((done.status, done.stdout, done.stderr), (0, "", ""), done)

    def test_device_options_set_the_variables_of_the_runtime(self):
        code = "import os; print(sorted(k + '=' + v for k, v in os.environ.items() if k.startswith('TT')))"
        flags = ["--op-support-count", "20", "--sync-host-device", "--profiler-capture-perf-counters=all"]
        done = self.profile(*flags, "-c", code)
        self.assert_status(done)
        variables = [
            "TT_METAL_DEVICE_PROFILER=1",
            "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=20",
            "TT_METAL_PROFILER_SYNC=1",
            "TT_METAL_PROFILE_PERF_COUNTERS=47",
        ]
        self.assertEqual(done.stdout, "%s\n" % sorted(variables))
        self.assertEqual(self.profile("--no-device", "--no-runtime-analysis", "-c", code).stdout, "[]\n")
        self.assert_status(self.profile("-r", "--enable-accumulate-profiling", "-c", code), 2)
        self.assert_status(self.profile("--no-such-option", "-c", code), 2)
        self.assert_status(self.profile(), 2)


def cases_of_each_python(loader, cases, names, kinds=("", "debug-")):
    """One class of cases an interpreter, debug builds among them; skipped ones for what is absent."""
    suite = unittest.TestSuite()
    for kind in kinds:
        found = interpreters(kind)
        for path in found:
            done = harness.run([path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"])
            text = done.stdout.strip()
            version = tuple(int(part) for part in text.split(".")[:2])
            name = "%s%s%s" % (cases.__name__.replace("Cases", "Python"), text.replace(".", "_"), kind and "_debug")
            facts = {"python": path, "version": version, "__module__": names["__name__"]}
            names[name] = type(name, (cases, harness.TestCase), facts)
            suite.addTests(loader.loadTestsFromTestCase(names[name]))
        if not found:
            suite.addTests(loader.loadTestsFromTestCase(NoDebugInterpreter if kind else NoInterpreter))
    return suite


def load_tests(loader, tests, pattern):
    return cases_of_each_python(loader, Cases, globals())


class NoInterpreter(unittest.TestCase):
    @unittest.skip("the build has no Python extension: no Python 3.9 or later with its headers was found")
    def test_python(self):
        pass


class NoDebugInterpreter(unittest.TestCase):
    @unittest.skip("the build has no extension for a debug Python (Debian: python3-dbg)")
    def test_python(self):
        pass


if __name__ == "__main__":
    unittest.main()
