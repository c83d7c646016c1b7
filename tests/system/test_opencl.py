# SPDX-License-Identifier: Apache-2.0
"""OpenCL programs, recorded as they are, on PoCL: our own example, programs of others (clinfo, clpeak), and what a
program may see of the recording: nothing."""

import collections
import os
import re
import shutil
import unittest

import facts
import harness

LIBRARY = os.path.join(harness.BUILD, "libopscope_opencl.so")


class OpenclCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        program = os.path.join(harness.EXAMPLES, "opencl")
        if not os.path.exists(program):
            self.skipTest("OpenCL's headers were not there (Debian: opencl-headers, ocl-icd-opencl-dev)")
        if self.run_command([program]).status == 77:
            self.skipTest("no OpenCL device (Debian: pocl-opencl-icd)")
        self.trace = self.path("t.opscope")

    def record(self, *command, options=()):
        done = self.opscope("run", "-o", self.trace, *options, "--", *command)
        self.assert_status(done)
        return done

    def ops(self):
        return harness.opscope_json("ops", self.trace)["rows"]

    def runs(self):
        """Runs on devices: name, start and duration in ns, from the export."""
        done = self.opscope("export", "--format", "chrome", "-o", "-", self.trace)
        self.assert_status(done)
        return [event for event in done.json()["traceEvents"] if event["ph"] == "X" and event.get("cat") != "zone"]


class Example(OpenclCase):
    def test_times_are_those_of_the_programs_events(self):
        done = self.record(os.path.join(harness.EXAMPLES, "opencl"), "--events")
        events = [re.fullmatch(r"(.*) (\d+) (\d+) (\d+) (\d+)", line).groups() for line in done.stdout.splitlines()]
        self.assertEqual([event[0] for event in events], ["write buffer"] * 2 + ["scale"] + ["matmul"] * 5 + ["read buffer"])
        ops = self.ops()
        self.assertEqual([op["name"] for op in ops], [event[0] for event in events])
        for op, event in zip(ops, events):
            queued, submit, start, end = map(int, event[1:])
            # To the ns where one pair of clocks was taken; a second one, 300 ms later, may stretch times by some ppm.
            self.assertAlmostEqual(op["device_time_ns"], end - start, delta=2 + (end - start) * 2e-4, msg=op)
            self.assertEqual(op["runs"], 1)
            self.assertEqual(op["device"], 0)
            figures = dict(figure.split("=") for figure in op["figures"].split(";"))
            self.assertEqual(int(figures["QUEUED [ns]"]), submit - queued)
            self.assertEqual(int(figures["SUBMITTED [ns]"]), start - submit)
            self.assertEqual(figures.get("BYTES"), "65536" if "buffer" in op["name"] else None)

    def test_host_and_device_agree(self):
        """A command begins on the device after the call that enqueued it began."""
        self.record(os.path.join(harness.EXAMPLES, "opencl"), "--events")
        clock = [clock for clock in facts.Trace(self.trace).info["clocks"] if clock["kind"] == "device"]
        self.assertEqual(len(clock), 1)
        self.assertGreaterEqual(clock[0]["points"], 1)
        uncertainty = clock[0]["max_uncertainty_ns"]
        launched = {}
        done = self.opscope("export", "--format", "chrome", "-o", "-", self.trace)
        for event in done.json()["traceEvents"]:
            if event["ph"] == "X":
                launched.setdefault(event["name"], []).append(event["ts"] * 1000)
        for name, starts in launched.items():
            self.assertEqual(len(starts) % 2, 0, "%s: %r" % (name, starts))
            starts.sort()
            self.assertGreaterEqual(starts[-1] + uncertainty + 1000, starts[0])

    def test_arguments_are_described(self):
        self.record(os.path.join(harness.EXAMPLES, "opencl"))
        op = [op for op in self.ops() if op["name"] == "matmul"][0]
        self.assertEqual(op["attributes"], "launch=128x128: buffer of 65536 B, buffer of 65536 B, buffer of 65536 B, 0x80")

    def test_report(self):
        self.record(os.path.join(harness.EXAMPLES, "opencl"))
        done = self.opscope("report", self.trace)
        self.assert_status(done)
        self.assertIn("matmul", done.stdout)


class Programs(OpenclCase):
    """What a program sees and does is the same with and without us."""

    def compare(self, case, *options, program="opencl_cases"):
        program = harness.program(program)
        bare = self.run_command([program, case])
        self.assert_status(bare)
        done = self.record(program, case, options=options)
        self.assertEqual(done.stdout, bare.stdout)
        return done

    def test_queues_and_events_look_the_same(self):
        self.compare("looks")

    def test_kinds_of_commands(self):
        self.compare("kinds")
        names = [op["name"] for op in self.ops()]
        self.assertEqual(
            names,
            ["write buffer", "fill buffer", "copy buffer", "copy buffer", "read buffer", "write buffer", "map buffer", "unmap",
             "add", "migrate", "read buffer"],
        )
        self.assertTrue(all(op["runs"] == 1 for op in self.ops()), self.ops())
        zones = {row["name"] for row in facts.Trace(self.trace).rows}
        self.assertLessEqual({"marker", "barrier"}, zones)

    def test_out_of_order(self):
        done = self.compare("order")
        self.assertEqual([op["name"] for op in self.ops()], ["slow"] * int(done.stdout))
        self.assertTrue(all(op["runs"] == 1 for op in self.ops()))

    def test_threads(self):
        done = self.compare("threads")
        self.assertEqual(sum(op["runs"] for op in self.ops()), int(done.stdout))
        self.assertEqual(facts.Trace(self.trace).lost_zones, 0)

    def test_threads_that_share_a_kernel(self):
        done = self.compare("shares")
        per_thread = int(done.stdout)
        launches = collections.Counter(op["attributes"] for op in self.ops())
        sizes = ["16, local 16", "32, local 8", "48, local 16", "64, local 8"]
        arguments = ": buffer of 65536 B, 0x1, local memory of 64 B"
        self.assertEqual(launches, {"launch=" + size + arguments: per_thread for size in sizes})

    def test_commands_under_way_at_the_end(self):
        done = self.compare("leaves")
        rows = harness.opscope_json("messages", self.trace)["rows"]
        # They get a second; what has not ended by then, on a busy machine, is counted.
        unended = [int(re.match(r"OpenCL: (\d+) commands had not ended", row["text"]).group(1)) for row in rows]
        self.assertEqual(sum(op["runs"] for op in self.ops()) + sum(unended), int(done.stdout))

    def test_command_that_never_ran(self):
        self.compare("hangs")
        self.assertEqual([op["runs"] for op in self.ops()], [0])
        rows = harness.opscope_json("messages", self.trace)["rows"]
        self.assertEqual(len([row for row in rows if row["text"].startswith("OpenCL: ")]), 1, rows)

    def test_pauses(self):
        """What is made while paused is whole afterwards; what was begun before a pause is there, though the program
        ends in it; and the program sees nothing of it."""
        self.compare("pauses")
        self.assertEqual([(op["name"], op["runs"]) for op in self.ops()], [("add", 1)] + 5 * [("copy buffer", 1)])
        self.assertEqual(self.ops()[0]["attributes"], "launch=256: buffer of 65536 B, 0x3, local memory of 64 B")

    def test_capture_of_a_zone(self):
        self.compare("zones", "--capture", "zone:train")
        self.assertEqual([(op["name"], op["runs"]) for op in self.ops()], [("add", 1), ("copy buffer", 1)])
        self.assertEqual(facts.Trace(self.trace).count("marker"), 1)

    def test_capture_of_a_command(self):
        """Outside of any zone the command's own op is what --capture zone:NAME waits for."""
        self.compare("zones", "--capture", "zone:add")
        self.assertEqual([(op["name"], op["runs"], op["attributes"].split(":")[0]) for op in self.ops()],
                         3 * [("add", 1, "launch=256")])
        self.assertEqual(facts.Trace(self.trace).count("marker"), 0)
        self.compare("zones", "--capture", "zone:copy buffer")
        self.assertEqual([(op["name"], op["runs"]) for op in self.ops()], 3 * [("copy buffer", 1)])

    def test_many_objects_one_after_the_other(self):
        self.compare("renews")
        self.assertEqual([(op["name"], op["runs"]) for op in self.ops()], [("slow", 1)] + 2 * [("fill buffer", 1)])
        self.assertEqual(facts.Trace(self.trace).messages(), [])

    def test_more_queues_than_are_told_apart(self):
        self.compare("crowds")
        self.assertEqual([row["text"].split(";")[0] for row in facts.Trace(self.trace).messages()],
                         ["OpenCL: more queues than can be told apart"])

    def test_program_that_goes_on_after_the_session(self):
        self.compare("outlasts", "--duration", "1")

    def test_kernel_that_was_made_between_two_recordings(self):
        self.compare("rejoins")
        self.assertEqual([(op["name"], op["attributes"].split(":")[0], op["runs"]) for op in self.ops()],
                         [("add", "launch=256", 1), ("slow", "launch=256", 1)])

    def test_queue_of_an_extension(self):
        if self.run_command([harness.program("opencl_cases"), "extension"]).status == 77:
            self.skipTest("no device with clCreateCommandQueueWithPropertiesKHR")
        self.compare("extension")
        self.assertEqual([(op["name"], op["runs"]) for op in self.ops()], [("fill buffer", 1)])

    def test_program_that_closes_opencl(self):
        """Though the adapter has commands of it left to look at."""
        done = self.compare("1000", program="opencl_closes")
        self.assertEqual(sum(op["runs"] for op in self.ops()), int(done.stdout))

    def test_preloaded(self):
        """Without the loader's layers: what programs need that do not go through a loader."""
        self.compare("looks", "--devices", "opencl-preload")
        self.compare("kinds", "--devices", "opencl-preload")
        self.assertEqual(len(self.ops()), 11)
        self.assertTrue(all(op["runs"] == 1 for op in self.ops()))

    def test_both_ways_at_once(self):
        self.compare("kinds", "--devices", "auto,opencl-preload")
        self.assertEqual(len(self.ops()), 11)

    def test_left_out(self):
        self.compare("kinds", "--devices", "none")
        self.assertEqual(facts.Trace(self.trace).zones, 0)

    def test_left_out_by_a_variable(self):
        """In one process alone, which has the layer all the same."""
        program = harness.program("opencl_cases")
        for options in ((), ("--devices", "opencl-preload")):
            for case in ("looks", "kinds"):
                bare = self.run_command([program, case])
                shell = "OPSCOPE_DEVICES=cuda %s %s" % (program, case)
                done = self.record("sh", "-c", shell, options=options)
                self.assertEqual(done.stdout, bare.stdout)
                self.assertEqual(facts.Trace(self.trace).zones, 0)


class Led(OpenclCase):
    """Programs that the test leads step by step."""

    def start_case(self, case, *options):
        return facts.Run(self, [case], options, env={"OPSCOPE_DIR": self.folder}, command=[harness.program("opencl_cases")])

    def test_recorded_again_after_a_full_buffer(self):
        run = self.start_case("floods", "--buffer-size", "64K")
        run.expect("ready")
        run.stop()
        run.go_on()
        run.expect("full")
        run.resume()
        facts.wait_for_polls(facts.session_folders(self.folder)[0])
        run.go_on()
        self.assert_status(run.finish())
        self.assertGreater(run.trace().lost_zones, 0)
        self.assertEqual([op["name"] for op in self.ops()].count("copy buffer"), 10)


class Others(OpenclCase):
    """Programs that somebody else wrote and built."""

    def need(self, name):
        if not shutil.which(name):
            self.skipTest("%s is not installed (Debian: %s)" % (name, name))

    def test_clinfo(self):
        self.need("clinfo")
        bare = self.run_command(["clinfo", "--raw"])
        done = self.record("clinfo", "--raw")
        self.assertEqual(done.stdout, bare.stdout)

    def test_clpeak(self):
        self.need("clpeak")
        done = self.record("clpeak", "--kernel-latency")
        self.assertIn("Kernel launch latency", done.stdout)
        ops = self.ops()
        self.assertGreater(len(ops), 100)
        self.assertEqual({op["runs"] for op in ops if op["name"] != "unmap"}, {1})
        kernels = {op["name"] for op in ops}
        self.assertIn("global_bandwidth_v1_local_offset", kernels)


class Declarations(harness.TestCase):
    def test_same_as_the_headers(self):
        if not os.path.exists("/usr/include/CL/cl_layer.h") or not shutil.which("cc"):
            self.skipTest("OpenCL's headers are not here (Debian: opencl-headers)")
        source = os.path.join(harness.SOURCE, "tests", "system", "abi", "opencl.c")
        include = os.path.join(harness.SOURCE, "src")
        self.assert_status(self.run_command(["cc", "-std=gnu11", "-fsyntax-only", "-I", include, source]))


if __name__ == "__main__":
    unittest.main()
