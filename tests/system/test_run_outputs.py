# SPDX-License-Identifier: Apache-2.0
"""Where `opscope run` and `recover` write, what they never replace, and what they say about what was lost."""

import os
import resource
import signal
import stat
import subprocess
import unittest

import facts
import harness

SCRIPT = "script"


class Outputs(harness.TestCase):
    def run_script(self, output, *steps, options=()):
        return self.opscope("run", "-o", output, *options, "--", harness.program(SCRIPT), *steps)

    @harness.needs_root
    def test_the_null_device_is_written_into(self):
        null = self.path("null")
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        for options in ((), ("--max-size", "1M")):
            done = self.run_script(null, "zones=1000", "exit=3", options=options)
            self.assert_status(done, 3)
            self.assertTrue(stat.S_ISCHR(os.stat(null).st_mode), "replaced")
            self.assertEqual(os.listdir(self.folder), ["null"])
            self.assertIn("thrown away", done.stderr)
            self.assertIn("1,000 zones", done.stderr)

    def test_pipes_are_refused(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        trace = self.path("t.opscope")
        self.assert_status(self.run_script(trace, "zones=10"))
        for options in ((), ("--max-size", "1M")):
            done = self.run_script(fifo, "zones=10", "touch=" + self.path("ran"), options=options)
            self.assert_status(done, 125)
            self.assertIn(fifo, done.stderr)
            self.assertFalse(os.path.exists(self.path("ran")))
        self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))

    def test_recover_replaces_no_pipe(self):
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        run = facts.Run(self, ["zones=100", "say=ready", "read"], env={"OPSCOPE_DIR": self.folder})
        run.expect("ready")
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait()
        harness.kill_group(run.process)
        session = facts.session_folders(self.folder)[0]
        done = self.opscope("recover", session, "-o", fifo)
        self.assert_status(done, 2)
        self.assertTrue(stat.S_ISFIFO(os.stat(fifo).st_mode))
        self.assert_status(self.opscope("recover", session, "-o", self.path("whole.opscope")))

    def test_traps_beside_the_trace(self):
        """OUT.partial is a link to nowhere, or a pipe that nobody reads: neither followed nor waited for."""
        trace, partial, victim = self.path("t.opscope"), self.path("t.opscope.partial"), self.path("victim")
        os.symlink(victim, partial)
        self.assert_status(self.run_script(trace, "zones=10"), 125)
        self.assertFalse(os.path.exists(victim))
        os.unlink(partial)
        os.mkfifo(partial)
        self.assert_status(self.run_script(trace, "zones=10"), 125)
        self.assertTrue(stat.S_ISFIFO(os.stat(partial).st_mode))

    def test_an_empty_trace_does_not_replace_a_good_one(self):
        trace = self.path("good.opscope")
        self.assert_status(self.run_script(trace, "zones=12"))
        for options in ((), ("--max-size", "1M"), ("-q",)):
            done = self.opscope("run", "-o", trace, *options, "--", "true")
            self.assert_status(done)
            self.assertIn("is kept", done.stderr)
            self.assertEqual(facts.Trace(trace).zones, 12)
        self.assertEqual(os.listdir(self.folder), ["good.opscope"])

    @harness.needs_root
    def test_recover_of_a_folder_of_another_user(self):
        run = facts.Run(self, ["zones=100", "say=ready", "read"], env={"OPSCOPE_DIR": self.folder})
        run.expect("ready")
        os.kill(run.pid, signal.SIGKILL)
        run.process.wait()
        harness.kill_group(run.process)
        session = facts.session_folders(self.folder)[0]
        os.chown(session, 65534, 65534)
        done = self.opscope("recover", session, "-o", self.path("x.opscope"))
        self.assert_status(done, 2)
        self.assertIn("another user", done.stderr)
        self.assertFalse(os.path.exists(self.path("x.opscope")))
        self.assertFalse(os.path.exists(run.output))

    def test_names_of_other_formats(self):
        """-o is a trace: a name that promises something else is refused before anything runs, with what to do."""
        for name, said in (("x.json", "opscope export --format chrome x.opscope -o x.json"),
                           ("x.pftrace", "opscope export --format perfetto x.opscope -o x.pftrace"),
                           ("x.txt", "a trace is called NAME.opscope: -o x.opscope")):
            done = self.run_script(name, "touch=" + self.path("ran"))
            self.assert_status(done, 125)
            self.assertIn(said, done.stderr)
            self.assertEqual(os.listdir(self.folder), [])
        self.assert_status(self.run_script("plain", "zones=1"))
        self.assertEqual(facts.Trace(self.path("plain")).zones, 1)


class Signals(harness.TestCase):
    def test_ignored_signals_stay_ignored(self):
        """A caller that ignores a signal hands that on to the command, with opscope between them or not."""
        def ignored(line, number):
            return subprocess.run(
                [*line, "grep", "SigIgn", "/proc/self/status"], env=harness.environment(), check=True,
                stdout=subprocess.PIPE, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
                restore_signals=False,
            ).stdout

        run = [harness.OPSCOPE, "run", "-q", "-o", self.path("t.opscope"), "--"]
        for number in (signal.SIGXFSZ, signal.SIGCHLD, signal.SIGINT, signal.SIGUSR2):
            self.assertEqual(ignored(run, number), ignored([], number), number)

    def test_the_status_arrives_with_sigchld_ignored(self):
        process = self.start(
            [harness.OPSCOPE, "run", "-q", "-o", self.path("t.opscope"), "--", "sh", "-c", "exit 9"],
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        )
        process.communicate(timeout=harness.TIMEOUT_S)
        self.assertEqual(process.returncode, 9)


class Losses(harness.TestCase):
    def test_no_descriptors(self):
        done, trace = facts.record_script(self, "no-descriptors", "zones=100", "fork=2,10", "exit=4")
        self.assert_status(done, 4)
        self.assertNotIn("no process called", done.stderr)
        self.assertRegex(done.stderr, r"[123] process(es)? could not be recorded \(Too many open files\)")
        self.assertEqual({loss["reason"] for loss in trace.losses()}, {"process not recorded"})

    @harness.needs_tmpfs
    def test_no_inodes(self):
        folder = self.mount_tmpfs("1m")
        # the root, the session folder, its control file and four spares: none is left for a segment
        subprocess.run(["mount", "-o", "remount,nr_inodes=7", folder], check=True)
        done, trace = facts.record_script(self, "zones=100", "exit=4", env={"OPSCOPE_DIR": folder})
        self.assert_status(done, 4)
        self.assertIn("1 process could not be recorded (No space left on device)", done.stderr)
        self.assertEqual(trace.zones, 0)

    @harness.needs_tmpfs
    def test_a_process_counts_once(self):
        folder = self.mount_tmpfs("16k")
        done, trace = facts.record_script(self, "zones=10", "exec", "zones=10", "exec", "zones=10", "exit=5",
                                          env={"OPSCOPE_DIR": folder})
        self.assert_status(done, 5)
        self.assertIn("1 process could not be recorded (No space left on device)", done.stderr)
        self.assertNotIn("--buffer-size", done.stderr)
        self.assertEqual(len(trace.processes), 1)

    def test_too_large_a_file(self):
        """The summary tells what the file holds, as info does, and what was lost; nobody is sent to the buffer."""
        path, limit = self.path("t.opscope"), 60 << 10
        process = self.start(
            [harness.OPSCOPE, "run", "--on-full=wait", "-o", path, "--", harness.program(SCRIPT),
             "lift-file-size-limit", "noisy=200000"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)),
        )
        _, stderr = process.communicate(timeout=harness.TIMEOUT_S)
        trace, said = facts.Trace(path), stderr.decode()
        self.assertEqual(trace.zones + trace.lost_zones, 200000)
        self.assertGreater(trace.lost_zones, 0)
        self.assertIn(f"lost {trace.lost_zones:,} zones", said)
        self.assertIn("(disk full)", said)
        self.assertNotIn("--buffer-size", said)
        if trace.zones:
            self.assertIn(f": {trace.zones:,} zones", said)
        self.assertIn("cut short", trace.info["state"])

    def test_the_flight_recorder_says_what_it_dropped(self):
        done, trace = facts.record_script(self, "noisy=400000", options=["--max-size", "256K", "--on-full=wait"])
        self.assert_status(done)
        dropped = trace.info["dropped_zones"]
        self.assertEqual(trace.zones + dropped, 400000)
        self.assertGreater(dropped, 0)
        self.assertIn(f"; {dropped:,} zones", done.stderr)
        self.assertIn(f"{trace.zones:,} zones,", done.stderr)
        self.assertIn(f"{dropped:,} zones", self.opscope("info", trace.path).stdout)

    def test_recover_of_a_session_that_was_kept(self):
        """Its trace is finished: nothing that is in it is called lost."""
        done, trace = facts.record_script(self, "threads=10,100", "zones=43", options=["--keep-session"],
                                          env={"OPSCOPE_DIR": self.folder})
        self.assert_status(done)
        self.assertEqual(trace.zones, 1043)
        session = facts.session_folders(self.folder)[0]
        done = self.opscope("recover", session, "-o", self.path("again.opscope"))
        self.assert_status(done)
        self.assertEqual(facts.Trace(self.path("again.opscope")).lost_zones, 0, done)
        self.assertNotIn("lost", done.stdout)

    def test_one_line_about_sessions_of_others(self):
        for name in ("a.opscope", "b.opscope", "c.opscope"):  # each its own: a lock may outlive its holder for a moment
            run = facts.Run(self, ["zones=1", "say=ready", "read"], env={"OPSCOPE_DIR": self.folder}, output=name)
            run.expect("ready")
            os.kill(run.pid, signal.SIGKILL)
            run.process.wait()
            harness.kill_group(run.process)
        self.assertEqual(len(facts.session_folders(self.folder)), 3)
        for options, lines in (((), 1), (("-q",), 0)):
            done = self.opscope("run", "-o", self.path("other.opscope"), *options, "--", "true",
                                env={"OPSCOPE_DIR": self.folder})
            found = [line for line in done.stderr.splitlines() if " behind" in line]
            self.assertEqual(len(found), lines, done)


if __name__ == "__main__":
    unittest.main()
