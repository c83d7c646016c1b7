#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Zones inside CUDA kernels (opscope_kernel.cuh), on a GPU: where they are, whether their times can be, what they cost."""

import subprocess

import gpu


class KernelZones(gpu.TestCase):
    def setUp(self):
        link = ("-L", gpu.BUILD, "-lopscope", "-Xlinker", "-rpath=" + gpu.BUILD)
        self.program = self.compile("examples/cuda/kernel_zones.cu", "kernel_zones", *link)

    def test_zones_are_inside_their_kernels(self):
        trace = self.record("zones", self.program)
        said = trace.said()
        tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace.events() if e["name"] == "thread_name"}
        zones = [e for e in trace.events() if e.get("cat") == "zone" and tracks.get((e["pid"], e["tid"]), "").startswith("SM ")]
        names = {}
        for zone in zones:
            names[zone["name"]] = names.get(zone["name"], 0) + 1
        multiprocessors = {tracks[(e["pid"], e["tid"])].split(" warp")[0] for e in zones}
        gpu.say("%s; in the trace: %s on %d multiprocessors" % (said, names, len(multiprocessors)))
        gpu.say(trace.err.strip())
        self.assertEqual(names, {name: 5 * said["warps"] for name in ("load", "work", "store", "block")})
        self.assertGreater(len(multiprocessors), 100)
        kernels = sorted((r["start"], r["end"]) for r in trace.runs("process"))
        self.assertEqual(len(kernels), 5)
        outside, slack = 0, 3.0  # us: both clocks were compared to some 2 us
        worst = 0.0
        for zone in zones:
            begin, end = zone["ts"], zone["ts"] + zone["dur"]
            distance = min(max(k[0] - begin, end - k[1], 0.0) for k in kernels)
            worst = max(worst, distance)
            outside += distance > slack
        gpu.say("farthest outside of its kernel: %.2f us; kernels take %s us" % (worst, ["%.1f" % (k[1] - k[0]) for k in kernels]))
        self.assertEqual(outside, 0)
        # A block's warps are busy for most of it: the parts add up to the whole, and the whole fills the kernel.
        parts = sum(z["dur"] for z in zones if z["name"] != "block")
        blocks = sum(z["dur"] for z in zones if z["name"] == "block")
        longest = max(z["dur"] for z in zones if z["name"] == "block")
        gpu.say("parts / blocks %.3f; longest block %.1f us" % (parts / blocks, longest))
        self.assertTrue(0.8 < parts / blocks <= 1.01)
        self.assertGreater(longest, 0.5 * min(k[1] - k[0] for k in kernels) / 2)

    def test_without_recording(self):
        done = subprocess.run([self.program], capture_output=True, text=True)
        gpu.say("not recorded: " + done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"zones": 0', done.stdout)

    def test_off_at_compile_time(self):
        program = self.compile("examples/cuda/kernel_zones.cu", "kernel_zones_off", "-DOPSCOPE_DISABLE")
        done = subprocess.run([program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"zones": 0', done.stdout)

    def test_overflow_is_counted(self):
        trace = self.record("overflow", self.program, "overflow")
        gpu.say(trace.out.strip() + " | " + " ".join(line for line in trace.err.splitlines() if "had no room" in line))
        self.assertIn("zones inside kernels had no room", trace.err)

    def test_more_names_than_fit_into_an_entry(self):
        """Each of the twenty zones takes 1,000 cycles more than the one before."""
        trace = self.record("names", self.program, "names")
        said = trace.said()
        self.assertEqual(said["zones"], 20 * said["warps"])
        times = {}
        for e in trace.events():
            if e.get("cat") == "zone" and e["name"].startswith("name "):
                times.setdefault(int(e["name"][5:]), []).append(e["dur"] * 1000)
        self.assertEqual(sorted(times), list(range(20)))
        nominal = 1e6 / said["khz"]  # ns per cycle
        off = {}
        for number, found in times.items():
            self.assertEqual(len(found), said["warps"])
            off[number] = sorted(found)[len(found) // 2] - 1000 * (number + 1) * nominal
        gpu.say("medians less 1,000, 2,000, ... cycles at %d kHz, ns: %s" % (said["khz"], ["%.0f" % off[n] for n in sorted(off)]))
        for number, ns in off.items():
            self.assertLess(abs(ns), 100 + 0.05 * 1000 * (number + 1) * nominal, "name %d" % number)

    def test_a_zone_too_long_is_said(self):
        trace = self.record("long", self.program, "long")
        gpu.say(" ".join(line for line in trace.err.splitlines() if "2^32" in line))
        self.assertIn("took 2^32 cycles or more: 1;", trace.err)

    def test_cost(self):
        for warps in ("1", "4", "16", "32"):
            trace = self.record("cost-" + warps, self.program, "cost", warps)
            gpu.say("cost: " + trace.out.strip())
            self.assertGreater(trace.said()["ns_per_zone"], 0)


if __name__ == "__main__":
    gpu.main()
