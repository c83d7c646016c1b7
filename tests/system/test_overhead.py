# SPDX-License-Identifier: Apache-2.0
"""opscope overhead: measuring. Nothing here depends on how fast or how busy the machine is: what is compared was
measured in the same run, on the same calls."""

import csv
import os
import shutil
import subprocess
import sys
import unittest

import harness
import pages

NEEDS_QUIET = "one of its tests puts a load on a CPU"
LIBRARY = os.path.join(harness.PROGRAMS, "overhead_ops_plugin.so")
MODULE = os.path.join(harness.SOURCE, "tests", "system", "python", "overhead_ops.py")
PACKAGE = os.path.join(harness.BUILD, "python")
COLUMNS = [
    "op",
    "count",
    "python min dispatch time (ms)",
    "python mean dispatch time(ms)",
    "python mean dispatch + sync time (ms)",
]
NATIVE_COLUMN = "C++ mean dispatch time (ms)"
QUICK = ("--repeats", "4", "--calls", "10", "--passes", "2", "-q")


def debian_python_has(module):
    """Debian's Python is the one that has the real components; the extension must be there for it."""
    done = subprocess.run(["/usr/bin/python3", "-c", "import " + module], capture_output=True, check=False)
    return done.returncode == 0 and has_extension()


def has_extension():
    query = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"
    done = subprocess.run(["/usr/bin/python3", "-c", query], capture_output=True, text=True, check=False)
    return os.path.exists(os.path.join(PACKAGE, "opscope", "_native" + done.stdout.strip()))


needs_extension = unittest.skipUnless(has_extension(), "no extension for /usr/bin/python3 in this build")


def needs(module):
    return unittest.skipUnless(
        debian_python_has(module), f"/usr/bin/python3 has no {module} (Debian: python3-{module}), or no extension"
    )


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except FileNotFoundError:
        return []


def hanging_workers(pid):
    """The processes below this one, once the innermost is a worker that waits in pause(2)."""
    found = children(pid)
    while found and children(found[-1]):
        found += children(found[-1])
    if not found:
        return []
    try:
        with open(f"/proc/{found[-1]}/stat", encoding="ascii", errors="replace") as file:
            is_asleep = file.read().rsplit(")", 1)[1].split()[0] == "S"
        with open(f"/proc/{found[-1]}/syscall", encoding="ascii") as file:
            is_paused = file.read().split()[0] in ("34", "-1") or os.uname().machine != "x86_64"
    except (FileNotFoundError, PermissionError, ProcessLookupError, IndexError):
        return []
    return found if is_asleep and is_paused else []


def kernel_counts_waiting():
    """A kernel without the accounting has no such file, or one of zeros."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            return file.read().split()[0] != "0"
    except (OSError, IndexError):
        return False


class Overhead(harness.TestCase):
    def measure(self, *words, status=0, **options):
        """{op: row} of a run with --json, and the whole of it."""
        done = self.opscope("overhead", "--json", *QUICK, *words, **options)
        self.assertEqual(done.status, status, done)
        found = done.json()
        return {row["op"]: row for row in found["rows"] if row["calibration"] == "no"}, found

    def table(self, *names):
        with open(self.path(*names), encoding="utf-8", newline="") as file:
            text = file.read()
        self.assertNotIn("\r", text)
        return list(csv.DictReader(text.splitlines())), text.splitlines()[0].split(",")

    def assert_state(self, rows, op, state, *words):
        row = rows[op]
        self.assertEqual(row["state"], state, row)
        for word in words:
            self.assertIn(word, row["reason"], row)
        self.assertIsNone(row["mean_ns"], row)
        self.assertEqual(row["count"], 0, row)

    def assert_measured(self, row, repeats=4, calls=10):
        self.assertEqual((row["state"], row["reason"]), ("measured", None), row)
        self.assertEqual(row["count"], repeats * calls * 2)
        self.assertGreaterEqual(row["p50_ns"], row["min_ns"])
        self.assertGreaterEqual(row["p99_ns"], row["p50_ns"])
        self.assertLessEqual(row["ci_low_ns"], row["p50_ns"])
        self.assertGreaterEqual(row["ci_high_ns"], row["p50_ns"])


class Library(Overhead):
    """A shared library of ours."""

    def test_every_fault_is_a_row_and_the_rest_goes_on(self):
        rows, found = self.measure("--ops", LIBRARY, "--time-limit", "3s", "--memory-limit", "512M", "--op", "[bg]*")
        self.assert_state(rows, "bad.raises", "raised", "Input/output error")
        self.assert_state(rows, "bad.raises_later", "raised", "Protocol error")
        self.assert_state(rows, "bad.hangs", "hung", "3 s")
        self.assert_state(rows, "bad.crashes", "crashed", "signal 11")
        self.assert_state(rows, "bad.exits", "crashed", "status 7")
        self.assert_state(rows, "bad.greedy", "out of memory")
        for op in ("good.empty", "good.work", "good.plain", "good.prints"):
            self.assert_measured(rows[op])
        self.assertEqual(found["restarts"], 3)  # hangs, crashes, exits
        # 2000 dependent multiplications take longer than 200, however slow they are
        self.assertGreater(rows["good.work"]["min_ns"], rows["good.plain"]["min_ns"])

    @harness.needs_command("taskset")
    @unittest.skipUnless(kernel_counts_waiting(), "the kernel does not count how long a process waits for the CPU")
    def test_a_busy_machine_is_not_a_hanging_op(self):
        """Half a second of work on a CPU that eight others want takes longer than the limit, and is no hang."""
        cpu = str(min(os.sched_getaffinity(0)))
        for _ in range(8):
            self.start(["taskset", "-c", cpu, "sh", "-c", "while :; do :; done"])
        words = ("--ops", LIBRARY, "--op", "long.spins", "--cpu", cpu, "--time-limit", "2s")
        rows, found = self.measure(*words, "--calls", "25", "--repeats", "2", "--passes", "1")
        self.assert_measured(rows["long.spins"], repeats=2, calls=25)
        self.assertEqual(found["restarts"], 0)

    def test_work_that_goes_on_after_the_call(self):
        rows, _ = self.measure("--ops", LIBRARY, "--group", "async", "--group", "good", "--calls", "4")
        self.assertEqual(rows["async.early"]["early"], "yes")
        self.assertEqual(rows["good.plain"]["early"], "no")
        self.assertGreater(rows["async.early"]["mean_sync_ns"], rows["async.early"]["mean_ns"])

    def test_inputs_reach_the_library(self):
        words = ("--ops", LIBRARY, "--op", "inputs.shape", "--dtype", "bfloat16")
        rows, _ = self.measure(*words, "--shape", "3,5")
        self.assert_measured(rows["inputs.shape"])
        rows, _ = self.measure(*words, "--shape", "3,6", status=1)
        self.assert_state(rows, "inputs.shape", "raised", "Invalid argument")

    def test_native_times(self):
        """Native mean <= dispatch mean, over the same calls: the outermost zones lie inside the calls, so that what is
        left is the cost of the call itself."""
        rows, found = self.measure("--ops", LIBRARY, "--group", "good", "--trace", "-o", "out", "--repeats", "20")
        for op in ("good.work", "good.empty"):
            self.assertLessEqual(rows[op]["native_ns"], rows[op]["mean_ns"], rows[op])
            self.assertGreater(rows[op]["native_ns"], 0)
            self.assertGreater(rows[op]["call_ns"], 0)
        work = rows["good.work"]
        self.assertIsNone(rows["good.plain"]["native_ns"])
        parts = {(row["op"], row["zone"]): row for row in found["native"]}
        self.assertEqual(set(parts), {("good.work", "dispatch"), ("good.work", "enqueue"), ("good.empty", "dispatch")})
        dispatch, enqueue = parts["good.work", "dispatch"], parts["good.work", "enqueue"]
        self.assertEqual((dispatch["count"], enqueue["count"]), (200, 200))  # of the calls without synchronisation
        self.assertAlmostEqual(dispatch["total_ns"], work["native_ns"], 3)
        self.assertAlmostEqual(dispatch["self_ns"] + enqueue["total_ns"], dispatch["total_ns"], 3)
        self.assertAlmostEqual(enqueue["self_ns"], enqueue["total_ns"], 3)
        rows, header = self.table("out", "host_overhead_profiler_output.csv")
        self.assertEqual(header, COLUMNS + [NATIVE_COLUMN])
        self.assertEqual([row[NATIVE_COLUMN] != "" for row in rows], [True, False, True])  # empty, plain, work
        posts = self.opscope_json("messages", self.path("out", "host_overhead.opscope"))["rows"]
        headers = {row["header"] for row in posts}
        self.assertLessEqual({"start good.work", "end good.work"}, headers)

    def test_native_times_when_a_worker_is_lost(self):
        """The trace of the lost one counts as well: two passes, and the calls of both are in."""
        rows, found = self.measure(
            "--ops", LIBRARY, "--op", "good.work", "--op", "bad.crashes", "--trace", "-o", "out", "--seed", "1"
        )
        self.assert_state(rows, "bad.crashes", "crashed")
        counts = {row["zone"]: row["count"] for row in found["native"]}
        self.assertEqual(counts, {"dispatch": 40, "enqueue": 40})
        self.assertTrue(os.path.exists(self.path("out", "host_overhead.2.opscope")))

    def test_what_ops_print_is_not_in_the_output(self):
        done = self.opscope("overhead", *QUICK, "--ops", LIBRARY, "--op", "good.prints", "--csv")
        self.assert_status(done)
        self.assertNotIn("an op that prints", done.stdout)
        self.assertIn("an op that prints", done.stderr)

    def test_same_seed_same_order(self):
        def order(seed):
            self.measure("--ops", LIBRARY, "--group", "good", "--trace", "-o", seed, "--seed", seed)
            rows = self.opscope_json("messages", self.path(seed, "host_overhead.opscope"))["rows"]
            return [row["header"] for row in rows if row["header"].startswith("start good")]

        self.assertEqual(order("11"), order("11"))
        self.assertNotEqual(order("11"), order("12"))

    def test_until_goes_on_and_stops(self):
        # an op that is never steady: ten times the repeats, and it says so
        rows, found = self.measure("--ops", LIBRARY, "--op", "uneven.grows", "--until", "1%")
        self.assertEqual(rows["uneven.grows"]["count"], 10 * 4 * 10 * 2)
        self.assertEqual(found["unsettled"], 1)
        # and times that differ by less than they are need no more
        rows, found = self.measure("--until", "100%", "--repeats", "2", "--calls", "1", "--", "sleep", "0.2")
        self.assertEqual((rows["command.sleep"]["count"], found["unsettled"]), (4, 0))

    def test_no_worker_is_left_behind(self):
        for words in ((), ("--trace",)):
            command = [harness.OPSCOPE, "overhead", "--ops", LIBRARY, "--op", "bad.hangs", "--time-limit", "1h", *words]
            process = self.start(command)
            workers = harness.wait_until(lambda p=process: hanging_workers(p.pid), "the worker to hang")
            process.kill()
            process.wait()
            for pid in workers:
                harness.wait_until(lambda p=pid: not harness.process_is_alive(p), "the worker to end")

    def test_a_library_in_the_working_folder(self):
        """Named as any file; dlopen would search the system's folders for it."""
        shutil.copy(LIBRARY, self.path("own.so"))
        rows, _ = self.measure("--ops", "own.so", "--op", "good.plain", env={"LD_LIBRARY_PATH": harness.BUILD})
        self.assertEqual(list(rows), ["good.plain"])

    def test_not_a_library_of_ops(self):
        for path, words in (
            (os.path.join(harness.PROGRAMS, "missing.so"), "cannot be loaded"),
            (os.path.join(harness.BUILD, "libopscope.so"), "does not export opscope_overhead_ops"),
        ):
            done = self.opscope("overhead", "--ops", path)
            self.assert_status(done, 2)
            self.assertIn(words, done.stderr)


class Files(Overhead):
    def test_columns_rows_and_rounding(self):
        self.measure("--ops", LIBRARY, "--group", "good", "-o", "out")
        rows, header = self.table("out", "host_overhead_profiler_output.csv")
        self.assertEqual(header, COLUMNS)
        self.assertEqual([row["op"] for row in rows], ["good.empty", "good.plain", "good.work"])
        for row in rows:
            self.assertEqual(row["count"], "80")
            for column in COLUMNS[2:]:
                self.assertEqual(row[column], str(round(float(row[column]), 3)))
        self.assertEqual(os.path.exists(self.path("out", "host_overhead_profiler_output.html")), pages.are_built())

    def test_one_op_and_names(self):
        self.measure("--ops", LIBRARY, "-o", "out::good.plain")
        self.assertEqual(len(self.table("out", "host_overhead_good.plain.csv")[0]), 1)
        self.measure("--ops", LIBRARY, "--op", "good.plain", "-o", "sub/folder")
        self.assertEqual(len(self.table("sub", "folder", "host_overhead_good.plain.csv")[0]), 1)
        self.measure("--ops", LIBRARY, "--op", "good.*", "-o", "out", "-c", "final.csv")
        self.assertEqual(len(self.table("out", "final.csv")[0]), 4)

    def test_extended(self):
        words = ("--ops", LIBRARY, "--op", "*.plain", "--op", "bad.raises", "-o", "o", "--extended")
        self.measure(*words, "--group", "good")
        rows, header = self.table("o", "host_overhead_profiler_output.csv")
        self.assertEqual(header[:5], COLUMNS)
        self.assertEqual([row["op"] for row in rows], ["good.plain"])  # the group goes for both
        self.measure(*words)
        rows, _ = self.table("o", "host_overhead_profiler_output.csv")
        states = {row["op"]: (row["state"], row["reason"]) for row in rows}
        self.assertEqual(states, {"good.plain": ("measured", ""), "bad.raises": ("raised", "Input/output error")})
        plain = rows[1]
        self.assertEqual(round(float(plain["mean (ns)"]) / 1e6, 3), float(plain[COLUMNS[3]]))

    def test_bad_usage(self):
        for words, said in (
            ((), "no ops given"),
            (("--ops", "tensorflow"), "no provider tensorflow"),
            (("--ops", "./mine.c"), "build a .so from this source first"),
            (("--ops", "./folder"), "no provider ./folder"),
            (("--ops", LIBRARY, "--op", "nothing"), "none of the 14 ops"),
            (("--ops", LIBRARY, "--shape", "1,x"), "--shape"),
            (("--ops", LIBRARY, "--shape", "1,"), "--shape"),
            (("--ops", LIBRARY, "--cpu", "99999"), "--cpu"),
            (("--ops", LIBRARY, "--cpu", "fast"), "--cpu"),
            (("--ops", LIBRARY, "-c", "x.csv"), "-o"),
            (("--ops", LIBRARY, "-o", "out::"), "no op after the colons"),
            (("--ops", LIBRARY, "--json", "--csv"), "exclude each other"),
            (("--ops", LIBRARY, "true"), "not both"),
        ):
            done = self.opscope("overhead", *words)
            self.assert_status(done, 2)
            self.assertIn(said, done.stderr)

    def test_folder_that_cannot_be_made(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        done = self.opscope("overhead", "--ops", LIBRARY, "-o", "file/x")
        self.assert_status(done, 2)
        self.assertIn("file/x", done.stderr)


class Command(Overhead):
    def test_a_program(self):
        rows, _ = self.measure("--", "sh", "-c", "exit 0")
        self.assert_measured(rows["command.sh"], calls=10)
        rows, _ = self.measure("--ops", "command:sh -c true", "--calls", "1")
        self.assert_measured(rows["command.sh"], calls=1)

    def test_a_program_that_fails(self):
        rows, _ = self.measure("--", "sh", "-c", "echo first >&2; echo broken >&2; exit 3", status=1)
        self.assert_state(rows, "command.sh", "raised", "exit status 3", "broken")
        rows, _ = self.measure("--", "sh", "-c", "kill -9 $$", status=1)
        self.assert_state(rows, "command.sh", "raised", "signal 9")
        rows, _ = self.measure("--", "no-such-program-here", status=1)
        self.assert_state(rows, "command.no-such-program-here", "raised", "No such file")
        rows, _ = self.measure("--time-limit", "1s", "--", "sleep", "1000", status=1)
        self.assert_state(rows, "command.sleep", "hung")


@needs_extension
class Module(Overhead):
    """A Python file of ours."""

    def measure_module(self, *words, **options):
        return self.measure("--ops", MODULE, "--python", "/usr/bin/python3", *words, **options)

    def test_every_fault_is_a_row_and_the_rest_goes_on(self):
        rows, found = self.measure_module("--time-limit", "10s", "--memory-limit", "192M", "--op", "[bgl]*")
        self.assert_state(rows, "bad.raises", "raised", "ValueError: no such mode")
        self.assertNotIn("second line", rows["bad.raises"]["reason"])
        self.assert_state(rows, "bad.leaves", "raised", "SystemExit")
        self.assert_state(rows, "bad.hangs", "hung", "10 s")
        self.assert_state(rows, "bad.crashes", "crashed", "signal 11")
        self.assert_state(rows, "bad.greedy", "out of memory", "MemoryError")
        self.assert_state(rows, "left.out", "left out", "needs a device")
        for op in ("good.add", "good.len", "good.prints"):
            self.assert_measured(rows[op])
        self.assertEqual(found["restarts"], 2)
        self.assertTrue(found["provider"].startswith("overhead_ops.py 3.4"), found["provider"])
        self.assertGreater(rows["good.add"]["min_ns"], rows["good.len"]["min_ns"])  # a loop of eight turns

    def test_work_that_goes_on_after_the_call(self):
        rows, _ = self.measure_module("--op", "async.*", "--op", "good.len")
        self.assertEqual(rows["async.early"]["early"], "yes")  # synchronize waits for it
        self.assertEqual(rows["async.forgets"]["early"], "yes")  # nothing waits for it
        self.assertEqual(rows["good.len"]["early"], "no")

    def test_an_op_too_slow_for_the_limit_is_not_begun_with(self):
        rows, found = self.measure_module("--op", "slow.*", "--op", "good.len", "--time-limit", "3s")
        self.assert_state(rows, "slow.sleep", "hung", "a call takes 0.1", "--time-limit")
        self.assertEqual(found["restarts"], 0)  # nothing had to be killed
        self.assert_measured(rows["good.len"])

    def test_loop_cost_is_measured_and_taken_off(self):
        _, found = self.measure_module("--op", "good.len")
        self.assertGreater(found["loop_ns"], 0)
        noted = [note for note in found["notes"] if "calling loop" in note]
        self.assertEqual(len(noted), 1, found["notes"])

    def test_zones_of_a_python_op(self):
        with open(self.path("zoned.py"), "w", encoding="utf-8") as file:
            file.write(
                "import opscope\n"
                "def call():\n"
                "    with opscope.zone('inside'):\n"
                "        sum(range(2000))\n"
                "OPS = [{'name': 'zoned', 'call': call}]\n"
            )
        rows, found = self.measure("--ops", "./zoned.py", "--python", "/usr/bin/python3", "--trace")
        self.assertLessEqual(rows["zoned"]["native_ns"], rows["zoned"]["mean_ns"])
        self.assertEqual([(row["zone"], row["count"]) for row in found["native"]], [("inside", 40)])

    def test_ops_function_and_settings(self):
        with open(self.path("made.py"), "w", encoding="utf-8") as file:
            file.write(
                "def ops(settings):\n"
                "    assert settings.shape == (2, 3) and settings.dtype == 'int8' and settings.layout is None\n"
                "    yield {'name': 'made', 'call': len, 'inputs': ('ab',)}\n"
            )
        words = ("--ops", "./made.py", "--python", "/usr/bin/python3")
        rows, _ = self.measure(*words, "--shape", "2,3", "--dtype", "int8")
        self.assert_measured(rows["made"])
        done = self.opscope("overhead", *words)
        self.assert_status(done, 2)
        self.assertIn("AssertionError", done.stderr)

    def test_bad_files(self):
        cases = (
            ("OPS = 3", "OPS is not a list"),
            ("", "neither OPS nor ops"),
            ("OPS = [3]", "op 0 is a int, not a dict"),
            ("OPS = [{'call': len}]", 'no "name"'),
            ("OPS = [{'name': 'x'}]", "cannot be called"),
            ("OPS = [{'name': 'x', 'call': len, 'input': ()}]", "unknown key input"),
            ("OPS = [{'name': 'x', 'call': len}] * 2", "two ops of the name x"),
            ("OPS = []", "has no ops"),
            ("import nothing_of_that_name", "ModuleNotFoundError"),
            ("raise SystemExit(4)", "SystemExit: 4"),
            ("OPS = [", "SyntaxError"),
        )
        for text, said in cases:
            with self.subTest(text=text):
                with open(self.path("bad.py"), "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                done = self.opscope("overhead", "--ops", "./bad.py", "--python", "/usr/bin/python3")
                self.assert_status(done, 2)
                self.assertIn(said, done.stderr)
        done = self.opscope("overhead", "--ops", "./none.py", "--python", "/usr/bin/python3")
        self.assertIn("no such file", done.stderr)
        done = self.opscope("overhead", "--ops", MODULE, "--python", "/no/python")
        self.assert_status(done, 2)
        self.assertIn("/no/python", done.stderr)

    def test_a_package_that_no_python_has(self):
        """One sentence with what to do, not what each interpreter said."""
        done = self.opscope("overhead", "--ops", "ttnn")
        self.assert_status(done, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done)
        self.assertIn("neither python3 nor /usr/bin/python3 has ttnn", done.stderr)
        self.assertNotIn(";", done.stderr)

    def test_a_package_that_works_in_neither(self):
        """What keeps the one that has the package from working is the message; that the other lacks it is not."""
        os.mkdir(self.path("bin"))
        with open(self.path("bin", "python3"), "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nPYTHONPATH=${PYTHONPATH%%:*} exec /usr/bin/python3 "$@"\n')  # opscope's alone
        os.chmod(self.path("bin", "python3"), 0o755)
        os.mkdir(self.path("ttnn"))
        with open(self.path("ttnn", "__init__.py"), "w", encoding="utf-8") as file:
            file.write("import nothing_of_that_name\n")
        env = {"PATH": self.path("bin") + os.pathsep + os.environ["PATH"], "PYTHONPATH": self.folder}
        done = self.opscope("overhead", "--ops", "ttnn", env=env)
        self.assert_status(done, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done)
        self.assertIn("ttnn cannot be imported: ModuleNotFoundError", done.stderr)


@needs("numpy")
class Numpy(Overhead):
    def test_groups(self):
        rows, _ = self.measure("--ops", "numpy", "--python", "/usr/bin/python3", "--op", "numpy.*")
        measured = [row for row in rows.values() if row["state"] == "measured"]
        self.assertGreater(len(measured), 150)
        groups = {row["group"] for row in measured}
        self.assertLessEqual({"unary", "binary", "reduction", "matmul", "shape", "norm"}, groups)
        self.assertEqual(rows["numpy.add"]["group"], "binary")
        bad = [row for row in rows.values() if row["state"] not in ("measured", "left out")]
        self.assertEqual(bad, [])

    def test_settings(self):
        numpy = ("--ops", "numpy", "--python", "/usr/bin/python3")
        words = ("--shape", "4,5", "--dtype", "float32", "--layout", "F")
        _, found = self.measure(*numpy, "--op", "numpy.add", *words)
        self.assertIn("4x5, float32, layout F", found["provider"])
        for words in (("--dtype", "float7"), ("--layout", "TILE"), ("--device", "cuda")):
            done = self.opscope("overhead", *numpy, *words)
            self.assert_status(done, 2)
            self.assertIn(words[1], done.stderr)


class Torch(Overhead):
    """Debian's torch."""

    def test_binary_ops(self):
        done = self.opscope("overhead", *QUICK, "--ops", "torch", "--group", "binary", "-o", "out")
        self.assert_status(done)
        self.assertIn("torch.add", done.stdout)
        rows, header = self.table("out", "host_overhead_profiler_output.csv")
        self.assertEqual(header, COLUMNS)
        names = [row["op"] for row in rows]
        self.assertEqual(names, sorted(names))
        self.assertGreater(len(names), 80)
        self.assertLessEqual({"torch.add", "torch.sub", "torch.mul", "torch.atan2", "torch.pow"}, set(names))
        self.assertEqual(os.path.exists(self.path("out", "host_overhead_profiler_output.html")), pages.are_built())

    def test_one_op(self):
        done = self.opscope("overhead", *QUICK, "--ops", "torch", "-o", "out::torch.add")
        self.assert_status(done)
        rows, _ = self.table("out", "host_overhead_torch.add.csv")
        self.assertEqual([row["op"] for row in rows], ["torch.add"])

    def test_hundreds_of_ops_in_every_group(self):
        found = self.opscope_json("overhead", "--ops", "torch", "--list")
        callable_ops = [row for row in found["rows"] if not row["reason"]]
        self.assertGreater(len(callable_ops), 400)
        groups = {row["group"] for row in callable_ops}
        self.assertLessEqual({"unary", "binary", "ternary", "reduction", "matmul", "norm", "shape"}, groups)
        by_name = {row["op"]: row["group"] for row in found["rows"]}
        for op, group in (
            ("torch.addcmul", "ternary"),
            ("torch.sum", "reduction"),
            ("torch.mm", "matmul"),
            ("torch.layer_norm", "norm"),
            ("torch.reshape", "shape"),
            ("torch.exp", "unary"),
        ):
            self.assertEqual(by_name[op], group)
        left_out = {row["op"]: row["reason"] for row in found["rows"] if row["reason"]}
        self.assertEqual(left_out["torch.quantize_per_tensor"], "works on quantised tensors")

    def test_every_group_works(self):
        names = ("addcmul", "sum", "matmul", "layer_norm", "cat", "exp", "conv2d")
        words = [word for name in names for word in ("--op", "torch." + name)]
        words += ["--shape", "2,4,16,16", "--dtype", "float64", "--layout", "channels_last"]
        rows, _ = self.measure("--ops", "torch", *words)
        self.assertEqual(len(rows), 7)
        for row in rows.values():
            self.assert_measured(row)

    def test_native_times(self):
        """Native mean <= dispatch mean over the same calls; the rest is the cost of the call from Python."""
        words = ("--op", "torch.neg", "--op", "torch.erfinv", "--op", "torch.matmul", "--repeats", "20")
        words += ("--calls", "10", "--trace", "-o", "out")
        done = self.opscope("overhead", "-q", "--json", "--ops", "torch", *words)
        if "C++ headers" in done.stderr:
            self.assert_status(done, 2)
            self.assertEqual(len(done.stderr.splitlines()), 1, done)
            self.skipTest("built without libtorch-dev")
        self.assert_status(done)
        found = done.json()
        rows = {row["op"]: row for row in found["rows"] if row["calibration"] == "no"}
        self.assertEqual(len(rows), 3)
        for row in rows.values():
            self.assertLessEqual(row["native_ns"], row["mean_ns"], row)
            self.assertGreater(row["native_ns"], 0)
            self.assertGreater(row["call_ns"], 0)
        parts = {(row["op"], row["zone"]): row for row in found["native"]}
        self.assertEqual(parts["torch.neg", "aten::neg"]["count"], 200)
        self.assertIn(("torch.matmul", "aten::bmm"), parts)  # inside aten::matmul
        outer = parts["torch.matmul", "aten::matmul"]
        self.assertAlmostEqual(outer["total_ns"], rows["torch.matmul"]["native_ns"], 3)
        self.assertLess(outer["self_ns"], outer["total_ns"])
        _, header = self.table("out", "host_overhead_profiler_output.csv")
        self.assertEqual(header, COLUMNS + [NATIVE_COLUMN])

    def test_device_that_is_not_there(self):
        done = self.opscope("overhead", "--ops", "torch", "--device", "cuda:7", "--python", "/usr/bin/python3")
        self.assert_status(done, 2)
        self.assertIn("cuda:7", done.stderr)


if __name__ == "__main__":
    unittest.main()
