# SPDX-License-Identifier: Apache-2.0
"""python3 -m opscope -r: the device's logs joined with what was recorded, in one op table and its report. On the first
interpreter of the build; the program under test writes the logs that a device's runtime would leave."""

import csv
import json
import os
import unittest

import harness
import tenstorrent_logs
from test_python import PACKAGE, interpreters

PROGRAM = """
import glob, opscope, os, sys
for name in glob.glob("out/.logs/*"):  # this run wrote them
    os.utime(name)
class Tensor:
    shape = (32, 64)
    dtype = "bfloat16"
opscope.signpost("start", "of the loop")
for name in sys.argv[1:]:
    name, _, number = name.partition("=")
    name, _, module = name.partition("@")
    attributes = {"global_call_count": number} if number else {}
    if module:
        attributes["module"] = module
    with opscope.op(name, inputs=[Tensor()], attributes=attributes, type="device", device=0):
        pass
with opscope.op("argmax", type="host"):
    pass
opscope.signpost("stop")
"""


class Report(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not interpreters():
            self.skipTest("the build has no Python extension: no Python 3.9 or later with its headers was found")
        self.python = interpreters()[0]
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        self.run = tenstorrent_logs.Run()

    def write_logs(self, with_host):
        self.run.write(self.path("out"))
        if not with_host:  # as there is nobody to whom Tracy's messages are sent
            for name in ("tracy_ops_data.csv", "tracy_ops_times.csv"):
                os.unlink(self.path("out", ".logs", name))

    def report(self, *names, status=0):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        command = [self.python, "-m", "opscope", "-q", "-r", "-o", self.path("out"), "program.py", *names]
        done = self.run_command(command, env=env)
        self.assert_status(done, status)
        self.done = done
        with open(self.path("out", "ops_perf_results.csv"), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @staticmethod
    def table(rows, *columns):
        return [tuple(row[column] for column in columns) for row in rows]

    def test_joined_by_order(self):
        for name in ("a", "b", "a"):
            self.run.op(name, 10)
        self.write_logs(with_host=False)
        rows = self.report("matmul", "softmax", "matmul")
        self.assertEqual(
            self.table(rows, "OP CODE", "OP TYPE", "GLOBAL CALL COUNT", "DEVICE KERNEL DURATION [ns]"),
            [
                ("start", "signpost", "", ""),
                ("matmul", "tt_dnn_device", "1024", "10000"),
                ("softmax", "tt_dnn_device", "2048", "10000"),
                ("matmul", "tt_dnn_device", "3072", "10000"),
                ("argmax", "tt_dnn_cpu", str(2**31 + 1024), ""),
                ("stop", "signpost", "", ""),
            ],
        )
        self.assertEqual(rows[0]["ATTRIBUTES"], "of the loop")
        self.assertEqual((rows[1]["INPUT_0_X_PAD[LOGICAL]"], rows[1]["INPUT_0_DATATYPE"]), ("64[64]", "BFLOAT16"))
        times = [int(row["HOST START TS"]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertIn("Performance report", self.done.stdout)
        self.assertIn("softmax", self.done.stdout)

    def test_joined_by_number(self):
        for name in ("a", "b", "c"):
            self.run.op(name, 10)
        self.write_logs(with_host=False)
        rows = self.report("third=3072", "first=1024", "second")
        found = self.table(rows, "OP CODE", "GLOBAL CALL COUNT", "DEVICE FW START CYCLE")
        self.assertEqual(
            found[1:4], [("third", "3072", "3000000"), ("first", "1024", "1000000"), ("second", "2048", "2000000")]
        )

    def test_not_joined_where_the_numbers_differ(self):
        for name in ("a", "b", "c"):
            self.run.op(name, 10)
        self.write_logs(with_host=False)
        rows = self.report("matmul", "softmax")
        self.assertIn("device 0 ran 3 programs, and the program marked 2 ops of it", self.done.stderr)
        kernels = [row for row in rows if row["DEVICE KERNEL DURATION [ns]"]]
        self.assertEqual(self.table(kernels, "OP CODE", "GLOBAL CALL COUNT"), [("", "1024"), ("", "2048"), ("", "3072")])
        named = [row for row in rows if row["OP CODE"] in ("matmul", "softmax")]
        self.assertEqual([row["DEVICE KERNEL DURATION [ns]"] for row in named], ["", ""])
        self.assertTrue(all(row["HOST DURATION [ns]"] for row in named))

    def test_signposts_go_among_the_ops_of_the_host(self):
        calls = []
        for number, name in enumerate(("a", "b")):
            self.run.tick(3600 * 10**9)  # an hour: longer than the program needs from its signpost to its op
            calls.append(self.run.op(name, 10 + number)[0])
        self.write_logs(with_host=True)
        rows = self.report("mine=%d" % calls[1])
        self.assertEqual(self.table(rows, "OP CODE"), [("a",), ("start",), ("b",), ("stop",)])
        self.assertIn("in the trace alone", self.done.stderr)  # argmax

    def layers(self):
        table = self.path("out", "ops_perf_results.csv")
        done = self.opscope("report", "--group-by", "layer", "--ignore-signposts", "--json", table)
        self.assert_status(done)
        return {group["group"]: (group["ops"], group["time_us"]) for group in json.loads(done.stdout)["groups"]}

    def test_layers_of_ops_that_are_the_recorded_ones(self):
        for name in ("a", "b", "c"):
            self.run.op(name, 10)
        self.write_logs(with_host=False)
        rows = self.report("matmul@encoder.0", "softmax@encoder.0", "matmul")
        found = self.table(rows, "OP CODE", "MODULE PATH")
        self.assertEqual(found[1:5], [("matmul", "encoder.0"), ("softmax", "encoder.0"), ("matmul", ""), ("argmax", "")])
        self.assertEqual(self.layers()["encoder.0"], (2, 20.0))

    def test_layers_of_the_host_s_ops(self):
        """Ops of one program, which the logs tell once, belong to different layers."""
        calls = [self.run.op("a", 7)[0] for _ in range(3)]
        self.write_logs(with_host=True)
        rows = self.report(*("mine@encoder.%d=%d" % (number, call) for number, call in enumerate(calls[:2])))
        found = self.table([row for row in rows if row["OP TYPE"] != "signpost"], "OP CODE", "MODULE PATH", "CORE COUNT")
        self.assertEqual(found, [("a", "encoder.0", "2"), ("a", "encoder.1", "2"), ("a", "", "2")])
        self.assertEqual(self.layers()["encoder.1"], (1, 10.0))

    def test_no_column_where_no_op_has_a_layer(self):
        call = self.run.op("a", 10)[0]
        self.write_logs(with_host=True)
        self.assertNotIn("MODULE PATH", self.report("mine=%d" % call)[0])

    def test_nothing_in_common(self):
        self.run.op("a", 10)
        self.write_logs(with_host=True)
        rows = self.report()
        self.assertEqual(self.table(rows, "OP CODE"), [("a",)])
        self.assertIn("2 recorded signposts are left out", self.done.stderr)

    def test_logs_of_an_earlier_run(self):
        self.run.op("a", 10)
        self.write_logs(with_host=True)
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        command = [self.python, "-m", "opscope", "-q", "-r", "-o", "out"]
        done = self.run_command([*command, "-c", "exit(3)"], env=env)
        self.assert_status(done, 3)
        self.assertIn("out/.logs is of an earlier run and left out", done.stderr)
        self.assertFalse(os.path.exists(self.path("out", "ops_perf_results.csv")))
        self.assertEqual(done.stdout, "")
        done = self.run_command([*command, "-n", "old", "--process-logs-only"], env=env)
        self.assert_status(done)
        self.assertTrue(os.path.exists(self.path("out", "ops_perf_results_old.csv")))

    def test_the_folder_that_the_runtime_is_told(self):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        code = "import os; print(*sorted(v for k, v in os.environ.items() if k.startswith('TT_') and '/' in v))"
        command = [self.python, "-m", "opscope", "-q", "-r", "--collect-noc-traces", "-o", "out", "-c", code]
        done = self.run_command(command, env=env)
        self.assert_status(done)
        self.assertEqual(done.stdout, "%s %s\n" % (self.path("out"), self.path("out", ".logs")))
        self.assertTrue(os.path.isdir(self.path("out", ".logs")))
        self.assertIn("no op report: there is nothing in out/.logs", done.stderr)

    def test_no_report_of_a_failure_with_check_exit_code(self):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        command = [self.python, "-m", "opscope", "-q", "-r", "--check-exit-code", "-o", "out"]
        code = "import os; os.makedirs('out/.logs'); open('out/.logs/profile_log_device.csv', 'w'); exit(3)"
        done = self.run_command([*command, "-c", code], env=env)
        self.assert_status(done, 3)
        self.assertIn("no op report: the program failed", done.stderr)
        self.assertEqual(os.listdir(self.path("out")), [".logs", "python.opscope"])

    def test_no_logs_and_no_ops(self):
        env = {"PYTHONPATH": os.path.dirname(PACKAGE)}
        done = self.run_command([self.python, "-m", "opscope", "-q", "-r", "-o", "out", "-c", "exit(3)"], env=env)
        self.assert_status(done, 3)
        self.assertIn("no op report: there is no out/.logs", done.stderr)

    def test_a_trace_that_cannot_be_read(self):
        self.run.op("a", 10)
        self.write_logs(with_host=True)
        done = self.opscope("ops", self.path("out"), "--csv", "--trace", self.path("no.opscope"))
        self.assert_status(done)
        self.assertIn("no.opscope", done.stderr)
        self.assertIn("the report goes on without it", done.stderr)
        self.assert_status(self.opscope("ops", "--trace", "x", self.path("program.py")), 2)

    def test_signposts_in_the_op_table_of_a_trace(self):
        trace = self.record([self.python, "program.py", "matmul"])
        answer = self.opscope_json("ops", trace)
        rows = [(row["name"], row["type"], row["attributes"]) for row in answer["rows"]]
        self.assertEqual(
            rows,
            [
                ("start", "signpost", "of the loop"),
                ("matmul", "device", None),
                ("argmax", "host", None),
                ("stop", "signpost", None),
            ],
        )
        self.assertEqual((answer["ops"], answer["signposts"]), (2, 2))
        self.assertEqual(len(self.opscope_json("ops", "--limit", "2", trace)["rows"]), 2)
        self.assertEqual([row["name"] for row in self.opscope_json("ops", "-n", "st*", trace)["rows"]], ["start", "stop"])


if __name__ == "__main__":
    unittest.main()
