# SPDX-License-Identifier: Apache-2.0
"""`opscope run` changes nothing for the program it runs: status, signals, streams, arguments, environment."""

import glob
import os
import shutil
import signal
import stat
import struct
import sys
import unittest

import facts
import harness


class Status(harness.TestCase):
    """The exit status, or the signal, is the program's."""

    def test_exit_codes_pass_through(self):
        for code in (0, 1, 7, 125, 126, 127, 255):
            done = self.opscope("run", "-o", self.path("t.opscope"), "--", "sh", "-c", f"exit {code}")
            self.assert_status(done, code)
            self.assertTrue(os.path.exists(self.path("t.opscope")), done)

    def test_a_killed_program_kills_opscope_the_same_way(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGPIPE):
            done, trace = facts.record_script(self, "zones=1000", "open=outer", f"raise={int(number)}")
            self.assert_status(done, -number)
            self.assertEqual((trace.zones, trace.open_names()), (1000, ["outer"]), done)
            self.assertEqual(trace.processes[0]["status"].split(" (")[0], f"signal {int(number)}")

    def test_a_second_core_is_not_dumped(self):
        script = f"cd {self.folder}; ulimit -c unlimited; exec {harness.OPSCOPE} run -o t.opscope -- \"$@\""
        program = harness.program("script")
        done = self.run_command(["sh", "-c", script, "sh", program, "raise=3"])
        self.assert_status(done, -signal.SIGQUIT)
        cores = [name for name in os.listdir(self.folder) if name.startswith("core")]
        self.assertLessEqual(len(cores), 1, cores)

    def test_a_command_that_is_not_there(self):
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", "opscope-no-such-command")
        self.assert_status(done, 127)
        self.assertIn("opscope-no-such-command", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_command_that_cannot_be_run(self):
        plain = self.path("plain")
        with open(plain, "w", encoding="ascii") as file:
            file.write("not a program\n")
        for command in (plain, self.folder):
            done = self.opscope("run", "-o", self.path("t.opscope"), "--max-size", "1M", "--", command)
            self.assert_status(done, 126)
            self.assertEqual(os.listdir(self.folder), ["plain"], done)

    def test_a_python_script_that_is_not_executable(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write("print(1)\n")
        done = self.opscope("run", "--", "./train.py", "x")
        self.assert_status(done, 126)
        self.assertIn("opscope run python3 ./train.py", done.stderr)

    def test_a_script_without_an_interpreter_line_runs_as_with_env(self):
        script = self.path("script")
        with open(script, "w", encoding="ascii") as file:
            file.write('echo "$0" "$1"\nexit 5\n')
        os.chmod(script, 0o755)
        expected = self.run_command(["env", script, "a b"])
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", script, "a b")
        self.assertEqual((done.status, done.stdout), (expected.status, expected.stdout), done)

    def test_own_failures_are_125(self):
        for arguments in (
            ["-o", self.path("no", "such", "folder", "t.opscope"), "--", "true"],
            ["--no-such-option", "--", "true"],
            ["--on-full=maybe", "--", "true"],
            [],
        ):
            done = self.opscope("run", *arguments)
            self.assert_status(done, 125)
            self.assertIn("opscope", done.stderr)
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_caller_that_ignores_child_signals(self):
        """SIGCHLD ignored is inherited; children are then reaped by the kernel, unless somebody cares."""
        command = [harness.OPSCOPE, "run", "-o", self.path("t.opscope"), "--", harness.program("script"), "exit=7"]
        process = self.start(command, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(process.wait(harness.TIMEOUT_S), 7)


class Surroundings(harness.TestCase):
    """What the program sees is what it would see without opscope."""

    def test_descriptors_environment_and_signals_are_the_same(self):
        program = harness.program("surroundings")
        extra = {"OPSCOPE_DIR": self.folder, "ODD": "a=b c", "EMPTY": ""}
        bare = self.run_command([program], env=extra)
        self.assert_status(bare)
        done = self.opscope("run", "-q", "-o", self.path("t.opscope"), "--", program, env=extra)
        self.assert_status(done)
        lines = done.stdout.splitlines()
        session = [line for line in lines if line.startswith("environment: OPSCOPE_SESSION=")]
        self.assertEqual(len(session), 2, "once before and once after recording")
        self.assertEqual(lines[: len(lines) // 2], lines[len(lines) // 2 + 1 :], "recording left a trace of itself")

        python = ("PYTHON_TRACE=", "PYTHON_RUN=")
        added = ("environment: OPSCOPE_SESSION=", *("environment: OPSCOPE_" + name for name in python))
        added += ("environment: PYTHONPATH=", "environment: TRACY_", "group:")
        added += tuple("environment: " + name for name in ("NVTX_INJECTION64_PATH=", "CUDA_INJECTION64_PATH=", "OPENCL_LAYERS="))

        def comparable(text):
            return sorted(
                line
                for line in text.splitlines()
                if not line.startswith(added)
            )

        self.assertEqual(comparable(bare.stdout), comparable(done.stdout))
        self.assertIn("group: parent's", done.stdout)
        self.assertEqual(facts.Trace(self.path("t.opscope")).zones, 100)

    def test_arguments_and_folder(self):
        arguments = ["", " ", "a b", "--help", "-o", "\\n", "$HOME", "'", '"', "\u00e4", "*"]
        os.mkdir(self.path("below"))
        done = self.opscope(
            "run", "-q", "-o", self.path("t.opscope"), "--", "sh", "-c", 'pwd; printf "<%s>" "$@"', "sh", *arguments,
            cwd=self.path("below"),
        )
        self.assert_status(done)
        folder, rest = done.stdout.split("\n", 1)
        self.assertEqual(folder, os.path.realpath(self.path("below")))
        self.assertEqual(rest, "".join(f"<{argument}>" for argument in arguments))

    def test_streams_pass_through_unchanged(self):
        data = bytes(range(256)) * 8192
        done = self.opscope(
            "run", "-q", "-o", self.path("t.opscope"), "--", "sh", "-c", "cat; echo problem >&2", stdin=data
        )
        self.assert_status(done)
        self.assertEqual(done.stdout_bytes, data)
        self.assertEqual(facts.said(done), "problem\n")

    def test_closed_streams(self):
        """A trace that is opened as descriptor 2 must not get opscope's own messages."""
        trace = self.path("t.opscope")
        program = harness.program("script")
        script = f'exec {harness.OPSCOPE} run -o "{trace}" -- {program} zones=1000 <&- >&- 2>&-'
        self.assert_status(self.run_command(["sh", "-c", script]))
        self.assertEqual(facts.Trace(trace).zones, 1000)
        script = f'exec {harness.OPSCOPE} run -o "{trace}" -- {program} zones=1000 2>&-'
        self.assert_status(self.run_command(["sh", "-c", script]))
        self.assertEqual(facts.Trace(trace).zones, 1000)

    def test_closed_streams_stay_closed(self):
        program = harness.program("surroundings")
        bare = self.run_command(["sh", "-c", f"exec {program} <&- 2>&-"])
        done = self.run_command(["sh", "-c", f"exec {harness.OPSCOPE} run -o t.opscope -- {program} <&- 2>&-"])
        self.assert_status(done)
        self.assertEqual(done.stdout.splitlines()[0], bare.stdout.splitlines()[0])
        self.assertTrue(bare.stdout.startswith("descriptors: 1\n"), bare)

    def test_output_closed_early(self):
        script = f"{harness.OPSCOPE} run -o t.opscope -- sh -c 'while :; do echo y; done' | head -1; echo ${{PIPESTATUS}}"
        done = self.run_command(["bash", "-c", script])
        self.assertEqual(done.stdout.splitlines(), ["y", "141"], done)


class Signals(harness.TestCase):
    """What is sent to opscope alone reaches the program; what the program does with it decides."""

    def signal_to_opscope(self, number):
        run = facts.Run(self, ["zones=500", "open=outer", "say=ready", "read", "zones=500"])
        run.expect("ready")
        os.kill(run.pid, number)
        done = run.finish(keeps_input=True)
        self.assert_status(done, -number)
        trace = run.trace()
        self.assertTrue(trace.info["is_complete"])
        self.assertEqual((trace.zones, trace.open_names()), (500, ["outer"]), done)

    def test_signals_reach_the_program_and_the_trace_is_finished(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            with self.subTest(signal=number):
                self.signal_to_opscope(number)

    def test_a_program_that_handles_signals_goes_on(self):
        run = facts.Run(self, ["catch=15", "ignore=2", "say=ready", "await-signal", "caught", "zones=10", "exit=3"])
        run.expect("ready")
        os.kill(run.pid, signal.SIGINT)
        os.kill(run.pid, signal.SIGTERM)
        done = run.finish()
        self.assert_status(done, 3)
        self.assertEqual(done.stdout, "1\n")
        self.assertEqual(run.trace().zones, 10)

    def test_a_signal_during_the_whole_run(self):
        """Signals as fast as they can be sent: opscope passes them on and neither dies nor loses data."""
        run = facts.Run(self, ["catch=10", "say=ready", "zones=300000", "say=done", "read"], options=["--on-full=wait"])
        run.expect("ready")
        for _ in range(300):
            os.kill(run.pid, signal.SIGUSR1)
        run.expect("done")
        self.assert_status(run.finish())
        self.assertEqual((run.trace().zones, run.trace().lost_zones), (300000, 0))


class Command(harness.TestCase):
    """How the command is given, and what the trace is called."""

    def test_one_quoted_string_is_for_the_shell(self):
        program = harness.program("script")
        text = f"{program} zones=3 && {program} zones=4 exit=6 || exit 9"
        done = self.opscope("run", "-o", self.path("t.opscope"), text)
        self.assert_status(done, 9)
        self.assertEqual(facts.Trace(self.path("t.opscope")).zones, 7)

    def test_quotes_inside_the_string(self):
        done = self.opscope("run", "-q", "-o", self.path("t.opscope"), "printf '<%s>' 'a and b' \"$((1+2))\"")
        self.assert_status(done)
        self.assertEqual(done.stdout, "<a and b><3>")

    def test_one_word_is_a_program_and_a_path_with_spaces_too(self):
        path = self.path("my program")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho ran\n")
        os.chmod(path, 0o755)
        done = self.opscope("run", "-q", "-o", self.path("t.opscope"), path)
        self.assertEqual((done.status, done.stdout), (0, "ran\n"), done)
        self.assert_status(self.opscope("run", "-o", self.path("t.opscope"), "true"))

    def test_names_are_numbered_and_nothing_is_overwritten(self):
        program = harness.program("script")
        for zones in (11, 12, 13):
            done = self.opscope("run", program, f"zones={zones}")
            self.assert_status(done)
        self.assertEqual(sorted(os.listdir(self.folder)), ["script.2.opscope", "script.3.opscope", "script.opscope"])
        for name, zones in (("script.opscope", 11), ("script.2.opscope", 12), ("script.3.opscope", 13)):
            self.assertEqual(facts.Trace(self.path(name)).zones, zones)
        self.assertIn("script.3.opscope", done.stderr)
        self.assert_status(self.opscope("run", f"{program} zones=14; true"))
        self.assertEqual(facts.Trace(self.path("script.4.opscope")).zones, 14)

    def test_the_trace_of_a_python_program_is_called_after_it(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write("")
        for words, name in (
            (["train.py"], "train"),
            (["-W", "ignore", "-B", self.path("train.py"), "-m", "x"], "train.2"),
            (["-m", "json.tool", "--help"], "json.tool"),
            (["-Bc", "pass"], os.path.basename(sys.executable)),
        ):
            done = self.opscope("run", "--", sys.executable, *words)
            self.assert_status(done, 0)
            self.assertTrue(os.path.exists(self.path(name + ".opscope")), (name, os.listdir(self.folder)))

    def test_runs_that_start_together_do_not_share_a_name(self):
        program = harness.program("script")
        runs = [
            self.start([harness.OPSCOPE, "run", "-q", "--", program, f"zones={zones}"]) for zones in range(21, 25)
        ]
        for run in runs:
            self.assertEqual(run.wait(harness.TIMEOUT_S), 0)
        names = sorted(os.listdir(self.folder))
        self.assertEqual(len(names), 4, names)
        self.assertEqual(sorted(facts.Trace(self.path(name)).zones for name in names), [21, 22, 23, 24])

    def test_beside_a_flight_recorder_of_that_name(self):
        run = facts.Run(self, ["zones=10", "say=ready", "read"], options=["--max-size", "1M"], output="script.opscope")
        run.expect("ready")
        done = self.opscope("run", "--", harness.program("script"), "zones=7")
        self.assert_status(done)
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual((run.trace().zones, facts.Trace(self.path("script.2.opscope")).zones), (10, 7))

    def test_the_same_output_twice_at_once_is_refused(self):
        run = facts.Run(self, ["zones=10", "say=ready", "read", "zones=10"])
        run.expect("ready")
        other = self.opscope("run", "-o", run.output, "--", "true")
        self.assert_status(other, 125)
        self.assertIn(run.output, other.stderr)
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual(run.trace().zones, 20)

    def test_nothing_recorded_is_said(self):
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", "true")
        self.assert_status(done)
        self.assertIn("nothing was recorded", done.stderr)
        self.assertEqual(facts.Trace(self.path("t.opscope")).zones, 0)

    def test_quiet_says_nothing(self):
        done, _ = facts.record_script(self, "zones=10", options=["-q"])
        self.assertEqual((done.status, facts.said(done)), (0, ""))

    def test_op_table_beside_the_trace(self):
        program = harness.program("everything")
        done = self.opscope("run", "-o", "t.opscope", "--", program)
        self.assert_status(done)
        self.assertIn("t.ops.csv", done.stderr)
        with open(self.path("t.ops.csv"), encoding="utf-8") as file:
            text = file.read()
        for name in ("matmul", "tokenize", "gelu"):
            self.assertIn(name, text)
        done = self.opscope("run", "-o", "asked.csv", "--", program)
        self.assert_status(done)
        self.assertEqual(
            sorted(os.listdir(self.folder)), ["asked.csv", "asked.opscope", "t.ops.csv", "t.opscope"], done
        )
        with open(self.path("asked.csv"), encoding="utf-8") as file:
            self.assertIn("matmul", file.read())

    def test_a_name_of_its_own_is_free_for_the_op_table_too(self):
        """Nobody named these files, so nobody's are replaced."""
        with open(self.path("everything.ops.csv"), "w", encoding="utf-8") as file:
            file.write("precious")
        os.mkfifo(self.path("everything.2.ops.csv"))
        done = self.opscope("run", "--", harness.program("everything"))
        self.assert_status(done)
        found = sorted(os.listdir(self.folder))
        ours = ["everything.2.ops.csv", "everything.3.ops.csv", "everything.3.opscope", "everything.ops.csv"]
        self.assertEqual(found, ours, done)
        with open(self.path("everything.ops.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")

    def test_the_op_table_goes_into_no_pipe(self):
        """One that nobody reads would be waited for."""
        os.mkfifo(self.path("t.ops.csv"))
        done = self.opscope("run", "-o", "t.opscope", "--", "sh", "-c", f"{harness.program('everything')}; exit 4")
        self.assert_status(done, 4)
        self.assertIn("op table: cannot write t.ops.csv: it is not a regular file", done.stderr)
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("t.ops.csv")).st_mode))

    def test_a_large_op_table_is_written_where_it_is_asked_for(self):
        """One of a training run of minutes is gigabytes."""
        many = harness.program("many_ops")
        done = self.opscope("run", "-o", "t.opscope", many, 100001)
        self.assert_status(done, 0)
        self.assertIn("op table: not written, as it has 100,001 ops: opscope ops t.opscope --csv=t.ops.csv", done.stderr)
        self.assertFalse(os.path.exists(self.path("t.ops.csv")))
        self.assert_status(self.opscope("ops", "t.opscope", "--csv=t.ops.csv"), 0)
        self.assert_status(self.opscope("run", "-o", "asked.csv", many, 100001), 0)
        self.assert_status(self.opscope("run", "-o", "few.opscope", many, 100000), 0)
        for name, ops in (("t.ops.csv", 100001), ("asked.csv", 100001), ("few.ops.csv", 100000)):
            with open(self.path(name), encoding="utf-8") as file:
                self.assertEqual(sum(1 for _ in file), ops + 1, name)

    def test_no_op_table_without_ops(self):
        done, _ = facts.record_script(self, "zones=10")
        self.assert_status(done)
        self.assertEqual(os.listdir(self.folder), ["t.opscope"])

    def test_op_table_goes_where_it_is_told_even_when_the_program_fails(self):
        script = f"{harness.program('everything')}; exit 4"
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", "sh", "-c", script)
        self.assert_status(done, 4)
        self.assertTrue(os.path.exists(self.path("t.ops.csv")))


class Descendants(harness.TestCase):
    """One trace for the command and everything it starts."""

    def test_fork_exec_clone_vfork_spawn(self):
        done, trace = facts.record_script(
            self, "zones=10", "fork=3,20", "clone=2,30", "spawn=zones=40", "vfork=zones=50", "exec", "zones=60", "exit=5"
        )
        self.assert_status(done, 5)
        self.assertEqual(trace.count("work"), 10 + 3 * 20 + 2 * 30 + 40 + 50 + 60)
        self.assertEqual(trace.count("in a vfork child"), 1)
        self.assertEqual((trace.lost_zones, trace.open_names()), (0, []))
        # the first image, 3 + 2 forked children, a spawned, a vforked one, and the image after exec
        self.assertEqual(len(trace.processes), 9, trace.processes)
        pids = [process["pid"] for process in trace.processes]
        self.assertEqual(len(set(pids)), 8, "the image after exec has the pid of the one before")
        root = pids[0]
        self.assertTrue(all(process["parent"] in (root, None) for process in trace.processes), trace.processes)

    def test_the_first_thread_may_end_before_the_others(self):
        done, trace = facts.record_script(
            self, "zones=10", "leave-to-thread", "zones=20000", "slow=20000", "zones=20000", "exit=3"
        )
        self.assert_status(done, 3)
        self.assertEqual((trace.zones, trace.lost_zones), (60010, 0))

    def test_a_daemon_outlives_the_run(self):
        ready, release, over = self.path("ready"), self.path("release"), self.path("over")
        done, trace = facts.record_script(
            self, "zones=10", f"daemon={ready}", "zones=20", "open=outer", f"touch={ready}", f"await={release}",
            "zones=200000", "close", f"touch={over}",
        )
        self.assert_status(done)
        self.assertEqual((trace.zones, trace.open_names()), (30, ["outer"]))
        self.assertIn("1 process still running", done.stderr)
        self.assertEqual([process["status"] for process in trace.processes].count("still running"), 1)
        with open(release, "w", encoding="ascii"):
            pass
        harness.wait_until(lambda: os.path.exists(over), "the daemon to go on after the run")

    def test_wait_all_waits_for_the_daemon(self):
        ready, release = self.path("ready"), self.path("release")
        run = facts.Run(
            self,
            ["pid", "zones=10", f"daemon={ready}", "zones=20", f"touch={ready}", f"await={release}", "zones=40"],
            options=["--wait-all"],
        )
        child = int(run.read_line())
        harness.wait_until(lambda: not harness.process_is_alive(child), "the command to end")
        self.assertIsNone(run.process.poll())
        with open(release, "w", encoding="ascii"):
            pass
        done = run.finish()
        self.assert_status(done)
        self.assertNotIn("still running", done.stderr)
        self.assertEqual(run.trace().zones, 70)

    def test_a_run_inside_a_run(self):
        program = harness.program("script")
        inner = f"{harness.OPSCOPE} run -q -o {self.path('inner.opscope')} -- {program} zones=20 exit=4"
        done = self.opscope("run", "-o", self.path("outer.opscope"), f"{program} zones=10; {inner}")
        self.assert_status(done, 4)
        self.assertEqual(facts.Trace(self.path("outer.opscope")).zones, 10)
        self.assertEqual(facts.Trace(self.path("inner.opscope")).zones, 20)

    def test_two_runs_at_once(self):
        runs = [
            facts.Run(self, [f"zones={zones}", "say=ready", "read", f"zones={zones}"], output=f"{zones}.opscope")
            for zones in (1000, 3000)
        ]
        for run in runs:
            run.expect("ready")
        for run in runs:
            run.go_on()
        for run in runs:
            self.assert_status(run.finish())
        self.assertEqual([run.trace().zones for run in runs], [2000, 6000])

    def test_a_stale_session_variable_is_harmless(self):
        program = harness.program("script")
        for value in ("", "nonsense", "/nowhere:0123456789abcdef", f"{self.folder}:0123456789abcdef", ":" * 4000):
            done = self.run_command([program, "zones=1000", "exit=3"], env={"OPSCOPE_SESSION": value})
            self.assertEqual((done.status, done.stdout, done.stderr), (3, "", ""), done)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_session_of_another_run_is_not_written_to(self):
        """A daemon that kept the variable of an old run must not write into the folder of a new one."""
        run = facts.Run(self, ["zones=10", "say=ready", "read"], env={"OPSCOPE_DIR": self.folder})
        run.expect("ready")
        (session,) = facts.session_folders(self.folder)
        done = self.run_command(
            [harness.program("script"), "zones=1000"], env={"OPSCOPE_SESSION": f"{session}:0123456789abcdef"}
        )
        self.assert_status(done)
        run.go_on()
        self.assert_status(run.finish())
        self.assertEqual(run.trace().zones, 10)


    def test_a_recorder_that_is_too_old_says_so(self):
        """The session of a later opscope, to a program that has the library of this one in it."""
        run = facts.Run(self, ["zones=10", "say=ready", "read"], env={"OPSCOPE_DIR": self.folder})
        run.expect("ready")
        (session,) = facts.session_folders(self.folder)
        with open(os.path.join(session, "control"), "r+b") as control:
            magic, version, _, number = struct.unpack("<QIIQ", control.read(24))
            control.seek(0)
            control.write(struct.pack("<QIIQ", magic, version, 1000, number))
        program = [harness.program("script"), "zones=1000", "exit=3"]
        done = self.run_command(program, env={"OPSCOPE_SESSION": f"{session}:{number:016x}"})
        self.assertEqual((done.status, done.stdout, done.stderr), (3, "", ""))
        run.go_on()
        done = run.finish()
        self.assertIn("1 process could not be recorded (its libopscope is older than this opscope)", done.stderr)
        self.assertEqual(run.trace().zones, 10)


class Strangers(harness.TestCase):
    """Processes that cannot join the session are silent: the run says it for them."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"):
            self.skipTest("only root can start processes of another user, with setpriv and unshare of util-linux")
        for file in (harness.program("script"), *glob.glob(os.path.join(harness.BUILD, "libopscope.so*"))):
            shutil.copy(file, self.folder)
        os.chmod(self.folder, 0o755)

    def run_as(self, *prefix, before=""):
        """A process that lives until the run has noticed it; what the run says."""
        script, trace, control = self.path("script"), self.path("t.opscope"), self.path("go")
        os.mkfifo(control)
        command = f"{before} exec {' '.join(prefix)} {script} zones=5 read <{control}"
        run = self.start([harness.OPSCOPE, "run", "-o", trace, command], env=harness.environment({"LD_LIBRARY_PATH": self.folder}))
        with open(control, "w", encoding="utf-8") as go:
            harness.wait_until(lambda: "process not recorded" in self.opscope("info", trace + ".partial").stdout, "the run to notice it")
            go.write("\n")
        _, errors = run.communicate(timeout=harness.TIMEOUT_S)
        os.unlink(control)
        self.assertEqual(run.returncode, 0)
        self.assertIn("process not recorded", [loss["reason"] for loss in facts.Trace(trace).losses()])
        return errors.decode()

    def test_another_user(self):
        errors = self.run_as("setpriv", "--reuid=65534", "--clear-groups")
        self.assertIn("1 process ran as another user and could not join the session: what it did is not recorded", errors)
        self.assertNotIn("no process called", errors)

    def test_another_shared_memory(self):
        errors = self.run_as("unshare", "-m", "sh", "-c", f"'mount -t tmpfs none /dev/shm && exec {self.path('script')} zones=7 read'", "--",
                             before=f"{self.path('script')} zones=3;")
        self.assertIn("1 process ran under another root or with another /dev/shm and could not join the session", errors)
        self.assertEqual(facts.Trace(self.path("t.opscope")).zones, 3)

    def test_of_another_pid_namespace_nobody_is_still_running(self):
        done = self.opscope("run", "-o", self.path("t.opscope"), "--", "unshare", "-p", "-f", harness.program("script"), "zones=5")
        self.assertIn("5 zones", done.stderr)
        self.assertNotIn("still running", done.stderr)


class StillRunning(harness.TestCase):
    """What the line at the end says of processes that go on."""

    def run_and_leave(self, *steps):
        go, script = self.path("go"), harness.program("script")
        done = self.opscope("run", "-o", self.path("t.opscope"), f"{script} {' '.join(steps)} touch={self.path('there')} await={go} >{self.path('out')} 2>&1 & "
                                                                 f"{script} zones=1 await={self.path('there')}")
        with open(go, "w", encoding="utf-8"):
            pass
        self.assert_status(done)
        return done.stderr

    def test_zones_of_it(self):
        self.assertIn("; 1 process still running at the end, inside 2 zones", self.run_and_leave("open=outer", "open=inner"))

    def test_the_resource_tracker_of_python(self):
        """A stand-in, whose command line has its name: when the real one ends is luck."""
        said = self.run_and_leave("open=multiprocessing.resource_tracker")
        self.assertIn("; Python's resource tracker, which ends after its program, was still running, inside 1 zone", said)
        self.assertNotIn("had not ended", said)

    def test_a_daemon_that_has_not_recorded_yet(self):
        go = self.path("go")
        done = self.opscope("run", "-o", self.path("t.opscope"), f"{harness.program('script')} await={go} zones=1 >{self.path('out')} 2>&1 & exit 0")
        with open(go, "w", encoding="utf-8"):
            pass
        self.assertIn("it left some running: opscope run --wait-all records what these do, too", done.stderr)
        done = self.opscope("run", "-o", self.path("t.opscope"), "/bin/true")
        self.assertIn("no process called the opscope library (", done.stderr)


class Options(harness.TestCase):
    """Options that decide what is recorded."""

    def test_duration_stops_recording_not_the_program(self):
        for duration in (0.2, 1, 5, 20):
            run = facts.Run(
                self, ["zones=100", "say=ready", "read", "zones=50000", "exit=3"],
                options=["--duration", f"{duration}s"], env={"OPSCOPE_DIR": self.folder},
            )
            run.expect("ready")
            was_recording = bool(facts.session_folders(self.folder))
            harness.wait_until(lambda: not facts.session_folders(self.folder), "recording to stop")
            run.go_on()
            done = run.finish()
            self.assert_status(done, 3)
            if was_recording:  # else it was so slow to start that recording had stopped before
                self.assertEqual(run.trace().zones, 100, done)
                return
        self.fail("the program did not start within 20 s")

    def test_max_size_keeps_the_newest(self):
        limit = 1 << 20
        done, trace = facts.record_script(
            self, "message=first", "noisy=1500000", "message=last", "open=outer",
            options=["--max-size", "1M", "--on-full=wait"],
        )
        self.assert_status(done)
        self.assertLessEqual(os.path.getsize(trace.path), limit)
        self.assertGreater(os.path.getsize(trace.path), limit // 4)
        self.assertEqual(os.listdir(self.folder), ["t.opscope"])
        dropped = sum(loss["zones"] for loss in trace.losses() if "size" in loss["reason"] or "old" in loss["reason"])
        self.assertGreater(dropped, 0)
        self.assertEqual(trace.zones + dropped, 1500000)
        texts = [row["text"] for row in trace.messages()]
        self.assertIn("last", texts)
        self.assertEqual(trace.open_names(), ["outer"])

    def test_keep_session_and_where_it_is(self):
        done, _ = facts.record_script(self, "zones=10", options=["--keep-session"], env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done)
        (session,) = facts.session_folders(self.folder)
        self.assertIn(session, done.stderr)
        done, _ = facts.record_script(self, "zones=10", env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done)
        self.assertEqual(facts.session_folders(self.folder), [session])

    def test_a_session_folder_that_cannot_be_made(self):
        done, trace = facts.record_script(self, "zones=10", "exit=5", env={"OPSCOPE_DIR": self.path("nowhere")})
        self.assert_status(done, 5)
        self.assertIn("without recording", done.stderr)
        self.assertIn("OPSCOPE_DIR", done.stderr)
        self.assertEqual(os.listdir(self.folder), [], "no trace, since nothing was recorded")

    def test_folder_mode_is_private(self):
        run = facts.Run(self, ["zones=10", "say=ready", "read"], env={"OPSCOPE_DIR": self.folder})
        run.expect("ready")
        (session,) = facts.session_folders(self.folder)
        self.assertEqual(os.stat(session).st_mode & 0o777, 0o700)
        for name in os.listdir(session):
            self.assertEqual(os.stat(os.path.join(session, name)).st_mode & 0o077, 0, name)
        self.assert_status(run.finish())


if __name__ == "__main__":
    unittest.main()
