# SPDX-License-Identifier: Apache-2.0
"""Python programs at their limits, and when recording fails: the program does what it does without a profiler, down to
its exit status and what it prints, and the trace holds what there was. On each interpreter that the build has an
extension for; in a debug build the reference counts are checked, too."""

import os
import unittest

import harness
from test_python import PACKAGE, Tools, cases_of_each_python, stderr_of

RECURSION = """
    import sys, threading
    def down(n):
        return 1 + down(n + 1)
    def bounded(n):
        return 1 + bounded(n - 1) if n else 0
    def limit():
        try:
            down(0)
        except RecursionError as error:
            return type(error).__name__
    print(limit(), limit())
    sys.setrecursionlimit(3000)
    print(bounded(2500), limit())
    def in_thread():
        print(bounded(400), limit())
    sys.setrecursionlimit(1000)
    threading.stack_size(int(sys.argv[1]))
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    """

OVERFLOW = """
    import sys
    sys.setrecursionlimit(10 ** 6)
    def down(n):
        return list(map(down, [n + 1]))
    try:
        down(0)
    except RecursionError:      # 3.12 and later count C calls
        print("RecursionError")
    """

AT_EXIT = """
    import atexit, sys, threading, time
    def spin():
        while True:
            step()
    def step():
        return sum(range(10))
    for _ in range(3):
        threading.Thread(target=spin, daemon=True).start()
    def late():
        time.sleep(0.05)
        print("late")
    threading.Thread(target=late).start()
    atexit.register(lambda: print("at exit", step()))
    class Last:
        def __del__(self):
            print("deleted", step())
    kept = Last()
    """

DELETED = """
    import os, sys
    class Fails:
        def __del__(self):
            raise ValueError("from __del__")
    def make():
        Fails()
        return [Fails() for _ in range(3)]
    sys.unraisablehook = lambda it: print("unraisable", type(it.exc_value).__name__, it.exc_value)
    for _ in range(3):
        make()
    def generator():
        try:
            yield 1
        finally:
            inside()
            raise KeyError("closed")
    def inside():
        pass
    next(generator())
    print("end")
    """

FORKS = """
    import os, opscope
    def in_child(n):
        return 0 if not n else in_child(n - 1)
    def forks(deep):
        if deep:
            return forks(deep - 1)
        with opscope.zone("around"):
            pid = os.fork()
            if not pid:
                in_child(3)
        if not pid:
            with opscope.zone("in the child"):
                in_child(2)
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print([forks(3) for _ in range(3)])
    """

FREED = """
    import gc
    calls = 0
    for i in range(20000):
        names = {}
        exec("def made_%d(n):\\n    return n" % (i % 50), names)
        calls += names["made_%d" % (i % 50)](1)
        del names
    gc.collect()
    print(calls)
    """

LATE = """
    import gc, opscope
    def numbers(kept):
        try:
            with opscope.zone("in generator"):
                yield 1
                yield 2
        finally:
            closed()
    def closed():
        pass
    def starts():
        left = numbers(None)
        next(left)
        return left
    def outer():
        return [starts() for _ in range(5)]
    kept = outer()
    kept.pop().close()
    del kept[1:]
    ring = [starts()]
    ring.append(ring)
    del ring
    gc.collect()
    for value in kept[0]:
        print(value)
    last = starts()     # closed when the interpreter ends
    print("end")
    """

UNBALANCED = """
    import threading, opscope
    def inside():
        pass
    profiler = opscope.Profiler()
    profiler.disable()
    profiler.disable()
    inside()                    # not recorded
    profiler.enable()
    inside()
    profiler.disable()
    profiler.disable()
    def enables():
        profiler.enable()
        inside()
    enables()                   # enabled inside a call that goes on outside
    inside()
    thread = threading.Thread(target=profiler.disable)
    thread.start()
    thread.join()
    inside()                    # not recorded
    def turns():
        with profiler:
            yield inside()
            yield inside()
    left = turns()
    next(left)
    inside()
    next(left)
    left.close()
    inside()                    # not recorded
    profiler.enable()
    inside()
    """


class FaultCases(Tools):
    def count(self, trace, name):
        return [row["name"].split(".")[-1] for row in self.zones(trace)].count(name)

    def assert_nothing_lost(self, trace):
        info = self.opscope_json("info", trace)
        self.assertEqual((info["lost_zones"], info["lost_records"]), (0, 0))

    # --- recursion ---

    def test_recursion_to_the_limit_and_past_it(self):
        self.write("recursion.py", RECURSION)
        for stack in (0, 1 << 20):
            plain = self.same(["recursion.py", str(stack)])
            self.assert_status(plain)
            self.assertIn("RecursionError", plain.stdout)
        trace = self.path("same.opscope")
        self.assertEqual(self.count(trace, "bounded"), 2501 + 401)
        self.assert_nothing_lost(trace)
        for options in (["--python-trace", "lines"], ["--python-c-calls"], ["--python-max-depth", "5"]):
            done = self.opscope("run", "-q", "-o", self.path("u.opscope"), *options, self.python, "recursion.py", "0")
            self.assertEqual((done.status, done.stdout), (0, plain.stdout), done)

    def test_stack_overflow(self):
        self.write("overflow.py", OVERFLOW)
        plain = self.same(["overflow.py"])
        trace = self.path("same.opscope")
        self.assertGreater(self.count(trace, "<module>") + len(self.opscope_json("info", trace)["open_zones"]), 0)
        if plain.status == 0:
            self.assertEqual(plain.stdout, "RecursionError\n")

    # --- the end of things ---

    def survives(self, action):
        """CPython 3.10 frees the interpreter while daemon threads wait for its lock: one that takes it then crashes, with
        opscope or without, about once in 200 runs on a busy machine. One of a few attempts has to succeed."""
        for attempts_left in range(4, -1, -1):
            try:
                return action()
            except AssertionError as error:
                if "-11" not in str(error) or not attempts_left:
                    raise

    def test_threads_at_shutdown(self):
        self.write("at_exit.py", AT_EXIT)
        for _ in range(3 * harness.REPEAT):
            self.survives(lambda: self.assert_status(self.same(["at_exit.py"])))

        def record(options):
            done = self.opscope("run", "-q", "-o", self.path("u.opscope"), *options, self.python, "at_exit.py")
            self.assertEqual((done.status, stderr_of(done)), (0, ""), done)

        for options in (["--python-trace", "lines"], ["--python-c-calls", "--python-gc"]):
            self.survives(lambda options=options: record(options))

    def test_exceptions_from_del(self):
        self.write("deleted.py", DELETED)
        self.assert_status(self.same(["deleted.py"]))
        trace = self.path("same.opscope")
        self.assertEqual(self.count(trace, "__del__"), 12)
        self.assertEqual(self.opscope_json("info", trace)["open_zones"], [])

    def test_generators_closed_late(self):
        self.write("late.py", LATE)
        for options in ([], ["--python-trace", "lines"], ["--python-c-calls"]):
            trace = self.record([self.python, "late.py"], *options)
            self.assert_nothing_lost(trace)
            self.assertEqual(self.count(trace, "closed"), 7, options)
            self.assertEqual(self.opscope_json("info", trace)["open_zones"], [])

    def test_fork_in_the_middle_of_a_zone(self):
        self.write("forks.py", FORKS)
        for options in ([], ["--python-trace", "lines"], ["--python-c-calls"]):
            trace = self.record([self.python, "forks.py"], *options)
            self.assertEqual(self.count(trace, "in_child"), 3 * (4 + 3))
            self.assertEqual(self.count(trace, "in the child"), 3)
            self.assertEqual(self.count(trace, "around"), 3)
            self.assertEqual(self.opscope_json("info", trace)["lost_zones"], 0)

    # --- code ---

    def test_sources_of_other_encodings(self):
        source = "# -*- coding: %s -*-\ndef gr\u00fc\u00dfe():\n    return '\u00e4'\nprint(ascii(gr\u00fc\u00dfe()))\n"
        for encoding in ("latin-1", "utf-8", "cp1252", "utf-8-sig"):
            self.write("source.py", source % encoding, encoding)
            self.assert_status(self.same(["source.py"]))
            self.assertEqual(self.count(self.path("same.opscope"), "gr\u00fc\u00dfe"), 1)
        with open(os.fsencode(self.folder) + b"/\xff.py", "wb") as file:
            file.write(b"def inside(): pass\ninside()\n")
        done = self.opscope("run", "-q", "-o", self.path("u.opscope"), self.python, os.fsdecode(b"\xff.py"))
        self.assert_status(done)
        self.assertEqual(self.count(self.path("u.opscope"), "inside"), 1)
        surrogates = "code = compile('def a(): pass', 'x\\udcff', 'exec'); exec(code.replace(co_name='b\\udc80')); a()"
        self.assert_status(self.same(["-c", surrogates]))

    def test_sources_deleted_while_they_run(self):
        self.write(
            "gone.py",
            """
            import os, shutil
            import helper
            os.remove(helper.__file__)
            shutil.rmtree(os.path.dirname(__file__))
            def fails():
                raise ValueError
            helper.used()
            try:
                fails()
            except ValueError:
                print("ran")
            """,
        )
        for options in ([], ["--python-trace", "lines"]):
            os.makedirs(self.path("folder"))
            self.write("folder/helper.py", "def used():\n    pass\n")
            os.rename(self.path("gone.py"), self.path("folder", "gone.py"))
            text = open(self.path("folder", "gone.py"), encoding="utf-8").read()
            script = self.path("folder", "gone.py")
            done = self.opscope("run", "-q", "-o", self.path("t.opscope"), *options, self.python, script)
            self.assertEqual((done.status, done.stdout), (0, "ran\n"), done)
            self.assertEqual(self.count(self.path("t.opscope"), "used"), 1)
            self.assert_status(self.opscope("zones", self.path("t.opscope")))
            self.write("gone.py", text)

    def test_code_that_is_freed(self):
        self.write("freed.py", FREED)
        for options in ([], ["--python-trace", "lines"]):
            trace = self.record([self.python, "freed.py"], *options)
            self.assert_nothing_lost(trace)
            names = [row["name"] for row in self.zones(trace)]
            for n in range(50):
                self.assertEqual(names.count("made_%d" % n), 400)

    def test_very_many_code_objects(self):
        self.write(
            "many.py",
            """
            import sys
            def one():
                return 1
            code, made, total = one.__code__, type(one), 0
            for i in range(int(sys.argv[1])):
                total += made(code.replace(co_name="made_%d" % i, co_firstlineno=i + 1), {})()
            print(total)
            """,
        )
        count = 1000000 if harness.REPEAT > 1 else 50000
        trace = self.path("t.opscope")
        done = self.opscope("run", "-q", "-o", trace, "--buffer-size", "512M", "--", self.python, "many.py", str(count))
        self.assertEqual((done.status, done.stdout, stderr_of(done)), (0, "%d\n" % count, ""))
        info = self.opscope_json("info", trace)
        self.assertEqual(info["lost_zones"], 0)
        self.assertGreaterEqual(info["zones"], count)

    # --- recording ---

    def test_unbalanced_enable_and_disable(self):
        self.write("unbalanced.py", UNBALANCED)
        for options in ([], ["-l"], ["--c-calls"], ["--gc", "--max-depth", "9"]):
            done = self.profile("-p", *options, "unbalanced.py")
            self.assertEqual((done.status, done.stdout, stderr_of(done)), (0, "", ""), done)
            self.assertEqual(self.count(self.trace, "inside"), 1 + 2 + 3 + 1, options)
            info = self.opscope_json("info", self.trace)
            self.assertEqual((info["open_zones"], info["lost_zones"]), ([], 0))

    @harness.needs_tmpfs
    def test_full_output_folder(self):
        folder = self.mount_tmpfs("256k")
        self.write("busy.py", "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nprint(f(21))\n")
        command = ["run", "-o", os.path.join(folder, "t.opscope"), self.python, self.path("busy.py")]
        with open(os.path.join(folder, "filler"), "wb") as file:
            file.write(b"x" * (230 << 10))
        done = self.opscope(*command)
        self.assertEqual((done.status, done.stdout), (0, "10946\n"), done)
        self.assertRegex(done.stderr, "No space left")

    @harness.needs_tmpfs
    def test_full_session_folder(self):
        folder = self.mount_tmpfs("512k")
        self.write("busy.py", "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nprint(f(21))\n")
        command = ["run", "-o", self.path("t.opscope"), self.python, self.path("busy.py")]
        done = self.opscope(*command, env={"OPSCOPE_DIR": folder})
        self.assertEqual((done.status, done.stdout), (0, "10946\n"), done)

    @harness.needs_tmpfs
    def test_read_only_folders(self):
        folder = self.mount_tmpfs("1m")
        self.write("tmpfs/said.py", "def f():\n    print('ran')\nf()\n")
        self.assert_status(self.run_command(["mount", "-o", "remount,ro", folder]))
        done = self.opscope("run", "-q", self.python, "said.py", cwd=folder)
        self.assertEqual((done.status, done.stdout), (125, ""), done)
        self.assertIn("choose another with -o", done.stderr)
        trace = self.path("t.opscope")
        done = self.opscope("run", "-q", "-o", trace, self.python, "said.py", cwd=folder, env={"OPSCOPE_DIR": folder})
        self.assertEqual((done.status, done.stdout), (0, "ran\n"), done)  # no session: it runs unrecorded
        done = self.opscope("run", "-q", "-o", trace, self.python, "said.py", cwd=folder)
        self.assertEqual((done.status, done.stdout, self.count(trace, "f")), (0, "ran\n", 1), done)

    def test_the_collector_is_killed(self):
        self.write(
            "orphan.py",
            """
            import os, signal, time
            def work():
                return sum(range(100))
            work()
            os.kill(os.getppid(), signal.SIGKILL)
            for _ in range(30000):
                work()
            with open("result", "w") as file:
                file.write("ran")
            """,
        )
        os.mkdir(self.path("sessions"))
        env = {"OPSCOPE_DIR": self.path("sessions")}
        self.opscope("run", "-q", "-o", self.path("t.opscope"), self.python, "orphan.py", env=env)
        harness.wait_until(lambda: os.path.exists(self.path("result")), "the program to go on by itself")
        (session,) = os.listdir(self.path("sessions"))
        self.assert_status(self.opscope("recover", self.path("sessions", session)))
        found, lost = self.count(self.path("t.opscope"), "work"), self.opscope_json("info", self.path("t.opscope"))
        self.assertGreater(found, 0)
        self.assertLessEqual(found, 30001)
        self.assertGreaterEqual(found + lost["lost_zones"], 30001)


COUNTS = """
    import asyncio, gc, importlib, sys, opscope
    def plain(n):
        return n if n < 2 else plain(n - 1) + plain(n - 2)
    def generator():
        with opscope.zone("in generator"):
            yield from range(3)
    def fails():
        try:
            raise ValueError
        except ValueError:
            return sorted([3, 1, 2], key=lambda n: -n)
    async def leaf():
        await asyncio.sleep(0)
    async def tasks():
        await asyncio.gather(leaf(), leaf())
    def work():
        plain(8)
        list(generator())
        next(generator())
        fails()
        loop.run_until_complete(tasks())
        sys.modules.pop("colorsys", None)
        importlib.import_module("colorsys")
        exec("def made(): return 1\\nmade()", {})
        with opscope.op("matmul", inputs=[Tensor()]) as call:
            call.output(Tensor())
        opscope.signpost("one", "two")
        opscope.message("text")
        opscope.counter("count", 1)
        opscope.frame("step")
        gc.collect()
    class Tensor:
        shape = (2, 3)
        dtype = "float32"
    loop = asyncio.new_event_loop()
    clear_caches = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
    def counts():
        gc.collect()
        clear_caches()
        return sys.gettotalrefcount()
    profiler = opscope.Profiler()
    seen = [0] * 30
    for round in range(30):
        with profiler:
            work()
        seen[round] = counts()
    loop.close()
    print(max(seen[20:]) - max(seen[10:20]))
    """


class CountCases(Tools):
    """In debug builds of Python: what grows with every round, and does not without opscope (3.14 keeps one reference a
    round), was not given back."""

    def test_reference_counts(self):
        self.write("counts.py", COUNTS)
        untraced = self.run_command([self.python, "counts.py"], env={"PYTHONPATH": os.path.dirname(PACKAGE)})
        self.assert_status(untraced)
        for options in ([], ["-l"], ["--c-calls"], ["--gc"], ["--import-frames"], ["--exclude", "colorsys"]):
            done = self.profile("-p", *options, "counts.py")
            self.assert_status(done)
            self.assertEqual(stderr_of(done), "")
            self.assertLess(abs(int(done.stdout) - int(untraced.stdout)), 10, options)
            names = [row["name"] for row in self.zones(self.trace)]
            self.assertEqual(names.count("plain"), 30 * 67)


def load_tests(loader, tests, pattern):
    suite = cases_of_each_python(loader, FaultCases, globals())
    suite.addTests(cases_of_each_python(loader, CountCases, globals(), kinds=("debug-",)))
    return suite


if __name__ == "__main__":
    unittest.main()
