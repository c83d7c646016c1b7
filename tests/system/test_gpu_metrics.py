# SPDX-License-Identifier: Apache-2.0
"""`opscope run --gpu-metrics` where there is no GPU: against a stand-in for libcupti and the driver whose counters have
known values (programs/pm_standin_plugin.c), and with the real libcupti as far as it goes without a GPU. The rest is
tests/gpu's."""

import glob
import os
import sys
import unittest

import harness
import test_cuda

STANDIN = os.path.join(harness.PROGRAMS, "pm_standin_plugin.so")
TITLES = ["DRAM read GB/s", "DRAM write GB/s", "tensor pipe %", "SM active %", "GPU active %", "PCIe read GB/s", "PCIe write GB/s"]
WAIT = 'while [ ! -e "$PM_STANDIN_DONE" ]; do sleep 0.01; done'  # until all samples were taken
MISSING = "opscope: GPU counters are missing: "


class StandIn(harness.TestCase):
    def record(self, *options, command=None, status=0, case="", samples=10, **env):
        self.trace = self.path("t.opscope")
        if not os.path.lexists(self.path("libcuda.so.1")):
            os.symlink(STANDIN, self.path("libcuda.so.1"))
        env = {"OPSCOPE_CUPTI": STANDIN, "LD_LIBRARY_PATH": self.path(), "PM_STANDIN": case, **env}
        env.update({"PM_STANDIN_SAMPLES": str(samples), "PM_STANDIN_DONE": self.path("done")})
        command = command or ["sh", "-c", WAIT]
        done = self.opscope("run", "-o", self.trace, "--gpu-metrics", *options, "--", *command, env=env)
        self.assert_status(done, status)
        return done

    def counters(self):
        """Times (us) and values by name."""
        done = self.opscope("export", "--format", "chrome", "-o", "-", self.trace)
        self.assert_status(done)
        found = {}
        for event in done.json()["traceEvents"]:
            if event.get("ph") == "C":
                (value,) = event["args"].values()
                found.setdefault(event["name"], []).append((event["ts"], value))
        return found

    def values(self):
        return {name: [value for _, value in rows] for name, rows in self.counters().items()}

    def test_samples_are_counters(self):
        done = self.record()
        self.assertNotIn(MISSING, done.stderr)
        counters = self.counters()
        self.assertEqual(set(counters), {"GPU 0 " + title for title in TITLES})
        for number, title in enumerate(TITLES):
            rows = counters["GPU 0 " + title]
            self.assertEqual([value for _, value in rows], [1000 * (number + 1) + i for i in range(10)], title)
            # 4, 4 and 2 are decoded at a time, with the clocks read once for all of them that were there.
            self.assertAlmostEqual(rows[3][0] - rows[0][0], 300, delta=0.01)
        info = self.opscope_json("info", self.trace)
        self.assertEqual(info["losses"], [])
        (track,) = [track for track in info["tracks"] if track["kind"] == "other"]
        self.assertEqual(track["name"], "GPU 0 Stand-in 0")

    def test_on_the_clock_of_the_run(self):
        """The sampler was started by the run and no sample is older than the run."""
        self.record()
        rows = self.counters()["GPU 0 SM active %"]
        self.assertGreater(rows[0][0], -1000)  # two clocks are compared: a ms is much

    def test_libcupti_of_the_packages_of_the_programs_python(self):
        packages = self.path("env", "lib", "python3.11", "site-packages", "nvidia", "cu13", "lib")
        os.makedirs(packages)
        os.makedirs(self.path("env", "bin"))
        os.symlink(STANDIN, os.path.join(packages, "libcupti.so.13"))
        os.symlink("/bin/sh", self.path("env", "bin", "python3"))
        path = self.path("env", "bin") + os.pathsep + os.environ["PATH"]
        for python in ("python3", self.path("env", "bin", "python3")):
            if os.path.exists(self.path("done")):
                os.unlink(self.path("done"))
            done = self.record(command=[python, "-c", WAIT], OPSCOPE_CUPTI="", PATH=path)
            self.assertNotIn(MISSING, done.stderr)
            self.assertEqual(len(self.values()), 7)

    def test_several_gpus(self):
        done = self.record(PM_STANDIN_GPUS="2", PM_STANDIN_INTERVAL="200000")
        self.assertNotIn(MISSING, done.stderr)
        values = self.values()
        self.assertEqual(len(values), 14)
        self.assertEqual(values["GPU 0 tensor pipe %"], [3000 + i for i in range(10)])
        self.assertEqual(values["GPU 1 tensor pipe %"], [(3000 + i) / 2 for i in range(10)])

    def test_interval(self):
        self.record("--gpu-metrics-interval", "20us", PM_STANDIN_INTERVAL="20000")
        self.assertEqual(len(self.values()["GPU 0 GPU active %"]), 10)
        for words, text in (
            (["--gpu-metrics-interval", "20us"], "is for --gpu-metrics"),
            (["--gpu-metrics", "--gpu-metrics-interval", "1us"], "10us to 1s"),
        ):
            done = self.opscope("run", *words, "--", "true")
            self.assert_status(done, 125)
            self.assertIn(text, done.stderr)

    def test_chip_with_fewer_counters(self):
        self.record(case="fewer")
        self.assertEqual(set(self.values()), {"GPU 0 " + title for title in TITLES if "PCIe" not in title})

    def test_libcupti_of_cuda_12_6(self):
        wait = 'i=0; while [ ! -e "$PM_STANDIN_DONE" ] && [ $i -lt 6000 ]; do sleep 0.01; i=$((i + 1)); done'
        done = self.record(case="12.6", command=["sh", "-c", wait])
        self.assertNotIn(MISSING, done.stderr)
        self.assertEqual(set(self.values()), {"GPU 0 " + title for title in TITLES})

    def test_overflow_is_counted_and_sampling_goes_on(self):
        done = self.record(case="overflow")
        self.assertEqual(self.values()["GPU 0 DRAM read GB/s"], [1000 + i for i in range(10)])
        (loss,) = self.opscope_json("info", self.trace)["losses"]
        self.assertEqual(loss["reason"], "dropped by the device's runtime")
        self.assertGreaterEqual(loss["records"], 1)
        self.assertNotIn(MISSING, done.stderr)

    def test_errors_are_said_and_the_status_stays(self):
        for case, text in (
            ("privileges", "NVreg_RestrictProfilingToAdminUsers=0"),
            ("privileges", "GPU 0 Stand-in 0: the driver keeps them for administrators (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)"),
            ("busy", "another tool reads them (CUPTI_ERROR_HARDWARE_BUSY)"),
            ("chip", "cannot sample ZZ100 (CUPTI_ERROR_INVALID_CHIP_NAME)"),
            ("helpers", "libnvperf_host.so and libnvperf_target.so belong beside it"),
            ("no gpu", "no GPU that CUDA can use"),
        ):
            with self.subTest(case):
                done = self.record(case=case, command=["sh", "-c", "exit 3"], status=3)
                self.assertIn(MISSING, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertEqual(self.counters(), {})

    def test_no_driver_and_no_libcupti(self):
        done = self.opscope("run", "-q", "-o", self.path("t.opscope"), "--gpu-metrics", "--", "true", env={"OPSCOPE_CUPTI": "/no.so"})
        self.assert_status(done)
        self.assertIn(MISSING + "OPSCOPE_CUPTI is /no.so, which cannot be loaded", done.stderr)
        if not glob.glob("/dev/nvidia[0-9]*"):
            env = {"OPSCOPE_CUPTI": STANDIN}
            done = self.opscope("run", "-q", "-o", self.path("t.opscope"), "--gpu-metrics", "--", "true", env=env)
            self.assertRegex(done.stderr, MISSING + "(no driver of NVIDIA|no GPU that CUDA can use|the driver cannot be used)")

    def test_libcupti_without_sampling(self):
        done = self.record(command=["true"], OPSCOPE_CUPTI=test_cuda.CUPTI)
        self.assertIn("CUDA 12.6 or newer is needed", done.stderr)

    def test_sampler_that_dies(self):
        done = self.record(case="crash", command=["sh", "-c", WAIT + "; exit 4"], status=4)
        self.assertIn(MISSING + "the process that reads them was ended by signal 9", done.stderr)

    def test_sampler_that_hangs_is_ended(self):
        done = self.record(case="hang")
        self.assertIn("did not end in time", done.stderr)
        self.assertEqual(self.values()["GPU 0 DRAM read GB/s"], [1000 + i for i in range(10)])

    def test_doctor(self):
        self.record(command=["true"])
        env = {"LD_LIBRARY_PATH": self.path(), "OPSCOPE_CUPTI": STANDIN}
        rows = {row["check"]: row for row in harness.opscope_json("doctor", env=env)["rows"]}
        self.assertEqual(rows["GPU counters"]["found"], "opscope run --gpu-metrics can sample them")
        rows = {row["check"]: row for row in harness.opscope_json("doctor", env={**env, "OPSCOPE_CUPTI": test_cuda.CUPTI})["rows"]}
        self.assertIn("CUDA 12.6 or newer", rows["GPU counters"]["found"])


def real_libcupti():
    """Given, or of the packages of PyPI."""
    given = os.environ.get("OPSCOPE_CUPTI")
    found = [given] if given else []
    for folder in sys.path:
        found += sorted(glob.glob(os.path.join(glob.escape(folder), "nvidia", "*", "lib", "libcupti.so.1[23]")))
    return found[0] if found else None


class Real(harness.TestCase):
    def test_all_counters_of_a_gh100_in_one_pass(self):
        library = real_libcupti()
        if not library:
            self.skipTest("no libcupti here: OPSCOPE_CUPTI, or pip install nvidia-cuda-cupti")
        done = self.opscope("gpu-sampler", "--chip", "GH100", env={"OPSCOPE_CUPTI": library})
        if done.status == 2 and "(999)" in done.stderr and not glob.glob("/dev/nvidia[0-9]*"):
            self.skipTest("%s has its tables with a driver alone, as that of CUDA 13.4" % library)
        self.assert_status(done)
        lines = done.stdout.splitlines()
        # That of CUDA 12.6 counts no bytes of the memory for sampling, that of 12.9 does.
        is_short = ".so.12" in library and "GH100: 5 counters" in lines[0]
        titles = [title for title in TITLES if not is_short or "DRAM" not in title]
        self.assertRegex(lines[0], r"^GH100: %d counters in one pass, an image of \d+ bytes" % len(titles))
        self.assertEqual([line.split(":")[0] for line in lines[1:]], titles)
        done = self.opscope("gpu-sampler", "--chip", "ZZ100", env={"OPSCOPE_CUPTI": library})
        self.assert_status(done, 2)
        self.assertIn("cannot sample ZZ100", done.stderr)

    def test_declarations_as_in_the_vendors_headers(self):
        folders = test_cuda.include_folders()
        missing = test_cuda.missing_headers(folders, "cupti_pmsampling.h")
        if missing:
            self.skipTest(missing)
        os.mkdir(self.path("empty"))
        with open(self.path("empty", "string"), "w"):
            pass
        command = ["cc", "-std=gnu11", "-fsyntax-only", "-isystem", self.path("empty")]
        self.assert_status(self.run_command(command + test_cuda.checked("pm_abi_check.c", folders)))


if __name__ == "__main__":
    unittest.main()
