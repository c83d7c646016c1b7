# SPDX-License-Identifier: Apache-2.0
"""What commands open, and where they write: never over what they read, and named alike in every command."""

import ctypes
import os
import re
import shutil
import stat
import subprocess
import unittest

import harness
import ops_csv
import tenstorrent_logs

TRACE = os.path.join(harness.SOURCE, "tests", "golden", "views", "demo.opscope")

# Words of a command line: TRACE, OTHER, TABLE, TIMES, PROGRAM and BASE (TABLE without its ending) are inputs. {} is where
# the output goes; each form is tried with every input.
FORMS = (
    "zones TRACE {}",
    "tree TRACE {}",
    "info TRACE {}",
    "messages TRACE {}",
    "ops TRACE {}",
    "ops TABLE {}",
    "report TABLE {}",
    "report TABLE --compat 1.2.4 {}",
    "diff TRACE OTHER {}",
    "diff OTHER TRACE {}",
    "check --baseline TRACE OTHER --max-regress 5% {}",
    "check --baseline OTHER TRACE --max-regress 5% {}",
    "check --config opscope.toml --baseline OTHER TRACE {}",
    "export TRACE --format csv {}",
    "import tenstorrent TABLE {}",
    "overhead --show TIMES {}",
    "overhead --ops ./ops.py --check TIMES {}",
    "run {} ./PROGRAM",
    "view TRACE {}",
)
# The options that name an output, and the commands that have them.
OUTPUTS = {
    "-o FILE": "zones tree info messages ops report diff check export import run",
    "--output=FILE": "zones tree info messages ops report diff check export import run",
    "--csv=FILE": "zones tree messages ops report diff check overhead",
    "--json=FILE": "zones tree info messages ops report diff check overhead",
    "--csv -o FILE": "zones tree messages ops report diff check",
    "--html FILE": "report diff overhead view",
    "--pairs FILE": "diff",
    "--junit FILE": "check overhead",
    "--summary-file BASE": "report",
    "--stacked-csv BASE": "report",
}


class Outputs(harness.TestCase):
    def setUp(self):
        super().setUp()
        for name in ("t.opscope", "other.opscope"):
            shutil.copy(TRACE, self.path(name))
        self.write_ops("ops.csv")
        with open(self.path("times.csv"), "w", encoding="utf-8") as file:
            file.write("op,count,python min dispatch time (ms),python mean dispatch time(ms),"
                       "python mean dispatch + sync time (ms)\nslow,5,0.2,0.4,0.5\nfast,5,0.001,0.002,0.003\n")
        shutil.copy(shutil.which("true"), self.path("program"))
        with open(self.path("opscope.toml"), "w", encoding="utf-8") as file:
            file.write('[check]\nmax-regress = "5%"\n')

    def write_ops(self, name):
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(ops_csv.text_of(ops_csv.good_rows()))

    def contents(self):
        found = {}
        for folder, _, names in sorted(os.walk(self.folder)):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.folder)] = file.read()
        return found

    def words(self, form, output):
        names = {"TRACE": "t.opscope", "OTHER": "other.opscope", "TABLE": "ops.csv", "TIMES": "times.csv",
                 "./PROGRAM": "./program", "{}": output}
        return [part for word in form.split() for part in names.get(word, word).split()]

    def refuses(self, words, said, **options):
        before = self.contents()
        done = self.opscope(*words, **options)
        self.assert_status(done, 125 if words[0] == "run" else 2)
        self.assertIn(said, done.stderr)
        self.assertEqual(self.contents(), before, done)


class Inputs(Outputs):
    IN_CLOSE_NOWRITE, IN_OPEN = 0x10, 0x20
    EVENT_BYTES = 16  # of a file that is watched by itself: no name follows

    def count_opens(self, name, *words):
        """How often a command opens a file. Two opens in a row would be one event: closing is watched as well."""
        libc = ctypes.CDLL(None, use_errno=True)
        watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        wanted = self.IN_OPEN | self.IN_CLOSE_NOWRITE
        try:
            self.assertGreaterEqual(libc.inotify_add_watch(watch, self.path(name).encode(), wanted), 0)
            self.assert_status(self.opscope(*words))
            events = os.read(watch, 1 << 16)
        finally:
            os.close(watch)
        masks = [int.from_bytes(events[at + 4:at + 8], "little") for at in range(0, len(events), self.EVENT_BYTES)]
        return sum(mask & self.IN_OPEN != 0 for mask in masks)

    def test_a_trace_is_opened_once(self):
        """After a look at its first bytes, which say what it is."""
        self.assert_status(self.opscope("import", "tenstorrent", "ops.csv", "-o", "imported.opscope"))
        for command in ("ops", "report", "info"):
            for name in ("t.opscope", "imported.opscope"):
                with self.subTest(f"{command} {name}"):
                    self.assertLessEqual(self.count_opens(name, command, name), 2)


class OverInput(Outputs):
    def test_no_command_writes_over_what_it_reads(self):
        tried = set()
        for form in FORMS:
            command = form.split()[0]
            inputs = [name for name in map(os.path.normpath, self.words(form, "-")) if name in self.contents()]
            self.assertTrue(inputs, form)
            for option, commands in OUTPUTS.items():
                for name in inputs if command in commands.split() else ():
                    if "BASE" in option and not name.endswith(".csv"):
                        continue
                    if "--html" in option and "--compat" in form:
                        continue
                    output = option.replace("FILE", name).replace("BASE", name[:-4])
                    with self.subTest(form=form, output=output):
                        self.refuses(self.words(form, output), "it is an input of this command")
                    tried.add((command, option))
        wanted = {(c, option) for option, commands in OUTPUTS.items() for c in commands.split()}
        self.assertEqual(tried, wanted)

    def test_models_and_profiles_are_inputs_too(self):
        model, profile = (os.path.join(harness.SOURCE, "examples", "mlir-run", "model.mlir"), self.path("run.csv"))
        for name in ("m.mlir", "flow.mlir"):
            shutil.copy(model, self.path(name))
        shutil.copy(os.path.join(harness.SOURCE, "machines", "cpu.json"), self.path("mine.json"))
        with open(profile, "w", encoding="utf-8") as file:
            file.write("actionIndex, elapsed_time(us), timestamp(us), event, location\n"
                       '0,5,0,tosa.conv2d,loc("m.mlir":8:10)\n')
        for words in (["annotate", "m.mlir", "run.csv", "run.csv"], ["annotate", "m.mlir", "run.csv", "./m.mlir"],
                      ["annotate", "m.mlir", "run.csv", "mine.json", "--target", "mine.json"],
                      ["annotate", "m.mlir", "run.csv", "out.csv", "-o", "out.csv"],
                      ["estimate", "m.mlir", "--target", "mine.json", "--csv", "mine.json"],
                      ["estimate", "m.mlir", "--annotate", "m.mlir"],
                      ["diff", "m.mlir", "run.csv", "--phase", "flow.mlir", "--html", "flow.mlir"],
                      ["diff", "m.mlir", "run.csv", "--target", "mine.json", "--html", "mine.json"],
                      ["calibrate", "m.mlir", "run.csv", "--phase", "flow.mlir", "-o", "flow.mlir"]):
            with self.subTest(words=words):
                self.refuses(words, "it is an input of this command")

    def test_the_table_above_has_every_output_of_these_commands(self):
        for command in sorted({form.split()[0] for form in FORMS}):
            text = self.opscope(command, "--help").stdout
            found = {f"--{name}" for name in re.findall(r"--([a-z-]+)(?: |\[=)(?:FILE|BASE)\b", text)}
            found -= {"--config", "--machine", "--device-profile", "--device-source", "--phase", "--show", "--token-file"}
            listed = {option.split()[0].split("=")[0] for option, c in OUTPUTS.items() if command in c.split()}
            self.assertLessEqual(found - {"--output"}, listed | {"--csv"}, command)

    def test_other_spellings_and_links_are_the_same_file(self):
        os.symlink("t.opscope", self.path("link.opscope"))
        os.link(self.path("t.opscope"), self.path("hard.opscope"))
        for name in ("./t.opscope", self.path("t.opscope"), "link.opscope", "hard.opscope"):
            with self.subTest(name=name):
                self.refuses(["zones", "t.opscope", "-o", name], "it is an input of this command")

    def test_standard_input_is_a_file_too(self):
        with open(self.path("t.opscope"), "rb") as file:
            done = subprocess.run([harness.OPSCOPE, "zones", "-", "-o", "t.opscope"], stdin=file, cwd=self.folder,
                                  capture_output=True, check=False)
        self.assertEqual(done.returncode, 2, done)
        with open(TRACE, "rb") as file:
            self.assertEqual(self.contents()["t.opscope"], file.read())

    def test_a_recording_replaces_traces_alone(self):
        """Whatever else has that name is not lost: notes that nobody names twice, a program."""
        with open(self.path("notes"), "w", encoding="utf-8") as file:
            file.write("x")
        for words in (["run", "-o", "notes", "true"], ["run", "-o", "program", "true"],
                      ["import", "tenstorrent", "ops.csv", "-o", "notes"]):
            with self.subTest(words=words):
                self.refuses(words, "it is there already, and is not a trace")
        with open(self.path("empty.opscope"), "wb"):
            pass
        self.assert_status(self.opscope("import", "tenstorrent", "ops.csv", "-o", "empty.opscope"))
        self.assert_status(self.opscope("import", "tenstorrent", "ops.csv", "-o", "empty.opscope"))

    def test_files_in_the_folder_of_times_are_not_inputs_either(self):
        with open(self.path("mine.py"), "w", encoding="utf-8") as file:
            file.write("def opscope_overhead(context):\n    raise SystemExit('this was loaded')\n")
        name = "host_overhead_profiler_output.csv"
        os.rename(self.path("times.csv"), self.path(name))
        for words in (["--check", name, "-o", "."], ["--check", name, "-o", ".", "--update"],
                      ["--check", "./" + name, "-o", self.folder]):
            with self.subTest(words=words):
                self.refuses(["overhead", "--ops", "./mine.py", *words], "it is an input of this command")
        os.rename(self.path(name), self.path("a.csv"))
        self.refuses(["overhead", "--ops", "./mine.py", "--check", "a.csv", "-o", ".", "-c", "a.csv"],
                     "it is an input of this command")

    def test_files_beside_a_table_are_not_inputs_either(self):
        os.rename(self.path("ops.csv"), self.path("x_stacked.csv"))
        before = self.contents()["x_stacked.csv"]
        self.assert_status(self.opscope("report", "x_stacked.csv", "--csv=x.csv"), 2)
        self.assertEqual(self.contents()["x_stacked.csv"], before)

    def write_logs(self):
        run = tenstorrent_logs.Run()
        run.op("Matmul", program=11)
        run.write(self.path("d"))
        with open(self.path("d", ".logs", "zone_src_locations.log"), "w", encoding="utf-8") as file:
            file.write("kernel,1,file.cpp\n")

    def test_an_import_of_nothing_keeps_the_trace(self):
        """As a recording of nothing does."""
        with open(self.path("empty.csv"), "wb") as file:
            file.write(self.contents()["ops.csv"].split(b"\n")[0] + b"\n")
        tenstorrent_logs.Run().write(self.path("d"), log=False)
        for name in ("d", "empty.csv"):
            with self.subTest(name=name):
                words = ["import", "tenstorrent", name, "-o"]
                self.refuses([*words, "t.opscope"], "the trace that t.opscope already was is kept")
                for _ in range(2):
                    self.assert_status(self.opscope(*words, f"{name}.opscope"))

    def test_files_of_a_folder_are_inputs(self):
        self.write_logs()
        os.symlink("d", self.path("link"))
        data, times, log = (f"d/.logs/{name}" for name in ("tracy_ops_data.csv", "tracy_ops_times.csv", "profile_log_device.csv"))
        for words in (["ops", "d", "--csv=d/.logs/zone_src_locations.log"], ["ops", "d/.logs", "-o", times],
                      ["ops", "link", "-o", times], ["zones", "d", "-o", times], ["view", "d", "--html", data],
                      ["report", "d", "-o", log], ["report", "d", "--html", data], ["tree", "d", "-o", log],
                      ["info", "d", "-o", data], ["summary", "d", "-o", data], ["diff", "d", "d", "--html", times],
                      ["diff", "ops.csv", "d", "--pairs", data], ["export", "d", "--format", "chrome", "-o", data],
                      ["import", "tenstorrent", "d", "-o", data], ["run", "--device-logs", "d", "-o", log, "true"],
                      ["check", "-b", "ops.csv", "d", "--junit", times], ["check", "-b", "d", "ops.csv", "-o", times]):
            with self.subTest(words=words):
                self.refuses(words, "it is an input of this command")

    def test_files_of_a_folder_of_models_are_inputs(self):
        os.mkdir(self.path("m"))
        shutil.copy(os.path.join(harness.SOURCE, "examples", "mlir-run", "model.mlir"), self.path("m", "a.mlir"))
        for words in (["estimate", "m", "--annotate", "m/a.mlir"], ["estimate", "m", "-o", "m/a.mlir"]):
            with self.subTest(words=words):
                self.refuses(words, "it is an input of this command")

    def test_reports_in_a_folder_of_logs_are_written_again(self):
        self.write_logs()
        for _ in range(2):
            self.assert_status(self.opscope("ops", "d", "--csv", "-o", "d/ops_perf_results.csv"))

    def test_what_a_check_finds_by_itself_is_an_input(self):
        with open(self.path("opscope.toml"), "w", encoding="utf-8") as file:
            file.write('[check]\nbaseline = "other.opscope"\n')
        for words in (["--junit", "opscope.toml"], ["-o", "opscope.toml"], ["-o", "other.opscope"],
                      ["--csv=other.opscope"], ["--junit", "./other.opscope"]):
            with self.subTest(words=words):
                self.refuses(["check", "t.opscope", *words], "it is an input of this command")
        self.write_logs()
        with open(self.path("opscope.toml"), "w", encoding="utf-8") as file:
            file.write('[check]\nbaseline = "d"\n')
        self.refuses(["check", "ops.csv", "-o", "d/.logs/tracy_ops_times.csv"], "it is an input of this command")

    def test_nothing_is_made_beside_a_device(self):
        os.symlink("/dev/null", self.path("null.csv"))
        os.symlink("/dev/full", self.path("full"))
        before = sorted(os.listdir(self.folder))
        for words in ([], ["--compat", "1.2.4"]):
            self.assert_status(self.opscope("report", "ops.csv", *words, "--csv=null.csv"))
            self.assert_status(self.opscope("report", "ops.csv", *words, "--summary-file", "null.csv"))
            done = self.opscope("report", "ops.csv", *words, "--summary-file", "full")
            self.assertNotEqual(done.status, 0, done)
            self.assertIn("full is a device or a pipe", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_standard_output_by_name_is_not_replaced(self):
        """Though it is a file. (/dev/stdout is the same for all who run this as root: tried by other names.)"""
        before = self.opscope("zones", "t.opscope", "--csv").stdout
        for name in ("/proc/self/fd/1", "/dev/fd/1"):
            with self.subTest(name=name):
                own = '"$0" zones t.opscope --csv -o "$1"'
                command = "{ echo a; %s; echo b; } > out && %s >> out" % (own, own)
                self.assert_status(self.run_command(["sh", "-c", command, harness.OPSCOPE, name]))
                self.assertEqual(self.contents()["out"].decode(), "a\n" + before + "b\n" + before)
                done = self.run_command(["sh", "-c", '"$0" import tenstorrent ops.csv -o "$1" > out', harness.OPSCOPE, name])
                self.assertIn("a trace is a file, not a device or a pipe", done.stderr)

    def test_a_trace_is_not_written_to_standard_output(self):
        """`-` is standard output in every command: a trace had a file of that name."""
        for words, failed in ((["run", "-o", "-", "--", "true"], 125), (["import", "tenstorrent", "ops.csv", "-o", "-"], 2)):
            with self.subTest(words=words):
                done = self.opscope(*words)
                self.assertEqual(done.status, failed, done)
                self.assertIn("not written to standard output", done.stderr)
                self.assertFalse(os.path.exists(self.path("-")))
        self.assert_status(self.opscope("import", "tenstorrent", "ops.csv", "-o", "./-"))
        self.assertTrue(os.path.exists(self.path("-")))

    def test_files_are_called_as_a_folder_beside_them(self):
        os.mkdir(self.path("groups"))
        for words in ([], ["--compat", "1.2.4"]):
            self.assert_status(self.opscope("report", "ops.csv", *words, "--summary-file", "groups"))
            for name in ("groups.csv", "groups.svg"):
                os.remove(self.path(name))

    def test_files_beside_a_table_are_no_pipes(self):
        """A pipe that nobody reads would be waited for."""
        os.mkfifo(self.path("x_stacked.csv"))
        done = self.opscope("report", "ops.csv", "--csv=x.csv")
        self.assert_status(done, 2)
        self.assertIn("cannot write x_stacked.csv: it is not a regular file", done.stderr)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("x_stacked.csv")).st_mode))

    def test_two_outputs_have_two_names(self):
        self.refuses(["report", "ops.csv", "--html", "out", "-o", "out"], "it is an input of this command")

    def test_a_new_file_has_the_mode_that_the_umask_leaves(self):
        for mask in (0o022, 0o077):
            done = subprocess.run([harness.OPSCOPE, "zones", "t.opscope", "-o", f"{mask}.txt"], cwd=self.folder, umask=mask,
                                  check=False)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(os.stat(self.path(f"{mask}.txt")).st_mode & 0o777, 0o666 & ~mask)

    def test_what_is_not_read_is_written_over(self):
        with open(self.path("out.txt"), "w", encoding="utf-8") as file:
            file.write("old")
        self.assert_status(self.opscope("zones", "t.opscope", "-o", "out.txt"))
        self.assertIn(b"multiply", self.contents()["out.txt"])
        self.assert_status(self.opscope("zones", "t.opscope", "-o", "/dev/null"))


class Formats(Outputs):
    """--csv[=FILE] and --json[=FILE]."""

    def written(self, *words, name="out.csv"):
        self.assert_status(self.opscope(*words))
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_a_format_names_its_file(self):
        plain = self.opscope("zones", "t.opscope", "--csv").stdout_bytes
        self.assertEqual(self.written("zones", "t.opscope", "--csv=out.csv"), plain)
        self.assertEqual(self.written("zones", "t.opscope", "--csv", "-o", "out.csv"), plain)
        self.assertEqual(self.opscope("zones", "--csv", "t.opscope").stdout_bytes, plain)
        json = self.opscope("zones", "t.opscope", "--json").stdout_bytes
        self.assertEqual(self.written("zones", "--json=out.json", "t.opscope", name="out.json"), json)

    def test_overhead_has_the_formats_of_all(self):
        for kind in ("csv", "json"):
            plain = self.opscope("overhead", "--show", "times.csv", f"--{kind}").stdout_bytes
            self.assertIn(b"slow", plain)
            self.assertEqual(self.written("overhead", "--show", "times.csv", f"--{kind}=out", name="out"), plain)
        self.refuses(["overhead", "--show", "times.csv", "--csv=a.csv", "--json=b.json"], "two names")
        self.refuses(["overhead", "--show", "times.csv", "--csv", "--json"], "exclude each other")
        self.assertIn("\033[", self.opscope("overhead", "--show", "times.csv", "--color").stdout)
        self.assertNotIn("\033[", self.opscope("overhead", "--show", "times.csv", "--color=never").stdout)
        rows = self.opscope("overhead", "--show", "times.csv", "--top", "1", "--json").json()["rows"]
        self.assertEqual([row["op"] for row in rows], ["slow"])
        self.refuses(["overhead", "--show", "times.csv", "--top", "0"], "too small")

    def test_what_is_accepted_and_ignored_is_said_in_one_line(self):
        plain = self.opscope("report", "ops.csv")
        self.assertNotIn("ignored", plain.stderr)
        done = self.opscope("report", "ops.csv", "--no-stack-by-in0", "--raw-op-codes")
        self.assertEqual(done.stdout, plain.stdout)
        lines = [line for line in done.stderr.splitlines() if "ignored" in line]
        self.assertEqual(lines, ["opscope report: ignored: --no-stack-by-in0, --raw-op-codes"])
        # With --compat they mean what they mean to the other tool.
        done = self.opscope("report", "ops.csv", "--compat", "1.2.4", "--no-stack-by-in0", "--raw-op-codes")
        self.assertNotIn("ignored", done.stderr)

    def test_report_takes_the_form_of_other_tools(self):
        plain = self.opscope("report", "--csv", "ops.csv").stdout_bytes
        self.assertTrue(plain)
        for _ in range(2):  # also over what the first time wrote
            self.assertEqual(self.written("report", "ops.csv", "--csv", "out.csv"), plain)
        os.remove(self.path("out.csv"))
        self.assertEqual(self.written("report", "--csv", "out.csv", "ops.csv"), plain)
        self.assertEqual(self.written("report", "--csv=out.csv", "ops.csv"), plain)
        self.assertEqual(self.opscope("report", "ops.csv", "--csv", "-").stdout_bytes, plain)

    def test_a_file_that_may_be_an_input_is_not_guessed_to_be_the_output(self):
        self.write_ops("b.csv")
        for words in (
            ("report", "--csv", "ops.csv", "b.csv"),
            ("report", "ops.csv", "--csv", "b.csv"),
            ("ops", "--csv", "ops.csv", "b.csv"),
            ("ops", "t.opscope", "--csv", "other.opscope"),
        ):
            with self.subTest(words=words):
                self.refuses(words, "a file to read, or the one to write?")

    def test_elsewhere_a_format_is_a_flag(self):
        self.refuses(["zones", "t.opscope", "--csv", "out.csv"], "--csv=out.csv writes to it")
        done = self.opscope("diff", "--csv", "t.opscope", "other.opscope")
        self.assert_status(done)
        self.assertTrue(done.stdout.startswith("kind,"), done)

    def test_two_names_for_one_output(self):
        self.refuses(["zones", "t.opscope", "--csv=a.csv", "--json=b.json"], "two names")
        self.refuses(["zones", "t.opscope", "-o", "a.csv", "--csv=b.csv"], "two names")
        self.refuses(["zones", "t.opscope", "--csv=", "-o", "a.csv"], "needs a FILE")

    def test_color_alone_is_always(self):
        for words in (["--color"], ["--color=always"], ["--color", "always"]):
            self.assertIn("\033[", self.opscope("zones", "t.opscope", *words).stdout, words)
            self.assertIn("\033[", self.opscope("report", "ops.csv", *words).stdout, words)
        for words in (["--color=never"], ["--color", "auto"], []):
            self.assertNotIn("\033[", self.opscope("report", *words, "ops.csv").stdout, words)
        self.assertNotIn("\033[", self.opscope("report", "--no-color", "ops.csv").stdout)

    def test_top_is_top_everywhere(self):
        for command, name in (("zones", "t.opscope"), ("messages", "t.opscope"), ("ops", "ops.csv"), ("ops", "t.opscope")):
            rows = self.opscope(command, name, "--top", "1", "--json").json()["rows"]
            self.assertLessEqual(len(rows), 1, command)
            self.assert_status(self.opscope(command, name, "--top", "0"), 2)
        older = self.opscope("ops", "ops.csv", "--limit", "1", "--csv").stdout
        self.assertEqual(older, self.opscope("ops", "ops.csv", "--top", "1", "--csv").stdout)


class HostileText(Outputs):
    """Names of files and what files hold come from others: no message passes on what a terminal acts upon."""

    NASTY = "\x1b]0;owned\x07\x9b31m\u202e"

    def assert_clean(self, text):
        for character in "\x1b\x07\x9b\u202e\x7f":
            self.assertNotIn(character, text)

    def test_error_lines(self):
        for words in (
            ["zones", self.NASTY],
            ["zones", "t.opscope", f"--{self.NASTY}"],
            ["zones", "t.opscope", "--top", self.NASTY],
            ["zones", "t.opscope", "--color=" + self.NASTY],
            ["zones", "t.opscope", self.NASTY],
            ["report", self.NASTY],
            ["export", "t.opscope", "--format", "csv", "-o", self.NASTY + "/x"],
            [self.NASTY],
            ["help", self.NASTY],
        ):
            done = self.opscope(*words)
            self.assert_status(done, 2)
            self.assertIn("\\x1b", done.stderr)
            self.assert_clean(done.stderr)

    def test_lines_of_a_recording(self):
        """The name of the trace is in the summary, in what is advised next and in what went wrong."""
        for words in (["-o", self.NASTY, "true"], ["-o", self.NASTY + ".opscope", harness.program("script"), "zones=3"],
                      ["-o", self.NASTY + ".json", "true"], ["--", self.NASTY, "x"]):
            done = self.opscope("run", *words)
            self.assertIn("\\x1b", done.stderr, words)
            self.assert_clean(done.stderr)

    def test_cells_and_what_is_said_of_them(self):
        rows = ops_csv.good_rows()
        rows[0]["OP CODE"] = "=" + self.NASTY
        rows[1]["DEVICE KERNEL DURATION [ns]"] = self.NASTY
        with open(self.path("x.csv"), "w", encoding="utf-8", newline="") as file:
            file.write(ops_csv.text_of(rows))
        for words in (["report", "x.csv"], ["report", "x.csv", "--csv"], ["report", "x.csv", "--json"]):
            done = self.opscope(*words)
            self.assert_status(done)
            self.assert_clean(done.stdout + done.stderr)
        self.assertIn("'=\\x1b", self.opscope("report", "x.csv", "--csv").stdout)
        # The vendor's table passes through byte for byte.
        self.assertIn("=" + self.NASTY, self.opscope("ops", "x.csv", "--csv").stdout)


if __name__ == "__main__":
    unittest.main()
