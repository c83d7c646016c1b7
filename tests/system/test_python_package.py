# SPDX-License-Identifier: Apache-2.0
"""The Python package: as a wheel in a virtual environment, installed with the program, beside native code, the
examples. Each on the first interpreter that the build has an extension for; the wheel on every one."""

import ctypes
import os
import shutil
import textwrap
import unittest
import zipfile

import harness
from test_python import PACKAGE, interpreters, script, stderr_of

EXAMPLES = os.path.join(harness.SOURCE, "examples", "python")


class PythonPackage(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not interpreters():
            self.skipTest("the build has no Python extension: no Python 3.9 or later with its headers was found")
        self.python = interpreters()[0]

    def zones(self, trace, *filters):
        rows = self.opscope_json("zones", *filters, trace)["rows"]
        return {row["name"]: row["count"] for row in rows}

    def test_wheel_in_a_virtual_environment_without_a_network(self):
        built = 0
        for number, python in enumerate(interpreters()):
            folder = self.path("an environment \u00fc%d" % number)
            if self.run_command([python, "-m", "venv", folder]).status != 0:
                continue  # Debian's Python without python3-venv
            built += 1
            pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--no-index", "--no-cache-dir"]
            env = {"OPSCOPE_WHEEL_BUILD": harness.BUILD, "PIP_FIND_LINKS": ""}
            self.assert_status(self.run_command([*pip, os.path.join(harness.SOURCE, "python")], env=env))
            self.check_installed(os.path.join(folder, "bin"))
        if not built:
            self.skipTest("no interpreter can make a virtual environment (Debian: python3-venv)")

    def check_installed(self, folder):
        program, python = os.path.join(folder, "opscope"), os.path.join(folder, "python")
        self.assertIn("opscope", self.run_command([program, "--version"]).stdout)
        self.assertFalse(os.path.exists(os.path.join(folder, "tt-perf-report")))  # another package has that name
        code = "from opscope import _torch; import types; v = types.SimpleNamespace(git_version='x'); "
        code += "print(_torch.cache_folder(types.SimpleNamespace(__version__='9.9', version=v, _C=types.SimpleNamespace())))"
        self.assertIn("9.9-", self.run_command([python, "-c", code]).stdout)  # all that the observer is compiled from is there
        checks = self.run_command([program, "doctor", "--json"]).json()
        self.assertEqual([row["status"] for row in checks["rows"] if row["check"] == "recorder library"], ["ok"])
        for name, command in (
            ("joined.opscope", [python, "-m", "opscope", "-q", "-o", "joined.opscope"]),
            ("run.opscope", [program, "run", "-q", "-o", "run.opscope", "--", python]),
        ):
            done = self.run_command([*command, script("marks.py")])
            self.assert_status(done)
            self.assertEqual(self.zones(self.path(name), "-n", "outer"), {"outer": 3})

    def test_editable_and_uninstalled(self):
        folder = self.path("venv")
        if self.run_command([self.python, "-m", "venv", folder]).status != 0:
            self.skipTest("%s cannot make a virtual environment (Debian: python3-venv)" % self.python)
        pip = [os.path.join(folder, "bin", "python"), "-m", "pip"]
        env = {"OPSCOPE_WHEEL_BUILD": harness.BUILD, "PIP_FIND_LINKS": ""}
        source = os.path.join(harness.SOURCE, "python")
        done = self.run_command([*pip, "install", "--no-index", "--no-cache-dir", "-e", source], env=env)
        self.assert_status(done)
        self.check_installed(os.path.join(folder, "bin"))
        where = [os.path.join(folder, "bin", "python"), "-c", "import opscope; print(opscope.__file__)"]
        self.assertEqual(os.path.realpath(self.run_command(where).stdout.strip()), source + "/opscope/__init__.py")
        self.assert_status(self.run_command([*pip, "uninstall", "-y", "opscope"]))
        left = [name for _, _, names in os.walk(folder) for name in names if "opscope" in name]
        self.assertEqual(left, [])

    def test_names_of_other_tools_come_on_request(self):
        code = "import opscope_build, sys; print(opscope_build.build_wheel(sys.argv[1], {'compat': '1'}))"
        env = {"PYTHONPATH": os.path.join(harness.SOURCE, "python", "build_backend"), "OPSCOPE_WHEEL_BUILD": harness.BUILD}
        done = self.run_command([self.python, "-c", code, self.folder], env=env)
        self.assert_status(done)
        with zipfile.ZipFile(self.path(done.stdout.strip())) as wheel:
            entries = wheel.read([name for name in wheel.namelist() if name.endswith("entry_points.txt")][0]).decode()
            self.assertIn("tt-perf-report = opscope._program:main", entries)
            self.assertIn("opscope/observer/torch.cpp", wheel.namelist())

    def test_an_installation_without_the_observers_sources_says_so(self):
        package = self.path("opscope")
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("observer", "__pycache__"))
        with open(self.path("torch.py"), "w", encoding="utf-8") as file:
            file.write("import types\n__version__ = '9.9'\nversion = types.SimpleNamespace(git_version='x')\n_C = types.SimpleNamespace()\n")
        done = self.run_command([self.python, "-m", "opscope._torch"], env={"PYTHONPATH": self.folder})
        self.assertEqual(done.status, 1, done)
        self.assertIn("install opscope again", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_installed_with_the_program(self):
        prefix = self.path("prefix")
        self.assert_status(self.run_command(["cmake", "--install", harness.BUILD, "--prefix", prefix]))
        trace = self.path("t.opscope")
        program = os.path.join(prefix, "bin", "opscope")
        self.assert_status(self.run_command([program, "run", "-q", "-o", trace, self.python, script("marks.py")]))
        self.assertEqual(self.zones(trace, "-n", "outer"), {"outer": 3})
        used = self.run_command(
            [program, "run", "-q", "-o", self.path("u.opscope"), self.python, "-c"]
            + ["print([line.split()[-1] for line in open('/proc/self/maps') if 'libopscope' in line][0])"]
        )
        self.assertTrue(used.stdout.startswith(prefix), used)

    def test_native_zones_lie_inside_the_calls_that_made_them(self):
        plugin = os.path.join(harness.PROGRAMS, "sample_plugin.so")
        ctypes.CDLL(plugin)  # it is there, and loads without a session
        code = "import ctypes, sys\nwork = ctypes.CDLL(sys.argv[1]).plugin_work\ndef caller():\n    work(3)\ncaller()\n"
        with open(self.path("native.py"), "w", encoding="utf-8") as file:
            file.write(code)
        trace = self.record([self.python, "native.py", plugin])
        rows = self.opscope_json("tree", "--min-percent", "0", trace)["rows"]
        name_of = {row["node"]: row["name"] for row in rows}
        parents = {row["name"]: name_of.get(row["parent"]) for row in rows}
        self.assertEqual(parents["plugin_work"], "caller")
        self.assertEqual(parents["zone of a plug-in"], "plugin_work")
        self.assertEqual(len(self.opscope_json("info", trace)["tracks"]), 1)

    def test_a_free_threaded_python_is_left_out(self):
        """By the build, which asks an interpreter that answers like one, and by the wheel's back end."""
        answer = "3.14;.cpython-314t-x86_64-linux-gnu.so;/usr/include;1;cpython;/opt/python3.14t;/opt;0;1"
        with open(self.path("python3.14t"), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\necho '{answer}'\n")
        os.chmod(self.path("python3.14t"), 0o755)
        build = ["cmake", "-S", harness.SOURCE, "-B", self.path("build")]
        done = self.run_command([*build, "-DOPSCOPE_PYTHONS=" + self.path("python3.14t")])
        self.assert_status(done)
        self.assertIn("no Python extension for /opt/python3.14t, which is free-threaded", done.stdout)
        self.assertIn("left out: Python extension (the one Python that was found is free-threaded)", done.stdout)
        code = "import sys; sys.abiflags += 't'; import opscope_build; opscope_build.build(sys.argv[1])"
        env = {"PYTHONPATH": os.path.join(harness.SOURCE, "python", "build_backend")}
        done = self.run_command([self.python, "-c", code, self.path("wheel")], env=env)
        self.assertEqual(done.status, 1)
        self.assertIn("is free-threaded, and the extension needs a Python with the GIL", done.stderr)
        self.assertFalse(os.path.exists(self.path("wheel")))

    def test_functions_of_one_name_are_apart_in_the_tree(self):
        names = ("first.py", "second.py")
        for name in names:
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("def step():\n    return 1\n")
        code = "import first, second\nfor _ in range(3):\n    first.step()\n    second.step()\n"
        trace = self.record([self.python, "-c", code])
        rows = [row for row in self.opscope_json("tree", trace)["rows"] if row["name"] == "step"]
        found = sorted((os.path.basename(row["file"]), row["line"], row["count"]) for row in rows)
        self.assertEqual(found, [("first.py", 1, 3), ("second.py", 1, 3)])
        rows = [row for row in self.opscope_json("tree", trace)["rows"] if row["name"] == "<module>"]
        files = {os.path.basename(row["file"]) for row in rows}  # and linecache's, to which 3.14 gives the text of -c
        self.assertLessEqual({"<string>", *names}, files)
        rows = [row for row in self.opscope_json("zones", trace)["rows"] if row["name"] == "step"]
        self.assertEqual(sorted((os.path.basename(row["file"]), row["count"]) for row in rows), [(n, 3) for n in names])

    def test_whatever_is_given_for_a_text(self):
        """Nothing that can be printed, and no name of a file, becomes an error of the program."""
        code = """
            import opscope
            class Broken:
                def __str__(self):
                    raise KeyError
            for text in ("\\udcff.txt", "a\\0b", 5, None, Broken()):
                opscope.signpost(text, text)
                opscope.message(text)
                opscope.counter(text, 1)
                opscope.frame(text)
                with opscope.zone(text) as zone, opscope.op(text, attributes={text: text}):
                    zone.text(text)
                opscope.zone(text)(print)("ran", end=" ")
                opscope.thread_name(text)
        """
        with open(self.path("texts.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(code))
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        plain = self.run_command([self.python, "texts.py"], env=env)
        self.assertEqual((plain.status, plain.stdout, plain.stderr), (0, "ran " * 5, ""), plain)
        trace = self.record([self.python, "texts.py"])
        rows = self.opscope_json("messages", "--kind", "signpost", trace)["rows"]
        expected = ["\\udcff.txt", "a\\0b", "5", "None", "<Broken>"]
        self.assertEqual([row["header"] for row in rows], expected)
        self.assertEqual([row["text"] for row in rows], [None if text == "None" else text for text in expected])
        ops = [row["name"] for row in self.opscope_json("ops", trace)["rows"] if row["type"] == "host"]
        self.assertEqual(ops, expected)

    def test_coroutine_functions_are_decorated(self):
        code = """
            import asyncio, opscope
            @opscope.zone("around")
            async def marked(n):
                await asyncio.sleep(0.02)
                return n
            @opscope.Profiler()
            async def profiled(n):
                await asyncio.sleep(0)
                return inside(n)
            def inside(n):
                return n
            async def main():
                print(await asyncio.gather(marked(1), marked(2)), await profiled(3))
            print(asyncio.iscoroutinefunction(marked), marked.__name__)
            asyncio.run(main())
        """
        with open(self.path("tasks.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(code))
        for python in interpreters():
            for words in ([], ["--python-trace", "lines"], ["--python-partial"], ["--python-trace", "off"]):
                trace = self.path("t.opscope")
                done = self.opscope("run", "-q", "-o", trace, *words, python, "-W", "ignore", "tasks.py")
                self.assertEqual((done.status, done.stdout), (0, "True marked\n[1, 2] 3\n"), done)
                rows = {row["name"]: row for row in self.opscope_json("zones", trace)["rows"]}
                self.assertEqual(rows["around"]["count"], 2)
                self.assertEqual("inside" in rows, "off" not in words)
                self.assertEqual([name for name in rows if "_of_coroutine" in name or name == "import around"], [])
                if words and words[-1] != "lines":  # calls are not recorded: with the waiting
                    self.assertGreater(rows["around"]["min_ns"], 10 * 1000 * 1000)
                self.assertEqual(self.opscope_json("info", trace)["open_zones"], [])

    def test_lines_of_with_blocks_are_inside_them(self):
        """A zone or an op that is open over several lines does not end with the line that opens it."""
        code = """
            import opscope, time
            @opscope.zone("decorated")
            def inner():
                time.sleep(0.005)
            def work():
                with opscope.zone("block"):
                    with opscope.op("matmul"):
                        inner()
                    time.sleep(0.005)
                return 1
            work()
        """
        with open(self.path("blocks.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(code))
        line = textwrap.dedent(code).split("\n").index("def work():") + 1
        for python in interpreters():
            for words in ([], ["--python-c-calls"]):
                trace = self.record([python, "blocks.py"], "--python-trace", "lines", *words)
                nodes, found = {}, {}
                for row in self.opscope_json("tree", "--min-percent", "0", trace)["rows"]:
                    path = nodes[row["node"]] = nodes.get(row["parent"], ()) + (row["name"].rsplit(".", 1)[-1],)
                    if "work" in path:
                        found[path[path.index("work") :]] = row["count"]
                shown = {path: count for path, count in found.items() if "sleep" not in path[-1] and len(path) < 6}
                self.assertLessEqual(
                    {
                        ("work", "work:%d" % (line + 1)),
                        ("work", "block"),
                        ("work", "block", "work:%d" % (line + 2)),
                        ("work", "block", "matmul"),
                        ("work", "block", "matmul", "work:%d" % (line + 3)),
                        ("work", "block", "matmul", "work:%d" % (line + 3), "decorated"),
                        ("work", "block", "work:%d" % (line + 4)),
                        ("work", "work:%d" % (line + 5)),
                    },
                    set(shown),
                    python,
                )
                self.assertNotIn(("work", "work:%d" % (line + 3)), found)
                (op,) = self.opscope_json("ops", trace)["rows"]
                self.assertGreater(op["host_ns"], 5 * 1000 * 1000)
                self.assertEqual(self.opscope_json("info", trace)["open_zones"], [])

    def test_report_of_what_the_program_recorded(self):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        command = [self.python, "-m", "opscope", "-r", "-q", "-o", self.path("out"), "-n", "named"]
        done = self.run_command([*command, os.path.join(EXAMPLES, "train.py")], env=env)
        self.assert_status(done)
        self.assertIn("matmul", done.stdout)
        self.assertTrue(os.path.exists(self.path("out", "train_named.opscope")))
        done = self.run_command([*command, "-c", "import sys; sys.exit(6)"], env=env)
        self.assert_status(done, 6)
        self.assertIn("no op report", done.stderr)

    def test_no_program_is_found(self):
        shutil.copytree(PACKAGE, self.path("alone", "opscope"))
        env = {"PYTHONPATH": self.path("alone"), "PATH": "/nowhere"}
        done = self.run_command([self.python, "-m", "opscope", "-c", "print('ran')"], env=env)
        self.assertEqual((done.status, done.stdout), (0, "ran\n"), done)
        self.assertIn("nothing is recorded", done.stderr)

    def test_an_output_that_cannot_be_made_changes_nothing_in_the_program(self):
        done = self.opscope("run", "-o", "/dev/null/t.opscope", self.python, "-c", "print('ran')")
        self.assertEqual((done.status, done.stdout), (125, ""), done)
        done = self.opscope(
            "run", "-q", "-o", self.path("t.opscope"), self.python, "-c", "print('ran')",
            env={"OPSCOPE_DIR": "/dev/null"},
        )  # fmt: skip
        self.assertEqual((done.status, done.stdout), (0, "ran\n"), done)

    def test_examples(self):
        plain = self.run_command([self.python, os.path.join(EXAMPLES, "train.py")])
        self.assert_status(plain)
        trace = self.path("t.opscope")
        done = self.opscope("run", "-q", "-o", trace, self.python, os.path.join(EXAMPLES, "train.py"))
        self.assertEqual((done.stdout, stderr_of(done)), (plain.stdout, ""))
        self.assertEqual(self.zones(trace, "-n", "train", "-n", "forward"), {"train": 1, "forward": 10})
        types = [row["type"] for row in self.opscope_json("ops", trace)["rows"]]
        self.assertEqual(types, ["signpost"] + ["host"] * 10 + ["signpost"])
        headers = [row["header"] for row in self.opscope_json("messages", "--kind", "signpost", trace)["rows"]]
        self.assertEqual(headers, ["start", "stop"])
        trace = self.record([self.python, os.path.join(EXAMPLES, "serve.py")])
        self.assertEqual(self.zones(trace, "-n", "encode", "-n", "import json"), {"encode": 9, "import json": 1})
        tracks = {row["name"] for row in self.opscope_json("info", trace)["tracks"] if row["kind"] == "task"}
        self.assertLessEqual({"client 0", "client 1", "client 2"}, tracks)
        for method in ("fork", "spawn"):
            trace = self.record([self.python, os.path.join(EXAMPLES, "workers.py"), method])
            self.assertEqual(self.zones(trace, "-n", "count_primes"), {"count_primes": 4})
            rows = self.opscope_json("zones", "--by", "process", trace)["rows"]
            pids = {name: {row["pid"] for row in rows if row["name"] == name} for name in ("report", "count_primes")}
            self.assertEqual(len(pids["report"]), 1)
            self.assertFalse(pids["report"] & pids["count_primes"])

    def test_the_example_that_records_itself(self):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        done = self.run_command([self.python, os.path.join(EXAMPLES, "record_inside.py"), self.folder], env=env)
        expected = "sorted: True, zones: 501, lost: 0\nzones with max_depth=1: 1\n"
        self.assertEqual((done.status, done.stdout, done.stderr), (0, expected, ""), done)
        self.assertEqual(self.zones(self.path("sort.opscope")), {"insertion_sort": 1, "place_of": 500})
        self.assertEqual(self.zones(self.path("again.opscope")), {"insertion_sort": 1})

    def test_the_numpy_example(self):
        python = next((path for path in interpreters() if harness.run([path, "-c", "import numpy"]).status == 0), None)
        if python is None:
            self.skipTest("no interpreter of the build has NumPy (Debian: python3-numpy)")
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        trace = self.path("t.opscope")
        command = [python, "-m", "opscope", "-q", "-p", "-l", "-o", trace, os.path.join(EXAMPLES, "numpy_script.py")]
        done = self.run_command(command, env=env)
        self.assertEqual((done.status, done.stdout), (0, "246 of 600 points are mutual neighbours\n"), done)
        rows = self.opscope_json("zones", "--source", trace)["rows"]
        self.assertEqual({row["function"] for row in rows}, {"mutual", "normalise", "nearest"})
        self.assertEqual([row["hits"] for row in rows if row["source"].strip() == "count += 1"], [246])

    def test_the_pytest_example(self):
        python = next((path for path in interpreters() if harness.run([path, "-c", "import pytest"]).status == 0), None)
        if python is None:
            self.skipTest("no interpreter of the build has pytest (Debian: python3-pytest)")
        folder = os.path.join(EXAMPLES, "pytest_session")
        trace = self.record([python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", folder])
        outcomes = [row["outcome"] for row in self.opscope_json("zones", "--by-test", trace)["rows"]]
        self.assertEqual(sorted(outcomes), ["passed"] * 5 + ["skipped", "xfailed"])


if __name__ == "__main__":
    unittest.main()
