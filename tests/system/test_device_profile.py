# SPDX-License-Identifier: Apache-2.0
"""opscope run --device-profile: what a runtime wrote while its program was recorded becomes part of the trace."""

import csv
import io
import itertools
import json
import os
import re
import shutil
import sys
import unittest

import harness
import pages

# A runtime of ours: writes what is on its standard input, with each @N replaced by N us after now on the clock of
# such profiles.
WRITER = """
import re, sys, time
now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
unit = 1000 if sys.argv[1].endswith("jsonl") else 1
text = re.sub("@([0-9]+)", lambda found: str((now + int(found.group(1))) * unit), sys.stdin.read())
while time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000 < now + 1000:
    pass
open(sys.argv[1], "w").write(text)
"""

EVENTS = """dispatch_name,invocation_id,action_id,timestamp_us,event
__HAL_QUEUE_EXECUTE__,0,-1,@0,HAL_CALL_BEGIN
d0,1,-1,@10,DISPATCH_BEGIN
d0,1,0,@11,HOST_COPY_BEGIN
d0,1,0,@12,HOST_COPY_END
d0,1,1,@12,NSS_START_BEGIN
d0,1,1,@13,NSS_START_END
d0,1,2,@13,NSS_START_BEGIN
d0,1,2,@14,NSS_START_END
d0,1,3,@14,NSS_WAIT_BEGIN
d0,1,3,@42,NSS_WAIT_END
d0,1,4,@42,NSS_WAIT_BEGIN
d0,1,4,@63,NSS_WAIT_END
d0,1,-1,@70,DISPATCH_END
__HAL_QUEUE_EXECUTE__,0,-1,@100,HAL_CALL_END
"""
ACTIONS = """actionIndex, elapsed_time(us), timestamp(us), event, location
0,7,@20,tosa.conv2d,loc("m.mlir":4:10)
1,2.5,@30,tosa.add,loc(fused["m.mlir":5:10, "m.mlir":6:10])
2,9,@40,tosa.conv2d,loc("m.mlir":4:10)
"""
PROGRAMS = """ID,time_since_open,time_since_start,Location
0,110,10,loc("a.mlir":1:2)
1,130.5,8,loc("a.mlir":3:4)
2,150,20,loc("a.mlir":1:2)
"""


def iree():
    lines = [{"schema_version": 15, "record_type": "schema", "format": "ireeperf-jsonl"}]
    for i, (key, start, end) in enumerate((("f_matmul", 10, 50), ("f_add", 60, 63), ("f_matmul", 70, 100))):
        lines.append({"record_type": "host_execution_event", "event_id": i + 1, "submission_id": 1, "op": "dispatch",
                      "key": key, "start_host_time_ns": start, "end_host_time_ns": end, "valid": True})
    return re.sub("(_host_time_ns\": )", r"\1@", "".join(json.dumps(line) + "\n" for line in lines))


class DeviceProfile(harness.TestCase):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run_writer(self, text, name="p.csv", *options, status=0):
        """Records a program with zones, then a runtime that writes this profile."""
        self.write("writer.py", WRITER)
        self.write("input", text)
        command = f"{harness.program('names')} 3 && {sys.executable} -S writer.py {name} < input; exit {status}"
        done = self.opscope("run", "-o", "t.opscope", "--device-profile", name, *options, "--", "sh", "-c", command)
        self.assert_status(done, status)
        return done

    def zones(self, *threads):
        """(name, file, start, duration) of the zones of these tracks, in order of time."""
        done = self.opscope("export", "t.opscope", "--format", "csv")
        self.assert_status(done)
        rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if not threads or row["thread"] in threads]
        return sorted((int(row["start_ns"]), row["name"], row["file"], int(row["duration_ns"])) for row in rows)

    def assert_close(self, found, expected):
        """The two clocks of a host differ in rate by less than a thousandth."""
        self.assertEqual(len(found), len(expected))
        for have, want in zip(found, expected):
            self.assertLessEqual(abs(have - want), 2 + want / 1000)

    def test_events_are_placed_by_the_clock(self):
        done = self.run_writer(EVENTS)
        self.assertNotIn("aligned", done.stderr)
        programs = self.zones("NSS Programs")
        self.assertEqual([row[1] for row in programs], ["d0:1", "d0:2"])
        self.assert_close([row[3] for row in programs], [30000, 50000])
        self.assert_close([row[3] for row in self.zones("dispatches")], [60000])
        self.assert_close([row[3] for row in self.zones("Host Copy")], [1000])
        host = [row for row in self.zones() if row[1].startswith("name number")]
        self.assertEqual(len(host), 6)
        # The runtime came after the program that has zones, and all of it before the end of the run.
        self.assertGreater(programs[0][0], max(row[0] + row[3] for row in host))
        length = next(row["length_ns"] for row in self.opscope_json("info", "t.opscope")["processes"] if row["pid"])
        self.assertLess(programs[-1][0] + programs[-1][3], length)
        says, = [row for row in self.opscope_json("messages", "t.opscope")["rows"] if row["header"] == "device profile"]
        self.assertRegex(says["text"], "^p.csv: its times are the host's, within [0-9]+ ns$")
        self.assertIn("CLOCK_MONOTONIC", [row["clock"] for row in self.opscope_json("info", "t.opscope")["clocks"]])
        for line in ("dispatches .* d0 .* (60|59).[0-9]+ us", "NSS Programs .*d0:1 ", "NSS Programs .*d0:2 ", "op table: t.ops.csv"):
            self.assertRegex(done.stderr, line)
        ops = self.opscope_json("ops", "t.opscope")["rows"]
        self.assertEqual([row["name"] for row in ops], ["d0:1", "d0:2"])

    def test_rows_with_locations(self):
        done = self.run_writer(ACTIONS)
        self.assertEqual([(row[1], row[2]) for row in self.zones("Actions")],
                         [("tosa.conv2d", 'loc("m.mlir":4:10)'),
                          ("tosa.add", 'loc(fused["m.mlir":5:10, "m.mlir":6:10])'),
                          ("tosa.conv2d", 'loc("m.mlir":4:10)')])
        self.assert_close([row[3] for row in self.zones("Actions")], [7000, 2500, 9000])
        self.assertRegex(done.stderr, r'Actions +tosa.conv2d +loc\("m.mlir":4:10\) +2 +1[56].[0-9]+ us')
        self.assertEqual([row["location"] for row in self.opscope_json("ops", "t.opscope")["rows"]],
                         [row[2] for row in self.zones("Actions")])

    def test_times_of_another_clock(self):
        done = self.run_writer(PROGRAMS)
        self.assertIn("p.csv: not aligned with the host", done.stderr)
        self.assertEqual([row[3] for row in self.zones("NSS Programs")], [10000, 8000, 20000])
        starts = [row[0] for row in self.zones("NSS Programs")]
        self.assertEqual([start - starts[0] for start in starts], [0, 22500, 30000])
        says, = [row for row in self.opscope_json("messages", "t.opscope")["rows"] if row["header"] == "device profile"]
        self.assertIn("not aligned", says["text"])
        # The same of a clock that was right once: another machine's, or an earlier run's.
        self.assertIn("not aligned", self.run_writer(EVENTS.replace("@", "1")).stderr)
        self.assertEqual([row[3] for row in self.zones("dispatches")], [60000])

    def test_iree(self):
        done = self.run_writer(iree(), "p.jsonl")
        self.assertNotIn("aligned", done.stderr)
        self.assertEqual([row[1] for row in self.zones("dispatches")], ["f_matmul", "f_add", "f_matmul"])
        self.assert_close([row[3] for row in self.zones("dispatches")], [40000, 3000, 30000])
        self.assertRegex(done.stderr, "dispatches +f_matmul +- +2 +(70|69).[0-9]+ us")

    def test_no_profile_of_this_run(self):
        """The trace is written all the same, and the command's own status is passed on."""
        self.write("old.csv", PROGRAMS)
        self.write("cut.csv", "ID,time_since_open\n")
        cases = ((["old.csv", "--", "true"], 0, "old.csv is older than the run: the command did not write it"),
                 (["gone.csv", "--", "sh", "-c", "exit 3"], 3, "the command wrote no device profile: gone.csv"),
                 (["made.csv", "--", "touch", "made.csv"], 0, "made.csv is empty"),
                 (["new.csv", "--", "cp", "cut.csv", "new.csv"], 0, "not a runtime profile"),
                 (["dir", "--", "mkdir", "dir"], 0, "dir is not a regular file"),
                 (["head.csv", "--", "sh", "-c", "head -1 old.csv > head.csv"], 0, "head.csv holds no measured time"))
        for arguments, status, says in cases:
            with self.subTest(says):
                done = self.opscope("run", "-o", "t.opscope", "--device-profile", *arguments)
                self.assert_status(done, status)
                self.assertIn(says, done.stderr)
                self.assertIn("the trace has no device profile", done.stderr)
                self.assert_status(self.opscope("info", "t.opscope"))

    def test_usage(self):
        done = self.opscope("run", "--device-profile", ".", "--", "touch", "ran")
        self.assert_status(done, 125)
        self.assertIn("a folder, and not a file", done.stderr)
        done = self.opscope("run", "--device-profile", "p", "--duration", "1s", "--", "touch", "ran")
        self.assert_status(done, 125)
        self.assertIn("exclude each other", done.stderr)
        self.assertEqual(self.run_command(["ls", "-A"]).stdout, "")

    def test_damaged_rows_are_counted(self):
        done = self.run_writer(EVENTS.replace("d0,1,4,@42,NSS_WAIT_BEGIN\n", "d0,x\n"), status=5)
        self.assertIn("p.csv: 2 records cannot be used", done.stderr)
        self.assertEqual([row[1] for row in self.zones("NSS Programs")], ["d0:1"])
        self.assertEqual(self.opscope_json("info", "t.opscope")["lost_records"], 2)

    def test_quiet(self):
        self.assertEqual(self.run_writer(EVENTS, "p.csv", "-q").stderr, "")
        done = self.opscope("run", "-q", "-o", "/dev/null", "--device-profile", "q.csv", "--", "cp", "p.csv", "q.csv")
        self.assert_status(done)
        self.assertIn("thrown away", done.stderr)


class RuntimeExport(harness.TestCase):
    """opscope export --format torq-runtime and opscope import torq."""

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def export(self, trace, *options):
        done = self.opscope("export", trace, "--format", "torq-runtime", *options)
        self.assert_status(done)
        return done.stdout

    def test_same_rows_when_read_back(self):
        rows = ['7,0,tosa.conv2d,loc("m.mlir":4:10)', '2.5,10,tosa.add,loc(fused["m.mlir":5:10, "m.mlir":6:10])',
                '0.125,20.001,tosa.conv2d,loc("m.mlir":4:10)', "0,30.02,copy,loc(unknown)"]
        text = ACTIONS.splitlines()[0] + "\n" + "".join(f"{i},{row}\n" for i, row in enumerate(rows))
        self.write("a.csv", text)
        self.assert_status(self.opscope("import", "torq", "a.csv", "-o", "a.opscope"))
        self.assertEqual(self.export("a.opscope"), text)
        self.write("b.csv", text + "".join(f"{i},7,{100 + i},again,loc(\"m.mlir\":4:10)\n" for i in range(3)))
        self.assert_status(self.opscope("import", "torq", "b.csv", "-o", "b.opscope"))
        with open(self.path("b.csv"), encoding="utf-8") as file:
            self.assertEqual(self.export("b.opscope"), file.read())
        # The form without names: one for all of them, the rest is as it was.
        self.write("p.csv", PROGRAMS)
        self.assert_status(self.opscope("import", "torq", "p.csv", "-o", "p.opscope"))
        self.assertEqual(self.export("p.opscope").splitlines()[1:],
                         ['0,10,0,program,loc("a.mlir":1:2)', '1,8,22.5,program,loc("a.mlir":3:4)',
                          '2,20,30,program,loc("a.mlir":1:2)'])
        done = self.opscope("export", "a.opscope", "-o", "a.runtime.csv")
        self.assert_status(done)
        self.assertIn("4 runs", done.stderr)
        with open(self.path("a.runtime.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_of_a_recorded_run(self):
        self.write("writer.py", WRITER)
        self.write("input", ACTIONS)
        self.assert_status(self.opscope("run", "-q", "-o", "t.opscope", "--device-profile", "p.csv", "--", "sh", "-c",
                                        f"{harness.program('names')} 3; {sys.executable} -S writer.py p.csv < input"))
        found = list(csv.reader(io.StringIO(self.export("t.opscope")), quoting=csv.QUOTE_NONE))
        self.assertEqual([row[3] for row in found[1:]], ["tosa.conv2d", "tosa.add", "tosa.conv2d"])
        self.assertEqual([round(float(row[1]), 1) for row in found[1:]], [7, 2.5, 9])

    def test_nothing_to_export(self):
        self.record([harness.program("names"), "3"])
        done = self.opscope("export", "t.opscope", "--format", "torq-runtime", "-o", "out.csv")
        self.assert_status(done, 2)
        self.assertIn("no zone and no run of this trace has a location of MLIR", done.stderr)
        self.assertFalse(os.path.exists(self.path("out.csv")))

    def test_whose_profile(self):
        self.write("a.csv", ACTIONS.replace("@", ""))
        done = self.opscope("import", "iree", "a.csv", "-o", "a.opscope")
        self.assert_status(done, 2)
        self.assertIn("opscope import torq a.csv", done.stderr)


class MlirRun(harness.TestCase):
    """examples/mlir-run: a model of ours, executed op by op, from the estimate to the comparison."""

    def setUp(self):
        super().setUp()
        self.program = harness.example("mlir-run")
        shutil.copy(os.path.join(harness.SOURCE, "examples", "mlir-run", "model.mlir"), self.folder)

    @staticmethod
    def argument(number, count):
        return [((k * 7 + number * 3) % 11 - 5) / 16 for k in range(count)]

    def expected(self):
        """The model, computed by another program."""
        image, kernel, bias, weights, offset = (
            self.argument(i, count) for i, count in enumerate((16 * 16 * 8, 16 * 9 * 8, 16, 1024 * 10, 10)))
        conv = {}
        for y, x, o in itertools.product(range(16), range(16), range(16)):
            total = bias[o]
            for ky, kx in itertools.product(range(3), range(3)):
                row, column = y + ky - 1, x + kx - 1
                if 0 <= row < 16 and 0 <= column < 16:
                    total += sum(image[(row * 16 + column) * 8 + c] * kernel[((o * 3 + ky) * 3 + kx) * 8 + c]
                                 for c in range(8))
            conv[y, x, o] = min(max(total, 0), 6)
        pooled = [max(conv[2 * y + i, 2 * x + j, c] for i in (0, 1) for j in (0, 1))
                  for y in range(8) for x in range(8) for c in range(16)]
        return [sum(pooled[k] * weights[k * 10 + n] for k in range(1024)) + offset[n] for n in range(10)]

    def test_each_phase_of_an_estimate_joins_the_run(self):
        self.opscope_json("estimate", "model.mlir", "--target", "cpu", "--dump-compilation-phases-to", "phases")
        self.assert_status(self.run_command([self.program, "model.mlir", "--runs", "2", "--profile", "run.csv"]))
        wanted = self.opscope_json("annotate", "model.mlir", "run.csv", "out.csv")["rows"]
        self.assertEqual([row["runs"] for row in wanted], [2, 2, 2])
        phases = sorted(os.listdir(self.path("phases")))
        self.assertEqual(len(phases), 4)
        for phase in phases:
            rows = self.opscope_json("annotate", os.path.join("phases", phase), "run.csv", "out.csv")["rows"]
            self.assertEqual(rows, wanted, phase)

    def test_help(self):
        done = self.run_command([self.program, "--help"])
        self.assert_status(done)
        self.assertTrue(done.stdout.startswith("usage: mlir-run MODEL.mlir"))
        self.assertEqual(done.stderr, "")

    def test_from_the_estimate_to_the_comparison(self):
        estimate = self.opscope_json("estimate", "model.mlir", "--target", "cpu")
        self.assertEqual([row["op"] for row in estimate["rows"]], ["tosa.conv2d", "tosa.max_pool2d", "tosa.matmul"])
        done = self.opscope("run", "-o", "run.opscope", "--device-profile", "run.csv", "--", self.program, "model.mlir",
                            "--runs", "3", "--profile", "run.csv")
        self.assert_status(done)
        self.assertIn("not cycle accurate", done.stdout)
        self.assertNotIn("not aligned", done.stderr)
        self.assertRegex(done.stderr, r"Actions +tosa.conv2d \(simulated\) +loc\(\"model.mlir\":8:10\) +3 ")
        result = [float(word) for word in done.stdout.split("result")[1].split()]
        for have, want in zip(result, self.expected(), strict=True):
            self.assertAlmostEqual(have, want, 3)
        zones = self.opscope_json("zones", "run.opscope")["rows"]
        self.assertEqual({row["name"]: row["count"] for row in zones if row["name"].startswith("tosa.matmul")},
                         {"tosa.matmul": 3, "tosa.matmul (simulated)": 3})  # of the host, of the profile
        found = self.opscope_json("annotate", "model.mlir", "run.csv", "run.annotated.csv", "-o", "annotated.opscope")
        self.assertEqual([(row["op"], row["runs"], row["macs"]) for row in found["rows"]],
                         [("tosa.conv2d", 3, 294912), ("tosa.max_pool2d", 3, 0), ("tosa.matmul", 3, 10240)])
        self.assertEqual(found["rows"][0]["location"], 'loc(fused["model.mlir":8:10, "model.mlir":9:10])')
        if pages.are_built():
            self.opscope_json("annotate", "model.mlir", "run.csv", "--html", "annotated.html")
            groups = pages.read(self.path("annotated.html")).chosen("ops?group=op&limit=5000")["groups"]
            self.assertIn("tosa.matmul (simulated)", [group["name"] for group in groups])
        report = self.opscope_json("report", "annotated.opscope", "--min-percentage", "0")
        flops = [round((row["tflops"] or 0) * row["time_us"] * 1e6) for row in report["rows"]
                 if row["op"].startswith(("tosa.conv2d", "tosa.clamp"))]
        self.assertEqual((len(flops), len([one for one in flops if one])), (6, 3))  # of the longer of both
        self.assertTrue(2 * 294912 < max(flops) < 2 * 294912 + 5 * 4096, flops)
        compared = self.opscope_json("diff", "model.mlir", "run.csv")
        self.assertEqual([(row["least_ns"], row["runs"]) for row in compared["rows"]],
                         [(row["least_ns"], row["runs"]) for row in found["rows"]])
        # The trace of the run says the same as the profile.
        self.assertEqual(len(self.opscope_json("diff", "model.mlir", "run.opscope")["rows"]), 3)

    def test_models_that_it_cannot_execute(self):
        with open(self.path("model.mlir"), encoding="utf-8") as file:
            text = file.read()
        for name, old, new, says in (("op", "tosa.add %4", "tosa.erf %4", "bad.mlir:13:10: tosa.erf cannot be executed"),
                                     ("size", "tensor<1x1024x10xf32>,", "tensor<1x1000x10xf32>,", "sizes that do not fit"),
                                     ("name", "tosa.clamp %0", "tosa.clamp %9", "%9 is not defined"),
                                     ("type", "-> tensor<1x8x8x16xf32>", "-> tensor<1x8x8x16xi8>", "not a tensor of f32 numbers"),
                                     ("cut", text[text.index("    return"):], "", "holds no function")):
            with self.subTest(name):
                with open(self.path("bad.mlir"), "w", encoding="utf-8") as file:
                    file.write(text.replace(old, new, 1))
                done = self.run_command([self.program, "bad.mlir", "--profile", "p.csv"])
                self.assert_status(done, 1)
                self.assertIn(says, done.stderr)
                self.assertFalse(os.path.exists(self.path("p.csv")))


class DeviceNumbers(harness.TestCase):
    def test_a_device_of_its_own(self):
        """Beside a device that the program itself recorded."""
        with open(self.path("in.csv"), "w", encoding="utf-8") as file:
            file.write(PROGRAMS)
        done = self.opscope("run", "-o", "t.opscope", "--device-profile", "p.csv", "--", "sh", "-c",
                            harness.program("everything") + " > /dev/null && cp in.csv p.csv")
        self.assert_status(done)
        tracks = [row for row in self.opscope_json("info", "t.opscope")["tracks"] if row["kind"] == "device"]
        numbers = [row["number"] for row in tracks]
        self.assertGreater(len(numbers), 1)
        self.assertEqual(len(numbers), len(set(numbers)))


if __name__ == "__main__":
    unittest.main()
