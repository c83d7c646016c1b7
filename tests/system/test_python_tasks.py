# SPDX-License-Identifier: Apache-2.0
"""Tracks for what runs in turn on a thread besides asyncio's tasks: greenlets, gevent, trio. Of other projects, and seldom
there for all interpreters: each test takes those that have the module."""

import unittest

import harness
from test_python import Tools, interpreters

GREENLETS = """
    import greenlet
    main = greenlet.getcurrent()
    def step(n):
        pass
    def worker(n):
        for i in range(3):
            step(n)
            main.switch()
    def drive(count):
        greenlets = [greenlet.greenlet(worker) for _ in range(count)]
        for turn in range(4):
            for n, one in enumerate(greenlets):
                one.switch(n)
    drive(5)
    drive(5)
    """

GEVENT = """
    import gevent
    def sleeper(n):
        gevent.sleep(0.007)
    gevent.joinall([gevent.spawn(sleeper, n) for n in range(5)])
    """

TRIO = """
    import trio
    def plain():
        pass
    async def child(n):
        plain()
        await trio.sleep(0)
        plain()
    async def main():
        async with trio.open_nursery() as nursery:
            for n in range(3):
                nursery.start_soon(child, n, name="child %d" % n)
    trio.run(main)
    """


class OtherTasks(Tools, harness.TestCase):
    def each_with(self, module, package):
        has = [path for path in interpreters() if harness.run([path, "-c", "import " + module]).status == 0]
        if not has:
            self.skipTest("no interpreter has the module %s (Debian: %s)" % (module, package))
        return has

    def checked(self, trace, may_be_open=()):
        info = self.opscope_json("info", trace)
        self.assertEqual((info["lost_zones"], info["lost_records"]), (0, 0))
        self.assertEqual({zone["name"] for zone in info["open_zones"]} - set(may_be_open), set())
        return self.zones(trace)

    def test_greenlets(self):
        path = self.write("greenlets.py", GREENLETS)
        for python in self.each_with("greenlet", "python3-greenlet"):
            for flags in ((), ("--python-c-calls",), ("--python-trace", "lines")):
                rows = self.checked(self.record([python, path], *flags))
                workers = [row for row in rows if row["name"] == "worker"]
                # Two rounds of five, which use the same five tracks; none is inside another.
                self.assertEqual(len(workers), 10, flags)
                self.assertEqual({row["thread"] for row in workers}, {"greenlet %d" % n for n in range(1, 6)})
                self.assertEqual({row["depth"] for row in workers}, {"0"})
                steps = [row for row in rows if row["name"] == "step"]
                self.assertEqual(len(steps), 30)
                for row in steps:
                    inside = [one for one in workers if one["thread"] == row["thread"]
                              and int(one["start_ns"]) <= int(row["start_ns"])
                              and int(row["start_ns"]) + int(row["duration_ns"])
                              <= int(one["start_ns"]) + int(one["duration_ns"])]  # fmt: skip
                    self.assertEqual(len(inside), 1)
                drives = [row for row in rows if row["name"] == "drive"]
                self.assertEqual(len(drives), 2)

    def test_greenlets_on_the_threads_track(self):
        path = self.write("greenlets.py", GREENLETS)
        for python in self.each_with("greenlet", "python3-greenlet"):
            trace = self.record([python, path], "--python-no-async")
            kinds = {track["kind"] for track in self.opscope_json("info", trace)["tracks"]}
            self.assertEqual(kinds, {"thread"})

    def test_a_trace_function_of_the_program(self):
        path = self.write("traced.py", """
            import greenlet
            seen = []
            def worker():
                pass
            before = greenlet.settrace(lambda event, pair: seen.append(event))
            greenlet.greenlet(worker).switch()
            print(seen)
            """)
        for python in self.each_with("greenlet", "python3-greenlet"):
            plain = self.run_command([python, path])
            done = self.opscope("run", "-q", "-o", "t.opscope", python, path)
            self.assertEqual((done.status, done.stdout), (plain.status, plain.stdout), done)

    def test_gevent(self):
        path = self.write("sleepers.py", GEVENT)
        for python in self.each_with("gevent", "python3-gevent"):
            rows = self.checked(self.record([python, path]), ("Hub.run", "run"))
            sleepers = [row for row in rows if row["name"] == "sleeper"]
            self.assertEqual(len({row["thread"] for row in sleepers}), 5)
            self.assertGreaterEqual(min(int(row["duration_ns"]) for row in sleepers), 7000000)
            self.assertEqual(len({row["depth"] for row in sleepers}), 1)

    def test_trio(self):
        path = self.write("nursery.py", TRIO)
        for python in self.each_with("trio", "python3-trio"):
            rows = self.checked(self.record([python, path]))
            plain = {}
            for row in rows:
                if row["name"] == "plain":
                    plain[row["thread"]] = plain.get(row["thread"], 0) + 1
            self.assertEqual(plain, {"child %d" % n: 2 for n in range(3)})


if __name__ == "__main__":
    unittest.main()
