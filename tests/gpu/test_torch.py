#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch under opscope run, on a GPU: its ops, their kernels and FLOPs against what torch itself says, and what recording
costs. Each test prints its figures."""

import concurrent.futures
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import unittest

import gpu

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_programs.py")
PAIRS = 3
ROUNDS = int(os.environ.get("OPSCOPE_TEST_ROUNDS", "2"))
SETTINGS = (
    ("kernels alone", ("--python-no-torch", "--python-trace", "off")),
    ("ops alone", ("--devices", "none", "--python-trace", "off")),
    ("ops and kernels", ("--python-trace", "off")),
    ("Python calls alone", ("--devices", "none", "--python-no-torch")),
    ("everything", ()),
)


def is_kernel(run):
    return not run["name"].startswith(("memcpy", "memset"))


class TestCase(gpu.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not gpu.has_torch():
            raise unittest.SkipTest("this Python has no torch with CUDA")
        done = subprocess.run(
            [gpu.OPSCOPE, "setup", "torch", "--python", sys.executable], capture_output=True, text=True
        )
        gpu.say((done.stdout + done.stderr).strip().replace("\n", "\n    "))
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)

    def bare(self, *words):
        done = subprocess.run([sys.executable, PROGRAM, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def record_program(self, name, *words, **more):
        trace = self.record(name, sys.executable, PROGRAM, *words, **more)
        gpu.say(trace.err.strip().replace("\n", "\n    "))
        self.assertNotIn("not recorded", trace.err)
        return trace

    def report(self, trace):
        return json.loads(trace.command("report", "--json", trace.path))["rows"]


class TransformerBlock(TestCase):
    def compare(self, how):
        """Processes in turn, and their medians: the same kernels take 1 % more or less in the next process."""
        ours, theirs = [], []
        for _ in range(PAIRS):
            trace = self.record_program("block-" + how, "block", how)
            kernels = [run for run in trace.runs() if is_kernel(run)]
            seen = self.bare("block", how, "profiler")
            ours.append(sum(run["end"] - run["start"] for run in kernels))
            theirs.append(seen["us"])
            gpu.say("%s: %d kernels, %.1f us; torch.profiler: %d kernels, %.1f us"
                    % (how, len(kernels), ours[-1], seen["kernels"], theirs[-1]))
            self.assertEqual(len(kernels), seen["kernels"])
        ratio = sorted(ours)[PAIRS // 2] / sorted(theirs)[PAIRS // 2]
        gpu.say("%s: %+.2f %%, medians of %d" % (how, (ratio - 1) * 100, PAIRS))
        self.assertAlmostEqual(ratio, 1, delta=0.01)
        self.attribution(trace, kernels, ours[-1])
        return trace

    def attribution(self, trace, kernels, total_us):
        ops = trace.ops()
        with_op, names = 0, {}
        for run in kernels:
            op = ops.get(run["call"])
            name = op["name"] if op else "(no op)"
            names[name] = names.get(name, 0) + run["end"] - run["start"]
            with_op += (run["end"] - run["start"]) * (name != run["name"] and op is not None)
        most = sorted(names.items(), key=lambda item: -item[1])[:12]
        gpu.say("kernel time with an op: %.2f %%" % (with_op / total_us * 100))
        gpu.say("by op: " + ", ".join("%s %.0f us" % item for item in most))
        self.assertGreaterEqual(with_op / total_us, 0.95)

    def flops(self, trace, steps):
        counted = self.bare("block", "eager", "flops")
        rows = self.report(trace)
        matrix = [row for row in rows if row.get("flop_count") and re.match("matmul|conv|attention", row["model"] or "")]
        total = sum(row["flop_count"] for row in matrix)
        by_op = {}
        for row in matrix:
            by_op[row["op_code"]] = by_op.get(row["op_code"], 0) + row["flop_count"] / steps
        gpu.say("FLOPs of a step: opscope %.6g %s" % (total / steps, by_op))
        gpu.say("flop_counter %.6g %s (torch %s)" % (counted["flops"], counted["by_op"], counted["torch"]))
        self.assertAlmostEqual(total / steps / counted["flops"], 1, places=6)

    def test_eager(self):
        trace = self.compare("eager")
        gpu.say(trace.command("report", "--top", "12", trace.path).replace("\n", "\n    "))
        self.flops(trace, 30)

    def test_graph(self):
        trace = self.compare("graph")
        self.flops(trace, 30 + 3)  # three steps before the capture; those of the capture itself do not run


INSIDE = """
import sys, torch, opscope
x = torch.ones(256, 256, device="cuda")
graph, static = torch.cuda.CUDAGraph(), torch.ones(256, 256, device="cuda")
static @ static
torch.cuda.synchronize()
with torch.cuda.graph(graph):
    result = static @ static
for path in sys.argv[1:]:
    with opscope.record(path):
        for _ in range(50):
            y = x @ x
        graph.replay()
        torch.cuda.synchronize()
    y = x + x
torch.cuda.synchronize()
"""


class Inside(TestCase):
    def test_cuda_that_is_in_use_already(self):
        """opscope.record() in a program whose CUDA was initialised before: its kernels, those of a graph, and no others."""
        paths = [self.trace_path("inside-%d" % i) for i in range(2)]
        env = dict(os.environ, PYTHONPATH=os.path.join(gpu.BUILD, "python"))
        done = subprocess.run([sys.executable, "-c", INSIDE, *paths], capture_output=True, text=True, env=env)
        gpu.say(done.stderr.strip().replace("\n", "\n    "))
        self.assertEqual((done.returncode, "not recorded" in done.stderr), (0, False), done.stderr)
        for path in paths:
            rows = json.loads(subprocess.run([gpu.OPSCOPE, "ops", "--json", path], capture_output=True, check=True).stdout)["rows"]
            products = [row for row in rows if row["name"] == "aten::mm" and row["runs"]]
            gpu.say("%s: %d rows, %d products with kernels" % (os.path.basename(path), len(rows), len(products)))
            self.assertEqual(len(products), 50)
            self.assertFalse([row["name"] for row in rows if row["name"] == "aten::add"])
            kernels = {}
            for run in gpu.Recorded(self, path).runs():
                kernels[run["name"]] = kernels.get(run["name"], 0) + 1
            gpu.say("kernels: %s" % kernels)
            self.assertEqual(set(kernels.values()), {51}, "each kernel of a product, and that of the graph")


class Training(TestCase):
    def source_lines(self, trace):
        """Share of device time whose launching line is known, also of the backward pass: that of its forward op."""
        lines, unknown = {}, {}
        for row in json.loads(trace.command("ops", "--json", trace.path))["rows"]:
            table, key = (lines, row["location"]) if row["location"] else (unknown, row["name"])
            table[key] = table.get(key, 0) + (row["device_time_ns"] or 0)
        for title, table in (("by line", lines), ("without a line", unknown)):
            most = sorted(table.items(), key=lambda item: -item[1])[:8]
            gpu.say(title + ": " + ", ".join("%s %.0f us" % (key, ns / 1000) for key, ns in most))
        return sum(lines.values()) / (sum(lines.values()) + sum(unknown.values()))

    def runs_of(self, trace):
        """Kernels with the process that launched them: device tracks may be of another."""
        events = [e for e in trace.events() if e.get("cat") == "run"]
        found = []
        for e in events:
            run = {"name": e["name"], "start": e["ts"], "end": e["ts"] + e["dur"], "call": e["args"].get("call", 0)}
            run["pid"] = e["pid"]
            found += [run] if is_kernel(run) else []
        return found

    def test_everything_on(self):
        trace = self.record_program("train", "train", "40")
        info = trace.info()
        kernels = self.runs_of(trace)
        pids = [process["pid"] for process in info.get("processes", [])]
        gpu.say("processes: %s; kernels: %d; lost: %s" % (pids, len(kernels), trace.losses()))
        summary = json.loads(trace.command("summary", "--json", trace.path))
        partition = summary["partition"]
        gpu.say("parts: %s" % {part["key"]: part["ns"] for part in partition["parts"]})
        self.assertEqual(sum(part["ns"] for part in partition["parts"]), partition["total_ns"])
        gpu.say(trace.command("summary", trace.path).replace("\n", "\n    "))
        pids = {e["pid"] for e in trace.events() if e.get("cat") == "op"}
        self.assertGreaterEqual(len(pids), 3, "the program and its two data-loader processes")
        share = self.source_lines(trace)
        gpu.say("launching line known: %.1f %% of kernel time" % (share * 100))
        self.assertGreaterEqual(share, 0.9)
        size = os.path.getsize(trace.path)
        ops = len(trace.ops())
        gpu.say("%d bytes: %.1f per op of %d, %.1f per kernel" % (size, size / ops, ops, size / len(kernels)))

    def test_overhead_in_one_process(self):
        """Groups of steps with and without: kernels, the observer of ops, and ops with their kernels."""
        none, alone = ("--devices", "none"), ("--python-no-torch",)
        ways = (("ops beside kernels", "toggle", ()), ("kernels", "kernels", alone), ("ops", "toggle", none),
                ("an observer that does nothing", "floor", (*none, *alone)), ("ops and kernels", "pause", ()))
        for name, word, options in ways:
            options += ("--python-trace", "off")
            trace = self.record("toggle", sys.executable, PROGRAM, "train", "420", word, options=options)
            said = trace.said()
            ratio = said["step_us"] / said["off_us"]
            gpu.say("%-30s on %.0f us, off %.0f us a step: %.3f x" % (name, said["step_us"], said["off_us"], ratio))

    def times(self, settings, *words):
        """Medians of the step times by setting, processes in turn: one differs from the next by more than recording costs."""
        times = {}
        for number in range(ROUNDS):
            times.setdefault("bare", []).append(self.bare("train", *words)["step_us"])
            for name, options in settings:
                trace = self.record("overhead", sys.executable, PROGRAM, "train", *words, options=options)
                times.setdefault(name, []).append(trace.said()["step_us"])
                if number == 0:
                    size, ops = os.path.getsize(trace.path), trace.info().get("ops") or 0
                    gpu.say("%s: %d bytes, %d ops: %.1f bytes each" % (name, size, ops, size / max(ops, 1)))
        medians = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
        for name, values in times.items():
            each = " ".join("%.0f" % value for value in values)
            ratio = medians[name] / medians["bare"]
            gpu.say("%-20s median %8.0f us a step  %.3f x   (%s)" % (name, medians[name], ratio, each))
        return medians

    def test_overhead(self):
        """Of a GPT so small that the host takes the time."""
        self.assertGreater(self.times(SETTINGS, "80")["bare"], 0)

    def test_overhead_of_a_large_model(self):
        """Of a GPT that keeps the GPU busy, everything on."""
        medians = self.times((("everything", ()),), "60", "large")
        self.assertLessEqual(medians["everything"] / medians["bare"], 1.25)

    def test_killed(self):
        """What the program had synchronised is in the trace, whenever it is killed. Four programs at a time."""
        whole = self.record_program("whole", "train", "12", options=("--python-trace", "off"))
        before, per_step = self.steps_of(whole)
        kills = int(os.environ.get("OPSCOPE_TEST_KILLS", "20"))
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            found = list(pool.map(self.kill_once, range(kills)))
        for number, (done, kernels, waiting) in enumerate(found):
            steps = (kernels + waiting - before) / per_step
            gpu.say("kill %2d: synchronised %d steps; trace has %d kernels with times and %d without: %.2f steps"
                    % (number, done, kernels, waiting, steps))
        missing = [done - (kernels + waiting - before) / per_step for done, kernels, waiting in found]
        gpu.say("%d kills; fewer steps than were synchronised: %d" % (kills, sum(lack >= 0.01 for lack in missing)))
        self.assertLess(max(missing), 0.01, missing)

    def kill_once(self, number):
        """(steps that the program had synchronised, kernels of the trace with times, kernels without)"""
        name = "killed-%d" % number
        run = self.start(name, sys.executable, PROGRAM, "train", "100000", options=("--python-trace", "off"))
        done, wanted = 0, random.randint(2, 40)
        for line in run.stdout:
            done = int(line.split()[1]) if line.startswith("synchronised") else done
            if done >= wanted:
                break
        time.sleep(random.random() * 0.02)
        child = subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout.split()
        for pid in child:
            os.kill(int(pid), signal.SIGKILL)
        rest, err = run.communicate(timeout=120)
        for line in rest.splitlines():
            done = int(line.split()[1]) if line.startswith("synchronised") else done
        trace = gpu.Recorded(self, self.trace_path(name), "", err)
        kernels = len([run for run in trace.runs() if is_kernel(run)])
        waiting = sum(count for reason, count in trace.losses().items() if reason.startswith("no end yet"))
        self.forget(name)
        return done, kernels, waiting

    def steps_of(self, trace):
        """(kernels before the first step, of a step): from two runs of different length."""
        longer = self.record_program("longer", "train", "22", options=("--python-trace", "off"))
        a, b = (len([run for run in t.runs() if is_kernel(run)]) for t in (trace, longer))
        per_step = (b - a) / 10
        gpu.say("%.1f kernels a step, %.1f besides" % (per_step, a - 12 * per_step))
        return a - 12 * per_step, per_step


if __name__ == "__main__":
    gpu.main()
