# SPDX-License-Identifier: Apache-2.0
"""What a program marks up itself: zones as decorators in every form, and zones and spans that last over waits. On each
interpreter that the build has an extension for."""

import collections
import os
import unittest

import harness
from test_python import PACKAGE, Tools, cases_of_each_python

DECORATED = """
    import asyncio, opscope
    class Model:
        @opscope.zone
        def method(self, x):
            return x
        @opscope.zone
        @staticmethod
        def static(x):
            return x
        @opscope.zone
        @classmethod
        def of_class(cls, x):
            return cls.__name__, x
    @opscope.zone
    def bare(x):
        "its text"
        return x
    @opscope.zone()
    def empty(x):
        return x
    @opscope.zone("with a name")
    def named(x):
        return x
    @opscope.zone
    def numbers(n):
        got = yield n
        return got
    @opscope.zone
    async def waits(n):
        await asyncio.sleep(0)
        return n
    @opscope.zone
    async def stream(n):
        for i in range(n):
            got = yield i
    def delegates():
        return (yield from numbers(4))
    async def main():
        agen = stream(3)
        first = [await agen.asend(None), await agen.asend("x")]
        await agen.aclose()
        return await waits(1), [i async for i in stream(2)], first
    print(bare(3), bare.__name__, bare.__doc__, empty(1), named(2), Model().method(4), Model.static(5), Model.of_class(6))
    generator = delegates()
    print(next(generator))
    try:
        generator.send("sent")
    except StopIteration as stop:
        print(stop.value)
    print(asyncio.run(main()))
    try:
        opscope.zone(Model)
    except TypeError as error:
        print(error)
    """
PRINTED = """\
3 bare its text 1 2 4 5 ('Model', 6)
4
sent
(1, [0, 1], [0, 1])
opscope.zone decorates functions, not classes
"""

REQUESTS = """
    import asyncio, opscope
    async def reply(events, mine, other):
        for _ in range(3):
            await asyncio.sleep(0.002)
    async def handle(n):
        with opscope.zone("request"):
            await reply(None, None, None)
            with opscope.zone("inner"):
                await reply(None, None, None)
        async with opscope.span("span"):
            await reply(None, None, None)
        with opscope.zone("never waits"):
            pass
    async def main():
        await asyncio.gather(*(handle(n) for n in range(4)))
    asyncio.run(main())
    """


class MarkCases(Tools):
    def test_decorators_in_every_form(self):
        path = self.write("decorated.py", DECORATED)
        done = self.run_command([self.python, path], env={"PYTHONPATH": os.path.dirname(PACKAGE)})
        self.assertEqual((done.status, done.stdout, done.stderr), (0, PRINTED, ""), done)
        for flags in ((), ("--python-trace", "off")):
            done = self.opscope("run", "-q", "-o", "t.opscope", *flags, "--", self.python, path)
            self.assertEqual((done.status, done.stdout, done.stderr), (0, PRINTED, ""), done)
            rows = self.zones(self.path("t.opscope"))
            counts = collections.Counter(row["name"] for row in rows if not row["file"])
            unnamed = {"bare", "empty", "Model.method", "Model.static", "Model.of_class"}
            for name in ("with a name", "numbers", "waits", *(unnamed if flags else ())):
                self.assertEqual(counts[name], 1, (name, counts))
            for name in ("bare", "empty"):
                self.assertEqual(sum(row["name"] == name for row in rows), 1, "a function that is recorded is one zone, not two")
            if not flags:
                self.assertFalse(unnamed & set(counts), counts)
            self.assertEqual(counts.get("stream"), 2)
            info = self.opscope_json("info", self.path("t.opscope"))
            self.assertEqual((info["lost_zones"], info["open_zones"]), (0, []))

    def test_zones_and_spans_over_waits(self):
        path = self.write("requests.py", REQUESTS)
        for flags in ((), ("--python-trace", "off")):
            trace = self.record([self.python, path], *flags)
            rows = self.zones(trace)
            info = self.opscope_json("info", trace)
            self.assertEqual((info["lost_zones"], info["open_zones"]), (0, []))
            for name, least_ms in (("request", 12), ("inner", 6), ("span", 6)):
                found = [int(row["duration_ns"]) for row in rows if row["name"] == name and not row["file"]]
                self.assertEqual(len(found), 4, (name, found))
                self.assertGreaterEqual(min(found), least_ms * 1000000)
            self.assertEqual(len([row for row in rows if row["name"] == "never waits"]), 4)
            kinds = {track["kind"] for track in info["tracks"]}
            self.assertEqual(kinds, {"thread", "span"} if flags else {"thread", "task", "span"})
            if not flags:  # the part before the first wait is among the calls, on the task's track
                parts = {row["thread"] for row in rows if row["name"] == "request (to its first wait)"}
                self.assertEqual(len(parts), 4)
                self.assertEqual(parts, {row["thread"] for row in rows if row["name"] == "handle"})

    def test_a_span_that_never_ends_is_shown(self):
        path = self.write("killed.py", """
            import os, opscope
            opscope.span("request").__enter__()
            os.kill(os.getpid(), 9)
            """)
        self.opscope("run", "-q", "-o", "t.opscope", self.python, path)
        open_zones = self.opscope_json("info", self.path("t.opscope"))["open_zones"]
        self.assertIn("request", [zone["name"] for zone in open_zones])

    def test_a_refused_call_is_not_counted(self):
        """As cProfile: a call that ends in RecursionError before it began is none."""
        path = self.write("deep.py", """
            import cProfile, pstats, sys
            def deeper(n):
                deeper(n + 1)
            def outer():
                try:
                    deeper(0)
                except RecursionError:
                    pass
            if sys.argv[1:]:
                profile = cProfile.Profile()
                profile.runcall(outer)
                found = pstats.Stats(profile).stats
                print([key[2] for key in found].count("deeper"), [v[1] for k, v in found.items() if k[2] == "deeper"][0])
            else:
                depth = 0
                def count(n):
                    global depth
                    depth = n
                    count(n + 1)
                try:
                    count(1)
                except RecursionError:
                    print(depth)
            """)
        plain = self.run_command([self.python, path])
        trace = self.record([self.python, path])
        names = [row["name"] for row in self.zones(trace)]
        self.assertEqual(names.count("count"), int(plain.stdout))


class SiteCases(Tools):
    """A sitecustomize of the user's own, and two copies of the package."""

    def test_a_sitecustomize_that_fails(self):
        program = self.write("p.py", "import sys\ndef called(): pass\ncalled()\nprint('sitecustomize' in sys.modules)\n")
        os.mkdir(self.path("site"))
        for text in ("raise ValueError('mine')", "import sys; del sys.modules['sitecustomize']", "import no_such_module"):
            self.write("site/sitecustomize.py", text)
            env = {"PYTHONPATH": self.path("site")}
            plain = self.run_command([self.python, program], env=env)
            done = self.opscope("run", "-q", "-o", "t.opscope", "--", self.python, program, env=env)
            self.assertEqual((done.status, done.stdout, done.stderr), (plain.status, plain.stdout, plain.stderr), text)
            self.assertEqual([row["name"] for row in self.zones(self.path("t.opscope"))].count("called"), 1, text)

    def test_two_copies_of_the_package(self):
        """One injected, one installed: neither is in the way of the other."""
        import shutil

        os.mkdir(self.path("installed"))
        shutil.copytree(PACKAGE, self.path("installed", "opscope"), symlinks=True)
        env = {"PYTHONPATH": self.path("installed"), "LD_LIBRARY_PATH": harness.BUILD}
        self.write("test_it.py", "import opscope\ndef called(): pass\ndef test_it():\n    called()\n")
        has_pytest = self.run_command([self.python, "-c", "import pytest"]).status == 0
        words = ["-m", "pytest", "-q", "test_it.py"] if has_pytest else ["-c", "import test_it; test_it.test_it()"]
        for command in ([self.python, *words], [self.python, "-m", "opscope", *words]):
            done = self.opscope("run", "-q", "-o", "t.opscope", "--", *command, env=env)
            self.assertEqual((done.status, done.stderr), (0, ""), done)
            names = [row["name"] for row in self.zones(self.path("t.opscope"))]
            self.assertEqual(names.count("called"), 1)
            if has_pytest:
                self.assertIn("test_it.py::test_it", names)


def load_tests(loader, tests, pattern):
    suite = cases_of_each_python(loader, MarkCases, globals())
    suite.addTests(cases_of_each_python(loader, SiteCases, globals(), kinds=("",)))
    return suite


if __name__ == "__main__":
    unittest.main()
