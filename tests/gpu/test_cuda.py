#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUDA programs under opscope run, on a GPU. Each test prints its figures."""

import os
import random
import signal
import struct
import subprocess
import sys
import time

import gpu

KERNELS = "examples/cuda/kernels.cu"


class Kernels(gpu.TestCase):
    def setUp(self):
        self.program = self.compile(KERNELS, "kernels")

    def test_every_kernel_once(self):
        trace = self.record("launch", self.program, "launch", "1000")
        runs = trace.runs("spin")
        gpu.say("1000 launched, %d recorded, on %s" % (len(runs), sorted({r["track"] for r in runs})))
        gpu.say(trace.err.strip())
        self.assertEqual(len(runs), 1000, trace.err)
        self.assertEqual(len({r["call"] for r in runs}), 1000)
        self.assertIn("grid 1x1x1 block 32x1x1", runs[0]["args"]["LAUNCH"])
        durations = sorted(r["ns"] for r in runs)
        gpu.say("kernel of 2200 cycles: median %d ns" % durations[500])
        self.assertTrue(800 < durations[500] < 10000, durations[500])

    def test_times_lie_between_launch_and_synchronisation(self):
        trace = self.record("times", self.program, "launch", "500")
        ops, runs = trace.ops(), trace.runs("spin")
        waits = trace.zones("cuCtxSynchronize")
        self.assertTrue(waits, "no zone of the synchronisation")
        end = max(w["ts"] + w["dur"] for w in waits)
        early = [r for r in runs if r["start"] < ops[r["call"]]["ts"]]
        late = [r for r in runs if r["end"] > end]
        lead = min(r["start"] - ops[r["call"]]["ts"] for r in runs)
        gpu.say("start - launch >= %.2f us; sync return - last end = %.2f us" % (lead, end - max(r["end"] for r in runs)))
        self.assertEqual((len(early), len(late)), (0, 0))

    def test_copies_sets_and_memory(self):
        trace = self.record("copies", self.program, "copies", "20")
        said, runs = trace.said(), trace.runs()
        names = {}
        for run in runs:
            names[run["name"]] = names.get(run["name"], 0) + 1
        gpu.say(str(names))
        for name in ("memcpy HtoD", "memcpy DtoH", "memcpy DtoD", "memset"):
            self.assertEqual(names.get(name), 20, names)
        kernels = [r for r in runs if r["name"].startswith("void scale<float>")]
        self.assertEqual(len(kernels), 20, names)
        copies = [r for r in runs if r["name"] == "memcpy HtoD"]
        self.assertEqual({r["args"]["SIZE bytes"] for r in copies}, {said["bytes"]})
        memory = trace.command("memory", trace.path)
        gpu.say(memory.replace("\n", "\n    ").strip())
        self.assertIn("cuda:0", memory)

    def test_graph(self):
        trace = self.record("graph", self.program, "graph", "200")
        runs, ops = trace.runs(), trace.ops()
        spins = [r for r in runs if r["name"].startswith("spin")]
        self.assertEqual(len(spins), 8 * 200, trace.err)
        owners = {r["call"] for r in spins}
        gpu.say("%d runs of %d captured ops; replays %d" % (len(spins), len(owners), len(trace.zones("cuGraphLaunch"))))
        self.assertEqual(len(owners), 8)
        self.assertTrue(all(ops[call]["name"].startswith("spin") for call in owners))

    def test_many_streams_and_threads(self):
        trace = self.record("many", self.program, "launch", "5000", "8", "4")
        runs = trace.runs("spin")
        gpu.say("4 threads x 5000 on 8 streams each: %d runs on %d tracks" % (len(runs), len({r["track"] for r in runs})))
        self.assertEqual(len(runs), 20000, trace.err)
        self.assertEqual(len({r["call"] for r in runs}), 20000)
        self.assertGreaterEqual(len({r["track"] for r in runs}), 28)

    def test_streams_have_the_names_that_nvtx_gives_them(self):
        trace = self.record("named", self.program, "named", "100")
        if not trace.said()["has_nvtx"]:
            self.skipTest("nvcc has no NVTX header")
        tracks = {}
        for run in trace.runs("spin"):
            tracks[run["track"]] = tracks.get(run["track"], 0) + 1
        gpu.say(str(tracks))
        names = sorted(name[name.index("(") :] for name in tracks if "(" in name)
        self.assertEqual((names, sorted(tracks.values())), (["(compute)", "(copies)"], [100, 100]))

    def test_a_million_kernels(self):
        begin = time.time()
        trace = self.record("million", self.program, "launch", "1000000", options=("--buffer-size", "64M"))
        info = trace.info()
        seconds, size = time.time() - begin, os.path.getsize(trace.path)
        gpu.say("1,000,000 kernels in %.1f s, %.1f bytes each; %s" % (seconds, size / 1e6, trace.err.strip()))
        self.assertEqual(trace.losses(), {}, trace.err)
        self.assertEqual(info["runs"], 1000000)

    def test_exit_with_kernels_under_way(self):
        trace = self.record("exit", self.program, "exit", "1000")
        runs = trace.runs("spin")
        gpu.say("exit with 1000 under way: %d recorded; %s" % (len(runs), trace.losses()))
        self.assertEqual(len(runs), 1000)

    def test_device_reset(self):
        trace = self.record("reset", self.program, "reset", "200")
        runs = trace.runs("spin")
        gpu.say("600 kernels around cudaDeviceReset: %d recorded on %s; lost %s" % (len(runs), sorted({r["track"] for r in runs}), trace.losses()))
        self.assertEqual(len(runs), 600)

    def test_no_memory(self):
        trace = self.record("memory", self.program, "no-memory", "50")
        gpu.say("%s; %s" % (trace.said(), trace.command("memory", trace.path).splitlines()[-1]))
        self.assertEqual(len(trace.runs("spin")), 50)

    def test_several_processes(self):
        script = '"$0" launch 300 & "$0" launch 400 & (exec "$0" launch 500) & wait'
        trace = self.record("processes", "/bin/sh", "-c", script, self.program)
        pids = {}
        for run in [e for e in trace.events() if e.get("cat") == "run"]:
            pids[run["pid"]] = pids.get(run["pid"], 0) + 1
        gpu.say("three processes: %s" % sorted(pids.values()))
        self.assertEqual(sorted(pids.values()), [300, 400, 500])

    def test_fault(self):
        trace = self.record("fault", self.program, "fault", "100", status=None)
        runs = trace.runs("spin")
        gpu.say("%s: %d of 100 kernels before it have times; lost: %s" % (trace.said()["error"], len(runs), trace.losses()))
        self.assertGreaterEqual(len(runs), 95)

    def test_lag(self):
        said = self.record("lag", self.program, "lag", "500").said()
        gpu.say("end of a kernel to its record: %s" % said)
        self.assertTrue(0 <= said["p50_ms"])

    def test_overhead(self):
        """Off and on in one process; and, since being subscribed cannot be undone there, processes in turn."""
        inside = self.record("overhead", self.program, "overhead", "40").said()
        gpu.say("one process, recording off and on: %s" % inside)
        self.assertEqual(inside["is_injected"], 1)
        bare, recorded = [], []
        for _ in range(5):
            done = subprocess.run([self.program, "overhead", "5"], capture_output=True, text=True)
            bare.append(gpu.json.loads(done.stdout)["on_ns"])
            recorded.append(self.record("steady", self.program, "overhead", "5", "steady").said()["on_ns"])
        gpu.say("processes in turn: bare %s ns a launch, recorded %s ns" % (bare, recorded))
        gpu.say("medians: %.0f and %.0f, added %.0f ns" % (*(sorted(x)[2] for x in (bare, recorded)), sorted(recorded)[2] - sorted(bare)[2]))


class Killed(gpu.TestCase):
    def setUp(self):
        self.program = self.compile(KERNELS, "kernels")

    def kill_once(self, index, rows):
        progress = os.path.join(self.folder, "progress-%d" % index)
        # The shell's child is the worker that is killed; the shell ends by itself.
        script = '"$0" server "$1" %d & echo $! > "$1.pid"; wait' % rows
        run = self.start("kill-%d" % index, "/bin/sh", "-c", script, self.program, progress)
        while not (os.path.exists(progress + ".pid") and os.path.exists(progress) and os.path.getsize(progress) >= 16):
            time.sleep(0.01)
        counts = (0, 0)
        while counts[1] == 0:
            time.sleep(0.005)
            with open(progress, "rb") as file:
                counts = struct.unpack("QQ", file.read(16))
        time.sleep(random.uniform(0.05, 0.4))
        with open(progress + ".pid") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        out, err = run.communicate(timeout=60)
        with open(progress, "rb") as file:
            launched, synchronised = struct.unpack("QQ", file.read(16))
        self.addCleanup(self.forget, "kill-%d" % index)
        trace = gpu.Recorded(self, self.trace_path("kill-%d" % index), out, err)
        return trace, launched, synchronised

    def test_twenty_kills(self):
        random.seed(1)
        missing_total = 0
        for index in range(20):
            trace, launched, synchronised = self.kill_once(index, random.choice((50, 500, 2000)))
            count = trace.info()["runs"]
            losses = trace.losses()
            open_ones = losses.get("no end yet when the process ended", 0)
            other = {k: v for k, v in losses.items() if k != "no end yet when the process ended"}
            gpu.say(
                "%2d: launched %7d, synchronised %7d, with times %7d, open %5d, accounted for %+d %s"
                % (index, launched, synchronised, count, open_ones, count + open_ones - launched, other or "")
            )
            missing_total += max(0, synchronised - count)
            # The call under way may have been counted by CUPTI and not yet by the program.
            self.assertTrue(-1 <= count + open_ones - launched <= 1, (launched, count, open_ones, trace.err))
        gpu.say("synchronised and without times: %d in 20 kills" % missing_total)


class Captured(gpu.TestCase):
    def test_between_start_and_stop(self):
        program = self.compile(KERNELS, "kernels")
        trace = self.record("captured", program, "profiler", "300", options=("--capture", "cuda-profiler-api"))
        names = {}
        for run in trace.runs():
            names[run["name"]] = names.get(run["name"], 0) + 1
        gpu.say("300 spin, start, 300 empty, stop, 300 spin: %s; lost %s" % (names, trace.losses()))
        self.assertEqual(names, {"empty()": 300})


TORCH_BLOCK = r"""
import json, sys, torch
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, device="cuda", dtype=torch.bfloat16)
x = torch.randn(8, 256, 512, device="cuda", dtype=torch.bfloat16)
def step():
    layer.zero_grad(set_to_none=True)
    layer(x).float().sum().backward()
for _ in range(3):
    step()
torch.cuda.synchronize()
if sys.argv[1] == "profiler":
    from torch.profiler import profile, ProfilerActivity
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for _ in range(20):
            step()
        torch.cuda.synchronize()
    kernels = [e for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    named = [e for e in kernels if not e.name.startswith(("Memcpy", "Memset"))]
    print(json.dumps({"kernels": len(named), "all": len(kernels), "us": sum(e.device_time for e in named)}))
else:
    torch.cuda.profiler.start()
    for _ in range(20):
        step()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    print(json.dumps({"steps": 20}))
"""


STREAMS = """
import ctypes, torch
torch.ones(1, device="cuda")
driver, handle, made = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), 0
for _ in range(3000):
    made += driver.cuStreamCreate(ctypes.byref(handle), 0) == 0
    driver.cuStreamDestroy_v2(handle)
for _ in range(4):
    made += driver.cuCtxCreate_v2(ctypes.byref(handle), 0, 0) == 0
    driver.cuCtxDestroy_v2(handle)
print(made)
"""


class Torch(gpu.TestCase):
    def setUp(self):
        if not gpu.has_torch():
            self.skipTest("no torch with CUDA")
        self.script = os.path.join(self.folder, "block.py")
        with open(self.script, "w") as file:
            file.write(TORCH_BLOCK)

    def test_as_many_kernels_as_torch_profiler_sees(self):
        alone = subprocess.run([sys.executable, self.script, "profiler"], capture_output=True, text=True)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        gpu.say("torch.profiler: " + alone.stdout.strip())
        trace = self.record("block", sys.executable, self.script, "plain", timeout=600)
        runs = [r for r in trace.runs() if not r["name"].startswith(("memcpy", "memset"))]
        seen = gpu.json.loads(alone.stdout.strip().splitlines()[-1])
        # The warm-up's three steps are in our trace, too: compare by step.
        per_step, ours = seen["kernels"] / 20, len(runs)
        gpu.say("opscope: %d kernels in all, %.1f us; torch.profiler %.1f a step" % (ours, sum(r["ns"] for r in runs) / 1e3, per_step))
        gpu.say(trace.err.strip())
        self.assertGreaterEqual(ours, per_step * 23)
        self.assertLess(ours, per_step * 23 + 200)

    def test_streams_and_contexts_that_are_gone_at_once(self):
        trace = self.record("streams", sys.executable, "-c", STREAMS, timeout=600)
        self.assertEqual(trace.out.strip(), "3004")

    def test_torch_profiler_inside_a_recorded_program(self):
        trace = self.record("rival", sys.executable, self.script, "profiler", timeout=600)
        gpu.say("torch.profiler inside: " + trace.out.strip())
        gpu.say("it says: " + " | ".join(line for line in trace.err.splitlines() if "CUPTI" in line or "opscope" in line)[:600])
        runs = trace.runs()
        gpu.say("opscope has %d runs" % len(runs))
        self.assertGreater(len(runs), 100)

    def test_left_to_torch_profiler(self):
        trace = self.record("left", sys.executable, self.script, "profiler", options=("--devices", "none"), timeout=600)
        gpu.say("with --devices none torch.profiler has: " + trace.out.strip())
        self.assertGreater(trace.said()["kernels"], 100)
        self.assertEqual(trace.runs(), [])


if __name__ == "__main__":
    gpu.main()
