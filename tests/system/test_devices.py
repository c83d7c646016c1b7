# SPDX-License-Identifier: Apache-2.0
"""`opscope run --devices`: which variables the program gets, and what becomes of those that another tool has set."""

import os
import re
import unittest

import harness

CUDA = os.path.join(harness.BUILD, "libopscope_cuda.so")
NVTX = os.path.join(harness.BUILD, "libopscope_nvtx.so")
OPENCL = os.path.join(harness.BUILD, "libopscope_opencl.so")
NAMES = ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH", "OPENCL_LAYERS", "LD_PRELOAD")


class Variables(harness.TestCase):
    def seen(self, *options, env=None):
        """What the program sees of them."""
        shell = "; ".join('echo "%s=$%s"' % (name, name) for name in NAMES)
        done = self.opscope("run", "-q", "-o", self.path("t.opscope"), *options, "--", "sh", "-c", shell, env=env)
        self.assert_status(done)
        pairs = dict(line.split("=", 1) for line in done.stdout.splitlines())
        return {name: value for name, value in pairs.items() if value}, done.stderr

    def test_names(self):
        everything = {"CUDA_INJECTION64_PATH": CUDA, "NVTX_INJECTION64_PATH": NVTX, "OPENCL_LAYERS": OPENCL}
        if not os.path.exists(OPENCL):
            everything.pop("OPENCL_LAYERS")
        for options in ([], ["--devices", "auto"], ["--devices=opencl,cuda"], ["--devices", "none,auto"]):
            self.assertEqual(self.seen(*options), (everything, ""), options)
        self.assertEqual(
            self.seen("--devices", "cuda"), ({"CUDA_INJECTION64_PATH": CUDA, "NVTX_INJECTION64_PATH": NVTX}, "")
        )
        self.assertEqual(self.seen("--devices", "nvtx"), ({"NVTX_INJECTION64_PATH": NVTX}, ""))
        self.assertEqual(self.seen("--devices", "none"), ({}, ""))

    def test_by_a_variable(self):
        seen, _ = self.seen(env={"OPSCOPE_DEVICES": "nvtx"})
        self.assertEqual(seen, {"NVTX_INJECTION64_PATH": NVTX})
        seen, _ = self.seen("--devices", "cuda", env={"OPSCOPE_DEVICES": "none"})
        self.assertEqual(sorted(seen), ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"])
        done = self.opscope("run", "--", "true", env={"OPSCOPE_DEVICES": "tpu"})
        self.assertEqual(done.status, 125)
        self.assertIn("OPSCOPE_DEVICES: 'tpu' is not known; these are: auto, ", done.stderr)

    def test_variable_of_one_process(self):
        """What uses CUDA's profiling interface itself, among others that are recorded."""
        ranges = harness.program("nvtx_ranges")
        trace = self.path("t.opscope")
        for names, count in (("none", 3), ("opencl", 6), ("cuda", 6), ("", 6)):
            shell = "%s nested; OPSCOPE_DEVICES=%s %s nested" % (ranges, names, ranges)
            self.assert_status(self.opscope("run", "-o", trace, "--", "sh", "-c", shell))
            rows = harness.opscope_json("zones", trace)["rows"]
            self.assertEqual({row["name"]: row["count"] for row in rows}["outer"], count, names)

    def test_name_that_is_not_known(self):
        done = self.opscope("run", "--devices", "opencl,cl", "--", "true")
        self.assertEqual(done.status, 125)
        self.assertIn("--devices: 'cl' is not known; these are: auto, ", done.stderr)
        self.assertFalse(os.path.exists(self.path("true.opscope")))

    def test_variable_of_another_tool(self):
        seen, said = self.seen(env={"NVTX_INJECTION64_PATH": "/other/tool.so"})
        self.assertEqual(seen["NVTX_INJECTION64_PATH"], "/other/tool.so")
        self.assertIn("NVTX_INJECTION64_PATH is set already (/other/tool.so): NVTX ranges are not recorded", said)
        seen, said = self.seen(env={"CUDA_INJECTION64_PATH": "/opt/libToolsInjection64.so"})
        self.assertIn("is set already (Nsight Systems: /opt/libToolsInjection64.so): CUDA kernels are not recorded", said)
        seen, said = self.seen("--devices", "none", env={"NVTX_INJECTION64_PATH": "/other/tool.so"})
        self.assertEqual((seen, said), ({"NVTX_INJECTION64_PATH": "/other/tool.so"}, ""))
        if os.path.exists(OPENCL):
            seen, said = self.seen(env={"OPENCL_LAYERS": "/a.so:/b.so"})
            self.assertEqual((seen["OPENCL_LAYERS"], said), ("/a.so:/b.so:" + OPENCL, ""))

    def test_run_inside_a_run(self):
        inner = [harness.OPSCOPE, "run", "-q", "-o", self.path("inner.opscope"), "--", "sh", "-c", "echo $NVTX_INJECTION64_PATH"]
        done = self.opscope("run", "-q", "-o", self.path("outer.opscope"), "--", *inner)
        self.assert_status(done)
        self.assertEqual((done.stdout, done.stderr), (NVTX + "\n", ""))


class Doctor(harness.TestCase):
    def rows(self, env=None):
        return {row["check"]: row for row in harness.opscope_json("doctor", env=env)["rows"]}

    def test_adapters(self):
        row = self.rows()["NVTX"]
        self.assertEqual(row["status"], "ok")
        self.assertIn(NVTX, row["found"])
        self.assertIn("OpenCL", self.rows())

    def test_cuda(self):
        standin = os.path.join(harness.PROGRAMS, "cupti_standin_plugin.so")
        os.symlink(standin, self.path("libcuda.so.1"))
        row = self.rows({"LD_LIBRARY_PATH": self.path(), "OPSCOPE_CUPTI": standin})["CUDA"]
        self.assertEqual((row["status"], row["found"]), ("ok", "driver for CUDA 13.2; %s (version 130001)" % standin))
        row = self.rows({"LD_LIBRARY_PATH": self.path(), "OPSCOPE_CUPTI": "/no/libcupti.so"})["CUDA"]
        self.assertEqual((row["status"], row["found"]), ("warn", "OPSCOPE_CUPTI is /no/libcupti.so, which cannot be loaded"))
        row = self.rows({"LD_LIBRARY_PATH": self.path(), "OPSCOPE_CUPTI": standin, "STANDIN_DRIVER": "12080"})["CUDA"]
        self.assertEqual(row["status"], "warn")
        self.assertIn("driver for CUDA 12.8, which is too old for " + standin, row["found"])
        self.assertIn("OPSCOPE_CUPTI", row["advice"])

    def test_cuda_without_a_gpu(self):
        """A driver's library alone, as in a container that was started without its GPUs."""
        if any(map(os.path.exists, ("/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg"))):
            self.skipTest("there is a GPU here")
        standin = os.path.join(harness.PROGRAMS, "cupti_standin_plugin.so")
        self.assertIn("install its driver", self.rows()["CUDA"]["advice"])
        os.symlink(standin, self.path("libcuda.so.1"))
        row = self.rows({"LD_LIBRARY_PATH": self.path(), "OPSCOPE_CUPTI": standin})["CUDA GPU"]
        self.assertEqual((row["status"], row["found"][-18:]), ("warn", ": no /dev/nvidiactl"[-18:]))
        self.assertIn("docker run --gpus all", row["advice"])

    def test_opencl(self):
        """Which drivers the loader would find; a file that names a library which is not there is none."""
        if not os.path.exists(OPENCL) or "libOpenCL" not in self.rows()["OpenCL"]["found"]:
            self.skipTest("no loader of OpenCL, or no adapter: Debian's ocl-icd-libopencl1, opencl-headers")
        env = {"OCL_ICD_VENDORS": self.folder}
        row = self.rows(env)["OpenCL"]
        self.assertEqual(row["status"], "-")
        self.assertIn("no drivers", row["found"])
        for name, library in (("here", "libsome.so.1"), ("gone", "/opt/gone/libgone.so")):
            with open(self.path(name + ".icd"), "w") as file:
                file.write(library + "\n")
        rows = self.rows(env)
        self.assertTrue(rows["OpenCL"]["found"].endswith("takes our layer; 1 driver (here)"), rows["OpenCL"])
        self.assertIn("gone.icd names /opt/gone/libgone.so, which is not there", rows["OpenCL drivers"]["found"])

    def test_rival_tool(self):
        row = self.rows({"NVTX_INJECTION64_PATH": "/other/tool.so"})["NVTX"]
        self.assertEqual((row["status"], row["found"]), ("warn", "another tool has it: NVTX_INJECTION64_PATH=/other/tool.so"))
        self.assertIn("Unset the variable", row["advice"])
        for path, tool in (("/opt/nvidia/nsight-systems/2025.1/lib.so", "Nsight Systems"), ("/x/libToolsInjection64.so", "Nsight Systems"),
                           ("/usr/local/cuda/lib64/libcupti.so.13", "CUPTI"), ("/old/libopscope_cuda.so", "another opscope")):
            row = self.rows({"CUDA_INJECTION64_PATH": path})["CUDA"]
            self.assertEqual((row["status"], row["found"]), ("warn", "%s has it: CUDA_INJECTION64_PATH=%s" % (tool, path)))

    def prebuilt(self):
        """The torch of the system that the build has an observer for; ""."""
        path = os.path.join(harness.BUILD, "python", "opscope", "torch-prebuilt.txt")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return ", ".join(re.findall(r"-([^\t]+)\.so\t", file.read()))

    def test_torch(self):
        """Observers that were built, whether others can be, and what to do where not."""
        folder = self.path("cache/opscope/torch/2.5.1+cu124-0123456789abcdef")
        os.makedirs(self.path("bin"))
        env = {"XDG_CACHE_HOME": self.path("cache"), "PATH": self.path("bin"), "CXX": ""}
        prebuilt = self.prebuilt()
        row = self.rows(env)["PyTorch"]
        others = "observers of ops for torch %s; no C++ compiler to build others with" % prebuilt
        self.assertEqual((row["status"], row["found"]), ("-", others if prebuilt else "no C++ compiler to build an observer of its ops with"))
        self.assertIn("opscope setup torch", row["advice"])
        os.symlink("/bin/true", self.path("bin/clang++"))
        row = self.rows(env)["PyTorch"]
        others = "observers of ops for torch %s; others are" % prebuilt if prebuilt else "the observer of its ops is"
        self.assertEqual((row["status"], row["found"]), ("ok", others + " built by clang++ when a program imports torch"))
        os.makedirs(folder)
        for path in (os.path.join(folder, "libopscope_torch.so"), self.path("file")):
            with open(path, "wb"):
                pass
        row = self.rows({**env, "CXX": "/bin/true -O0"})["PyTorch"]
        versions = ", ".join(filter(None, [prebuilt, "2.5.1+cu124"]))
        self.assertEqual(row["found"], "observers of ops for torch " + versions + "; others are built by /bin/true when a program imports torch")
        row = self.rows({**env, "XDG_CACHE_HOME": self.path("file")})["PyTorch"]
        self.assertEqual(row["status"], "warn")
        self.assertTrue(row["found"].endswith(self.path("file/opscope/torch") + " cannot be written to"), row["found"])
        self.assertIn("XDG_CACHE_HOME", row["advice"])


if __name__ == "__main__":
    unittest.main()
