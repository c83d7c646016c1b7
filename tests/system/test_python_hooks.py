# SPDX-License-Identifier: Apache-2.0
"""What can be chosen about the recording of Python calls (filters, depth, duration, signposts, imports, collections,
tasks), and that other tools keep working beside it. On each interpreter that the build has an extension for."""

import os
import unittest

import harness
from test_python import PACKAGE, Tools, cases_of_each_python, interpreters, stderr_of

TASKS = """
    import asyncio, opscope
    def plain(n):
        return n
    async def leaf(n):
        plain(n)
        await asyncio.sleep(0)
        opscope.message("leaf %d" % n)
        plain(n)
    async def worker(n):
        for _ in range(3):
            await leaf(n)
    async def main():
        tasks = [asyncio.ensure_future(worker(n)) for n in range(3)]
        for number, task in enumerate(tasks):
            task.set_name("worker %d" % number)
        await asyncio.gather(*tasks)
    asyncio.run(main())
    """


class HookCases(Tools):
    # --- tasks ---

    def track_of(self, trace, name):
        """{track: how many zones of that name}"""
        found = {}
        for row in self.zones(trace):
            if row["name"].split(".")[-1] == name:
                found[row["thread"]] = found.get(row["thread"], 0) + 1
        return found

    def test_each_task_has_a_track(self):
        trace = self.record([self.python, self.write("tasks.py", TASKS)])
        # Four turns each: three that end in a sleep, and the last.
        workers = {"worker %d" % n for n in range(3)}
        self.assertEqual(self.track_of(trace, "worker"), dict.fromkeys(workers, 4))
        self.assertEqual(self.track_of(trace, "leaf"), dict.fromkeys(workers, 6))
        self.assertEqual(self.track_of(trace, "plain"), dict.fromkeys(workers, 6))
        info = self.opscope_json("info", trace)
        self.assertEqual((info["lost_zones"], info["open_zones"]), (0, []))
        tracks = {track["name"]: track["kind"] for track in info["tracks"]}
        self.assertEqual({tracks[name] for name in workers}, {"task"})
        messages = {(row["thread"], row["text"]) for row in self.opscope_json("messages", trace)["rows"]}
        self.assertEqual(messages, {("worker %d" % n, "leaf %d" % n) for n in range(3)})
        # A turn is a zone on the thread's track; its time is that of the zones on the task's.
        turns = [row for row in self.zones(trace) if row["name"] == "worker 1"]
        self.assertEqual(len(turns), 4)
        for row in turns:
            self.assertNotEqual(row["thread"], "worker 1")
            self.assertLess(int(row["self_ns"]), int(row["duration_ns"]))

    def test_tasks_on_their_threads_tracks(self):
        trace = self.record([self.python, self.write("tasks.py", TASKS)], "--python-no-async")
        self.assertEqual(len(self.opscope_json("info", trace)["tracks"]), 1)
        self.assertEqual(list(self.track_of(trace, "worker").values()), [12])
        self.assert_status(self.profile("--no-async", self.path("tasks.py")))
        self.assertEqual(len(self.opscope_json("info", self.trace)["tracks"]), 1)

    def test_tasks_with_lines(self):
        trace = self.record([self.python, self.write("tasks.py", TASKS)], "--python-trace", "lines")
        self.assertEqual(self.track_of(trace, "plain:4"), {"worker %d" % n: 6 for n in range(3)})
        paths = {path[-4:] for path in self.paths(trace)}
        self.assertIn(("leaf", "leaf:6", "plain", "plain:4"), paths)

    def test_loops_in_two_threads_and_a_task_that_fails(self):
        self.write(
            "two.py",
            """
            import asyncio, threading
            async def fails_inside():
                await asyncio.sleep(0)
                raise ValueError
            async def outer(name):
                asyncio.current_task().set_name(name)
                await asyncio.sleep(0)
                try:
                    await asyncio.create_task(fails_inside(), name=name + " inner")
                except ValueError:
                    pass
                task = asyncio.create_task(asyncio.sleep(60), name=name + " cancelled")
                await asyncio.sleep(0)
                task.cancel()
            threads = [threading.Thread(target=lambda n=n: asyncio.run(outer("loop %d" % n))) for n in range(2)]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            """,
        )
        trace = self.record([self.python, "two.py"])
        self.assertEqual(self.track_of(trace, "fails_inside"), {"loop 0 inner": 2, "loop 1 inner": 2})
        self.assertEqual(self.opscope_json("info", trace)["lost_zones"], 0)

    def test_more_tasks_than_tracks(self):
        self.write(
            "many.py",
            """
            import asyncio
            async def one():
                await asyncio.sleep(0)
            async def main():
                for _ in range(10):
                    await asyncio.gather(*[one() for _ in range(500)])
            asyncio.run(main())
            """,
        )
        trace = self.record([self.python, "many.py"], "--buffer-size", "256M")
        tracks = self.track_of(trace, "one")
        self.assertEqual(sum(tracks.values()), 10000)
        self.assertGreater(max(tracks.values()), 1000)  # those without a track of their own
        self.assertLessEqual(len(tracks), 4097)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_fork_inside_a_task(self):
        self.write(
            "forks.py",
            """
            import asyncio, os
            def child():
                pass
            async def main():
                pid = os.fork()
                if not pid:
                    child()
                    os._exit(0)
                os.waitpid(pid, 0)
                await asyncio.sleep(0)
            asyncio.run(main())
            """,
        )
        trace = self.record([self.python, "forks.py"])
        self.assertEqual(len([row for row in self.zones(trace) if row["name"] == "child"]), 1)

    # --- imports and collections ---

    def test_an_import_is_one_zone(self):
        os.mkdir(self.path("pack"))
        self.write("pack/__init__.py", "from . import part\n")
        self.write("pack/part.py", "def used():\n    pass\nused()\n")
        self.write("main.py", "import pack\ntry:\n    import missing\nexcept ImportError:\n    pass\n")
        trace = self.record([self.python, "main.py"])
        files = {row["file"] for row in self.opscope_json("zones", "--by", "location", trace)["rows"]}
        self.assertFalse([name for name in files if name and name.startswith("<frozen importlib")])
        paths = self.paths(trace)
        self.assertEqual(paths[("<module>", "import pack", "<module>", "import pack.part", "<module>", "used")], 1)
        self.assertEqual(paths[("<module>", "import missing")], 1)
        for options in (["--python-import-frames"], ["--python-import-frames", "--python-trace", "lines"]):
            trace = self.record([self.python, "main.py"], *options)
            names = {row["name"] for row in self.opscope_json("zones", "--by", "location", trace)["rows"]}
            self.assertIn("_find_and_load", names)
            self.assertNotIn("import pack", names)
        self.assert_status(self.profile("-l", self.path("main.py")))
        self.assertIn("import pack", {row["name"] for row in self.zones(self.trace)})

    def test_collections(self):
        self.write(
            "collect.py",
            """
            import gc
            gc.disable()
            gc.collect()
            def make():
                for _ in range(7):
                    ring = []
                    ring.append(ring)
            make()
            def collect():
                gc.collect()
            collect()
            """,
        )
        trace = self.record([self.python, "collect.py"], "--python-gc")
        found = [row for row in self.zones(trace) if row["name"].startswith("GC gen") and int(row["depth"]) == 2]
        self.assertEqual([(row["name"], row["text"]) for row in found],
                         [("GC gen 2", "collected 7, uncollectable 0")])  # fmt: skip
        trace = self.record([self.python, "collect.py"])
        self.assertFalse([row for row in self.zones(trace) if row["name"].startswith("GC")])
        code = "import gc, opscope\nwith opscope.Profiler():\n    print(len(gc.callbacks))\nprint(len(gc.callbacks))"
        self.assertEqual(self.profile("-p", "--gc", "-c", code).stdout, "1\n0\n")

    # --- filters ---

    def filtered(self, *options):
        """Functions of the little package that are recorded."""
        if not os.path.isdir(self.path("work")):
            os.makedirs(self.path("work", "pack"))
            self.write("work/pack/__init__.py", "from pack import deep\ndef top():\n    deep.bottom()\n")
            self.write("work/pack/deep.py", "def bottom():\n    pass\n")
            self.write("work/main.py", "import pack\ndef middle():\n    pack.top()\nmiddle()\n")
        trace = self.path("t.opscope")
        run = ["run", "-q", "-o", trace, *options, "--", self.python, "main.py"]
        self.assert_status(self.opscope(*run, cwd=self.path("work")))
        first = self.counts_of(trace)
        words = [word.replace("--python-", "--") for word in options]
        self.assert_status(self.profile(*words, "main.py", cwd=self.path("work")))
        self.assertEqual(self.counts_of(self.trace), first)
        return first

    def counts_of(self, trace):
        info = self.opscope_json("info", trace)
        self.assertEqual((info["open_zones"], info["lost_zones"]), ([], 0))
        names = [row["name"] for row in self.zones(trace)]
        return {name for name in ("middle", "top", "bottom") if names.count(name) == 1}

    def test_filters(self):
        everything = {"middle", "top", "bottom"}
        self.assertEqual(self.filtered(), everything)
        for options, expected in (
            (["--python-include", "pack"], {"top", "bottom"}),
            (["--python-include", "pack.deep"], {"bottom"}),
            (["--python-include", "pack.*"], {"bottom"}),
            (["--python-include", "main.py"], {"middle"}),
            (["--python-include", "pack/"], {"top", "bottom"}),
            (["--python-include", "./pack/deep.py"], {"bottom"}),
            (["--python-include", "*/deep.py"], {"bottom"}),
            (["--python-include", "pack/d*.py"], {"bottom"}),
            (["--python-include", "main.py", "--python-include", "pack.deep"], {"middle", "bottom"}),
            (["--python-include", "."], everything),
            (["--python-exclude", "pack"], {"middle"}),
            (["--python-exclude", "pac"], everything),
            (["--python-exclude", "pack.deep"], {"middle", "top"}),
            (["--python-exclude", self.path("work", "pack")], {"middle"}),
            (["--python-include", "pack", "--python-exclude", "pack.deep"], {"top"}),
            (["--python-include", "a,b%c", "--python-include", "__main__"], {"middle"}),
            (["--python-exclude", "pack", "--python-c-calls"], {"middle"}),
            (["--python-exclude", "pack.deep", "--python-trace", "lines"], {"middle", "top"}),
        ):
            with self.subTest(options):
                if "--python-trace" in options:
                    trace = self.record([self.python, self.path("work", "main.py")], *options)
                    self.assertEqual(self.counts_of(trace), expected)
                else:
                    self.assertEqual(self.filtered(*options), expected)

    def test_filters_of_names_with_commas(self):
        self.write("a,b%c.py", "def inside():\n    pass\n")
        self.write("main.py", "import importlib\nimportlib.import_module('a,b%c').inside()\n")
        trace = self.record([self.python, "main.py"], "--python-include", "a,b%c")
        self.assertEqual({row["name"] for row in self.zones(trace) if not row["name"].startswith("import ")},
                         {"<module>", "inside"})  # fmt: skip
        self.assert_status(self.profile("--exclude", "a,b%c.py", "main.py"))
        self.assertNotIn("inside", {row["name"] for row in self.zones(self.trace)})

    def test_max_depth(self):
        self.write("deep.py", "def down(n):\n    if n:\n        down(n - 1)\n        down(n - 1)\ndown(5)\n")
        for options in ([], ["--python-c-calls"], ["--python-trace", "lines"]):
            trace = self.record([self.python, "deep.py"], "--python-max-depth", "3", *options)
            rows = self.zones(trace)
            # lines are no calls: they are inside the last function that is shown
            self.assertEqual(max(int(row["depth"]) for row in rows), 3 if "lines" in options else 2)
            if not options:
                self.assertEqual(len([row for row in rows if row["name"] == "down"]), 3)
                self.assertEqual(self.opscope_json("info", trace)["open_zones"], [])
        self.assert_status(self.profile("--max-depth", "1", "deep.py"))
        self.assertEqual({row["depth"] for row in self.zones(self.trace)}, {"0"})
        self.assert_status(self.profile("--max-depth", "few", "deep.py"), 2)

    def test_min_duration(self):
        self.write(
            "short.py",
            """
            import time, opscope
            def short():
                pass
            def long():
                for _ in range(100):
                    short()
                time.sleep(0.3)
            with opscope.zone("outer"):
                long()
            """,
        )
        for record in (
            lambda: self.record([self.python, "short.py"], "--min-duration", "250ms"),
            lambda: (self.assert_status(self.profile("--min-duration", "250ms", "short.py")), self.trace)[1],
        ):
            trace = record()
            rows = {row["name"]: row for row in self.zones(trace)}
            self.assertLessEqual({"<module>", "outer", "long"}, set(rows))
            self.assertNotIn("short", rows)
            self.assertGreaterEqual(min(int(row["duration_ns"]) for row in rows.values()), 250_000_000)
            self.assertEqual(rows["long"]["self_ns"], rows["long"]["duration_ns"])
        done = self.opscope("run", "-o", self.path("u.opscope"), "--min-duration", "250ms", self.python, "short.py")
        self.assertRegex(done.stderr, r"[\d,]+ zones, .*; [\d,]+ shorter ones left out")
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        command = [self.python, "-m", "opscope", "--min-duration", "1s", "short.py"]
        done = self.opscope("run", "-q", "-o", self.path("v.opscope"), "--", *command, env=env)
        self.assertIn("opscope run --min-duration", done.stderr)

    def test_a_package_behind_a_link_is_not_shown_either(self):
        os.symlink(os.path.dirname(PACKAGE), self.path("link"))
        self.write(
            "part.py",
            """
            from opscope import Profiler
            def work(): pass
            with Profiler():
                work()
            """,
        )
        command = [self.python, "-m", "opscope", "-q", "-p", "-o", "part.opscope", "part.py"]
        self.assert_status(self.run_command(command, env={"PYTHONPATH": self.path("link")}))
        self.assertEqual([row["name"] for row in self.zones(self.path("part.opscope"))], ["work"])

    # --- when ---

    def test_signposts_start_and_stop_it(self):
        self.write(
            "steps.py",
            """
            import opscope
            def warm(): pass
            def step(): pass
            def after(): pass
            warm()
            for _ in range(2):
                opscope.signpost("begin")
                opscope.signpost("begin")
                step()
                opscope.signpost("end")
                after()
            opscope.signpost("end")
            """,
        )
        names = ("warm", "step", "after")
        for options, expected in (
            (["start-signpost", "begin", "stop-signpost", "end"], (0, 2, 0)),
            (["start-signpost", "begin"], (0, 2, 2)),
            (["stop-signpost", "end"], (1, 1, 0)),
            (["start-signpost", "never"], (0, 0, 0)),
        ):
            words = ["--" + word if i % 2 == 0 else word for i, word in enumerate(options)]
            self.assert_status(self.profile(*words, "steps.py"))
            rows = [row["name"] for row in self.zones(self.trace)]
            self.assertEqual(tuple(rows.count(name) for name in names), expected, options)
            self.assertEqual(len(self.opscope_json("messages", self.trace)["rows"]), 7)
            words = ["--python-" + word if i % 2 == 0 else word for i, word in enumerate(options)]
            trace = self.record([self.python, "steps.py"], *words)
            rows = [row["name"] for row in self.zones(trace)]
            self.assertEqual(tuple(rows.count(name) for name in names), expected, options)

    def test_no_hook_outside(self):
        code = """if True:
            import sys, opscope
            native = sys.modules["opscope._native"]
            def hooks():
                monitored = [sys.monitoring.get_tool(i) for i in range(6)] if hasattr(sys, "monitoring") else []
                return native.is_active(), "opscope" in monitored, sys.getprofile(), sys.gettrace()
            before = hooks()
            opscope.signpost("on")
            inside = hooks()[0]
            opscope.signpost("off")
            print(before, inside, hooks())
            """
        for options in ([], ["-l"], ["--c-calls"]):
            done = self.profile("--start-signpost", "on", "--stop-signpost", "off", *options, "-c", code)
            outside = "(False, False, None, None)"
            self.assertEqual(done.stdout, "%s True %s\n" % (outside, outside), done)

    # --- beside other tools ---

    def test_profile_and_trace_functions_of_the_program(self):
        self.write(
            "own.py",
            """
            import sys, threading
            def work(n):
                return sum(work(i) for i in range(n)) + 1
            def count(kind, events):
                def on_event(frame, event, argument):
                    if frame.f_code.co_filename == __file__:
                        events.append((event, frame.f_code.co_name, frame.f_lineno))
                    return on_event
                return on_event
            for setter in (sys.setprofile, sys.settrace):
                events = []
                setter(count(setter.__name__, events))
                work(4)
                setter(None)
                print(setter.__name__, len(events), events[:10], sys.getprofile(), sys.gettrace())
            def in_thread():
                work(2)
            events = []
            threading.setprofile(count("thread", events))
            thread = threading.Thread(target=in_thread)
            thread.start()
            thread.join()
            threading.setprofile(None)
            print(len(events))
            """,
        )
        self.assert_status(self.same(["own.py"]))
        names = [row["name"] for row in self.zones(self.path("same.opscope"))]
        self.assertEqual(names.count("work"), 16 + 16 + 4)

    def test_tools_of_the_library(self):
        self.write(
            "tools.py",
            """
            import bdb, cProfile, io, pstats, trace
            def work(n):
                return sum(work(i) for i in range(n)) + 1
            profile = cProfile.Profile()
            profile.enable()
            work(5)
            profile.disable()
            text = io.StringIO()
            stats = pstats.Stats(profile, stream=text)
            print(sorted((key[2], value[:2]) for key, value in stats.stats.items() if key[0] == __file__))
            tracer = trace.Trace(count=1, trace=0)
            tracer.runfunc(work, 4)
            print(sorted(tracer.results().counts.values()))
            class Debugger(bdb.Bdb):
                lines = 0
                def user_line(self, frame):
                    self.lines += 1
                    self.set_step()
            debugger = Debugger()
            debugger.runcall(work, 3)
            print(debugger.lines)
            """,
        )
        self.assert_status(self.same(["tools.py"]))

    def test_a_frame_hook_of_somebody_elses(self):
        self.write(
            "other.py",
            """
            import ctypes, sys, opscope
            api, other = ctypes.pythonapi, ctypes.PyDLL(sys.argv[1])
            api.PyInterpreterState_Get.restype = ctypes.c_void_p
            api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
            interpreter = ctypes.c_void_p(api.PyInterpreterState_Get())
            def install():
                before = ctypes.c_void_p(api._PyInterpreterState_GetEvalFrameFunc(interpreter))
                other.frame_hook_chain(before)
                api._PyInterpreterState_SetEvalFrameFunc(interpreter, other.frame_hook_evaluate)
                return before
            def inside(): pass
            def frames(function):
                before = other.frame_hook_count()
                function()
                return other.frame_hook_count() - before
            def both():
                with opscope.Profiler():
                    for _ in range(100): inside()
            if sys.argv[2] == "first":          # it was there before us
                install()
                print(frames(both) >= 100)
            else:                               # it comes on top of us, and stays when we have stopped
                profiler = opscope.Profiler()
                profiler.enable()
                before = install()
                print(frames(lambda: [inside() for _ in range(100)]) >= 100)
                profiler.disable()
                inside()
                profiler.enable()
                inside()
                api._PyInterpreterState_SetEvalFrameFunc(interpreter, before)
                inside()
                profiler.disable()
                inside()
            """,
        )
        plugin = harness.program("frame_hook_plugin.so")
        for order, calls in (("first", 100), ("second", 102)):
            done = self.profile("-p", "other.py", plugin, order)
            self.assertEqual((done.status, done.stdout), (0, "True\n"), done)
            self.assertEqual([row["name"] for row in self.zones(self.trace)].count("inside"), calls)

    def test_other_tools_of_sys_monitoring(self):
        self.write(
            "tool.py",
            """
            import sys
            def work(n):
                return sum(work(i) for i in range(n)) + 1
            for tool in (0, 1, 2, 3, 5):
                if not hasattr(sys, "monitoring"):  # before 3.12
                    work(4)
                    continue
                events = sys.monitoring.events
                sys.monitoring.use_tool_id(tool, "mine")
                count = 0
                def on_start(code, offset):
                    global count
                    count += code.co_name == "work"
                sys.monitoring.register_callback(tool, events.PY_START, on_start)
                sys.monitoring.set_events(tool, events.PY_START)
                work(4)
                sys.monitoring.set_events(tool, 0)
                sys.monitoring.restart_events()
                sys.monitoring.free_tool_id(tool)
                print(tool, count)
            """,
        )
        self.assert_status(self.same(["tool.py"]))
        names = [row["name"] for row in self.zones(self.path("same.opscope"))]
        self.assertEqual(names.count("work"), 5 * 16)

    def test_when_no_hook_can_be_had(self):
        code = """if True:
            import ctypes, sys, opscope
            if hasattr(sys, "monitoring"):
                for tool in (2, 3, 4):
                    sys.monitoring.use_tool_id(tool, "mine")
            else:
                while ctypes.pythonapi._PyEval_RequestCodeExtraIndex(None) >= 0:
                    pass
            profiler = opscope.Profiler()
            profiler.enable()
            profiler.disable()
            with profiler:
                print("ran")
            """
        done = self.profile("-p", "-c", code)
        self.assertEqual((done.status, done.stdout), (0, "ran\n"), done)
        reason = "no free tool id" if self.version >= (3, 12) else "no room for another code object attribute"
        self.assertIn("opscope: Python calls are not recorded: ", done.stderr)
        self.assertIn(reason, done.stderr)
        self.assertEqual(stderr_of(done).count("\n"), 1)


class Coverage(Tools, harness.TestCase):
    """Of another project, and seldom there for all interpreters."""

    def test_coverage(self):
        has = [p for p in interpreters() if harness.run([p, "-c", "import coverage"]).status == 0]
        if not has:
            self.skipTest("no interpreter has the module coverage (Debian: python3-coverage)")
        self.write("covered.py", "def used(n):\n    if n:\n        return 1\n    return 2\nused(1)\n")
        for python in has:
            trace = self.record([python, "-m", "coverage", "run", "covered.py"])
            done = self.run_command([python, "-m", "coverage", "report", "-m"])
            self.assertRegex(done.stdout, r"covered.py +5 +1 +80% +4")
            self.assertEqual([row["name"] for row in self.zones(trace)].count("used"), 1)


def load_tests(loader, tests, pattern):
    suite = cases_of_each_python(loader, HookCases, globals())
    suite.addTests(loader.loadTestsFromTestCase(Coverage))
    return suite


if __name__ == "__main__":
    unittest.main()
