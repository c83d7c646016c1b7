# SPDX-License-Identifier: Apache-2.0
"""`opscope run --gpu-metrics` on a real GPU: what the counters say of a load that is known, against that load's own figures
and on its times, and what sampling costs it. Needs torch with CUDA, and permission (root). OPSCOPE_TEST_BUILD names the
build folder."""

import glob
import json
import os
import statistics
import subprocess
import sys
import unittest

import gpu

# Phases of copies and of products: each is an NVTX range, and has a rate.
LOAD = """
import json, sys, time, torch
raw = time.monotonic
n, seconds = 1 << 30, float(sys.argv[1])
x, y = torch.empty(n, dtype=torch.uint8, device="cuda"), torch.empty(n, dtype=torch.uint8, device="cuda")
a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
c = torch.empty_like(a)
kinds = {"idle": (None, 0), "copy": (lambda: y.copy_(x), 2 * n), "product": (lambda: torch.mm(a, b, out=c), 2 * 8192 ** 3)}
for call, _ in kinds.values():
    for _ in range(3):
        call and call()
torch.cuda.synchronize()
phases = []
for number, name in enumerate(sys.argv[2:]):
    call, work = kinds[name]
    torch.cuda.nvtx.range_push("phase %d" % number)
    start, count = raw(), 0
    while raw() - start < seconds:
        for _ in range(8 if call else 0):
            call()
            count += 1
        torch.cuda.synchronize()
        call or time.sleep(0.01)
    torch.cuda.nvtx.range_pop()
    phases.append({"name": name, "rate": count * work / (raw() - start)})
print(json.dumps(phases))
"""
TITLES = ["DRAM read GB/s", "DRAM write GB/s", "tensor pipe %", "SM active %", "GPU active %", "PCIe read GB/s", "PCIe write GB/s"]


def libcupti():
    for folder in sys.path:
        found = glob.glob(os.path.join(glob.escape(folder), "nvidia", "*", "lib", "libcupti.so.1[23]"))
        if found:
            return found[-1]
    return None


@unittest.skipUnless(gpu.has_gpu() and gpu.has_torch(), "no GPU, or no torch with CUDA")
class Metrics(gpu.TestCase):
    def load(self, name, *phases, options=("--gpu-metrics",), seconds=1.0, **env):
        if libcupti() and "OPSCOPE_CUPTI" not in os.environ:
            env.setdefault("OPSCOPE_CUPTI", libcupti())
        env.setdefault("OPSCOPE_PYTHON_TRACE", "off")
        options = ["--devices", "nvtx", *options]
        return self.record(name, sys.executable, "-c", LOAD, str(seconds), *phases, options=options, **env)

    def counters(self, recorded):
        """By title: (time in us, value) in the order of times."""
        found = {}
        for event in recorded.events():
            if event.get("ph") == "C" and event["name"].startswith("GPU 0 "):
                (value,) = event["args"].values()
                found.setdefault(event["name"][len("GPU 0 ") :], []).append((event["ts"], value))
        return {title: sorted(rows) for title, rows in found.items()}

    def phases(self, recorded):
        """With their times in us of the trace."""
        phases = json.loads(recorded.out.splitlines()[-1])
        for number, phase in enumerate(phases):
            (zone,) = recorded.zones("phase %d" % number)
            phase["from"], phase["to"] = zone["ts"], zone["ts"] + zone["dur"]
        return phases

    def test_known_load(self):
        recorded = self.load("known", "idle", "copy", "idle", "product", "idle")
        self.assertNotIn("counters are missing", recorded.err)
        counters, phases = self.counters(recorded), self.phases(recorded)
        self.assertEqual(set(counters), set(TITLES))
        for phase in phases:
            length = phase["to"] - phase["from"]
            inside = lambda t: phase["from"] + 0.1 * length < t < phase["to"] - 0.1 * length
            phase["median"] = {t: statistics.median([v for at, v in rows if inside(at)]) for t, rows in counters.items()}
            gpu.say("%-8s %s" % (phase["name"], "  ".join("%s %.1f" % pair for pair in phase["median"].items())))
        idle, copy, _, product, _ = phases
        gpu.say("copy by its own figures %.0f GB/s" % (copy["rate"] / 1e9))
        traffic = copy["median"]["DRAM read GB/s"] + copy["median"]["DRAM write GB/s"]
        self.assertTrue(0.8 < traffic / (copy["rate"] / 1e9) < 1.2, traffic)
        self.assertGreater(product["median"]["tensor pipe %"], 60)
        self.assertLess(copy["median"]["tensor pipe %"], 1)
        self.assertLess(idle["median"]["SM active %"], 5)
        self.assertGreater(copy["median"]["GPU active %"], 90)
        rows = counters["SM active %"]
        steps = [b[0] - a[0] for a, b in zip(rows, rows[1:])]
        gpu.say("%d samples, step median %.1f us, largest %.1f us, losses %s"
                % (len(rows), statistics.median(steps), max(steps), recorded.losses()))
        self.assertAlmostEqual(statistics.median(steps), 100, delta=2)

    def test_times(self):
        """The copy's traffic begins and ends where the program says, to some samples."""
        recorded = self.load("times", "idle", "copy", "idle")
        copy = self.phases(recorded)[1]
        busy = [at for at, value in self.counters(recorded)["DRAM write GB/s"] if value > 500 and at > copy["from"] - 500000]
        gpu.say("traffic begins %.0f us after the phase, ends %.0f us before its end" % (busy[0] - copy["from"], copy["to"] - busy[-1]))
        self.assertTrue(-200 < busy[0] - copy["from"] < 2000)
        self.assertTrue(-200 < copy["to"] - busy[-1] < 5000)

    def test_cost(self):
        rates = {"off": {}, "on": {}}
        for turn in range(3):
            for name, options in (("off", ()), ("on", ("--gpu-metrics",))):
                for phase in self.phases(self.load("cost", "copy", "product", options=options)):
                    rates[name].setdefault(phase["name"], []).append(phase["rate"])
        for kind in ("copy", "product"):
            off, on = (statistics.median(rates[name][kind]) for name in ("off", "on"))
            gpu.say("%-8s %.4g without, %.4g with: %.3f" % (kind, off, on, on / off))
            self.assertGreater(on / off, 0.95)

    def test_too_fast_is_counted_and_goes_on(self):
        """At 10 us all seven cannot be sustained: an overflow, and samples again after it."""
        recorded = self.load("fast", "copy", options=("--gpu-metrics", "--gpu-metrics-interval", "10us"), seconds=20.0)
        rows = self.counters(recorded)["SM active %"]
        steps = [b[0] - a[0] for a, b in zip(rows, rows[1:])]
        gpu.say("%d samples, losses %s, gaps over 10 ms: %d" % (len(rows), recorded.losses(), sum(s > 1e4 for s in steps)))
        self.assertTrue(rows)
        if recorded.losses():
            self.assertTrue(any(step > 1e4 for step in steps), "nothing came after an overflow")

    def test_two_runs_at_once(self):
        """What the second one says (written down, not judged: it depends on the driver)."""
        env = self.environment(**({"OPSCOPE_CUPTI": libcupti()} if libcupti() else {}))
        words = [gpu.OPSCOPE, "run", "--gpu-metrics", "-o"]
        first = subprocess.Popen([*words, self.trace_path("first"), "--", "sleep", "8"], stderr=subprocess.PIPE, text=True, env=env)
        second = subprocess.run([*words, self.trace_path("second"), "--", "sleep", "1"], capture_output=True, text=True, env=env)
        gpu.say("second: " + second.stderr.strip())
        gpu.say("first: " + first.communicate(timeout=60)[1].strip())
        self.assertEqual((first.returncode, second.returncode), (0, 0))


if __name__ == "__main__":
    gpu.main()
