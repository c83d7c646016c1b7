# SPDX-License-Identifier: Apache-2.0
"""The ops of PyTorch on the CPU, recorded and reported: Debian's torch, and any other that OPSCOPE_TEST_TORCH names by its
interpreter. What a GPU does is in tests/gpu."""

import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import unittest

import harness
import pages

PYTHON = "/usr/bin/python3"
NETS = os.path.join(harness.SOURCE, "tests", "system", "python", "torch_nets.py")
LOADER = os.path.join(harness.SOURCE, "tests", "system", "python", "torch_loader.py")
KILLS = 2 * harness.REPEAT
PACKAGE = os.path.join(harness.BUILD, "python", "opscope")
PREBUILT = os.path.join(PACKAGE, "torch-prebuilt.txt")


def has_torch(python):
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, cwd="/", check=False)
    return found.returncode == 0


class Ops(harness.TestCase):
    python = PYTHON
    steps = 3

    def setUp(self):
        super().setUp()
        if not os.path.exists(PREBUILT) or not has_torch(self.python):
            self.skipTest("no torch: Debian's python3-torch and libtorch-dev, and opscope built where they are")

    def record(self, net, *options, steps=None):
        self.trace = self.path(net + ".opscope")
        command = [self.python, NETS, net, str(steps or self.steps)]
        done = self.opscope("run", "-o", self.trace, *options, "--", *command)
        self.assert_status(done)
        self.assertEqual(done.stdout, "done\n")
        self.assertNotIn("not recorded", done.stderr)
        return done

    def ops(self):
        return harness.opscope_json("ops", self.trace)["rows"]

    def report(self, *options):
        return harness.opscope_json("report", self.trace, "--machine", "cpu", *options)

    def by_name(self, rows, key="name"):
        found = {}
        for row in rows:
            found.setdefault(row[key], []).append(row)
        return found

    def matrix_flops(self):
        """Of products, convolutions and attention, by op and of one step."""
        found = {}
        for row in self.report()["rows"]:
            if re.match("matmul|conv|attention", row["model"] or ""):
                found[row["op_code"]] = found.get(row["op_code"], 0) + row["flop_count"] / self.steps
        return found

    def assert_adds_up(self):
        """The runs of each thread are the time of its outermost ops, exactly."""
        threads = {}
        for row in self.ops():
            threads.setdefault((row["pid"], row["thread"]), []).append(row)
        for rows in threads.values():
            end, whole = 0, 0
            for row in sorted(rows, key=lambda row: (row["start_ns"], -row["host_ns"])):
                if row["start_ns"] >= end:
                    whole += row["host_ns"]
                    end = row["start_ns"] + row["host_ns"]
            self.assertEqual(sum(row["device_time_ns"] for row in rows), whole)


class Killed(Ops):
    """A training loop with data-loader processes that is killed in the middle of a step: every op that had ended is there."""

    PER_STEP = {"aten::addmm": 2, "aten::gelu": 1, "aten::_log_softmax": 1, "aten::gelu_backward": 1}
    BATCH = 4

    def test_everything_that_was_done(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for number, (done, ops) in enumerate(pool.map(self.kill_once, range(KILLS))):
                with self.subTest(kill=number, done=done):
                    self.check(done, ops)

    def kill_once(self, number):
        """(steps that it had said are done, rows of its ops)"""
        trace = self.path("killed-%d.opscope" % number)
        command = [harness.OPSCOPE, "run", "-o", trace, "--python-trace", "off", "--", self.python, LOADER, "1000000"]
        run = self.start(command, text=True)
        wanted = 1 + 7 * number
        for line in run.stdout:
            if line == "done %d\n" % wanted:
                break
        harness.run(["pkill", "-KILL", "-o", "-P", str(run.pid)])
        rest, err = run.communicate()
        done = [line for line in rest.splitlines(True) if line.endswith("\n")]
        self.assertEqual(run.returncode, -signal.SIGKILL, err)
        rows = harness.opscope_json("ops", trace)["rows"]
        return int(done[-1].split()[1]) if done else wanted, rows

    def check(self, done, rows):
        main = min(row["pid"] for row in rows if row["name"] == "aten::addmm")
        for name, count in self.PER_STEP.items():
            found = sum(row["pid"] == main and row["name"] == name for row in rows)
            self.assertGreaterEqual(found, done * count, name)
            self.assertLessEqual(found, (done + 2) * count, name)
        loaded = sum(row["pid"] != main and row["name"] == "aten::full" for row in rows)
        self.assertGreaterEqual(loaded, done * self.BATCH)


class Networks(Ops):
    def test_mlp(self):
        self.record("mlp")
        named = self.by_name(self.ops())
        first = named["aten::addmm"][0]
        self.assertEqual(first["inputs"], "64 FLOAT32 CPU_DRAM; 8x32 FLOAT32 CPU_DRAM; 32x64 FLOAT32 CPU_DRAM")
        self.assertEqual(first["outputs"], "8x64 FLOAT32 CPU_DRAM")
        self.assertEqual(len(named["aten::addmm"]), 2 * self.steps)
        forward, last = 2 * 8 * 32 * 64, 2 * 8 * 64 * 10
        self.assertEqual(
            self.matrix_flops(),
            {"aten::addmm": forward + last, "aten::mm": forward + 2 * last},  # no gradient of the input
        )
        self.assert_adds_up()

    def test_report(self):
        self.record("mlp")
        found = self.report()
        row = self.by_name(found["rows"], "op_code")["aten::addmm"][0]
        self.assertEqual(row["op"], "aten::addmm 8 x 32 x 64")
        self.assertEqual(row["dram_bytes"], 4 * (64 + 8 * 32 + 32 * 64 + 8 * 64))
        self.assertEqual((row["input_0_type"], row["runs"], row["category"]), ("FLOAT32", 1, "Compute"))
        self.assertIn(row["bound"], ("SLOW", "DRAM", "FLOP", "BOTH", "GAP"))
        views = self.by_name(found["rows"], "op_code")["aten::t"]
        self.assertEqual({(view["flop_count"], view["dram_bytes"]) for view in views}, {(None, None)})
        named = self.by_name(found["rows"], "op_code")
        picked = {named[name][0]["dram_bytes"] for name in ("aten::nll_loss_forward", "aten::nll_loss_backward")}
        self.assertEqual(picked, {8 * 8 + 8 * 4})  # the targets, and one of the ten classes for each
        self.assertIn("aten::", self.opscope("report", self.trace, "--machine", "cpu").stdout.split("Advice", 1)[1])

    def test_groups_by_shape_are_of_one_shape(self):
        """Also those of ops that have no model: the weights of the two layers are two."""
        self.record("mlp")
        groups = {group["name"]: group["count"] for group in pages.of(self, "view", self.trace).chosen("ops?group=op%2Bshape&limit=5000")["groups"]}
        self.assertIn("aten::t 64x32", groups)
        self.assertIn("aten::t 10x64", groups)
        self.assertNotIn("aten::t", groups)
        self.assertIn("aten::addmm 8 x 32 x 64", groups)

    def test_no_machine(self):
        """Nothing is said of rooflines that nobody measured."""
        self.record("mlp")
        rows = harness.opscope_json("report", self.trace)["rows"]
        row = self.by_name(rows, "op_code")["aten::addmm"][0]
        self.assertEqual({row[key] for key in row if key.startswith(("flops", "ideal", "dram_percent"))}, {None})
        self.assertEqual(row["flop_count"], 2 * 8 * 32 * 64)
        done = self.opscope("report", "--wide", "--min-percentage", "0", self.trace)
        self.assertIn("what this CPU can do is not known: no rooflines (on it: opscope machine measure", done.stderr)
        self.assertRegex(done.stdout, r"aten::addmm 8 x 32 x 64 .* \d+\.\d  +\d+\.\d{3}  FP32")

    def test_the_machine_file_of_the_host(self):
        """That of a CPU is for what its host computed, and for nothing else."""
        self.record("mlp")
        host = harness.opscope_json("info", self.trace)["host"]
        os.mkdir(self.path("machines"))
        done = self.opscope("machine", "measure", "--time", "10ms", "--save", "machines/here.json")
        self.assert_status(done)
        with open(self.path("machines", "here.json")) as file:
            text = file.read()
        self.assertIn('"cpu@%s"' % host[:59], text)
        env = {"OPSCOPE_MACHINES": self.path("machines")}
        self.assertIn(", measured, ", self.opscope("report", self.trace, env=env).stdout.splitlines()[0])
        with open(self.path("machines", "here.json"), "w") as file:  # memory so slow that every op is in the caches
            file.write(re.sub(r'("dram_gb_s": \{\s*"value": )[\d.]+', r"\g<1>0.0001", text))
        rows = harness.opscope_json("report", self.trace, env=env)["rows"]
        held = [row for row in rows if row["cache"]]
        self.assertTrue(held)
        self.assertEqual({row["dram_percent"] for row in held}, {None})
        self.assertNotIn("DRAM", {row["bound"] for row in rows})
        with open(self.path("machines", "here.json"), "w") as file:
            file.write(text.replace("cpu@", "cpu@not-"))
        self.assertIn("no rooflines", self.opscope("report", self.trace, env=env).stdout.splitlines()[0])

    def test_no_device_waits(self):
        """The host itself computes: what is said of gaps does not speak of a device that could run ahead."""
        self.record("mlp", steps=30)
        report = self.opscope("report", self.trace, "--include-warm-up").stdout
        self.assertNotIn("run ahead", report)
        self.assertNotIn("the device waits", report)
        self.assertIn("of the gaps: the host was in", report)
        self.assertNotIn("of the gaps: the host was in aten::", report)  # an op's own time is no gap
        self.assertRegex(report, "between ops the CPU runs Python and torch|measure a later iteration")
        said = self.opscope("summary", self.trace).stdout
        self.assertIn("ops on the CPU", said)
        self.assertIn("op, by CPU time", said)
        self.assertIn("next: opscope machine measure --save cpu.json", said.splitlines())
        self.assertRegex(report, r"ops, 0 host ops, 0 signposts; CPU time ")
        self.assertNotIn("device", said.split("function,")[0] + report.split("\n\n")[0].split("\n")[-1])
        self.assertEqual(harness.opscope_json("summary", self.trace)["partition"]["basis"], "CPU")
        self.assertRegex(said, r"The CPU worked on ops [\d.]+ ?% of [\d.]+ \w+\. For [\d.]+ \w+ it was between ops\.")

    def test_tree_of_devices(self):
        """The CPU's ops are not runs on a device: it is said where their time is instead."""
        self.record("mlp", steps=1)
        done = self.opscope("tree", "--by", "device-time", self.trace)
        self.assert_status(done)
        said = " ".join(done.stdout.split())
        self.assertIn("no runs on devices in this trace", said)
        self.assertIn("opscope report --group-by location has it by the code that called it", said)
        self.assertEqual(harness.opscope_json("tree", "--by", "device-time", self.trace)["rows"], [])

    def test_conv(self):
        self.record("conv")
        flops = self.matrix_flops()
        forward = 2 * 2 * 16 * 16 * 4 * 3 * 9 + 2 * 2 * 14 * 14 * 8 * 2 * 9
        backward = 2 * 2 * 16 * 16 * 4 * 3 * 9 + 2 * 2 * 2 * 14 * 14 * 8 * 2 * 9  # no gradient of the input
        self.assertEqual(sum(count for op, count in flops.items() if "backward" not in op), forward)
        self.assertEqual(sum(count for op, count in flops.items() if "backward" in op), backward)
        named = self.by_name(self.report()["rows"], "op_code")
        self.assertEqual(named["aten::native_batch_norm"][0]["flop_count"], 7 * 2 * 4 * 16 * 16)
        self.assertTrue(named["aten::max_pool2d_with_indices"][0]["dram_bytes"])
        shown = {row["op"] for row in self.report()["rows"]}
        self.assertLessEqual({"aten::native_batch_norm 2x4x16x16", "aten::max_pool2d_with_indices 2x8x14x14"}, shown)
        self.assertTrue({op for op in shown if re.fullmatch(r"aten::\w*conv\w* 2x3x16x16 x 4x3x3x3", op)}, shown)
        self.assert_adds_up()

    def test_collectives(self):
        """By name, and as communication: here by gloo, which needs no GPU."""
        script = (
            "import sys, torch, torch.distributed as dist\n"
            "dist.init_process_group('gloo', init_method='file://' + sys.argv[1], rank=0, world_size=1)\n"
            "x, parts = torch.ones(1024), [torch.zeros(1024)]\n"
            "for _ in range(3): dist.all_reduce(x)\n"
            "dist.all_gather(parts, x)\ndist.barrier()\n"
        )
        trace = self.path("collectives.opscope")
        command = [self.python, "-c", script, self.path("store")]
        if self.run_command([self.python, "-c", "from torch.distributed import ProcessGroupGloo"]).status:
            self.skipTest("this torch has no gloo")
        done = self.opscope("run", "-o", trace, "--", *command, env={"GLOO_SOCKET_IFNAME": "lo"})
        self.assert_status(done)
        rows = harness.opscope_json("report", "--machine", "cpu", "--include-warm-up", trace)["rows"]
        found = {name: [(row["category"], row["model"].split()[0]) for row in rows if row["op_code"] == name]
                 for name in ("c10d::allreduce_", "c10d::allgather_", "c10d::barrier")}
        self.assertEqual(found, {"c10d::allreduce_": [("CCL", "collective")] * 3, "c10d::allgather_": [("CCL", "collective")],
                                 "c10d::barrier": [("CCL", "collective")]})

    def test_backward(self):
        """Each op of the backward pass says which op it belongs to."""
        self.record("mlp", steps=1)
        rows = {row["call"]: row for row in self.ops()}
        forward = {}
        for row in rows.values():
            found = re.search(r"forward op=(\d+)", row["figures"] or "")
            if found:
                forward.setdefault(row["name"], []).append(rows[int(found.group(1))]["name"])
        self.assertEqual(forward["AddmmBackward0"], ["aten::addmm", "aten::addmm"])
        self.assertEqual(forward["LogSoftmaxBackward0"], ["aten::_log_softmax"])
        self.assertEqual(len(forward["ReluBackward0"]), 1)
        places = {name: {row["location"].rsplit("/", 1)[-1] for row in found}
                  for name, found in self.by_name(rows.values()).items()}
        self.assertEqual(places["AddmmBackward0"], places["aten::addmm"])  # not that of backward()
        self.assertEqual(places["autograd::engine::evaluate_function: AddmmBackward0"], places["aten::addmm"])
        self.assertEqual(len(places["aten::addmm"]), 1, places)
        self.assertRegex(places["aten::addmm"].pop(), r"linear\.py:\d+$")

    def test_steps_of_an_optimizer(self):
        """They are frames, so that the numbers leave out the warm-up; nothing where the program marks frames itself."""
        self.record("optimizer", steps=6)
        frames = harness.opscope_json("frames", self.trace)
        self.assertEqual([(row["name"], row["count"]) for row in frames["rows"]], [("optimizer step", 5)])
        self.assertEqual(sorted(row["number"] for row in frames["slowest"]), [2, 3, 4, 5, 6])  # as the loop counts them
        self.record("optimizer", "--capture", "steps:3-4", steps=6)
        self.assertEqual(len(self.by_name(self.ops())["aten::addmm"]), 2)
        script = "import opscope, sys; sys.argv[1:] = ['optimizer', '4']; opscope.frame('mine'); opscope.frame('mine'); exec(open(%r).read())" % NETS
        trace = self.path("mine.opscope")
        self.assert_status(self.opscope("run", "-o", trace, "--", self.python, "-c", script))
        self.assertEqual([row["name"] for row in harness.opscope_json("frames", trace)["rows"]], ["mine"])

    def test_captured(self):
        """A recording that begins paused has the ops from there on that it goes on."""
        script = (
            "import torch, opscope\nx = torch.ones(4, 4)\n"
            "for part in ('', 'A', 'B'):\n"
            "    opscope.signpost(part)\n"
            "    for _ in range(5): x = x @ x\n"
        )
        trace = self.path("captured.opscope")
        done = self.opscope("run", "-o", trace, "--capture", "signpost:A..B", "--", self.python, "-c", script)
        self.assert_status(done)
        rows = harness.opscope_json("ops", trace)["rows"]
        self.assertEqual(len(self.by_name(rows)["aten::mm"]), 5)

    def test_an_op_as_the_zone(self):
        self.record("mlp", "--capture", "zone:aten::addmm")
        self.assertEqual(len(self.by_name(self.ops())["aten::addmm"]), 2 * self.steps)
        self.assertNotIn("aten::linear", self.by_name(self.ops()))

    def test_a_range_of_a_pause(self):
        """Inside a zone that a rule waits for: its end is not the zone's."""
        script = (
            "import torch, opscope\n"
            "def train():\n"
            "    opscope.pause()\n"
            "    with torch.autograd.profiler.record_function('range'): pass\n"
            "    opscope.resume()\n"
            "    torch.ones(1)\n"
            "train()\ntorch.ones(2)\n"
        )
        trace = self.path("range.opscope")
        self.assert_status(self.opscope("run", "-o", trace, "--capture", "zone:train", "--", self.python, "-c", script))
        rows = harness.opscope_json("ops", trace)["rows"]
        self.assertEqual([row["outputs"] for row in rows if row["name"] == "aten::ones"], ["1 FLOAT32 CPU_DRAM"])

    def test_ranges(self):
        self.record("mlp", "--python-trace", "off")
        zones = {row["name"]: row["count"] for row in harness.opscope_json("zones", self.trace)["rows"]}
        self.assertEqual([zones.get("step %d" % i) for i in range(self.steps)], [1] * self.steps)
        self.assertEqual(zones["aten::addmm"], 2 * self.steps)

    def test_threads(self):
        self.record("threads", steps=1)
        threads = {row["thread"]: 0 for row in self.ops()}
        named = self.by_name(self.ops())
        self.assertEqual(len(named["aten::mm"]), 60)
        self.assertGreaterEqual(len({row["start_ns"] for row in named["aten::mm"]}), 60)
        self.assertTrue(threads)
        self.assert_adds_up()

    def test_sizes(self):
        self.record("sizes", "--python-trace", "off", steps=1)
        named = self.by_name(self.ops())
        made = {row["outputs"] for row in named["aten::empty"]}
        self.assertEqual({"%d FLOAT32 CPU_DRAM" % size for size in range(9000)} - made, set())
        lists = [row["attributes"] for row in named["aten::cat"]]
        self.assertEqual(lists, ["lists=10:40:160", "lists=10:44:176", "lists=10:40:192"])

    def test_filter(self):
        """An op's own time does not depend on what else is shown."""
        self.record("mlp", steps=1)
        own = {row["call"]: row["device_time_ns"] for row in self.ops()}
        rows = harness.opscope_json("ops", self.trace, "--name", "aten::linear")["rows"]
        self.assertEqual({row["call"]: row["device_time_ns"] for row in rows}, {row["call"]: own[row["call"]] for row in rows})

    def test_modules(self):
        self.record("mlp", "--python-torch-modules")
        named = self.by_name(self.report()["rows"], "op_code")
        self.assertEqual([row["layer"] for row in named["aten::addmm"][:2]], ["Sequential.0", "Sequential.2"])

    def test_left_out(self):
        self.trace = self.path("none.opscope")
        done = self.opscope("run", "-o", self.trace, "--python-no-torch", "--", self.python, NETS, "mlp")
        self.assert_status(done)
        self.assertEqual(harness.opscope_json("info", self.trace)["ops"], 0)

    def test_imported_before(self):
        """Recording that begins when torch is there already, twice, and ends before the program does."""
        code = (
            "import torch, opscope\n"
            "for name in 'one', 'two':\n"
            "    with opscope.record(name + '.opscope'):\n"
            "        torch.mm(torch.ones(2, 3), torch.ones(3, 4))\n"
            "    torch.mm(torch.ones(2, 3), torch.ones(3, 4))\n"
        )
        env = {"PYTHONPATH": os.path.dirname(PACKAGE), "OPSCOPE_BIN": harness.OPSCOPE}
        done = harness.run([self.python, "-c", code], env=env, cwd=self.folder)
        self.assertEqual((done.status, done.stderr), (0, ""), done)
        for name in ("one", "two"):
            rows = harness.opscope_json("ops", self.path(name + ".opscope"))["rows"]
            self.assertEqual([row["name"] for row in rows].count("aten::mm"), 1, name)


class Setup(Ops):
    """A package without an observer that was built with it."""

    def setUp(self):
        super().setUp()
        self.package = self.path("package", "opscope")
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("*.so", "torch-prebuilt.txt", "host_overhead"))
        os.symlink(os.path.join(harness.BUILD, "libopscope.so.0"), os.path.join(self.package, "libopscope.so.0"))
        self.env = {"PYTHONPATH": self.path("package"), "XDG_CACHE_HOME": self.path("cache")}

    def setup_torch(self, **env):
        return harness.run([self.python, "-m", "opscope._torch"], env=dict(self.env, **env), cwd=self.folder)

    def test_no_compiler(self):
        done = self.setup_torch(PATH=self.path("nowhere"), CXX="")
        self.assertEqual(done.status, 1, done)
        self.assertIn("there is no C++ compiler: install g++, then run opscope setup torch", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_compiler_that_fails(self):
        with open(self.path("broken"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho no luck >&2\nexit 1\n")
        os.chmod(self.path("broken"), 0o755)
        done = self.setup_torch(CXX=self.path("broken"))
        self.assertEqual(done.status, 1, done)
        log = re.search(r"\S+build\.log", done.stderr).group(0)
        with open(log, encoding="utf-8") as file:
            self.assertIn("no luck", file.read())

    def test_no_cache(self):
        done = self.setup_torch(XDG_CACHE_HOME="/proc/nowhere")
        self.assertEqual(done.status, 1, done)
        self.assertIn("XDG_CACHE_HOME names another folder", done.stderr)

    @unittest.skipUnless(shutil.which("c++") or shutil.which("g++"), "no C++ compiler")
    def test_built_once(self):
        first = self.setup_torch()
        self.assertEqual(first.status, 0, first)
        self.assertIn("building the observer", first.stderr)
        path = first.stdout.strip().rsplit(": ", 1)[1]
        self.assertTrue(path.startswith(self.path("cache", "opscope", "torch")), path)
        again = self.setup_torch(PATH=self.path("nowhere"), CXX="")
        self.assertEqual((again.status, again.stdout, again.stderr), (0, first.stdout, ""), again)

    def test_command(self):
        done = self.opscope("setup", "torch", "--python", self.python)
        self.assert_status(done)
        self.assertIn("libopscope_torch-", done.stdout)
        done = self.opscope("setup", "torch", "--python", self.path("nowhere"))
        self.assertIn("--python names another interpreter", done.stderr)
        self.assertNotEqual(done.status, 0)
        done = self.opscope("setup", "tensorflow")
        self.assert_status(done, 2)


class Installed(Ops):
    """A torch of PyPI."""

    python = os.environ.get("OPSCOPE_TEST_TORCH", "")

    def setUp(self):
        harness.TestCase.setUp(self)
        if not self.python:
            self.skipTest("OPSCOPE_TEST_TORCH does not name the interpreter of a torch 2.1 or later")

    def test_flops(self):
        """As many as torch itself counts."""
        done = self.opscope("setup", "torch", "--python", self.python)
        self.assert_status(done)
        for net in ("mlp", "attention"):
            with self.subTest(net):
                counted = harness.run([self.python, NETS, net, "1", "flops"])
                self.record(net)
                self.assertEqual(sum(self.matrix_flops().values()), int(counted.stdout))
                self.assert_adds_up()

    def test_a_collective_has_its_own_name(self):
        """What NCCL's ops call around their kernels is not an op inside them; without one outside it is."""
        code = r"""import torch
from torch.utils import cpp_extension
source = r'''
#include <ATen/record_function.h>
void collective(bool is_inside, at::Tensor x) {
  auto work = [&] {
    RECORD_FUNCTION("record_param_comms", std::vector<c10::IValue>{x});
    x.add(1);
  };
  if (!is_inside)
    return work();
  RECORD_FUNCTION("c10d::allreduce_", std::vector<c10::IValue>{x});
  work();
}'''
module = cpp_extension.load_inline("collective", source, functions=["collective"], build_directory=".")
for _ in range(3):
    module.collective(True, torch.ones(4))
module.collective(False, torch.ones(4))
"""
        self.assert_status(self.opscope("setup", "torch", "--python", self.python))
        trace = self.path("t.opscope")
        done = self.opscope("run", "--python-trace", "off", "-o", trace, "--", self.python, "-c", code, cwd=self.folder)
        self.assert_status(done)
        names = [row["name"] for row in self.opscope_json("ops", trace, "--json")["rows"]]
        self.assertEqual((names.count("c10d::allreduce_"), names.count("record_param_comms")), (3, 1))


if __name__ == "__main__":
    unittest.main()
