# SPDX-License-Identifier: Apache-2.0
"""Inference servers end their workers with SIGKILL: whatever the workers had recorded is in the trace, ops and what ran
on devices included, from C and from Python."""

import os
import unittest

import facts
import harness
from test_python import Tools, cases_of_each_python

LAYERS = 4  # programs/inference.c

PYTHON = """
import os, signal, sys
import opscope

def layer(i):
    with opscope.op("layer %d" % i):
        pass

def step():
    for i in range(4):
        layer(i)

def serve(steps, done):
    for _ in range(steps):
        step()
    os.write(done, b"d")
    while True:
        signal.pause()

readable, done = os.pipe()
workers = []
for rank in range(3):
    pid = os.fork()
    if pid == 0:
        serve(int(sys.argv[1]), done)
    workers.append(pid)
for _ in workers:
    os.read(readable, 1)
for pid in workers:
    os.kill(pid, signal.SIGKILL)
for pid in workers:
    os.waitpid(pid, 0)
"""


class Server(harness.TestCase):
    def check(self, workers, steps, how, *options):
        output = self.path("t.opscope")
        done = self.opscope("run", "-o", output, *options, "--", harness.program("inference"), workers, steps, how)
        self.assert_status(done)
        trace = facts.Trace(output)
        calls = workers * steps * LAYERS
        self.assertEqual(trace.counts(), {"schedule": 1, "step": workers * steps, "gemm": calls, "all_reduce": calls,
                                          "fetch weights": workers,
                                          **{f"layer {i}": workers * steps for i in range(LAYERS)}})
        self.assertEqual((trace.info["ops"], trace.info["runs"]), (calls, 2 * calls + workers))
        self.assertEqual(trace.open_names(), ["serve"] * workers)
        self.assertEqual((trace.lost_zones, trace.lost_records, trace.losses()), (0, 0, []))
        self.assertTrue(trace.info["is_complete"])
        self.assertEqual(len(trace.processes), workers + 1)
        return trace


class Inference(Server):
    def test_forked_workers(self):
        self.check(4, 500, "fork")

    def test_workers_with_an_image_of_their_own(self):
        self.check(3, 500, "exec")

    def test_a_buffer_that_is_used_many_times(self):
        self.check(2, 20000 * harness.REPEAT, "fork", "--buffer-size", "2M", "--on-full", "wait")


class BackToCode(Server):
    """From the time on devices back to the code that launched it."""

    WORKERS, STEPS = 3, 50

    def record(self):
        return self.check(self.WORKERS, self.STEPS, "fork").path

    def line_of(self, text):
        with open(os.path.join(harness.SOURCE, "tests", "system", "programs", "inference.c"), encoding="utf-8") as file:
            return next(number for number, line in enumerate(file, 1) if text in line)

    def test_tree(self):
        trace, steps = self.record(), self.WORKERS * self.STEPS
        rows = self.opscope_json("tree", "--by", "device-time", "--merge", trace)["rows"]
        nodes = {row["node"]: row for row in rows}

        def path(row):
            above = path(nodes[row["parent"]]) if row["parent"] is not None else []
            return above + [row["name"]]

        found = {"/".join(path(row)): (row["total_ns"], row["count"]) for row in rows}
        expected = {"fetch weights": (5000 * self.WORKERS, self.WORKERS),
                    "serve": (1000 * LAYERS * steps, 2 * LAYERS * steps),
                    "serve/step": (1000 * LAYERS * steps, 2 * LAYERS * steps)}
        for i in range(LAYERS):
            expected[f"serve/step/layer {i}"] = (1000 * steps, 2 * steps)
            expected[f"serve/step/layer {i}/gemm"] = (700 * steps, steps)
            expected[f"serve/step/layer {i}/all_reduce"] = (300 * steps, steps)
        self.assertEqual(found, expected)
        threads = {(row["pid"], row["thread"]) for row in self.opscope_json("tree", "--by", "device-time", trace)["rows"]}
        self.assertEqual(len(threads), 2 * self.WORKERS, "the workers' threads, and their DMA tracks")
        one = self.opscope_json("tree", "--by", "device-time", "--merge", "--name", "gemm", trace)["rows"]
        self.assertNotIn("all_reduce", [row["name"] for row in one])
        self.assertIn("gemm", [row["name"] for row in one])

    def test_collapsed(self):
        trace = self.record()
        done = self.opscope("export", "--format", "collapsed", "--flame-by", "device", "-o", "-", trace)
        self.assert_status(done)
        sums = {}
        for line in done.stdout.splitlines():
            stack, weight = line.rsplit(" ", 1)
            name = ";".join(stack.split(";")[2:])
            sums[name] = sums.get(name, 0) + int(weight)
        self.assertEqual(sums["serve;step;layer 0;gemm"], 700 * self.WORKERS * self.STEPS)
        self.assertEqual(sum(sums.values()), self.WORKERS * (1000 * LAYERS * self.STEPS + 5000))

    def test_source_lines(self):
        trace = self.record()
        place = "inference.c:%d" % self.line_of('OPSCOPE_ZONE("step")')
        rows = self.opscope_json("ops", trace)["rows"]
        calls = [row for row in rows if row["type"] == "device"]
        self.assertEqual(len(calls), self.WORKERS * self.STEPS * LAYERS)
        self.assertTrue(all(row["location"].endswith(place) for row in calls), calls[0])
        others = [row for row in rows if row["type"] == "run"]
        self.assertEqual([(row["name"], row["device_time_ns"]) for row in others],
                         [("fetch weights", 5000)] * self.WORKERS)
        report = self.opscope_json("report", trace)
        self.assertTrue(any((row.get("location") or "").endswith(place) for row in report["rows"]), report["rows"][0])

    def test_shares_of_several_devices(self):
        """The parts add up to the whole, whatever number of devices and queues there are."""
        summary = self.opscope_json("summary", self.record())
        parts = summary["partition"]["parts"]
        self.assertEqual(sum(part["ns"] for part in parts), summary["partition"]["total_ns"])
        self.assertAlmostEqual(sum(part["share"] for part in parts), 1, places=9)
        done = self.opscope("summary", self.path("t.opscope"))
        self.assertIn("At least one of 3 devices worked", done.stdout)


class PythonCases(Tools):
    def test_forked_workers(self):
        script, output = self.write("server.py", PYTHON), self.path("t.opscope")
        self.assert_status(self.opscope("run", "-o", output, "--", self.python, script, 300))
        trace = facts.Trace(output)
        counts = trace.counts()
        self.assertEqual((counts["step"], counts["layer"]), (900, 3600))
        self.assertEqual([counts["layer %d" % i] for i in range(4)], [900] * 4)
        self.assertEqual(trace.info["ops"], 3600)
        self.assertEqual(trace.open_names().count("serve"), 3)
        self.assertEqual((trace.lost_zones, trace.lost_records), (0, 0))


def load_tests(loader, tests, pattern):
    suite = cases_of_each_python(loader, PythonCases, globals())
    suite.addTests(loader.loadTestsFromTestCase(Inference))
    suite.addTests(loader.loadTestsFromTestCase(BackToCode))
    return suite


if __name__ == "__main__":
    unittest.main()
