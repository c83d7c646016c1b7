# SPDX-License-Identifier: Apache-2.0
"""The adapter for CUDA where there is no GPU: its life cycle, against a stand-in for libcupti that does what the real one
was seen to do (programs/cupti_standin_plugin.c). The real one is tests/gpu's."""

import collections
import glob
import os
import re
import shutil
import sys
import unittest

import facts
import harness

CUPTI = os.path.join(harness.PROGRAMS, "cupti_standin_plugin.so")
NO_END = "no end yet when the process ended"


class StandIn(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.program = harness.program("cuda_standin")

    def record(self, *words, status=0, **env):
        self.trace = self.path("t.opscope")
        env = {"OPSCOPE_CUPTI": CUPTI, **env}
        done = self.opscope("run", "-o", self.trace, "--devices", "cuda", "--", self.program, CUPTI, *words, env=env)
        self.assert_status(done, status)
        self.assertIn("injected 1", done.stdout)
        return done

    def events(self, category):
        done = self.opscope("export", "--format", "chrome", "-o", "-", self.trace)
        self.assert_status(done)
        return [event for event in done.json()["traceEvents"] if event.get("cat") == category]

    def losses(self):
        rows = self.opscope_json("info", self.trace)["losses"]
        return {row["reason"]: row["records"] for row in rows}

    def test_kernels_belong_to_ops(self):
        self.record("plain", "20")
        runs, ops = self.events("run"), {op["args"]["call"]: op for op in self.events("op")}
        self.assertEqual(
            collections.Counter(run["name"] for run in runs), {"scale": 10, "axpy(float*, float*, int)": 10, "memcpy HtoD": 1}
        )
        # Inside an op the kernel is the op's; by itself it is an op.
        owners = collections.Counter((run["name"], ops[run["args"]["call"]]["name"]) for run in runs)
        self.assertEqual(
            owners, {("scale", "scale"): 10, ("axpy(float*, float*, int)", "step"): 10, ("memcpy HtoD", "memcpy HtoD"): 1}
        )
        self.assertEqual(len(ops), 21)
        kernel = next(run["args"] for run in runs if run["name"] == "scale")
        self.assertEqual(kernel["LAUNCH"], "grid 64x1x1 block 128x1x1 registers 32 shared 0+1024")
        self.assertEqual(kernel["ticks"], 3000)
        self.assertEqual([run["args"]["SIZE bytes"] for run in runs if run["name"] == "memcpy HtoD"], [4096])
        for run in runs:
            self.assertLessEqual(ops[run["args"]["call"]]["ts"], run["ts"])
        self.assertEqual([zone["name"] for zone in self.events("zone") if zone["name"].startswith("cu")], ["cuCtxSynchronize"])
        tracks = self.opscope_json("info", self.trace)["tracks"]
        streams = sorted((track["name"], track["number"], track["parent"]) for track in tracks if track["kind"] == "queue")
        self.assertEqual(streams, [("stream %d" % i, i, "CUDA device 0") for i in (7, 8, 9)])
        pools = self.opscope_json("memory", self.trace)["rows"]
        self.assertEqual([(row["pool"], row["peak_bytes"]) for row in pools], [("cuda:0", 1 << 20)])
        self.assertEqual(self.losses(), {})

    def test_kernels_below_zones_ranges_and_ops(self):
        """From the device's time back to the code: the tree and the flame graph have the host's stack."""
        self.record("ranges", "4")
        done = self.opscope("export", "--format", "collapsed", "--flame-by", "device", "-o", "-", self.trace)
        self.assert_status(done)
        stacks = dict(line.split(";", 1)[1].rsplit(" ", 1) for line in done.stdout.splitlines())
        self.assertEqual(sorted((stack.split(";")[-4:], int(weight)) for stack, weight in stacks.items()),
                         [(["host", "forward", "alone", "alone"], 12000), (["host", "forward", "step", "scale"], 12000)])
        rows = self.opscope_json("tree", "--by", "device-time", "--min-percent", "0", self.trace)["rows"]
        found = {row["name"]: (row["total_ns"], row["count"]) for row in rows}
        self.assertEqual({name: found[name] for name in ("host", "forward", "step", "scale")},
                         {"host": (24000, 8), "forward": (24000, 8), "step": (12000, 4), "scale": (12000, 4)})

    def test_streams_have_the_names_that_nvtx_gives_them(self):
        self.record("streams", "10")
        tracks = self.opscope_json("info", self.trace)["tracks"]
        streams = {track["name"]: track["zones"] for track in tracks if track["kind"] == "queue"}
        self.assertEqual(streams, {"stream 8 (copies of weights)": 6, "stream 9 (compute)": 5})
        messages = self.opscope_json("messages", self.trace)["rows"]
        self.assertEqual([row["text"] for row in messages], ["CUDA stream 0x9 is called no stream"])

    def test_killed(self):
        """What has times is there, what has none is counted."""
        done = self.record("kill", "50", "30", status=-9)
        runs = self.events("run")
        self.assertEqual(len(runs), 30)
        self.assertEqual({run["name"] for run in runs}, {"scale"})
        self.assertEqual(sorted(run["args"]["call"] for run in runs), list(range(1, 31)))
        self.assertEqual({run["args"]["LAUNCH"] for run in runs}, {"grid 64x1x1 block 128x1x1 registers 32 shared 0+1024"})
        self.assertEqual(self.losses(), {NO_END: 20})
        self.assertIn("lost 20 records (%s)" % NO_END, done.stderr)

    def test_killed_with_everything_handed_over(self):
        self.record("kill", "40", "40", status=-9)
        self.assertEqual(len(self.events("run")), 40)
        self.assertEqual(self.losses(), {})

    def test_killed_after_its_collector(self):
        trace = self.path("t.opscope")
        env = {"OPSCOPE_CUPTI": CUPTI, "OPSCOPE_DIR": self.folder}
        self.opscope("run", "-o", trace, "--", self.program, CUPTI, "orphan", "50", "30", env=env)
        (session,) = facts.session_folders(self.folder)
        self.assert_status(self.opscope("recover", session, env=env))
        self.trace = trace
        self.assertEqual(len(self.events("run")), 30)
        self.assertEqual(self.losses()[NO_END], 20)

    def test_end_of_the_program_waits_for_what_runs(self):
        self.record("exit", "50")
        self.assertEqual(len(self.events("run")), 50)
        self.assertEqual(self.losses(), {})

    def test_fork(self):
        done = self.record("fork", "5")
        self.assertIn("child 0\n", done.stdout)
        self.assertEqual(len(self.events("run")), 5)
        self.assertEqual([zone["name"] for zone in self.events("zone") if "child" in zone["name"]], ["in the child"])

    def test_graph(self):
        """A replay's kernels belong to the ops that were captured."""
        self.record("graph", "10")
        ops = {op["args"]["call"]: op["name"] for op in self.events("op")}
        owners = collections.Counter((run["name"], ops[run["args"]["call"]]) for run in self.events("run"))
        self.assertEqual(owners, {("scale", "first"): 10, ("axpy", "second"): 10})

    def test_end_of_a_program_that_goes_on_launching(self):
        """A thread that main does not wait for launches without end: what was launched before main's end is waited for."""
        self.record("serve", "20")
        self.assertGreaterEqual(len(self.events("run")), 20)

    def test_records_behind_a_copy(self):
        """Each version has lengths of its own; libcupti says them before it has handed over a buffer, or they are known."""
        versions = ((18, 200, 88), (18, 208, 88), (24, 208, 88), (26, 208, 96), (130101, 224, 96))
        for version, kernel, copy in versions + ((130202, 224, 96), (130301, 232, 96), (130400, 248, 112), (130401, 248, 112)):
            env = {"STANDIN_VERSION": str(version), "STANDIN_KERNEL_BYTES": str(kernel), "STANDIN_COPY_BYTES": str(copy)}
            with self.subTest(**env):
                self.record("copy", "50", **env)
                self.assertEqual((len(self.events("run")), self.losses()), (51, {}))
                self.record("copy", "50", "30", status=-9, **env)
                self.assertEqual((len(self.events("run")), self.losses()), (31, {NO_END: 20}))

    def test_version_that_is_not_known(self):
        """How long its records are shows when it hands over its first buffer: the end of the program waits for that."""
        self.record("copy", "50", STANDIN_VERSION="139999", STANDIN_KERNEL_BYTES="264", STANDIN_COPY_BYTES="128")
        self.assertEqual((len(self.events("run")), self.losses()), (51, {}))

    def test_kernels_without_times_are_counted(self):
        """CUPTI gives 0 for both where it could not find out when a kernel ran."""
        self.record("exit", "50", STANDIN_NO_TIMES="1")
        self.assertEqual((self.events("run"), self.losses()), ([], {"dropped by the device's runtime": 50}))

    def test_memory_released_while_another_device_is_current(self):
        self.record("devices", "5")
        rows = self.opscope_json("memory", self.trace)["rows"]
        self.assertEqual([(row["pool"], row["allocations"], row["releases"]) for row in rows], [("cuda:1", 5, 5)])

    def test_memory_that_another_thread_is_given_at_once(self):
        self.record("reuse", "3")
        (pool,) = self.opscope_json("memory", self.trace)["rows"]
        self.assertEqual((pool["allocations"], pool["releases"], pool["lost_releases"]), (6, 5, 0))
        self.assertEqual((pool["peak_bytes"], pool["live_bytes"], pool["unmatched_releases"]), (3 << 20, 3 << 20, 0))

    def test_graph_that_is_built_node_by_node(self):
        """Its kernels have the names of none that was launched before; those are known when they are handed over."""
        self.record("built-graph", "10", status=-9)
        names = collections.Counter(run["name"] for run in self.events("run"))
        self.assertEqual(names, {"warm-up": 1, "(kernel without a name)": 19})

    def test_graph_that_belongs_to_no_op(self):
        self.record("graph-without-op", "3")
        done = self.opscope("report", "--json", self.trace)
        self.assert_status(done)
        self.assertEqual([(row["op_code"], row["time_us"]) for row in done.json()["rows"]], [("gemm", 3), ("softmax", 3)] * 3)
        done = self.opscope("diff", "--json", self.trace, self.trace)
        self.assert_status(done)
        groups = [(row["group"], row["a_time_ns"]) for row in done.json()["groups"]]
        self.assertEqual(groups, [("gemm", 9000), ("softmax", 9000)])

    def test_many_graphs(self):
        self.record("many-graphs", "60")
        ops = {op["args"]["call"]: op["name"] for op in self.events("op")}
        self.assertEqual(collections.Counter(ops.get(run["args"].get("call")) for run in self.events("run")), {"captured": 60000})
        self.assertEqual(self.opscope_json("messages", self.trace)["rows"], [])

    def test_very_long_names(self):
        """They are cut where the trace's own limit is, and counted as themselves; the demangler never sees the deepest."""
        for size in 40, 5000, 64 * 1024, 1 << 20:
            self.record("names", str(size))
            runs = collections.Counter(run["name"] for run in self.events("run"))
            self.assertEqual(sorted(runs.values()), [10, 10], size)
            plain, mangled = sorted(runs, key=lambda name: name[0] != "k")
            self.assertTrue(plain == "k" * min(size, 60000), (size, plain[:80]))
            if size == 40:
                self.assertEqual(mangled, "f(int" + "*" * 35 + ")")
            elif size > 8192:
                self.assertTrue(mangled == ("_Z1f" + "P" * (size - 5) + "i")[:60000], (size, mangled[:80]))
            os.unlink(self.trace)

    def test_between_the_calls_that_start_and_stop_profilers(self):
        self.trace = self.path("t.opscope")
        command = ["--capture", "cuda-profiler-api", "--", self.program, CUPTI, "profiler", "20"]
        self.assert_status(self.opscope("run", "-o", self.trace, *command, env={"OPSCOPE_CUPTI": CUPTI}))
        self.assertEqual(collections.Counter(run["name"] for run in self.events("run")), {"wanted": 20})
        self.assertEqual(collections.Counter(op["name"] for op in self.events("op")), {"wanted": 20})

    def test_inside_zones_of_a_name(self):
        """What is launched outside of them is not recorded, by itself or inside an op that is not."""
        self.trace = self.path("t.opscope")
        for rule, wanted in (("zone:step", {"axpy(float*, float*, int)": 10}), ("zone:nothing", {})):
            command = ["--devices", "cuda", "--capture", rule, "--", self.program, CUPTI, "plain", "20"]
            self.assert_status(self.opscope("run", "-o", self.trace, *command, env={"OPSCOPE_CUPTI": CUPTI}))
            self.assertEqual(collections.Counter(run["name"] for run in self.events("run")), wanted)
            self.assertEqual(self.losses().keys() - {"paused"}, set())
            os.unlink(self.trace)

    def test_versions_that_take_another_length(self):
        """CUPTI takes the length of the names' struct that it was built with: ours, a longer one, or none that we know."""
        for length in ("32", "40", "48"):
            done = self.record("plain", "20", STANDIN_NAMES_BYTES=length)
            self.assertNotIn("not recorded", done.stderr)
            self.assertEqual(len(self.events("run")), 21)

    def test_another_tool_holds_the_interface(self):
        done = self.record("refused", STANDIN_HOLDER="a tool of the house")
        self.assertIn("opscope: CUDA is not recorded: a tool of the house has CUDA's profiling interface", done.stderr)
        self.assertEqual(self.events("run"), [])
        messages = self.opscope_json("messages", self.trace)["rows"]
        self.assertEqual(len(messages), 1)

    def test_no_libcupti(self):
        done = self.record("refused", OPSCOPE_CUPTI=self.path("nothing.so"))
        self.assertIn("opscope: CUDA is not recorded: OPSCOPE_CUPTI is %s" % self.path("nothing.so"), done.stderr)

    def test_old_libcupti(self):
        library = os.path.join(harness.BUILD, "libopscope.so.0")
        done = self.record("refused", OPSCOPE_CUPTI=library)
        self.assertRegex(done.stderr, "opscope: CUDA is not recorded: %s has no cupti[A-Za-z0-9]+: it is too old" % re.escape(library))

    def test_libcupti_of_the_programs_own(self):
        """Before one that is installed, of another version: what the program has loaded; what lies beside its torch."""
        torch, wheels, installed = (self.path(*words) for words in (("torch", "lib"), ("nvidia", "cuda_cupti", "lib"),
                                                                    ("cuda", "extras", "CUPTI", "lib64")))
        for folder in (torch, wheels, installed):
            os.makedirs(folder)
        own, other = os.path.join(wheels, "libcupti.so.12"), os.path.join(installed, "libcupti.so.13")
        for path in (own, other):
            shutil.copy(CUPTI, path)
        aside = self.path("aside.so")  # the same library by a name that says nothing
        os.link(own, aside)
        of_torch = os.path.join(torch, "libc10_cuda.so")
        shutil.copy(os.path.join(harness.BUILD, "libopscope_nvtx.so"), of_torch)
        self.trace = self.path("t.opscope")
        for program_has, preloaded in ((own, ""), (aside, of_torch)):
            env = {"CUDA_HOME": self.path("cuda"), "LD_LIBRARY_PATH": harness.BUILD}
            command = [self.program, program_has, "exit", "20"]
            if preloaded:
                command = ["env", "LD_PRELOAD=" + preloaded] + command
            done = self.opscope("run", "-o", self.trace, "--", *command, env=env)
            self.assert_status(done)
            self.assertEqual((len(self.events("run")), self.losses()), (20, {}), done)

    def test_left_to_another_tool_by_a_variable(self):
        for names, runs in (("opencl,nvtx", 0), ("none", 0), ("opencl,cuda", 21), ("auto", 21)):
            self.trace = self.path("t.opscope")
            work = ["plain", "20"] if runs else ["refused"]  # which waits for no record
            words = ["env", "OPSCOPE_DEVICES=" + names, self.program, CUPTI, *work]
            self.assert_status(self.opscope("run", "-o", self.trace, "--", *words, env={"OPSCOPE_CUPTI": CUPTI}))
            messages = self.opscope_json("messages", self.trace)["rows"]
            self.assertEqual((len(self.events("run")), messages), (runs, []), names)

    def test_without_a_session_nothing_happens(self):
        library = os.path.join(harness.BUILD, "libopscope_cuda.so")
        env = {"CUDA_INJECTION64_PATH": library, "OPSCOPE_CUPTI": CUPTI}
        done = self.run_command([self.program, CUPTI, "refused"], env=env)
        self.assert_status(done)
        self.assertEqual(done.stdout, "injected 1\n")


# By the number in cupti_version.h: which is the newest struct of kernels, copies and sets, and its length; what is there.
VERSIONS = {
    22: (9, 208, 5, 88, 4, 88, ""),
    24: (9, 208, 5, 88, 4, 88, ""),
    26: (9, 208, 6, 96, 4, 88, ""),
    28: (9, 208, 6, 96, 4, 88, ""),
    130001: (10, 216, 6, 96, 4, 88, ""),
    130101: (11, 224, 6, 96, 4, 88, ""),
    130202: (11, 224, 6, 96, 4, 88, "-DHAS_OTHER_SUBSCRIBERS"),
    130301: (12, 232, 6, 96, 4, 88, "-DHAS_OTHER_SUBSCRIBERS"),
    130400: (13, 248, 7, 112, 5, 104, "-DHAS_ALL_CALLS -DHAS_OTHER_SUBSCRIBERS"),
    130401: (13, 248, 7, 112, 5, 104, "-DHAS_ALL_CALLS -DHAS_OTHER_SUBSCRIBERS"),
}


def include_folders():
    """Where CUPTI's headers are: given, installed, or of the packages of PyPI."""
    folders = os.environ.get("OPSCOPE_CUPTI_INCLUDE", "/usr/local/cuda/include:/usr/local/cuda/extras/CUPTI/include").split(":")
    for folder in sys.path:
        folders += sorted(glob.glob(os.path.join(glob.escape(folder), "nvidia", "*", "include")))
    return [folder for folder in folders if os.path.isdir(folder)]


def missing_headers(folders, *names):
    """Why declarations cannot be compared, or None. CUPTI's headers include CUDA's own, another package of PyPI."""
    for name, package in [(name, "nvidia-cuda-cupti") for name in names] + [("cuda.h", "nvidia-cuda-runtime")]:
        if not any(os.path.exists(os.path.join(folder, name)) for folder in folders):
            return "no %s here: OPSCOPE_CUPTI_INCLUDE, or pip install %s" % (name, package)
    return None


def checked(program, folders):
    """A program that compares our declarations with those of the headers in these folders: words for the compiler."""
    words = [word for folder in folders for word in ("-isystem", folder)]
    words += ["-I", os.path.join(harness.SOURCE, "src"), "-I", os.path.join(harness.SOURCE, "include")]
    return words + [os.path.join(harness.SOURCE, "tests", "system", "programs", "cuda", program)]


class Declarations(harness.TestCase):
    def test_as_in_the_vendors_headers(self):
        folders = include_folders()
        missing = missing_headers(folders, "cupti_version.h")
        if missing:
            self.skipTest(missing)
        found = [os.path.join(f, "cupti_version.h") for f in folders if os.path.exists(os.path.join(f, "cupti_version.h"))]
        with open(found[0]) as file:
            version = int(re.search(r"#define CUPTI_API_VERSION (\d+)", file.read()).group(1))
        if version not in VERSIONS:
            self.skipTest("CUPTI %d is not among those whose records are known" % version)
        kernel, kernel_bytes, copy, copy_bytes, fill, fill_bytes, calls = VERSIONS[version]
        command = ["cc", "-std=gnu11", "-fsyntax-only"]
        for name, record, number, length in (("KERNEL", "Kernel", kernel, kernel_bytes), ("COPY", "Memcpy", copy, copy_bytes),
                                             ("SET", "Memset", fill, fill_bytes)):
            command += ["-D%s=CUpti_Activity%s%d" % (name, record, number), "-D%s_BYTES=%d" % (name, length)]
        command += calls.split()
        self.assert_status(self.run_command(command + checked("abi_check.c", folders)))


class KernelZones(harness.TestCase):
    """Zones inside kernels, as far as the host has to do with them: on a device that is memory of the program."""

    def record(self, case):
        if not shutil.which("clang++"):
            self.skipTest("no clang++, which compiles the host's half of CUDA by itself")
        folder, self.trace = os.path.join(harness.SOURCE, "tests", "system", "programs", "cuda"), self.path("t.opscope")
        command = ["clang++", "-std=c++17", "-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-Werror", "-Wall"]
        command += ["-Wextra", "-Wno-unknown-cuda-version", "-Xclang", "-target-sdk-version=11.0", "-pthread"]
        command += ["-I", os.path.join(folder, "stub"), "-I", os.path.join(harness.SOURCE, "include")]
        command += [os.path.join(folder, "kernel_zones.cu"), "-o", self.path("zones"), "-L", harness.BUILD, "-lopscope"]
        self.assert_status(self.run_command(command + ["-Wl,-rpath," + harness.BUILD]))
        done = self.opscope("run", "-o", self.trace, "--devices", "none", "--", self.path("zones"), case)
        self.assert_status(done)
        events = [event for event in self.trace_events() if event["ph"] == "X"]
        self.own = [event["name"] for event in events if event["cat"] == "op"]
        return done, {event["name"]: event for event in events if event["name"] not in self.own}

    def trace_events(self):
        done = self.opscope("export", "--format", "chrome", "-o", "-", self.trace)
        self.assert_status(done)
        return done.json()["traceEvents"]

    def assert_is_inside(self, zones):
        around, load = zones["around"], zones["load"]
        self.assertLessEqual(around["ts"], load["ts"])
        self.assertLessEqual(load["ts"] + load["dur"], around["ts"] + around["dur"])
        self.assertGreater(load["dur"], 100)  # of 1,000 us

    def test_zone(self):
        done, zones = self.record("plain")
        self.assertEqual(done.stdout, "1 zones, error 0\n")
        self.assert_is_inside(zones)
        # what is launched to compare clocks and to fetch zones is of no op of the program's
        self.assertEqual(set(self.own), {"opscope: zones inside kernels"})

    def test_device_that_was_busy_at_first(self):
        done, zones = self.record("late")
        self.assertEqual(done.stdout, "1 zones, error 0\n")
        self.assert_is_inside(zones)

    def test_device_that_never_says_what_time_it_is(self):
        done, zones = self.record("never")
        self.assertEqual(done.stdout, "0 zones, error 0\n")
        self.assertIn("zones of 1 warps inside kernels are lost", done.stderr)
        self.assertEqual(list(zones), ["around"])

    def test_no_memory_is_no_error_of_the_program(self):
        done, _ = self.record("no-memory")
        self.assertEqual(done.stdout, "0 zones, error 0\n")


if __name__ == "__main__":
    unittest.main()
