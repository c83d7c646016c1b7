# SPDX-License-Identifier: Apache-2.0
"""Tenstorrent's logs: the op table against the vendor's own, and what becomes of logs that do not fit together."""

import csv
import io
import json
import os
import random
import unittest

import harness
from tenstorrent_logs import KERNEL_CYCLES, Run


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


class Reference(harness.TestCase):
    """Byte for byte with the vendor's tool."""

    def compare(self, golden, *arguments):
        out = self.path("out.csv")
        done = self.opscope("ops", *arguments, "--csv", out)
        self.assert_status(done)
        with open(golden, "rb") as expected, open(out, "rb") as got:
            want, have = expected.read(), got.read()
        if want != have:
            for number, (a, b) in enumerate(zip(want.split(b"\r\n"), have.split(b"\r\n")), 1):
                self.assertEqual(a, b, f"line {number} of {golden}")
        self.assertEqual(want, have)

    def and_back(self, golden, folder, *options):
        """The same through a trace."""
        trace = self.path("run.opscope")
        self.assert_status(self.opscope("import", "tenstorrent", folder, "-o", trace, *options))
        self.compare(golden, trace)

    def pair(self, name):
        folder = harness.reference_data("tenstorrent", "pairs", name)
        golden = os.path.join(folder, "golden.csv")
        self.compare(golden, folder)
        self.compare(golden, os.path.join(folder, ".logs"))
        self.and_back(golden, folder)

    def test_pair_full_attention(self):
        self.pair("incumbent_full_attention_ops")

    def test_pair_trace(self):
        self.pair("incumbent_linear_attention_trace")

    def test_pair_linear_attention(self):
        self.pair("winner_linear_attention_ops")

    def test_two_devices_from_the_log(self):
        folder = harness.reference_data("tenstorrent", "two_devices_trace")
        golden = os.path.join(folder, "golden_full", "ops_perf_results.csv")
        self.compare(golden, folder, "--device-source", "log")
        self.and_back(golden, folder, "--device-source", "log")

    def test_two_devices_from_the_report(self):
        folder = harness.reference_data("tenstorrent", "two_devices_trace")
        golden = os.path.join(folder, "golden_full_cppreport", "ops_perf_results.csv")
        self.compare(golden, folder)
        self.and_back(golden, folder)

    def test_device_only(self):
        folder = harness.reference_data("tenstorrent", "two_devices_trace")
        golden = os.path.join(folder, "golden_device_only", "ops_perf_results.csv")
        self.compare(golden, folder, "--device-only")
        self.compare(golden, os.path.join(folder, ".logs", "profile_log_device.csv"))
        self.and_back(golden, folder, "--device-only")

    def test_counters(self):
        folder = harness.reference_data("tenstorrent", "two_devices_counters")
        golden = os.path.join(folder, "golden_full", "ops_perf_results.csv")
        self.compare(golden, folder)
        self.and_back(golden, folder)

    def test_wormhole_log(self):
        folder = harness.reference_data("tenstorrent", "wormhole_excerpt")
        golden = os.path.join(folder, "reports", "ops_perf_results.csv")
        self.compare(golden, folder)
        self.compare(golden, os.path.join(folder, "profile_log_device.asrecorded.csv"))
        self.and_back(golden, folder)

    def test_ops_csv_through_a_trace(self):
        for folder in (("tenstorrent", "ops_csv"), ("tt-perf-report", "inputs")):
            root = harness.reference_data(*folder)
            for name in sorted(os.listdir(root)):
                if "cpp_device_perf_report" in name:
                    continue
                direct, back, trace = self.path("direct.csv"), self.path("back.csv"), self.path("t.opscope")
                with self.subTest(name):
                    source = os.path.join(root, name)
                    self.assert_status(self.opscope("ops", source, "--csv", direct))
                    self.assert_status(self.opscope("import", "tenstorrent", source, "-o", trace))
                    self.assert_status(self.opscope("ops", trace, "--csv", back))
                    with open(source, "rb") as a, open(direct, "rb") as b, open(back, "rb") as c:
                        source_bytes, direct_bytes, back_bytes = a.read(), b.read(), c.read()
                    self.assertEqual(direct_bytes, back_bytes)
                    self.assertEqual(source_bytes.replace(b"\r\n", b"\n"), direct_bytes.replace(b"\r\n", b"\n"))

    def test_imports_of_version_1(self):
        """Percentages were the bits of a double, texts stood in names, and a share was computed in the table."""
        trace = os.path.join(harness.SOURCE, "tests", "golden", "trace", "v1-folder.opscope")
        self.assert_status(self.opscope("ops", trace, "--csv", self.path("v1.csv")))
        with open(self.path("v1.csv"), encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["OP TYPE"] != "signpost"]
        columns = ("OP CODE", "DEVICE ARCH", "PM FPU UTIL (%)", "NOC UTIL (%)", "DRAM BW UTIL (%)", "DEVICE KERNEL DURATION [ns]")
        self.assertEqual([[row[column] for column in columns] for row in rows],
                         [["Matmul", "blackhole", "50.0", "12.5", "0.0", "10000"],
                          ["Add", "blackhole", "55.556", "33.25", "7.0", "9000"]])
        self.assertEqual(self.opscope("report", trace, "--json").json()["machine"], "blackhole")

    def test_one_report_from_folder_trace_and_csv(self):
        folder = harness.reference_data("tenstorrent", "pairs", "winner_linear_attention_ops")
        trace = self.path("run.opscope")
        self.assert_status(self.opscope("import", "tenstorrent", folder, "-o", trace))
        made = []
        for source in (os.path.join(folder, "golden.csv"), folder, trace):
            out = self.path("report.csv")
            self.assert_status(self.opscope("report", source, "--csv", out))
            with open(out, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            for row in rows:
                del row["line"]  # only a table has lines
            made.append(rows)
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[0], made[2])

    def reported(self, *sources):
        out = self.path("report.csv")
        self.assert_status(self.opscope("report", *sources, "--csv", out))
        with open(out, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            del row["line"]  # only a table has lines
        return rows

    def test_one_report_of_a_table_and_of_its_trace(self):
        root, trace = harness.reference_data("tt-perf-report", "inputs"), self.path("t.opscope")
        for name in sorted(os.listdir(root)):
            with self.subTest(name):
                self.assert_status(self.opscope("import", "tenstorrent", os.path.join(root, name), "-o", trace))
                self.assertEqual(self.reported(os.path.join(root, name)), self.reported(trace))

    def test_one_report_of_several_hosts(self):
        folder = harness.reference_data("tenstorrent", "two_devices_trace")
        table, trace = self.path("ops.csv"), self.path("t.opscope")
        self.assert_status(self.opscope("ops", folder, "--csv", table))
        self.assert_status(self.opscope("import", "tenstorrent", folder, "-o", trace))
        made = [self.reported(source, source) for source in (table, folder, trace)]
        for rows in made:
            for row in rows:  # a table knows of the ops that ran alone how many cores there were
                row["available_cores"] = "" if not row["time_us"] else row["available_cores"]
        self.assertIn("HOST", [row["bound"] for row in made[0]])
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[0], made[2])

    def per_core(self, folder, golden):
        def cells(text):
            head, *rows = csv.reader(io.StringIO(text, newline=""))
            return [(row[0], row[1], dict(zip(head[2:], row[2:]))) for row in rows]

        done = self.opscope("ops", folder, "--per-core", "--csv")
        self.assert_status(done)
        with open(golden, encoding="utf-8", newline="") as file:
            self.assertEqual(cells(file.read()), cells(done.stdout))

    def test_per_core(self):
        two = harness.reference_data("tenstorrent", "two_devices_trace")
        self.per_core(two, os.path.join(two, "golden_device_only", "per_core_op_to_op_times.csv"))
        one = harness.reference_data("tenstorrent", "wormhole_excerpt")
        self.per_core(one, os.path.join(one, "reports", "per_core_op_to_op_times.csv"))

    def test_device_stats(self):
        for name in ("wormhole_excerpt", "two_devices_trace", "two_devices_counters"):
            folder = harness.reference_data("tenstorrent", name)
            with self.subTest(name), open(os.path.join(folder, "device_stats", "device_stats.txt"), "rb") as golden:
                done = self.opscope("device-stats", folder, "--text")
                self.assert_status(done)
                self.assertEqual(golden.read(), done.stdout_bytes)

    def test_device_analysis_data(self):
        folder = harness.reference_data("tenstorrent", "wormhole_excerpt")
        with open(os.path.join(folder, "device_stats", "device_analysis_data.json"), encoding="utf-8") as file:
            golden = json.load(file)["data"]["devices"]
        ours = {(row["device"], row["analysis"]): row for row in self.opscope_json("device-stats", folder)["rows"]}
        seen = 0
        for device, data in golden.items():
            for name, analysis in data["cores"]["DEVICE"]["analysis"].items():
                row, stats = ours[int(device), name], analysis["stats"]
                seen += 1
                for key, column in (("Count", "count"), ("Average", "average_cycles"), ("Max", "max_cycles"),
                                    ("Min", "min_cycles"), ("Range", "range_cycles"), ("Median", "median_cycles"),
                                    ("Sum", "sum_cycles")):
                    self.assertEqual(stats[key], row[column], f"{name} {key}")
        self.assertEqual(seen, len(ours))


class Table(harness.TestCase):
    """Folders of our own making, with numbers that can be checked by hand."""

    def ops(self, folder, *options, status=0):
        done = self.opscope("ops", folder, "--csv", *options)
        self.assert_status(done, status)
        return rows_of(done.stdout)

    def test_times_and_tensors(self):
        run = Run(devices=(0, 1))
        run.signpost("start", "first, then")
        run.op("Matmul", 11)
        run.op("Matmul", 11, hit=True)
        rows = self.ops(run.write(self.path("run")))
        self.assertEqual([row["OP CODE"] for row in rows], ["start"] + ["Matmul"] * 4)
        self.assertEqual((rows[0]["OP TYPE"], rows[0]["ATTRIBUTES"]), ("signpost", "first; then"))
        first, third = rows[1], rows[3]
        self.assertEqual(first["GLOBAL CALL COUNT"], "1024")
        self.assertEqual(first["ATTRIBUTES"], "{'kind': 'Matmul; plain'; 'quoted': 'say \"hi\"'}")
        self.assertEqual(first["DEVICE KERNEL DURATION [ns]"], str(KERNEL_CYCLES))
        self.assertEqual(first["DEVICE FW DURATION [ns]"], str(KERNEL_CYCLES + 2000))
        self.assertEqual(first["OP TO OP LATENCY [ns]"], "0")
        self.assertEqual(third["OP TO OP LATENCY [ns]"], str(1_000_000 - KERNEL_CYCLES))
        self.assertEqual(first["CORE COUNT"], "2")
        self.assertEqual(first["PM FPU UTIL (%)"], "50.0")
        self.assertEqual(first["INPUT_1_Y_PAD[LOGICAL]"], "64[64]")
        self.assertEqual(first["OUTPUT_0_MEMORY"], "DEV_0_DRAM_INTERLEAVED")
        self.assertEqual(rows[2]["OUTPUT_0_MEMORY"], "DEV_1_DRAM_INTERLEAVED")
        self.assertEqual((first["PROGRAM CACHE HIT"], third["PROGRAM CACHE HIT"]), ("False", "True"))
        self.assertEqual(third["CompileProgram_TT_HOST_FUNC [ns]"], "502")
        self.assertNotIn("NOTE", first)

    def test_replays(self):
        run = Run()
        run.trace(4, ["Add", "Softmax"], replays=3)
        rows = self.ops(run.write(self.path("run")))
        self.assertEqual(
            [(row["OP CODE"], row["METAL TRACE ID"], row["METAL TRACE REPLAY SESSION ID"]) for row in rows],
            [("Add", "", ""), ("Softmax", "", "")]
            + [(name, "4", str(replay)) for replay in (1, 2, 3) for name in ("Add", "Softmax")],
        )
        self.assertEqual({row["DEVICE FW DURATION [ns]"] for row in rows[:2]}, {""})
        self.assertNotIn("NOTE", rows[0])

    def test_compiler_locations_with_messages_of_both_versions(self):
        run = Run()
        run.op("Before", 10)
        run.message('MLIR_OP_LOCATION;loc("model.py":17:14)', quoted=False)
        run.op("Old", 11, old_message=True)
        run.op("New", 12)
        run.message("MLIR_CONST_EVAL_OP;true", quoted=False)
        run.message('MLIR_PROGRAM_METADATA;{"loop": 1; "step": 2}', quoted=False)
        run.message('MLIR_OP_LOCATION;loc("model.py":18:1)', quoted=False)
        run.op("Old", 11, old_message=True)
        run.op("New", 12)
        rows = self.ops(run.write(self.path("run")))
        self.assertEqual(
            [(row["OP CODE"], row["LOC"], row["CONST_EVAL_OP"], row["PROGRAM_METADATA"]) for row in rows],
            [
                ("Before", "loc(unknown)", "false", "{}"),
                ("Old", 'loc("model.py":17:14)', "false", "{}"),
                ("New", 'loc("model.py":17:14)', "false", "{}"),
                ("Old", 'loc("model.py":18:1)', "true", '{"loop": 1; "step": 2}'),
                ("New", 'loc("model.py":18:1)', "true", '{"loop": 1; "step": 2}'),
            ],
        )
        self.assertEqual([row["GLOBAL CALL COUNT"] for row in rows], [str(n << 10) for n in range(1, 6)])
        self.assertEqual({row["DEVICE KERNEL DURATION [ns]"] for row in rows}, {str(KERNEL_CYCLES)})

    def test_columns(self):
        run = Run()
        run.op("Matmul", 11)
        folder = run.write(self.path("run"))
        old = self.opscope("ops", folder, "--csv", "--columns", "v1").stdout.split("\r\n")
        head, cells = next(csv.reader([old[0]])), next(csv.reader([old[1]]))
        for name in ("INPUT_0_W", "INPUT_1_Y", "BRISC MAX KERNEL SIZE [B]", "TRISC 0 MAX KERNEL SIZE [B]"):
            self.assertIn(name, head)
        for name in ("DEVICE ARCH", "AVAILABLE WORKER CORE COUNT", "INPUT_0_W_PAD[LOGICAL]", "SUB DEVICE ID"):
            self.assertNotIn(name, head)
        self.assertEqual(cells[head.index("INPUT_1_Y")], "64")
        self.assertEqual(cells[head.index("BRISC MAX KERNEL SIZE [B]")], "700")
        chosen = self.opscope("ops", folder, "--csv", "--columns", "DEVICE ID,OP CODE")
        self.assertEqual(chosen.stdout, "DEVICE ID,OP CODE\r\n0,Matmul\r\n")
        compact = self.ops(folder, "--columns", "compact")[0]
        self.assertEqual(compact["DEVICE KERNEL DURATION [ns]"], str(KERNEL_CYCLES))
        self.assertNotIn("ATTRIBUTES", compact)
        wrong = self.opscope("ops", folder, "--columns", "DEVICE IT")
        self.assert_status(wrong, 2)
        self.assertIn("did you mean 'DEVICE ID'", wrong.stderr)
        self.assertEqual(self.ops(folder, "--name", "Nothing*"), [])
        terminal = self.opscope("ops", folder)
        self.assert_status(terminal)
        self.assertIn("Matmul", terminal.stdout)

    def test_columns_of_one_name_and_of_none(self):
        text = "OP CODE,X,X,GLOBAL CALL COUNT,\r\na,1,2,3,4\r\nb,5,6,7,8\r\n"
        with open(self.path("ops.csv"), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        self.assertEqual(self.opscope("ops", self.path("ops.csv"), "--csv").stdout, text)
        trace = self.path("t.opscope")
        self.assert_status(self.opscope("import", "tenstorrent", self.path("ops.csv"), "-o", trace))
        self.assertEqual(self.opscope("ops", trace, "--csv").stdout, text)

    def test_json(self):
        run = Run()
        run.op("Matmul", 11)
        row = self.opscope_json("ops", run.write(self.path("run")))["rows"][0]
        self.assertEqual(row["op_code"], "Matmul")
        self.assertEqual(row["device_kernel_duration_ns"], KERNEL_CYCLES)
        self.assertEqual(row["pm_fpu_util_percent"], 50.0)
        self.assertEqual([key for key in row if key != key.lower() or " " in key or "[" in key], [])

    def test_every_command_takes_the_folder(self):
        run = Run()
        run.signpost("begin")
        run.op("Matmul", 11)
        folder = run.write(self.path("run"))
        info = self.opscope_json("info", folder)
        self.assertEqual((info["ops"], info["runs"]), (1, 1))
        zones = {row["name"]: row["count"] for row in self.opscope_json("zones", folder)["rows"]}
        self.assertEqual(zones["BRISC-KERNEL"], 2)
        self.assertEqual(zones["TT_DNN_DEVICE_OP"], 1)
        self.assertEqual([row["header"] for row in self.opscope_json("messages", folder)["rows"]], ["begin"])
        self.assertEqual([name for name in os.listdir(self.folder) if name != "run"], [])

    def test_device_clock_does_not_run_before_the_dispatch(self):
        run = Run()
        run.op("Matmul", 11)
        run.op("Matmul", 11)
        trace = self.path("t.opscope")
        self.assert_status(self.opscope("import", "tenstorrent", run.write(self.path("run")), "-o", trace))
        done = self.opscope("export", trace, "--format", "csv", "--what", "runs")
        self.assert_status(done)
        ops = rows_of(self.opscope("export", trace, "--format", "csv", "--what", "ops").stdout)
        runs = rows_of(done.stdout)
        self.assertEqual(len(runs), 2)
        for op, of_run in zip(ops, runs):
            self.assertGreaterEqual(int(of_run["start_ns"]), int(op["start_ns"]))


class Recorded(harness.TestCase):
    """Ops that opscope recorded, under the same column names."""

    def test_columns_that_are_filled(self):
        trace = self.path("t.opscope")
        self.assert_status(self.opscope("run", "-o", trace, "--", harness.program("everything")))
        done = self.opscope("ops", trace, "--columns", "all", "--csv")
        self.assert_status(done)
        rows = {row["OP CODE"]: row for row in rows_of(done.stdout)}
        matmul = rows["matmul"]
        self.assertEqual((matmul["OP TYPE"], matmul["DEVICE ID"], matmul["CORE COUNT"]), ("tt_dnn_device", "3", "64"))
        self.assertEqual(matmul["INPUT_0_X_PAD[LOGICAL]"], "128[64]")
        self.assertEqual(matmul["DEVICE KERNEL DURATION [ns]"], "500")
        self.assertEqual(matmul["MATH FIDELITY"], "HiFi4")
        self.assertEqual(rows["gelu"]["OP TYPE"], "python_fallback")
        self.assertEqual(rows["start of training"]["OP TYPE"], "signpost")
        self.assertNotIn("DEVICE ERISC KERNEL DURATION [ns]", matmul)
        self.assertIn("matmul", self.opscope("ops", trace).stdout)


class Damaged(harness.TestCase):
    """Nothing that is wrong with the logs ends the report: it is kept, counted, reported and marked."""

    def check(self, run, folder="run", **options):
        """The rows and the notices of a folder whose report must also survive a trace."""
        path = run.write(self.path(folder), **options)
        done = self.opscope("ops", path, "--csv")
        self.assert_status(done)
        trace = self.path("t.opscope")
        self.assert_status(self.opscope("import", "tenstorrent", path, "-o", trace))
        back = self.opscope("ops", trace, "--csv")
        self.assert_status(back)
        self.assertEqual(done.stdout, back.stdout)
        info = self.opscope("info", trace)
        self.assert_status(info)
        for line in done.stderr.splitlines():
            self.assertIn(line.split(": ", 2)[2][:60], info.stdout, "opscope info lists it")
        return rows_of(done.stdout), done.stderr

    def test_op_without_device_data(self):
        run = Run()
        run.op("Matmul", 11)
        run.op("Lost", 12, on_device=False)
        rows, told = self.check(run)
        self.assertEqual([row["NOTE"] for row in rows], ["", "no device data"])
        self.assertIn("op 2048 has no data of device 0", told)

    def test_device_run_without_op(self):
        run = Run()
        run.op("Matmul", 11)
        run.run_on(0, 9 << 10)
        rows, told = self.check(run)
        self.assertEqual(len(rows), 1)
        self.assertIn("ran op 9216, which the host's messages do not have", told)

    def test_trace_that_was_never_replayed(self):
        run = Run()
        run.op("Matmul", 11)
        run.trace(4, ["Add"], replays=0)
        rows, told = self.check(run)
        self.assertEqual([row["NOTE"] for row in rows], ["", "no replay recorded"])
        self.assertIn("of which device 0 recorded no replay", told)

    def test_replay_without_a_message(self):
        run = Run()
        run.trace(4, ["Add"], replays=3, messages=2)
        rows, told = self.check(run)
        self.assertEqual([row["METAL TRACE REPLAY SESSION ID"] for row in rows], ["", "1", "2", "3"])
        self.assertEqual(rows[3]["NOTE"], "no replay message")
        self.assertIn("replay 3 of trace 4", told)

    def test_replay_of_which_the_device_dropped_the_middle(self):
        run = Run()
        run.trace(4, ["Add", "Mul"], replays=3)
        run.log = [entry for entry in run.log if ",4,2," not in entry[4]]
        rows, _ = self.check(run)
        self.assertEqual(
            [(row["OP CODE"], row["METAL TRACE REPLAY SESSION ID"]) for row in rows[2:]],
            [("Add", "1"), ("Mul", "1"), ("Add", "3"), ("Mul", "3")],
        )

    def test_message_cut_at_64_kib(self):
        run = Run()
        run.op("Matmul", 11)
        run.op("Wide", 12)
        text = run.messages[-1]
        run.messages[-1] = text[: text.index('"output_tensors"')] + ";1050000"
        run.op("Matmul", 11)
        rows, told = self.check(run)
        self.assertEqual([row["OP CODE"] for row in rows], ["Matmul", "Wide", "Matmul"])
        self.assertEqual([row["NOTE"] for row in rows], ["", "message cut", ""])
        self.assertEqual(rows[1]["DEVICE KERNEL DURATION [ns]"], str(KERNEL_CYCLES))
        self.assertEqual(rows[1]["PROGRAM HASH"], "12")
        self.assertIn("the message of op 2048 is cut or damaged", told)

    def test_program_that_was_never_told(self):
        run = Run()
        run.described.add((0, 12))
        run.op("Unknown", 12)
        rows, told = self.check(run)
        self.assertEqual((rows[0]["OP CODE"], rows[0]["NOTE"]), ("Unknown", "program not described"))
        self.assertIn("refers to program 12", told)

    def test_times_without_a_message(self):
        run = Run()
        run.op("Matmul", 11)
        run.times.append('TT_DNN_DEVICE_OP,op.hpp,10,,"id:5120",2000000,70,1,,')
        rows, told = self.check(run)
        self.assertEqual(rows[1]["NOTE"], "no message; no device data")
        self.assertIn("op 5120 has host times and no message", told)

    def test_no_times_at_all(self):
        run = Run()
        run.op("Matmul", 11)
        rows, told = self.check(run, times=False)
        self.assertEqual((rows[0]["NOTE"], rows[0]["HOST START TS"]), ("no host times", ""))
        self.assertIn("has no host times", told)

    def test_id_that_comes_twice(self):
        run = Run()
        run.op("Matmul", 11)
        run.messages.append(run.messages[-1])
        rows, told = self.check(run)
        self.assertEqual([row["NOTE"] for row in rows if row["NOTE"]], ["id repeated; no host times"])
        self.assertIn("op id 1024 comes again", told)

    def test_orphan_end_marker(self):
        run = Run()
        run.op("Matmul", 11)
        run.op("Matmul", 11)
        run.log = [entry for entry in run.log if not (entry[1] == (1, 2) and "2048,,,BRISC-FW,ZONE_START" in entry[4])]
        rows, told = self.check(run)
        self.assertEqual([row["NOTE"] for row in rows], ["", "device markers missing"])
        self.assertEqual(rows[1]["DEVICE KERNEL DURATION [ns]"], str(KERNEL_CYCLES))
        self.assertIn("has cores without an end", told)

    def test_firmware_that_begins_again(self):
        run = Run()
        run.op("Matmul", 11)
        run.run_on(0, 1024)
        run.log = [entry for entry in run.log if not (entry[1] == (1, 1) and ",1012000,0," in entry[4])]
        _, told = self.check(run)
        self.assertIn("began again before all its cores had ended", told)

    def test_lines_that_are_no_markers(self):
        run = Run()
        run.op("Matmul", 11)
        folder = run.write(self.path("bad"))
        with open(os.path.join(folder, ".logs", "profile_log_device.csv"), "a", encoding="latin-1") as file:
            file.write("nonsense\n0,1\n0,x,1,BRISC,1,5,0,1024,,,BRISC-FW,ZONE_START,1,a,\n\x00\xff\x00\n")
        done = self.opscope("ops", folder, "--csv")
        self.assert_status(done)
        self.assertIn("not a marker (4 times in all)", done.stderr)
        self.assertEqual(len(rows_of(done.stdout)), 1)

    def test_missing_files(self):
        run = Run()
        run.op("Matmul", 11)
        rows, told = self.check(run, log=False)
        self.assertEqual((len(rows), rows[0]["DEVICE KERNEL DURATION [ns]"]), (1, ""))
        self.assertIn("no device data", told)
        rows, _ = self.check(run, folder="device", messages=False, times=False)
        self.assertEqual(rows[0]["GLOBAL CALL COUNT"], "1024")
        self.assertNotIn("OP CODE", rows[0])
        os.makedirs(self.path("empty"))
        done = self.opscope("ops", self.path("empty"))
        self.assert_status(done, 2)
        self.assertIn("no Tenstorrent logs", done.stderr)

    def test_file_that_cannot_be_read(self):
        run = Run()
        run.op("Matmul", 11)
        folder = run.write(self.path("run"), log=False)
        os.makedirs(os.path.join(folder, ".logs", "profile_log_device.csv"))
        done = self.opscope("ops", folder, "--csv")
        self.assert_status(done)
        self.assertIn("the report goes on without it", done.stderr)
        self.assertEqual([row["OP CODE"] for row in rows_of(done.stdout)], ["Matmul"])
        self.assert_status(self.opscope("import", "tenstorrent", folder, "-o", self.path("t.opscope")))

    def test_files_cut_anywhere(self):
        run = Run()
        run.signpost("start", "now")
        run.op("Matmul", 11)
        run.trace(4, ["Add"], replays=2)
        folder = run.write(self.path("whole"))
        pick = random.Random(7)
        for name in sorted(os.listdir(os.path.join(folder, ".logs"))):
            with open(os.path.join(folder, ".logs", name), "rb") as file:
                whole = file.read()
            for length in [0, 1, 2, len(whole) - 1] + [pick.randrange(len(whole)) for _ in range(12)]:
                path = os.path.join(run.write(self.path("cut")), ".logs", name)
                with open(path, "wb") as file:
                    file.write(whole[:length])
                with self.subTest(f"{name} cut at {length}"):
                    self.assert_status(self.opscope("ops", self.path("cut"), "--csv"))
                    self.assert_status(self.opscope("info", self.path("cut")))

    def test_bytes_changed_anywhere(self):
        run = Run()
        run.signpost("start", "now")
        run.op("Matmul", 11)
        run.trace(4, ["Add"], replays=2)
        folder = run.write(self.path("whole"))
        pick = random.Random(11)
        for name in sorted(os.listdir(os.path.join(folder, ".logs"))):
            with open(os.path.join(folder, ".logs", name), "rb") as file:
                whole = file.read()
            for number in range(15):
                damaged = bytearray(whole)
                for _ in range(20):
                    damaged[pick.randrange(len(damaged))] = pick.choice(b'\x00\xff`;,"\n{}[]:9-')
                path = os.path.join(run.write(self.path("changed")), ".logs", name)
                with open(path, "wb") as file:
                    file.write(damaged)
                with self.subTest(f"{name}, {number}"):
                    done = self.opscope("ops", self.path("changed"), "--csv")
                    self.assert_status(done)
                    trace = self.path("t.opscope")
                    self.assert_status(self.opscope("import", "tenstorrent", self.path("changed"), "-o", trace))

    def test_usage(self):
        for arguments in (("tenstorrent",), ("nvidia", "x", "-o", "y"), ("tenstorrent", self.folder)):
            self.assert_status(self.opscope("import", *arguments), 2)
        self.assert_status(self.opscope("import", "tenstorrent", self.path("absent"), "-o", self.path("t")), 2)
        self.assertFalse(os.path.exists(self.path("t")))
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
