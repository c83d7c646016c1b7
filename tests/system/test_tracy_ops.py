# SPDX-License-Identifier: Apache-2.0
"""Programs that report their ops through Tracy (tracy_ops_client.py), recorded live: the same op table, byte for byte, as from the
files that the vendor's tools make of the same run."""

import csv
import os
import shutil
import subprocess
import sys
import unittest

import harness
from tenstorrent_logs import Run

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tracy_ops_client.py")
PAIRS = ("incumbent_full_attention_ops", "incumbent_linear_attention_trace", "winner_linear_attention_ops")


def client(logs, *options):
    return [sys.executable, "-S", CLIENT, logs, *options]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def own_run():
    """Ops on two devices, described once, with what a compiler says, a trace with replays, signposts."""
    run = Run(devices=(0, 1))
    run.signpost("start", "warm, up")
    run.message('MLIR_OP_LOCATION;loc("model.py":17:14)', quoted=False)
    run.op("Matmul", program=11)
    run.message("MLIR_CONST_EVAL_OP;true", quoted=False)
    run.op("Matmul", program=11, hit=True)
    run.trace(4, ["Add", "Softmax"], replays=3)
    run.message("SYNC_CHECK", quoted=False)
    run.op("Untilize", program=18446744073709551615)
    run.signpost("stop")
    return run


class OpsCase(harness.TestCase):
    def logs(self, source):
        """A copy of a folder's logs with the zones as the newest export has them: those of ops name themselves."""
        folder = self.path("pair")
        shutil.copytree(os.path.join(source, ".logs"), os.path.join(folder, ".logs"))
        path = os.path.join(folder, ".logs", "tracy_ops_times.csv")
        os.chmod(os.path.dirname(path), 0o755)
        os.chmod(path, 0o644)
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            if "TT_DNN" in row["name"]:
                row["special_parent_text"] = row["zone_text"]
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
        return os.path.join(folder, ".logs")

    def own_logs(self, run=None):
        return self.logs((run or own_run()).write(self.path("made")))

    def table(self, source, name):
        out = self.path(name)
        self.assert_status(self.opscope("ops", source, "--csv", "-o", out))
        return read(out)

    def run_client(self, logs, *options, status=0, env=None):
        trace = self.path("t.opscope")
        env = {"TT_METAL_PROFILER_DIR": self.path("profiler"), **(env or {})}
        done = self.opscope("run", "--python-trace=off", "-o", trace, "--", *client(logs, *options), env=env)
        self.assert_status(done, status)
        return done, trace

    def assert_live_is_import(self, logs, *options):
        want = self.table(os.path.dirname(logs), "want.csv")
        _, trace = self.run_client(logs, *options)
        have = self.table(trace, "have.csv")
        for number, (a, b) in enumerate(zip(want.split(b"\r\n"), have.split(b"\r\n")), 1):
            self.assertEqual(a, b, f"line {number}")
        self.assertEqual(want, have)
        self.assertEqual(read(self.path("t.ops.csv")), have)  # that run leaves by itself
        return have, trace


class Live(OpsCase):
    def test_own_run(self):
        have, _ = self.assert_live_is_import(self.own_logs())
        self.assertEqual(have.count(b"\nSoftmax,"), 2 * (1 + 3))

    def test_threads_are_put_in_order(self):
        self.assert_live_is_import(self.own_logs(), "--threads")

    def test_other_protocols(self):
        for version in ("72", "76"):
            with self.subTest(version):
                self.assert_live_is_import(self.own_logs(), "--version", version)
                shutil.rmtree(self.path("pair"))
                os.remove(self.path("t.opscope"))

    def test_reference_pairs(self):
        for name in PAIRS:
            with self.subTest(name):
                folder = harness.reference_data("tenstorrent", "pairs", name)
                have, trace = self.assert_live_is_import(self.logs(folder), "--cores")
                self.assertEqual(have, read(os.path.join(folder, "golden.csv")))
                shutil.rmtree(self.path("pair"))
                os.remove(trace)

    def test_views(self):
        done, trace = self.run_client(self.own_logs(), "--exit", "3", status=3)
        self.assertIn("10 ops, 18 device runs from", done.stderr)
        report = self.opscope_json("report", trace, "--json")
        self.assertTrue(report["rows"])
        threads = {row["thread"] for row in self.opscope_json("messages", trace, "--json")["rows"]}
        self.assertIn("main", threads)
        info = self.opscope_json("info", trace, "--json")
        (process,) = info["processes"]
        self.assertIn("tracy_ops_client", process["command"])
        self.assertEqual(process["start_ns"], 0, "something is before the program")

    def test_cores_of_devices(self):
        """Zones of the fork's contexts are on tracks of cores; those of the log, which say the same, are not added."""
        run = own_run()
        logs = self.own_logs(run)
        with open(os.path.join(logs, "cpp_device_perf_report.csv"), "w", encoding="utf-8") as file:
            file.write("GLOBAL CALL COUNT,METAL TRACE ID,METAL TRACE REPLAY SESSION ID,DEVICE ID\n1024,,,0\n1025,,,1\n")
        _, trace = self.run_client(logs, "--cores")
        names = [track["name"] for track in self.opscope_json("info", trace, "--json")["tracks"]]
        self.assertIn("Device: 0", names)
        self.assertEqual(names.count("core 3,5"), 2)
        self.assertEqual((names.count("BRISC"), names.count("TRISC_0"), names.count("NCRISC")), (2, 2, 0))

    def test_files_of_an_earlier_run(self):
        logs = self.own_logs()
        shutil.copytree(logs, self.path("profiler", ".logs"))
        with open(os.path.join(logs, "profile_log_device.csv"), "w", encoding="utf-8"):
            pass
        os.remove(os.path.join(logs, "profile_log_device.csv"))
        done, trace = self.run_client(logs)
        self.assertIn("10 ops; no file of a device was written in", done.stderr)
        self.assertNotIn(b",1000000,", self.table(trace, "have.csv"))

    def test_signposts_alone(self):
        run = Run()
        run.op("Matmul", program=11)
        run.messages = [run.messages[0]]
        run.times = run.times[:2]
        run.signpost("begin", "text")
        logs = self.own_logs(run)
        run_times = os.path.join(logs, "tracy_ops_times.csv")
        with open(run_times, encoding="utf-8") as file:
            header = file.readline()
        with open(run_times, "w", encoding="utf-8") as file:
            file.write(header)
        _, trace = self.run_client(logs)
        rows = self.opscope_json("messages", trace, "--json")["rows"]
        self.assertIn("begin", [row.get("header") for row in rows])

    def test_cut_message(self):
        """A message longer than Tracy allows comes cut: its op has its row."""
        run = own_run()
        logs = self.own_logs(run)
        path = os.path.join(logs, "tracy_ops_data.csv")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        head, _, tail = text.partition('"Untilize"')
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + '"Untilize"' + tail.replace('"performance_model": {', '"performance', 1))
        done, trace = self.run_client(logs)
        self.assertIn("could not be read or joined", done.stderr)
        self.assertIn(b"message cut", self.table(trace, "have.csv"))

    def test_two_programs(self):
        """Both tell of ops; the files are one's."""
        logs = self.own_logs()
        command = " ".join(client(logs))
        trace = self.path("t.opscope")
        done = self.opscope("run", "--python-trace=off", "-o", trace, "--", "sh", "-c", f"{command} & {command}; wait",
                            env={"TT_METAL_PROFILER_DIR": self.path("profiler")})
        self.assert_status(done)
        self.assertIn("20 ops, 18 device runs", done.stderr)


class Layouts(OpsCase):
    def run_layout(self, logs, *options):
        done = self.opscope("run", "--python-trace=off", "-o", self.path("t.opscope"), *options, "--", *client(logs),
                            env={"TT_METAL_PROFILER_DIR": self.path("profiler")}, cwd=self.folder)
        self.assert_status(done)
        return done

    def test_tt_metal(self):
        """The folder is one that the vendor's post-processing could take, and that opscope reads as any other."""
        logs = self.own_logs()
        want = self.table(os.path.dirname(logs), "want.csv")
        self.run_layout(logs, "--layout", "tt-metal", "--layout-name", "mine")
        (date,) = os.listdir(self.path("profiler", "reports", "mine"))
        self.assertRegex(date, r"^\d{4}(_\d\d){5}$")
        self.assertEqual(read(self.path("profiler", "reports", "mine", date, f"ops_perf_results_mine_{date}.csv")), want)
        self.assertEqual(sorted(os.listdir(self.path("profiler", ".logs"))),
                         ["profile_log_device.csv", "tracy_ops_data.csv", "tracy_ops_times.csv"])
        self.assertEqual(self.table(self.path("profiler"), "again.csv"), want)
        self.run_layout(logs, "--layout", "tt-metal")
        (date,) = [name for name in os.listdir(self.path("profiler", "reports")) if name != "mine"]
        self.assertEqual(os.listdir(self.path("profiler", "reports", date)), [f"ops_perf_results_{date}.csv"])

    def test_tt_torch(self):
        run = Run()
        run.op("Matmul", program=11)
        self.run_layout(self.own_logs(run), "--layout", "tt-torch")
        with open(self.path("results", "perf", "device_ops_perf_trace.csv"), encoding="utf-8", newline="") as file:
            (row,) = csv.DictReader(file)
        self.assertEqual((row["LOC"], row["CONST_EVAL_OP"], row["PROGRAM_METADATA"]), ("loc(unknown)", "false", "{}"))
        self.assertEqual(row["OP CODE"], "Matmul")

    def test_nothing_told(self):
        done = self.opscope("run", "--layout", "tt-torch", "-o", self.path("t.opscope"), "--", "true", cwd=self.folder)
        self.assert_status(done)
        self.assertIn("no op table", done.stderr)
        self.assertFalse(os.path.exists(self.path("results")))

    def test_wrong(self):
        self.assert_status(self.opscope("run", "--layout-name", "x", "true"), 125)
        self.assert_status(self.opscope("run", "--layout", "other", "true"), 125)

    def test_variables(self):
        script = "env | grep -e ^TT_METAL -e ^TTNN | sort"
        done = self.opscope("run", "-q", "--layout", "tt-torch", "-o", self.path("t.opscope"), "--", "sh", "-c", script,
                            env={"TT_METAL_CLEAR_L1": "0"}, cwd=self.folder)
        self.assertEqual(done.stdout.split(), ["TT_METAL_CLEAR_L1=0", "TT_METAL_DEVICE_PROFILER=1", "TT_METAL_DEVICE_PROFILER_DISPATCH=0"])

    def test_tt_profile(self):
        """By its name and with its arguments: the command is one word, options stand before or after it."""
        os.symlink(harness.OPSCOPE, self.path("tt_profile"))
        run = Run()
        run.op("Matmul", program=11)
        command = " ".join(client(self.own_logs(run))) + "; exit 4"
        env = {"TT_METAL_PROFILER_DIR": self.path("profiler")}
        for words, name in (((command,), "device_ops_perf_trace.csv"), (("-o", "a.csv", command), "a.csv"),
                            ((command, "--output_path", "b.csv", "-p", "8099"), "b.csv"), (("-oc.csv", "--port=8099", command), "c.csv")):
            with self.subTest(words[:-1]):
                done = self.run_command([self.path("tt_profile"), *words], cwd=self.folder, env=env)
                self.assert_status(done, 4)
                self.assertIn(b"Matmul", read(self.path("results", "perf", name)))
        done = self.run_command([self.path("tt_profile"), "echo $TRACY_PORT", "-p", "8099"], cwd=self.folder)
        self.assertEqual(done.stdout, "8099\n")
        self.assert_status(self.run_command([self.path("tt_profile"), "-h"], cwd=self.folder))
        self.assert_status(self.run_command([self.path("tt_profile"), "--nothing", "true"], cwd=self.folder), 125)


class Others(OpsCase):
    def test_attach(self):
        logs = self.own_logs()
        want = self.table(os.path.dirname(logs), "want.csv")
        env = {"TRACY_NO_EXIT": "1", "TT_METAL_PROFILER_DIR": self.path("profiler")}
        process = self.start(client(logs), env=env, stdin=subprocess.PIPE, text=True)
        pid = process.stdout.readline().split()[3]
        trace = self.path("t.opscope")
        done = self.opscope("attach", "--tracy", pid, "-o", trace, "--json", "--device-logs", self.path("profiler"))
        self.assert_status(done)
        self.assertEqual((done.json()["ops"], done.json()["device_runs"]), (10, 18))
        self.assertEqual(self.table(trace, "have.csv"), want)

    def test_python_report(self):
        """python3 -m opscope -r: trace, table and report of one command."""
        if not os.path.isdir(os.path.join(harness.BUILD, "python", "opscope")):
            self.skipTest("the build has no Python package")
        logs = self.own_logs()
        want = self.table(os.path.dirname(logs), "want.csv")
        env = {"PYTHONPATH": os.path.join(harness.BUILD, "python"), "OPSCOPE_BIN": harness.OPSCOPE}
        done = self.run_command([sys.executable, "-m", "opscope", "-r", "-o", self.path("out"), CLIENT, logs], env=env)
        self.assert_status(done)
        self.assertEqual(read(self.path("out", "ops_perf_results.csv")), want)
        self.assertIn("Matmul", done.stdout)

    def test_recorded_stream(self):
        logs = self.own_logs()
        want = self.table(os.path.dirname(logs), "want.csv")
        stream, trace = self.path("s.bin"), self.path("t.opscope")
        self.assert_status(self.run_command(client(logs, "--save", stream)))
        done = self.opscope("import", "tracy", stream, "-o", trace, "--device-logs", logs, "--protocol", "tt66", "--json")
        self.assert_status(done)
        self.assertEqual((done.json()["ops"], done.json()["device_runs"]), (10, 18))
        self.assertEqual(self.table(trace, "have.csv"), want)


if __name__ == "__main__":
    unittest.main()
