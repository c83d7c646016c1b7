# SPDX-License-Identifier: Apache-2.0
"""`opscope machine measure cuda` on a real device: the figures are there, are plausible against the datasheet's, and come
out again; and NVTX ranges of a real torch. Prints what was measured. OPSCOPE_TEST_BUILD names the build folder."""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("OPSCOPE_TEST_BUILD", os.path.join(ROOT, "build")))
OPSCOPE = os.path.join(BUILD, "opscope")


def run(*words, **options):
    return subprocess.run([OPSCOPE, *words], capture_output=True, text=True, timeout=300, **options)


def cublas_folder():
    """Where this Python's wheels have cuBLAS."""
    for folder in sys.path:
        found = glob.glob(os.path.join(glob.escape(folder), "nvidia", "*", "lib", "libcublasLt.so*"))
        if found:
            return os.path.dirname(found[0])
    return None


@unittest.skipUnless(glob.glob("/dev/nvidia[0-9]*"), "no GPU on this machine")
class Measure(unittest.TestCase):
    def measure(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.json")
            done = run("machine", "measure", "cuda", "--save", path, *options)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            print(done.stdout, done.stderr, sep="")
            shown = run("machine", "show", path, "--json")
            self.assertEqual(shown.returncode, 0, shown.stdout + shown.stderr)
            with open(path, encoding="utf-8") as file:
                print(file.read())
        return json.loads(shown.stdout)

    def test_figures(self):
        folder = cublas_folder()
        shown = self.measure(*(["--library", folder] if folder else []))
        figures = {row["figure"]: row["value"] for row in shown["rows"]}
        for key, value in figures.items():
            self.assertGreater(value, 0, key)
        datasheet = run("machine", "show", shown["name"], "--json")
        if datasheet.returncode:
            self.skipTest("no datasheet figures of %s" % shown["name"])
        peaks = {row["figure"]: row["value"] for row in json.loads(datasheet.stdout)["rows"]}
        for key in ("dram_gb_s", "tflops_per_core_lofi", "tflops_per_core_hifi2", "tflops_per_core_hifi4",
                    "vector_tflops_per_core"):
            share = figures[key] / peaks[key]
            print("%-24s %8.3f of %8.3f: %3.0f %%" % (key, figures[key], peaks[key], 100 * share))
            self.assertTrue(0.35 < share < 1.05, "%s: %g of %g" % (key, figures[key], peaks[key]))
        self.assertEqual(figures["worker_cores"], peaks["worker_cores"])

    def test_no_such_device(self):
        done = run("machine", "measure", "cuda", "--device", "63")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("no CUDA device 63", done.stderr)


TORCH = """
import torch
torch.cuda.nvtx.range_push("outer")
for i in range(3):
    with torch.cuda.nvtx.range("step {}", i):
        pass
torch.cuda.nvtx.mark("a mark")
handle = torch.cuda.nvtx.range_start("long one")
torch.cuda.nvtx.range_end(handle)
torch.cuda.nvtx.range_pop()
with torch.autograd.profiler.emit_nvtx():
    x = torch.ones(4, 4)
    y = x @ x
print("done")
"""


class TorchRanges(unittest.TestCase):
    def test_ranges(self):
        probe = subprocess.run([sys.executable, "-c", "import torch; torch.cuda.nvtx.mark('x')"], capture_output=True)
        if probe.returncode:
            self.skipTest("no torch with NVTX here")
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "t.opscope")
            done = run("run", "-o", trace, "--python-trace", "off", "--", sys.executable, "-c", TORCH)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            zones = json.loads(run("zones", "--json", trace).stdout)["rows"]
            messages = json.loads(run("messages", "--json", trace).stdout)["rows"]
        counts = {row["name"]: row["count"] for row in zones}
        print("    NVTX of torch: %s" % counts)
        for name in ("outer", "step 0", "step 1", "step 2", "long one"):
            self.assertEqual(counts.get(name), 1, counts)
        self.assertTrue(any(name.startswith("aten::matmul") for name in counts), counts)
        self.assertIn("a mark", [row["header"] for row in messages])


if __name__ == "__main__":
    unittest.main(verbosity=2)
